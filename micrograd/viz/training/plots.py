"""Plots on matplotlib axes: `plot_decision_boundary` and `plot_loss`.

matplotlib is imported on the first call. Classes have the colours and markers of `classes`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..optional import optional
from ..page import colours
from .classes import MANY, SIDES, hue, shape
from .evaluate import as_float, grid_scores, increasing, leads, one_score, plane, samples
from .frames import Levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1B2333"
PALEST = "#F7F7F7"
SHADES = ["#E8A06F", PALEST, "#5FA8D3"]  # pale, so that the points stand out


def plot_decision_boundary(
    model: Callable[..., Any],
    X: Any,
    y: Any,
    ax: "Axes | None" = None,
    *,
    resolution: int = 80,
    levels: Levels = (-1.0, 0.0, 1.0),
    legend: bool = True,
) -> "Axes":
    """Plot the decision boundary and margins of a classifier of points in the plane, with labelled points.

    Use it to see what a classifier of two features has learnt. The model runs under `no_grad` and in evaluation mode,
    and is left as it was.

    Args:
        model: a network of Values or Tensors, or a function of a point or of an (n, 2) array of points. It returns one
            score per point, whose side of the boundary is the class, or one score per class, of which the highest is
            the class.
        X: points of shape (n, 2).
        y: labels of shape (n,). Of two classes, the one with the lower label is drawn as circles, the other as
            triangles. With three scores or more, a label is the index of its class.
        ax: matplotlib axes to draw on, by default those of a new figure.
        resolution: grid points along the longer side, at which the model is evaluated.
        levels: the scores at one margin, the boundary and the other margin, increasing. With three scores or more, the
            margin is where the best score leads the next by `levels[2] - levels[1]`.
        legend: whether to draw a legend.

    Returns:
        The axes.

    Raises:
        ValueError: `X`, `y` or the scores have another shape, `X` or `y` holds nan or inf, `y` holds only one label
            or labels that are no indices of scores, `levels` do not increase, or `resolution` is less than 2.
        ModuleNotFoundError: matplotlib is not installed.

    >>> axes = plot_decision_boundary(lambda p: p[:, 0] - p[:, 1], [[0, 0], [0, 2], [3, 0]], [-1, -1, 1])
    >>> axes.get_title()
    'Decision boundary'
    """
    points, classes = samples(X, y)
    levels = increasing(levels)
    xs, ys = plane(points, resolution)
    scores = grid_scores(model, xs, ys)
    count = len(scores)
    indices = class_indices(classes, count)
    axes = _axes(ax, (7, 6))
    names = _draw_scores(axes, xs, ys, scores, levels)
    for (name, mask), index in zip(classes.items(), indices, strict=True):
        colour, marker = class_look(index, count)
        look = {"c": colour, "marker": marker, "s": 46, "edgecolors": "white", "zorder": 3}  # points above lines
        axes.scatter(*points[mask].T, **look, label=f"class {name}")
    square = np.isclose(xs[1] - xs[0], ys[1] - ys[0], rtol=0.1)
    axes.set(title="Decision boundary", xlabel="$x_1$", ylabel="$x_2$", aspect="equal" if square else "auto")
    if legend:
        for name, style in zip(names, ("-", "--"), strict=True):
            axes.plot([], [], color=INK, linestyle=style, label=name)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 3.8}  # lines: clears the label
        axes.legend(**below, ncols=max(2, -(-len(classes) // 2)), frameon=False)
    return axes


def _draw_scores(axes: "Axes", xs: np.ndarray, ys: np.ndarray, scores: np.ndarray, levels: Levels) -> tuple[str, str]:
    """Draw shades and lines for scores of shape (scores, y, x); return the legend texts of the lines.

    Where a score is nan, the plane is hatched. Shades are pale near the boundary, and darkest at three margins from it
    and beyond.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    unknown = np.isnan(scores).any(axis=0)
    if unknown.any():
        axes.contourf(xs, ys, unknown, levels=[0.5, 1.5], colors="none", hatches=["xxx"])
    scores = np.clip(scores, -1e9, 1e9)  # infinities have no contours
    low, middle, high = levels
    count = len(scores)
    if count < 3:
        most = 1.5 * (high - low)
        texts = f"boundary: score {middle:g}", f"margins: score {low:g} and {high:g}"
        lines = [(low - middle, "--"), (0.0, "-"), (high - middle, "--")]
        shaded = [(one_score(scores) - middle, -most, SHADES)]
    else:
        margin, most = high - middle, 3 * (high - middle)
        texts = "boundary: the best two scores are equal", f"margins: the best one leads by {margin:g}"
        lines = [(margin, "--"), (0.0, "-")]
        pale = [np.add(to_rgb(class_look(i, count)[0]), 1) / 2 for i in range(count)]
        shaded = [(lead, 0.0, [PALEST, shade]) for lead, shade in zip(leads(scores), pale, strict=True)]
    for score, least, shades in shaded:
        colours = LinearSegmentedColormap.from_list("classes", shades)
        axes.contourf(xs, ys, np.clip(score, -most, most), levels=np.linspace(least, most, 25), cmap=colours)
        for level, style in lines:
            if (score < level).any() and (score > level).any():
                axes.contour(xs, ys, score, levels=[level], colors=INK, linestyles=style, linewidths=1.5)
    return texts


