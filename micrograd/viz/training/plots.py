"""Plots on matplotlib axes: `plot_decision_boundary` and `plot_loss`.

matplotlib is imported on the first call. Classes have the colours and markers of `classes`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..optional import optional
from ..page import colours
from .classes import MANY, SIDES, hue, shape
from .evaluate import grid_scores, increasing, leads, one_score, plain, plane, samples
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
    levels: tuple[float, float, float] = (-1.0, 0.0, 1.0),
    legend: bool = True,
) -> "Axes":
    """Plot the decision boundary and margins of a classifier of points in the plane, with labelled points.

    Use it to see what a classifier of two features has learnt. The model runs under `no_grad` and in evaluation mode,
    and is left as it was.

    Args:
        model: a network of Values or Tensors, or a function of a point or of an (n, 2) array of points. Returns one
            score per point, whose side of the boundary is the class, or one per class, of which the highest is.
        X: points of shape (n, 2).
        y: labels of shape (n,). Of two kinds, the lower are drawn as circles, the higher as triangles. With three
            scores or more, a label is the index of its class.
        ax: matplotlib axes to draw on, by default those of a new figure.
        resolution: grid points along the longer side, at which the model is evaluated.
        levels: the scores at one margin, the boundary and the other margin, increasing. With three scores or more, the
            margin is where the best score leads the next by `levels[2] - levels[1]`.
        legend: whether to draw a legend.

    Returns:
        The axes.

    Raises:
        ValueError: `X`, `y` or the scores have another shape, `X` or `y` holds nan or inf, `y` holds a single kind of
            label or labels that are no indices of scores, `levels` do not increase, or `resolution` is less than 2.
        ModuleNotFoundError: matplotlib is not installed.

    >>> axes = plot_decision_boundary(lambda p: p[:, 0] - p[:, 1], [[0, 0], [0, 2], [3, 0]], [-1, -1, 1])
    >>> axes.get_title()
    'Decision boundary'
    """
    points, classes = samples(X, y)
    levels = increasing(levels)
    xs, ys = plane(points, resolution)
    found = grid_scores(model, xs, ys)
    class_places(classes, len(found))
    axes = _axes(ax, (7, 6))
    names = draw_scores(axes, xs, ys, found, levels)
    draw_points(axes, points, classes, len(found))
    square = np.isclose(xs[1] - xs[0], ys[1] - ys[0], rtol=0.1)
    axes.set(title="Decision boundary", xlabel="$x_1$", ylabel="$x_2$", aspect="equal" if square else "auto")
    if legend:
        for name, style in zip(names, ("-", "--"), strict=True):
            axes.plot([], [], color=INK, linestyle=style, label=name)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 3.8}  # lines: clears the label
        axes.legend(**below, ncols=max(2, -(-len(classes) // 2)), frameon=False)
    return axes


def draw_scores(axes: "Axes", xs: np.ndarray, ys: np.ndarray, found: np.ndarray, levels: Levels) -> tuple[str, str]:
    """Draw shades and lines for scores of shape (scores, y, x); return the legend texts of the lines.

    Where a score is nan, the plane is hatched. Shades are paler towards the boundary and darkest from three margins
    away.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    unknown = np.isnan(found).any(axis=0)
    if unknown.any():
        axes.contourf(xs, ys, unknown, levels=[0.5, 1.5], colors="none", hatches=["xxx"])
    found = np.clip(found, -1e9, 1e9)  # infinities have no contours
    low, middle, high = levels
    if len(found) < 3:
        most = 1.5 * (high - low)
        texts = f"boundary: score {middle:g}", f"margins: score {low:g} and {high:g}"
        lines = [(low - middle, "--"), (0.0, "-"), (high - middle, "--")]
        shaded = [(one_score(found) - middle, -most, SHADES)]
    else:
        margin, most = high - middle, 3 * (high - middle)
        texts = "boundary: the best two scores are equal", f"margins: the best one leads by {margin:g}"
        lines = [(margin, "--"), (0.0, "-")]
        hues = [to_rgb(class_look(i, len(found))[0]) for i in range(len(found))]
        pale = [[(part + 1) / 2 for part in hue] for hue in hues]
        shaded = [(lead, 0.0, [PALEST, shade]) for lead, shade in zip(leads(found), pale, strict=True)]
    for score, least, shades in shaded:
        colours = LinearSegmentedColormap.from_list("classes", shades)
        axes.contourf(xs, ys, np.clip(score, -most, most), levels=np.linspace(least, most, 25), cmap=colours)
        for level, style in lines:
            if (score < level).any() and (score > level).any():
                axes.contour(xs, ys, score, levels=[level], colors=INK, linestyles=style, linewidths=1.5)
    return texts


