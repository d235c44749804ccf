"""The exercises of lesson 8."""

from typing import Any

from check import exercise, function, near, number, number_exercise

number_exercise(
    "8.1",
    2.6,
    {
        1.1: "1 - 2.5 is below 0, so the hinge loss is 0; being right by more earns nothing",
        2.6 / 3: "that is the mean; here the losses are added up",
        2.25 + 0.36 + 4: "those are the squared errors",
        1.0: "the triangle with 0.4 is on the right side, but within the margin, so it costs something too",
    },
    "it is not {:.4g}; add up max(0, 1 - score) for the three triangles",
)


@exercise("8.2", of=function)
def _(push: Any) -> str | None:
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
    },
    "it is not {:.4g}; the score goes from -1 to 1, and changes by 5 per unit of length",
)


@exercise("8.4", of=number)
def _(length: Any) -> str | None:
    if near(length, 1.0, 0.05):
        return "that is the length with a strength of 0.01; with 10 the weights must pay far more"
    if near(length, 2.5):
        return "that is the length at the start; has the neuron been trained?"
    if length > 0.2:
        return f"{length:.4g} is too long; did you take all 200 steps, with a strength of 10?"
    return None if 0.05 < length < 0.1 else f"not {length:.4g}; the length is the root of the sum of the squares"
