"""The exercises of lesson 16."""

import math
from typing import Any

import numpy as np
from check import exercise, function, kind, number, number_exercise

number_exercise(
    "16.1",
    math.log(27),
    {
        1 / 27: "that is the chance itself; the surprise is -log of it",
        math.log2(27): "that is the surprise in bits; nats use the natural logarithm",
        -math.log(27): "a surprise is not negative: -log of the chance",
    },
    "not {:.4g}: -log of the chance of one letter in 27",
)


@exercise("16.2")
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


@exercise("16.3", of=function)
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


@exercise("16.4", of=function)
def _(warmed: Any) -> str | None:
    scores = np.array([2.0, 0.0, -1.0])
    found = np.asarray(warmed(scores, 2.0))
    wanted = np.exp(scores / 2) / np.exp(scores / 2).sum()
    if np.allclose(found, wanted):
        return None
    if not math.isclose(found.sum(), 1, rel_tol=1e-6):
        return f"chances sum to 1, yours to {found.sum():.2f}: divide the scores, before the softmax"
    if np.allclose(found, np.exp(scores * 2) / np.exp(scores * 2).sum()):
        return "this way it becomes surer as it gets hotter: divide, do not multiply"
    return f"the scores 2, 0, -1 at temperature 2 give {wanted.round(3)}, yours are {found.round(3)}"
