"""A network as SVG: neurons are circles in columns, weights are lines, as wide as they are large, hue by sign, and so
are biases, which are dots.

In each circle is what the neuron answers over the plane, or along the line of its one number; without places, it is
empty. All circles show parts of one image, whose rows are the frames of a movie.
"""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import inf
from zlib import crc32

import numpy as np

from .elastic import Box, drawing, paths, size
from .neurons import THUMB, Layer
from .palette_png import PALETTE, SHADES, uri

RADIUS, ROOM = 24, (72, 52)  # of a neuron in its full size, and what it needs from column to column and from row to row
MOST_UNITS = 16  # of a longer column, the first ones are drawn
ZERO, STRENGTHS = 74, 9  # the letter "J" is a weight of 0; A to S are -9 to 9 ninths of the largest, as in heat-maps
LOOKS = {  # class and width of a line by its letter
    "?": ("unknown", 2.0),
    **{
        chr(ZERO + k): ("above" if k > 0 else "below" if k else "zero", 0.4 + 0.5 * abs(k))
        for k in sorted(range(-STRENGTHS, STRENGTHS + 1), key=abs)
    },
}
STEPS = 8  # shades of an answer on each side of zero: few, so that the image is small


def widest(films: Sequence[Sequence[Layer]]) -> list[float]:
    """For each column, the largest magnitude of its weights in all frames."""
    columns = zip(*films, strict=True)
    return [max(_largest(layer.weights) for layer in column) for column in columns]


def _largest(x: np.ndarray) -> float:
    return float(abs(x[np.isfinite(x)]).max(initial=0)) or 1.0


def codes(layers: Sequence[Layer], reach: Sequence[float]) -> str:
    """A letter for each line: its weight in ninths of the largest; "?" is nan."""
    return "".join(
        "?" if w != w else chr(ZERO + round(max(-STRENGTHS, min(STRENGTHS, STRENGTHS * w / most))))
        for layer, most in zip(layers, reach, strict=True)
        for w in layer.weights[:MOST_UNITS, :MOST_UNITS].ravel().tolist()
    )


def sheet(frames: Sequence[Sequence[Layer]]) -> str:
    """What the neurons answer: one row of images a frame, in the data URI of a PNG."""
    rows = []
    for layers in frames:
        each = []
        for layer in layers:
            answers = layer.answers[:, :MOST_UNITS]
            alike = (answers == answers[0]).all()  # one shade a neuron: compare them with each other
            most = _largest(answers) if alike else [_largest(column) for column in answers.T]
            part = np.clip(np.nan_to_num(answers) / most, -1, 1)
            shade = np.round(np.sign(part) * np.sqrt(abs(part)) * STEPS) / STEPS  # the root shows small answers too
            index = np.where(np.isnan(answers), len(PALETTE) - 1, shade * SHADES + SHADES)
            each += [np.broadcast_to(column.reshape(-1, THUMB), (THUMB, THUMB)) for column in index.T]
        rows.append(np.concatenate(each, axis=1))
    return uri(np.concatenate(rows))


def network(frames: Sequence[Sequence[Layer]], reach: Sequence[float], box: Box | None = None) -> str:
    """The drawing of the first frame; its image has a row for each frame, through which the page moves."""
    layers, answers = frames[0], sheet(frames)
    spots = _spots(layers)
    units = [(c, k, *spot) for c, column in enumerate(spots[1:]) for k, spot in enumerate(column)]
    name = f"answers{crc32(answers.encode()):x}"  # pictures with other answers may share a page
    image = f'<image id="{name}" width="{THUMB * len(units)}" height="{THUMB * len(frames)}" href="{answers}"/>'
    rows = max(map(len, spots))
    across, down = len(layers) * ROOM[0], rows * ROOM[1]
    wide, high = size("network", box)
    unit = min(1.4, wide / across, high / down) if box else 1.0  # a page has its own, as its window is large
    drawn = lines(codes(layers, reach), ends(layers, box), unit) if len(frames) == 1 else ""  # a movie's page draws it
    shown = [f'<use href="#{name}" x="{-THUMB * n}"/>' for n in range(len(units))]
    parts = [
        paths("network", box, "lines", drawn),
        f"<defs>{image}{_ROUND}</defs>",
        *[_input(i, layers[0].weights.shape[1], x, y, unit) for i, (x, y) in enumerate(spots[0])],
        *[
            _unit(layers[c], c, k, part, reach[c] if len(frames) == 1 else inf, x, y, unit)
            for part, (c, k, x, y) in zip(shown, units, strict=True)
        ],
    ]
    for layer, column in zip(layers, spots[1:], strict=True):
        more = len(layer.weights) - len(column)
        x = column[0][0]
        parts.append(f'<text class="tick name" x="{x:g}%" y="100%" dy="20">{f"+{more:,}" if more else ""}</text>')
        parts.append(f'<text class="tick name dead" x="{x:g}%" y="100%" dy="38">{dead_text(layer)}</text>')
    style = f"--rows:{rows};" + f"--unit:{unit:.2f};" * bool(box)
    return drawing("network", "The network", parts, box, f' role="group" data-full="{across} {down}"', style)


