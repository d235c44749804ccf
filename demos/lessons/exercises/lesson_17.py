"""The exercises of lesson 17."""

import math
from typing import Any

import numpy as np
from check import exercise, function, kind, number_exercise

from micrograd import Tensor
from micrograd.functional import cross_entropy

number_exercise(
    "17.1",
    math.log(27),
    {
        1 / 27: "that is the probability itself; the loss is -log of it",
        math.log2(27): "that is the loss in bits; nats use the natural logarithm",
        math.log10(27): "that is the logarithm to base 10; nats use the natural logarithm, np.log",
        -math.log(27): "a loss is not negative here: -log of the probability",
        27.0: "that is the perplexity; the loss is its logarithm",
        1.0: "the probabilities of all letters add up to 1; the loss is -log of that of one",
        26 / 27: "that is the probability of all other letters; the loss is -log of that of the right one",
    },
    "not {:.4g}: -log of the probability of one letter in 27",
    tolerance=0.01,
)

number_exercise(
    "17.2",
    math.exp(2),
    {
        2.0: "that is the loss itself; the perplexity is exp of it",
        4.0: "2 ** 2 would be right for bits; with nats the base is e",
        27.0: "27 would be the perplexity of a blind guess, with a loss of log 27 = 3.30",
        math.exp(-2): "that is the probability of a typical letter; the perplexity is 1 divided by that",
        math.log(2): "the other way round: exp undoes the log that is in the loss",
    },
    "not {:.4g}: exp of the loss",
    tolerance=0.01,
)

number_exercise(
    "17.3",
    800,
    {
        4000: "that is all of the matrix with 5 letters; how much is added to it?",
        48: "those are all 6 * 8 inputs; how many of them are new, and how many hidden neurons take them?",
        1: "one letter is not one number: its embedding has 8",
        1000: "the embedding has 8 numbers, and not 10, for each letter",
        8: "those are the new inputs; each of the 100 hidden neurons has a weight for each of them",
        100: "a sixth letter brings a vector of 8 numbers to each of the 100 hidden neurons, not one number",
        27 * 8: "the embedding is the same table for all places, so it does not grow",
        1016: "the embedding is the same table for all places, so it does not grow",
        801: "the biases stay as they are: there are as many hidden neurons as before",
        900: "the biases stay as they are: there are as many hidden neurons as before",
        4800: "that is all of the matrix with 6 letters; how much of it is new?",
    },
    "not {:g}: the hidden layer gets 8 more inputs; what else changes?",
    tolerance=0,
)


@exercise("17.4", of=function)
def _(draw: Any) -> str | None:
    p = np.array([0.1, 0.0, 0.6, 0.3])
    tries = {0.05: 0, 0.35: 2, 0.65: 2, 0.75: 3, 0.999: 3, 0.0: 0}
    found = {u: draw(p.copy(), u) for u in tries}
    for index in found.values():
        if index is None:
            return f"found {kind(index)}"
        if not isinstance(index, int | np.integer):
            return f"return the index of a letter, a whole number; found {kind(index)}"
    if len(set(found.values())) == 1:
        return f"it always draws {found[0.05]}: nothing is left to chance. In which piece of the line is u?"
    if all(found[u] == tries[u] + 1 for u in (0.35, 0.65, 0.75)):
        return "one too far: with u = 0.35 the piece is that of index 2, which ends at 0.7. Indices begin at 0"
    if found[0.05] != 0 or found[0.999] not in (0, 3):
        return f"u = 0.05 is in the first piece, and u = 0.999 in the last; yours are {found[0.05]} and {found[0.999]}"
    if 1 in found.values():
        return "index 1 has the probability 0, and yet you draw it: the pieces are as long as the probabilities"
    for u, want in tries.items():
        if found[u] != want:
            return f"of 0.1, 0, 0.6 and 0.3, u = {u} draws {want}, not {found[u]}"
    if (first := draw(np.array([0.0, 0.4, 0.6]), 0.0)) != 1:
        return f"of 0, 0.4 and 0.6, u = 0 draws index {first}, which is impossible: its piece has no length"
    return None


@exercise("17.5", of=function)
def _(gradients: Any) -> str | None:
    rng = np.random.default_rng(175)
    shapes = {"E": (7, 3), "W1": (6, 5), "b1": (5,), "W2": (5, 7), "b2": (7,)}
    weights = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    contexts, targets = np.array([[1, 2], [2, 2], [3, 1], [0, 2]]), np.array([4, 5, 6, 4])
    ours = {name: Tensor(array, requires_grad=True) for name, array in weights.items()}
    x = ours["E"][contexts].reshape((4, 6))
    loss = cross_entropy((x @ ours["W1"] + ours["b1"]).tanh() @ ours["W2"] + ours["b2"], targets)
    loss.backward()
    wanted = {"loss": loss.data} | {name: ours[name].grad for name in ("b2", "W2", "b1", "W1", "E")}
    found = gradients(**{name: array.copy() for name, array in weights.items()}, contexts=contexts, targets=targets)
    if not isinstance(found, dict):
        return f"return a dict of the loss and the gradients; found {kind(found)}"
    done = []
    for name, want in wanted.items():
        so_far = f"right so far: {', '.join(done)}. " if done else ""
        if name not in found:
            return f"{so_far}{name!r} is next"
        if (have := np.asarray(found[name])).shape != np.shape(want):
            return f"{so_far}{name} has the shape {have.shape}, and should have {np.shape(want)}"
        if np.allclose(have, want):
            done.append(name)
        elif np.allclose(have, 4 * want):
            return f"{so_far}{name} is 4 times too large: the loss is a mean over 4 samples"
        elif np.allclose(have, -want):
            return f"{so_far}{name} has the wrong sign: it is p - y, not y - p"
        elif name == "E" and not have.any():
            return f"{so_far}E is still 0: add each row of the gradient of x to the row of E that it was read from"
        elif name == "b1" and np.allclose(have, (_logits(weights, contexts, targets) @ weights["W2"].T).sum(0)):
            return f"{so_far}b1: the slope of tanh, 1 - hidden**2, is missing"
        elif name == "E" and _assigned(have, want):
            return f"{so_far}E: row 2 was looked up four times and kept one gradient; np.add.at adds all of them"
        else:
            return f"{so_far}{name} differs by up to {np.abs(have - want).max():.2g}"
    return None


def _logits(weights: dict[str, np.ndarray], contexts: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The gradient at the logits, (p - y) / n."""
    hidden = np.tanh(weights["E"][contexts].reshape(len(contexts), -1) @ weights["W1"] + weights["b1"])
    p = np.exp(hidden @ weights["W2"] + weights["b2"])
    p /= p.sum(1, keepdims=True)
    return (p - np.eye(p.shape[1])[targets]) / len(p)


def _assigned(found: np.ndarray, wanted: np.ndarray) -> bool:
    """True if only the rows that were used more than once, 1 and 2, are wrong."""
    return bool(np.allclose(found[[0, 3, 4, 5, 6]], wanted[[0, 3, 4, 5, 6]]) and not np.allclose(found[2], wanted[2]))
