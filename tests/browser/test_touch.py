"""A leaf is dragged, typed or stepped in the page: every number follows, and is the engine's."""

import json
import math
import random
import re

import numpy as np
import pytest
from drawn_graphs import neuron
from ops_list import OPS
from selenium.webdriver.common.action_chains import ActionChains

import micrograd as mg
from micrograd import Tensor, Value
from micrograd.functional import cross_entropy, hinge
from micrograd.nn import MLP, LayerNorm1d, Linear, ReLU, Sequential
from micrograd.scalars.ops import TABLE
from micrograd.viz import player
from micrograd.viz.drawing.data import walk
from micrograd.viz.page import asset
from micrograd.viz.playing.gradients import Backprop, backprop
from micrograd.viz.playing.recompute import functions, program

from .test_player import card, network, pick, text


def move(page, name, by):
    """Drag the card with this name to the right, by so many pixels."""
    group = card(page, name)
    ActionChains(page.driver, 20).move_to_element(group).click_and_hold().move_by_offset(by, 0).release().perform()
    page.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def spoken(page, name):
    return card(page, name).get_attribute("aria-label")


# ------------------------------------------------------------------------------------------------ by hand
def test_a_leaf_is_dragged_and_everything_follows(page):
    page.open(player(neuron()).html, fragment="place=end", reduced_motion=True)
    move(page, "x1", 50)
    assert spoken(page, "x1").startswith("x1, data 2.5000")
    x1, x2, w1, w2, b = 2.5, 0.5, -3.0, 1.0, 6.8813735870195432
    out = math.tanh(x1 * w1 + x2 * w2 + b)
    assert f"data {out:.4f}".replace("-", "−") in spoken(page, "o")
    assert f"gradient {(1 - out * out) * w1:.4f}".replace("-", "−") in spoken(page, "x1")
    assert "✓ all slopes agree" in text(page, "#ran")
    pick(page, "#reset")
    assert spoken(page, "x1") == "x1, data 2.0000, gradient −0.6702"


def test_a_drag_from_the_first_step_shows_the_last(page):
    page.open(player(neuron()).html, reduced_motion=True, fragment="step=0")
    move(page, "w2", -30)
    assert text(page, "#phase") == "Done"
    assert "data 0.7000" in spoken(page, "w2")


def test_a_drag_in_the_middle_keeps_the_step(page):
    page.open(player(neuron()).html, reduced_motion=True, fragment="step=9")
    move(page, "b", 12)
    assert text(page, "#phase") == "Backward 3 of 5"


def test_a_click_without_a_drag_shows_the_paths(page):
    page.open(player(neuron()).html, reduced_motion=True, fragment="place=end")
    card(page, "x1").click()
    assert "Why is x1.grad" in text(page, "#why")


@pytest.mark.parametrize(
    ("typed", "shown"), [("7.25", "7.2500"), ("-3", "−3.0000"), ("1e-5", "1.0000e−5"), ("x", "2.0000")]
)
def test_a_leaf_is_typed(page, typed, shown):
    page.open(player(neuron()).html, reduced_motion=True, fragment="place=end")
    page.run("arguments[0].focus()", card(page, "x1"))
    page.press("F2")
    page.run("document.getElementById('number').value = arguments[0]", typed)
    page.press("Enter")
    assert spoken(page, "x1").startswith(f"x1, data {shown}")
    if typed == "x":
        assert "not a number" in text(page, "#live")


def test_a_leaf_is_stepped_with_the_arrow_keys(page):
    page.open(player(neuron()).html, reduced_motion=True, fragment="place=end")
    page.run("arguments[0].focus()", card(page, "x1"))
    page.press("ArrowUp", "ArrowUp", "ArrowDown")
    assert spoken(page, "x1").startswith("x1, data 2.1000")
    page.press("PageDown")
    assert spoken(page, "x1").startswith("x1, data 1.1000")
    page.press("4", "Enter")
    assert spoken(page, "x1").startswith("x1, data 4.0000")
    assert card(page, "x1").get_attribute("aria-valuenow") == "4"


