"""Several schedules of one optimizer, stepped together or one after the other, as in PyTorch."""

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

from micrograd import Tensor, compile
from micrograd.engine import Value
from micrograd.optim import (
    SGD,
    Adam,
    CosineAnnealingLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    Optimizer,
    SequentialLR,
    StepLR,
)

KINDS = {
    "step": ("StepLR", {"step_size": 3, "gamma": 0.5}),
    "growth": ("StepLR", {"step_size": 1, "gamma": 1.1}),
    "warm-up": ("LinearLR", {"start_factor": 0.1, "total_iters": 6}),
    "decay": ("LinearLR", {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 8}),
    "cosine": ("CosineAnnealingLR", {"T_max": 4}),
    "long cosine": ("CosineAnnealingLR", {"T_max": 9, "eta_min": 0.01}),
    "cosine of one step": ("CosineAnnealingLR", {"T_max": 1, "eta_min": 0.02}),
    "lambda": ("LambdaLR", {"lr_lambda": lambda t: 1 / (1 + t)}),
}
X = Value(1.0)
SEQUENTIAL: Any = SequentialLR  # for wrong arguments
OURS = {kind.__name__: kind for kind in (StepLR, LinearLR, CosineAnnealingLR, LambdaLR, SequentialLR)}


def rates(of_kinds, turns, lr=0.2):
    """The learning rates of PyTorch and of ours; `turns(schedules, t, group)` steps schedules, or sets the rate."""
    torch = pytest.importorskip("torch")
    found = []
    for make, p, kind in (
        (torch.optim.SGD, torch.zeros(1, requires_grad=True), vars(torch.optim.lr_scheduler)),
        (SGD, Value(0.0), OURS),
    ):
        optimizer = make([p], lr=lr)
        group = vars(optimizer) if isinstance(optimizer, SGD) else optimizer.param_groups[0]
        schedules = of_kinds(kind, optimizer)
        found.append([])
        for t in range(24):
            found[-1].append(group["lr"])
            optimizer.step()
            turns(schedules, t, group)
    return found


def named(*names):
    """The schedules of these names, made by a library."""
    return lambda kind, optimizer: [kind[KINDS[name][0]](optimizer, **KINDS[name][1]) for name in names]


def all_step(schedules, t, group):
    for schedule in schedules:
        schedule.step()


def assert_same(rates):
    theirs, ours = rates
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("names", list(product(KINDS, repeat=2)), ids=" and ".join)
def test_two_schedules_that_both_step_multiply_as_pytorchs_do(names):
    assert_same(rates(named(*names), all_step))


@pytest.mark.parametrize("names", [("warm-up", "step", "cosine"), ("lambda", "cosine", "decay")], ids=" and ".join)
def test_three_schedules_that_all_step_multiply_too(names):
    assert_same(rates(named(*names), all_step))


@pytest.mark.parametrize("names", list(product(KINDS, repeat=2)), ids=" then ".join)
def test_a_schedule_that_starts_when_another_ends_has_the_rate_of_the_beginning_for_its_base(names):
    assert_same(rates(named(*names), lambda schedules, t, _: schedules[t >= 6].step()))


@pytest.mark.parametrize("names", list(product(KINDS, repeat=2)), ids=" then ".join)
def test_a_schedule_made_in_the_middle_of_a_training_has_the_rate_of_the_beginning_for_its_base(names):
    def first(kind, optimizer):
        return [*named(names[0])(kind, optimizer), kind, optimizer]

    def turns(schedules, t, _):
        if t == 6:
            schedules[0] = named(names[1])(*schedules[1:])[0]
        schedules[0].step()

    assert_same(rates(first, turns))


@pytest.mark.parametrize("name", KINDS)
def test_a_rate_that_is_set_by_hand_is_scaled_from_there_as_in_pytorch(name):
    def turns(schedules, t, group):
        if t == 5:
            group["lr"] = 0.07
        schedules[0].step()

    assert_same(rates(named(name), turns))


