"""The exercises of lesson 11."""

import math
from typing import Any

import numpy as np
from check import exercise, function, near, number

from micrograd import Tensor, Value


@exercise("11.1", of=number)
def _(rate: Any) -> str | None:
    if near(rate, 0.08):
        return "that was the limit at a steepness of 25; at 100 it is lower"
    if near(rate, 0.01, 1e-4):
        return "with 1/100 one step leads straight to the floor; how much longer may it be before it ends higher up?"
    if near(rate, 2.0):
        return "2 is what the rate times the steepness may be; divide it by the steepness, 100"
    if near(rate, 0.04, 1e-4):
        return (
            "1/25 leads straight to the floor of a valley of steepness 25; this one is steeper, and asks for the limit"
        )
    if near(rate, 100.0):
        return "that is the steepness; the limit is 2 divided by it"
    return None if near(rate, 0.02, 1e-4) else f"not {rate:.4g}; for which rate is 1 - 100 * rate equal to -1?"


@exercise("11.2", of=number)
def _(distance: Any) -> str | None:
    if near(distance, 10.0):
        return "that is the rate times the slope, as in gradient descent; Adam divides by how large slopes usually are"
    if near(distance, 1.0) or near(distance, 0.001, 1e-5):
        return "the mean and the squares began at 0, and both are corrected for that: 1 - 0.9**1, and 1 - 0.999**1"
    if near(distance, 1000.0):
        return "that is the slope; Adam divides it by the root of the mean of its squares, which is as large"
    if near(distance, -0.01, 1e-5):
        return "the size is right, but a distance is not below 0"
    return None if near(distance, 0.01, 1e-5) else f"not {distance:.4g}; try adam(0.01)(1000.0, {{}})"


@exercise("11.3", of=number)
def _(a: Any) -> str | None:
    if near(a, 0.1, 1e-4):
        return "then each weight has a variance of 0.1**2 / 3, and the sum has a variance of 1/3"
    if near(a, 0.01, 1e-4):
        return "1/100 is the variance that a weight needs; a is how far from 0 it may be"
    if near(a, 1.0):
        return "then the sum has a variance of 100/3: each of the 100 weights has one of 1/3"
    if near(a, 0.3, 1e-3):
        return "a**2 / 3 would be 0.03 then, and it should be 1/100: is the 3 under the root?"
    if near(a, 0.03, 1e-4):
        return "that is a squared"
    if near(a, math.sqrt(3 / 16)):
        return "that is for 16 inputs"
    return None if math.isclose(a, math.sqrt(3 / 100), rel_tol=0.02) else f"not {a:.4g}; solve a**2 / 3 = 1/100"


@exercise("11.4", of=function)
def _(schedule: Any) -> str | None:
    if all(near(schedule(t), t / 10) for t in range(10)):
        return "the first step, number 0, should have 0.1 already: (t + 1) / 10"
    if schedule(0) > 0.9:
        return "the warm-up is missing: the first step has 0.1 of the learning rate"
    if near(schedule(100), 10.1):
        return "the warm-up never ends: from step 10 on, the fraction falls to 0"
    if near(schedule(50), 1.0) and near(schedule(99), 1.0):
        return "the warm-up is right, and then the fraction should fall straight to 0 at step 100"
    for t in range(10):
        if not near(schedule(t), (t + 1) / 10):
            return f"at step {t} it should be {(t + 1) / 10:g} of the rate, and is {schedule(t):.4g}"
    if not near(schedule(100), 0.0):
        return f"at step 100 it should be 0, and is {schedule(100):.4g}"
    for t in range(10, 100):
        if not near(schedule(t), (100 - t) / 91):
            wanted = (100 - t) / 91
            return f"it falls straight from 1 at step 9 to 0 at 100, so {wanted:.4f} at step {t}, not {schedule(t):.4f}"
    return None


@exercise("11.5", of=function)
def _(made: Any) -> str | None:
    for keep in (0.9, 0.5):
        x, y, many = Value(1.0), Value(-2.0), Tensor([0.5, -0.1], requires_grad=True)
        settings = {} if keep == 0.9 else {"keep": keep}
        try:
            optimizer = made([x, y, many], 0.1, **settings)
        except TypeError as error:
            if "keep" in str(error):
                return "RMSProp(params, lr, keep=0.5) must work: write an __init__ that passes keep on"
            raise
        start = place = np.array([1.0, -2.0, 0.5, -0.1])
        squares = np.zeros(4)
        factors = np.array([1.0, 100.0, 3.0, 3.0])
        for step in range(1, 6):
            optimizer.zero_grad()
            loss = 0.5 * (x * x + 100 * y * y)
            loss.backward()
            (1.5 * many * many).sum().backward()
            optimizer.step()
            slope = factors * place
            squares = keep * squares + (1 - keep) * slope**2
            place = place - 0.1 * slope / (np.sqrt(squares) + 1e-8)
            found = np.array([x.data, y.data, *many.data])
            if step == 1 and np.allclose(found, 2 * start - place):
                return "the step has the right length, and goes uphill: subtract it"
            if step == 1 and np.allclose(found, start - 0.1 * slope / (squares + 1e-8)):
                return "the slope is divided by the mean of the squares; divide by its root, squares ** 0.5"
            if np.allclose(found, place):
                continue
            if np.allclose(found[0], 0.9) and step == 1:
                return "after one step that is gradient descent: divide by the root of the mean of squares"
            if not np.allclose(found[:2], place[:2]) and step > 1:
                return f"with keep={keep}, step 1 is right, and step {step} is not: is `squares` kept in `state`?"
            return f"after step {step} the parameters should be {place.round(4)}, and are {found.round(4)}"
    return None
