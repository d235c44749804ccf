"""`movie`: a camera for training. One line in the loop takes a frame; the result plays in a notebook or a browser.

    film = movie(model, X, y)
    for step in range(100):
        loss = ...
        film.frame(loss)
        ...
    film.save("training.html")

A frame holds what there was to see at that step, in numbers: the scores on a grid, the weights, the loss. `panels.py`
makes pictures of these, `cinema.py` the page that plays them, `gif.py` a GIF.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..page import Page
from . import gif
from .cinema import page, still
from .frames import Frame, Recording
from .scores import increasing, method, plane, samples, scores

MAX_FRAMES = 121
MAX_WEIGHTS = 4000  # a layer's, for its histogram; of more, every second, third, ... is kept
MAX_LAYERS = 6  # with a histogram each; more share one


class Movie(Recording):
    """A recorder for the training of a two-class model: call its `frame(loss)` once a step, then show or save it.

    Args:
        model: a network of Values or Tensors, or any function of a point or of an (n, 2) array of points; it gives one
            score a point, or two, of which the higher one is the answer.
        X, y: points of shape (n, 2), and two kinds of labels: the lower are circles, the higher triangles.
        resolution: places along the longer side of the grid on which the model is asked; 80 means some 4,000.
        levels: the scores of the margin, of the boundary, and of the other margin.
        max_frames: when there are more, every second is dropped, so that any number of steps makes a movie.
        title: what stands above it.

    >>> from micrograd.nn import MLP
    >>> model = MLP(2, [4, 1])
    >>> film = movie(model, [[0.0, 1.0], [1.0, 0.0]], [-1, 1])
    >>> for loss in (0.9, 0.5, 0.3):
    ...     film.frame(loss)
    >>> film
    <Movie of 3 frames, steps 0 to 2>
    """

    def __init__(
        self,
        model: Callable[..., Any],
        X: Any,
        y: Any,
        *,
        resolution: int = 80,
        levels: tuple[float, float, float] = (-1.0, 0.0, 1.0),
        max_frames: int = MAX_FRAMES,
        title: str = "Training",
    ):
        if max_frames < 2:
            raise ValueError(f"max_frames is {max_frames}; a movie needs at least 2")
        points, classes = samples(X, y)
        if len(classes) > 2:
            raise ValueError(f"y holds {len(classes)} kinds of labels; the boundary of a movie is between two")
        xs, ys = plane(points, resolution)
        super().__init__(title, points, classes, increasing(levels), xs, ys, _layers(model), [], [])
        self.model, self.max_frames, self._every = model, max_frames, 1
        across, up = np.meshgrid(self.xs, self.ys[::-1])
        self._places = np.concatenate([np.stack([across.ravel(), up.ravel()], axis=1), self.points])

    def frame(self, loss: Any, accuracy: Any = None) -> None:
        """Take a frame of the model as it is now, and its loss (a number, a Value or a Tensor).

        Right after the loss is computed and before the optimizer steps, all that is seen belongs together. `accuracy`,
        a part of 1, is what the model gets right of X and y, unless it is given.
        """
        try:
            step, loss = len(self.losses), float(loss)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the loss of a frame is one number, found {type(loss).__name__} {loss!r:.60}") from error
        found = np.clip(scores(self.model, self._places), -1e9, 1e9)
        grid, of_points = np.split(found, [len(self.xs) * len(self.ys)])
        _, second = self.classes.values()
        right = ((of_points > self.levels[1]) == second).mean() if accuracy is None else accuracy
        grid = grid.reshape(len(self.ys), len(self.xs)).astype(np.float32)
        weights = [_weights(layer) for layer in self.layers.values()]
        self.losses.append(loss)
        self._keep(Frame(step, loss, float(right), grid, weights))

    def _keep(self, new: Frame) -> None:
        """The newest frame, and of the others those whose step is a multiple of what keeps them few enough."""
        if self.frames and self.frames[-1].step % self._every:
            self.frames.pop()
        self.frames.append(new)
        if len(self.frames) > self.max_frames:
            self._every *= 2
            self.frames = [frame for frame in self.frames if frame.step % self._every == 0 or frame is new]

    # -------------------------------------------------------------------------------------------- showing it
    def page(self) -> Page:
        """The page that plays the movie; it needs no other file, and fetches nothing."""
        return page(self._some())

    def save(self, path: str | Path) -> Path:
        """Write that page to a file; gives its path."""
        return self.page().save(path)

    def open(self) -> Path:
        """Show that page in the browser, from a temporary file; gives its path."""
        return self.page().open()

    def still(self, n: int = -1) -> str:
        """Frame number n as an SVG document."""
        return still(self, self._some().frames[n])

    def gif(self, path: str | Path, *, seconds: float = 0.1, width: int = 480) -> None:
        """Write a GIF, `width` pixels wide, that shows each frame for so many seconds. It needs Pillow."""
        gif.save(self._some(), path, seconds, width)

    def _some(self) -> "Movie":
        if not self.frames:
            raise ValueError("this movie has no frame yet: call its frame(loss) in the training loop")
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        return self.page()._repr_mimebundle_(include, exclude) if self.frames else {"text/plain": repr(self)}

    def __len__(self) -> int:
        return len(self.frames)

    def __bool__(self) -> bool:
        return True  # `if film: film.frame(loss)` means whether there is one; an empty list would be False

    def __repr__(self) -> str:
        if not self.frames:
            return "<Movie without a frame yet>"
        return f"<Movie of {len(self)} frames, steps {self.frames[0].step} to {self.frames[-1].step}>"


movie = Movie


# ------------------------------------------------------------------------------------------------ weights
def _layers(model: Any) -> dict[str, list[Any]]:
    """The parameters of each layer, by its name; {} for a model that tells of none."""
    named = list(method(model, "named_parameters")()) or [("weights", p) for p in method(model, "parameters")()]
    layers: dict[str, list[Any]] = {}
    for name, p in named:
        layers.setdefault(_layer_of(name), []).append(p)
    if len(layers) > MAX_LAYERS:
        return {f"all {len(layers)} layers": [p for _, p in named]}
    if all(name.rpartition(".")[2].isdigit() for name in layers):
        return {f"layer {i}": layer for i, layer in enumerate(layers.values(), 1)}
    return layers


def _layer_of(name: str) -> str:
    """layers.0.neurons.3.w.1 -> layers.0; hidden.weight -> hidden; w.1 -> w."""
    parts = name.split(".")
    numbered = next((i for i, part in enumerate(parts[:-1]) if part.isdigit()), 0)
    return ".".join(parts[: numbered + 1])


def _weights(layer: list[Any]) -> np.ndarray:
    flat = np.concatenate([np.ravel(np.asarray(p.data, dtype=np.float32)) for p in layer])
    return flat[:: -(-len(flat) // MAX_WEIGHTS)]