# ---------------------------------------------------------------------------------------------------------------------
# One after the other


def one_after_the_other(*names, milestones):
    def make(kind, optimizer):
        return [kind["SequentialLR"](optimizer, named(*names)(kind, optimizer), milestones)]

    return make


@pytest.mark.parametrize("names", list(product(KINDS, repeat=2)), ids=" then ".join)
def test_sequential_schedule_follows_pytorchs(names):
    assert_same(rates(one_after_the_other(*names, milestones=[5]), all_step))


def test_sequential_schedule_of_three_follows_pytorchs():
    assert_same(rates(one_after_the_other("warm-up", "step", "cosine", milestones=[4, 11]), all_step))


@pytest.mark.parametrize("name", KINDS)
def test_sequential_schedule_multiplies_with_another_that_steps(name):
    def make(kind, optimizer):
        return one_after_the_other("warm-up", "cosine", milestones=[6])(kind, optimizer) + named(name)(kind, optimizer)

    assert_same(rates(make, all_step))


def test_sequential_schedule_may_be_part_of_another():
    optimizer = SGD([Value(0.0)], lr=1.0)
    inner = SequentialLR(optimizer, [LinearLR(optimizer, 0.5, total_iters=2), StepLR(optimizer, 1, 0.5)], [2])
    outer = SequentialLR(optimizer, [StepLR(optimizer, 1, 0.1), inner], [2])
    found = []
    for _ in range(7):
        found.append(optimizer.lr)
        outer.step()
    assert found == pytest.approx([1.0, 0.1, 0.5, 0.75, 1.0, 0.5, 0.25])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda o: SEQUENTIAL(o, [], []), ValueError, r"one milestone fewer, .* found 0 schedules, \[\]"),
        (lambda o: SEQUENTIAL(o, [StepLR(o, 1)], [3]), ValueError, r"found 1 schedules, \[3\]"),
        (lambda o: SEQUENTIAL(o, [StepLR(o, 1)] * 3, [3, 3]), ValueError, "which increase"),
        (lambda o: SEQUENTIAL(o, [StepLR(o, 1)] * 3, [4, 3]), ValueError, "which increase"),
        (lambda o: SEQUENTIAL(o, [StepLR(o, 1)] * 2, [0]), ValueError, "which increase"),
        (lambda o: SEQUENTIAL(o, [StepLR(o, 1)] * 2, [-1]), ValueError, "which increase"),
        (lambda o: SEQUENTIAL(o, [StepLR], []), ValueError, "takes schedules of this optimizer"),
        (lambda o: SEQUENTIAL(o, [StepLR(SGD([X], 0.5), 1)], []), ValueError, "of this optimizer"),
        (lambda o: SEQUENTIAL(o, [StepLR(o, 1)], milestone=[]), TypeError, "did you mean milestones?"),
    ],
)
def test_what_is_no_sequence_of_schedules_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(SGD([Value(0.0)], lr=1.0))


# ---------------------------------------------------------------------------------------------------------------------
# States, and compiled training steps


def warm_up_then_cosine(optimizer):
    return [SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=4), CosineAnnealingLR(optimizer, 12)], [4])]


MAKERS = {
    "warm-up and step": lambda o: [LinearLR(o, 0.1, total_iters=4), StepLR(o, 3, 0.5)],
    "cosine and decay": lambda o: [CosineAnnealingLR(o, 4), LinearLR(o, 1.0, 0.1, 7)],
    "one after the other": warm_up_then_cosine,
    "one after the other, and step": lambda o: [*warm_up_then_cosine(o), StepLR(o, 3, 0.5)],
}


def run(optimizer, schedules, steps):
    found = []
    for _ in range(steps):
        found.append(optimizer.lr)
        for schedule in schedules:
            schedule.step()
    return found


