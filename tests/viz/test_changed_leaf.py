"""A number that is changed in the player's page: every other follows, and is the engine's. In Node."""

import json
import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from drawn_graphs import network, neuron
from ops_list import OPS
from tensor_ops_list import OPS as ARRAY_OPS

import micrograd as mg
from micrograd import Tensor, Value
from micrograd.backends.javascript import JavaScript
from micrograd.functional import cross_entropy, hinge
from micrograd.nn import MLP, Conv2d, Embedding, LayerNorm1d, Linear, ReLU, Sequential
from micrograd.scalars.ops import TABLE
from micrograd.viz import player
from micrograd.viz.drawing.data import walk
from micrograd.viz.modules import one_script
from micrograd.viz.page import asset
from micrograd.viz.playing.gradients import Backprop, backprop
from micrograd.viz.playing.recompute import functions, program


def readme(b=6.88):
    x1, w1, x2, w2 = (Value(x, label=name) for name, x in {"x1": 2, "w1": -3, "x2": 0, "w2": 1}.items())
    return mg.tanh(x1 * w1 + x2 * w2 + Value(b, label="b"))


# ------------------------------------------------------------------------------------------------ by hand
def test_dragged_leaf_moves_everything_until_it_is_reset(page):
    page.open(player(neuron()).html, "place=end").drag("x1", 50)
    assert page.spoken("x1").startswith("x1, data 2.5000")
    x1, x2, w1, w2, b = 2.5, 0.5, -3.0, 1.0, 6.8813735870195432
    out = math.tanh(x1 * w1 + x2 * w2 + b)
    assert f"data {out:.4f}".replace("-", "−") in page.spoken("o")
    assert f"gradient {(1 - out * out) * w1:.4f}".replace("-", "−") in page.spoken("x1")
    assert "✓ all slopes agree" in page.text("#ran")
    page.click("#reset")
    assert page.spoken("x1") == "x1, data 2.0000, gradient −0.6702"


@pytest.mark.parametrize(("place", "phase"), [("step=0", "Done"), ("step=9", "Backward 3 of 5")])
def test_drag_from_the_first_step_shows_the_last_and_in_the_middle_keeps_the_step(page, place, phase):
    page.open(player(neuron()).html, place).drag("w2", -30)
    assert page.text("#phase") == phase
    assert page.spoken("w2").startswith("w2, data 0.7000")


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["F2", *"7.25", "Enter"], "7.2500"),
        (["F2", *"-3", "Enter"], "−3.0000"),
        (["F2", *"1e-5", "Enter"], "1.0000e−5"),
        (["F2", "x", "Enter"], "2.0000"),
        (["F2", "7", "Escape"], "2.0000"),
        (["4", "Enter"], "4.0000"),
        (["ArrowUp", "ArrowUp", "ArrowDown"], "2.1000"),
        (["PageUp", "PageUp", "PageDown"], "3.0000"),
    ],
)
def test_leaf_is_typed_and_stepped_with_the_keys(page, keys, shown):
    page.open(player(neuron()).html, "place=end").focus("x1").press(*keys)
    assert page.spoken("x1").startswith(f"x1, data {shown}")
    assert float(page.get("cardOf('x1').getAttribute('aria-valuenow')")) == float(shown.replace("−", "-"))
    assert (page.text("#live") == "‘x’ is not a number; x1 stays 2.0000.") == ("x" in keys)


def test_steps_of_descent_are_the_engine_s(page):
    page.open(player(network(2, (3, 1))).html)
    page.run("query('#rate').value = 0.05; for (let k = 0; k < 3; k++) query('#descend').click()")
    random.seed(1337)
    model = MLP(2, [3, 1])
    points = [(random.uniform(-1, 2), random.uniform(-1, 1)) for _ in range(2)]
    losses = []
    for _ in range(4):
        loss = sum((1 + -((-1) ** i) * model(point)).relu() for i, point in enumerate(points)) * 0.5
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= 0.05 * p.grad
        losses.append(f"{loss.data:.4f}")
    assert page.text("#loss") == f"3 steps: loss {losses[0]} → {losses[-1]}"


