"""`draw_layer`: a dense layer as two tables, of its weights and of their gradients, which are a column times a row."""

from typing import Any

import numpy as np

from ..drawing.svg import MARGIN, document, words
from ..page import Svg
from ..text import text_width
from ..values import short
from .evaluate import as_array, finite

SIDE, GAP, TOP = 22, 12, 34  # of a cell, between a table and its edges, above the row of inputs
BELOW = TOP + SIDE + GAP  # above the tables
NOTE = 120  # the room for the name of a column, on the right of the row of inputs
MOST = 32  # rows and columns, of which an eye can distinguish no more
SUM = "each cell \u00d7 the number above it, added up, plus the bias"
BACKWARD = "Backward: a column times a row"
STYLE = ".micrograd-graph .zero{fill:#888}.micrograd-graph .pick{fill:none;stroke:#777;stroke-width:3}"


def draw_layer(layer: Any, x: Any) -> Svg:
    """Draw a dense layer as two tables, with its numbers for one sample.

    Use it to see what `g.T @ x` means. On the left are the weights, below the row of inputs and beside the sums. On
    the right are their gradients, below the same row and beside the gradient that comes from the right. Each cell of
    this table is the product of the two numbers at its edges, so that a neuron that gets no gradient is an empty row,
    and an input of 0 an empty column. The largest gradient is spelled out, and the tooltip of each cell has its
    product.

    Args:
        layer: a `Layer` of neurons, or a `Linear`, with the gradients that `backward()` left for this sample alone.
        x: the inputs of the layer, one number for each column of its weights.

    Returns:
        A drawing that notebooks display. `save(path)` writes it as SVG or PNG, and `svg` is its text.

    Raises:
        TypeError: `layer` is no dense layer.
        ValueError: `x` has another length, the layer has more than 32 inputs or neurons, a number is nan or inf, or the
            gradients are not those of this sample alone.

    >>> from micrograd import Value
    >>> from micrograd.nn import Layer
    >>> layer, x = Layer(2, 3, nonlin=False), [Value(1.0), Value(-2.0)]
    >>> sum(layer(x)).backward()
    >>> print(draw_layer(layer, x).words)
    A layer of 2 inputs and 3 neurons: 1.00 × −2.00 = −2.00, the gradient of weight 2 of neuron 1
    """
    weights, bias, grads, sent = _numbers(layer)
    row = as_array(x).ravel()
    if row.shape != weights.shape[1:]:
        raise ValueError(f"x has {row.size} numbers; the layer takes {weights.shape[1]}")
    if max(weights.shape) > MOST:
        raise ValueError(f"the layer has {weights.shape[1]} inputs and {len(weights)} neurons; {MOST} can be drawn")
    for name, numbers in {"x": row, "weight": weights, "bias": bias, "gradient": grads}.items():
        finite(name, numbers, "a table shows how the others compare")
    if not np.allclose(np.outer(sent, row), grads, rtol=1e-4, atol=1e-9):
        raise ValueError(
            "the layer's gradients are not those of this sample alone: set them to zero, then call backward() on the "
            "loss of this sample"
        )
    products = [[f"{short(g)} \u00d7 {short(x)} = {short(g * x)}" for x in row.tolist()] for g in sent.tolist()]
    end, low = SIDE * len(row) + GAP, BELOW + SIDE * len(sent) + 26
    right = max(end + NOTE, text_width(SUM, 14) + 30)
    body = [words(0, low, "caption", SUM)]
    for left, title, cells, column, name in (
        (0, "Forward: a row for each neuron", weights, weights @ row + bias, "sum"),
        (right, BACKWARD, grads, sent, "from the right"),
    ):
        body += [words(left, 14, "title", title), words(left + end, TOP + 16, "note", name)]
        body += _grid(left, TOP, row[None]) + _grid(left, BELOW, cells, products if left else None)
        body += _grid(left + end, BELOW, column[:, None])
    i, j = divmod(int(abs(grads).argmax()), len(row))
    across, down = right + SIDE * j, BELOW + SIDE * i
    body += [f'<rect class="pick" {_box(*at)}/>' for at in ((across, TOP), (across, down), (right + end, down))]
    name = f"A layer of {len(row)} inputs and {len(sent)} neurons"
    product = f"{products[i][j]}, the gradient of weight {j + 1} of neuron {i + 1}"
    body.append(words(right, low, "caption", product))
    size = right + max(end + NOTE, text_width(product, 14), text_width(BACKWARD, 14.5)) + 2 * MARGIN, low + 50
    return Svg(document(size, name, body, style=STYLE), f"{name}: {product}")


def _numbers(layer: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The weights and the biases of a layer, and their gradients."""
    if neurons := getattr(layer, "neurons", None):
        rows = [[*neuron.w, neuron.b] for neuron in neurons]
        data = np.array([[p.data for p in row] for row in rows])
        grads = np.array([[p.grad for p in row] for row in rows])
        return data[:, :-1], data[:, -1], grads[:, :-1], grads[:, -1]
    weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
    if weight is None or getattr(weight, "ndim", 0) != 2 or bias is None:
        raise TypeError(f"a dense layer has neurons, or a matrix `weight` and a `bias`; found {type(layer).__name__}")
    weight_grad, bias_grad = [np.zeros(p.shape) if p.grad is None else as_array(p.grad) for p in (weight, bias)]
    return weight.data, bias.data, weight_grad, bias_grad


def _grid(left: float, top: float, numbers: np.ndarray, texts: Any = None) -> list[str]:
    """Numbers as cells, blue above zero and orange below, each with a text as tooltip, by default the number."""
    largest = abs(numbers).max() or 1.0
    texts = texts or np.vectorize(short)(numbers)
    return [
        f'<rect class="{("minus", "zero", "plus")[int(np.sign(x)) + 1]}" {_box(left + SIDE * j, top + SIDE * i)} '
        f'fill-opacity="{0.12 + 0.88 * abs(x) / largest:.2f}"><title>{texts[i][j]}</title></rect>'
        for (i, j), x in np.ndenumerate(numbers)
    ]


def _box(x: float, y: float) -> str:
    return f'x="{x}" y="{y}" width="{SIDE - 1}" height="{SIDE - 1}" rx="2"'
