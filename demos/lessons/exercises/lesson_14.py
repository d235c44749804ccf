"""The exercises of lesson 14."""

from typing import Any

import numpy as np
from check import exercise, function, kind, near, number, number_exercise, words


@exercise("14.1", of=function)
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
        if found in losses and not found.is_integer():
            return f"{said} {found:g} is a loss; the question is in which epoch, a whole number from 0"
        if found == losses.index(min(losses)):
            return f"{said} the last epochs are never run: training ends {patience} epochs after the best one so far"
        if found == epoch + patience:
            return f"{said} epoch {found:g} is where training stops; the question is whose weights to keep"
        return f"{said} the epoch to keep is {epoch}, not {found:g}"
    return None


@exercise("14.2", of=function)
def _(dropped: Any) -> str | None:
    x = np.full(10_000, 3.0)
    found = dropped(x, 0.2, np.random.default_rng(20))
    if np.shape(found) != x.shape:
        return f"the result should have the shape of x; found {kind(found) if found is None else np.shape(found)}"
    found = np.asarray(found, dtype=float)
    if (x != 3.0).any():
        return "x itself has been changed: make a new array"
    off = float((found == 0).mean())
    if off == 0:
        return "no number has been set to zero: rng.random(x.shape) decides, for each number separately"
    if abs(off - 0.8) < 0.03:
        return "the other way round: p is the probability of zero, and yours keeps a number with probability p"
    if not abs(off - 0.2) < 0.03:
        return f"with p = 0.2 a fifth should be zero, not {off:.0%}"
    if ((found == 0) == (np.asarray(dropped(x, 0.2, np.random.default_rng(21))) == 0)).all():
        return "the same places are zero whatever the generator says; rng.random(x.shape) decides for each number"
    kept = found[found != 0]
    if np.allclose(kept, 3.75):
        return None
    if np.allclose(kept, 3.0):
        return "the mean of 3.0 has become 2.4: what is left must be scaled up to compensate"
    return f"the 3.0 became {kept[0]:.4g}: divide by the fraction that is kept"


number_exercise(
    "14.3",
    45,
    {
        44: "nearly: after 44 steps it is still 0.105 of what it was",
        18: "each step takes 5 % of what is left, not of what was there at first",
        20: "each step takes 5 % of what is left, not of what was there at first",
        46: "nearly: after 45 steps it is below a tenth already",
        5: "each step takes away 5 % of the weight: the learning rate times the weight decay",
        10: "each step takes away 5 % of the weight, the learning rate times the weight decay, not 10 %",
        22: "each step takes away 5 % of the weight, the learning rate times the weight decay, not 10 %",
        4: "it is the product of learning rate and weight decay that counts",
    },
    "not {:g}: each step multiplies it by 1 - 0.1 * 0.5",
    tolerance=0,
)


@exercise("14.4", of=words)
def _(names: Any) -> str | None:
    wanted, reasons = {"a", "c", "d"}, {
        "a": "a: a mean over all pictures has seen the test set",
        "b": "b: choosing is what a validation set is for",
        "c": "c: stopping by the test set means learning from it",
        "d": "d: with the same writers in both parts, it is not tested on new writers",
        "e": "e: the test set is still used once, after all choices",
    }  # fmt: skip
    names = {name.strip().lower() for name in names}
    if unknown := names - set(reasons):
        return f"a set of letters, such as {{'a', 'b'}}; found {sorted(map(str, unknown))}"
    return next((reason for name, reason in reasons.items() if (name in names) != (name in wanted)), None)


@exercise("14.5", of=function)
def _(search: Any) -> str | None:
    n = 50
    images, digits = np.arange(float(n))[:, None] * np.ones((1, 2)), np.arange(n) % 10
    learnt: dict[str, set] = {}
    asked: list[tuple[str, frozenset]] = []
    mistakes = {"weak": (5, 3), "good": (2, 4), "poor": (3, 1)}  # in the second part, and in the third
    parts: list[frozenset] = []  # in the order in which models were asked about them

    def build(setting: str, x: Any, y: Any) -> Any:
        places = np.asarray(x)[:, 0].astype(int)
        if (np.asarray(y) != places % 10).any():
            raise ValueError("images and digits no longer belong together: split both in the same way")
        learnt[setting] = set(places.tolist())

        def model(images: Any) -> Any:
            places = np.asarray(images)[:, 0].astype(int)
            part = frozenset(places.tolist())
            asked.append((setting, part))
            if part not in parts:
                parts.append(part)
            wrong = sorted(part)[: mistakes[setting][min(parts.index(part), 1)]]
            return np.eye(10)[(places + np.isin(places, wrong)) % 10]

        return model

    found = search(build, list(mistakes), images, digits, np.random.default_rng(1))
    if not isinstance(found, tuple | list) or len(found) != 2:
        return f"return the setting and its accuracy; found {kind(found)}"
    if set(learnt) != set(mistakes):
        return f"build one model for each setting; you built {sorted(learnt)}"
    known, uses = set.union(*learnt.values()), {part for _, part in asked}
    if any(known & part for part in uses):
        return "a model was asked about samples that were learnt: split before you build"
    if len(known) != 30:
        return f"60 % of 50 samples are 30, and {len(known)} were learnt"
    if len(uses) != 2:
        return f"two parts are left, one to choose by and one for the end; you asked about {len(uses)}"
    last = asked[-1][1]
    if sum(part == last for _, part in asked) > 1:
        return "the third part was used more than once: choose by the second part, and use the third at the very end"
    if max(known) == 29:
        return "the first 30 are learnt: draw with rng who goes where, since files are often sorted"
    if sorted(map(len, uses)) != [10, 10]:
        return f"20 % of 50 samples are 10; your parts have {sorted(map(len, uses))}"
    setting, share = found
    if setting != "good":
        return f"in the second part 'good' is right most often, not {setting!r:.20}"
    if near(share, 0.8):
        return "that is the accuracy in the second part, by which you chose it; measure it again in the third"
    if near(share, 0.9):
        return "that is the accuracy of 'poor' in the third part; measure there the one that you chose"
    return None if near(share, 0.6) else f"'good' is right in 0.6 of the third part; yours says {number(share):.3g}"
