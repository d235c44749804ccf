"""The exercises of lesson 10."""

import math
from typing import Any

from check import exercise, function, near, number


@exercise("10.1", of=number)
def _(rate: Any) -> str | None:
    if near(rate, 0.08):
        return "that was the limit at a steepness of 25; at 100 it is lower"
    if near(rate, 0.01, 1e-4):
        return "with 1/100 one step leads straight to the floor; how much longer may it be before it ends higher up?"
    return None if near(rate, 0.02, 1e-4) else f"not {rate:.4g}: for which rate is 1 - 100 * rate equal to -1?"


@exercise("10.2", of=number)
def _(distance: Any) -> str | None:
    if near(distance, 10.0):
        return "that is gradient descent, rate times slope; Adam divides by how large slopes usually are"
    if near(distance, 1.0) or near(distance, 0.001, 1e-5):
        return "the mean and the squares began at 0, and both are corrected for that: 1 - 0.9**1, and 1 - 0.999**1"
    if near(distance, -0.01, 1e-5):
        return "the size is right; how far is a distance"
    return None if near(distance, 0.01, 1e-5) else f"not {distance:.4g}: try adam(0.01)(1000.0, {{}})"


@exercise("10.3", of=number)
def _(a: Any) -> str | None:
    if near(a, 0.1, 1e-4):
        return "then each weight has a variance of 0.1**2 / 3, and the sum one of 1/3"
    if near(a, 0.01, 1e-4):
        return "1/100 is the variance that a weight needs; a is how far from 0 it may be"
    if near(a, 0.03, 1e-4):
        return "that is a squared"
    if near(a, math.sqrt(3 / 16)):
        return "that is for 16 inputs"
    return None if near(a, math.sqrt(3 / 100)) else f"not {a:.4g}: a**2 / 3 = 1/100"


@exercise("10.4", of=function)
def _(schedule: Any) -> str | None:
    for t in range(10):
        if not near(schedule(t), (t + 1) / 10):
            return f"at step {t} it should be {(t + 1) / 10:g} of the rate, and is {schedule(t):.4g}"
    if not near(schedule(100), 0.0):
        return f"at step 100 it should be 0, and is {schedule(100):.4g}"
    for t in range(10, 100):
        if not near(schedule(t), (100 - t) / 91):
            wanted = (100 - t) / 91
            return f"from 1 at step 9 straight to 0 at step 100: {wanted:.4f} at step {t}, not {schedule(t):.4f}"
    return None
