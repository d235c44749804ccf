"""The state of an optimizer: what does not fit is refused, and changes nothing."""

import pytest

from micrograd import Value
from micrograd.optim import SGD, Adam, Optimizer


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


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ([], ValueError, "needs a dict 'settings' and a list 'state'"),
        ({"lr": 0.1}, ValueError, "needs a dict 'settings' and a list 'state'"),
        ({"settings": 1, "state": []}, ValueError, "needs a dict 'settings'"),
        (Adam([Value(1.0)]).state_dict(), ValueError, "found settings .*betas.* this one has .*momentum"),
        (SGD([Value(1.0)], lr=5.0).state_dict(), ValueError, "found a state of 1 parameters, this one has 2"),
        (stepped(SGD([Value(0.0), Value(1.0)], 5.0), lr=-1.0), ValueError, "lr must not be below 0"),
        (stepped(SGD([Value(0.0), Value(1.0)], 5.0), lr="0.1"), TypeError, "lr must be a number, found str"),
        (stepped(SGD([Value(0.0), Value(1.0)], 5.0), nesterov=True), ValueError, "needs momentum"),
        (stepped(SGD([Value(0.0), Value(1.0)], 5.0), steps=3), ValueError, r"parameter 1 remembers \['steps'\], not"),
        (
            stepped(SGD([Value(0.0), Value(1.0)], 5.0, 0.9), velocity="fast"),
            ValueError,
            "a velocity that is a str, not",
        ),
        (
            {**SGD([Value(0.0)] * 1, 5.0).state_dict(), "state": [{}, 3]},
            ValueError,
            "parameter 1 has a int for a state",
        ),
    ],
)
def test_a_state_of_something_else_is_refused_and_changes_nothing(state, error, message):
    optimizer = SGD([Value(1.0), Value(2.0)], lr=0.1, momentum=0.5)
    before = stepped(optimizer)
    with pytest.raises(error, match=message):
        optimizer.load_state_dict(state)
    assert optimizer.state_dict() == before
    assert list(optimizer.state) == optimizer.params


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps that is 0, not a count"),
        ({"steps": 1.5}, "steps that is 1.5, not a count"),
        ({"squares": ...}, r"remembers \['mean', 'steps'\], not"),
        ({"betas": (0.9, 1.0)}, "betas must be two numbers"),
        ({"eps": 0}, "eps must be above 0"),
    ],
)
def test_a_state_of_adam_is_checked_too(change, message):
    with pytest.raises(ValueError, match=message):
        Adam([Value(1.0)]).load_state_dict(stepped(Adam([Value(1.0)]), **change))


def test_an_optimizer_of_ones_own_may_remember_what_it_likes():
    class Odd(Optimizer):
        def _update(self, p, g, state):
            state["seen"] = [g]

    twin = Odd([Value(1.0)], lr=0.5)
    twin.load_state_dict(stepped(Odd([Value(1.0)], lr=0.1)))
    assert (twin.lr, list(twin.state.values())) == (0.1, [{"seen": [1.0]}])
