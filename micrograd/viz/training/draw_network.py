"""`draw_network`: the neurons of a model as people draw them."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..page import Page, Svg
from .evaluate import as_array, finite, flat, lattice, parameters, plane
from .movie_page import NARROW, choice, network_panel, page_with_player, picture
from .neurons import THUMB, network
from .open_player import inside

JUDGED = 200  # points for which a neuron that answers 0 is called dead
MOST = 2_000  # numbers in the points that the page can look inside at


class Network(Svg):
    """A drawing of a network. In a notebook, or saved as a page, a click on a neuron opens its graph."""

    page: Page

    def save(self, path: str | PathLike[str]) -> Path:
        """Write an SVG, a PNG if the path ends in .png, or the page if it ends in .html; return the path."""
        return self.page.save(path) if Path(path).suffix.lower() == ".html" else super().save(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        return self.page._repr_mimebundle_(include, exclude)

    def _mime_(self) -> tuple[str, str]:
        return self.page._mime_()


def draw_network(model: Callable[..., Any], X: Any) -> Network:
    """Draw the neurons of a model as circles in columns, and its weights as lines between them.

    Use it to see what each neuron has learnt. A line is as wide as its weight is large, blue above zero and orange
    below, and so is the dot at a neuron, its bias. Each circle shows what the neuron answers, over the plane around the
    points, along the line if a point is one number, and else as its mean over the points. Of a column of more than 16
    neurons, the first 16 are drawn. In a notebook a click on a neuron opens the player of its graph at the first point,
    or at the point that is chosen.

    Args:
        model: a network of Values, such as an `MLP`, or of Tensors, such as a `Sequential` of `Linear` layers.
        X: points of shape (n, inputs), or numbers of shape (n,), where the neurons are evaluated.

    Returns:
        A drawing that notebooks display. `save(path)` writes it as SVG, as PNG (with resvg-py) or, if the path ends
        in .html, as a page with the player, and `svg` is its text.

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
    if points.shape[1] > 2:  # one shade for each neuron
        means = [np.broadcast_to(layer.answers.mean(axis=0), (THUMB * THUMB, len(layer.weights))) for layer in layers]
        layers = [replace(layer, answers=mean) for layer, mean in zip(layers, means, strict=True)]
    words = f"A network of {points.shape[1]} inputs and {', '.join(str(len(x.weights)) for x in layers)} neurons"
    panel = network_panel([layers], [layers], 640)
    svg = picture([[panel]], [NARROW], words, "")
    made = Network(svg, words)
    some, owned = points[: max(1, MOST // points.shape[1])], parameters(model)
    opens = inside(model, some, points.shape[1], [None] * len(some), [flat(owned)], owned, layers)
    knob = choice(len(some)) if "inside" in opens else ""
    html = page_with_player("network", words, opens, network=panel.draw(None), choice=knob)
    made.page = Page(html, svg, words)
    return made


def answering(points: np.ndarray) -> np.ndarray:
    """The places at which the neurons answer: a grid around points of the plane or line, else the points."""
    if points.shape[1] > 2:
        return points
    twice = points if points.shape[1] == 2 else np.repeat(points, 2, axis=1)
    xs, ys = (np.linspace(a[0], a[-1], THUMB) for a in plane(twice, THUMB))
    return lattice(xs, ys) if points.shape[1] == 2 else xs[:, None]
