"""The exercises of lesson 22."""

import math
from typing import Any

import numpy as np
from check import exercise, function, kind, near, number, words

from micrograd import Function, Tensor, Value, grad, gradcheck


@exercise("22.1", of=words)
def _(names: Any) -> str | None:
    wanted, reasons = {"a", "d"}, {
        "a": "a is computed from x1, which requires one",
        "b": "b is computed from x3 and x4, and neither requires one",
        "c": "c is computed from x4 and a detached Tensor, whose history is cut off",
        "d": "one operand that requires a gradient is enough: d has x2",
        "e": "nothing is recorded inside no_grad()",
    }  # fmt: skip
    names = {name.strip().lower() for name in names}
    if unknown := names - set(reasons):
        return f"a set of names, such as {{'a', 'b'}}; found {sorted(map(str, unknown))}"
    return next((reason for name, reason in reasons.items() if (name in names) != (name in wanted)), None)


@exercise("22.2", of=function)
def _(shares: Any) -> str | None:
    x = Tensor([0.0, 1.0, 2.0], requires_grad=True)
    wanted = np.exp(x.data) / np.exp(x.data).sum()
    found = shares(x)
    if not isinstance(found, Tensor):
        return f"the result should be a Tensor; found {kind(found)}"
    if np.allclose(found.data, x.data / x.data.sum()):
        return "those are the shares of x itself; exp comes first"
    if not np.allclose(found.data.sum(), 1) and np.allclose(found.data / found.data[0], wanted / wanted[0]):
        return f"they are in the right proportion, and add up to {found.data.sum():.4g}: divide by the sum"
    if not np.allclose(found.data, wanted):
        return f"the shares of [0, 1, 2] are {wanted.round(3)}, yours are {found.data.round(3)}"
    if not found.requires_grad:
        return "the result has no history: without one there is no gradient at all"
    try:
        (found * np.array([1.0, 0.0, 0.0])).sum().backward()
    except RuntimeError as error:
        return f"forward is right, backward says: {str(error).partition(':')[0]}; who needs it, and who wrote to it?"
    right = wanted[0] * (np.array([1.0, 0.0, 0.0]) - wanted)
    if x.grad is None or not np.allclose(x.grad, right):
        if x.grad is not None and np.allclose(x.grad, wanted * np.array([1.0, 0.0, 0.0])):
            return "the sum is not part of the graph: all numbers are in it, so all of them get a gradient"
        yours = x.grad if x.grad is None else x.grad.round(3)
        return f"the gradient of the first share is {right.round(3)}, yours {yours}: is the sum part of the graph?"
    return None


@exercise("22.3")
def _(softsign: Any) -> str | None:
    if not (isinstance(softsign, type) and issubclass(softsign, Function)):
        return f"answer with the class itself, which is a Function; found {kind(softsign)}"
    for place in (-2.0, 0.5):
        x = Tensor([place], requires_grad=True)
        out = softsign.apply(x)
        if not near(out.item(), place / (1 + abs(place))):
            return f"forward: at {place} it is {place / (1 + abs(place)):.4f}, yours is {out.item():.4f}"
        (10 * out).sum().backward()
        if x.grad is None:
            return "backward returns nothing: it should return the gradient for x"
        slope, found = 1 / (1 + abs(place)) ** 2, x.grad.item()
        if near(found, 10.0):
            return "backward passes its input on, as if the slope were 1"
        if near(found, slope):
            return "the slope is right; multiply it by g, the incoming gradient"
        if near(found, 10 / (1 + abs(place))):
            return "the slope is 1 / (1 + |x|)**2: the square is missing"
        if place < 0 and near(found, 10 / (1 + place) ** 2):
            return f"at {place} the slope is {slope:.4f}, and yours is {found / 10:.4f}: |x|, not x"
        if not near(found, 10 * slope):
            return f"at {place} the slope is {slope:.4f}, yours is {found / 10:.4f}"
    x = Tensor([0.5], requires_grad=True)
    try:
        (once,) = grad(softsign.apply(x).sum(), x, create_graph=True)
        (twice,) = grad(once.sum(), x)
    except RuntimeError:
        return "right to the first order; for the second, write backward with operations on Tensors, not on their data"
    return None if near(twice.item(), -2 / 1.5**3) else f"the second derivative at 0.5 is -0.5926, not {twice.item()}"


