"""Matplotlib's pictures as SVG: sharp at any size, a fifth as long as matplotlib writes it, the same at every run."""

import io
import re

import matplotlib.pyplot as plt
from IPython import get_ipython
from matplotlib.figure import Figure


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
    text = re.sub(r"\s*\n\s*", " ", text[text.index("<svg") :])
    return text.replace("> <", "><").replace('<g id="', '\n<g id="')  # a part a line: that is what a diff shows


def _shorter(path: re.Match[str]) -> str:
    """The numbers of a path, to a tenth of a point; between two of its places a line need not be asked for."""
    text = re.sub(r"-?\d+\.\d\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), path[0])
    return re.sub(r"\s+", " ", text if "C" in text or "Q" in text else text.replace("L ", "")).strip()