_ROUND = f'<clipPath id="round"><circle cx="{THUMB / 2}" cy="{THUMB / 2}" r="{(THUMB - 1) / 2}"/></clipPath>'


def _spots(layers: Sequence[Layer]) -> list[list[tuple[float, float]]]:
    """Where the neurons of each column are drawn, the inputs first, in percent."""
    counts = [min(n, MOST_UNITS) for n in (layers[0].weights.shape[1], *[len(layer.weights) for layer in layers])]
    steps = [min(100 / n, 160 / max(*counts, 6)) for n in counts]  # those of few neurons are not spread over the height
    return [
        [(round(100 * c / len(layers), 2), round(50 + (k - (n - 1) / 2) * step, 2)) for k in range(n)]
        for c, (n, step) in enumerate(zip(counts, steps, strict=True))
    ]


def ends(layers: Sequence[Layer], box: Box | None = None) -> list[str]:
    """The path of each line, in the order of `codes`."""
    wide, high = (part / 100 for part in size("network", box))
    spots = [[f"{x * wide:.0f} {y * high:.0f}" for x, y in column] for column in _spots(layers)]
    return [f"M{p}L{q}" for before, after in pairwise(spots) for q in after for p in before]


def lines(letters: str, paths: Sequence[str], unit: float) -> str:
    """The lines, one element for all that look alike; the strongest are on top. Keep in sync with movie.js."""
    alike: dict[str, str] = {}
    for letter, path in zip(letters, paths, strict=True):
        alike[letter] = alike.get(letter, "") + path
    return "".join(
        f'<path class="w {look}" stroke-width="{max(0.3, wide * min(1, unit)):g}" style="--wide:{wide:g}" '
        f'd="{alike[letter]}"/>'
        for letter, (look, wide) in LOOKS.items()
        if letter in alike
    )


def _scaled(unit: float) -> str:
    return f' transform="scale({unit:.2f})"' if unit != 1 else ""


def _input(i: int, count: int, x: float, y: float, unit: float) -> str:
    name = f'x<tspan class="sub" dy="3">{i + 1}</tspan>' if count > 1 else "x"
    circle = f'<g class="sized"{_scaled(unit)}><circle class="ground ring" r="{RADIUS}"/></g>'
    return f'<svg class="at" x="{x:g}%" y="{y:g}%">{circle}<text class="tick name" dy="4">{name}</text></svg>'


def _unit(layer: Layer, c: int, k: int, answers: str, most: float, x: float, y: float, unit: float) -> str:
    """A neuron: a circle with its answers, which says its weights; at its edge the bias, as a part of `most`."""
    weights = ", ".join(f"{w:.3g}".replace("-", "\u2212") for w in layer.weights[k, :MOST_UNITS].tolist())
    weights += f"; bias {layer.biases[k]:.3g}".replace("-", "\u2212")
    name = f"Layer {c + 1}, neuron {k + 1}"
    box = f'x="{-RADIUS}" y="{-RADIUS}" width="{2 * RADIUS}" height="{2 * RADIUS}"'
    return (
        f'<svg class="at" x="{x:g}%" y="{y:g}%"><g class="unit sized"{_scaled(unit)} '
        f'tabindex="0" role="img" data-name="{name}">'
        f"<title>{escape(f'{name}: weights {weights}')}</title>"
        f'<circle class="ground" r="{RADIUS}"/><svg class="answer" {box} preserveAspectRatio="none" '
        f'viewBox="0.5 0.5 {THUMB - 1} {THUMB - 1}"><g clip-path="url(#round)">{answers}</g></svg>'
        f'<circle class="ring" r="{RADIUS}"/>{_bias(layer.biases[k] / most)}</g></svg>'
    )


def _bias(part: float) -> str:
    """A dot at the lower left of a neuron, whose area is its bias as a part of the largest weight."""
    look, size = "above" if part > 0 else "below", 8 * min(1, abs(part)) ** 0.5
    return f'<circle class="bias {look}" cx="-15.5" cy="15.5" r="{size:.1f}"/>' if part else ""


def dead_text(layer: Layer) -> str:
    """`2 dead`, or "" if all are alive."""
    count = int(layer.dead.sum())
    return f"{count} dead" if count else ""
