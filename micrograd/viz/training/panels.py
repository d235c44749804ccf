"""The panels of a movie as SVG: boundary or curve, network, loss, weights.

The page and `movie_page.still` share these panels. To play, the page changes only the visible part of the strips of
images, the lines, the cursor, the weights and the bars. `moving` returns these, one dict per frame. Light and dark
colours are in palette.css.
"""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import numpy as np

from ..page import colours
from ..text import clean
from ..values import typeset
from . import network_svg
from .classes import MANY, hue, shape
from .contours import contours, simplified
from .elastic import Box, drawing, paths, size
from .evaluate import leads
from .frames import Frame, Histograms, Recording
from .palette_png import PALETTE, SHADES, UNKNOWN, Colour, uri
from .plots import wants_log

LONGER = 1000  # the longer side of the boundary, in units; the other side follows from the grid
CURVE_HEIGHT = 640
MAX_POINTS = 1000  # of more points, every second, third, ... is drawn
DARKEST = 3.0  # distance of the darkest shade from the boundary, in margins
BINS = 28
MAX_CROSSES = 40  # at the steps whose loss is nan or inf

REGIONS: list[Colour] = [
    *[(*bytes.fromhex(colours()[0][name][1:]), round(150 * i / SHADES)) for name in MANY for i in range(SHADES + 1)],
    UNKNOWN,
]


# ------------------------------------------------------------------------------------------------ what moves
def moving(film: Recording) -> list[dict[str, Any]]:
    """For each frame, the texts and numbers that differ between frames."""
    curve, reach = Curve(film), network_svg.widest([frame.network for frame in film.frames])
    return [
        {
            "step": f"step {frame.step}",
            "right": right(film, frame),
            "loss": typeset(frame.loss),
            "says": says(film, frame),
            "at": curve.at(frame.step, frame.loss),
            "lines": boundary_paths(film, frame),
            "notes": _norm_texts(film, frame),
            "net": network_svg.codes(frame.network, reach),
            "dead": [network_svg.dead_text(layer) for layer in frame.network],
        }
        for frame in film.frames
    ]


def says(film: Recording, frame: Frame) -> str:
    """A frame as one sentence."""
    how_right = right(film, frame)
    return f"Step {frame.step} of {film.frames[-1].step}: loss {typeset(frame.loss)}{how_right and ', '}{how_right}."


def right(film: Recording, frame: Frame) -> str:
    """The accuracy of the answers, in words."""
    if frame.accuracy is None:
        return ""
    return f"off by {typeset(frame.accuracy)}" if film.task == "curve" else f"{100 * frame.accuracy:.3g}\u202f% right"


def _norm_texts(film: Recording, frame: Frame) -> list[str]:
    """For each layer, the norm of its gradient, and the number of its weights that are nan or inf.

    Layers whose gradient is 0 in all frames have no norm. Neither has a frame in which all gradients are 0, as after
    `zero_grad()`.
    """
    has_norm = np.any([each.norms for each in film.frames], axis=0) & any(frame.norms)
    texts = []
    for norm, shown, weights in zip(frame.norms, has_norm.tolist(), frame.states["weights"], strict=True):
        odd = int((~np.isfinite(weights)).sum())
        notes = [f"gradient {typeset(norm)}"] * shown + [f"{odd} nan or inf"] * (odd > 0)
        texts.append(", ".join(notes))
    return texts


# ------------------------------------------------------------------------------------------------ the plane
def shades(film: Recording, scores: np.ndarray) -> np.ndarray:
    """Palette indices of the scores, not rounded."""
    low, middle, high = film.levels
    if film.task == "regions":
        lead = np.clip(leads(scores).max(axis=0) / ((high - low) / 2) / DARKEST, 0, 1)
        index = hue(scores.argmax(axis=0)) * (SHADES + 1) + np.round(lead * SHADES)
        return np.where(np.isnan(scores).any(axis=0), len(REGIONS) - 1, np.nan_to_num(index))
    margins = np.nan_to_num((scores - middle) / ((high - low) / 2))
    return np.where(np.isnan(scores), len(PALETTE) - 1, np.clip(margins / DARKEST, -1, 1) * SHADES + SHADES)


