"""Names for free: what a drawing calls the nodes that have no label, and which leaves are parameters."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from drawn_graphs import expression

from micrograd import Tensor, Value, draw_dot
from micrograd.nn import MLP, Linear, Neuron, Sequential, Tanh
from micrograd.optim import SGD
from micrograd.viz import player
from micrograd.viz.playing.views import PlayedGraph


def boxes(root, **options):
    return draw_dot(root, **options).graph.boxes


def kinds(root):
    return {box.name: box.kind for box in boxes(root) if box.kind in ("parameter", "input")}


def test_node_has_the_name_of_the_caller_s_variable():
    a, b = Value(-4.0), Value(2.0)
    c = a + b
    g = c * c
    assert [box.name for box in draw_dot(g).graph.boxes] == ["a", "b", "c", "g"]
    assert draw_dot(g).graph.boxes[2].expression == "a + b"


def test_label_wins_and_names_may_be_given():
    a = Value(1.0, label="label")
    b = Value(2.0)
    assert [box.name for box in boxes(a * b, names={"x": b, "y": a})] == ["label", "x", ""]
    assert [box.name for box in boxes(a * b, names={})] == ["label", "", ""]


def test_player_and_show_name_them_too():
    def of_somebody():
        inner = Value(3.0)
        outer = inner * 2
        return player(outer), outer.show()

    for page in of_somebody():
        assert [line.split(":")[0] for line in page.words.splitlines()[1:]] == ["inner", "n1", "outer = inner * 2"]


def test_node_in_a_list_or_a_dict_is_named_by_its_place():
    xs, parts = [Value(1.0), [Value(2.0)]], {"w": Value(3.0)}
    root = xs[0] * xs[1][0] * parts["w"]
    assert {box.name for box in draw_dot(root).graph.boxes if box.kind == "input"} == {
        "xs[0]",
        "xs[1][0]",
        "parts['w']",
    }


def test_parameter_is_called_by_its_path_in_the_module():
    neuron, model = Neuron(2), MLP(2, [3, 1])
    assert {"w[0]", "w[1]", "b"} <= kinds(neuron([1.0, 2.0])).keys()
    assert {"layers.0.neurons.2.w[1]", "layers.1.neurons.0.b"} <= kinds(model([1.0, 2.0])).keys()
    net = Sequential(Linear(2, 3), Tanh(), Linear(3, 1))
    made = {box.name for box in draw_dot(net(Tensor(np.ones((4, 2))))).graph.boxes}
    assert {"0.weight", "0.bias", "2.weight", "2.bias"} <= made


def test_two_modules_are_told_apart_by_their_variables():
    one, two = Neuron(1), Neuron(1)
    root = one([1.0]) * two([1.0])
    assert {"one.w[0]", "two.w[0]"} <= {box.name for box in draw_dot(root).graph.boxes}


def test_parameter_is_what_a_module_or_an_optimizer_owns_and_other_leaves_are_inputs():
    x, w, v = Value(1.0), Value(2.0), Value(3.0)
    optimizer = SGD([w], lr=0.1)
    root = Neuron(1)([x]) * w + v
    found = {box.name: box.kind for box in draw_dot(root).graph.boxes}
    assert (found["x"], found["w"], found["v"], found["b"]) == ("input", "parameter", "input", "parameter")
    assert optimizer.params == [w]


def test_object_that_answers_anything_names_nothing():
    class Strange:
        def __getattr__(self, name):
            raise RuntimeError(name)

    strange, x = Strange(), Value(1.0)
    assert (draw_dot(x).graph.boxes[0].name, type(strange)) == ("x", Strange)


# ------------------------------------------------------------------------------------------------ gradients
@pytest.mark.parametrize("node", [Value(0.0), Tensor([0.0], requires_grad=True)], ids=["Value", "Tensor"])
def test_before_backward_a_gradient_is_a_dash_and_afterwards_a_number(node):
    out = (node * 2).sum() if isinstance(node, Tensor) else node * 2
    assert {dict(box.rows).get("grad", "\u2013") for box in boxes(out)} == {"\u2013"}
    out.backward(retain_graph=True)
    assert {dict(box.rows).get("grad") for box in boxes(out)} & {"2.0000", "[2.0000]"}


W = Tensor(np.ones((3, 2)), requires_grad=True)
INDEXED = {
    "W[0]": lambda: W[0],
    "W[0, 1]": lambda: W[0, 1],
    "W[:, 1]": lambda: W[:, 1],
    "W[1:, ::2]": lambda: W[1:, ::2],
    "W[..., None, -1]": lambda: W[..., None, -1],
    "W[1][0]": lambda: W[1][0],
    "(W + 1)[0]": lambda: (W + 1)[0],
    "getitem(W)": lambda: W[np.array([0, 2])],
}


@pytest.mark.parametrize("text", INDEXED)
def test_part_of_an_array_is_called_as_one_writes_it(text):
    part = INDEXED[text]()
    root = (part * 2.0).sum()
    assert [box.expression for box in boxes(root) if box.op == "getitem"][-1] == text
    assert f"= {text}" in draw_dot(root).source
    assert text.replace("-", "\N{MINUS SIGN}") in draw_dot(root).svg().replace("-", "\N{MINUS SIGN}")
    assert text in player(root).words


def test_values_in_an_array_are_named_by_their_places():
    ws = np.array([Value(1.0), Value(2.0)])
    grid = np.array([[Value(1.0)], [Value(2.0)]])
    root = ws[0] * ws[1] + grid[1, 0] + np.float64(2.0)
    found = {box.name for box in draw_dot(root).graph.boxes if box.kind in ("input", "parameter")}
    assert found == {"ws[0]", "ws[1]", "grid[1][0]"}


# ------------------------------------------------------------------------------------------------ short names
def grown(seed, labels):
    """A random graph; some of its nodes have one of the labels."""
    rng = random.Random(seed)
    values = [Value(rng.uniform(0.5, 1.5), label=name) for name in "ab"]
    for _ in range(25):
        x, y = rng.choice(values[-5:]), rng.choice(values)
        made = rng.choice([lambda: x + y, lambda: x * y, lambda: x - 1, lambda: x.tanh(), lambda: 1 / y])()  # noqa: B023
        made.label = rng.choice([*labels, *[""] * 6])
        values.append(made)
    return sum(values)


@pytest.mark.parametrize("labels", [["c"], ["v1", "v2"]], ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_node_without_a_name_has_a_short_one_where_its_expression_is_long(seed, labels):
    boxes = draw_dot(grown(seed, labels), names={}, max_nodes=None).graph.boxes
    named = [box.short for box in boxes if box.short]
    assert named == [*dict.fromkeys(named)]
    assert {*named}.isdisjoint(box.name for box in boxes)
    for box in boxes:
        refers = box.name or box.short or box.stands_for[0]
        assert 0 < len(refers) <= 16
        assert box.short == "" or not box.name


@pytest.mark.parametrize("seed", range(12))
def test_expression_refers_only_to_what_is_on_a_card(seed):
    boxes = draw_dot(grown(seed, ["c"]), names={}, max_nodes=None).graph.boxes
    known = {"tanh"} | {name for box in boxes for name in (box.name, box.short) if name}
    for box in boxes:
        assert "..." not in box.expression
        assert {*re.findall(r"[a-z]\w*", box.expression)} <= known


def test_drawing_and_player_give_the_same_short_names():
    root = expression()
    drawn = draw_dot(root, names={}).graph.boxes
    played = PlayedGraph(root, {}).story().scenes[0].cards
    assert [(box.short, box.expression) for box in drawn] == [(card.short, card.expression) for card in played]
    assert any(box.short for box in drawn)


@pytest.mark.parametrize(
    ("op", "sign", "written"),
    [
        ("a * b", "×", "a × b"),
        ("a ** 2", "x²", "a²"),
        ("a ** -1", "x⁻¹", "a⁻¹"),
        ("a ** 12", "x¹²", "a¹²"),
        ("a ** 0.5", "x**0.5", "a**0.5"),
    ],
)
def test_title_card_and_badge_have_one_sign_for_a_product_and_one_for_a_power(op, sign, written):
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    page = player(eval(op, {"a": a, "b": b}), names={})
    drawn = draw_dot(eval(op, {"a": a, "b": b}), names={}).svg()
    assert page.story()["title"] == written
    assert page.story()["scenes"][0]["cards"][-1]["op"] == sign
    assert f">{sign}</text>" in drawn
    assert f">{written}</text>" in drawn


def test_player_site_and_lessons_write_derivatives_with_one_sign():
    root = Path(__file__).parents[2]
    folders = [root / name for name in ("micrograd", "site", "demos", "docs")]
    texts = [
        path
        for folder in folders
        for kind in ("py", "js", "html", "md", "ipynb")
        for path in folder.rglob(f"*.{kind}")
        if not any(part.startswith(".") for part in path.relative_to(root).parts)  # such as what a build fetched
    ]
    found = [path.name for path in texts if re.search("\u2202|\\\\u2202", path.read_text(encoding="utf-8"))]
    assert len(texts) > 300
    assert found == []
