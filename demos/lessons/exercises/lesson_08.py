"""The exercises of lesson 8."""

from typing import Any

from check import exercise, function, near, number, number_exercise
from check import kind as kind_of

number_exercise(
    "8.1",
    2.6,
    {
        1.1: "1 - 2.5 is below 0, so the hinge loss is 0; being right by more earns nothing",
        1.6: "the score of -1 is below the margin by 2, since 1 - (-1) is 2",
        0.6: "the triangle with -1 is on the wrong side, and costs most of all: 1 - (-1)",
        2.0: "the triangle with 0.4 is on the right side, but within the margin, so it costs 0.6 too",
        5.1: "the score of 2.5 is beyond the margin, so it costs nothing",
        4.1: "1 - 2.5 is below 0, so that loss is 0, and not 1.5",
        3.6: "those are 1 + 0.6 + 2; the score of 2.5 is beyond the margin, so it costs nothing",
        1.9: "that is the sum of the scores; the loss of each is max(0, 1 - score)",
        -1.5: "1 - 2.5 is -1.5, but a hinge loss is never below 0; and there are two more triangles",
        2.6 / 3: "that is the mean; here the losses are added up",
        2.25 + 0.36 + 4: "those are the squared errors",
        1.0: "the triangle with 0.4 is on the right side, but within the margin, so it costs something too",
    },
    "it is not {:.4g}; add up max(0, 1 - score) for the three triangles",
)


@exercise("8.2", of=function)
def _(push: Any) -> str | None:
    if near(push(3.0, 1), 3.0) and near(push(0.4, 1), 0.4):
        return "that is kind * score, which decides whether there is a loss; the question is the slope of the loss"
    for score, kind in ((3.0, 1), (-2.5, -1)):
        if not near(push(score, kind), 0.0):
            return f"a {_name(kind)} with a score of {score:g} is right and sure, and its loss is flat there"
    for score, kind in ((0.4, 1), (-0.4, -1)):
        if near(push(score, kind), 0.0):
            return f"a {_name(kind)} with a score of {score:g} is right, but within the margin, so it still pushes"
    for score, kind in ((0.4, 1), (-3.0, 1), (-0.4, -1), (2.0, -1)):
        found = number(push(score, kind))
        if near(found, kind):
            return f"the sign is wrong; the loss of a {_name(kind)} gets smaller as its score goes towards {kind}"
        if not near(found, -kind):
            return f"for a {_name(kind)} with a score of {score:g}, found {found:.4g}; but the hinge is straight there"
    return None


def _name(kind: int) -> str:
    return "triangle" if kind > 0 else "circle"


number_exercise(
    "8.3",
    0.4,
    {
        5.0: "5 is the length of the weights: the score changes by 5 per unit of distance across the street",
        0.2: "that is from the boundary to one edge; the street has two halves",
        2 / 7: "3 + 4 is not how long the arrow (3, 4) is",
        7.0: "3 + 4 is not how long the arrow (3, 4) is; and the street gets narrower when it gets longer",
        2.0: "2 is how far the score goes from edge to edge; the score changes by 5 per unit of length",
        2 / 25: "divide by the length of the weights, which is 5, not by its square",
        10.0: "divide by the length of the weights; the larger they are, the narrower is the street",
        2.5: "the other way round: from edge to edge the score changes by 2, and by 5 per unit of length",
    },
    "it is not {:.4g}; the score goes from -1 to 1, and changes by 5 per unit of length",
)


@exercise("8.4", of=number)
def _(length: Any) -> str | None:
    if near(length, 1.0, 0.05):
        return "that is the length with a strength of 0.01; with 10 the weights must pay far more"
    if near(length, 2.5):
        return "that is the length at the start; has the neuron been trained?"
    if near(length, 0.0):
        return "the weights are small, but not 0: the points still pull a little"
    if length > 0.2:
        return f"{length:.4g} is too long; did you take all 200 steps, with a strength of 10?"
    return None if 0.05 < length < 0.1 else f"not {length:.4g}; the length is the root of the sum of the squares"


