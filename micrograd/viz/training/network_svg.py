"""A network as SVG. Neurons are circles in columns, weights are lines, and biases are dots.

The size of a line or dot is the magnitude of its number, and the hue is the sign. Each circle shows the answers of its
neuron over the plane, or along the line if a point is one number. The answers of all neurons are in one image, which
has a row for each frame of a movie.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from zlib import crc32

import numpy as np

from .elastic import Box, drawing, paths, size
from .neurons import THUMB, Layer
from .palette_png import PALETTE, SHADES, uri

RADIUS, ROOM = 24, (72, 52)  # of a neuron in its full size, and the distances of columns and of rows that it needs
MAX_NEURONS = 16  # drawn of a column, from its first neuron
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
    return [max(_largest(layer.weights) for layer in column) for column in zip(*films, strict=True)]


def _largest(x: np.ndarray) -> float:
    return float(abs(x[np.isfinite(x)]).max(initial=0)) or 1.0


def codes(layers: Sequence[Layer], reach: Sequence[float]) -> str:
    """A letter for each line: its weight in ninths of the largest weight of its column; "?" is nan."""
    letters = ""
    for layer, largest in zip(layers, reach, strict=True):
        for w in layer.weights[:MAX_NEURONS, :MAX_NEURONS].ravel().tolist():
            ninths = max(-STRENGTHS, min(STRENGTHS, STRENGTHS * w / largest))
            letters += "?" if w != w else chr(ZERO + round(ninths))
    return letters


def sheet(frames: Sequence[Sequence[Layer]]) -> str:
    """The answers of the neurons, as the data URI of a PNG: an image for each neuron, in a row for each frame."""
    rows = []
    for layers in frames:
        images = []
        for layer in layers:
            answers = layer.answers[:, :MAX_NEURONS]
            constant = (answers == answers[0]).all()  # one shade a neuron, which is compared with the other neurons
            largest = _largest(answers) if constant else [_largest(column) for column in answers.T]
            relative = np.clip(np.nan_to_num(answers) / largest, -1, 1)
            # The square root shows small answers too
            shade = np.round(np.sign(relative) * np.sqrt(abs(relative)) * STEPS) / STEPS
            index = np.where(np.isnan(answers), len(PALETTE) - 1, shade * SHADES + SHADES)
            images += [np.broadcast_to(column.reshape(-1, THUMB), (THUMB, THUMB)) for column in index.T]
        rows.append(np.concatenate(images, axis=1))
    return uri(np.concatenate(rows))


def network(frames: Sequence[Sequence[Layer]], reach: Sequence[float], box: Box | None = None) -> str:
    """The drawing of the first frame; its image has a row for each frame, through which the page moves."""
    layers, answers, moving = frames[0], sheet(frames), len(frames) > 1
    inputs, *columns = _spots(layers)
    name = f"answers{crc32(answers.encode()):x}"  # pictures with other answers may share a page
    count = sum(map(len, columns))
    image = f'<image id="{name}" width="{THUMB * count}" height="{THUMB * len(frames)}" href="{answers}"/>'
    rows = max(len(inputs), *map(len, columns))
    across, down = len(layers) * ROOM[0], rows * ROOM[1]
    wide, high = size("network", box)
    scale = min(1.4, wide / across, high / down) if box else 1.0  # fit.js finds the scale in a page
    drawn = "" if moving else lines(codes(layers, reach), ends(layers, box), scale)  # movie.js draws those of a movie
    circles, texts, n = [], [], 0
    for c, (layer, column) in enumerate(zip(layers, columns, strict=True)):
        largest = inf if moving else reach[c]
        for k, spot in enumerate(column):
            shown = f'<use href="#{name}" x="{-THUMB * n}"/>'
            circles.append(_neuron(layer, c, k, shown, largest, *spot, scale))
            n += 1
        x, more = column[0][0], len(layer.weights) - len(column)
        texts.append(f'<text class="tick name" x="{x:g}%" y="100%" dy="20">{f"+{more:,}" if more else ""}</text>')
        texts.append(f'<text class="tick name dead" x="{x:g}%" y="100%" dy="38">{dead_text(layer)}</text>')
    parts = [
        paths("network", box, "lines", drawn),
        f"<defs>{image}{_ROUND}</defs>",
        *[_input(i, layers[0].weights.shape[1], *spot, scale) for i, spot in enumerate(inputs)],
        *circles,
        *texts,
    ]
    style = f"--rows:{rows};" + f"--unit:{scale:.2f};" * bool(box)
    return drawing("network", "The network", parts, box, f' role="group" data-full="{across} {down}"', style)


_ROUND = f'<clipPath id="round"><circle cx="{THUMB / 2}" cy="{THUMB / 2}" r="{(THUMB - 1) / 2}"/></clipPath>'


def _spots(layers: Sequence[Layer]) -> list[list[tuple[float, float]]]:
    """The place of each neuron in each column, the inputs first, in percent."""
    widths = [layers[0].weights.shape[1], *[len(layer.weights) for layer in layers]]
    counts = [min(width, MAX_NEURONS) for width in widths]
    columns = []
    for c, count in enumerate(counts):
        x, step = round(100 * c / len(layers), 2), min(100 / count, 160 / max(*counts, 6))  # few neurons stay together
        columns.append([(x, round(50 + (k - (count - 1) / 2) * step, 2)) for k in range(count)])
    return columns


def ends(layers: Sequence[Layer], box: Box | None = None) -> list[str]:
    """The path of each line, in the order of `codes`."""
    wide, high = np.array(size("network", box)) / 100
    spots = [[f"{x * wide:.0f} {y * high:.0f}" for x, y in column] for column in _spots(layers)]
    return [f"M{p}L{q}" for before, after in pairwise(spots) for q in after for p in before]


def lines(letters: str, paths: Sequence[str], scale: float) -> str:
    """The lines, one element for each letter, with the strongest lines on top. Keep in sync with movie.js."""
    path_of = dict.fromkeys(letters, "")
    for letter, path in zip(letters, paths, strict=True):
        path_of[letter] += path
    return "".join(
        f'<path class="w {look}" stroke-width="{max(0.3, wide * min(1, scale)):g}" style="--wide:{wide:g}" '
        f'd="{path_of[letter]}"/>'
        for letter, (look, wide) in LOOKS.items()
        if letter in path_of
    )


def _scaled(scale: float) -> str:
    return f' transform="scale({scale:.2f})"' if scale != 1 else ""


def _input(i: int, count: int, x: float, y: float, scale: float) -> str:
    name = f'x<tspan class="sub" dy="3">{i + 1}</tspan>' if count > 1 else "x"
    circle = f'<g class="sized"{_scaled(scale)}><circle class="ground ring" r="{RADIUS}"/></g>'
    return f'<svg class="at" x="{x:g}%" y="{y:g}%">{circle}<text class="tick name" dy="4">{name}</text></svg>'


def _neuron(layer: Layer, c: int, k: int, answers: str, largest: float, x: float, y: float, scale: float) -> str:
    """A circle with the neuron's answers and, at its edge, the bias relative to the largest weight.

    The title has the neuron's numbers, except in a movie, where they change and `largest` is inf.
    """
    title = name = f"Layer {c + 1}, neuron {k + 1}"
    if largest < inf:
        weights = ", ".join(f"{w:.3g}" for w in layer.weights[k, :MAX_NEURONS].tolist())
        title += f": weights {weights}; bias {layer.biases[k]:.3g}".replace("-", "\u2212")
    box = f'x="{-RADIUS}" y="{-RADIUS}" width="{2 * RADIUS}" height="{2 * RADIUS}"'
    return (
        f'<svg class="at" x="{x:g}%" y="{y:g}%"><g class="unit sized"{_scaled(scale)} '
        f'tabindex="0" role="img" data-name="{name}">'
        f"<title>{title}</title>"
        f'<circle class="ground" r="{RADIUS}"/><svg class="answer" {box} preserveAspectRatio="none" '
        f'viewBox="0.5 0.5 {THUMB - 1} {THUMB - 1}"><g clip-path="url(#round)">{answers}</g></svg>'
        f'<circle class="ring" r="{RADIUS}"/>{_bias(layer.biases[k] / largest)}</g></svg>'
    )


def _bias(relative: float) -> str:
    """A dot at the lower left of a neuron, whose area is its bias relative to the largest weight."""
    if not relative:
        return ""
    look, radius = "above" if relative > 0 else "below", 8 * min(1, abs(relative)) ** 0.5
    return f'<circle class="bias {look}" cx="-15.5" cy="15.5" r="{radius:.1f}"/>'


def dead_text(layer: Layer) -> str:
    """`2 dead`, or "" if all are alive."""
    count = int(layer.dead.sum())
    return f"{count} dead" if count else ""
