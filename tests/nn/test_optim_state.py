"""The state of optimizers and schedules: training resumes where it was; what does not fit is refused."""

import json

import pytest

from micrograd import Value
from micrograd.optim import SGD, Adam, AdamW, CosineAnnealingLR, LambdaLR, LinearLR, Optimizer, StepLR


def stepped(optimizer, **changes):
    """The state of an optimizer after a step, with some entries changed, or (Ellipsis) taken out."""
    for p in optimizer.params:
        p.grad = 1.0
    optimizer.step()
    state = optimizer.state_dict()
    for name, x in changes.items():
        part = state["settings"] if name in state["settings"] else state["state"][-1]
        part[name] = x
        if x is ...:
            del part[name]
    return state


def of_two(**changes):
    return stepped(SGD([Value(0.0), Value(1.0)], lr=5.0, momentum=0.9), **changes)


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ([], ValueError, "needs a dict 'settings' and a list 'state'"),
        ({"lr": 0.1}, ValueError, "needs a dict 'settings' and a list 'state'"),
        ({"settings": 1, "state": []}, ValueError, "needs a dict 'settings'"),
        (Adam([Value(1.0)]).state_dict(), ValueError, "momentum is missing; .*betas is unexpected"),
        (SGD([Value(1.0)], lr=5.0).state_dict(), ValueError, "the state is of 1 parameters, and this optimizer has 2"),
        (of_two(lr=-1.0), ValueError, "lr must not be below 0"),
        (of_two(lr="0.1"), TypeError, "lr must be a number, found str"),
        (of_two(momentum=0.0, nesterov=True), ValueError, "needs momentum"),
        (of_two(steps=3), ValueError, "parameter 1: steps is unexpected"),
        (of_two(velocity="fast"), ValueError, "parameter 1: velocity is a str, not"),
        (of_two() | {"state": [{}, 3]}, ValueError, "parameter 1: found int, needed a dict"),
    ],
)
def test_state_of_something_else_is_refused_and_changes_nothing(state, error, message):
    optimizer = SGD([Value(1.0), Value(2.0)], lr=0.1, momentum=0.5)
    before = stepped(optimizer)
    with pytest.raises(error, match=message):
        optimizer.load_state_dict(state)
    assert optimizer.state_dict() == before
    assert list(optimizer.state) == optimizer.params


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps is 0, not a count"),
        ({"steps": 1.5}, "steps is 1.5, not a count"),
        ({"squares": ...}, "parameter 0: squares is missing"),
        ({"betas": (0.9, 1.0)}, "betas must be two numbers"),
        ({"eps": 0}, "eps must be above 0"),
    ],
)
def test_state_of_adam_is_checked_too(change, message):
    with pytest.raises(ValueError, match=message):
        Adam([Value(1.0)]).load_state_dict(stepped(Adam([Value(1.0)]), **change))


def test_optimizer_of_ones_own_may_remember_what_it_likes():
    class Odd(Optimizer):
        def _update(self, p, g, state):
            state["seen"] = [g]

    twin = Odd([Value(1.0)], lr=0.5)
    twin.load_state_dict(stepped(Odd([Value(1.0)], lr=0.1)))
    assert (twin.lr, list(twin.state.values())) == (0.1, [{"seen": [1.0]}])


def test_optimizer_of_ones_own_needs_no_rate_and_its_settings_are_its_state():
    class Signs(Optimizer):
        def _update(self, p, g, state):
            p.data -= self.step_length * (g > 0)

    x = Value(1.0)
    optimizer = Signs([x], step_length=0.25)
    x.grad = 3.0
    optimizer.step()
    assert x.data == 0.75
    assert optimizer.state_dict()["settings"] == {"step_length": 0.25}


# ---------------------------------------------------------------------------------------------------------------------
# Training that is stopped and resumed


OPTIMIZERS = {
    "SGD": lambda ps: SGD(ps, lr=0.003, momentum=0.9, nesterov=True),
    "Adam": lambda ps: Adam(ps, lr=0.3, betas=(0.8, 0.9)),
    "AdamW": lambda ps: AdamW(ps, lr=0.3),
}
SCHEDULES = {
    "step": lambda o: [StepLR(o, 2, 0.5)],
    "warm-up": lambda o: [LinearLR(o, total_iters=8)],
    "cosine": lambda o: [CosineAnnealingLR(o, T_max=10, eta_min=0.01)],
    "lambda": lambda o: [LambdaLR(o, lambda t: 1 / (1 + t))],
    "two of which the first steps": lambda o: [LinearLR(o, 0.5, 1.0, 8), StepLR(o, 3)],
    "none": lambda o: [],
}


def train(optimizer, schedules, steps):
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        sum((p - 3.0) ** 4 for p in optimizer.params).backward()
        optimizer.step()
        for schedule in schedules[:1]:
            schedule.step()
        path.append((optimizer.lr, [p.data for p in optimizer.params]))
    return path


@pytest.mark.parametrize("schedule_first", [True, False])
@pytest.mark.parametrize("schedules_of", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("optimizer_of", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_resumed_training_goes_through_the_same_numbers(optimizer_of, schedules_of, schedule_first):
    """The states go through JSON: they are plain data."""
    optimizer = optimizer_of([Value(1.0), Value(-2.0)])
    schedules = schedules_of(optimizer)
    train(optimizer, schedules, 5)
    numbers, *states = json.loads(
        json.dumps([[p.data for p in optimizer.params], *(x.state_dict() for x in (optimizer, *schedules))])
    )
    expected = train(optimizer, schedules, 5)

    resumed = optimizer_of([Value(x) for x in numbers])
    twins = schedules_of(resumed)
    pairs = list(zip([resumed, *twins], states, strict=True))
    for x, state in reversed(pairs) if schedule_first else pairs:
        x.load_state_dict(state)
    assert train(resumed, twins, 5) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": -1}, "a whole number of steps"),
        ({"t": 1.5}, "a whole number of steps"),
        ({"t": "2"}, "gives no learning rate"),
        ({"step_size": 0}, "gives no learning rate"),
        ({"gamma": None}, "gives no learning rate"),
        ({"lr": -1.0}, "lr must not be below 0"),
        ({"T_max": 10}, "no state of a StepLR: T_max is unexpected"),
        (None, "no state of a StepLR"),
    ],
)
def test_state_that_does_not_fit_a_schedule_changes_nothing(change, message):
    optimizer = SGD([Value(1.0)], lr=0.5)
    schedule = StepLR(optimizer, 2)
    schedule.step()
    before = schedule.state_dict()
    with pytest.raises(ValueError, match=message):
        schedule.load_state_dict(change and {**before, **change})
    assert (schedule.state_dict(), optimizer.lr) == (before, before["lr"])
