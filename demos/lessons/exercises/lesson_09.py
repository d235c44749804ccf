"""The exercises of lesson 9."""

import math
import random
import time
from typing import Any

from check import exercise, function, kind, near, number, number_exercise, numbers

number_exercise(
    "9.1",
    3.0,
    {
        2.0: "that is the median, which makes the mean of the *absolute* errors smallest",
        3.5: "that is halfway between the smallest and the largest; where is the mean of 2 (b - y) zero?",
        9.0: "that is their sum",
        0.0: "there the slope is not 0: all three numbers pull upwards",
        1.0: "that is the smallest of them; the 6 is then 5 away, and pulls upwards",
        6.0: "that is the largest of them; the other two pull downwards",
    },
    "not {:.4g}: the slope is the mean of 2 (b - y); where is it 0?",
    tolerance=0.01,
)


@exercise("9.2", of=function)
def _(standardized: Any) -> str | None:
    like, column = [1.0, 3.0, 3.0, 5.0], [3.0, 5.0, 11.0]
    found = standardized(list(column), list(like))
    if found is None:
        return f"found {kind(found)}"
    found = numbers(3)(found)
    wanted = [(x - 3) / 2**0.5 for x in column]
    middle = sum(column) / 3
    own = (sum((x - middle) ** 2 for x in column) / 3) ** 0.5
    tries = {
        "that uses the mean and the standard deviation of the new column; take those of `like`": [
            (x - middle) / own for x in column
        ],
        "subtract the mean of `like` first": [x / 2**0.5 for x in column],
        "the mean is right; divide by the standard deviation of `like`": [x - 3 for x in column],
        "that divides by the variance; the standard deviation is its root": [(x - 3) / 2 for x in column],
        "the spread divides by n, here 4, as in the lesson; yours divides by n - 1": [
            (x - 3) / (8 / 3) ** 0.5 for x in column
        ],
        "brackets are missing: first subtract, then divide": [x - 3 / 2**0.5 for x in column],
        "that multiplies by the standard deviation; divide by it": [(x - 3) * 2**0.5 for x in column],
        "the mean is still that of the new column; take that of `like`": [(x - middle) / 2**0.5 for x in column],
        "the spread is still that of the new column; take that of `like`": [(x - 3) / own for x in column],
        "that brings `like` to the range from 0 to 1; standardizing is another thing": [(x - 1) / 4 for x in column],
    }
    if all(near(a, b) for a, b in zip(found, wanted, strict=True)):
        return None
    known = (hint for hint, wrong in tries.items() if all(near(a, b) for a, b in zip(found, wrong, strict=True)))
    return next(known, f"3, 5, 11 with [1, 3, 3, 5] should give 0, 1.414, 5.657; found {[round(x, 3) for x in found]}")


number_exercise(
    "9.3",
    1 / (1 + math.exp(-2)),
    {
        2.0: "that is the logit; the sigmoid makes a probability of it",
        math.tanh(2): "that is tanh; the sigmoid is 1 / (1 + exp(-z))",
        math.exp(2): "those are the odds, p / (1 - p)",
        1 / (1 + math.exp(2)): "that is the probability of the other kind: the sign in the exponent",
        1 / (1 + math.exp(-1)): "that is without the bias",
        1 / (1 + math.exp(-4)): "the second weight is -1, not 1",
        0.5: "that is the sigmoid of 0, and the logit here is 2 - 1 + 1",
        1 / (1 + math.exp(-3)): "that is the sigmoid of 3, and the logit here is 2 - 1 + 1",
        -1 / (1 + math.exp(-2)): "a probability is never below 0",
    },
    "not {:.4g}: the logit is 2 - 1 + 1, and then the sigmoid",
    tolerance=2e-3,
)


@exercise("9.4", of=function)
def _(slopes: Any) -> str | None:
    for w, b, x, label in ((0.5, -1.0, 3.0, 1), (0.5, -1.0, 3.0, 0), (-2.0, 0.3, 0.7, 1)):
        found = numbers(2)(slopes(w, b, x, label))
        p = 1 / (1 + math.exp(-(w * x + b)))
        wanted = [(p - label) * x, p - label]
        if all(near(a, c) for a, c in zip(found, wanted, strict=True)):
            continue
        if all(near(a, -c) for a, c in zip(found, wanted, strict=True)):
            return "the sign: what was said minus what happened, p - kind"
        if near(found[0], wanted[1]) and near(found[1], wanted[1]):
            return "the slope of b is right; if w moves by a little, the logit moves x times as far"
        if near(found[0], wanted[1]) and near(found[1], wanted[0]):
            return "the two are exchanged: first that of w, then that of b"
        if near(found[1], (p - label) * p * (1 - p)) or near(found[1], 2 * (p - label) * p * (1 - p)):
            return "that is the slope of the squared error; the loss here is -log of the probability"
        if near(found[1], p) or near(found[0], p * x):
            return "that is p; what is missing is what should have been said: p - kind"
        if near(found[0], wanted[0]) and near(found[1], (p - label) * b):
            return "the slope of w is right; the logit moves just as far as b, so b has no factor"
        if near(found[0], (p - label) * w):
            return "the slope of b is right; the logit is w * x + b, so it moves x times as far as w, not w times"
        return f"for w={w}, b={b}, x={x}, kind={label} the slopes are {wanted[0]:.4f}, {wanted[1]:.4f}; found {found}"
    return None


@exercise("9.5", of=function)
def _(fit: Any) -> str | None:
    rng = random.Random(95)

    def made(count: int) -> tuple[list[list[float]], list[int]]:
        rows, kinds = [], []
        for _ in range(count):
            a, b = rng.gauss(0, 1), rng.gauss(0, 1)
            rows.append([4000 + 900 * a, 0.002 + 0.0005 * b, 7.0])
            kinds.append(int(3 * a - 4 * b + 1 + rng.gauss(0, 1) > 0))
        return rows, kinds

    (rows, kinds), (new_rows, new_kinds) = made(150), made(300)
    begun = time.perf_counter()
    try:
        predict = fit([list(row) for row in rows], list(kinds))
    except ZeroDivisionError:
        return "fit divides by 0: one column is 7 in every row, so its standard deviation is 0"
    if time.perf_counter() - begun > 30:
        return f"fit took {time.perf_counter() - begun:.0f} seconds for 150 rows: fewer steps will do"
    if not callable(predict):
        return f"fit should return a function; found {kind(predict)}"
    found = [number(predict(list(row))) for row in new_rows]
    if any(p != p for p in found):
        return "a probability is nan: is a constant column divided by 0, or the rate too large?"
    if not all(0 <= p <= 1 for p in found):
        return f"a probability is between 0 and 1; found {next(p for p in found if not 0 <= p <= 1):.4g}: a logit?"
    if max(found) - min(found) < 1e-6:
        return f"it says {found[0]:.3f} to everyone: does it look at the row, with standardized features?"
    right = sum((p > 0.5) == (label == 1) for p, label in zip(found, new_kinds, strict=True)) / 300
    if right < 0.2:
        return (
            f"it is right for {right:.0%} of new rows, so it has learnt the opposite: which kind is its probability of?"
        )
    if right < 0.9:
        return f"it is right for {right:.0%} of new rows, not 90 %: are the features standardized, and all used?"
    if all(p in (0, 1) for p in found):
        return "it only says 0 or 1: return the probability"
    gap = abs(sum(found) - sum(new_kinds)) / 300
    return None if gap < 0.1 else f"its probabilities are off by {gap:.0%} on average: is there a bias?"
