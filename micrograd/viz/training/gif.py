"""A movie as a GIF, for slides, chats or a README: the plots of `plots`, frame by frame, by matplotlib and Pillow."""

from pathlib import Path
from typing import Any

import numpy as np

from .frames import Frame, Recording
from .plots import INK, draw_loss, draw_points, draw_scores

DPI = 100


def save(film: Recording, path: str | Path, seconds: float, width: int) -> None:
    """Write the GIF, which loops: each frame lasts `seconds`, the last one two more."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a GIF needs matplotlib and Pillow, which are not both installed here: pip install matplotlib",
            name=error.name,
        ) from None
    figure = Figure(figsize=(width / DPI, 0.9 * width / DPI), dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    pictures = []
    for frame in film.frames:
        figure.clear()
        _draw(figure, film, frame)
        canvas.draw()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        pictures.append(picture.quantize(64, dither=Image.Dither.NONE))
    durations = [max(round(1000 * seconds), 20)] * len(pictures)  # browsers slow down shorter ones
    durations[-1] += 2000
    pictures[0].save(path, "GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0)


def _draw(figure: Any, film: Recording, frame: Frame) -> None:
    """One frame: the boundary or the curve, above the loss so far."""
    if film.kind == "none":
        _draw_loss(figure.subplots(), film, frame)
        return
    above, below = figure.subplots(2, height_ratios=[4, 1])
    if film.kind == "curve":
        above.plot(film.xs, frame.scores, color=INK)
        above.scatter(*film.points.T, s=16, color="gray", edgecolors="white")
        above.set_ylim(film.ys[0], film.ys[-1])
    else:
        found = frame.scores.reshape(-1, *frame.scores.shape[-2:])[:, ::-1]
        draw_scores(above, film.xs, film.ys, found, film.levels)
        draw_points(above, film.points, film.classes, len(found))
    above.tick_params(labelsize=7)
    _draw_loss(below, film, frame)


def _draw_loss(axes: Any, film: Recording, frame: Frame) -> None:
    draw_loss(axes, np.array(film.losses))
    axes.lines[0].set_alpha(0.25)
    axes.plot(film.losses[: frame.step + 1], color=INK)
    axes.tick_params(labelsize=7)
    axes.set_title(f"step {frame.step}   loss {frame.loss:.4g}", fontsize=9)
