"""What a movie is made of, as plain data: `film` records it; `panels`, `cinema` and `gif` show it."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(eq=False)
class Frame:
    """What there was to see at one step."""

    step: int
    loss: float
    accuracy: float  # the part of the points that is on the right side
    scores: np.ndarray  # on the movie's grid, (rows, columns), the highest y in the first row
    weights: list[np.ndarray]  # by layer


@dataclass(eq=False)
class Recording:
    """The frames of a training, and what they have in common."""

    title: str
    points: np.ndarray  # (n, 2)
    classes: dict[str, np.ndarray]  # by label: which of the points have it
    levels: tuple[float, float, float]  # the scores of a margin, of the boundary, and of the other margin
    xs: np.ndarray  # the grid's places across, and up
    ys: np.ndarray
    layers: dict[str, list[Any]]  # the parameters of each, by its name
    frames: list[Frame]
    losses: list[float]  # of every step, also of those whose frame was dropped
