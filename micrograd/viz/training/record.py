"""`movie`: record a training, one line per step; the result plays in a notebook or a browser. `watch` shows it live.

    film = movie(model, X, y)
    for step in range(100):
        loss = ...
        film.frame(loss)
        ...
    film.save("training.html")

A frame is plain data: the scores on a grid, the weights, the loss. `panels.py` makes pictures of them, `movie_page.py`
the page that plays these.
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
from .evaluate import as_array, class_scores, flat, increasing, lattice, listed, one_score, pairs, plain, plane, samples
from .frames import Frame, Kind, Levels, Recording
from .movie_page import page, pictures, still
from .neurons import network
from .open_player import Loss, inside
from .plots import class_places

MAX_FRAMES = 121
MAX_WEIGHTS = 4000  # per layer, for its histogram; of more, every second, third, ... is stored
MAX_LAYERS = 12  # with a histogram each; with more, all share one


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
        y: labels of shape (n,), or the targets of a curve. Of two kinds of labels, the lower are drawn as circles, the
            higher as triangles. Of more kinds, a label is the index of its score.
        resolution: grid points along the longer side, at which the model is evaluated. 80 means some 4,000 in all.
        levels: the scores at one margin, the boundary and the other margin, increasing.
        max_frames: beyond it every second frame is dropped, so that a training of any length fits.
        title: heading of the page.
        optimizer: its state (momentum, Adam's two averages) can then be chosen in place of the weights.
        point_loss: a function of what the model returns for one point and of its target, such as
            `lambda score, y: (1 - y * score).relu()`. A click on a point opens the player of it, at the step that is
            shown. By default the loss is the squared error, the log loss of one score, or cross-entropy.

    Raises:
        ValueError: `X` or `y` has another shape or holds nan or inf, `y` holds a single kind of label, `levels` do
            not increase, or `resolution` or `max_frames` is less than 2.

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
        kind, points, classes, xs, ys = _data(X, y, resolution)
        super().__init__(title, kind, points, classes, increasing(levels), xs, ys, _layers(model), [], [])
        self.model = model
        self.optimizer = optimizer
        self.point_loss = point_loss
        self.max_frames = max_frames
        self._every = 1
        self._grid = xs[:, None] if kind == "curve" else lattice(xs, ys)

    def frame(self, loss: Any, accuracy: Any = None) -> None:
        """Record the current state of the model, and its loss.

        Call it after the loss is computed and before the optimizer steps, so that scores, weights and loss belong to
        the same state. The gradients shown are those in `.grad`: of this step after `backward()`, else of the last one.

        Args:
            loss: a number, a Value or a Tensor with one element.
            accuracy: fraction in [0, 1] to show; by default that of the model on `X` and `y`.

        Raises:
            TypeError: `loss` is not a single number.
            ValueError: the number of scores is not that of the classes.
        """
        try:
            step, loss = len(self.losses), plain(loss)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the loss of a frame is one number, found {type(loss).__name__} {loss!r:.60}") from error
        scores, right, columns = np.zeros(0, np.float32), None, []
        if self.kind != "none":
            scores, right = self._evaluate()
            inputs = self.points[:, : self._grid.shape[1]]
            columns = network(self.model, answering(inputs), inputs[:: -(-len(inputs) // JUDGED)])
        norms = [float(np.linalg.norm(_gradient(layer).astype(float))) for layer in self.layers.values()]
        right = right if accuracy is None else plain(accuracy)
        frame = Frame(step, loss, right, scores, self._states(), norms, columns)
        self.losses.append(loss)
        self._keep(frame)

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """The scores on the grid, and how right they are on the points."""
        found = class_scores(self.model, np.concatenate([self._grid, self.points[:, : self._grid.shape[1]]])).T
        if self.kind == "curve":
            if len(found) > 1:
                raise ValueError(f"the model gave {len(found)} numbers for each number; a curve is of one")
            curve, answers = np.split(found[0], [len(self.xs)])
            return curve, float(np.sqrt(np.mean((answers - self.points[:, 1]) ** 2)))
        places = class_places(self.classes, len(found))
        self.kind: Kind = "sides" if len(found) < 3 else "regions"
        found = np.clip(one_score(found)[None] if len(found) < 3 else found, -1e9, 1e9)
        grid, of_points = np.split(found, [len(self._grid)], axis=1)
        chosen = (of_points[0] > self.levels[1]).astype(int) if len(found) == 1 else of_points.argmax(axis=0)
        wanted = sum(place * mine for place, mine in zip(places, self.classes.values(), strict=True))
        grid = grid.reshape(-1, len(self.ys), len(self.xs)).astype(np.float32)
        return grid[0] if len(found) == 1 else grid, float((chosen == wanted).mean())

    def _states(self) -> dict[str, list[np.ndarray]]:
        """The weights and gradients of each layer, and what the optimizer remembers of its parameters."""
        held, layers = getattr(self.optimizer, "state", {}), self.layers.values()
        names = dict.fromkeys(name for state in held.values() for name, x in state.items() if not isinstance(x, int))
        return {
            "weights": [_part(flat([p.data for p in layer])) for layer in layers],
            "gradients": [_part(_gradient(layer)) for layer in layers],
            **{name: [_part(flat([held.get(p, {}).get(name) for p in layer])) for layer in layers] for name in names},
        }

    def _keep(self, new: Frame) -> None:
        """Store a frame; of the older ones, keep those at multiples of a step that doubles as the movie grows."""
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
            ValueError: the movie has no frame yet, here and in all that shows it.
        """
        return page(self._some(), {} if self.kind == "none" else self._inside())

    def _inside(self) -> dict[str, str]:
        """The data of the player of a point or of a neuron."""
        labels = np.full(len(self.points), None)
        for name, mine in self.classes.items():
            labels[mine] = int(float(name)) if float(name).is_integer() else float(name)
        inputs, owned = 1 if self.kind == "curve" else 2, [p for layer in self.layers.values() for p in layer]
        weights, columns = [flat(frame.states["weights"]) for frame in self.frames], self.frames[-1].network
        return inside(self.model, self.points, inputs, labels.tolist(), weights, owned, columns, self.point_loss)

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
            n: index among the frames that the movie holds, -1 for the last.

        Returns:
            The text of the document.
        """
        return still(self, self._some().frames[n])

    def gif(self, path: str | Path, *, seconds: float = 0.1, width: int = 480) -> None:
        """Write the boundary, or the curve, and the loss as a moving picture, with resvg-py.

        Args:
            path: the name of the file, which ends in ".gif" (needs Pillow too) or ".mp4" (needs the program ffmpeg).
            seconds: how long each frame is shown. The last one stays for two seconds more.
            width: in pixels.

        Raises:
            ValueError: `seconds` or `width` is not positive, or the path is that of another format.
            ModuleNotFoundError: resvg-py or Pillow is missing.
            FileNotFoundError: an MP4, and there is no ffmpeg.
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
        return True  # `if film: film.frame(loss)` tests for None; `__len__` would make a new movie False

    def __repr__(self) -> str:
        if not self.frames:
            return f"<{type(self).__name__} without a frame yet>"
        return f"<{type(self).__name__} of {len(self)} frames, steps {self.frames[0].step} to {self.frames[-1].step}>"


