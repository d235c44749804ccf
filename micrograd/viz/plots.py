"""Plots on matplotlib axes: what a classifier thinks (`plot_decision_boundary`), and how it learnt (`plot_loss`).

Both draw on the axes that they are given, or on new ones, and return them. matplotlib is imported by the first call.
Okabe and Ito's colours (2008), which colour-blind people tell apart; the classes differ in their markers too.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .scores import grid_scores, increasing, plane, samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, INK = "#0072B2", "#C24E00", "#1B2333"
CLASSES = ((BLUE, "o"), (ORANGE, "^"))
SHADES = ["#5FA8D3", "#F7F7F7", "#E8A06F"]  # pale enough for points to stand out


def plot_decision_boundary(
    model: Callable[..., Any],
    X: Any,
    y: Any,
    ax: "Axes | None" = None,
    *,
    resolution: int = 80,
    levels: tuple[float, float, float] = (-1.0, 0.0, 1.0),
    legend: bool = True,
) -> "Axes":
    """The score of a two-class model at every place of the plane, with its points; returns the axes.

    Args:
        model: a network of Values or Tensors, or any function of a point or of an (n, 2) array of points; it gives one
            score a point, or two, of which the higher one is the answer.
        X, y: points of shape (n, 2), and two kinds of labels: the lower are circles, the higher triangles.
        ax: where to draw; new axes if None.
        resolution: grid places along the longer side.
        levels: the scores of the margin, of the boundary, and of the other margin.

    >>> axes = plot_decision_boundary(lambda p: p[:, 0] - p[:, 1], [[0, 0], [0, 2], [3, 0]], [-1, -1, 1])
    >>> axes.get_title()
    'Decision boundary'
    """
    points, classes = samples(X, y)
    low, middle, high = increasing(levels)
    xs, ys = plane(points, resolution)
    found = np.clip(grid_scores(model, xs, ys), -1e9, 1e9)  # contours cannot pass between infinities
    axes = _axes(ax, (7, 6))
    _shade(axes, xs, ys, (found - middle) / ((high - low) / 2))
    for level, style in ((low, "--"), (middle, "-"), (high, "--")):
        if (found < level).any() and (found > level).any():
            axes.contour(xs, ys, found, levels=[level], colors=INK, linestyles=style, linewidths=1.5)
    for (name, mine), (colour, marker) in zip(classes.items(), CLASSES, strict=True):
        look = {"c": colour, "marker": marker, "s": 46, "edgecolors": "white", "zorder": 3}  # a point hides a line
        axes.scatter(*points[mine].T, **look, label=f"class {name}")
    square = np.isclose(xs[1] - xs[0], ys[1] - ys[0], rtol=0.1)
    axes.set(title="Decision boundary", xlabel="$x_1$", ylabel="$x_2$", aspect="equal" if square else "auto")
    if legend:
        axes.plot([], [], color=INK, label=f"boundary: score {middle:g}")
        axes.plot([], [], color=INK, linestyle="--", label=f"margins: score {low:g} and {high:g}")
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 3.8}  # lines, past the axis' label
        axes.legend(**below, ncols=2, frameon=False)
    return axes


def plot_loss(
    losses: Sequence[Any], ax: "Axes | None" = None, *, accuracy: Sequence[Any] | None = None, log: bool | None = None
) -> "Axes":
    """The loss at each step, and on a second scale the accuracy (a part of 1) where it is given; returns the axes.

    `log` asks for a logarithmic scale; None takes one where the losses are positive and span a factor of 30.

    >>> plot_loss([2.0, 1.0, 0.5], accuracy=[0.5, 0.75, 1.0]).get_ylabel()
    'loss'
    """
    curve = np.array([float(loss) for loss in losses])
    if not len(curve):
        raise ValueError("there are no losses to plot: the list is empty")
    axes = _axes(ax, (7, 4))
    axes.plot(curve, color=BLUE, label="loss")
    axes.set(title="Loss", xlabel="step", ylabel="loss")
    axes.set_yscale("log" if (wants_log(curve) if log is None else log) else "linear")
    axes.grid(alpha=0.3)
    axes.spines["top"].set_visible(False)
    if accuracy is not None:
        _plot_accuracy(axes, accuracy, len(curve))
    return axes


def wants_log(curve: np.ndarray) -> bool:
    """Is a curve best shown on a logarithmic scale?"""
    finite = curve[np.isfinite(curve)]
    return len(finite) > 0 and finite.min() > 0 and finite.max() > 30 * finite.min()


def _plot_accuracy(axes: "Axes", accuracy: Sequence[Any], steps: int) -> None:
    if len(accuracy) != steps:
        raise ValueError(f"there are {steps} losses and {len(accuracy)} accuracies; each step has one of both")
    other = axes.twinx()
    other.plot([100 * float(part) for part in accuracy], color=ORANGE, linestyle="--", label="right answers")
    other.set(ylabel="right answers, %", ylim=(0, 103))
    other.spines["top"].set_visible(False)
    axes.legend(handles=[*axes.get_lines(), *other.get_lines()], loc="center right", frameon=False)


def _shade(axes: "Axes", xs: np.ndarray, ys: np.ndarray, margins: np.ndarray) -> None:
    """Filled contours, ever paler towards the boundary; three margins away they are as dark as they get."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("classes", SHADES)
    axes.contourf(xs, ys, np.clip(margins, -3, 3), levels=np.linspace(-3, 3, 25), cmap=shades)


def _axes(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """The given axes, or those of a new figure, which a notebook shows."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib, which is not installed here: pip install matplotlib", name=error.name
        ) from None
    return plt.subplots(figsize=size, layout="constrained")[1]
