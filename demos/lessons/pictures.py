"""Pictures that a notebook shows anywhere, run or not: figures as small PNG, and drawings in an `<img>`."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython import get_ipython
from IPython.display import HTML
from matplotlib.figure import Figure
from PIL import Image

from micrograd.viz.page import image
from micrograd.viz.training.plots import class_look

BLUE, ORANGE, GREEN, INK = "#0072B2", "#C24E00", "#00805C", "#1B2333"  # for lines; colour-blind safe
SKY, PALE, SAND, GREY = "#8EC1E0", "#E3EFF6", "#F0B48A", "#5A6478"  # backgrounds for dark text


def looks(count: int) -> list[tuple[str, str]]:
    """The colour and the marker of each of so many classes, as in the library's plots and movies."""
    return [class_look(k, count) for k in range(count)]


def as_pictures() -> None:
    """Make the notebook show figures by `png`, since code hosts and untrusted notebooks drop SVG."""
    plt.rcParams["figure.dpi"] = 120
    get_ipython().display_formatter.formatters["image/png"].for_type(Figure, png)


def png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """The figure as PNG of at most 48 colours, and its size on the page: sharp, and a few kilobytes."""
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    whole = Image.open(file).convert("RGB")
    covering = Image.Quantize.MAXCOVERAGE  # which keeps the colours of small points
    picture = whole.quantize(48, covering, dither=Image.Dither.NONE)
    picture.save(file := io.BytesIO(), format="png", optimize=True)
    return file.getvalue(), {"width": picture.width * 96 // 120, "height": picture.height * 96 // 120}


def tiles(pictures: np.ndarray, columns: int, captions: Sequence[Any] = (), **style: Any) -> None:
    """Show full rows of small pictures with margins; `style` is imshow's, and captions go to the first row."""
    count, height, width = pictures.shape
    rows = count // columns
    joined = np.pad(pictures.reshape(rows, columns, height, width), ((0, 0), (0, 0), (1, 1), (1, 1)))
    figure = plt.figure(figsize=(0.9 * columns, 0.9 * rows + (0.4 if captions else 0)))
    axes = figure.add_axes((0, 0, 1, 0.9 * rows / figure.get_figheight()))
    joined = joined.swapaxes(1, 2).reshape(rows * (height + 2), columns * (width + 2))
    axes.imshow(joined, **{"cmap": "Greys", "aspect": "auto", **style})
    axes.set_axis_off()
    for place, caption in enumerate(captions):
        axes.text((width + 2) * (place + 0.5) - 0.5, -0.3, caption, ha="center", fontsize=9)


def histograms(
    rows: Mapping[str, Any], titles: Sequence[str], colors: Sequence[str], range: tuple, ticks: Any = ()
) -> None:
    """A histogram for each array of numbers: a named row for each list of arrays, a title for each column."""
    _, grid = plt.subplots(len(rows), len(titles), figsize=(9, 1.3 * len(rows) + 0.4), layout="constrained")
    for (name, arrays), line, color in zip(rows.items(), grid, colors, strict=True):
        for numbers, axes in zip(arrays, line, strict=True):
            axes.hist(numbers.ravel(), bins=40, range=range, color=color, histtype="stepfilled")
            axes.set(yticks=[], xticks=ticks)
        line[0].set_ylabel(name)
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title, fontsize=10)


def drawing(width: int, height: int, *parts: str, alt: str) -> HTML:
    """A picture of SVG parts, on white; `alt` describes it in words."""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    style = 'font-family="sans-serif" font-size="13" text-anchor="middle"'
    head = f'<path d="M0 1L7 4L0 7z" fill="{GREY}"/>'
    tip = f'<marker id="tip" orient="auto" markerWidth="8" markerHeight="8" refX="6" refY="4">{head}</marker>'
    ground = '<rect width="100%" height="100%" fill="white"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{tip}{ground}{"".join(parts)}</svg>'
    return HTML(image(svg, alt))


def words(x: float, y: float, text: str) -> str:
    """A text, centred at x."""
    return f'<text x="{x}" y="{y}">{text}</text>'


def box(x: float, y: float, text: str, color: str = PALE) -> str:
    """A text in a box of 160 by 34."""
    return f'<rect x="{x}" y="{y}" width="160" height="34" rx="8" fill="{color}"/>{words(x + 80, y + 21, text)}'


def arrow(path: str, dashes: str = "") -> str:
    """An arrow along a path of SVG, such as `M0 0h26`."""
    return f'<path d="{path}" fill="none" stroke="{GREY}" stroke-dasharray="{dashes}" marker-end="url(#tip)"/>'


def cells(x: float, y: float, numbers: np.ndarray, real: tuple[int, int] | None = None, color: str = SKY) -> str:
    """An array of two axes; what lies outside the shape `real` is pale."""
    rows, columns = real or numbers.shape
    return "".join(
        f'<rect x="{x + 36 * j}" y="{y + 24 * i}" width="35" height="23" '
        f'fill="{color if i < rows and j < columns else PALE}"/>'
        f"{words(x + 36 * j + 17, y + 24 * i + 16, f'{number:g}')}"
        for (i, j), number in np.ndenumerate(numbers)
    )


