"""Autograd on Tensors, as users of PyTorch know it: one sentence a test."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from micrograd import Tensor, Value, arrays, backward, detect_anomaly, enable_grad, grad, is_grad_enabled, no_grad


def parameter(*data: Any) -> Tensor:
    return Tensor(np.array(data, dtype=float), requires_grad=True)


def equal(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found.detach() if isinstance(found, Tensor) else found), expected)


def nodes(t: Tensor) -> int:
    """How many nodes that require a gradient can be reached from the Tensor, counting it."""
    seen: set[Any] = set()
    below = [t.grad_fn]
    while below:
        fn = below.pop()
        if fn is not None and fn not in seen:
            seen.add(fn)
            below += [f for f, _ in getattr(fn, "next_functions", ())]
    return len(seen)


# ---------------------------------------------------------------------------------------------------------------------
# The graph that is seen


@pytest.fixture
def sum_times_d() -> tuple[Tensor, ...]:
    a, b, d = (Tensor(x, requires_grad=True) for x in (2.0, 3.0, 4.0))
    c = a + b
    return a, b, c, d, c * d


def test_three_leaves_get_four_four_and_five(sum_times_d: Any):
    a, b, _, d, e = sum_times_d
    e.backward()
    assert (a.grad, b.grad, d.grad) == (4, 4, 5)


def test_an_inner_gradient_is_none(sum_times_d: Any):
    _, _, c, _, e = sum_times_d
    e.backward()
    assert c.grad is None
    assert e.grad is None


def test_an_inner_gradient_stays_where_it_is_retained(sum_times_d: Any):
    _, _, c, _, e = sum_times_d
    c.retain_grad()
    e.retain_grad()
    e.backward()
    assert (c.grad, e.grad) == (4, 1)


def test_the_successors_of_a_node_are_its_operands_nodes(sum_times_d: Any):
    _, _, c, d, e = sum_times_d
    assert e.grad_fn.next_functions[0][0] is c.grad_fn
    assert e.grad_fn.next_functions[1][0].variable is d


def test_only_the_end_of_an_edge_at_a_leaf_has_a_variable(sum_times_d: Any):
    _, _, c, _, _ = sum_times_d
    assert c.grad_fn.name() == "AddBackward0"
    assert not hasattr(c.grad_fn, "variable")
    assert c.grad_fn.next_functions[0][0].name() == "AccumulateGrad"


def test_a_leaf_has_no_grad_fn(sum_times_d: Any):
    a, *_, e = sum_times_d
    assert a.grad_fn is None
    assert a.is_leaf
    assert not e.is_leaf


def test_a_constant_is_shown_as_none(sum_times_d: Any):
    a, *_ = sum_times_d
    assert (a * Tensor(3.0)).grad_fn.next_functions[1] == (None, 0)
    assert (a * 3.0).grad_fn.next_functions[1] == (None, 0)


def test_the_operands_are_the_tensors_themselves(sum_times_d: Any):
    a, b, c, d, e = sum_times_d
    assert all(x is y for x, y in zip(e._prev + c._prev, (c, d, a, b), strict=True))
    assert (e._op, c._op, a._op) == ("*", "+", "")


def test_a_constant_operand_is_the_same_object_each_time():
    y = parameter(1, 2) * np.array([3.0, 4.0])
    constant = y._prev[1]
    assert y._prev[1] is constant
    equal(constant, [3, 4])


def test_what_needs_no_gradient_is_a_leaf_without_history():
    y = Tensor([1.0]) + Tensor([2.0])
    assert (y.is_leaf, y.requires_grad, y.grad_fn, y._prev) == (True, False, None, ())


def test_retain_grad_of_a_constant_raises():
    with pytest.raises(RuntimeError, match="requires a gradient"):
        Tensor([1.0]).retain_grad()


@pytest.fixture
def in_place() -> tuple[list[Tensor], list[int], Tensor, Tensor, Any, Any]:
    """y1 = x1 + x2; y2 = x3 + x4; z = y1 * y2; z += x2: the leaves, the counts of nodes, y2, z, and z before."""
    x1, x2, x3, x4 = (Tensor([float(i)], requires_grad=i < 3) for i in range(1, 5))
    counts = [2]
    y1 = x1 + x2
    counts.append(nodes(y1))
    y2 = x3 + x4
    counts.append(nodes(y1) + nodes(y2))
    z = y1 * y2
    counts.append(nodes(z))
    before, old = z, z.grad_fn
    z += x2
    counts.append(nodes(z))
    return [x1, x2, x3, x4], counts, y2, z, before, old


def test_an_op_on_constants_adds_no_node_and_the_others_add_one_each(in_place: Any):
    _, counts, y2, *_ = in_place
    assert counts == [2, 3, 3, 4, 5]
    assert y2.grad_fn is None
    assert not y2.requires_grad


def test_an_op_in_place_keeps_the_object_and_sets_a_node_on_top_of_the_old_one(in_place: Any):
    *_, z, before, old = in_place
    assert z is before
    assert z.grad_fn.next_functions[0][0] is old


def test_the_gradients_of_the_example_in_place(in_place: Any):
    (x1, x2, x3, x4), _, y2, z, *_ = in_place
    z.backward(np.ones_like(z.data))
    equal(x1.grad, y2)
    equal(x2.grad, y2.data + 1)
    assert x3.grad is None
    assert x4.grad is None


# ---------------------------------------------------------------------------------------------------------------------
# Numbers known beforehand


def test_a_product_of_matrices_and_the_gradient_of_its_sum():
    w = Tensor([[1.0], [3.0]], requires_grad=True)
    y = Tensor([[1.0, 2], [3, 4], [5, 6], [7, 8]]) @ w
    y.sum().backward()
    equal(y, [[7], [15], [23], [31]])
    equal(w.grad, [[16], [20]])


def test_the_sine_of_a_line():
    x, a, b = (Tensor(n, requires_grad=True) for n in (0.5, 2.0, -0.25))
    (x * a + b).sin().backward()
    slope = np.cos(0.75)
    np.testing.assert_allclose([x.grad, a.grad, b.grad], [2 * slope, 0.5 * slope, slope])


def test_a_sum_with_a_product_of_three():
    s, p, q, v = (Tensor(n, requires_grad=True) for n in (1.0, 2.0, 3.0, 4.0))
    y = s + p * q * v
    y.backward()
    assert y.item() == 25
    assert (s.grad, p.grad, q.grad, v.grad) == (1, 12, 8, 6)


def test_float32_three_times_four_is_float32_twelve():
    y = Tensor([3], dtype="float32") * Tensor([4], dtype="float32")
    assert (y.tolist(), y.dtype) == ([12.0], np.float32)


@pytest.mark.parametrize("step", ["data", "no_grad"])
def test_a_hundred_steps_of_descent_keep_the_graphs_depth(step: str):
    w, x = parameter(1, -2), np.array([[1.0, 2.0], [3.0, 4.0]])
    sizes, losses = set(), []
    for _ in range(100):
        loss = ((x @ w - 1) ** 2).mean()
        sizes.add(nodes(loss))
        loss.backward()
        if step == "data":
            w.data -= 0.01 * w.grad
        else:
            with no_grad():
                w -= 0.01 * w.grad
        w.grad = None
        losses.append(loss.item())
    assert len(sizes) == 1
    assert w.is_leaf
    assert losses[-1] < losses[0] / 10


def test_a_sum_of_two_has_a_gradient_of_ones_for_each():
    x, y = (Tensor(np.random.default_rng(i).normal(size=(5, 10, 5)), requires_grad=True) for i in range(2))
    (x + y).sum().backward()
    equal(x.grad, np.ones((5, 10, 5)))
    equal(y.grad, np.ones((5, 10, 5)))


def test_forty_doublings_finish():
    x = y = Tensor(1.0, requires_grad=True)
    for _ in range(40):
        y = y + y
    y.backward()
    assert x.grad == 2**40


def test_a_chain_of_a_hundred_thousand_nodes_works():
    x = y = Tensor(1.0, requires_grad=True)
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad == 1


# ---------------------------------------------------------------------------------------------------------------------
# backward()


def test_a_root_that_is_no_scalar_needs_a_gradient_and_the_error_names_the_shape():
    with pytest.raises(RuntimeError, match=re.escape("(2, 3)")):
        Tensor(np.zeros((2, 3)), requires_grad=True).exp().backward()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_root_of_one_element_needs_none(shape: Any):
    x = Tensor(np.full(shape, 3.0), requires_grad=True)
    (x * x).backward()
    equal(x.grad, np.full(shape, 6.0))


@pytest.mark.parametrize("kind", [np.array, Tensor, lambda g: np.array(g, np.float32), lambda g: np.array(g, int)])
def test_a_gradient_may_be_an_array_or_a_tensor_of_any_real_dtype(kind: Callable):
    x = parameter(1, 2)
    (x * 2).backward(kind([1.0, 10.0]))
    equal(x.grad, [2, 20])
    assert x.grad.dtype == np.float64


def test_a_gradient_takes_on_the_roots_dtype_under_create_graph_too():
    x = Tensor([1.0, 2.0], dtype="float32", requires_grad=True)
    x.backward(Tensor([1.0, 2.0]), create_graph=True)
    assert x.grad.dtype == np.float32


def test_a_gradient_may_be_a_list():
    x = parameter(1, 2)
    (x * 2).backward([1.0, 10.0])
    equal(x.grad, [2, 20])


def test_a_gradient_of_another_shape_raises_and_both_are_named():
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        (parameter(1, 2) * 2).backward(np.ones(3))


@pytest.mark.parametrize("wrong", [1j * np.ones(2), np.array(["a", "b"])], ids=["complex", "text"])
def test_a_gradient_of_anything_but_real_numbers_raises(wrong: Any):
    with pytest.raises(TypeError, match="real"):
        (parameter(1, 2) * 2).backward(wrong)


def test_a_constant_cannot_be_a_root_and_the_error_shows_it():
    with pytest.raises(RuntimeError, match=r"Tensor\(\[1\.\]\)"):
        Tensor([1.0]).backward()


def test_a_second_pass_raises_and_names_retain_graph():
    y = parameter(1, 2).exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_a_pass_through_part_of_a_graph_that_was_let_go_raises_too():
    x = parameter(1, 2)
    h = x.exp()
    h.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        (h * 2).sum().backward()
    equal(x.grad, np.exp([1.0, 2.0]))


def test_a_retained_graph_can_be_walked_again_and_leaves_accumulate():
    x = parameter(1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    equal(x.grad, [6, 12])
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_create_graph_implies_retain_graph():
    x = parameter(1, 2)
    y = (x**3).sum()
    y.backward(create_graph=True)
    y.backward()
    equal(x.grad, [6, 24])


def test_retain_graph_false_overrides_create_graph():
    y = (parameter(1, 2) ** 3).sum()
    y.backward(create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_under_create_graph_a_gradient_is_a_tensor_that_can_be_differentiated():
    x = parameter(1, 2)
    (x**3).sum().backward(create_graph=True)
    g, x.grad = x.grad, None
    assert isinstance(g, Tensor)
    g.sum().backward()
    equal(x.grad, [6, 12])


def test_a_cube_differentiated_three_times_gives_twelve_twelve_and_six():
    x = Tensor(2.0, requires_grad=True)
    y, slopes = x**3, []
    for _ in range(3):
        (y,) = grad(y, x, create_graph=True)
        slopes.append(y.item())
    assert slopes == [12, 12, 6]


def test_a_gradient_penalty_can_be_trained():
    w, x = parameter(1, 2), parameter(3, 4)
    (slope,) = grad((w * x * x).sum(), x, create_graph=True)
    (slope**2).sum().backward()
    equal(w.grad, 2 * (2 * w.data * x.data) * 2 * x.data)


def test_a_failed_pass_leaves_gradients_and_graph_as_they_were():
    x = parameter(1, 2)
    y = x.exp()
    handle = x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert x.grad is None
    handle.remove()
    y.sum().backward()
    equal(x.grad, np.exp([1.0, 2.0]))


# ---------------------------------------------------------------------------------------------------------------------
# grad(), several roots, inputs=


def test_grad_leaves_every_grad_alone():
    x = parameter(1, 2)
    (g,) = grad((x * x).sum(), x)
    equal(g, [2, 4])
    assert x.grad is None


def test_grad_of_an_inner_tensor():
    x = parameter(1, 2)
    h = x * 3
    equal(grad((h * h).sum(), h)[0], [6, 12])


def test_grad_to_an_inner_tensor_leaves_what_is_below_it():
    x = parameter(1, 2)
    h = x * x
    (g,) = grad((h * h).sum(), h)
    h.backward(g)  # the rest of the way
    equal(x.grad, [4, 32])


def test_grad_lets_the_graph_go():
    x = parameter(1, 2)
    y = (x * x).sum()
    grad(y, x)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        grad(y, x)


def test_an_input_that_cannot_be_reached_raises_and_says_allow_unused():
    x, other = parameter(1), parameter(2)
    with pytest.raises(RuntimeError, match=r"input 1 .*allow_unused=True"):
        grad(x * 2, [x, other])


def test_an_input_that_cannot_be_reached_is_none_where_that_is_allowed():
    x, other = parameter(1), parameter(2)
    g, nothing = grad(x * 2, [x, other], allow_unused=True)
    equal(g, [2])
    assert nothing is None


def test_an_input_that_is_a_constant_raises():
    with pytest.raises(RuntimeError, match="an input requires no gradient"):
        grad(parameter(1) * 2, Tensor([1.0]))


def test_several_roots_with_a_gradient_each():
    x = parameter(1, 2)
    backward([x * 2, (x * x).sum()], [np.array([1.0, 10.0]), 100.0])
    equal(x.grad, [2 + 200, 20 + 400])


def test_a_root_that_stands_twice_counts_twice():
    x = parameter(1)
    y = x * 3
    backward([y, y])
    equal(x.grad, [6])


def test_a_root_below_another_root_gets_both():
    x = parameter(1)
    y = x * 3
    backward([y * y, y])
    equal(x.grad, [18 + 3])


@pytest.mark.parametrize("order", [1, -1])
def test_roots_of_both_kinds_work_or_raise_naming_both(order: int):
    v, x = Value(2.0), Tensor(3.0, requires_grad=True)
    try:
        backward([v * 2, x * 2][::order])
    except TypeError as error:
        assert re.search("(?s)Value.*Tensor|Tensor.*Value", str(error))  # noqa: PT017
        assert (v.grad, x.grad) == (0, None)
    else:
        assert (v.grad, x.grad) == (2, 2)


def test_as_many_gradients_as_roots():
    x = parameter(1)
    with pytest.raises(ValueError, match="2 roots need a list of 2 gradients"):
        backward([x * 2, x * 3], [np.ones(1)])


def test_inputs_alone_get_a_gradient():
    x, w = parameter(1, 2), parameter(3, 4)
    (x * w).sum().backward(inputs=[x])
    equal(x.grad, [3, 4])
    assert w.grad is None


def test_an_inner_input_gets_one_too():
    x = parameter(1, 2)
    h = x * 3
    (h * h).sum().backward(inputs=h)
    equal(h.grad, [6, 12])
    assert x.grad is None


def test_an_input_of_another_graph_gets_none():
    x, other = parameter(1), parameter(2)
    (x * 2).backward(inputs=[x, other])
    assert other.grad is None


# ---------------------------------------------------------------------------------------------------------------------
# Whose arrays gradients are


def through_add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def through_a_sum(x: Tensor, y: Tensor) -> Tensor:
    return (x + y).sum()


def through_concatenate(x: Tensor, y: Tensor) -> Tensor:
    return arrays.concatenate(0)(x, y).reshape(2, -1).sum(0)


def through_views(x: Tensor, y: Tensor) -> Tensor:
    return (x.reshape(1, -1).T.flatten() + y[...]).sum()


def through_where(x: Tensor, y: Tensor) -> Tensor:
    return arrays.where(np.array([True, False, True]))(x, y)


WAYS = [through_add, through_a_sum, through_concatenate, through_views, through_where]


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_two_leaves_never_share_a_gradients_memory(way: Callable):
    x, y = parameter(1, 2, 3), parameter(4, 5, 6)
    out = way(x, y)
    out.backward(np.ones(out.shape))
    assert not np.shares_memory(x.grad, y.grad)


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_the_results_of_grad_share_no_memory_either_and_can_be_written_to(way: Callable):
    x, y = parameter(1, 2, 3), parameter(4, 5, 6)
    out = way(x, y)
    to_x, to_y = grad(out, [x, y], np.ones(out.shape))
    to_x *= 0
    np.testing.assert_array_equal(to_x, [0, 0, 0])
    assert not np.shares_memory(to_x, to_y)
    assert to_y.flags.writeable


def test_an_input_that_is_asked_for_twice_gets_two_arrays():
    x = parameter(1, 2)
    first, second = grad((x * 2).sum(), [x, x])
    first *= 0
    equal(second, [2, 2])


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_a_gradient_can_be_updated_in_place(way: Callable):
    x, y = parameter(1, 2, 3), parameter(4, 5, 6)
    out = way(x, y)
    out.backward(np.ones(out.shape))
    before = x.grad.copy()
    x.grad *= 2
    x.grad.reshape(-1)[0] += 1  # a view where the memory is in order
    equal(x.grad, 2 * before + [1, 0, 0])


@pytest.mark.parametrize("f", [lambda x: x, lambda x: x + 0, lambda x: x.reshape(1, 2).reshape(2)])
def test_the_gradient_that_the_user_gave_is_not_adopted(f: Callable):
    x, g = parameter(1, 2), np.array([1.0, 1.0])
    f(x).backward(g)
    x.grad[...] = 99
    equal(g, [1, 1])
    g[...] = 77
    equal(x.grad, [99, 99])


def test_an_array_that_the_user_set_is_not_written_to():
    x, g = parameter(1, 2), np.array([5.0, 5.0])
    x.grad = g
    (x * 2).sum().backward()
    equal(g, [5, 5])
    equal(x.grad, [7, 7])


def test_a_gradient_that_was_taken_stays_as_it_was_in_the_next_pass():
    x = parameter(1, 2)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    equal(first, [2, 2])
    equal(x.grad, [5, 5])


def test_retained_gradients_share_no_memory_with_those_of_leaves():
    x = parameter(1, 2)
    y = x + 1
    y.retain_grad()
    y.sum().backward()
    x.grad[...] = 99
    equal(y.grad, [1, 1])


@pytest.mark.parametrize("passes", [1, 2])
def test_the_gradient_of_a_number_is_an_array_of_no_dimension(passes: int):
    x = Tensor(3.0, requires_grad=True)
    for _ in range(passes):
        (x * x).backward()
    assert type(x.grad) is np.ndarray
    x.grad[...] = 0
    assert x.grad == 0


def test_a_gradient_is_laid_out_as_its_leaf_wherever_it_came_from():
    x = Tensor(np.ones((3, 4)), requires_grad=True)
    (x.T * np.ones((4, 3))).sum().backward()
    assert x.grad.flags.c_contiguous


# ---------------------------------------------------------------------------------------------------------------------
# Hooks


def test_a_hook_sees_the_whole_gradient_of_a_pass_before_it_is_accumulated():
    x, seen = parameter(1, 2), []
    x.register_hook(lambda g: seen.append(g.copy()))
    x.grad = np.array([100.0, 100.0])
    (x * 2 + x * 3).sum().backward()
    equal(seen, [[5, 5]])
    equal(x.grad, [105, 105])


def test_a_hook_on_an_inner_tensor_may_replace_its_gradient():
    x = parameter(1, 2)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    equal(x.grad, [20, 20])


def test_a_hook_that_was_removed_is_not_called():
    x = parameter(1, 2)
    handle = x.register_hook(lambda g: g * 10)
    handle.remove()
    (x * 2).sum().backward()
    equal(x.grad, [2, 2])


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(lambda g: "abc", (TypeError, ValueError)), (lambda g: np.ones(3), ValueError), (lambda g: 1j * g, TypeError)],
    ids=["text", "shape", "complex"],
)
def test_what_a_hook_returns_must_be_a_gradient(wrong: Callable, error: Any):
    x = parameter(1, 2)
    x.register_hook(wrong)
    with pytest.raises(error):
        (x * 2).sum().backward()
    assert x.grad is None


def test_a_hook_that_writes_to_its_argument_changes_no_other_gradient():
    a, b = parameter(1, 2), parameter(3, 4)

    def tamper(g: np.ndarray) -> None:
        g *= 10

    a.register_hook(tamper)
    try:
        (a + b).sum().backward()
    except ValueError:  # the array is read-only
        assert (a.grad, b.grad) == (None, None)
    else:
        equal(b.grad, [1, 1])


def test_a_hook_that_keeps_its_argument_keeps_what_it_saw():
    x, seen = parameter(1, 2), []
    x.register_hook(seen.append)
    (x * 2).sum().backward()
    x.grad[...] = 99
    equal(seen, [[2, 2]])


def test_under_create_graph_a_hook_sees_a_tensor_and_is_differentiated_through():
    x = parameter(1, 2)
    y = x * 1
    y.register_hook(lambda g: g * x)
    (slope,) = grad((y * y).sum(), x, create_graph=True)
    equal(slope, [2, 8])  # 2 * y * x
    equal(grad(slope.sum(), x)[0], [2 + 2, 4 + 8])  # to x: 2 * y; to y: 2 * x, and the hook's x


def test_a_constant_cannot_be_hooked():
    with pytest.raises(RuntimeError, match="requires_grad=True"):
        Tensor([1.0]).register_hook(print)


# ---------------------------------------------------------------------------------------------------------------------
# Modes, detach, requires_grad


def test_nothing_is_recorded_inside_no_grad():
    x = parameter(1, 2)
    with no_grad():
        y = (x * 2).sum()
    assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)


def test_enable_grad_records_inside_no_grad():
    x = parameter(1, 2)
    with no_grad(), enable_grad():
        y = (x * 2).sum()
    y.backward()
    equal(x.grad, [2, 2])


@pytest.mark.parametrize("op", [lambda x: arrays.concatenate(0)(x, x), lambda x: x[0], lambda x: x @ x, lambda x: x.T])
def test_every_kind_of_op_heeds_no_grad(op: Callable):
    x = parameter(1, 2)
    with no_grad():
        assert not op(x).requires_grad
    assert op(x).requires_grad
    assert is_grad_enabled()


def test_a_backward_pass_may_run_inside_no_grad():
    x = parameter(1, 2)
    y = (x**2).sum()
    with no_grad():
        y.backward(create_graph=True)
    assert x.grad.requires_grad
    equal(x.grad, [2, 4])


def test_requires_grad_can_be_switched_on_and_off_on_a_leaf():
    x = Tensor([1.0])
    assert x.requires_grad_() is x
    assert x.requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad


def test_an_inner_tensor_cannot_be_frozen_and_the_error_says_detach():
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        (parameter(1) * 2).requires_grad_(False)


def test_what_is_unfrozen_after_its_use_gets_no_gradient_from_it():
    x, c = parameter(2), Tensor([3.0])
    y = (x * c).sum()
    c.requires_grad_()
    y.backward()
    equal(x.grad, [3])
    assert c.grad is None


def test_what_is_frozen_after_its_use_gets_none_and_the_others_get_theirs():
    x, w = parameter(2), parameter(3)
    y = (x * w).sum()
    w.requires_grad_(False)
    y.backward()
    equal(x.grad, [3])
    assert w.grad is None


def test_detach_gives_a_constant_that_shares_the_memory():
    x = parameter(1, 2)
    d = (x * 1).detach()
    assert (d.requires_grad, d.is_leaf) == (False, True)
    leaf = x.detach()
    leaf[0] = 9
    equal(x, [9, 2])


def test_nothing_flows_through_detach():
    x = parameter(1, 2)
    (x * x.detach()).sum().backward()
    equal(x.grad, [1, 2])


def test_detect_anomaly_names_the_forward_line_that_made_the_nan():
    x = parameter(0)
    with np.errstate(all="ignore"), detect_anomaly():
        y = x * x.log()  # the line
        with pytest.raises(RuntimeError, match=r"nan.*test_tensor_autograd\.py:\d+: y = x \* x\.log\(\)  # the line"):
            y.sum().backward()


def test_detect_anomaly_shows_the_operand():
    x = parameter(0)
    with np.errstate(all="ignore"), detect_anomaly(), pytest.raises(RuntimeError, match=r"Tensor\(\[0\.\]"):
        (x * x.log()).sum().backward()


def test_a_backward_pass_does_not_warn():
    x = parameter(0)
    with np.errstate(all="ignore"):
        y = x.log() + x.sqrt() + 1 / x
    y.backward()  # warnings are errors here
    equal(x.grad, [np.nan])


# ---------------------------------------------------------------------------------------------------------------------
# In place


def test_an_edge_leads_to_the_history_that_its_operand_had():
    x = parameter(1)
    y = x * 2
    w = y + 1
    y += x
    (w + y).sum().backward()
    equal(x.grad, [5])


COLUMN, ROW = np.array([[0.0], [1.0]]), np.array([1.0, 0.0, 0.0])
IN_PLACE: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {  # in place, and out of place
    "+=": (Tensor.__iadd__, lambda y, v: y + v),
    "-=": (Tensor.__isub__, lambda y, v: y - v),
    "*=": (Tensor.__imul__, lambda y, v: y * v),
    "/=": (Tensor.__itruediv__, lambda y, v: y / v),
    "**=": (Tensor.__ipow__, lambda y, v: y**v),
    "copy_": (Tensor.copy_, lambda y, v: 0 * y + v),
    "fill_": (lambda y, v: y.fill_(3.0), lambda y, v: 0 * y + 3.0),
    "zero_": (lambda y, v: y.zero_(), lambda y, v: 0 * y),
    "[0] =": (lambda y, v: (y.__setitem__(0, v), y)[1], lambda y, v: y * COLUMN + v * (1 - COLUMN)),
    "[:, 1:] =": (lambda y, v: (y.__setitem__(np.s_[:, 1:], v[1:]), y)[1], lambda y, v: y * ROW + v * (1 - ROW)),
    "[mask] =": (lambda y, v: (y.__setitem__(y > 2, 2), y)[1], lambda y, v: y * (y <= 2) + 2 * (y > 2)),
    "[[1, 0]] =": (lambda y, v: (y.__setitem__([1, 0], v), y)[1], lambda y, v: 0 * y + v),
}
every_in_place = pytest.mark.parametrize(("change", "same"), IN_PLACE.values(), ids=IN_PLACE)


def start(v: Any) -> tuple[Tensor, Any, Tensor]:
    x = Tensor([[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]], requires_grad=True)
    return x, v, x + 0.25


@pytest.fixture(params=["a parameter", "a constant", "an array"])
def v(request: pytest.FixtureRequest) -> Any:
    array = np.array([2.0, 0.5, 1.5])
    return {"a parameter": Tensor(array, requires_grad=True), "a constant": Tensor(array)}.get(request.param, array)


@every_in_place
def test_an_op_in_place_gives_the_values_and_gradients_of_the_op(change: Callable, same: Callable, v: Any):
    x, _, y = start(v)
    g = np.arange(1.0, 7.0).reshape(2, 3)
    changed = change(y, v)
    assert changed is y
    changed.backward(g)
    found = [y.data.copy(), x.grad, getattr(v, "grad", None)]

    x, _, y = start(v)
    if isinstance(v, Tensor):
        v.grad = None
    out = same(y, v)
    out.backward(g)
    expected = [out.data, x.grad, getattr(v, "grad", None)]
    for a, b in zip(found, expected, strict=True):
        if b is not None and a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-12)
        else:
            assert not np.any(a if b is None else b) or a is b


@every_in_place
def test_a_leaf_that_requires_a_gradient_refuses_and_stays_as_it_is(change: Callable, same: Callable):
    x, *_ = start(None)
    before = x.data.copy()
    with pytest.raises(RuntimeError, match=r"leaf.*no_grad\(\)"):
        change(x, np.array([1.0, 2.0, 3.0]))
    equal(x, before)
    assert x.is_leaf


@every_in_place
def test_inside_no_grad_a_leaf_is_changed_without_history(change: Callable, same: Callable):
    x, *_ = start(None)
    with no_grad():
        expected = same(Tensor(x), np.array([1.0, 2.0, 3.0]))
        assert change(x, np.array([1.0, 2.0, 3.0])) is x
    equal(x, expected)
    assert x.is_leaf
    assert x.requires_grad


@every_in_place
def test_a_constant_changed_by_constants_stays_one(change: Callable, same: Callable):
    t = Tensor(np.ones((2, 3)))
    change(t, np.array([1.0, 2.0, 3.0]))
    assert not t.requires_grad


def test_a_tensor_may_be_changed_by_itself():
    x = parameter(1, 2)
    y = x * 3
    y *= y
    y += y
    y.sum().backward()
    equal(y, [18, 72])
    equal(x.grad, [36, 72])


@pytest.mark.parametrize(
    ("change", "second"),
    [(lambda y: y.__ipow__(3), [12, 18]), (lambda y: y.__imul__(y), [2, 2]), (lambda y: y.__itruediv__(y + 1), None)],
    ids=["**=", "*=", "/="],
)
def test_an_op_in_place_can_be_differentiated_twice(change: Callable, second: Any):
    x = parameter(2, 3)
    (slope,) = grad(change(x * 1).sum(), x, create_graph=True)
    expected = -2 / (x.data + 1) ** 3 if second is None else second
    np.testing.assert_allclose(grad(slope.sum(), x)[0], expected, rtol=1e-12)


def test_what_is_written_in_place_can_be_differentiated_twice():
    x = parameter(2, 3)
    y = x * x
    y[0] = x[1] ** 3
    (slope,) = grad(y.sum(), x, create_graph=True)
    equal(slope, [0, 6 + 27])
    equal(grad(slope.sum(), x)[0], [0, 2 + 18])


def test_a_step_inside_no_grad_works_whoever_shares_the_memory_and_whatever_graph_is_alive():
    w = parameter(1, 2)
    average, aux = w.detach(), w * w
    (w * 3).sum().backward()
    with no_grad():
        w -= w.grad
    equal(average, [-2, -1])
    equal(aux, [1, 4])


def test_retain_grad_follows_the_tensor_to_its_new_history():
    x = parameter(1, 2)
    y = x * 2
    y.retain_grad()
    y += 1
    (y * 3).sum().backward()
    equal(y.grad, [3, 3])


def test_a_hook_stays_with_the_history_that_it_was_set_on():
    x, seen = parameter(1, 2), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.copy()))
    y *= 3
    y.sum().backward()
    equal(seen, [[3, 3]])
    equal(x.grad, [6, 6])


def test_a_constant_that_takes_in_a_parameter_gets_its_history():
    t, w = Tensor(np.zeros((2, 2))), parameter(1, 2)
    t[0] = w * 3
    assert t.requires_grad
    t.sum().backward()
    equal(w.grad, [3, 3])


@pytest.mark.parametrize("change", [
    lambda t, w: t.__setitem__(slice(0, 2), w), lambda t, w: t.copy_(w), lambda t, w: t.__imul__(w),
], ids=["setitem", "copy_", "*="])  # fmt: skip
def test_integers_never_require_a_gradient_in_place_either(change: Callable):
    t, w = Tensor([1, 2]), parameter(1.5, 2.5)
    try:
        change(t, w)
    except (TypeError, RuntimeError):
        equal(t, [1, 2])
    assert not t.requires_grad


def test_the_dtype_stays_in_place():
    t = Tensor(np.ones(2, np.float32))
    t += np.ones(2)
    assert t.dtype == np.float32
    integers = Tensor([1, 2])
    with pytest.raises(TypeError, match="int64"):
        integers /= 2


@pytest.mark.parametrize("change", [Tensor.__iadd__, Tensor.copy_, lambda t, o: t.__setitem__(..., o)])
def test_an_op_in_place_cannot_change_the_shape(change: Callable):
    t = Tensor(np.zeros(3))
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\s*3\)|\(2,\s*3\).*\(3,\)"):
        change(t, np.zeros((2, 3)))
    equal(t, [0, 0, 0])


def test_an_array_may_overlap_with_what_it_is_written_to():
    t = Tensor(np.arange(5.0))
    t[1:] = t[:-1]
    equal(t, [0, 0, 1, 2, 3])


# ---------------------------------------------------------------------------------------------------------------------
# Versions: a value that backward needs, and that was changed


def test_a_changed_value_raises_and_the_error_names_the_op_and_both_versions():
    x = parameter(1, 2)
    a = x * 1
    y = a * a
    a += 1
    a += 1
    with pytest.raises(RuntimeError, match=r"'\*'.*version 2.*version 0"):
        y.sum().backward()
    assert x.grad is None


def test_the_result_of_an_op_may_be_what_its_rule_needs():
    y = parameter(1, 2).exp()
    z = y.sum()
    y += 1
    with pytest.raises(RuntimeError, match=r"'exp'.*version"):
        (z + y.sum()).backward()


def test_an_op_does_not_mind_a_change_of_what_its_rule_does_not_need():
    x, w = parameter(1, 2), Tensor([3.0, 4.0])
    a = x * 1
    y = a * w  # to a: w alone
    a += 1
    y.sum().backward()
    equal(x.grad, [3, 4])


def test_a_change_before_the_use_does_no_harm():
    x = parameter(1, 2)
    a = x * 1
    a += 1
    (a * a).sum().backward()
    equal(x.grad, [4, 6])


def test_a_change_after_backward_does_no_harm():
    x = parameter(1, 2)
    a = x * 1
    y = (a * a).sum()
    y.backward()
    with no_grad():
        a += 1
        x -= x.grad
    equal(x, [-1, -2])


@pytest.mark.parametrize("view", [
    lambda a: a[0], lambda a: a[:1], lambda a: a.T, lambda a: a.reshape(-1), lambda a: a.detach(),
    lambda a: a.squeeze(), lambda a: a.swapaxes(0, 1), lambda a: a[..., None], lambda a: a.T[1:].T,
    lambda a: a.detach()[:1],
])  # fmt: skip
def test_views_and_their_base_share_a_version(view: Callable):
    base = Tensor(np.ones((2, 2)))
    x = Tensor(np.ones((2, 2)), requires_grad=True)
    for needed, written in ((base, view(base)), (view(base), base), (view(base), view(base))):
        y = (x.reshape(-1)[: needed.size].reshape(needed.shape) * needed).sum()
        written += 1
        with pytest.raises(RuntimeError, match="version"):
            y.backward()


@pytest.mark.parametrize("copied", [lambda a: a * 1, lambda a: a[[0, 1]], lambda a: a.astype(float), Tensor])
def test_a_copy_has_a_version_of_its_own(copied: Callable):
    base = Tensor(np.ones((2, 2)))
    x = Tensor(np.ones((2, 2)), requires_grad=True)
    y = (x * base).sum()
    written = copied(base)
    written += 1
    y.backward()
    equal(x.grad, np.ones((2, 2)))


def test_what_is_written_to_a_view_is_seen_in_its_base():
    base = Tensor(np.zeros((2, 2)))
    base[0] += 1
    base.T[1] = 5
    row = base[1]
    row[0] = 7
    equal(base, [[1, 5], [7, 5]])


@pytest.mark.parametrize("change", [
    lambda y, v: v.__iadd__(1), lambda y, v: y.__iadd__(1), lambda y, v: v.__setitem__(0, 5),
], ids=["view", "base", "item"])  # fmt: skip
def test_a_recorded_change_where_views_are_alive_is_followed_or_raises_and_says_what_to_write(change: Callable):
    x = parameter(1, 2)
    y = x * 2
    v = y[:1]
    try:
        change(y, v)
    except RuntimeError as error:
        assert re.search(r"view.*write y = y \+", str(error))  # noqa: PT017
        equal(y, [2, 4])
    else:
        (y.sum() + v.sum()).backward()


def test_once_the_view_is_gone_a_change_is_recorded():
    x = parameter(1, 2)
    y = x * 2
    assert y[:1].item() == 2
    y += x
    y.sum().backward()
    equal(x.grad, [3, 3])


# ---------------------------------------------------------------------------------------------------------------------
# Writes through data, detach() and numpy(): the graph keeps its own, or raises (each op: test_tensor_ops.py)


def test_a_write_through_data_is_seen_by_the_tensor_and_not_by_the_graph():
    x = parameter(1, 2)
    y = (x * x).sum()
    x.data[...] = 0
    equal(x, [0, 0])
    y.backward()
    equal(x.grad, [2, 4])


def test_a_step_between_two_passes_over_a_retained_graph_leaves_the_second_right():
    x = parameter(1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    x.data -= 0.5 * x.grad
    y.backward()
    equal(x.grad, [4, 8])
    equal(x, [0, 0])


def test_a_write_to_the_result_does_not_reach_the_rule_that_uses_it():
    x = parameter(0, 0)
    y = x.exp()
    z = y.sum()
    y.data[...] = 5
    z.backward()
    equal(x.grad, [1, 1])


@pytest.mark.parametrize("order", [1, 2])
def test_create_graph_after_a_write_is_right_or_raises(order: int):
    x = parameter(2)
    y = (x**3).sum()
    x.data[...] = 5
    try:
        (g,) = grad(y, x, create_graph=True)
        slopes = [g.item(), grad(g, x)[0].item()]
    except RuntimeError as error:
        assert re.search("written to", str(error))  # noqa: PT017
    else:
        assert slopes[:order] == [12, 12][:order]


def test_a_parameter_with_a_live_view_can_be_written_to_once_the_graph_is_gone():
    w = Tensor(np.ones((2, 2)), requires_grad=True)
    tied = w.T
    (w * w).sum()  # a forward pass that nobody follows
    w.data -= 1
    equal(w, np.zeros((2, 2)))
    assert tied.shape == (2, 2)


def test_a_write_through_data_reaches_the_views_or_raises():
    base = Tensor(np.ones((2, 2)))
    row = base[0]
    base.data[0] = 5
    equal(row, [5, 5])


@pytest.mark.parametrize("touch", [lambda x: x.data, lambda x: x.detach().numpy()], ids=["data", "numpy"])
def test_looking_at_the_data_of_a_graph_does_not_part_what_shares_memory(touch: Callable):
    x = parameter(1, 2)
    shared = x.detach()
    y = (x * x).sum()
    touch(x)
    y.backward()
    shared[0] = 5
    equal(x, [5, 2])


@pytest.mark.parametrize("write", [lambda x: x.data.__setitem__(0, 5.0), lambda x: x.__setitem__(0, 5.0)])
def test_a_write_while_a_graph_is_alive_reaches_what_shares_memory_or_raises(write: Callable):
    x = Tensor([1.0, 2.0])
    shared = x.detach()
    y = parameter(1, 2) * x
    try:
        write(x)
    except ValueError as error:
        assert "read-only" in str(error)  # noqa: PT017
    equal(shared, x)
    assert y.requires_grad


def test_an_array_that_is_an_operand_may_be_changed_afterwards():
    x, a = parameter(1, 2), np.array([3.0, 4.0])
    y = (x * a).sum()
    a[...] = 0
    y.backward()
    equal(x.grad, [3, 4])


# ---------------------------------------------------------------------------------------------------------------------
# The same programs in PyTorch

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a perceptron": lambda x, w: ((x @ w).tanh() @ w.T).relu().sum(),
    "attention": lambda x, w: ((x @ w @ (x @ w).T / 2).softmax(-1) @ x).mean(),
    "normalisation": lambda x, w: ((x - x.mean(0)) / ((x - x.mean(0)) ** 2 + 0.1).mean(0) ** 0.5 * w[0, 0]).sum(),
    "in place": lambda x, w: ((x * 2).__iadd__(w[0]).__imul__(x) ** 2).sum(),
    "shared": lambda x, w: (lambda h: (h * h + h[::1] / (h + 5)).sum())(x @ w + x),
    "masked": lambda x, w: (x * w[0])[x.detach() > 0].sum() + x[[0, 0, 1]].log_softmax(0)[1].sum(),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_reads_the_same_in_pytorch_gives_the_same(program: Callable):
    torch = pytest.importorskip("torch", reason="PyTorch is the reference here")
    rng = np.random.default_rng(3)
    data = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    ours = [Tensor(a, requires_grad=True) for a in data]
    theirs = [torch.tensor(a, requires_grad=True) for a in data]
    y, z = program(*ours), program(*theirs)
    y.backward()
    z.backward()
    assert y.item() == pytest.approx(z.item(), rel=1e-12)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-10, atol=1e-12)
