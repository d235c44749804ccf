"""`movie`: record a training, one line per step; the result plays in a notebook or a browser. `watch` shows it live.

    film = movie(model, X, y)
    for step in range(100):
        loss = ...
        film.frame(loss)
        ...
    film.save("training.html")

A frame is plain data: the scores on a grid, the weights, the loss. `panels.py` draws a frame as pictures, and
`movie_page.py` makes the page that plays the frames.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files import save_film
from ..page import Page, image
from .draw_network import JUDGED, answering
from .evaluate import (
    as_array,
    as_float,
    class_scores,
    flat,
    increasing,
    lattice,
    listed,
    one_score,
    pairs,
    plane,
    samples,
)
from .frames import Frame, Levels, Recording, Task
from .movie_page import page, pictures, still
from .neurons import network
from .open_player import Loss, inside
from .plots import class_indices

MAX_FRAMES = 121
MAX_WEIGHTS = 4000  # stored per layer, for its histogram; of more weights, every second, third, ... is stored
MAX_LAYERS = 12  # with a histogram each; more layers share one


class Movie(Recording):
    """Record the training of a model, with a call of `frame(loss)` in each step, and show or save it as a movie.

    Use it to see how a small model learns, and where it gets stuck. The movie displays itself in notebooks.
    `save(path)` writes an HTML page, `open()` opens it in the browser, and `gif(path)` writes a GIF.

    Args:
        model: a network of Values or Tensors, or a function of a point or of an (n, 2) array of points. For two classes
            it returns one score per point, whose side of the boundary is the class. For more classes it returns one
            score per class, of which the highest is the class, and for a curve one number.
        X: points of shape (n, 2), or numbers of shape (n,) or (n, 1), whose curve is shown. Without points, the movie
            is of the loss, the weights and the gradients.
        y: labels of shape (n,), or the targets of a curve. Of two classes, the one with the lower label is drawn as
            circles, the other as triangles. With more classes, a label is the index of its score.
        resolution: grid points along the longer side, at which the model is evaluated. 80 means some 4,000 in all.
        levels: the scores at one margin, the boundary and the other margin, increasing.
        max_frames: when there are more, every second frame is dropped, so that a training of any length fits.
        title: heading of the page.
        optimizer: the page can then show its state (momentum, Adam's two averages) in place of the weights.
        point_loss: a function of the model's output for one point and of the target, such as
            `lambda score, y: (1 - y * score).relu()`. A click on a point opens the player of this loss, at the step
            that is shown. By default the loss is the squared error, the log loss of one score, or cross-entropy.

    Raises:
        ValueError: `X` or `y` has another shape or holds nan or inf, `y` holds only one label, `levels` do not
            increase, or `resolution` or `max_frames` is less than 2.

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
        X: Any = None,
        y: Any = None,
        *,
        resolution: int = 80,
        levels: Levels = (-1.0, 0.0, 1.0),
        max_frames: int = MAX_FRAMES,
        title: str = "Training",
        optimizer: Any = None,
        point_loss: Loss | None = None,
    ):
        if max_frames < 2:
            raise ValueError(f"max_frames is {max_frames}; a movie needs at least 2")
        task, points, classes, xs, ys = _data(X, y, resolution)
        super().__init__(title, task, points, classes, [], increasing(levels), xs, ys, _layers(model), [], [])
        self.model = model
        self.optimizer = optimizer
        self.point_loss = point_loss
        self.max_frames = max_frames
        self._every = 1
        self._grid = xs[:, None] if task == "curve" else lattice(xs, ys)
        self._inputs = points[:, : self._grid.shape[1]]

    def frame(self, loss: Any, accuracy: Any = None) -> None:
        """Record the current state of the model, and its loss.

        Call it after the loss is computed and before the optimizer steps, so that scores, weights and loss belong to
        the same state. The movie shows the gradients in `.grad`. These are of this step after its `backward()`, else of
        the step before.

        Args:
            loss: a number, a Value or a Tensor with one element.
            accuracy: fraction in [0, 1] to show, by default the model's accuracy on `X` and `y`.

        Raises:
            TypeError: `loss` is not a single number.
            ValueError: the model does not return one score for each class.
        """
        try:
            loss = as_float(loss)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the loss of a frame is one number, found {type(loss).__name__} {loss!r:.60}") from error
        scores, measured, columns = np.zeros(0, np.float32), None, []
        if self.task != "none":
            scores, measured = self._evaluate()
            judged = self._inputs[:: -(-len(self._inputs) // JUDGED)]
            columns = network(self.model, answering(self._inputs), judged)
        norms = [float(np.linalg.norm(flat(_gradients(layer)).astype(float))) for layer in self.layers.values()]
        accuracy = measured if accuracy is None else as_float(accuracy)
        frame = Frame(len(self.losses), loss, accuracy, scores, self._states(), norms, columns)
        self.losses.append(loss)
        self._keep(frame)

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """The scores on the grid; and the accuracy on the points or, for a curve, the root mean square error."""
        scores = class_scores(self.model, np.concatenate([self._grid, self._inputs])).T
        count = len(scores)
        if self.task == "curve":
            if count > 1:
                raise ValueError(f"the model gave {count} numbers for each number; a curve is of one")
            curve, answers = np.split(scores[0], [len(self.xs)])
            return curve, float(np.sqrt(np.mean((answers - self.points[:, 1]) ** 2)))
        self.class_indices: list[int] = class_indices(self.classes, count)
        two = count < 3
        self.task: Task = "sides" if two else "regions"
        scores = np.clip(one_score(scores) if two else scores, -1e9, 1e9)
        grid, answers = np.split(scores, [len(self._grid)], axis=-1)
        grid = grid.reshape(*scores.shape[:-1], len(self.ys), len(self.xs)).astype(np.float32)
        chosen = answers > self.levels[1] if two else answers.argmax(axis=0)
        return grid, float((chosen == self.class_of_points()).mean())

    def _states(self) -> dict[str, list[np.ndarray]]:
        """The weights and gradients of each layer, and the optimizer's state of its parameters."""
        layers, state = self.layers.values(), getattr(self.optimizer, "state", {})
        entries = [entry for of_parameter in state.values() for entry in of_parameter.items()]
        names = dict.fromkeys(name for name, x in entries if not isinstance(x, int))  # an integer counts the steps
        return {
            "weights": [_sampled([p.data for p in layer]) for layer in layers],
            "gradients": [_sampled(_gradients(layer)) for layer in layers],
            **{name: [_sampled([state.get(p, {}).get(name) for p in layer]) for layer in layers] for name in names},
        }

    def _keep(self, new: Frame) -> None:
        """Store a frame; of the older frames, keep those at multiples of a step that doubles as the movie grows."""
        if self.frames and self.frames[-1].step % self._every:
            self.frames.pop()
        self.frames.append(new)
        if len(self.frames) > self.max_frames:
            self._every *= 2
            self.frames: list[Frame] = [frame for frame in self.frames if frame.step % self._every == 0 or frame is new]

    # -------------------------------------------------------------------------------------------- showing it
    def page(self) -> Page:
        """The page that plays the movie, which is self-contained.

        Raises:
            TypeError: `point_loss` returned something without a graph.
            ValueError: the movie has no frame yet. All methods that show the movie raise this error.
        """
        return page(self._some(), {} if self.task == "none" else self._inside())

    def _inside(self) -> dict[str, str]:
        """The data of the player of a point or of a neuron."""
        labels = np.full(len(self.points), None)
        for name, mask in self.classes.items():
            label = float(name)
            labels[mask] = int(label) if label.is_integer() else label
        owned = [p for layer in self.layers.values() for p in layer]
        weights, columns = [flat(frame.states["weights"]) for frame in self.frames], self.frames[-1].network
        width = self._inputs.shape[1]
        return inside(self.model, self.points, width, labels.tolist(), weights, owned, columns, self.point_loss)

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
            n: index in the frames that the movie has, -1 for the last.

        Returns:
            The text of the document.
        """
        return still(self, self._some().frames[n])

    def gif(self, path: str | Path, *, seconds: float = 0.1, width: int = 480) -> None:
        """Write the boundary, or the curve, and the loss as a moving picture, with resvg-py.

        Args:
            path: the name of the file, which ends in ".gif" (needs Pillow too) or ".mp4" (needs the program ffmpeg).
            seconds: how long each frame is shown. The last frame stays for two seconds more.
            width: in pixels.

        Raises:
            ValueError: `seconds` or `width` is not positive, or the path ends in another suffix.
            ModuleNotFoundError: resvg-py or Pillow is missing.
            FileNotFoundError: ffmpeg, which an MP4 needs, is missing.
        """
        if not (seconds > 0 and width > 0):
            raise ValueError(f"seconds is {seconds} and width {width}; both must be above 0")
        save_film(pictures(self._some(), width), Path(path), seconds, hold=2.0)

    def _some(self) -> "Movie":
        if not self.frames:
            raise ValueError("this movie has no frame yet: call its frame(loss) in the training loop")
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        return self.page()._repr_mimebundle_(include, exclude) if self.frames else {"text/plain": repr(self)}

    def _mime_(self) -> tuple[str, str]:
        return self.page()._mime_() if self.frames else ("text/plain", repr(self))

    def __len__(self) -> int:
        return len(self.frames)

    def __bool__(self) -> bool:
        return True  # `if film: film.frame(loss)` tests for None, and by `__len__` a new movie would be False

    def __repr__(self) -> str:
        if not self.frames:
            return f"<{type(self).__name__} without a frame yet>"
        return f"<{type(self).__name__} of {len(self)} frames, steps {self.frames[0].step} to {self.frames[-1].step}>"


movie = Movie


class Watch(Movie):
    """A movie that shows itself live in a notebook while the model trains, updated a few times a second.

    Use it instead of `movie` for a training that takes long enough to be watched.

    Args:
        model, X, y, **options: as for `movie`.
        every: seconds between two updates.

    Outside of a notebook nothing is shown while the model trains. Afterwards the movie can be shown or saved.

    >>> from micrograd.nn import MLP
    >>> film = watch(MLP(2, [4, 1]), [[0.0, 1.0], [1.0, 0.0]], [-1, 1])
    >>> film.frame(0.5)
    >>> film
    <Watch of 1 frames, steps 0 to 0>
    """

    def __init__(self, model: Callable[..., Any], X: Any = None, y: Any = None, *, every: float = 0.3, **options: Any):
        super().__init__(model, X, y, **options)
        self.every = every
        self._shown_at = -float("inf")
        self._cell = _new_cell("training")

    def frame(self, loss: Any, accuracy: Any = None) -> None:
        """Record the current state of the model, as `Movie.frame` does, and show it if it is time."""
        super().frame(loss, accuracy)
        if self._cell is not None and time.monotonic() - self._shown_at >= self.every:
            words = f"step {self.frames[-1].step}, loss {self.losses[-1]:.4g}"
            markup = image(self.still(), words)
            self._cell.update({"text/html": markup, "text/plain": words}, raw=True)
            # Measured after the drawing, so that the training always goes on for `every` seconds
            self._shown_at = time.monotonic()


def _new_cell(text: str) -> Any:
    """A display of `text` in the notebook that runs this code, to be updated; None outside of a notebook."""
    ipython: Any = sys.modules.get("IPython")  # which a notebook has imported
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    return ipython.display.display({"text/plain": text}, raw=True, display_id=True)


watch = Watch


# ------------------------------------------------------------------------------------------------ the data
def _data(X: Any, y: Any, resolution: int) -> tuple[Task, np.ndarray, dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The task, its points and classes, and the coordinates of the grid."""
    if X is None:
        return "none", np.zeros((0, 2)), {}, np.zeros(0), np.zeros(0)
    shape = as_array(X).shape
    if len(shape) == 1 or shape[1:] == (1,):
        points = pairs(X, y)
        xs, _ = plane(points, resolution)
        low, high = points[:, 1].min(), points[:, 1].max()
        room = 0.2 * (high - low) or 1.0
        return "curve", points, {}, np.linspace(xs[0], xs[-1], 2 * resolution), np.array([low - room, high + room])
    points, classes = samples(X, y)
    return "sides", points, classes, *plane(points, resolution)


# ------------------------------------------------------------------------------------------------ weights
def _layers(model: Any) -> dict[str, list[Any]]:
    """The parameters of each layer, by its name; {} for a model without parameters."""
    named = listed(model, "named_parameters") or [("weights", p) for p in listed(model, "parameters")]
    layers: dict[str, list[Any]] = {}
    for name, p in named:
        path = name.split(".")  # layers.0.neurons.3.w.1 is in layers.0; hidden.weight in hidden; w.1 in w
        number_at = next((i for i, word in enumerate(path[:-1]) if word.isdigit()), 0)
        layers.setdefault(".".join(path[: number_at + 1]), []).append(p)
    if len(layers) > MAX_LAYERS:
        return {f"all {len(layers)} layers": [p for _, p in named]}
    if all(name.rpartition(".")[2].isdigit() for name in layers):
        return {f"layer {i}": layer for i, layer in enumerate(layers.values(), 1)}
    return layers


def _gradients(layer: list[Any]) -> list[Any]:
    return [getattr(p, "grad", None) for p in layer]


def _sampled(arrays: list[Any]) -> np.ndarray:
    """The numbers of arrays in one row; of more than `MAX_WEIGHTS`, some."""
    row = flat(arrays)
    return row[:: max(-(-len(row) // MAX_WEIGHTS), 1)]