def boundary_paths(film: Recording, frame: Frame) -> list[str]:
    """The paths of one margin, the boundary and the other margin. A curve is one path, and so are all regions."""
    if film.task == "none":
        return []
    if film.task == "curve":
        curve = np.stack([film.xs, frame.scores], axis=1)[np.isfinite(frame.scores)]
        points = np.clip(_on_panel(film, curve), -999, 1999).tolist()
        return [_svg_path(simplified(points, 0.4))]
    if film.task == "regions":
        return ["".join(_level(film, lead, 0.0) for lead in leads(frame.scores))]
    return [_level(film, frame.scores, level) for level in film.levels]


def _level(film: Recording, grid: np.ndarray, level: float) -> str:
    """The path of the lines of a level."""
    return "".join(_svg_path(simplified(line, 0.06), _unit(film)) for line in contours(grid, level))


def _svg_path(line: Sequence[Sequence[float]], unit: float = 1.0) -> str:
    """An SVG path of straight segments, in whole numbers and in relative coordinates, which are shorter."""
    points = [(round(x * unit), round(y * unit)) for x, y in line]
    steps = [f"{x1 - x0},{y1 - y0}" for (x0, y0), (x1, y1) in pairwise(points) if (x0, y0) != (x1, y1)]
    if not steps:
        return ""
    start = "M{},{}l".format(*points[0])
    return start + " ".join(steps).replace(",-", "-").replace(" -", "-")  # a minus sign separates numbers too


def boundary(film: Recording, frames: Sequence[Frame], box: Box | None = None) -> str:
    """Shades, lines and points of the first frame; the page moves its view box through the strip of all shades."""
    wide, high = plane_size(film)
    names = ["line margin", "line", "line margin"] if film.task == "sides" else ["line"]
    named = zip(names, boundary_paths(film, frames[0]), strict=True)
    lines = [f'<path class="{name}" d="{path}"/>' for name, path in named]
    if film.task == "curve":
        picture = [*marks(film), *lines]
    else:
        picture = [_image(film, frames), *lines, *marks(film)]
    place = 'x="{:g}" y="{:g}" width="{:g}" height="{:g}" '.format(*box) if box else ""
    label = escape(_description(film))
    start = f'<svg class="boundary" {place}viewBox="0 0 {wide} {high}" role="img" aria-label="{label}">'
    return "".join([start, *picture, "</svg>"])


def _image(film: Recording, frames: Sequence[Frame]) -> str:
    """The scores of the frames as images, one below the other, of which the first is visible."""
    (rows, columns), (wide, high) = frames[0].scores.shape[-2:], plane_size(film)
    palette = REGIONS if film.task == "regions" else PALETTE
    strip = uri(np.concatenate([shades(film, frame.scores) for frame in frames]), palette)
    return (  # cropped to the centres of the outermost pixels, so that no adjacent image blends in
        f'<svg class="shades" width="{wide}" height="{high}" viewBox="0.5 0.5 {columns - 1} {rows - 1}" '
        f'preserveAspectRatio="none"><image width="{columns}" height="{rows * len(frames)}" '
        f'preserveAspectRatio="none" href="{strip}"/></svg>'
    )


def plane_size(film: Recording) -> tuple[int, int]:
    """Width and height of the boundary panel, in units."""
    if film.task in ("curve", "none"):
        return LONGER, CURVE_HEIGHT
    return round(_unit(film) * (len(film.xs) - 1)), round(_unit(film) * (len(film.ys) - 1))


def _unit(film: Recording) -> float:
    return LONGER / (max(len(film.xs), len(film.ys)) - 1)


def _on_panel(film: Recording, points: np.ndarray) -> np.ndarray:
    """Points of shape (n, 2) in units of the panel."""
    low = np.array([film.xs[0], film.ys[0]])
    wide, high = plane_size(film)
    return (points - low) / (np.array([film.xs[-1], film.ys[-1]]) - low) * (wide, -high) + (0, high)


def mark(film: Recording, index: int, x: float, y: float, attributes: str = "") -> str:
    """The marker of a point of the class with this index."""
    look = {"sides": f"s{index}", "curve": "target"}.get(film.task, f"c{hue(index)}")
    _, _, _, (dx, dy), way = shape(index)
    if way:
        return f'<path class="mark {look}"{attributes} d="M{x + dx:.0f} {y + dy:.0f}{way}"/>'
    return f'<circle class="mark {look}"{attributes} cx="{x:.0f}" cy="{y:.0f}" r="{dx}"/>'