def test_step_of_descent_is_taken_from_the_panel_that_tells_of_it_and_taken_back(page):
    page.open(player(readme(), names={}).html).click("#rest .step")
    after = re.search(r"out after it: (\S+), now (\S+)", page.text("#why"))
    assert f"data {after[2]}" in page.spoken("out")
    assert after[2] != "0.7064"
    assert page.get("document.activeElement.matches('#rest .step')"), "the next step is one key away"
    page.click("#rest .undo")
    assert "data 0.7064" in page.spoken("out")


def test_graph_with_a_rule_by_hand_says_that_it_cannot_be_computed_again_and_stays(page):
    a = Value(3.0, label="a")
    out = Value(a.data * 5, (a,), "five")
    out._backward = lambda: None
    page.open(player(out).html, "step=0")
    assert "closures written by hand" in page.text("#why")
    for act in (lambda: page.click("#descend"), lambda: page.choose("a"), lambda: page.focus("a").press("F2")):
        page.run("query('#said').textContent = query('#live').textContent = ''")
        act()
        assert "closures written by hand" in page.text("#said")
        assert "closures written by hand" in page.text("#live")
    page.drag("a", 40)
    assert "data 3.0000" in page.spoken("a")


@pytest.mark.parametrize(("rows", "alone"), [((10, 40), False), ((30, 40), True)], ids=["400", "1,200 numbers"])
def test_large_array_is_computed_by_python_alone_and_its_lines_have_their_hue_and_width(page, rows, alone):
    w = Tensor(np.linspace(1, 2, math.prod(rows)).reshape(rows), requires_grad=True, label="w")
    page.open(player((w * -2.0).tanh().sum(), names={}).html, "place=end")
    assert ("computed by Python alone" in page.text("#ran")) == alone
    lines = page.get("all('.wire').map(e => [e.getAttribute('class'), parseFloat(e.firstChild.style.strokeWidth)])")
    assert lines[0][0] == "wire flows below"
    assert all(width > 3 for look, width in lines if "above" in look)


def test_computed_card_says_so_where_somebody_would_change_it(page):
    page.open(player(neuron()).html, "place=end")
    double = "cardOf(arguments[0]).dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
    for change, name in (("F2", "o"), ("5", "n"), (double, "o"), (double, "x1")):
        page.run("query('#said').textContent = ''")
        if change == double:
            page.run(double, name)
        else:
            page.focus(name).press(change)
        said = "" if name == "x1" else f"{name} is computed: change what goes into it."
        assert (page.text("#said"), page.get("query('#number').hidden")) == (said, name != "x1")


# ------------------------------------------------------------------------------------------------ slopes
CURVES = (
    "Object.fromEntries(all('.card').filter(e => e.querySelector('.slope'))"
    ".map(e => [e.getAttribute('aria-label').split(',')[0], ['curve', 'tangent', 'point']"
    ".map(kind => e.querySelector(`.slope .${kind}`)).map(path => [path.getAttribute('class'),"
    " path.getAttribute('d').match(/-?[\\d.e-]+/g).map(Number)])]))"
)


def rise(tangent):
    """How far a tangent goes up, a screen's y goes down."""
    (_, (x0, y0, x1, y1)) = tangent
    return (y0 - y1) / (x1 - x0)


def test_each_leaf_has_the_curve_of_the_result_and_the_tangent_there(page):
    found = page.open(player(readme()).html).get(CURVES)
    looks = {name: tangent[0] for name, (_, tangent, _) in found.items()}
    assert looks == {"x1": "tangent below", "w2": "tangent "} | dict.fromkeys(("w1", "x2", "b"), "tangent above")
    slopes = {name: rise(tangent) for name, (_, tangent, _) in found.items()}
    unit = slopes["b"] / 0.50099
    assert unit > 0
    wanted = {"x1": -3 * 0.50099, "w1": 2 * 0.50099, "x2": 0.50099, "w2": 0.0, "b": 0.50099}
    scaled = {name: slope * unit for name, slope in wanted.items()}
    assert slopes == pytest.approx(scaled, rel=1e-3), "one scale for all"
    assert len({*found["w2"][0][1][1::2]}) == 1, "a level line"
    assert found["b"][0][1][1::2] == sorted(found["b"][0][1][1::2], reverse=True)


