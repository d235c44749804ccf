"""The exercises of lesson 6."""

import math
import random
from collections.abc import Callable
from typing import Any

from check import exercise, function, kind, near, number, number_exercise

from micrograd import Value, trace


@exercise("6.1", of=function)
def _(softplus: Any) -> str | None:
    for place in (-2.0, 0.0, 1.0):
        x = Value(place)
        found = softplus(x)
        if not isinstance(found, Value):
            return f"it should return a Value, and returns {kind(found)}"
        if near(found, place):
            return "that returns x itself; softplus is log(1 + exp(x))"
        if not near(found, math.log(1 + math.exp(place))):
            return f"it is not log(1 + exp(x)) at {place:g}; that line was right"
        if not any(node is x for node in trace(found)[0]):
            cut = "a Value's number alone, as float(x) and math.exp(x) take it, remembers nothing"
            return f"the graph was cut: the result does not know x. Give Value its operands, (x,); {cut}"
        (found * 2).backward()
        if near(x.grad, 1 / (1 + math.exp(-place))):
            return "multiply by what arrives from the right; out.grad is missing"
        if not near(x.grad, 2 / (1 + math.exp(-place))):
            return f"at {place:g} the slope is {1 / (1 + math.exp(-place)):.4f}; nudge x, and look at the signs"
        if any(node is x for node in found._prev):  # one node, with a function to send back
            found._backward()  # by itself: backward() adds what a closure with = leaves behind
            if near(x.grad, 4 / (1 + math.exp(-place))):
                continue
            return "that is right for an x that is used once; if x is used twice, = loses the first part, so write +="
    return None


number_exercise(
    "6.2",
    40.0,
    {
        8.0: "that is one pass; there were five, and nothing was set to zero",
        16.0: "that is two passes; there were five",
        4.0: "that is the value of (w * 2) ** 2; its slope at 1 is 8",
        20.0: "4 is the value of (w * 2) ** 2, and its slope at 1 is 8",
        10.0: "the slope of (w * 2) ** 2 at 1 is 8, not 2: the inner slope of 2 is a factor, and the number is squared",
        0.0: "nothing was set to zero, so the gradients of five passes add up",
        8.0**5: "gradients of several passes add up; they are not multiplied",
    },
    "it is not {:.4g}; one pass gives 8, so what do five passes give?",
)


@exercise("6.3", of=function)
def _(root: Any) -> str | None:
    x, far, left = Value(0.0), Value(3.0), Value(-3.0)
    if not isinstance(root(x), Value):
        return f"it should return a Value, and returns {kind(root(x))}"
    if not near(root(far), 3.0):
        why = (
            "the number that you add must be tiny, such as 1e-12" if number(root(far)) > 3 else "take the root of x * x"
        )
        return f"at 3 the root should be 3, and is {number(root(far)):.4g}: {why}"
    if not near(root(left), 3.0):
        return f"at -3 the root of x * x is 3, too; yours is {number(root(left)):.4g}"
    root(x).backward()
    root(far).backward()
    if x.grad != x.grad:
        return "at 0 the gradient is still nan; what is the slope of a square root at 0?"
    return (
        None
        if near(x.grad, 0.0) and near(far.grad, 1.0)
        else f"the gradient should be 0 at 0, and 1 at 3; found {x.grad:.4g} and {far.grad:.4g}"
    )


def made(forward: Callable[[float], float], slope: Callable[[float], float]) -> Callable[[Value], Value]:
    """An operation with this value and this slope, which may be wrong."""

    def operation(x: Value) -> Value:
        out = Value(forward(x.data), (x,), "f")

        def send_back() -> None:
            x.grad += out.grad * slope(x.data)

        out._backward = send_back
        return out

    return operation


INNOCENT = {
    "square": made(lambda x: x * x, lambda x: 2 * x),
    "sine": made(math.sin, math.cos),
    "relu": made(lambda x: max(x, 0.0), lambda x: float(x > 0)),
    "root": made(math.sqrt, lambda x: 0.5 / math.sqrt(x)),
    "huge": made(lambda x: 1e9 * x**3, lambda x: 3e9 * x * x),
    "tiny": made(lambda x: 1e-6 * math.sin(x), lambda x: 1e-6 * math.cos(x)),
}
GUILTY = {
    "cube": (made(lambda x: x**3, lambda x: 3 * x), "it is right at 1 and at 0, and wrong everywhere else"),
    "bend": (made(lambda x: x * x if x > 0 else x, lambda x: 2 * x if x > 0 else 0.0), "look at negative numbers too"),
    "log": (made(math.log, lambda x: 1 / x + (0.01 if x > 1.5 else 0)), "it is wrong by 0.01, beyond 1.5"),
    "small": (
        made(lambda x: 1e-6 * x * x, lambda x: 1e-6 * x),
        "its slopes are tiny, so compare their ratio",
    ),
    "sign": (made(lambda x: math.exp(-x), lambda x: math.exp(-x)), "the sign is wrong, at every place"),
}


@exercise("6.4", of=function)
def _(suspects: Any) -> str | None:
    every = INNOCENT | {name: operation for name, (operation, _) in GUILTY.items()}
    numbers = random.sample(range(100), len(every))  # other names each time, so that a hint gives no name away
    called = {f"operation {number}": name for number, name in zip(numbers, every, strict=True)}
    found = suspects({name: every[called[name]] for name in sorted(called)})
    if not isinstance(found, set | list | tuple):
        return f"a set of names is needed here; found {kind(found)}"
    reasons = {
        "relu": "at 0 it has a corner; do not look there",
        "root": "it is not defined below 0, and that is no crime",
        "huge": "its numbers are large, so the nudge rounds more: a tolerance is relative",
        "tiny": "its numbers are small: a tolerance is relative",
    }
    if unknown := [name for name in found if name not in called]:
        return f"there is no operation {unknown[0]!r:.30}; answer with names of the dict that you were given"
    accused = {called[name] for name in found}
    if innocent := sorted(accused - set(GUILTY)):
        return f"one of those is innocent: {reasons.get(innocent[0], 'compare it with a nudge to both sides')}"
    for name, (_, why) in GUILTY.items():
        if name not in accused:
            return f"you have found {len(accused)} of {len(GUILTY)}; one that got away: {why}"
    return None
