"""The exercises of lesson 18."""

from typing import Any

import numpy as np
from check import exercise, function, kind, number, number_exercise

from micrograd import Tensor

number_exercise(
    "18.1",
    8.0,
    {
        64.0: "that is the variance, the sum of 64 variances; the standard deviation is its root",
        1.0: "that is the standard deviation of one product, and the sum has 64 of them",
        1 / 8: "that is what the scores are multiplied by; the question is the standard deviation before that",
        4096.0: "the variances are added, not the numbers multiplied: 64 products of variance 1",
        0.0: "that is the mean",
        32.0: "half of 64? Variances add up to 64, and the standard deviation is the root of that",
    },
    "not {:.4g}: the variance of a sum of 64 independent numbers is the sum of their variances",
    tolerance=0.03,
)


@exercise("18.2")
def _(query: Any) -> str | None:
    if not (isinstance(query, list | tuple | np.ndarray) and len(query) == 2):
        return f"a query has two numbers, as a key has; found {kind(query)}"
    name, query = "christina", np.array([number(x) for x in query])
    keys = np.array([[letter in "aeiou", place] for place, letter in enumerate(name)], dtype=float)
    to_first = 1.0
    for i in range(1, len(name)):  # the first letter has no choice
        scores = keys[: i + 1] @ query
        shares = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        if (top := int(shares.argmax())) != 0:
            return f"place {i}, the {name[i]!r}, listens to place {top}, the {name[top]!r}: should that one score most?"
        to_first = np.minimum(to_first, shares[0])  # nan, if one is
    if to_first > 0.9:
        return None
    return f"the first letter gets a share of {to_first:.2f} only: what sets it apart, and is that weighted enough?"


@exercise("18.3", of=function)
def _(causal_shares: Any) -> str | None:
    scores = np.array([[0.5, 2.0, -1.0], [1.0, -2.0, 3.0], [0.0, 1.0, -1.0]])
    found = np.asarray(causal_shares(scores.copy()))
    wanted = np.exp(scores) * np.tril(np.ones((3, 3)))
    wanted /= wanted.sum(1, keepdims=True)
    if found.shape != (3, 3):
        return f"scores of shape (3, 3) give shares of the same shape, not {found.shape}"
    if np.allclose(found, wanted):
        return None
    if np.isnan(found).any():
        return "there is nan in it: is it inf - inf, or 0 * inf? The mask is added, and it is -inf or 0"
    if not np.allclose(np.triu(found, 1), 0):
        return "what lies ahead gets a share: 0 is a score like any other; set it to -inf"
    if not np.allclose(found.sum(1), 1):
        return f"the rows sum to {found.sum(1).round(2)}, not to 1: mask first, then take the softmax"
    return "the shares sum to 1, but down the columns: each row is a letter that asks, so sum along the rows"


@exercise("18.4", of=function)
def _(average_so_far: Any) -> str | None:
    values = np.array([[4.0, 0.0], [2.0, 6.0], [0.0, 3.0]])
    found = np.asarray(average_so_far(values.copy()))
    wanted = np.array([[4.0, 0.0], [3.0, 3.0], [2.0, 3.0]])
    if found.shape != (3, 2):
        return f"three places give three rows of two numbers; yours have the shape {found.shape}"
    if np.allclose(found, wanted):
        return None
    if np.allclose(found, values):
        return (
            "each letter listens to itself alone: that would need a score far above the others, and all of them are 0"
        )
    if np.allclose(found, values.mean(0)):
        return "that is the mean of all letters, also of those that lie ahead: the mask holds here too"
    if np.allclose(found, np.cumsum(values, axis=0)):
        return "that is a sum; shares sum to 1, so it is a mean: of how many letters at each place?"
    if np.allclose(found, np.cumsum(values, axis=1) / np.arange(1, 3)):
        return "that goes along the rows; the letters are below one another, along axis 0"
    if not np.isfinite(found).all():
        return "the first row is divided by 0; at place 0 there is already one letter"
    if np.allclose(found, 0):
        return "scores of 0 are not shares of 0: the softmax makes equal shares of them"
    if np.allclose(found, np.cumsum(values, axis=0) / 3):
        return "the last row is right; in the row of place i, i + 1 letters share, so divide by i + 1, not by all three"
    if np.allclose(found, values / np.array([[1.0], [2.0], [3.0]])):
        return "each row is divided by how many letters there are so far, but the earlier letters are not added to it"
    return f"the second row of [[4, 0], [2, 6], ...] is the mean [3, 3], yours is {found[1].round(2)}"


@exercise("18.5", of=function)
def _(backward: Any) -> str | None:
    rng = np.random.default_rng(185)
    arrays = [rng.normal(size=(5, 4)) for _ in range(3)]
    g = rng.normal(size=(5, 4))
    q, k, v = (Tensor(array, requires_grad=True) for array in arrays)
    ahead = np.triu(np.full((5, 5), -np.inf), 1)
    shares = (q @ k.T / 2 + ahead).softmax()
    (shares @ v).backward(g)
    found = backward(*(array.copy() for array in arrays), g.copy())
    if not isinstance(found, tuple | list) or len(found) != 3:
        return f"return three gradients, of q, k and v; found {kind(found)}"
    done = ""
    for name, have, want in zip("vqk", (found[2], found[0], found[1]), (v.grad, q.grad, k.grad), strict=True):
        have = np.asarray(have)
        if have.shape != want.shape:
            return f"{done}the gradient of {name} has the shape {have.shape}, and should have {want.shape}"
        if np.allclose(have, want):
            done += f"{name} is right. "
        elif not have.any():
            return f"{done}the gradient of {name} is still 0"
        elif name == "v" and np.allclose(have, shares.data @ g):
            return "the shares must be transposed for v: each letter collects from those that listened to it"
        elif np.allclose(have, 2 * want):
            return f"{done}that of {name} is twice too large, and the size is 4: where is the root of it?"
        elif name == "q" and np.allclose(have, _q_of(shares.data * (g @ arrays[2].T), arrays[1])):
            return f"{done}for q, the softmax sends more than shares * g back: subtract the sum over the row first"
        elif name == "k" and np.allclose(have, _q_of(_of_scores(shares.data, g @ arrays[2].T), arrays[0])):
            return f"{done}for k, the gradient of the scores must be transposed"
        elif name == "k" and np.allclose(have.T @ np.ones(5), want.T @ np.ones(5)):
            return f"{done}that of k has the right sums, in the wrong rows: a transpose is missing"
        else:
            return f"{done}that of {name} differs by up to {np.abs(have - want).max():.2g}: go back line by line"
    return None


def _of_scores(shares: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The gradient that the softmax sends to its scores."""
    return shares * (g - (g * shares).sum(-1, keepdims=True))


def _q_of(of_scores: np.ndarray, other: np.ndarray) -> np.ndarray:
    """What the scores, divided by the root of 4, send to the queries, if `other` are the keys."""
    return of_scores @ other / 2