def test_drag_slides_along_the_curve_and_a_saturated_neuron_is_flat(page):
    before = page.open(player(readme()).html).get(CURVES)
    page.drag("x1", 60)
    after = page.get(CURVES)
    assert after["x1"][0] == before["x1"][0], "the curve of the number that is dragged stays"
    assert after["x1"][2][1][0] == pytest.approx(before["x1"][2][1][0] + 15, abs=0.1)
    page.focus("b").press("F2", *"12", "Enter")
    assert max(abs(rise(tangent)) for _, tangent, _ in page.get(CURVES).values()) < 0.1


# ------------------------------------------------------------------------------------------------ the same numbers
@pytest.fixture
def engine(page):
    """The page's engine by itself: `Program`, of what `made` gives."""
    return page.load(one_script("playing/recompute.js", asset))


def made(root):
    """A graph as the page's engine takes it."""
    found = program(walk(getattr(root, "_node", root)), Backprop())
    assert isinstance(found, dict), f"{root}: {found}"
    return json.loads(json.dumps(found, allow_nan=False))


COMPUTED = """
return arguments[0].map((made, k) => {
  const engine = Program(made);
  engine.reset(arguments[1]?.[k]);
  engine.run();
  const plain = x => x === undefined ? null : isArray(x) ? [...x].map(String) : [String(x)];
  return [engine.data.map(plain), engine.data.map((_, i) => plain(engine.grads[i]))];
});
"""


def scalars():
    """A graph for every op of Values, at several places, its edges too."""
    for op in OPS:
        for point in [*op.points(4), *(edge[0] for edge in op.edges)]:
            yield op.call(*map(Value, point))


def operand_forms():
    """Each op on arrays and, if it takes two operands, with a constant as either, with one node as both, broadcast."""
    for op in OPS:
        point, *_ = points = op.points(4)
        arrays = [Tensor(column, requires_grad=True) for column in zip(*points, strict=True)]
        yield op.call(*arrays).sum()
        if len(point) == 2:
            (a, b), (x, y) = point, arrays
            yield op.call(Value(a), Value(b, requires_grad=False))
            yield op.call(Value(a, requires_grad=False), Value(b))
            yield op.call(*[Value(b)] * 2)
            yield op.call(x.reshape(4, 1), y).sum()
            yield op.call(x, Tensor(b, requires_grad=True)).sum()
            yield op.call(Tensor(a), y).sum()
            yield op.call(*[y] * 2).sum()


def derivatives():
    """A graph of the derivatives of every op, of Values and of arrays: its nodes have the rows that only rules call."""
    for op in OPS:
        points = op.points(4)
        values = [Value(x) for x in points[0]]
        arrays = [Tensor(column, requires_grad=True) for column in zip(*points, strict=True)]
        for operands, out in [(values, op.call(*values)), (arrays, op.call(*arrays).sum())]:
            slopes = mg.grad(out, operands, create_graph=True, allow_unused=True)
            squares = [g * g for g in slopes if g is not None and g.requires_grad]
            if squares:
                total = sum(squares)
                yield total if operands is values else total.sum()
    layer = Linear(3, 2, rng=np.random.default_rng(0))
    out = layer(Tensor(np.ones((4, 3)), requires_grad=True)).square().sum()
    yield sum(g.square().sum() for g in mg.grad(out, [*layer.parameters()], create_graph=True))


def arrays():
    rng = np.random.default_rng(0)
    new = lambda *shape: Tensor(rng.normal(size=shape), requires_grad=True)  # noqa: E731
    a, b, c = new(3, 4), new(4, 2), new(4)
    yield (a @ b).tanh().mean()
    yield (1 / Tensor([-0.0, 0.0, np.inf, np.nan], requires_grad=True)).maximum(-5.0).sum()
    yield ((a + c) * c).sum(0)
    yield a.softmax(-1)[1:, [0, 2]].sum()
    yield a.log_softmax(-1).max(1).sum() + a.T.reshape(2, 6).cumsum(1).std()
    yield cross_entropy(a, [0, 3, 1])
    yield hinge(c, [1.0, -1.0, 1.0, -1.0])
    yield mg.concatenate([a, a * 2], axis=1).logsumexp(-1).sum()
    yield mg.where(a.data > 0, a, a * a).min(0).sum() + a.broadcast_to((2, 3, 4)).norm()
    yield (new(2, 3, 4) @ new(2, 4, 3)).sum()
    yield Sequential(Linear(3, 4, rng=rng), LayerNorm1d(4), ReLU(), Linear(4, 2, rng=rng))(new(5, 3)).square().mean()
    yield Conv2d(1, 2, 3, rng=rng)(new(2, 1, 5, 4)).square().sum()
    yield Embedding(4, 2, rng=rng)([0, 1, 1]).square().sum()
    yield mg.stack([a[0], a[1]])[0].square().sum() + mg.split(b, 2)[0].square().sum()
    yield (mg.concatenate([c[:0], c[:2]]) * c[:0].sum()).sum()


