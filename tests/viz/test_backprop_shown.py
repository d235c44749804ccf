"""The player's own pass: what flowed along each edge, what the page can compute again. Nothing of the user changes."""

import numpy as np
import pytest

from micrograd import Function, Tensor, Value, compile, no_grad
from micrograd.viz.drawing.data import walk
from micrograd.viz.playing.gradients import backprop, changed_since, sent
from micrograd.viz.playing.player_page import player
from micrograd.viz.playing.recompute import MOST_NODES, program


def passed(root):
    graph = walk(getattr(root, "_node", root))
    return graph, backprop(graph.nodes[graph.roots[0]], graph.nodes)


def test_no_grad_of_anybody_changes():
    a = Value(2.0)
    b = a * a
    b.backward()
    before = (a.grad, b.grad)
    passed(b)
    assert (a.grad, b.grad) == before


def test_it_starts_from_one_whatever_was_there():
    a = Value(3.0)
    b = a * a
    b.backward(10.0)
    assert passed(b)[1].grads[a] == 6.0


def test_hooks_run_in_it_as_in_grad():
    a = Value(3.0)
    a.register_hook(lambda g: g * 100)
    assert passed(a * 2)[1].grads[a] == 200.0


def test_each_use_of_a_shared_node_has_its_part():
    a = Value(3.0)
    b = a * a
    graph, back = passed(b)
    assert [(use.local, use.part) for use in sent(b, back.grads)] == [(3.0, 3.0), (3.0, 3.0)]
    assert graph.nodes[-1] is b


def test_a_constant_is_sent_nothing():
    a = Value(3.0)
    out = a * 2
    _, back = passed(out)
    assert [use.part for use in sent(out, back.grads)] == [2.0, None]


def test_a_closure_tells_what_it_adds_once():
    a = Value(3.0)
    out = Value(9.0, (a, a), "square")
    out._backward = lambda: setattr(a, "grad", a.grad + 6 * out.grad)
    _, back = passed(out)
    assert back.grads[a] == 6.0
    assert [use.part for use in sent(out, back.grads)] == [6.0, None]
    assert (a.grad, out.grad) == (0, 0)


def test_a_closure_that_clips_has_no_local_derivative():
    a = Value(3.0)
    out = Value(9.0, (a,), "clip")
    out._backward = lambda: setattr(a, "grad", a.grad + max(-1.0, min(1.0, 6 * out.grad)))
    root = out * 3
    _, back = passed(root)
    (use,) = sent(out, back.grads)
    assert (use.local, use.part) == (None, 1.0)


@pytest.mark.parametrize("place", ["leaf", "inner", "root"])
def test_a_gradient_that_a_hook_gave_is_known_as_such(place):
    a = Value(0.5)
    b = a * 2
    nodes = {"leaf": a, "inner": b, "root": b * a}
    nodes[place].register_hook(lambda g: g * 10)
    assert passed(nodes["root"])[1].replaced == {nodes[place]}


def test_a_hook_that_only_looks_replaces_nothing():
    seen = []
    a = Value(0.5)
    a.register_hook(seen.append)
    assert passed(a * a + a)[1].replaced == set()
    t = Tensor([1.0, 2.0], requires_grad=True)
    t.register_hook(seen.append)
    assert passed((t * t).sum())[1].replaced == set()
    assert len(seen) == 2


def test_data_that_was_changed_after_it_was_read_is_known_as_it_was():
    a, b = Value(3.0), Value(2.0)
    c = a * b
    out = (c + a).tanh()
    a.data, c.data, out.data = 100.0, 50.0, 7.0
    assert changed_since(walk(out).nodes) == {a: 3.0, c: 6.0, out: pytest.approx(np.tanh(9.0))}


def test_what_an_op_in_place_has_written_over_is_computed_once_more():
    x = Tensor([1.0, float("nan")], requires_grad=True)
    y = x * 2
    z = y + 1
    y += x
    graph = walk((z * y).sum()._node)
    assert [node._op for node in changed_since(graph.nodes)] == ["*"]  # what y was; its memory is written over
    assert np.array_equal(changed_since(graph.nodes).popitem()[1], [2.0, float("nan")], equal_nan=True)


