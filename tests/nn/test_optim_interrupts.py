"""A step that is interrupted or fails leaves every parameter and every state as before, and can be repeated."""

from functools import partial

import numpy as np
import pytest
from interrupts import ctrl_c as ctrl_c
from interrupts import interrupted_everywhere

from micrograd import Value
from micrograd.optim import SGD, Adam, AdamW, LambdaLR, Optimizer, clip_grad_norm
from micrograd.tensor import Tensor


class InPlace(Optimizer):
    """A rule that writes into what it remembers, and names none of it."""

    def _update(self, p, g, state):
        state.setdefault("sums", [g * 0.0])[0] += g
        p.data -= self.lr * state["sums"][0]
        p.data *= 0.9


class Rebinding(SGD):
    """A rule that gives a parameter another array."""

    def _update(self, p, g, state):
        state["velocity"] = state.get("velocity", 0.0) * 0.5 + g
        p.data = p.data - self.lr * state["velocity"]


RULES = {
    "SGD": lambda params, **named: SGD(params, lr=0.1, momentum=0.9, nesterov=True, **named),
    "Adam": lambda params, **named: Adam(params, lr=0.1, weight_decay=0.1, **named),
    "AdamW": lambda params, **named: AdamW(params, lr=0.1, **named),
    "in place": lambda params, **named: InPlace(params, lr=0.1, **named),
    "rebinding": lambda params, **named: Rebinding(params, lr=0.1, **named),
}


def parameters():
    """A Value, a Tensor in Fortran's order, one of no axes, one that nothing has reached, and a view of each array."""
    params = [Value(1.5), Tensor(np.arange(6.0).reshape(2, 3).T, requires_grad=True)]
    params += [Tensor(2.0, requires_grad=True), Tensor([7.0], requires_grad=True)]
    return params, [params[1].detach(), params[2].detach()]


def gradients(params):
    params[0].grad, params[1].grad, params[2].grad = 0.5, np.ones((3, 2)), np.array(-1.0)


def content(optimizer):
    state = optimizer.state_dict()["state"]
    data = [np.asarray(p.data if isinstance(p, Value) else p.detach().numpy()).tolist() for p in optimizer.params]
    return data, [{name: np.asarray(x).tolist() for name, x in held.items()} for held in state]


def fresh(rule, **named):
    """An optimizer after one step, with gradients for the next."""
    params, views = parameters()
    optimizer = RULES[rule](params, **named)
    for _ in range(2):
        optimizer.zero_grad()
        gradients(params)
        if not any(optimizer.state.values()):
            optimizer.step()
    return optimizer, views


def running(rule, reduce=lambda: None):
    """A step to interrupt, its optimizer, and views of its parameters."""
    optimizer, views = fresh(rule, reduce=reduce())
    return optimizer.step, optimizer, views


@pytest.mark.parametrize("rule", RULES)
def test_step_interrupted_at_any_line_changes_all_or_nothing_and_can_be_repeated(rule):
    whole, _ = fresh(rule)
    before = content(whole)
    whole.step()
    after = content(whole)
    for hit, optimizer, views in interrupted_everywhere(partial(running, rule), 10):
        found = content(optimizer)
        assert found == after or (hit and found == before)
        if rule != "rebinding":
            assert [view.tolist() for view in views] == found[0][1:3]
        if found == before:
            optimizer.step()
            assert content(optimizer) == after


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("wrong", [np.ones((4, 4)), "nonsense"])
def test_step_that_raises_at_a_later_parameter_changes_nothing(rule, wrong):
    optimizer, _ = fresh(rule)
    before = content(optimizer)
    good, optimizer.params[2]._node.grad = optimizer.params[2].grad, wrong
    with pytest.raises((ValueError, TypeError)):
        optimizer.step()
    assert content(optimizer) == before
    whole, _ = fresh(rule)
    whole.step()
    optimizer.params[2].grad = good
    optimizer.step()
    assert content(optimizer) == content(whole)


def test_step_that_overflows_under_errstate_changes_nothing():
    a, b = Tensor([1.0, 1.0], requires_grad=True), Tensor([1.0, -1.7e308], requires_grad=True)
    optimizer = SGD([a, b], lr=1.0)
    a.grad, b.grad = np.ones(2), np.array([1.0, 1.7e308])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        optimizer.step()
    assert (a.tolist(), b.tolist()) == ([1.0, 1.0], [1.0, -1.7e308])


# ---------------------------------------------------------------------------------------------------------------------
# With `reduce=`: a sum is never summed again


def workers(n):
    """A function that sums over n workers with the same gradients, and a list of what it was called with."""
    seen = []

    def total(flat):
        seen.append(flat.tolist())
        return n * flat

    return total, seen


@pytest.mark.parametrize("rule", RULES)
def test_step_with_reduce_interrupted_at_any_line_and_repeated_sums_once(rule):
    whole, _ = fresh(rule, reduce=workers(3)[0])
    whole.step()
    after, calls = content(whole), []

    def total():
        summing, seen = workers(3)
        calls.append(seen)
        return summing

    for _, optimizer, _ in interrupted_everywhere(partial(running, rule, total), 10):
        if content(optimizer) != after:
            optimizer.step()
        assert content(optimizer) == after
        assert all(flat == calls[-1][-1] for flat in calls[-1][1:])


@pytest.mark.parametrize("clear", ["optimizer", "by hand"])
@pytest.mark.parametrize("failing", [False, True])
def test_gradients_after_a_step_or_a_failure_are_summed_again(clear, failing):
    x, (total, seen) = Value(10.0), workers(2)
    optimizer = SGD([x], lr=1.0, reduce=total)
    x.grad = 1.0
    optimizer.lr = "high" if failing else 1.0
    if failing:
        with pytest.raises(TypeError):
            optimizer.step()
    else:
        optimizer.step()
    optimizer.lr = 1.0
    optimizer.zero_grad() if clear == "optimizer" else setattr(x, "grad", 0)
    (x * 3).backward()
    before = x.data
    optimizer.step()
    assert (seen, before - x.data) == ([[1.0], [3.0]], 6.0)


def test_reduce_and_clip_grad_norm_interrupted_at_any_line_change_all_gradients_or_none():
    def running():
        a, b = Value(1.0), Value(1.0)
        optimizer = SGD([a, b], lr=1.0, reduce=workers(2)[0])
        a.grad, b.grad = 3.0, 4.0
        return lambda: (optimizer.reduce(), clip_grad_norm((a, b), 1.0)), optimizer, a, b

    for _, optimizer, a, b in interrupted_everywhere(running, 10):
        assert (a.grad, b.grad) in [(3.0, 4.0), (6.0, 8.0), pytest.approx((0.6, 0.8))]
        clipped = a.grad < 1
        optimizer.step()
        assert (a.data, b.data) == (pytest.approx((0.4, 0.2)) if clipped else (-5.0, -7.0))


def test_schedule_whose_function_raises_has_not_advanced():
    optimizer = SGD([Value(1.0)], lr=1.0)
    schedule = LambdaLR(optimizer, lambda t: 1 / (1 - t) if t else 1.0)
    with pytest.raises(ZeroDivisionError):
        schedule.step()
    assert (schedule.t, optimizer.lr) == (0, 1.0)