def marks(film: Recording) -> list[str]:
    """The markers of the points, or of some of them if there are very many."""
    every = -(-len(film.points) // MAX_POINTS)
    points = zip(film.class_of_points().tolist(), _on_panel(film, film.points).tolist(), strict=True)
    drawn = list(enumerate(points))[::every]
    return [mark(film, index, x, y, f' data-n="{n}"') for n, (index, (x, y)) in drawn]


def _description(film: Recording) -> str:
    if film.task == "curve":
        return "The curve of the model's answers, and the points that it learns from"
    classes = zip(film.class_indices, film.classes, strict=True)
    shapes = [f"{shape(index).name} are class {name}" for index, name in classes]
    shades = f" with lines at {', '.join(map(number_text, film.levels))}" if film.task == "sides" else " by class"
    return f"The plane, shaded by the model's score,{shades}; {', '.join(shapes)}"


# ------------------------------------------------------------------------------------------------ the loss
class Curve:
    """The losses of all steps, on a linear or a logarithmic scale (see `wants_log`)."""

    def __init__(self, film: Recording):
        self.losses: np.ndarray = np.array(film.losses, float)
        self.known: np.ndarray = np.isfinite(self.losses)
        self.last: int = max(len(self.losses) - 1, 1)
        self.log: bool = wants_log(self.losses)
        shown = self.losses[self.known]
        shown = np.log10(shown) if self.log else np.append(shown, 0.0)
        self.low: float = float(shown.min())
        self.high: float = float(shown.max()) if shown.max() - self.low > 1e-300 else self.low + 1

    def at(self, step: int, loss: float) -> tuple[float, float]:
        """The place of a loss, in percent of the panel; values that the scale cannot show are at the top."""
        shown = np.isfinite(loss) and (loss > 0 or not self.log)
        height = (log10(loss) if self.log else loss) if shown else self.high
        return round(100 * step / self.last, 2), round(100 * ((self.high - height) / (self.high - self.low)), 2)

    def path(self, wide: float, high: float) -> str:
        """The whole curve, as an SVG path."""
        return "".join(
            f"{'L' if i else 'M'}{x / 100 * wide:.1f} {y / 100 * high:.1f}" for i, (x, y) in enumerate(self.places())
        )

    def places(self) -> list[tuple[float, float]]:
        """The places of the finite losses; of very many, only the lowest and the highest in each short run."""
        steps = np.flatnonzero(self.known).tolist()
        few = -(-len(steps) // 400)
        if few > 1:
            ordered = [sorted(steps[i : i + few], key=self.losses.__getitem__) for i in range(0, len(steps), few)]
            steps = [step for run in ordered for step in sorted({run[0], run[-1]})]
        return [self.at(step, self.losses[step]) for step in steps]

    def odd(self) -> list[float]:
        """The x coordinates of losses that are nan or inf, or of some of them if there are very many."""
        steps = np.flatnonzero(~self.known).tolist()
        return [self.at(step, self.low)[0] for step in steps[:: -(-len(steps) // MAX_CROSSES) or 1]]

    def ticks(self) -> list[tuple[float, str]]:
        """(y, text) of each tick."""
        if self.log:
            values = [10.0**i for i in range(ceil(self.low), floor(self.high) + 1)]
            if len(values) < 2:
                values = [float(f"{10**exponent:.1g}") for exponent in (self.low, self.high)]
            values = values[:: -(-len(values) // 5)]
        else:
            step = _nice((self.high - self.low) / 3)
            values = [i * step for i in range(ceil(self.low / step), floor(self.high / step) + 1)]
        return [(self.at(0, value)[1], number_text(value)) for value in values]


def loss(film: Recording, frame: Frame, box: Box | None = None) -> str:
    """The curve, pale after the current step, and the cursor."""
    curve = Curve(film)
    x, y = curve.at(frame.step, frame.loss)
    wide, high = size("loss", box)
    path = curve.path(wide, high)
    # A nested <svg> clips without a clipPath, whose id two stills on a page would share. It has room above and below
    # for the width of the line.
    so_far = (
        f'<svg class="so-far" y="-9" width="{x / 100 * wide:g}" height="{high + 18:g}">'
        f'<path class="curve" transform="translate(0 9)" d="{path}"/></svg>'
    )
    parts = [
        *[
            f'<line class="grid" x2="100%" y1="{h:g}%" y2="{h:g}%"/>'
            f'<text class="tick end" x="-8" y="{h:g}%" dy="4">{text}</text>'
            for h, text in curve.ticks()
        ],
        *[f'<svg class="at" x="{h:g}%"><path class="odd" d="M-4-4l8 8m0-8l-8 8"/></svg>' for h in curve.odd()],
        '<text class="tick" y="100%" dy="20">step 0</text>',
        f'<text class="tick end" x="100%" y="100%" dy="20">step {curve.last}</text>',
        paths("loss", box, "at", f'<path class="curve later" d="{path}"/>', so_far),
        f'<line class="cursor" x1="{x:g}%" x2="{x:g}%" y2="100%"/>',
        f'<circle class="dot" r="4.5" cx="{x:g}%" cy="{y:g}%"/>',
    ]
    return drawing("loss", "The loss at each step", parts, box, ' role="img"')


def _nice(step: float) -> float:
    """`step` rounded up to one of 1, 2, 5, 10, 20, ..."""
    ten = 10.0 ** floor(log10(step))
    return next((n * ten for n in (1, 2, 5) if n * ten >= step * 0.999), 10 * ten)


# ------------------------------------------------------------------------------------------------ the weights
def histograms(film: Recording) -> dict[str, Histograms]:
    """The histograms of the weights, and of each other quantity that is not 0 in all frames."""
    states = [state for frame in film.frames for state in frame.states.items()]
    quantities = dict.fromkeys(name for name, layers in states if name == "weights" or any(map(np.any, layers)))
    nothing = [np.zeros(0)] * len(film.layers)
    histograms = {}
    for name in quantities:
        numbers = [[x[np.isfinite(x)] for x in frame.states.get(name, nothing)] for frame in film.frames]
        largest = max((abs(x).max(initial=0) for layers in numbers for x in layers), default=0)
        reach = _nice(float(largest) or 1.0)
        counts = [[np.histogram(x, BINS, (-reach, reach))[0].tolist() for x in layers] for layers in numbers]
        tallest = [max(1, *map(max, layer)) for layer in zip(*counts, strict=True)]
        histograms[name] = Histograms(number_text(reach), tallest, counts)
    return histograms


def weights(film: Recording, frame: Frame, histograms: Histograms, box: Box | None = None) -> str:
    """A histogram of each layer, scaled to its tallest bar in the whole movie; in a box, they are side by side."""
    notes, drawings = _norm_texts(film, frame), ""
    counts = histograms.counts[film.frames.index(frame)]
    for i, (name, tallest) in enumerate(zip(map(clean, film.layers), histograms.tallest, strict=True)):
        below, above = bars(counts[i])
        place = box and (box[0] + i * box[2] / len(film.layers), box[1], box[2] / len(film.layers), box[3])
        texts = (
            ("name", 50, 0, -10, name),
            ("least", 0, 100, 16, f"\u2212{histograms.reach}"),
            ("name", 50, 100, 16, "0"),
            ("end most", 100, 100, 16, histograms.reach),
            ("name note", 50, 100, 34, notes[i]),
        )
        drawn = [
            f'<svg class="bars" viewBox="0 {-tallest} {BINS} {tallest}" preserveAspectRatio="none">'
            f'<path class="below" d="{below}"/><path class="above" d="{above}"/></svg>'
            '<line class="grid" x2="100%" y1="100%" y2="100%"/>',
            *[f'<text class="tick {a}" x="{x}%" y="{y}%" dy="{dy}">{escape(t)}</text>' for a, x, y, dy, t in texts],
        ]
        drawings += drawing("layer", f"Weights of {escape(name)}", drawn, place, ' role="img"')
    return drawings if box else f'<div class="layers">{drawings}</div>'


def bars(counts: Sequence[int]) -> tuple[str, str]:
    """The bars below and above zero, as SVG paths, one unit per bin and per count. Keep in sync with movie.js."""
    drawn = [f"M{i + 0.1:g} 0v-{count}h.8v{count}z" if count else "" for i, count in enumerate(counts)]
    return "".join(drawn[: BINS // 2]), "".join(drawn[BINS // 2 :])


# ------------------------------------------------------------------------------------------------ words
def number_text(x: float) -> str:
    """A number without trailing zeros, with a real minus sign."""
    return f"{x:g}".replace("-", "\u2212")
