"""The player's own pass: what flowed along each edge, and the nudge test of it. Nothing of the user's changes."""

import numpy as np
import pytest

from micrograd import Tensor, Value, no_grad
from micrograd.viz.drawing.data import walk
from micrograd.viz.playing.backprop import backprop, changed_since, sent
from micrograd.viz.playing.nudge import MOST_LEAVES, MOST_NODES, nudges


def passed(root):
    graph = walk(getattr(root, "_node", root))
    return graph, backprop(graph.nodes[graph.roots[0]], graph.nodes)


def nudged(root):
    graph, back = passed(root)
    return nudges(graph, back)


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


# ------------------------------------------------------------------------------------------------ nudges
def test_a_nudge_agrees_with_a_right_gradient():
    a, b = Value(2.0), Value(-3.0)
    tests, why = nudged((a * b + a).tanh())
    assert why == ""
    assert set(tests) == {a, b}
    assert all(test.agrees for test in tests.values())


def test_a_nudge_finds_a_wrong_gradient():
    a = Value(2.0)
    graph, back = passed(a * a)
    back.grads[a] = 4.01
    tests, _ = nudges(graph, back)
    assert not tests[a].agrees
    assert tests[a].slope == pytest.approx(4.0)


@pytest.mark.parametrize("grad", [1e-3, 1e-5])
def test_a_nudge_finds_a_small_gradient_that_is_wrong(grad):
    a = Value(1.0)
    graph, back = passed(a * grad)
    back.grads[a] = 1.1 * grad
    assert not nudges(graph, back)[0][a].agrees


def test_a_nudge_starts_from_the_data_of_the_forward_pass():
    a = Value(3.0)
    out = a * a
    a.data = 100.0
    tests, why = nudged(out)
    assert why == ""
    assert tests[a].slope == pytest.approx(6.0)


def test_gradients_from_a_hook_are_not_nudged():
    a = Value(3.0)
    a.register_hook(lambda g: g * 10)
    assert "a hook gave other gradients" in nudged(a * a)[1]


def test_an_empty_array_has_no_element_to_nudge():
    assert nudged(Tensor(np.zeros((0, 3)), requires_grad=True).sum()) == (
        {},
        "There is no leaf with a gradient that could be nudged.",
    )


@pytest.mark.parametrize(
    ("f", "x", "agrees"),
    [(Value.relu, 0.0, False), (lambda a: 1 / a, 0.0, False), *((Value.log, x, True) for x in (1e-6, 1.0, 1e6))],
)
def test_slopes_differ_at_a_kink_and_where_they_are_infinite_and_the_step_suits_the_number(f, x, agrees):
    a = Value(x)
    tests, _ = nudged(f(a))
    assert tests[a].agrees == agrees


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_an_array_the_steepest_element_is_nudged(dtype):
    t = Tensor(np.array([1.0, 5.0, 2.0], dtype), requires_grad=True)
    tests, _ = nudged((t * t).sum())
    assert (tests[t._node].index, tests[t._node].agrees) == ((1,), True)
    assert t.data.tolist() == [1.0, 5.0, 2.0]


def test_a_closure_cannot_be_nudged_through():
    a = Value(3.0)
    out = Value(9.0, (a,), "square")
    out._backward = lambda: None
    tests, why = nudged(out * 2)
    assert tests == {}
    assert "not available" in why


def test_data_changed_since_makes_it_unavailable():
    a = Value(3.0)
    out = a * 2
    out.data = 5.0
    tests, why = nudged(out)
    assert tests == {}
    assert "changed after the forward pass" in why


def test_only_the_leaves_nearest_the_root_are_nudged():
    leaves = [Value(float(i)) for i in range(MOST_LEAVES + 5)]
    tests, _ = nudged(sum(leaves[1:], leaves[0]))  # the last is nearest
    assert len(tests) == MOST_LEAVES
    assert leaves[-1] in tests
    assert leaves[0] not in tests


def test_a_large_graph_is_not_computed_again():
    out = Value(1.0)
    for _ in range(MOST_NODES):
        out = out + 1
    tests, why = nudged(out)
    assert tests == {}
    assert f"{MOST_NODES:,}" in why