movie = Movie


class Watch(Movie):
    """A movie that shows itself live in a notebook while the model trains, updated a few times a second.

    Use it instead of `movie` where a training takes long enough to be watched.

    Args:
        model, X, y, **options: as for `movie`.
        every: seconds between two updates.

    Outside of a notebook nothing is shown while it trains. Afterwards the object is a movie, to be shown or saved.

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
            self._shown_at = time.monotonic()  # drawing does not count: the training goes on for `every` seconds


def _new_cell(text: str) -> Any:
    """A display of `text` in the notebook that runs this, to be updated; None outside of one."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has imported it
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    return ipython.display.display({"text/plain": text}, raw=True, display_id=True)


watch = Watch


# ------------------------------------------------------------------------------------------------ the data
def _data(X: Any, y: Any, resolution: int) -> tuple[Kind, np.ndarray, dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """What is shown, its points and classes, and the coordinates of the grid."""
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
        parts = name.split(".")  # layers.0.neurons.3.w.1 is in layers.0; hidden.weight in hidden; w.1 in w
        numbered = next((i for i, part in enumerate(parts[:-1]) if part.isdigit()), 0)
        layers.setdefault(".".join(parts[: numbered + 1]), []).append(p)
    if len(layers) > MAX_LAYERS:
        return {f"all {len(layers)} layers": [p for _, p in named]}
    if all(name.rpartition(".")[2].isdigit() for name in layers):
        return {f"layer {i}": layer for i, layer in enumerate(layers.values(), 1)}
    return layers


def _gradient(layer: list[Any]) -> np.ndarray:
    return flat([getattr(p, "grad", None) for p in layer])


def _part(row: np.ndarray) -> np.ndarray:
    """Of very many numbers, some."""
    return row[:: max(-(-len(row) // MAX_WEIGHTS), 1)]
