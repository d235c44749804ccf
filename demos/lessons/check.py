"""Answers to the exercises, checked offline: `check("1.2", answer)` says that it is right, or what is wrong with it.

An exercise is a function that is given the answer; it returns nothing if that is right, else a hint, a sentence.
The solutions stand in the notebooks themselves, folded away.
"""

import math
from collections.abc import Callable
from typing import Any

EXERCISES: dict[str, Callable[[Any], str | None]] = {}


def check(exercise: str, answer: Any) -> None:
    """Print whether the answer to an exercise is right, and if not, a hint."""
    if exercise not in EXERCISES:
        raise KeyError(f"there is no exercise {exercise!r}; there are {', '.join(EXERCISES)}")
    try:
        hint = EXERCISES[exercise](answer)
    except Exception as error:
        hint = f"trying it raised {type(error).__name__}: {error}"
    print(f"{exercise}  ✓ right" if hint is None else f"{exercise}  ✗ {hint}")


def exercise(name: str) -> Callable[[Callable[[Any], str | None]], Callable[[Any], str | None]]:
    """Enter a function as the checker of an exercise."""

    def enter(checker: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
        EXERCISES[name] = checker
        return checker

    return enter


def near(found: Any, wanted: float, tolerance: float = 1e-3) -> bool:
    """Is a number (or a Value) as good as the one that is wanted?"""
    return math.isclose(float(found), wanted, rel_tol=tolerance, abs_tol=tolerance)


# ------------------------------------------------------------------------------------------------ 1. a nudge
@exercise("1.1")
def _(slope: Any) -> str | None:
    if not callable(slope):
        return f"give the function itself, slope, not what it returns; found {type(slope).__name__}"
    for f, x, wanted in ((lambda x: x * x, 3.0, 6.0), (math.exp, 0.0, 1.0), (lambda x: 5.0, 2.0, 0.0)):
        if not near(found := slope(f, x), wanted):
            return f"of one function the slope at {x} is {wanted}, yours says {float(found):.4g}; is it rise over run?"
    return None


@exercise("1.2")
def _(step: Any) -> str | None:
    if step in ("down", "up"):
        return None if step == "down" else "the slope is positive: a step up would raise the loss"
    return f'answer "up" or "down"; found {step!r}'


@exercise("1.3")
def _(x: Any) -> str | None:
    if near(x, -1 / 3, 0.01):
        return "that is where the slope is zero too, but the curve has its local top there"
    return (
        None if near(x, 1.0, 0.01) else f"the slope at {float(x):.4g} is not zero yet: take more steps, or smaller ones"
    )


@exercise("1.4")
def _(error: Any) -> str | None:
    if near(error, 5e-3, 1e-4):
        return "that is the error of the one-sided difference; nudge to both sides"
    return None if near(error, 1e-6, 1e-8) else f"{float(error):.2g} is not it: how far is the two-sided slope from 7?"


# ------------------------------------------------------------------------------------------------ 2. Value
@exercise("2.1")
def _(out: Any) -> str | None:
    if not hasattr(out, "_prev"):
        return f"build it of Values, so that it remembers; found {type(out).__name__}"
    return None if near(out, -6.0) else f"(a + b) * (b - c) is -6 here, yours is {float(out):.4g}"


@exercise("2.2")
def _(count: Any) -> str | None:
    return None if count == 4 else "a * a is one node that uses a twice: an operand is not copied. Count in the drawing"


@exercise("2.3")
def _(ops: Any) -> str | None:
    found = list(ops) if isinstance(ops, list | tuple) else ops
    if not isinstance(found, list):
        return f"a list of the names of the ops, such as ['+', '*']; found {type(ops).__name__}"
    if sorted(found) != ["*", "*", "+", "+", "tanh"]:
        return f"a neuron of two inputs has two products, two sums and a tanh; yours has {found}"
    return None if found[0] == "tanh" else "these are the right ones; go from the result down, so that tanh comes first"


# ------------------------------------------------------------------------------------------------ 3. the chain rule
@exercise("3.1")
def _(grads: Any) -> str | None:
    wanted = {"d": -4.0, "c": -4.0, "b": -8.0, "a": -12.0}
    for name, number in wanted.items():
        if name not in grads:
            return f"dL/d{name} is missing"
        if not near(grads[name], number):
            return (
                f"dL/d{name} is not {float(grads[name]):.4g}: what arrives from the right, times the local derivative"
            )
    return None


@exercise("3.2")
def _(grad: Any) -> str | None:
    if near(grad, 5.0):
        return "that is the way through the product alone; a is used a second time"
    return None if near(grad, 6.0) else f"{float(grad):.4g} is not it: one product for each path, then their sum"


@exercise("3.3")
def _(w: Any) -> str | None:
    loss = (3 * float(w) - 6) ** 2
    return None if loss < 81 else f"the loss was 81 and is now {loss:.4g}: go against the gradient, and less far"


# ------------------------------------------------------------------------------------------------ 4. closures
@exercise("4.1")
def _(given: Any) -> str | None:
    number, subtract = given
    a, b = number(5.0), number(3.0)
    out = subtract(a, b)
    out.grad = 2.0
    out.send_back()
    out.send_back()
    if (a.grad, b.grad) == (2.0, -2.0):
        return "sent twice, the parts must add up: += and not ="
    if near(a.grad, 4.0) and near(b.grad, -4.0):
        return None
    return f"for 2 from the right, twice, a should get 4 and b -4; they got {a.grad} and {b.grad}"


@exercise("4.2")
def _(cube: Any) -> str | None:
    from micrograd import Value

    x = Value(2.0)
    out = cube(x) * 10
    out.backward()
    if not near(out, 80.0):
        return f"10 * cube(2) is 80, yours is {float(out):.4g}"
    if near(x.grad, 12.0):
        return "the gradient that comes in, out.grad, is not in it"
    return None if near(x.grad, 120.0) else f"x should get 10 * 3 * 2**2 = 120, it got {x.grad}"


@exercise("4.3")
def _(grad: Any) -> str | None:
    if near(grad, 4.0):
        return "that would be right; what does Forgetful make of it, one assignment after the other?"
    return None if near(grad, 1.0) else "b.grad is assigned twice, and what is it after that? Then the same for a"


# ------------------------------------------------------------------------------------------------ 5. the order
@exercise("5.1")
def _(names: Any) -> str | None:
    wanted = ["f", "e", "d", "a", "b"]
    if sorted(names) != sorted(wanted):
        return f"each of a, b, d, e, f once; found {names}"
    if names.index("d") < names.index("e"):
        return "d is an operand of e as well: it must wait for it"
    return None if list(names) == wanted else f"not {names}: who has got all parts after d has sent?"


@exercise("5.2")
def _(grad: Any) -> str | None:
    if near(grad, 5.0):
        return "that would be right; this walk finds something else: run it"
    return (
        None if near(grad, 3.0) else f"it does not find {float(grad):.4g}: who sends before its second part is there?"
    )


@exercise("5.3")
def _(count: Any) -> str | None:
    if count == 20:
        return "each number is used twice, and the walk goes both ways: not 20, twice as many at each step"
    return None if count == 2**20 else f"not {count}: try it with 3 doublings, then with 4"


# ------------------------------------------------------------------------------------------------ 6. trust
@exercise("6.1")
def _(softplus: Any) -> str | None:
    from micrograd import Value

    for place in (-2.0, 0.0, 1.0):
        x = Value(place)
        out = softplus(x) * 2
        out.backward()
        if not near(out, 2 * math.log(1 + math.exp(place))):
            return f"it is not log(1 + exp(x)) at {place}"
        if not near(x.grad, 2 / (1 + math.exp(-place))):
            return f"at {place} the slope is {1 / (1 + math.exp(-place)):.4f}: nudge it, and look at the signs"
    return None


@exercise("6.2")
def _(grad: Any) -> str | None:
    if near(grad, 8.0):
        return "that is one pass; there were five, and nothing was set to zero"
    return None if near(grad, 40.0) else f"not {float(grad):.4g}: one pass gives 8"


@exercise("6.3")
def _(root: Any) -> str | None:
    from micrograd import Value

    x, far = Value(0.0), Value(3.0)
    root(x).backward()
    root(far).backward()
    if x.grad != x.grad:
        return "at 0 the gradient is nan still: what is the slope of a square root at 0?"
    return (
        None
        if near(x.grad, 0.0) and near(far.grad, 1.0)
        else f"at 0 it should be 0 and at 3 1; found {x.grad}, {far.grad}"
    )


# ------------------------------------------------------------------------------------------------ 7. four points
@exercise("7.1")
def _(count: Any) -> str | None:
    if count == 25:
        return "those are the weights; each neuron has a bias too"
    return None if count == 32 else f"not {count}: five neurons with 3 + 1 numbers, then two with how many?"


@exercise("7.2")
def _(rate: Any) -> str | None:
    if rate == 0.5:
        return "so large a step overshoots, further each time: look at the losses on the way"
    return None if rate == 0.05 else "it is on its way, and a hundred steps of that size are not enough; run all three"


@exercise("7.3")
def _(given: Any) -> str | None:
    model, loss_of = given
    loss = float(loss_of(model))
    return None if loss < 1e-4 else f"its loss is {loss:.4g}; more steps, more neurons, or another rate?"