@pytest.mark.parametrize("stop", range(9))
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_state_of_several_schedules_round_trips(make, stop):
    optimizer = SGD([Value(0.0)], lr=0.8)
    schedules = make(optimizer)
    run(optimizer, schedules, stop)
    states = json.loads(json.dumps([x.state_dict() for x in (optimizer, *schedules)]))
    twin = SGD([Value(0.0)], lr=0.3)
    twins = make(twin)
    for x, state in zip((twin, *twins), states, strict=True):
        x.load_state_dict(state)
    assert [x.state_dict() for x in (twin, *twins)] == states
    assert run(twin, twins, 12) == run(optimizer, schedules, 12)


def test_optimizer_loaded_before_its_schedule_is_made_has_the_rate_of_the_beginning():
    optimizer = SGD([Value(0.0)], lr=0.8)
    run(optimizer, [StepLR(optimizer, 1, 0.5)], 3)
    twin = SGD([Value(0.0)], lr=0.8)
    twin.load_state_dict(optimizer.state_dict())
    assert (twin.lr, CosineAnnealingLR(twin, 10).base_lr) == (0.1, 0.8)


@pytest.mark.parametrize("saved_with", [True, False])
def test_state_of_an_optimizer_fits_with_and_without_a_schedule(saved_with):
    plain, scheduled = SGD([Value(0.0)], lr=0.8), SGD([Value(0.0)], lr=0.4)
    StepLR(scheduled, 1)
    one, other = (scheduled, plain) if saved_with else (plain, scheduled)
    other.load_state_dict(one.state_dict())
    assert other.lr == one.lr


@pytest.mark.parametrize(
    "change",
    [
        {"schedulers": []},
        {"schedulers": None},
        {"milestones": [1, 2, 3]},
        {"milestones": "soon"},
        {"t": -3},
        {"lr": "fast"},
        {"other": 1},
    ],
    ids=str,
)
def test_state_that_does_not_fit_a_sequence_changes_nothing(change):
    optimizer = SGD([Value(1.0)], lr=0.5)
    (schedule,) = warm_up_then_cosine(optimizer)
    run(optimizer, [schedule], 3)
    before = schedule.state_dict()
    with pytest.raises(ValueError, match=r"no state of|gives no learning rate"):
        schedule.load_state_dict({**before, **change})
    assert (schedule.state_dict(), optimizer.lr) == (before, before["lr"])


def test_schedule_that_cannot_be_made_leaves_the_optimizer_as_it_was():
    optimizer = SGD([Value(1.0)], lr=0.5)
    with pytest.raises(NotImplementedError):
        LRScheduler(optimizer)
    assert optimizer.state_dict() == SGD([Value(1.0)], lr=0.5).state_dict()


def test_schedule_of_ones_own_states_the_rate_itself():
    class Half(LRScheduler):
        def lr_at(self, t):
            return self.base_lr / 2

    optimizer = SGD([Value(1.0)], lr=0.8)
    schedules = [StepLR(optimizer, 1, 0.1), Half(optimizer)]
    assert run(optimizer, schedules, 3) == [0.4, 0.4, 0.4]


def test_own_form_of_a_schedule_that_multiplies_multiplies_too():
    class Floored(StepLR):
        def lr_at(self, t):
            return max(super().lr_at(t), 0.1)

    optimizer = SGD([Value(1.0)], lr=0.8)
    assert run(optimizer, [Floored(optimizer, 1, 0.25)], 4) == [0.8, 0.2, 0.1, 0.1]


@pytest.mark.parametrize("of", [SGD, Adam])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_compiled_training_step_follows_several_schedules(make, of):
    found = []
    for compiled in (False, True):
        w = Tensor([1.0, -2.0], requires_grad=True)
        optimizer: Optimizer = of([w], lr=0.05)
        step = compile(lambda w=w: ((w - 3.0) ** 2).sum(), update=optimizer) if compiled else None
        schedules = make(optimizer)
        for _ in range(10):
            if step:
                step()
            else:
                optimizer.zero_grad()
                ((w - 3.0) ** 2).sum().backward()
                optimizer.step()
            for schedule in schedules:
                schedule.step()
        found.append(np.array(w.data))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