def written():
    """Graphs with arrays that were written to in place, in each way."""
    x = Tensor([[1.0, -2.0], [3.0, 0.5], [2.0, 4.0]], requires_grad=True)
    t = x * 10
    t += 1
    t *= x
    yield t.square().sum()
    t = x * x
    y = t * 2
    t[0] = x[1] * 2
    t[:2] += x[1:]
    t[1:, 0] *= x[0, 0]
    yield (y * t).sum()


def networks():
    yield from (network(2, (4, 1)), neuron())


def agree(engine, roots, later=None):
    """The page's numbers are the engine's; of `later`, the same graphs of other leaves, which the page is given."""
    graphs = [walk(getattr(root, "_node", root)) for root in later or roots]
    leaves = [[np.ravel(node._data).tolist() for node in graph.nodes if not node._prev] for graph in graphs]
    computed = engine.run(COMPUTED, [made(root) for root in roots], leaves if later else None)
    for graph, (data, grads) in zip(graphs, computed, strict=True):
        with np.errstate(all="ignore"):
            wanted = backprop(graph.nodes[-1], graph.nodes).grads
        for i, node in enumerate(graph.nodes):
            numbers(data[i], graph.data(i), graph, i)
            if node in wanted:
                numbers(grads[i], wanted[node], graph, i)
            else:
                assert grads[i] is None, f"node {i}, '{node._op}' has a gradient in the page alone"


def numbers(found, wanted, graph, i):
    found, wanted = [float(x.replace("Infinity", "inf")) for x in found], np.ravel(wanted)
    assert len(found) == len(wanted)
    if not np.allclose(found, wanted, rtol=1e-9, atol=1e-12, equal_nan=True):
        operands = [graph.data(j) for j in graph.operands[i]]
        pytest.fail(f"node {i}, '{graph.nodes[i]._op}' of {operands}: {found} in the page, {wanted} in the engine")


@pytest.mark.parametrize("graphs", [scalars, operand_forms, derivatives, arrays, networks, written])
def test_page_computes_the_engine_s_numbers_to_1e_9(engine, graphs):
    with np.errstate(all="ignore"):
        roots = [*graphs()]
    agree(engine, roots)


EDGES = [0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 0.1, 3.0, 5e-324, 1e300, 1e16, 2.0**52 + 0.5]
EMITTED = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "neg": "negative", "abs": "absolute"}
EMITTED |= {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "arctan2": "arctan2"}
EMITTED |= {name: name for name in ("power", "maximum", "minimum", "exp2", "remainder", "floor_divide", "rint")}
EMITTED |= {name: name for name in ("logaddexp", "sign", "hypot", "floor", "ceil", "trunc")}
DIFFERENT = """
const numbers = [...arguments[0], Infinity];
const at = [...numbers, ...numbers.map(x => -x), NaN];
const same = (x, y) => Object.is(x, y) || Math.abs(x - y) <= 1e-12 * Math.abs(y);
return Object.entries(emitted).flatMap(([name, emit]) => {
  const shown = CALLS[name] ?? Math[name.replace(/^arc/, "a")];
  const operands = emit.length === 1 ? at.map(a => [a]) : at.flatMap(a => at.map(b => [a, b]));
  return operands.filter(each => !same(shown(...each), emit(...each))).map(each => `${name}(${each})`);
});
"""


def test_page_s_functions_are_those_of_the_javascript_back_end_at_all_edges(engine):
    language, double = JavaScript(set()), np.dtype(float)
    entries = []
    for name, op in EMITTED.items():
        operands = ["a", "b"][: getattr(np, op).nin]
        result = language.form(op, [double] * len(operands)).format(*operands)
        entries.append(f"{json.dumps(name)}: ({', '.join(operands)}) => +({result})")
    emitted = f"const emitted = {{{', '.join(entries)}}};"
    assert engine.run("\n".join([*language.functions(emitted), emitted, DIFFERENT]), EDGES) == []


