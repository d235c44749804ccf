"""The exercises of lesson 12."""

from typing import Any

import numpy as np
from check import exercise, function, functions, shape

from micrograd import Tensor


@exercise("12.1", of=shape)
def _(shape: Any) -> str | None:
    if tuple(shape) == (5, 3, 4):
        return None
    if tuple(shape) == (5, 1, 4):
        return "the axis of length 1 in the middle meets a 3, and is stretched"
    if tuple(shape) == (5, 3, 3):
        return "aligned at the right, the 1 of the second shape meets the 4, and is stretched to it"
    if len(shape) != 3:
        return f"{len(shape)} axes? the longer shape has three, and all of them stay"
    return f"not {tuple(shape)}: write one shape below the other, aligned at the right"


@exercise("12.2", of=functions(2))
def _(given: Any) -> str | None:
    array, subtract = given
    g = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    for left, right in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (2, 3)), ((), (2, 3))):
        a, b = array(np.full(left, 5.0)), array(np.full(right, 3.0))
        out = subtract(a, b)
        if not all(any(x is operand for operand in out.made_from) for x in (a, b)):
            return "make one node from a and b: Array(a.data - b.data, (a, b), send_back); yours has other operands"
        try:
            out.send_back(g)
            out.send_back(g)
        except ValueError:
            return f"shapes {left} and {right}: the gradient has the shape of the result; sum it down to each operand's"
        for name, x, sign in (("a", a, 1.0), ("b", b, -1.0)):
            wanted = 2 * sign * _summed(g, x.data.shape)
            if x.grad.shape != wanted.shape:
                return f"shapes {left} and {right}: {name}.grad has shape {x.grad.shape}; it needs {name}'s own"
            if np.allclose(x.grad, wanted / 2):
                return "sent twice, the parts must add up: += and not ="
            if np.allclose(x.grad, -wanted) and wanted.any():
                return f"the sign of what {name} gets: if {name} grows, what does {'a - b'} do?"
            if not np.allclose(x.grad, wanted):
                return f"shapes {left} and {right}: {name} got {x.grad.tolist()} instead of {wanted.tolist()}"
    return None


@exercise("12.3", of=functions(2))
def _(given: Any) -> str | None:
    array, mean_rows = given
    a = array(np.arange(12.0).reshape(4, 3))
    out = mean_rows(a)
    if out.data.shape != (3,) or not np.allclose(out.data, [4.5, 5.5, 6.5]):
        return f"the means of the columns are 4.5, 5.5 and 6.5; yours are {out.data.tolist()}"
    out.send_back(np.array([4.0, 0.0, -8.0]))
    if np.shape(a.grad) != (4, 3):
        return f"a.grad has the shape {np.shape(a.grad)} now, since = puts another array in its place: write +="
    first = a.grad[0].tolist()
    if not (a.grad == a.grad[0]).all():
        return "each row contributes equally to the mean, so each gets the same"
    if first == [4.0, 0.0, -8.0]:
        return "that is the way back of a sum. If one of four numbers moves by 1, how far does their mean move?"
    if np.allclose(first, [4 / 3, 0, -8 / 3]):
        return "three is the number of columns; over how many numbers is a mean taken?"
    if np.allclose(first, [1 / 3, 0, -2 / 3]):
        return "a mean is taken over the four numbers of a column, not over all twelve"
    if len(set(first)) == 1:
        return "each column has its own gradient in g; do not mix them"
    if first == [16.0, 0.0, -32.0]:
        return "a mean divides by four, so its way back does, too"
    if first != [1.0, 0.0, -2.0]:
        return f"for [4, 0, -8], each row should get [1, 0, -2]; it got {first}"
    out.send_back(np.array([4.0, 0.0, -8.0]))
    if not np.allclose(a.grad[0], [2.0, 0.0, -4.0]):
        return "a second gradient replaces the first: write +="
    a = array(np.ones((2, 5)))
    mean_rows(a).send_back(np.full(5, 6.0))
    return None if np.allclose(a.grad, 3.0) else "of two rows, each gets a half: divide by len(a.data), not always by 4"