def test_steps_are_the_engine_s(page):
    page.open(player(network(2, (3, 1))).html, reduced_motion=True)
    page.run("document.getElementById('rate').value = 0.05")
    for _ in range(3):
        pick(page, "#descend")
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
    assert text(page, "#loss") == f"3 steps: loss {losses[0]} → {losses[-1]}"


def test_a_step_is_taken_from_the_panel_that_tells_of_it_and_taken_back(page):
    page.open(player(readme(), names={}).html, reduced_motion=True)
    page.click("#why .step")
    after = re.search(r"out after it: (\S+), now (\S+)", text(page, "#why"))
    assert spoken(page, "x1").startswith("x1, data ")
    assert f"data {after[2]}" in spoken(page, "out")
    assert after[2] != "0.7064"
    assert page.run("return document.activeElement.matches('#why .step')"), "the next step is one key away"
    page.click("#why .undo")
    assert "data 0.7064" in spoken(page, "out")


def test_what_cannot_be_computed_again_says_so_and_stays(page):
    a = Value(3.0, label="a")
    out = Value(a.data * 5, (a,), "five")
    out._backward = lambda: None
    page.open(player(out).html, reduced_motion=True, fragment="step=0")
    assert "closures written by hand" in text(page, "#why")
    for act in (lambda: pick(page, "#descend"), card(page, "a").click, lambda: page.press("F2")):
        page.run("document.getElementById('said').textContent = ''; arguments[0].focus()", card(page, "a"))
        act()
        assert "closures written by hand" in text(page, "#said")
        assert "closures written by hand" in text(page, "#live")
    move(page, "a", 40)
    assert "data 3.0000" in spoken(page, "a")
    assert page.axe() == []


def test_what_is_computed_says_so_where_somebody_would_change_it(page):
    page.open(player(neuron()).html, reduced_motion=True, fragment="place=end")
    ActionChains(page.driver, 20).double_click(card(page, "o")).perform()
    assert text(page, "#said") == "o is computed: change what goes into it."
    assert page.run("return document.getElementById('number').hidden")
    page.press("Escape")
    page.run("arguments[0].focus()", card(page, "n"))
    page.press("5")
    assert text(page, "#said").startswith("n is computed")


