"""The plain data of a movie: recorded by `record`, shown by `panels`, `movie_page` and `plots`."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .neurons import Layer

Kind = Literal["sides", "regions", "curve", "none"]
Levels = tuple[float, float, float]


@dataclass(eq=False)
class Frame:
    """The state of a training at one step."""

    step: int
    loss: float
    accuracy: float | None  # fraction of points classified correctly; of a curve, the root mean square error
    # On the movie's grid, the highest y in the first row: (rows, columns), of regions with the classes before it; of a
    # curve, (columns,).
    scores: np.ndarray
    states: dict[str, list[np.ndarray]]  # one array per layer: "weights", "gradients", and what the optimizer has
    norms: list[float]  # of the gradient of each layer
    network: list[Layer]  # the neurons in columns; [] if the model has none


@dataclass(eq=False)
class Recording:
    """The frames of a training, and the data that they share.

    `kind` is "sides" of a boundary between two classes, "regions" of more, "curve" of a function of one number, or
    "none" if there are no points.
    """

    title: str
    kind: Kind
    points: np.ndarray  # (n, 2); of a curve, a number and its target
    classes: dict[str, np.ndarray]  # for each label, a mask of shape (n,)
    levels: Levels  # the scores at one margin, the boundary and the other margin
    xs: np.ndarray  # the coordinates of the grid
    ys: np.ndarray
    layers: dict[str, list[Any]]  # the parameters of each layer, by its name
    frames: list[Frame]
    losses: list[float]  # of all steps, including those whose frame was dropped


class Histograms(NamedTuple):
    """Those of one kind of numbers (weights, gradients, what an optimizer remembers), on one scale."""

    reach: str  # the scale ends there on both sides, and 0 is between two bins
    tallest: list[int]  # bar of each layer in the whole movie
    counts: list[list[list[int]]]  # by frame and layer
