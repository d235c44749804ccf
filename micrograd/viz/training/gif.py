"""A movie as a GIF, for slides, chats or a README. Needs Pillow, which only this file imports."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import panels
from .contours import contours
from .frames import Frame, Recording

if TYPE_CHECKING:
    from PIL.Image import Image


SMOOTH = 2  # oversampling: drawn this much larger and scaled down, for smooth lines
WHITE, INK, MUTE, REST = "#ffffff", "#1b2436", "#5a677d", "#b9c3d3"
FIRST, SECOND = "#0072b2", "#c24e00"
CAPTION, CURVE = 26, 64  # heights below the boundary
COARSE = 2  # shades merged into one, for a smaller GIF


def save(film: Recording, path: str | Path, seconds: float, width: int) -> None:
    """Write the GIF, which loops: each frame lasts `seconds`, the last one two more."""
    dither = _pillow()[0].Dither.NONE
    pictures = [picture(film, frame, width).quantize(64, dither=dither) for frame in film.frames]
    durations = [max(round(1000 * seconds), 20)] * len(pictures)  # browsers slow down shorter ones
    durations[-1] += 2000
    pictures[0].save(path, "GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0)


def picture(film: Recording, frame: Frame, width: int) -> "Image":
    """One frame: boundary, caption and loss curve."""
    image, draw_on = _pillow()
    wide = width * SMOOTH
    across, up = panels.size(film)
    high = round(wide * up / across)
    whole = image.new("RGB", (wide, high + (CAPTION + CURVE) * SMOOTH), WHITE)
    whole.paste(_shades(film, frame, wide, high), (0, 0))
    pen = draw_on.Draw(whole)
    _lines(pen, film, frame, wide)
    _points(pen, film, wide / across)
    _caption(pen, film, frame, wide, high)
    _curve(pen, film, frame, wide, high + CAPTION * SMOOTH)
    return whole.resize((width, whole.height // SMOOTH), image.Resampling.LANCZOS)


def _pillow() -> Any:
    try:
        from PIL import Image, ImageDraw
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a GIF needs Pillow, which is not installed here: pip install pillow", name=error.name
        ) from None
    return Image, ImageDraw


def _shades(film: Recording, frame: Frame, wide: int, high: int) -> "Image":
    """The scores as colours, cropped to the centres of the outermost cells, as on the page."""
    image, _ = _pillow()
    rows, columns = frame.scores.shape
    part = image.fromarray(panels.shades(film, frame.scores).astype(np.float32))
    part = part.resize((wide, high), image.Resampling.BILINEAR, box=(0.5, 0.5, columns - 0.5, rows - 0.5))
    colours = np.array([[255 - (255 - c) * alpha / 255 for c in rgb] for *rgb, alpha in panels.PALETTE])
    return image.fromarray(colours[(np.asarray(part) / COARSE).round().astype(int) * COARSE].astype(np.uint8))


def _lines(pen: Any, film: Recording, frame: Frame, wide: int) -> None:
    unit = wide / (len(film.xs) - 1)
    for level, thick in zip(film.levels, (1, 2, 1), strict=True):
        for line in contours(frame.scores, level):
            pen.line([(x * unit, y * unit) for x, y in line], INK, thick * SMOOTH, "curve")


def _points(pen: Any, film: Recording, scale: float) -> None:
    """Draw the points; `scale` is pixels per unit of the panel."""
    for x, y, is_first in panels.places(film):
        x, y = x * scale, y * scale
        if is_first:
            pen.circle((x, y), 5 * SMOOTH, FIRST, WHITE, SMOOTH)
        else:
            a, b = 5.5 * SMOOTH, 6 * SMOOTH
            pen.polygon([(x, y - b), (x + a, y + 0.6 * b), (x - a, y + 0.6 * b)], SECOND, WHITE, SMOOTH)


def _caption(pen: Any, film: Recording, frame: Frame, wide: int, top: int) -> None:
    (shown,) = panels.moving(film, [frame])
    size = 13 * SMOOTH
    for x, anchor, text in (
        (0.02, "lm", shown["step"]),
        (0.5, "mm", f"loss {shown['loss']}"),
        (0.98, "rm", shown["right"]),
    ):
        text = text.replace("\u202f", " ").replace("\u2212", "-")  # Pillow's default font lacks these signs
        pen.text((x * wide, top + CAPTION * SMOOTH / 2), text, INK, anchor=anchor, font_size=size)


def _curve(pen: Any, film: Recording, frame: Frame, wide: int, top: int) -> None:
    """All losses in a pale colour, those so far in blue, a dot at the current one."""
    curve = panels.Curve(film)
    now, y_now = _placed(curve.at(frame.step, frame.loss), wide, top)
    places = [_placed(place, wide, top) for place in curve.places()]
    pen.line(places, REST, SMOOTH)
    pen.line([place for place in places if place[0] <= now], FIRST, 2 * SMOOTH)
    pen.circle((now, y_now), 4 * SMOOTH, FIRST, WHITE, SMOOTH)


def _placed(place: tuple[float, float], wide: int, top: int) -> tuple[float, float]:
    x, y = place
    along = 0.02 + 0.96 * (x - panels.LEFT) / (panels.RIGHT - panels.LEFT)
    down = 0.1 + 0.75 * (y - panels.TOP) / (panels.BOTTOM - panels.TOP)
    return along * wide, top + down * CURVE * SMOOTH