def test_a_card_of_many_alike_says_that_it_does_not_open(page):
    loss = sum(((Value(float(k)) * 2.0).relu() for k in range(90)), Value(0.0))
    page.open(player(loss, max_nodes=20).html, reduced_motion=True)
    page.run(
        "[...document.querySelectorAll('.card.repeat')].find(e => e.textContent.includes('×90'))"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert text(page, "#said").endswith(" does not open: it stands for 90 operations of one kind.")


def test_one_number_of_an_array_is_dragged(page):
    x = Tensor(np.array([[1.0, -2.0], [0.5, 3.0]]), requires_grad=True, label="x")
    page.open(player((x * x).sum()).html, reduced_motion=True, fragment="place=end")
    cell = page.run("return document.querySelector('.card .cell')")
    ActionChains(page.driver, 20).move_to_element(cell).click_and_hold().move_by_offset(100, 0).release().perform()
    page.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert "data 17.2500" in spoken(page, "out")


def test_the_embedding_page_hears_of_a_change(page):
    page.open(
        "<!doctype html><html lang='en'><title>t</title><script>window.said = []; addEventListener('message', e => "
        "said.push(e.data))</script><iframe title='p' style='width:100%;height:500px' srcdoc=\""
        + player(neuron()).html.replace("&", "&amp;").replace('"', "&quot;")
        + '"></iframe>'
    )
    inner = "document.querySelector('iframe').contentDocument"
    page.wait(f"{inner}.querySelectorAll('.card').length")
    page.run(f"{inner}.querySelector('.card').focus()")
    page.run(
        f"{inner}.querySelector('.card').dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowUp', bubbles: true}}))"
    )
    page.wait("said.some(m => m.micrograd === 'leaf' && m.leaf === 0 && m.name === 'x1' && m.value === 2.1)")


# ------------------------------------------------------------------------------------------------ slopes
CURVES = (
    "return Object.fromEntries([...document.querySelectorAll('.card')].filter(e => e.querySelector('.slope'))"
    ".map(e => [e.getAttribute('aria-label').split(',')[0], ['curve', 'tangent', 'point']"
    ".map(kind => e.querySelector(`.slope .${kind}`)).map(path => [path.getAttribute('class'),"
    " path.getAttribute('d').match(/-?[\\d.e-]+/g).map(Number)])]))"
)


def rise(tangent):
    """How far a tangent goes up, a screen's y goes down."""
    (_, (x0, y0, x1, y1)) = tangent
    return (y0 - y1) / (x1 - x0)


def readme(b=6.88):
    x1, w1, x2, w2 = (Value(x, label=name) for name, x in {"x1": 2, "w1": -3, "x2": 0, "w2": 1}.items())
    return mg.tanh(x1 * w1 + x2 * w2 + Value(b, label="b"))


def test_each_leaf_has_the_curve_of_the_result_and_the_tangent_there(page):
    page.open(player(readme()).html, reduced_motion=True)
    found = page.run(CURVES)
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


def test_a_saturated_neuron_is_flat_and_a_drag_slides_along_the_curve(page):
    page.open(player(readme()).html, reduced_motion=True)
    before = page.run(CURVES)
    move(page, "x1", 60)
    after = page.run(CURVES)
    assert after["x1"][0] == before["x1"][0], "the curve of the number that is dragged stays"
    assert after["x1"][2][1][0] == pytest.approx(before["x1"][2][1][0] + 15, abs=0.1)
    page.run("arguments[0].focus()", card(page, "b"))
    page.press("F2", *"12", "Enter")
    assert max(abs(rise(tangent)) for _, tangent, _ in page.run(CURVES).values()) < 0.1


def test_a_large_graph_has_no_curves_and_a_step_before_the_gradient_hides_them(page):
    page.open(player(network()).html, reduced_motion=True)
    assert page.run(CURVES) == {}
    page.open(player(readme()).html, reduced_motion=True, fragment="step=3")
    shown = "return [...document.querySelectorAll('.slope')].map(e => e.style.visibility)"
    assert page.run(shown) == ["hidden"] * 5
    page.press("End")
    assert page.run(shown) == ["visible"] * 5


# ------------------------------------------------------------------------------------------------ the same numbers
HARNESS = """
return arguments[0].map(made => {
  const engine = Program(made);
  engine.run();
  const plain = x => x === undefined ? null : isArray(x) ? [...x].map(String) : [String(x)];
  return [engine.data.map(plain), engine.data.map((_, i) => plain(engine.grads[i]))];
});
"""


def in_the_page(page, roots):
    """(data, gradients) of all nodes of each graph, computed by the page's script."""
    made = []
    for root in roots:
        found = program(walk(getattr(root, "_node", root)), Backprop())
        assert isinstance(found, dict), f"{root}: {found}"
        made.append(json.loads(json.dumps(found)))
    page.open(
        f"<!doctype html><title>t</title><script>let story = {{missing: ''}};\n{asset('playing/recompute.js')}</script>"
    )
    return page.run(HARNESS, made)


def same(page, roots):
    """The page's numbers are the engine's, to 1e-9."""
    for root, (data, grads) in zip(roots, in_the_page(page, roots), strict=True):
        graph = walk(getattr(root, "_node", root))
        with np.errstate(all="ignore"):
            wanted = backprop(graph.nodes[-1], graph.nodes).grads
        for i, node in enumerate(graph.nodes):
            what = f"node {i} of {graph.nodes[-1]._op} of {[n._data for n in graph.nodes]}"
            numbers(data[i], node._data, f"data of {what}")
            if node in wanted:
                numbers(grads[i], wanted[node], f"gradient of {what}")


def numbers(found, wanted, what):
    found = [float(x.replace("Infinity", "inf")) for x in found]
    np.testing.assert_allclose(found, np.ravel(wanted), rtol=1e-9, atol=1e-12, err_msg=what)


def scalars():
    """A graph for every op of Values, at several places, its edges too."""
    for op in OPS:
        for point in [*op.points(4), *(edge[0] for edge in op.edges)]:
            yield op.call(*map(Value, point))


def test_every_op_has_the_engine_s_numbers_in_the_page(page):
    same(page, list(scalars()))


def arrays():
    rng = np.random.default_rng(0)
    new = lambda *shape: Tensor(rng.normal(size=shape), requires_grad=True)  # noqa: E731
    a, b, c = new(3, 4), new(4, 2), new(4)
    yield (a @ b).tanh().mean()
    with np.errstate(all="ignore"):
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


def test_arrays_have_the_engine_s_numbers_in_the_page(page):
    same(page, list(arrays()))


def test_a_network_has_the_engine_s_numbers_in_the_page(page):
    same(page, [network(2, (4, 1)), neuron()])


# ------------------------------------------------------------------------------------------------ nudges
NUDGE = """
const [made, i, shown] = arguments, engine = Program(made);
engine.run();
return engine.nudge(i, shown ?? undefined);
"""


def nudged(page, root, leaf, shown=None):
    """The nudge test of a leaf, of the gradient that is `shown` or else of the page's own."""
    graph = walk(getattr(root, "_node", root))
    at = next(i for i, node in enumerate(graph.nodes) if node is getattr(leaf, "_node", leaf))
    made = json.loads(json.dumps(program(graph, Backprop())))
    page.open(
        f"<!doctype html><title>t</title><script>let story = {{missing: ''}};\n{asset('playing/recompute.js')}</script>"
    )
    return page.run(NUDGE, made, at, shown)


def test_a_nudge_agrees_with_a_right_gradient_and_finds_a_wrong_one(page):
    a, b = Value(2.0), Value(-3.0)
    assert nudged(page, (a * b + a).tanh(), b)["agrees"]
    wrong = nudged(page, a * a, a, 4.01)
    assert not wrong["agrees"]
    assert wrong["slope"] == pytest.approx(4.0)
    for grad in (1e-3, 1e-5):
        assert not nudged(page, b * grad, b, 1.1 * grad)["agrees"]


def test_at_a_kink_the_slopes_differ_and_an_infinite_one_does_not_agree(page):
    zero = Value(0.0)
    assert not nudged(page, zero.relu(), zero)["agrees"]
    assert not nudged(page, 1 / zero, zero)["agrees"]


def test_the_step_of_a_nudge_suits_the_number(page):
    for x in (1e-6, 1.0, 1e6):
        a = Value(x)
        assert nudged(page, a.log(), a)["agrees"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_an_array_the_steepest_element_is_nudged(page, dtype):
    t = Tensor(np.array([[1.0, 2.0], [-5.0, np.nan]], dtype), requires_grad=True, label="t")
    root = mg.where(np.isnan(t.data), 0.0, t * t).sum()
    found = nudged(page, (t[:, :1] * t[:, :1]).sum(), t)
    assert (found["at"], found["agrees"]) == (2, True)
    page.open(player(root).html, fragment="place=end", reduced_motion=True)
    assert "1 leaf moved a little" in text(page, "#ran")


def test_an_empty_array_has_no_element_to_nudge(page):
    page.open(player(Tensor(np.zeros((0, 3)), requires_grad=True).sum()).html, fragment="place=end")
    assert "No leaf with a gradient is in this view" in text(page, "#ran")


def test_each_leaf_is_nudged_once_its_gradient_is_whole(page):
    page.open(player(neuron()).html, fragment="step=12", reduced_motion=True)
    page.press("ArrowLeft")
    assert "Nudge test: x1 + 0.001 moves o by" in text(page, "#ran")
    assert "✓ agrees" in text(page, "#ran")


def test_the_page_knows_every_function_that_a_row_calls(page):
    called = {*TABLE, *re.findall(r'\["([^"]+)"', json.dumps([*functions().values()]))}
    page.open(f"<!doctype html><title>t</title><script>{asset('playing/recompute.js')}</script>")
    missing = page.run(
        "return arguments[0].filter(name => !CALLS[name] && typeof Math[name.replace(/^arc/, 'a')] !== 'function')",
        sorted(called - {*functions()}),
    )
    assert missing == []
