"""The plain data of a movie: recorded by `film`, shown by `panels`, `cinema` and `gif`."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(eq=False)
class Frame:
    """The state of a training at one step."""

    step: int
    loss: float
    accuracy: float  # fraction of the points that are classified correctly
    scores: np.ndarray  # on the movie's grid: (rows, columns), the highest y in the first row
    weights: list[np.ndarray]  # one array per layer


@dataclass(eq=False)
class Recording:
    """The frames of a training, and the data that they share."""

    title: str
    points: np.ndarray  # (n, 2)
    classes: dict[str, np.ndarray]  # for each label, a mask of shape (n,)
    levels: tuple[float, float, float]  # the scores at one margin, the boundary and the other margin
    xs: np.ndarray  # the coordinates of the grid
    ys: np.ndarray
    layers: dict[str, list[Any]]  # the parameters of each layer, by its name
    frames: list[Frame]
    losses: list[float]  # of all steps, including those whose frame was dropped
