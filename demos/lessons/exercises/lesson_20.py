"""The exercises of lesson 20."""

from typing import Any

import numpy as np
from check import exercise, function, kind, number, number_exercise, words


@exercise("20.1", of=function)
def _(stopped: Any) -> str | None:
    for losses, patience, epoch in (
        ([5.0, 4.0, 3.0, 3.5, 3.2, 3.3, 2.0], 3, 2),
        ([5.0, 4.0, 4.5, 3.0, 3.5, 3.2, 2.9], 3, 6),
        ([3.0, 2.0, 1.0], 2, 2),
        ([1.0, 2.0, 0.5], 1, 0),
    ):
        found = number(stopped(list(losses), patience))
        if found == epoch:
            continue
        said = f"for {losses} and a patience of {patience},"
        if found == losses.index(min(losses)):
            return f"{said} the last epochs are never run: training ends {patience} epochs after the best one so far"
        if found == epoch + patience:
            return f"{said} epoch {found:g} is where training stops; the question is whose weights to keep"
        return f"{said} the epoch to keep is {epoch}, not {found:g}"
    return None


@exercise("20.2", of=function)
def _(dropped: Any) -> str | None:
    x = np.full(10_000, 3.0)
    found = dropped(x, 0.2, np.random.default_rng(20))
    if np.shape(found) != x.shape:
        return f"the result should have the shape of x; found {kind(found) if found is None else np.shape(found)}"
    found = np.asarray(found, dtype=float)
    if (x != 3.0).any():
        return "x itself has been changed: make a new array"
    off = float((found == 0).mean())
    if not abs(off - 0.2) < 0.03:
        return f"with p = 0.2 a fifth should be zero, not {off:.0%}"
    kept = found[found != 0]
    if np.allclose(kept, 3.75):
        return None
    if np.allclose(kept, 3.0):
        return "the mean of 3.0 has become 2.4: what is left must be scaled up to compensate"
    return f"the 3.0 became {kept[0]:.4g}: divide by the fraction that is kept"


number_exercise(
    "20.3",
    45,
    {
        44: "nearly: after 44 steps it is still 0.105 of what it was",
        18: "each step takes 5 % of what is left, not of what was there at first",
        20: "each step takes 5 % of what is left, not of what was there at first",
        4: "it is the product of learning rate and weight decay that counts",
    },
    "not {:g}: each step multiplies it by 1 - 0.1 * 0.5",
    tolerance=0,
)


@exercise("20.4", of=words)
def _(names: Any) -> str | None:
    wanted, reasons = {"a", "c", "d"}, {
        "a": "a: a mean over all pictures has seen the exam",
        "b": "b: choosing is what a validation set is for",
        "c": "c: stopping by the exam means learning from it",
        "d": "d: with the same writers in both parts, it is not tested on new writers",
        "e": "e: the exam is still taken once, after all choices",
    }  # fmt: skip
    if unknown := set(names) - set(reasons):
        return f"a set of letters, such as {{'a', 'b'}}; found {sorted(map(str, unknown))}"
    return next((reason for name, reason in reasons.items() if (name in names) != (name in wanted)), None)
