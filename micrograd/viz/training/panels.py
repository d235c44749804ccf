"""The panels of a movie as SVG: decision boundary, loss, weights.

The page and `cinema.still` share these panels. To play, the page changes only the visible part of the strip of images,
the three lines, the cursor and the bars; `moving` has these, one dict per frame. Colours, light and dark, are in
movie.css.
"""

import base64
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import numpy as np

from ..values import number
from .contours import contours, simplified
from .frames import Frame, Recording
from .plots import wants_log
from .png import png

LONGER = 1000  # side of the boundary, in units; the other follows from the grid
MAX_POINTS = 1000  # of more points, every second, third, ... is drawn
DARKEST = 3.0  # distance of the darkest shade from the boundary, in margins
SHADES = 31  # on each side of the boundary
BINS = 28
PLOT = (440, 168)  # width and height of the loss and of the weights, in units
LEFT, RIGHT, TOP, BOTTOM = 44.0, 428.0, 12.0, 140.0  # bounds of the curve in its panel

# Transparent at the boundary, so that the background shows through, light or dark.
PALETTE = [
    (*((0, 114, 178) if i < 0 else (213, 94, 0)), round(165 * abs(i) / SHADES)) for i in range(-SHADES, SHADES + 1)
]


# ------------------------------------------------------------------------------------------------ what moves
def moving(film: Recording, frames: Sequence[Frame]) -> list[dict[str, Any]]:
    """For each frame, the texts and numbers that differ between frames."""
    curve, limit = Curve(film), reach(film)
    return [
        {
            "step": f"step {frame.step}",
            "right": f"{_percent(frame.accuracy)} right",
            "loss": number(frame.loss),
            "says": says(film, frame),
            "at": curve.at(frame.step, frame.loss),
            "lines": lines(film, frame),
            "bars": [counts.tolist() for counts in histograms(frame, limit)],
        }
        for frame in frames
    ]


def says(film: Recording, frame: Frame) -> str:
    """A frame as one sentence."""
    last = film.frames[-1].step
    return f"Step {frame.step} of {last}: loss {number(frame.loss)}, {_percent(frame.accuracy)} right."


def strip(film: Recording, frames: Sequence[Frame]) -> str:
    """The scores of the frames as images, one below the other, in the data URI of a PNG."""
    pixels = np.round(np.concatenate([shades(film, frame.scores) for frame in frames]))
    return "data:image/png;base64," + base64.b64encode(png(pixels, PALETTE)).decode()


def shades(film: Recording, scores: np.ndarray) -> np.ndarray:
    """Palette indices of the scores, not rounded."""
    low, middle, high = film.levels
    margins = (scores - middle) / ((high - low) / 2)
    return np.nan_to_num(np.clip(margins / DARKEST, -1, 1)) * SHADES + SHADES


def lines(film: Recording, frame: Frame) -> list[str]:
    """The paths of one margin, the boundary and the other margin."""
    unit = _unit(film)
    paths = []
    for level in film.levels:
        found = [simplified(line, 0.06) for line in contours(frame.scores, level)]
        paths.append("".join(_path([(round(x * unit), round(y * unit)) for x, y in line]) for line in found))
    return paths


def _path(points: Sequence[tuple[int, int]]) -> str:
    """An SVG path of straight segments, in relative coordinates, which are shorter."""
    (x, y), *_ = points
    steps = [f"{x1 - x0},{y1 - y0}" for (x0, y0), (x1, y1) in pairwise(points) if (x0, y0) != (x1, y1)]
    return f"M{x},{y}l{' '.join(steps)}".replace(",-", "-").replace(" -", "-") if steps else ""


def _unit(film: Recording) -> float:
    return LONGER / (max(len(film.xs), len(film.ys)) - 1)


# ------------------------------------------------------------------------------------------------ the boundary
def boundary(film: Recording, frame: Frame, shades: str, frames: int, place: str = "") -> str:
    """Shades, lines and points; `shades` is a strip of `frames` images, through which the page moves the view box."""
    rows, columns = frame.scores.shape
    wide, high = size(film)
    margin, edge, other_margin = lines(film, frame)
    says = escape(_spoken(film))
    return "".join(
        [
            f'<svg class="boundary" {place}viewBox="0 0 {wide} {high}" role="img" aria-label="{says}">',
            # cropped to the centres of the outermost pixels, so that no adjacent image blends in
            f'<svg class="shades" width="{wide}" height="{high}" viewBox="0.5 0.5 {columns - 1} {rows - 1}" '
            f'preserveAspectRatio="none"><image width="{columns}" height="{rows * frames}" '
            f'preserveAspectRatio="none" href="{shades}"/></svg>',
            f'<path class="line margin" d="{margin}"/><path class="line" d="{edge}"/>',
            f'<path class="line margin" d="{other_margin}"/>',
            *_marks(film),
            "</svg>",
        ]
    )