def class_indices(classes: Mapping[str, Any], count: int) -> list[int]:
    """For each label of a model with `count` scores, the index of its class."""
    if count < 3 and len(classes) == 2:
        return [0, 1]
    labels = [float(name) for name in classes]
    if count < 3 or not all(label in range(count) for label in labels):
        raise ValueError(
            f"y holds the labels {', '.join(classes)} and the model returns {count} score{'s' * (count > 1)} a point: "
            "for more than two classes it returns one per class, and labels are the indices of classes, from 0"
        )
    return [int(label) for label in labels]


def class_look(index: int, count: int) -> tuple[str, str]:
    """Colour and marker of a class of a model with `count` scores."""
    name = SIDES[index] if count < 3 else MANY[hue(index)]
    return colours()[0][name], shape(index).marker


def plot_loss(
    losses: Sequence[Any], ax: "Axes | None" = None, *, accuracy: Sequence[Any] | None = None, log: bool | None = None
) -> "Axes":
    """Plot the loss at each step and, on a second axis, the accuracy.

    Use it after a training, to see whether it has converged.

    Args:
        losses: numbers, Values or Tensors with one element, one per step.
        ax: matplotlib axes to draw on, by default those of a new figure.
        accuracy: fractions in [0, 1], one per step, which are shown in percent.
        log: whether the scale is logarithmic. By default it is, if all losses are positive and span a factor of 30.

    Returns:
        The axes of the loss.

    Raises:
        ValueError: there are no losses, or `accuracy` has another length.
        ModuleNotFoundError: matplotlib is not installed.

    >>> plot_loss([2.0, 1.0, 0.5], accuracy=[0.5, 0.75, 1.0]).get_ylabel()
    'loss'
    """
    curve = np.array([as_float(loss) for loss in losses])
    if not len(curve):
        raise ValueError("there are no losses to plot: the list is empty")
    axes = _axes(ax, (7, 4))
    axes.plot(curve, color=INK, label="loss")
    if log is None:
        log = wants_log(curve)
    axes.set_yscale("log" if log else "linear")
    axes.grid(alpha=0.3)
    if len(odd := np.flatnonzero(~np.isfinite(curve))):  # these steps have a cross at the top
        look = {"color": INK, "transform": axes.get_xaxis_transform(), "label": "nan or inf"}
        axes.plot(odd, np.full(len(odd), 0.98), "x", **look)
    axes.set(title="Loss", xlabel="step", ylabel="loss")
    axes.spines["top"].set_visible(False)
    if accuracy is not None:
        _plot_accuracy(axes, accuracy, len(curve))
    return axes


def wants_log(curve: np.ndarray) -> bool:
    """True if all finite values are positive and span a factor of more than 30."""
    finite = curve[np.isfinite(curve)]
    return len(finite) > 0 and finite.min() > 0 and finite.max() / 30 > finite.min()


def _plot_accuracy(axes: "Axes", accuracy: Sequence[Any], steps: int) -> None:
    if len(accuracy) != steps:
        raise ValueError(f"there are {steps} losses and {len(accuracy)} accuracies; each step needs one of each")
    percent = axes.twinx()
    percent.plot([100 * as_float(fraction) for fraction in accuracy], color=INK, linestyle="--", label="right answers")
    percent.set(ylabel="right answers, %", ylim=(0, 103))
    percent.spines["top"].set_visible(False)
    axes.legend(handles=[*axes.get_lines(), *percent.get_lines()], loc="center right", frameon=False)


def _axes(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """`ax`, or the axes of a new figure."""
    return ax or optional("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]
