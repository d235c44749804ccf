"""The plain data of a movie: recorded by `record`, shown by `panels`, `movie_page` and `plots`."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .neurons import Layer

Task = Literal["sides", "regions", "curve", "none"]
Levels = tuple[float, float, float]


@dataclass(eq=False)
class Frame:
    """The state of a training at one step."""

    step: int
    loss: float
    accuracy: float | None  # fraction of points classified correctly; of a curve, the root mean square error
    # On the movie's grid, with the highest y in the first row: of shape (rows, columns) for two classes, (classes,
    # rows, columns) for more, and (columns,) for a curve.
    scores: np.ndarray
    states: dict[str, list[np.ndarray]]  # "weights", "gradients" and the optimizer's state: one array per layer
    norms: list[float]  # of the gradient of each layer
    network: list[Layer]  # the neurons in columns; [] if the model has none


@dataclass(eq=False)
class Recording:
    """The frames of a training, and the data that they share.

    `task` is what the model learns: the "sides" of a boundary between two classes, the "regions" of more classes, or
    the "curve" of a function of one number. It is "none" if there are no points.
    """

    title: str
    task: Task
    points: np.ndarray  # (n, 2); for a curve, numbers and their targets
    classes: dict[str, np.ndarray]  # for each label, a mask of shape (n,)
    class_indices: list[int]  # for each label, the index of its score, by which it is coloured
    levels: Levels  # the scores at one margin, the boundary and the other margin
    xs: np.ndarray  # the coordinates of the grid
    ys: np.ndarray
    layers: dict[str, list[Any]]  # the parameters of each layer, by its name
    frames: list[Frame]
    losses: list[float]  # of all steps, including those whose frame was dropped

    def class_of_points(self) -> np.ndarray:
        """The class index of each point, which is 0 for the points of a curve."""
        classes = zip(self.class_indices, self.classes.values(), strict=True)
        return sum((index * mask for index, mask in classes), np.zeros(len(self.points), int))


class Histograms(NamedTuple):
    """The histograms of one quantity (weights, gradients, or an optimizer's state), all on one scale."""

    reach: str  # the end of the scale on the right, and its negative on the left; 0 is between two bins
    tallest: list[int]  # the highest bar of each layer in all frames
    counts: list[list[list[int]]]  # by frame, layer and bin