def parts(array):
    """The array as a leaf, and as what is kept of a larger leaf: the first rows, the last, and some rows twice."""
    rows = np.atleast_1d(array)
    more = np.full((2, *rows.shape[1:]), 0.75)
    half = len(rows) // 2
    twice = [*range(half), *range(len(rows) - half)]
    yield Tensor(array, requires_grad=True)
    for joined, index in [((rows, more), slice(len(rows))), ((more, rows), slice(2, None)), ((rows, more), twice)]:
        yield Tensor(np.concatenate(joined), requires_grad=True)[index].reshape(array.shape)


def of_parts(op, operands):
    """A graph in which the op is applied to parts of leaves, and parts of its results are added up."""
    total = 0.0
    for some in zip(*map(parts, operands), strict=True):
        out = op.call(*some)
        for kept in [out, out[0], out[:1], out[-1:], out[[0, 0]]] if out.size and out.ndim else [out]:
            total = total + (kept * np.linspace(1, 2, kept.size).reshape(kept.shape)).sum()
    return total


SORTED = ("sort", "pad:median")  # the one order that follows from numbers


@pytest.mark.parametrize("op", [op for op in ARRAY_OPS if not op.name.startswith(SORTED)], ids=str)
def test_page_computes_each_op_of_parts_of_arrays_and_follows_the_leaves(engine, op):
    roots, later = (
        [of_parts(op, operands) for operands in runs] for runs in (op.runs(), replace(op, name=f"{op}, later").runs())
    )
    agree(engine, roots, later)


def test_page_says_that_it_does_not_sort():
    x = Tensor([2.0, 1.0], requires_grad=True)
    said = program(walk((x.sort() * [1.0, 2.0]).sum()._node), Backprop())
    assert (
        said == "Numbers cannot be changed in the page, nor nudged: Python alone finds the order of \u2018sort\u2019."
    )


# ------------------------------------------------------------------------------------------------ nudges
NUDGE = """
const [made, i, shown] = arguments, engine = Program(made);
engine.run();
return engine.nudge(i, shown ?? undefined);
"""


def nudged(engine, root, leaf, shown=None):
    """The nudge test of a leaf, of the gradient that is `shown` or else of the page's own."""
    nodes = walk(getattr(root, "_node", root)).nodes
    at = next(i for i, node in enumerate(nodes) if node is getattr(leaf, "_node", leaf))
    return engine.run(NUDGE, made(root), at, shown)


def test_nudge_agrees_with_a_right_gradient_and_finds_a_wrong_one_or_a_kink(engine):
    a, b, zero = Value(2.0), Value(-3.0), Value(0.0)
    assert nudged(engine, (a * b + a).tanh(), b)["agrees"]
    wrong = nudged(engine, a * a, a, 4.01)
    assert not wrong["agrees"]
    assert wrong["slope"] == pytest.approx(4.0)
    for grad in (1e-3, 1e-5):
        assert not nudged(engine, b * grad, b, 1.1 * grad)["agrees"]
    assert not nudged(engine, zero.relu(), zero)["agrees"]
    assert not nudged(engine, 1 / zero, zero)["agrees"]
    for x in map(Value, (1e-6, 1.0, 1e6)):  # a step that suits the number
        assert nudged(engine, x.log(), x)["agrees"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nudge_of_an_array_moves_its_steepest_element(engine, dtype):
    t = Tensor(np.array([[1.0, 2.0], [-5.0, np.nan]], dtype), requires_grad=True, label="t")
    found = nudged(engine, (t[:, :1] * t[:, :1]).sum(), t)
    assert (found["at"], found["agrees"]) == (2, True)
    page = engine.open(player(mg.where(np.isnan(t.data), 0.0, t * t).sum()).html, "place=end")
    assert "1 leaf moved a little" in page.text("#ran")


def test_page_knows_every_function_that_a_row_calls(engine):
    called = {*TABLE, *re.findall(r'\["([^"]+)"', json.dumps([*functions().values()]))}
    missing = engine.run(
        "return arguments[0].filter(name => !CALLS[name] && typeof Math[name.replace(/^arc/, 'a')] !== 'function')",
        sorted(called - {*functions()}),
    )
    assert missing == []
