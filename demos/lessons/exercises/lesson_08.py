"""The exercises of lesson 8."""

from typing import Any

from check import exercise, function, near, number, number_exercise

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