@exercise("12.4", of=function)
def _(adjoint: Any) -> str | None:
    b, g = np.array([3.0, -1.0, 2.0]), np.array([1.0, 5.0, 0.0, 2.0, -4.0, 1.0])
    found = np.asarray(adjoint(g))
    if found.shape != b.shape:
        return f"six numbers arrive, and three are needed: [x0, x1, x2] had shape (3,), yours has {found.shape}"
    if np.allclose(found, g[::2]) or np.allclose(found, g[1::2]):
        return "one of the two copies is missing: both came from the same number"
    if np.allclose(found, g[:3] + g[3:]):
        return "that is for [x0, x1, x2, x0, x1, x2], np.tile; here the copies stand side by side"
    if np.allclose(found, (g[::2] + g[1::2]) / 2):
        return "summed, not averaged: a number used twice has twice the slope"
    if np.allclose(found, g[:3]) or np.allclose(found, g[3:]):
        return "half of what arrives is not used; the copies of x0 are the numbers 0 and 1"
    if np.allclose(found, 2 * g[::2]) or np.allclose(found, 2 * g[1::2]):
        return "two copies have two gradients, which differ: add both, rather than doubling one"
    forwards, backwards = (np.repeat(b, 2) * g).sum(), (b * found).sum()
    if not np.isclose(forwards, backwards):
        return f"the test: {forwards:g} forwards, {backwards:g} backwards"
    try:
        right = np.allclose(adjoint(np.arange(10.0)), [1.0, 5.0, 9.0, 13.0, 17.0])
    except (ValueError, IndexError):
        right = False
    return None if right else "right for six numbers, and not for ten: reshape(-1, 2) works for any length"


def _summed(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The adjoint of broadcasting to g's shape: each number gets what its copies got."""
    places = np.broadcast_to(np.arange(np.prod(shape, dtype=int)).reshape(shape), g.shape)
    return np.bincount(places.ravel(), g.ravel(), minlength=int(np.prod(shape))).reshape(shape)


@exercise("12.5")
def _(answer: Any) -> str | None:
    if not isinstance(answer, tuple) or len(answer) != 3 or not all(map(callable, answer)):
        return "answer with a tuple of 3, the class and both functions"
    made, log_softmax, pick = answer
    rng = np.random.default_rng(125)
    scores, g, places = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), np.array([2, 0, 0, 1])
    a, x = made(scores), Tensor(scores, requires_grad=True)
    wanted = x.log_softmax()
    wanted.backward(g)
    out = log_softmax(a)
    if np.shape(out.data) != (4, 3) or not np.allclose(out.data, wanted.data):
        return "log_softmax has other numbers: subtract the log of the sum of exp, for each row"
    out.send_back(g)
    if np.allclose(a.grad, g):
        return "log_softmax sends g itself, but each score also moves the sum of its row"
    if np.allclose(a.grad, g - np.exp(wanted.data)):
        return "nearly: the softmax is multiplied by the sum of g over the row"
    if np.allclose(a.grad, g * np.exp(wanted.data)):
        return "that is the softmax times g; it is g minus the softmax times the sum of g over the row"
    if not np.allclose(a.grad, x.grad):
        return f"log_softmax sends back a gradient that differs by up to {np.abs(a.grad - x.grad).max():.2g}"
    out.send_back(g)
    if not np.allclose(a.grad, 2 * x.grad):
        return "a second gradient replaces the first: write +="
    if not np.isfinite(log_softmax(made([[1e4, 0.0]])).data).all():
        return "scores of 10,000 give nan or inf: subtract the largest of each row first"
    a, wanted = made(scores), np.zeros((4, 3))
    out = pick(a, places)
    if np.shape(out.data) != (4,) or not np.allclose(out.data, scores[np.arange(4), places]):
        return "pick takes one number of each row, that in column places[i]"
    out.send_back(np.arange(1.0, 5.0))
    wanted[np.arange(4), places] = np.arange(1.0, 5.0)
    if np.allclose(a.grad, np.arange(1.0, 5.0)[:, None]):
        return "pick sends its gradient to every column, but only one number of each row was picked"
    if not np.allclose(a.grad, wanted):
        return "pick sends back something else than g at the picked places and 0 elsewhere"
    out.send_back(np.arange(1.0, 5.0))
    if not np.allclose(a.grad, 2 * wanted):
        return "in pick, a second gradient replaces the first: write +="
    return None
