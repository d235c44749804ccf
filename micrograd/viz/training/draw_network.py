"""`draw_network`: the neurons of a model as people draw them."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..files import save_picture
from ..page import Page
from .evaluate import as_array, finite, flat, lattice, parameters, plane
from .movie_page import NARROW, choice, network_panel, page_with_player, picture
from .neurons import THUMB, network
from .open_player import inside

JUDGED = 200  # points at which a dead neuron answers 0
MOST = 2_000  # numbers in the points at which the page can open a neuron


class Network(Page):
    """A drawing of a network, `svg`. In a notebook, or saved as a page, a click on a neuron opens its graph."""

    @property
    def svg(self) -> str:
        """The drawing as an SVG document."""
        return self.picture

    def save(self, path: str | PathLike[str]) -> Path:
        """Write an SVG, a PNG if the path ends in .png, or the page if it ends in .html; return the path."""
        return super().save(path) if Path(path).suffix.lower() == ".html" else save_picture(self.picture, path)

    def __repr__(self) -> str:
        return f"<Network: {self.words}; save(path)>"


def draw_network(model: Callable[..., Any], X: Any) -> Network:
    """Draw the neurons of a model as circles in columns, and its weights as lines between them.

    Use it to see what each neuron has learnt. A line is as wide as its weight is large, blue above zero and orange
    below, and so is the dot at a neuron, its bias. Each circle shows the neuron's answers over the plane around the
    points or, if a point is one number, along the line. For points of more numbers it shows the mean of the answers. Of
    a column of more than 16 neurons, the first 16 are drawn. In a notebook a click on a neuron opens the player of its
    graph at the first point, or at the point that is chosen.

    Args:
        model: a network of Values, such as an `MLP`, or of Tensors, such as a `Sequential` of `Linear` layers.
        X: points of shape (n, inputs), or numbers of shape (n,), where the neurons are evaluated.

    Returns:
        A drawing that notebooks display. `save(path)` writes it as SVG, as PNG (with resvg-py) or, if the path ends
        in .html, as a page with the player. `svg` is the text of the SVG.

    Raises:
        ValueError: `X` has another shape or holds nan or inf, or the model is no chain of columns of neurons.

    >>> from micrograd.nn import MLP
    >>> draw_network(MLP(2, [4, 1]), [[0.0, 1.0], [1.0, 0.0]])
    <Network: A network of 2 inputs and 4, 1 neurons; save(path)>
    """
    points = as_array(X)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or not points.size:
        raise ValueError(f"X has shape {points.shape}; neurons answer points, of shape (n, inputs)")
    finite("X", points, "neurons answer numbers")
    layers = network(model, answering(points), points[:JUDGED])
    if not layers:
        raise ValueError(
            f"found no columns of neurons for points of {points.shape[1]} numbers: this draws an MLP, or layers with a "
            "matrix `weight`, one after the other; draw_dot(model(x)) draws any graph"
        )
    width = points.shape[1]
    if width > 2:  # one shade for each neuron
        layers = [replace(layer, answers=np.tile(layer.answers.mean(axis=0), (THUMB, 1))) for layer in layers]
    words = f"A network of {width} inputs and {', '.join(str(len(layer.weights)) for layer in layers)} neurons"
    panel = network_panel([layers], [layers], 640)
    svg = picture([[panel]], [NARROW], words, "")
    some, leaves = points[: max(1, MOST // width)], parameters(model)
    player = inside(model, some, width, [None] * len(some), [flat(leaves)], leaves, layers)
    field = choice(len(some)) if "inside" in player else ""
    html = page_with_player("network", words, player, network=panel.draw(None), choice=field)
    return Network(html, svg, words)


def answering(points: np.ndarray) -> np.ndarray:
    """The points at which the neurons answer: a grid around points of the plane or line, else the points themselves."""
    width = points.shape[1]
    if width > 2:
        return points
    around = plane(points if width == 2 else np.repeat(points, 2, axis=1), THUMB)
    xs, ys = (np.linspace(axis[0], axis[-1], THUMB) for axis in around)
    return lattice(xs, ys) if width == 2 else xs[:, None]