class Doubled(Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        Doubled.calls += 1
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize("double", [compile(lambda x: x * 2), Doubled.apply], ids=["compiled", "Function"])
@pytest.mark.parametrize("written", [False, True], ids=["as it was", "written over"])
def test_what_only_its_author_can_compute_is_not_computed_again(double, written):
    y = double(Tensor([1.0, 2.0], requires_grad=True))
    z = (y * 3).sum()
    if written:
        y[0] = 5.0
    calls = Doubled.calls
    player(z + y.sum())
    assert Doubled.calls == calls
    assert "is not computed again" in program(*passed(z + y.sum()))


def test_what_no_rule_uses_is_not_taken_for_what_was():
    x, z = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 3.0], requires_grad=True)
    y = x * 2
    w = y + 1  # its rules ask for no value of y, so that none was kept
    y *= z
    assert changed_since(walk((w + y).sum()._node).nodes) == {}


def test_nan_is_not_a_change():
    assert changed_since(walk(Value(float("nan")) * 2).nodes) == {}


def test_no_warning_comes_from_asking_arrays_once_more():
    t = Tensor([0.0, 1.0], requires_grad=True)
    with np.errstate(all="ignore"):
        out = t.log().sum()
    graph, back = passed(out)
    sent(graph.nodes[1], back.grads)


def test_a_root_without_a_gradient_has_a_forward_pass_alone():
    with no_grad():
        out = Value(1.0) * 2
    assert "requires a gradient" in passed(out)[1].missing


def test_a_graph_that_was_let_go_names_retain_graph():
    t = Tensor([1.0, 2.0], requires_grad=True)
    y = (t * t).sum()
    y.backward()
    assert "retain_graph=True" in passed(y)[1].missing


def test_inner_gradients_of_tensors_are_known_and_not_kept():
    t = Tensor([1.0, 2.0], requires_grad=True)
    inner = t * t
    y = inner.sum()
    _, back = passed(y)
    assert back.grads[inner._node].tolist() == [1.0, 1.0]
    assert (t.grad, inner.grad) == (None, None)
    y.backward()  # its graph is still there


@pytest.mark.parametrize("size", [(), (3,), (2, 3)])
def test_a_root_of_any_shape_is_differentiated_as_its_sum(size):
    t = Tensor(np.full(size, 2.0), requires_grad=True)
    assert (passed(t * 3)[1].grads[t._node] == 3.0).all()


# ------------------------------------------------------------------------------------------------ computed again
def refused(root):
    """Why the page cannot compute a graph again."""
    found = program(*passed(root))
    assert isinstance(found, str)
    return found


def test_the_page_starts_from_the_data_of_the_forward_pass():
    a = Value(3.0)
    out = a * a
    a.data = 100.0
    assert program(*passed(out))["nodes"][0] == 3.0


def test_gradients_from_a_hook_are_not_computed_again():
    a = Value(3.0)
    a.register_hook(lambda g: g * 10)
    assert "a hook gave other gradients" in refused(a * a)


def test_a_closure_is_not_computed_again():
    a = Value(3.0)
    out = Value(9.0, (a,), "square")
    out._backward = lambda: None
    assert "closures written by hand" in refused(out * 2)


def test_data_changed_since_is_not_computed_again():
    a = Value(3.0)
    out = a * 2
    out.data = 5.0
    assert "changed after the forward pass" in refused(out)


def test_a_large_graph_is_not_computed_again():
    out = Value(1.0)
    for _ in range(MOST_NODES):
        out = out + 1
    assert f"{MOST_NODES:,}" in refused(out)


def test_arrays_of_many_numbers_are_not_computed_again():
    wide = Tensor(np.ones((40, 30)), requires_grad=True)
    assert "an array of 1,200 numbers is computed by Python alone" in refused(wide.sum())
    column, row = Tensor(np.ones((80, 1)), requires_grad=True), Tensor(np.ones((1, 60)))
    assert "an array of 4,800 numbers is computed by Python alone" in refused((column * row).sum())
    assert isinstance(program(*passed((column[:50] * row).sum())), dict)
