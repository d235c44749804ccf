"""`movie`: record a training, one line per step; the result plays in a notebook or a browser.

    film = movie(model, X, y)
    for step in range(100):
        loss = ...
        film.frame(loss)
        ...
    film.save("training.html")

A frame is plain data: the scores on a grid, the weights, the loss. `panels.py` makes pictures of them, `cinema.py` the
page that plays these, `gif.py` a GIF.
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
MAX_WEIGHTS = 4000  # per layer, for its histogram; of more, every second, third, ... is stored
MAX_LAYERS = 6  # with a histogram each; with more, all share one


class Movie(Recording):
    """Record the training of a two-class model: call `frame(loss)` once per step, then show or save the movie.

    The movie displays itself in notebooks. `save(path)` writes an HTML page, `open()` opens it in the browser, and
    `gif(path)` writes a GIF.

    Args:
        model: a network of Values or Tensors, or a function of a point or of an (n, 2) array of points. Returns one
            score per point, whose side of the boundary is the class, or two, of which the higher is.
        X: points of shape (n, 2).
        y: labels of shape (n,), of two kinds; the lower are drawn as circles, the higher as triangles.
        resolution: grid points along the longer side, at which the model is evaluated; 80 means some 4,000 in all.
        levels: the scores at one margin, the boundary and the other margin, increasing.
        max_frames: beyond it every second frame is dropped, so that a training of any length fits.
        title: heading of the page.

    Raises:
        ValueError: `X` or `y` has another shape, `X` holds nan or inf, `y` does not have exactly two kinds of labels,
            `levels` do not increase, or `resolution` or `max_frames` is less than 2.

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
        """Record the current state of the model, and its loss.

        Call it after the loss is computed and before the optimizer steps, so that scores, weights and loss belong to
        the same state.

        Args:
            loss: a number, a Value or a Tensor with one element.
            accuracy: fraction in [0, 1] to show; by default that of the model on `X` and `y`.

        Raises:
            TypeError: `loss` is not a single number.
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
        """Store a frame; of the older ones, keep those at multiples of a step that doubles as the movie grows."""
        if self.frames and self.frames[-1].step % self._every:
            self.frames.pop()
        self.frames.append(new)
        if len(self.frames) > self.max_frames:
            self._every *= 2
            self.frames = [frame for frame in self.frames if frame.step % self._every == 0 or frame is new]

    # -------------------------------------------------------------------------------------------- showing it
    def page(self) -> Page:
        """The page that plays the movie; it is self-contained.

        Raises:
            ValueError: the movie has no frame yet, here and in all that shows it.
        """
        return page(self._some())

    def save(self, path: str | Path) -> Path:
        """Write the page to a file.

        Args:
            path: the name of the file.

        Returns:
            Its path.
        """
        return self.page().save(path)

    def open(self) -> Path:
        """Open the page in the browser, from a temporary file.

        Returns:
            The path of the file.
        """
        return self.page().open()

    def still(self, n: int = -1) -> str:
        """One frame as an SVG document.

        Args:
            n: index among the frames that the movie holds; -1 is the last.

        Returns:
            The text of the document.
        """
        return still(self, self._some().frames[n])

    def gif(self, path: str | Path, *, seconds: float = 0.1, width: int = 480) -> None:
        """Write a GIF; needs Pillow.

        Args:
            path: the name of the file.
            seconds: how long each frame is shown.
            width: in pixels.
        """
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
        return True  # `if film: film.frame(loss)` tests for None; `__len__` would make a new movie False

    def __repr__(self) -> str:
        if not self.frames:
            return "<Movie without a frame yet>"
        return f"<Movie of {len(self)} frames, steps {self.frames[0].step} to {self.frames[-1].step}>"


movie = Movie


# ------------------------------------------------------------------------------------------------ weights
def _layers(model: Any) -> dict[str, list[Any]]:
    """The parameters of each layer, by its name; {} for a model without parameters."""
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