@exercise("8.5", of=function)
def _(fit: Any) -> str | None:
    points = [(-1.0, 0.5), (-1.0, -1.0), (-2.0, 0.9), (1.0, 1.0), (1.0, -0.5), (2.2, 1.5), (0.2, 0.1)]
    kinds = [-1, -1, -1, 1, 1, 1, -1]
    for steps, l2 in ((1, 0.0), (2, 0.1), (200, 0.01), (200, 0.0)):
        found = fit([list(point) for point in points], list(kinds), l2, 0.1, steps)
        if not isinstance(found, tuple | list) or len(found) != 3 or not hasattr(found[0], "__len__"):
            return f"return w, b and the places of the points that push; found {kind_of(found)}"
        w, b, pushing = [*map(number, found[0])], number(found[1]), [*found[2]]
        wanted, wanted_b, wanted_pushing = _support(points, kinds, l2, steps)
        if len(w) != 2:
            return f"w is a list of two numbers; found {kind_of(w)}"
        said = f"after {steps} step{'s' * (steps > 1)} with l2={l2:g}"
        if not all(map(near, [*w, b], [*wanted, wanted_b])):
            for why, other in _MISTAKES.items():
                wrong, wrong_b, _ = _support(points, kinds, l2, steps, **other)
                if all(map(near, [*w, b], [*wrong, wrong_b])):
                    return f"{said}, {why}"
            numbers = ", ".join(f"{x:.4f}" for x in (*wanted, wanted_b))
            yours = f"{said}, w and b should be {numbers}; yours are {w[0]:.4f}, {w[1]:.4f}, {b:.4f}"
            pairs = zip(("w[0]", "w[1]", "b"), (*w, b), (*wanted, wanted_b), strict=True)
            for name, have, want in pairs:
                if near(have, 7 * want):
                    return f"{yours}: for {name}, divide by the number of points"
                if near(have, -want) and want:
                    return f"{yours}: for {name}, the sign is wrong"
                if have == 0 and want:
                    return f"{yours}: {name} has not moved"
            return yours
        if pushing != wanted_pushing:
            if sorted(map(str, pushing)) == sorted(str(i) for i in range(7) if i not in wanted_pushing):
                return "w and b are right; those are the points that do *not* push"
            return f"w and b are right; {said}, the points at {wanted_pushing} push, yours are {pushing}"
    return None


_MISTAKES: dict[str, dict[str, Any]] = {
    "nothing has moved, though at the start all scores are 0, so all points are within the margin": {"rate": 0.0},
    "the step goes uphill: the gradient is subtracted": {"rate": -0.1},
    "that is the sum of the losses; divide by the number of points": {"parts": 1},
    "the bias got L2, too": {"of_bias": True},
    "the slope of w**2 is 2 * w": {"factor": 1},
    "the L2 term is missing": {"factor": 0},
    "points beyond the margin push, too: their loss is flat, so their slope is 0": {"margin": float("inf")},
    "only wrong answers push; those within the margin, below 1, should push as well": {"margin": 0.0},
    "the numbers move in the middle of a step: collect the gradients of all points first": {"at_once": True},
}


def _support(
    points: Any,
    kinds: Any,
    l2: float,
    steps: int,
    rate: float = 0.1,
    parts: int = 7,
    factor: float = 2,
    margin: float = 1.0,
    of_bias: bool = False,
    at_once: bool = False,
) -> tuple[list[float], float, list[int]]:
    """What a fit finds, as it should be or with a mistake in it."""
    u, v, b = 0.0, 0.0, 0.0
    for _ in range(steps):
        gradient = [factor * l2 * u, factor * l2 * v, factor * l2 * b * of_bias]
        for (x, y), kind in zip(points, kinds, strict=True):
            if kind * (u * x + v * y + b) < margin:
                gradient = [g - kind * z / parts for g, z in zip(gradient, (x, y, 1.0), strict=True)]
            if at_once:
                u, v, b = (place - rate * g for place, g in zip((u, v, b), gradient, strict=True))
                gradient = [0.0, 0.0, 0.0]
        u, v, b = (place - rate * g for place, g in zip((u, v, b), gradient, strict=True))
    pushing = [kind * (u * x + v * y + b) < 1 for (x, y), kind in zip(points, kinds, strict=True)]
    return [u, v], b, [i for i, pushes in enumerate(pushing) if pushes]
