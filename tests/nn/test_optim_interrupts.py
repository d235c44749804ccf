"""What a step that is interrupted or refused leaves: no gradient is summed twice, and no parameter is torn."""

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


@pytest.mark.parametrize("rule", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("name", ["lr", "weight_decay"])
def test_step_with_a_wrong_setting_changes_nothing_and_can_be_repeated(rule, name):
    optimizer, _ = fresh(rule)
    before = content(optimizer)
    good = getattr(optimizer, name)
    setattr(optimizer, name, "high")
    with pytest.raises((ValueError, TypeError)):
        optimizer.step()
    assert content(optimizer) == before
    setattr(optimizer, name, good)
    whole, _ = fresh(rule)
    whole.step()
    optimizer.step()
    assert content(optimizer) == content(whole)


@pytest.mark.parametrize("rule", RULES)
def test_parameter_after_an_interrupted_step_has_its_number_of_before_or_of_after(rule):
    """Each for itself: the parameters change one after the other, and an array as a whole."""
    whole, _ = fresh(rule)
    before = content(whole)[0]
    whole.step()
    after = content(whole)[0]
    ended = 0
    for _, optimizer, _ in interrupted_everywhere(partial(running, rule), 10):
        found = content(optimizer)[0]
        ended += found == after
        if rule not in ("in place", "AdamW"):  # which write twice
            assert all(now in then for now, then in zip(found, zip(before, after, strict=True), strict=True))
    assert ended


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
    calls = []

    def total():
        summing, seen = workers(3)
        calls.append(seen)
        return summing

    for _, optimizer, _ in interrupted_everywhere(partial(running, rule, total), 10):
        optimizer.step()
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