@exercise("22.4")
def _(row: Any) -> str | None:
    if not (isinstance(row, tuple) and len(row) == 3):
        return "a row of one operand has three parts: name, forward, rule"
    name, forward, rule = row
    if not (callable(forward) and callable(rule)):
        return "forward and the rule are functions: math.sqrt, and lambda g, a: ..."
    if name != "sqrt" or not near(forward(9.0), 3.0):
        return "the name is 'sqrt', and forward of 9 gives 3"
    g, a = Value(10.0), Value(4.0)
    found = rule(g, a)
    if near(found, 10.0):
        return "the rule passes its input on, as if the slope were 1"
    if near(found, 1 / 4):
        return "g, the incoming gradient, is missing"
    if near(found, 10 / 2):
        return "the slope of the root of a is 1 / (2 * root): the 2 is missing"
    if near(found, 20.0):
        return "that multiplies by the root; the slope is 1 divided by twice the root"
    if not near(found, 10 / 4):
        return f"at 4 the slope is 1/4, so g = 10 gives 2.5; yours gives {number(found):.4g}"
    again = grad(found, a, allow_unused=True)[0] if isinstance(found, Value) else None
    if again is None or not math.isclose(again, -10 / 32):
        return "right to the first order; math.sqrt in a rule is a plain number, frozen for the second: use a.sqrt()"
    return None


@exercise("22.5", of=function)
def _(smooth: Any) -> str | None:
    numbers = np.array([0.3, -1.0, 2.0, 1.7])
    for beta in (1.0, 3.0):
        x = Tensor(numbers, requires_grad=True)
        out = smooth.apply(x, beta)
        wanted = np.log(np.exp(beta * numbers).sum()) / beta
        if np.shape(out.data) != () or not near(out, wanted, 1e-9):
            if beta == 3.0 and np.shape(out.data) == ():
                return f"right for beta = 1; for 3 it is {wanted:.4f}, not {out.item():.4f}: what is divided by beta?"
            return f"with beta = {beta:g} the soft maximum of {numbers.tolist()} is {wanted:.4f}, yours is {out.data}"
        try:
            out.backward()
        except ValueError as error:
            if "arguments of apply" not in str(error):
                raise
            return "backward returns two things, the gradient of x and None for beta"
        shares = np.exp(beta * numbers) / np.exp(beta * numbers).sum()
        if x.grad is None:
            return "no gradient arrives at x: return g * softmax, None"
        if np.allclose(x.grad, shares) or beta == 1.0:
            if not np.allclose(x.grad, shares):
                return f"the gradient is the softmax, {shares.round(3)}, and yours is {np.asarray(x.grad).round(3)}"
        else:
            return "the gradient is right for beta = 1 alone: the softmax is that of beta * x"
        (slope,) = grad((3.0 * smooth.apply(x, beta)), x)
        if not np.allclose(slope, 3 * shares):
            return "the gradient that arrives is lost: multiply by g"
    if not np.isfinite(smooth.apply(Tensor([1e4, 0.0]), 1.0).item()):
        return "the numbers 10,000 and 0 give inf: take out the largest before exp, and add it again at the end"
    try:
        right = gradcheck(lambda x: smooth.apply(x, 2.0), Tensor(numbers), order=2)
    except (AssertionError, RuntimeError) as error:
        return f"the second order is wrong: {str(error).splitlines()[0]}; compute with Tensors in backward"
    return None if right else "the second order is wrong"