def lazy_stages(stages: Mapping[str, Sequence[str]]) -> HTML:
    """The graph of lesson 22, once for each stage; the names listed there are not computed yet, and white."""
    places = {"x": (20, 60), "a": (90, 60), "b": (160, 30), "c": (160, 90), "d": (230, 90)}
    edges = "M52 77h32", "M122 70l32 -17", "M122 84l32 17", "M192 107h32"
    parts = []
    for left, (title, waiting) in zip(range(0, 250 * len(stages), 250), stages.items(), strict=True):
        parts += [words(left + 140, 18, title), f'<g transform="translate({left})">{"".join(map(arrow, edges))}</g>']
        for name, (x, y) in places.items():
            color = "white" if name in waiting else SKY
            shape = f'<rect x="{left + x}" y="{y}" width="32" height="34" rx="8" fill="{color}" stroke="{SKY}"/>'
            parts.append(shape + words(left + x + 16, y + 22, name))
    told = "; ".join(f"{title}: {', '.join(waiting)} wait" for title, waiting in stages.items())
    return drawing(250 * len(stages) + 30, 140, *parts, alt=f"From x to a, from a to b and c, from c to d. {told}.")


def copied_and_summed(sums: np.ndarray, bias: np.ndarray, out: np.ndarray, grad: np.ndarray) -> HTML:
    """Lesson 12: forwards a row is copied to four, backwards the gradients of the four are summed."""
    return drawing(
        680,
        240,
        words(190, 20, "forwards: copied"),
        words(64, 50, "sums (4, 3)") + cells(10, 60, sums) + words(131, 112, "+"),
        words(198, 50, "bias (3,)") + cells(144, 60, np.tile(bias, (4, 1)), real=(1, 3)) + words(265, 112, "="),
        words(332, 50, "out (4, 3)") + cells(278, 60, out),
        words(564, 20, "backwards: summed"),
        words(564, 50, "out.grad (4, 3)") + cells(510, 60, grad, color=SAND),
        "".join(words(527 + 36 * j, 175, "↓") for j in range(3)),
        cells(510, 185, grad.sum(axis=0, keepdims=True), color=SAND) + words(564, 226, "bias.grad (3,)"),
        alt="Forwards, the bias of shape (3,) is copied to the four rows of the sums of shape (4, 3); backwards, the "
        "gradient of shape (4, 3) is summed over the rows.",
    )


def stretched(pairs: Sequence[tuple[tuple, tuple]]) -> HTML:
    """Lesson 12: pairs of arrays of these shapes, two pairs per row, with the copies that make them fit, if they do."""
    parts, verdicts = [], []
    for place, (left, right) in enumerate(pairs):
        x, y = 20 + 360 * (place % 2), 25 + 140 * (place // 2)
        first = np.arange(np.prod(left)).reshape(left)
        second = 10 * np.atleast_2d(np.arange(1, np.prod(right) + 1).reshape(right))
        try:
            shape = np.broadcast_shapes(left, right)
            verdicts.append(f"{left} + {right}: gives {shape}")
        except ValueError:
            shape = None
            verdicts.append(f"{left} + {right}: does not fit, {left[-1]} and {right[-1]}")
        parts.append(words(x + 130, y, verdicts[-1]) + words(x + 122, y + 64, "+"))
        parts.append(cells(x, y + 12, np.broadcast_to(first, shape or left), real=left))
        parts.append(cells(x + 136, y + 12, np.broadcast_to(second, shape or second.shape), real=second.shape))
    return drawing(680, 140 * ((len(pairs) + 1) // 2), *parts, alt="; ".join(verdicts))


def mirrored(there: Sequence[str], back: Sequence[str]) -> HTML:
    """Lesson 20: four steps forwards, below them their partners backwards, and what these need."""
    columns = [10, 200, 390, 580]
    return drawing(
        760,
        195,
        words(45, 25, "forwards"),
        *(box(x, 40, text, PALE) for x, text in zip(columns, there, strict=True)),
        words(715, 180, "backwards"),
        *(box(x, 120, text, SAND) for x, text in zip(columns, back, strict=True)),
        *(arrow(f"M{x + 160} 57h26") + arrow(f"M{x + 190} 137h-26") for x in columns[:3]),
        arrow("M80 40C180 5 580 5 670 37") + arrow("M670 154C580 189 180 189 90 157"),  # from x to t3, and back
        arrow("M100 74L240 116", "4 4") + arrow("M470 74V116", "4 4"),  # the way back needs x and y, and t2
        alt="The steps of the program in order: forwards from x and y to t3, and backwards from 1.0, with arrows "
        "from what is computed to what uses it.",
    )