def draw_points(axes: "Axes", points: np.ndarray, classes: Mapping[str, np.ndarray], count: int) -> None:
    """Scatter the points of each class of a model with `count` scores."""
    for (name, mine), place in zip(classes.items(), class_places(classes, count), strict=True):
        colour, marker = class_look(place, count)
        look = {"c": colour, "marker": marker, "s": 46, "edgecolors": "white", "zorder": 3}  # points above lines
        axes.scatter(*points[mine].T, **look, label=f"class {name}")


def class_places(classes: Mapping[str, Any], count: int) -> list[int]:
    """The index of each class's score."""
    if count < 3 and len(classes) == 2:
        return [0, 1]
    places = [float(name) for name in classes]
    if count < 3 or not all(place in range(count) for place in places):
        raise ValueError(
            f"y holds the labels {', '.join(classes)} and the model returns {count} score{'s' * (count > 1)} a point: "
            "for more than two classes it returns one per class, and labels are the indices of classes, from 0"
        )
    return [int(place) for place in places]


def class_look(place: int, count: int) -> tuple[str, str]:
    """Colour and marker of a class of a model with `count` scores."""
    name = SIDES[place] if count < 3 else MANY[hue(place)]
    return colours()[0][name], shape(place).marker


def plot_loss(
    losses: Sequence[Any], ax: "Axes | None" = None, *, accuracy: Sequence[Any] | None = None, log: bool | None = None
) -> "Axes":
    """Plot the loss at each step and, on a second axis, the accuracy.

    Use it after a training, to see whether it has converged.

    Args:
        losses: numbers, Values or Tensors with one element, one per step.
        ax: matplotlib axes to draw on, by default those of a new figure.
        accuracy: fractions in [0, 1], one per step, which are shown in percent.
        log: whether the scale is logarithmic, by default if all losses are positive and they span a factor of 30.

    Returns:
        The axes of the loss.

    Raises:
        ValueError: there are no losses, or `accuracy` has another length.
        ModuleNotFoundError: matplotlib is not installed.

    >>> plot_loss([2.0, 1.0, 0.5], accuracy=[0.5, 0.75, 1.0]).get_ylabel()
    'loss'
    """
    curve = np.array([plain(loss) for loss in losses])
    if not len(curve):
        raise ValueError("there are no losses to plot: the list is empty")
    axes = _axes(ax, (7, 4))
    draw_loss(axes, curve, log)
    axes.set(title="Loss", xlabel="step", ylabel="loss")
    axes.spines["top"].set_visible(False)
    if accuracy is not None:
        _plot_accuracy(axes, accuracy, len(curve))
    return axes


def draw_loss(axes: "Axes", curve: np.ndarray, log: bool | None = None) -> None:
    """Draw a curve of losses; steps whose loss is nan or inf have a cross at the top."""
    axes.plot(curve, color=INK, label="loss")
    axes.set_yscale("log" if (wants_log(curve) if log is None else log) else "linear")
    axes.grid(alpha=0.3)
    if len(odd := np.flatnonzero(~np.isfinite(curve))):
        look = {"color": INK, "transform": axes.get_xaxis_transform(), "label": "nan or inf"}
        axes.plot(odd, np.full(len(odd), 0.98), "x", **look)


def wants_log(curve: np.ndarray) -> bool:
    """True if all finite values are positive and span a factor of more than 30."""
    finite = curve[np.isfinite(curve)]
    return len(finite) > 0 and finite.min() > 0 and finite.max() / 30 > finite.min()


def _plot_accuracy(axes: "Axes", accuracy: Sequence[Any], steps: int) -> None:
    if len(accuracy) != steps:
        raise ValueError(f"there are {steps} losses and {len(accuracy)} accuracies; each step needs one of each")
    other = axes.twinx()
    other.plot([100 * plain(part) for part in accuracy], color=INK, linestyle="--", label="right answers")
    other.set(ylabel="right answers, %", ylim=(0, 103))
    other.spines["top"].set_visible(False)
    axes.legend(handles=[*axes.get_lines(), *other.get_lines()], loc="center right", frameon=False)


def _axes(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """`ax`, or the axes of a new figure."""
    return ax or optional("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]
