"""Pictures as SVG: matplotlib's, a fifth as long as it writes them and the same at every run; and small drawings."""

import io
import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from IPython import get_ipython
from IPython.display import SVG
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, INK = "#0072B2", "#C24E00", "#00805C", "#1B2333"  # lines; to be told apart by everybody
SKY, PALE, SAND, GREY = "#8EC1E0", "#E3EFF6", "#F0B48A", "#5A6478"  # grounds, on which dark letters can be read


# ------------------------------------------------------------------------------------------------ of matplotlib


def as_drawings() -> None:
    """From now on the notebook shows figures as such SVG."""
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lessons"})  # letters as letters; no random names
    formatters = get_ipython().display_formatter.formatters
    formatters["image/png"].pop(Figure, None)
    formatters["image/svg+xml"].for_type(Figure, svg)


def svg(figure: Figure) -> str:
    """The figure as SVG, without what a reader cannot see."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", file.getvalue(), flags=re.DOTALL)
    text = re.sub(r'(?<= d=")[^"]*|(?<= [xy]=")[^"]*', _shorter, text)
    text = re.sub(r' id="(?:line2d|text|patch|[xy]tick)_\d+"', "", text)
    text = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*", "font-family: DejaVu Sans, sans-serif", text)
    text = text.replace("; stroke-linejoin: miter; stroke-linecap: square", "")
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r"\s*\n\s*", " ", text[text.index("<svg") :]).replace("> <", "><")
    text = re.sub(r"<g>(<(?:path|use)[^<]*/>)</g>", r"\1", text)
    text = re.sub(r"(<g[^>]*)>((?:<use[^<]*/>)+)</g>", _styled_once, text)
    text = re.sub(r"""(?<==)"([^"']*)\"""", r"'\1'", text)  # in a notebook, a double quote takes two letters
    return text.replace("<g id='", "\n<g id='")  # a part a line: that is what a diff shows


def _styled_once(group: re.Match[str]) -> str:
    """Markers that look alike say so once, in their group."""
    styles = set(re.findall(r' style="[^"]*"', group[2]))
    if len(styles) > 1:
        return group[0]
    markers = re.sub(r' style="[^"]*"', "", group[2])
    return f"{group[1]}{''.join(styles)}>{markers}</g>"


def _shorter(path: re.Match[str]) -> str:
    """The numbers of a path, to a tenth of a point; between two of its places a line need not be asked for."""
    text = re.sub(r"-?\d+\.\d\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), path[0])
    if "C" in text or "Q" in text:
        return re.sub(r"\s+", " ", text).strip()
    return re.sub(r"(?:-?[\d.]+ ){6,}", _without_middles, re.sub(r"\s+", " ", text.replace("L ", "") + " ")).strip()


def _without_middles(polyline: re.Match[str]) -> str:
    """A polyline without the places that lie between their neighbours, to a tenth of a point."""
    numbers = [float(number) for number in polyline[0].split()]
    places = [complex(*place) for place in zip(numbers[::2], numbers[1::2], strict=True)]
    kept, passed = places[:1], []
    for here, following in pairwise(places[1:]):
        passed.append(here)
        if any(_away(place, kept[-1], following) > 0.1 for place in passed):
            kept.append(here)
            passed = []
    return "".join(f"{place.real:g} {place.imag:g} " for place in [*kept, places[-1]])


def _away(place: complex, start: complex, end: complex) -> float:
    """How far a place is from the line between two others."""
    line, way = end - start, place - start
    along = (way * line.conjugate()).real / abs(line) ** 2 if line else 0.0
    return abs(way - min(max(along, 0.0), 1.0) * line)


# ------------------------------------------------------------------------------------------------ drawn here
def drawing(width: int, height: int, *parts: str) -> SVG:
    """A picture of such parts, on white."""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    style = 'font-family="sans-serif" font-size="13" text-anchor="middle"'
    head = f'<path d="M0 1L7 4L0 7z" fill="{GREY}"/>'
    tip = f'<marker id="tip" orient="auto" markerWidth="8" markerHeight="8" refX="6" refY="4">{head}</marker>'
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return SVG(f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{tip}{ground}{"".join(parts)}</svg>')


def words(x: float, y: float, text: str) -> str:
    """A text, its middle at x."""
    return f'<text x="{x}" y="{y}">{text}</text>'


def box(x: float, y: float, text: str, color: str = PALE) -> str:
    """A text in a box of 160 by 34."""
    return f'<rect x="{x}" y="{y}" width="160" height="34" rx="8" fill="{color}"/>{words(x + 80, y + 21, text)}'


def arrow(path: str, dashes: str = "") -> str:
    """An arrow along a path of SVG, such as `M0 0h26`."""
    return f'<path d="{path}" fill="none" stroke="{GREY}" stroke-dasharray="{dashes}" marker-end="url(#tip)"/>'


def cells(x: float, y: float, numbers: np.ndarray, real: tuple[int, int] | None = None, color: str = SKY) -> str:
    """An array of two axes; what lies outside of the shape `real` is pale."""
    rows, columns = real or numbers.shape
    return "".join(
        f'<rect x="{x + 36 * j}" y="{y + 24 * i}" width="35" height="23" '
        f'fill="{color if i < rows and j < columns else PALE}"/>'
        f"{words(x + 36 * j + 17, y + 24 * i + 16, f'{number:g}')}"
        for (i, j), number in np.ndenumerate(numbers)
    )
