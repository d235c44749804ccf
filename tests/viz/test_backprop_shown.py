"""The player's own pass: what flowed along each edge, what the page can compute again. Nothing of the user changes."""

import numpy as np
import pytest

from micrograd import Function, Tensor, Value, compile
from micrograd.viz.drawing.carried import sent
from micrograd.viz.drawing.data import walk
from micrograd.viz.playing.gradients import backprop, changed_since
from micrograd.viz.playing.player_page import player
from micrograd.viz.playing.recompute import MOST_NODES, program


def passed(root):
    graph = walk(getattr(root, "_node", root))
    return graph, backprop(graph.nodes[graph.roots[0]], graph.nodes)


def test_pass_starts_from_one_runs_hooks_as_grad_does_and_changes_no_gradient():
    a = Value(3.0)
    a.register_hook(lambda g: g * 100)
    b = a * a
    b.backward(10.0)
    before = (a.grad, b.grad)
    assert passed(b)[1].grads[a] == 600.0
    assert (a.grad, b.grad) == before


def closure(add, uses):
    """A node whose closure adds `add(out.grad)` to the gradient of its operand, used so often."""
    a = Value(3.0)
    out = Value(9.0, (a,) * uses, "by hand")
    out._backward = lambda: setattr(a, "grad", a.grad + add(out.grad))
    return out


@pytest.mark.parametrize(
    ("out", "above", "wanted"),
    [
        (lambda a: a * a, 1, [(3.0, 3.0), (3.0, 3.0)]),
        (lambda a: a * 2, 1, [(2.0, 2.0), (None, None)]),
        (lambda a: closure(lambda g: 6 * g, 2), 1, [(6.0, 6.0), (None, None)]),
        (lambda a: closure(lambda g: min(1.0, 6 * g), 1), 3, [(None, 1.0)]),
    ],
    ids=["each use of a shared node", "a constant is sent nothing", "a closure once", "a closure that clips"],
)
def test_local_derivative_and_part_of(out, above, wanted):
    node = out(Value(3.0))
    _, back = passed(node * above if above > 1 else node)
    assert [(use.local, use.part) for use in sent(node, back.grads)] == wanted


@pytest.mark.parametrize("place", ["leaf", "inner", "root"])
def test_gradient_that_a_hook_gave_is_known_as_such(place):
    a = Value(0.5)
    b = a * 2
    nodes = {"leaf": a, "inner": b, "root": b * a}
    nodes[place].register_hook(lambda g: g * 10)
    assert passed(nodes["root"])[1].replaced == {nodes[place]}


def test_hook_that_only_looks_replaces_nothing():
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
    assert changed_since(walk(Value(float("nan")) * 2).nodes) == {}


def test_array_that_an_op_in_place_has_written_over_is_computed_once_more():
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
def test_op_that_only_its_author_can_compute_is_not_computed_again(double, written):
    y = double(Tensor([1.0, 2.0], requires_grad=True))
    z = (y * 3).sum()
    if written:
        y[0] = 5.0
    calls = Doubled.calls
    player(z + y.sum())
    assert Doubled.calls == calls
    assert "is not computed again" in program(*passed(z + y.sum()))


def test_operand_that_no_rule_uses_is_not_taken_for_what_was():
    x, z = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 3.0], requires_grad=True)
    y = x * 2
    w = y + 1  # its rules ask for no value of y, so that none was kept
    y *= z
    assert changed_since(walk((w + y).sum()._node).nodes) == {}


def test_arrays_that_are_asked_once_more_do_not_warn():
    t = Tensor([0.0, 1.0], requires_grad=True)
    with np.errstate(all="ignore"):
        out = t.log().sum()
    graph, back = passed(out)
    sent(graph.nodes[1], back.grads)


def test_inner_gradients_of_tensors_are_known_and_not_kept():
    t = Tensor([1.0, 2.0], requires_grad=True)
    inner = t * t
    y = inner.sum()
    _, back = passed(y)
    assert back.grads[inner._node].tolist() == [1.0, 1.0]
    assert (t.grad, inner._node.grad) == (None, None)
    y.backward()  # its graph is still there


@pytest.mark.parametrize("size", [(), (3,), (2, 3)])
def test_root_of_any_shape_is_differentiated_as_its_sum(size):
    t = Tensor(np.full(size, 2.0), requires_grad=True)
    assert (passed(t * 3)[1].grads[t._node] == 3.0).all()


# ------------------------------------------------------------------------------------------------ computed again


def test_page_starts_from_the_data_of_the_forward_pass():
    a = Value(3.0)
    out = a * a
    a.data = 100.0
    assert program(*passed(out))["nodes"][0] == 3.0


def with_hook():
    a = Value(3.0)
    a.register_hook(lambda g: g * 10)
    return a * a


def changed():
    out = Value(3.0) * 2
    out.data = 5.0
    return out


def ones(*shape):
    return Tensor(np.ones(shape), requires_grad=True)


@pytest.mark.parametrize(
    ("root", "words"),
    [
        (with_hook, "a hook gave other gradients"),
        (lambda: closure(lambda g: 6 * g, 1) * 2, "closures written by hand"),
        (changed, "changed after the forward pass"),
        (lambda: sum((Value(1.0) for _ in range(MOST_NODES)), Value(0.0)), f"{MOST_NODES:,}"),
        (lambda: ones(40, 30).sum(), "an array of 1,200 numbers is computed by Python alone"),
        (lambda: (ones(80, 1) * ones(1, 60)).sum(), "an array of 4,800 numbers is computed by Python alone"),
    ],
)
def test_op_that_the_page_cannot_compute_again_says_why(root, words):
    assert words in program(*passed(root()))
