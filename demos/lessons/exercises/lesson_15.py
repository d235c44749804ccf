"""The exercises of lesson 15."""

from typing import Any

import numpy as np
from check import exercise, function, kind, near, number_exercise, numbers, words

from micrograd import Tensor
from micrograd.nn import LayerNorm1d

number_exercise(
    "15.1",
    0.1,
    {
        0.01: "that is the variance; the standard deviation is its root",
        0.04: "the sum of a neuron has as many products as there are inputs, 200; and the standard deviation is a root",
        1.0: "then the sums have a variance of 200 times that of the inputs, and the numbers explode",
        2.0: "2 is the number above n; the standard deviation is the root of 2/n",
        0.2: "the sum of a neuron has as many products as there are inputs, not neurons",
        0.0707: "that is right for tanh; a relu discards half of each sum",
        (2 / 250) ** 0.5: "that is the compromise between both ways; the question is about the way forward",
    },
    "not {:g}: the root of 2/n, where n counts the inputs",
)


@exercise("15.2", of=function)
def _(centred_backward: Any) -> str | None:
    g = np.random.default_rng(21).standard_normal((6, 3)) + 1.0
    found = centred_backward(g.copy())
    if np.shape(found) != g.shape:
        return f"the result has the shape of g; found {kind(found) if found is None else np.shape(found)}"
    found = np.asarray(found, dtype=float)
    if np.allclose(found, g - g.mean(0)):
        return None
    if np.allclose(found, g - g.mean()):
        return "take the mean of each column separately"
    if np.allclose(found, g - g.mean(1, keepdims=True)):
        return "the mean was taken over the batch, which is axis 0"
    if np.allclose(found, g):
        return "add 1 to a whole column of x: nothing changes, so the gradients of a column must sum to 0"
    if np.allclose(found, g - g.sum(0)):
        return "the mean has a slope of one n-th for each number of its column, not 1"
    if np.allclose(found, 0):
        return "only the mean of a column does not matter; a single number of it does, so the gradient is not 0"
    if np.allclose(found, g + g.mean(0)):
        return "through the mean the gradient goes with a minus"
    if np.allclose(found, g * (1 - 1 / 6)):
        return "the mean is made of all numbers of the column, so each number gets a part of all their gradients"
    return "the gradient goes straight on, and also, with a minus, through the mean"


@exercise("15.3", of=numbers(2))
def _(found: list[float]) -> str | None:
    plain, residual = found
    if near(plain, 1.1**50, 0.01) and 0 < residual < 1e-40:
        return "the other way round: first the plain layers"
    if near(plain, 5.0):
        return "that is 50 * 0.1, a sum; slopes along a path are multiplied: 0.1 ** 50"
    if near(plain, 0.1):
        return "that is one layer; through 50 of them the slopes are multiplied"
    if plain == 0:
        return "it is very small, and not 0: 0.1, 50 times over"
    if not 0 < plain < 1e-40:
        return f"the first is not {plain:g}: slopes multiply through layers, 50 times 0.1"
    if near(residual, 6.0):
        return "the slope of one is 1.1; through 50 of them it is multiplied, not added"
    if not near(residual, 1.1**50, 0.01):  # 117 is as the solution says it
        return f"the second is not {residual:g}: what is the slope of x + f(x)?"
    return None if near(plain * 1e50, 1.0) else f"the first is not {plain:g}: 0.1, 50 times over"


@exercise("15.4", of=words)
def _(names: Any) -> str | None:
    wanted, reasons = {"c", "d", "e"}, {
        "a": "a: the sums are doubled, and so is the standard deviation that they are divided by",
        "b": "b: a bias is the same for the whole column, and the mean takes it away",
        "c": "c: the mean and the standard deviation are those of the batch",
        "d": "d: gamma comes after the division",
        "e": "e: after eval() the running mean and variance are used, not those of the batch",
    }  # fmt: skip
    names = {name.strip().lower() for name in names}
    if unknown := names - set(reasons):
        return f"a set of letters, such as {{'a', 'b'}}; found {sorted(map(str, unknown))}"
    return next((reason for name, reason in reasons.items() if (name in names) != (name in wanted)), None)


@exercise("15.5", of=function)
def _(backward: Any) -> str | None:
    rng = np.random.default_rng(155)
    x, weight, g = rng.normal(size=(4, 6)) * 3 + 1, rng.normal(size=6), rng.normal(size=(4, 6))
    layer = LayerNorm1d(6)
    layer.weight.data = weight
    given = Tensor(x, requires_grad=True)
    layer(given).backward(g)
    found = backward(x.copy(), weight.copy(), g.copy())
    if not isinstance(found, tuple | list) or len(found) != 3:
        return f"return three gradients, of x, weight and bias; found {kind(found)}"
    done = ""
    wants = (("bias", 2, layer.bias.grad), ("weight", 1, layer.weight.grad), ("x", 0, given.grad))
    for name, place, want in wants:
        have = np.asarray(found[place])
        if have.shape != want.shape:
            return f"{done}the gradient of {name} has the shape {have.shape}, and should have {want.shape}"
        if np.allclose(have, want):
            done += f"{name} is right. "
            continue
        if not have.any():
            return f"{done}the gradient of {name} is still 0"
        std = np.sqrt(x.var(1, keepdims=True) + 1e-5)
        if name == "x" and np.allclose(have / std, want):
            return f"{done}for x, the division by the standard deviation is missing at the end"
        if name == "x" and np.allclose(have * std, want):
            return f"{done}for x, divide by the standard deviation once, not twice"
        if name == "x" and np.allclose(have, backward(x.copy(), np.ones(6), g.copy())[0]):
            return f"{done}for x, the weight is missing: what arrives at the normalized x is g * weight"
        if name == "x" and np.allclose(have, g * weight / std):
            return f"{done}for x you hold the mean and the standard deviation still, but both depend on x"
        if name == "weight" and np.allclose(have, (g * x).sum(0)):
            return f"{done}the weight multiplies the *normalized* x"
        return f"{done}the gradient of {name} differs by up to {np.abs(have - want).max():.2g}: go back line by line"
    return None
