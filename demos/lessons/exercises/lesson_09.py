"""The exercises of lesson 9."""

import math
from typing import Any

from check import exercise, function, near, number, numbers


@exercise("9.1", of=number)
def _(loss: Any) -> str | None:
    if near(loss, 1.0):
        return "that is the logarithm to base 10; the inverse of exp is math.log"
    if near(loss, 0.1) or near(loss, 0.9):
        return "each digit has the probability 0.1; the loss is -log of it"
    if near(loss, -math.log(10)):
        return "the sign: a loss is above 0, and the logarithm of 0.1 is below"
    return None if near(loss, math.log(10), 0.01) else f"not {loss:.4g}: ten equal scores, so p is 1/10, and -log(p)?"


@exercise("9.2", of=function)
def _(softmax: Any) -> str | None:
    found = numbers(3)(softmax([2.0, 1.0, -1.0]))
    if min(found) < 0:
        return f"for the scores 2, 1, -1 it gives {min(found):.4g}: no probability is below 0"
    if not near(sum(found), 1.0):
        return f"the probabilities of 2, 1, -1 add up to {sum(found):.4g}, not to 1"
    if not near(found[0] / found[1], math.e):
        return f"2 should be {math.e:.3f} times as probable as 1, and is {found[0] / found[1]:.3f} times: where is exp?"
    try:
        large = softmax([1e4, 1e4 - 1])
    except OverflowError:
        return "at 10,000 it overflows: subtract the largest score first"
    if not near(large[0], 1 / (1 + 1 / math.e)):
        return f"for 10,000 and 9,999 it gives {large[0]:.4g}, {large[1]:.4g}; only the difference of 1 should count"
    try:
        low = softmax([-1e4, -1e4]), softmax([-1e4, 0.0])
    except (OverflowError, ZeroDivisionError) as error:
        return f"with scores of -10,000 it raises {type(error).__name__}: subtract the largest, not the largest in size"
    if not near(low[0][0], 0.5) or not near(low[1][1], 1.0):
        return f"-10,000 twice, and -10,000 beside 0: it gives {list(low[0])} and {list(low[1])}"
    return None


@exercise("9.3", of=numbers(4))
def _(found: list[float]) -> str | None:
    if all(near(g, w) for g, w in zip(found, (-0.25, -0.25, -0.25, 0.75), strict=True)):
        return "the sign: the loss grows with the score of a wrong answer, so its gradient is above 0"
    if all(near(g, w) for g, w in zip(found, (-0.75, 0.25, 0.25, 0.25), strict=True)):
        return "the right answer is the last one: counted from 0, its index is 3"
    if all(near(g, 0.25) for g in found):
        return "those are the probabilities; one of the four is the right answer"
    wanted = (0.25, 0.25, 0.25, -0.75)
    return None if all(map(near, found, wanted)) else f"p - y: what is p if all scores are equal? Found {found}"


@exercise("9.4", of=number)
def _(temperature: Any) -> str | None:
    if near(temperature, math.log(9)):
        return "that is what the score must become; the score of 1 is divided by the temperature to get there"
    if temperature <= 0:
        return f"a temperature of {temperature:.4g}? It is above 0"
    p = 1 / (1 + math.exp(-min(1 / temperature, 700)))
    if near(p, 0.9):
        return None
    return f"with {temperature:.4g} the first has {p:.3f}: {'lower' if p < 0.9 else 'raise'} the temperature"