def size(film: Recording) -> tuple[int, int]:
    """Width and height of the boundary panel, in units."""
    return round(_unit(film) * (len(film.xs) - 1)), round(_unit(film) * (len(film.ys) - 1))


def places(film: Recording) -> list[tuple[float, float, bool]]:
    """(x, y, is of the first class) for each point to draw, in units of the panel."""
    low = np.array([film.xs[0], film.ys[0]])
    plane = np.array([film.xs[-1], film.ys[-1]]) - low
    wide, high = size(film)
    every = -(-len(film.points) // MAX_POINTS)
    points = ((film.points - low) / plane * (wide, -high) + (0, high))[::every]
    first, _ = film.classes.values()
    return [(x, y, is_first) for (x, y), is_first in zip(points.tolist(), first.tolist()[::every], strict=True)]


def _marks(film: Recording) -> list[str]:
    return [
        f'<circle class="first" cx="{x:.0f}" cy="{y:.0f}" r="10"/>'
        if is_first
        else f'<path class="second" d="M{x:.0f} {y - 13:.0f}l12 21h-24z"/>'
        for x, y, is_first in places(film)
    ]


def _spoken(film: Recording) -> str:
    first, second = film.classes
    return (
        f"The plane, shaded by the model's score, with lines at {', '.join(map(plain, film.levels))}; "
        f"circles are class {first}, triangles class {second}"
    )


# ------------------------------------------------------------------------------------------------ the loss
class Curve:
    """The losses of all steps, on a linear or logarithmic scale (see `wants_log`)."""

    def __init__(self, film: Recording):
        self.losses = np.array(film.losses)
        self.last = max(len(self.losses) - 1, 1)
        finite = self.losses[np.isfinite(self.losses)]
        self.log = wants_log(self.losses)
        if self.log:
            self.low, self.high = log10(finite.min()), log10(finite.max())
        else:
            self.low, self.high = (min(finite.min(), 0.0), finite.max()) if len(finite) else (0.0, 1.0)
        if self.high <= self.low:
            self.high = self.low + 1

    def at(self, step: int, loss: float) -> tuple[float, float]:
        """Coordinates of a loss on the panel; values that the scale cannot show are at the top."""
        height = (log10(loss) if self.log else loss) if loss - loss == 0 and (loss > 0 or not self.log) else self.high
        part = (height - self.low) / (self.high - self.low)
        x = LEFT + (RIGHT - LEFT) * step / self.last
        return round(x, 1), round(BOTTOM - (BOTTOM - TOP) * part, 1)

    def path(self) -> str:
        """The whole curve, as an SVG path."""
        return "".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(self.places()))

    def places(self) -> list[tuple[float, float]]:
        """Points of the finite losses; of very many, only the lowest and highest in each short run."""
        steps = np.flatnonzero(np.isfinite(self.losses)).tolist()
        few = -(-len(steps) // 400)
        if few > 1:
            groups = [steps[i : i + few] for i in range(0, len(steps), few)]
            steps = [i for group in groups for i in sorted({min(group, key=self._loss), max(group, key=self._loss)})]
        return [self.at(step, self._loss(step)) for step in steps]

    def _loss(self, step: int) -> float:
        return float(self.losses[step])

    def ticks(self) -> list[tuple[float, str]]:
        """(y, text) of each tick."""
        if self.log:
            whole = [10.0**i for i in range(ceil(self.low), floor(self.high) + 1)]
            values = whole if len(whole) > 1 else [float(f"{10**h:.1g}") for h in (self.low, self.high)]
            values = values[:: -(-len(values) // 5)]
        else:
            step = _nice((self.high - self.low) / 3)
            values = [i * step for i in range(ceil(self.low / step), floor(self.high / step) + 1)]
        return [(self.at(0, value)[1], plain(value)) for value in values]


def loss(film: Recording, frame: Frame, place: str = "") -> str:
    """The curve, pale after the current step, and the cursor."""
    curve = Curve(film)
    x, y = curve.at(frame.step, frame.loss)
    width, tall = PLOT
    path = curve.path()
    return "".join(
        [
            f'<svg class="loss" {place}viewBox="0 0 {width} {tall}" role="img" aria-label="The loss at each step">',
            *[
                f'<path class="grid" d="M{LEFT:g} {h:g}H{RIGHT:g}"/>'
                f'<text class="tick end" x="{LEFT - 6:g}" y="{h + 4:g}">{text}</text>'
                for h, text in curve.ticks()
            ],
            f'<text class="tick" x="{LEFT:g}" y="{tall - 6}">step 0</text>',
            f'<text class="tick end" x="{RIGHT:g}" y="{tall - 6}">step {curve.last}</text>',
            # a nested <svg> clips without a clipPath, whose id two stills on a page would share
            f'<path class="curve later" d="{path}"/>'
            f'<svg class="so-far" width="{x}" height="{tall}"><path class="curve" d="{path}"/></svg>',
            f'<path class="cursor" d="M0 {TOP:g}V{BOTTOM:g}" transform="translate({x} 0)"/>',
            f'<circle class="dot" r="4.5" cx="{x}" cy="{y}"/></svg>',
        ]
    )


def _nice(step: float) -> float:
    """`step` rounded up to one of 1, 2, 5, 10, 20, ..."""
    ten = 10.0 ** floor(log10(step))
    return next((n * ten for n in (1, 2, 5) if n * ten >= step * 0.999), 10 * ten)


# ------------------------------------------------------------------------------------------------ the weights
def histograms(frame: Frame, limit: float) -> list[np.ndarray]:
    """For each layer, the histogram of its weights between -limit and limit."""
    edges = np.linspace(-limit, limit, BINS + 1)
    return [np.histogram(w[np.isfinite(w)], edges)[0] for w in frame.weights]


def reach(film: Recording) -> float:
    """The largest magnitude of a weight in any layer and frame, rounded up: the scale that all histograms share."""
    sizes = [abs(w[np.isfinite(w)]).max(initial=0) for frame in film.frames for w in frame.weights]
    return _nice(float(max(sizes, default=0)) or 1.0)


def weights(film: Recording, counts: Sequence[Sequence[int]], place: str = "") -> str:
    """Histograms of the layers, side by side, each scaled to the layer's tallest bar in the whole movie."""
    width, tall = PLOT
    room = width / max(len(film.layers), 1)
    limit = reach(film)
    parts = [f'<svg class="weights" {place}viewBox="0 0 {width} {tall}" role="img" aria-label="Weights by layer">']
    for i, (name, tallest) in enumerate(zip(film.layers, tallest_bars(film, limit), strict=True)):
        x, wide = i * room + 11, room - 22
        scale = f"scale({wide / BINS:.3f} {-112 / tallest:.4f})"
        parts += [
            f'<g transform="translate({x:.1f} 0)">',
            f'<text class="tick name" x="{wide / 2:.1f}" y="14">{escape(name)}</text>',
            f'<path class="bars b{i % 3}" transform="translate(0 {BOTTOM:g}) {scale}" d="{bars(counts[i])}"/>',
            f'<path class="grid" d="M0 {BOTTOM:g}H{wide:.1f}"/>',
            f'<text class="tick" x="0" y="{tall - 12}">\u2212{plain(limit)}</text>',
            f'<text class="tick name" x="{wide / 2:.1f}" y="{tall - 12}">0</text>',
            f'<text class="tick end" x="{wide:.1f}" y="{tall - 12}">{plain(limit)}</text></g>',
        ]
    return "".join([*parts, "</svg>"])


def bars(counts: Sequence[int]) -> str:
    """The bars as an SVG path, one unit per bin and per count. Keep in sync with movie.js."""
    return "".join(f"M{i + 0.1:g} 0v{count}h.8v-{count}z" for i, count in enumerate(counts) if count)


def tallest_bars(film: Recording, limit: float) -> list[int]:
    """For each layer, the highest count in the whole movie."""
    each = zip(*[histograms(frame, limit) for frame in film.frames], strict=True)
    return [max(1, *[int(counts.max()) for counts in layer]) for layer in each]


# ------------------------------------------------------------------------------------------------ words
def plain(x: float) -> str:
    """A number without trailing zeros, with a real minus sign."""
    return f"{x:g}".replace("-", "\u2212")


def _percent(part: float) -> str:
    return f"{100 * part:.3g}\u202f%"
