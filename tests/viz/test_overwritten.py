"""After ops in place, every picture shows what each node computed, although they share one memory."""

import numpy as np
import pytest

from micrograd import Function, Tensor, compile, viz
from micrograd.tensor import node as nodes
from micrograd.viz.drawing.data import Group, describe, walk
from micrograd.viz.playing.views import PlayedGraph
from micrograd.viz.values import value_text

DATA = [[1.0, -2.0], [0.5, 4.0]]


def through_a_view(t, x):
    row = t[0]
    row *= x[1]
    t[0] = row
    return t


def of_views(t, x):
    """A view that is read before and after its memory is written to."""
    row, flat = t[1] * 3, t.reshape(4)[1:] * 2
    t *= x
    t[0] += row + flat[0]
    t[0] -= t[1]
    return t


def augmented(operator):
    return lambda t, x: getattr(t, f"__i{operator}__")(x)


def assigned(index, of):
    def write(t, x):
        t[index] = of(t, x)
        return t

    return write


FORMS = {
    **{name: augmented(name) for name in ("add", "sub", "mul", "truediv")},
    "**=": lambda t, x: t.__ipow__(2),
    "+= number": lambda t, x: t.__iadd__(1.5),
    "itself": lambda t, x: t.__imul__(t),
    "[0] = number": assigned(0, lambda t, x: 7.0),
    "[0] = row": assigned(0, lambda t, x: x[1]),
    "[:] =": assigned(slice(None), lambda t, x: x * 2),
    "[...] +=": assigned(..., lambda t, x: t[...] + x),
    "[0, 1] +=": assigned((0, 1), lambda t, x: t[0, 1] + x[0, 0]),
    "[list] =": assigned([1, 0], lambda t, x: t[[0, 1]] * x),
    "[mask] =": assigned(np.array([[True, False], [False, True]]), lambda t, x: x[0]),
    "copy_": lambda t, x: t.copy_(x * 3),
    "fill_": lambda t, x: t.fill_(2.0),
    "zero_": lambda t, x: t.zero_(),
    "through a view": through_a_view,
    "of views": of_views,
}
double = compile(lambda x: x * 2)


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


STARTS = {
    "computed": lambda x: x * 10,
    "constant": lambda x: Tensor([[5.0, 6.0], [7.0, 8.0]]),
    "constant by columns": lambda x: Tensor(np.asfortranarray([[5.0, 6.0], [7.0, 8.0]])),
    "of a view": lambda x: (x * 10).T,
    "compiled": double,
    "Function": Doubled.apply,
}


@pytest.fixture
def computed(monkeypatch):
    """What each node computed, by node, as it was when the node was made."""
    found, new_node = {}, nodes.new_node

    def spied(data, *args):
        node = new_node(data, *args)
        found[node] = data.copy()
        return node

    monkeypatch.setattr(nodes, "new_node", spied)
    monkeypatch.setattr("micrograd.tensor.tensor.new_node", spied, raising=False)
    return found


def drawn(graph):
    """What is drawn of each node."""
    boxes = describe(graph, [Group([i]) for i in range(len(graph.nodes))]).boxes
    return [dict(box.rows)["data"] for box in boxes]


def played(root):
    """The same in the player, film and animation."""
    story = PlayedGraph(root).story(max_nodes=1_000)
    return {card.node: dict(card.rows)["data"] for card in story.scenes[0].cards}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("first", FORMS)
def test_each_card_shows_what_its_node_computed(computed, start, first):
    for second in FORMS:
        x = Tensor(DATA, requires_grad=True)
        t = FORMS[second](FORMS[first](STARTS[start](x), x), x)
        root = (t * [[1.0, 2.0], [3.0, 4.0]]).sum()._node
        graph = walk(root)
        texts = [value_text(computed.get(node, node._data)) for node in graph.nodes]
        assert drawn(graph) == texts, second
        assert played(root) == dict(enumerate(texts)), second


@pytest.mark.parametrize("look", [viz.draw_dot, viz.player, viz.animate], ids=["draw_dot", "player", "animate"])
@pytest.mark.parametrize("form", FORMS)
def test_looking_at_what_was_overwritten_changes_no_later_number(look, form):
    found = []
    for looks in (False, True):
        x = Tensor(DATA, requires_grad=True)
        t = FORMS[form](FORMS[form](x * 10, x), x)
        out = (t + t).sum()
        if looks:
            look(out)
        data = [t.data.copy() for _ in range(2)]
        out.backward()
        found.append((*data, x.grad))
    assert np.array_equal(*found)


def test_no_array_is_kept_that_a_row_computes_again():
    x = Tensor(DATA, requires_grad=True)
    t = x * 10
    t += 1
    t[0] = 2.0
    last = t._node
    before = last._prev[0]
    assert last._data is before._data is before._prev[0]._data


def test_constant_that_was_written_to_keeps_one_copy_also_for_its_views():
    x, t = Tensor(DATA, requires_grad=True), Tensor(np.zeros((2, 2)))
    for i in range(2):
        t[i] = t[i] + x[i]
    graph = walk(t)
    constants = [i for i, node in enumerate(graph.nodes) if node._row is None]
    assert [drawn(graph)[i] for i in constants] == ["[[0.0000, 0.0000], [0.0000, 0.0000]]", "[0.0000, 0.0000]"]
    assert [graph.nodes[i]._data is t._node._data for i in constants] == [False, False]
    assert graph.nodes[constants[1]]._data.base is t._node._data, "a view of the memory itself"


def test_tensor_with_a_retained_gradient_is_drawn():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    y += 1
    y.sum().backward(retain_graph=True)
    rows = [dict(box.rows) for box in viz.draw_dot(y, names={}).graph.boxes]
    assert [row["data"] for row in rows if row.get("grad") == "[1.0000, 1.0000]"] == ["[4.0000, 7.0000]"]
