"""The exercises of lesson 10."""

import math
import random
from typing import Any

from check import exercise, function, kind, near, number, numbers


@exercise("10.1", of=number)
def _(loss: Any) -> str | None:
    if near(loss, 1.0):
        return "that is the logarithm to base 10; the inverse of exp is math.log"
    if near(loss, 0.1) or near(loss, 0.9):
        return "each digit has the probability 0.1; the loss is -log of it"
    if near(loss, 0.0, 0.01):
        return "a loss of 0 would mean that the network is sure, and right; this one is guessing"
    if near(loss, math.log2(10), 0.01):
        return "that is the logarithm to base 2, the loss in bits; the inverse of exp is math.log"
    if near(loss, 10.0):
        return "there are ten digits, and each has the probability 1/10; the loss is the logarithm of 10"
    if near(loss, -math.log(10), 0.01):
        return "the sign is wrong; a loss is above 0, and the logarithm of 0.1 is below"
    return None if near(loss, math.log(10), 0.01) else f"not {loss:.4g}; p is 1/10 for each, so what is -log(p)?"


@exercise("10.2", of=function)
def _(softmax: Any) -> str | None:
    found = numbers(3)(softmax([2.0, 1.0, -1.0]))
    if min(found) < 0:
        return f"for the scores 2, 1, -1 it gives {min(found):.4g}, but no probability is below 0"
    if near(sum(found), sum(map(math.exp, (2, 1, -1)))):
        return "those are the exponentials; divide each by the sum of all of them, so that they add up to 1"
    if not near(sum(found), 1.0):
        return f"the probabilities of 2, 1, -1 add up to {sum(found):.4g}, not to 1"
    if near(found[2] / found[1], math.e) or near(found[1] / found[0], math.e):
        return "the largest score has a small probability: is the sign of the score turned, or the order?"
    if found[0] < found[1] or found[1] < found[2]:
        return "2 is the largest score, and the answers stand in the order of the scores"
    if not near(found[0] / found[1], math.e):
        return f"2 should be {math.e:.3f} times as probable as 1, and is {found[0] / found[1]:.3f} times; where is exp?"
    try:
        large = softmax([1e4, 1e4 - 1])
    except OverflowError:
        return "at 10,000 it overflows; subtract the largest score first"
    if not near(large[0], 1 / (1 + 1 / math.e)):
        return f"for 10,000 and 9,999 it gives {large[0]:.4g}, {large[1]:.4g}; only the difference of 1 should count"
    try:
        low = softmax([-1e4, -1e4]), softmax([-1e4, 0.0])
    except (OverflowError, ZeroDivisionError) as error:
        return f"with scores of -10,000 it raises {type(error).__name__}: subtract the largest, not the largest in size"
    if not near(low[0][0], 0.5) or not near(low[1][1], 1.0):
        return f"for -10,000 twice, and for -10,000 beside 0, it gives {list(low[0])} and {list(low[1])}"
    return None


@exercise("10.3", of=numbers(4))
def _(found: list[float]) -> str | None:
    if all(near(g, w) for g, w in zip(found, (-0.25, -0.25, -0.25, 0.75), strict=True)):
        return "the sign is wrong; the loss grows with the score of a wrong answer, so its gradient is above 0"
    if all(near(g, w) for g, w in zip(found, (-0.75, 0.25, 0.25, 0.25), strict=True)):
        return "the right answer is the last one: counted from 0, its index is 3"
    if all(near(g, w) for g, w in zip(found, (0, 0, 0, 1), strict=True)):
        return "that is y, 1 for the right answer; the gradient is p - y"
    if all(near(g, w) for g, w in zip(found, (0.25, 0.25, 0.25, -0.25), strict=True)):
        return "the first three are right; the last is p - 1, not -p"
    if all(near(g, w) for g, w in zip(found, (0, 0, 0, -1), strict=True)):
        return "that is -y; p is missing, which is 1/4 for each"
    if all(near(g, w) for g, w in zip(sorted(found), (-0.75, 0.25, 0.25, 0.25), strict=True)) and found[3] > 0:
        return "the right answer is the last one: counted from 0, its index is 3"
    if max(found) > 1:
        return "the scores are 7, but p is a probability: softmax first, then p - y"
    if all(near(g, 0.25) for g in found):
        return "those are the probabilities; one of the four is the right answer"
    wanted = (0.25, 0.25, 0.25, -0.75)
    return None if all(map(near, found, wanted)) else f"it is p - y; what is p if all scores are equal? Found {found}"


@exercise("10.4", of=number)
def _(temperature: Any) -> str | None:
    if near(temperature, math.log(9)):
        return "that is what the score must become; the score of 1 is divided by the temperature to get there"
    if temperature <= 0:
        return f"a temperature of {temperature:.4g}? It is above 0"
    p = 1 / (1 + math.exp(-min(1 / temperature, 700)))
    if near(p, 0.9, 3e-3):  # 0.46, for those who round
        return None
    return f"with {temperature:.4g} the first has {p:.3f}: {'lower' if p < 0.9 else 'raise'} the temperature"


@exercise("10.5", of=function)
def _(fit: Any) -> str | None:
    rng = random.Random(105)
    for kinds in (3, 5):
        angles = [2 * math.pi * k / kinds for k in range(kinds)]
        classes = [i % kinds for i in range(40 * kinds)]
        points = [[3 * f(angles[k]) + rng.gauss(0, 0.6) for f in (math.cos, math.sin)] for k in classes]
        seen = 25 * kinds
        predict = fit([list(point) for point in points[:seen]], classes[:seen])
        if not callable(predict):
            return f"fit returns a function, which is called with a point; found {kind(predict)}"
        right = 0
        for point, k in zip(points[seen:], classes[seen:], strict=True):
            found = numbers(kinds)(predict(point))
            if abs(sum(found) - 1) > 1e-6 or min(found) < 0:
                return f"the probabilities of a point are not negative and sum to 1; yours sum to {sum(found):.4g}"
            right += found.index(max(found)) == k
        share = right / len(points[seen:])
        if share < 1.5 / kinds:
            return f"{share:.0%} of {kinds} classes are right, which is guessing: does each step go against p - y?"
        if share < 0.9:
            return f"{share:.0%} of {kinds} classes are right, and 90 % are within reach: more steps, and a bias?"
        if not all(math.isfinite(p) for p in numbers(kinds)(predict([900.0, -400.0]))):
            return "far away a probability is nan or inf: subtract the largest score before exp"
    return None
