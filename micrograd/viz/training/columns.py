"""A network as SVG: neurons are circles in columns, weights are lines, as wide as they are large, hue by sign.

In each circle is what the neuron answers over the plane, or along the line of its one number; without places, it is
empty. All circles show parts of one image, whose rows are the frames of a movie.
"""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from zlib import crc32

import numpy as np

from .network import THUMB, Layer
from .png import PALETTE, SHADES, uri

Size = tuple[float, float]
SIZE: Size = (440, 680)  # in units
MOST_UNITS = 16  # of a longer column, the first ones are drawn
ZERO, STRENGTHS = 74, 9  # the letter "J" is a weight of 0; A to S are -9 to 9 ninths of the largest, as in heat-maps
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


def network(
    layers: Sequence[Layer], sheet: str, frames: int, reach: Sequence[float], place: str = "", size: Size = SIZE
) -> str:
    """The drawing, `size` units wide and high; `sheet` is an image of `frames` rows, through which the page moves."""
    wide, tall = size
    counts, spots, radius = _spots(layers, size)
    shown, across = [len(column) for column in spots], [column[0][0] for column in spots]
    name = f"answers{crc32(sheet.encode()):x}"  # pictures with other answers may share a page
    image = f'<image id="{name}" width="{THUMB * sum(shown[1:])}" height="{THUMB * frames}" href="{sheet}"/>'
    still = lines(codes(layers, reach), ends(layers, size)) if frames == 1 else ""  # a movie's page draws them itself
    parts = [
        f'<svg class="network" {place}viewBox="0 0 {wide:g} {tall:g}" role="group" aria-label="The network">',
        f'<g class="lines">{still}</g>',
        f"<defs>{image}{_ROUND}</defs>",
        *[_input(i, counts[0], x, y, radius) for i, (x, y) in enumerate(spots[0])],
    ]
    units = [(c, k, *spot) for c, column in enumerate(spots[1:]) for k, spot in enumerate(column)]
    parts += [
        _unit(layers[c], c, k, f'<use href="#{name}" x="{-THUMB * n}"/>', x, y, radius)
        for n, (c, k, x, y) in enumerate(units)
    ]
    for c, (count, n, x) in enumerate(zip(counts, shown, across, strict=True)):
        more = f"+ {count - n:,} more" if count > n else ""
        parts.append(f'<text class="tick name" x="{x:.0f}" y="{tall - 22:g}">{more}</text>')
        dead = f'<text class="tick name dead" x="{x:.0f}" y="{tall - 4:g}">{dead_text(layers[c - 1])}</text>'
        parts.append(dead if c else "")
    return "".join([*parts, "</svg>"])


_ROUND = f'<clipPath id="round"><circle cx="{THUMB / 2}" cy="{THUMB / 2}" r="{(THUMB - 1) / 2}"/></clipPath>'


def _spots(layers: Sequence[Layer], size: Size) -> tuple[list[int], list[list[tuple[float, float]]], float]:
    """How many circles each column has, where the drawn ones are, and their radius."""
    wide, tall = size
    counts = [layers[0].weights.shape[1], *[len(layer.weights) for layer in layers]]
    shown = [min(count, MOST_UNITS) for count in counts]
    across = [50 + c * (wide - 100) / len(layers) for c in range(len(counts))]
    radius = min(24.0, (tall - 60) / max(shown) / 2 - 1.5, (across[1] - across[0]) / 3)
    steps = [min(2 * radius + 14, (tall - 36) / n) for n in shown]
    spots = [
        [(x, (tall - 36) / 2 + (k - (n - 1) / 2) * step) for k in range(n)]
        for x, n, step in zip(across, shown, steps, strict=True)
    ]
    return counts, spots, radius


def ends(layers: Sequence[Layer], size: Size = SIZE) -> list[str]:
    """The path of each line, in the order of `codes`."""
    _, spots, radius = _spots(layers, size)
    pairs = [(p, q) for before, after in pairwise(spots) for q in after for p in before]
    return [f"M{x0 + radius:.0f} {y0:.0f}L{x1 - radius:.0f} {y1:.0f}" for (x0, y0), (x1, y1) in pairs]


def lines(letters: str, paths: Sequence[str]) -> str:
    """The lines, one element for all that look alike; the strongest are on top. Keep in sync with movie.js."""
    alike: dict[str, str] = {}
    for letter, path in zip(letters, paths, strict=True):
        alike[letter] = alike.get(letter, "") + path
    return "".join(_line(letter, alike[letter]) for letter in sorted(alike, key=lambda x: abs(ord(x) - ZERO)))


def _line(letter: str, path: str) -> str:
    look, thick = line_look(letter)
    return f'<path class="w {look}" style="stroke-width:{thick:g}" d="{path}"/>'


def line_look(letter: str) -> tuple[str, float]:
    """Class and width of a weight's line. Keep in sync with movie.js."""
    strength = ord(letter) - ZERO
    if letter == "?":
        return "unknown", 2.0
    return "above" if strength > 0 else "below" if strength < 0 else "zero", 0.4 + 0.5 * abs(strength)


def _input(i: int, count: int, x: float, y: float, radius: float) -> str:
    name = f'x<tspan class="sub" dy="3">{i + 1}</tspan>' if count > 1 else "x"
    circle = f'<circle class="ground ring" cx="{x:.0f}" cy="{y:.1f}" r="{radius:.1f}"/>'
    return f'{circle}<text class="tick name" x="{x:.0f}" y="{y + 4:.1f}">{name}</text>'


def _unit(layer: Layer, c: int, k: int, answers: str, x: float, y: float, radius: float) -> str:
    """A neuron: a circle with its answers, which says its weights."""
    weights = ", ".join(f"{w:.3g}".replace("-", "\u2212") for w in layer.weights[k, :MOST_UNITS].tolist())
    name = f"Layer {c + 1}, neuron {k + 1}"
    says = escape(f"{name}: weights {weights}")
    circle = f'cx="{x:.0f}" cy="{y:.1f}" r="{radius:.1f}"'
    box = f'x="{x - radius:.1f}" y="{y - radius:.1f}" width="{2 * radius:.1f}" height="{2 * radius:.1f}"'
    return (
        f'<g class="unit" tabindex="0" role="img" data-name="{name}"><title>{says}</title>'
        f'<circle class="ground" {circle}/><svg class="answer" {box} preserveAspectRatio="none" '
        f'viewBox="0.5 0.5 {THUMB - 1} {THUMB - 1}"><g clip-path="url(#round)">{answers}</g></svg>'
        f'<circle class="ring" {circle}/></g>'
    )


def dead_text(layer: Layer) -> str:
    """`2 dead`, or "" if all are alive."""
    count = int(layer.dead.sum())
    return f"{count} dead" if count else ""
