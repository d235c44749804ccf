"""A movie as a GIF, for where no page can be: slides, chats, a README. Pillow draws it, and is imported here alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import panels
from .contours import contours
from .frames import Frame, Recording

if TYPE_CHECKING:
    from PIL.Image import Image


SMOOTH = 2  # all is drawn so many times as large, and made smaller: lines have no stairs then
WHITE, INK, MUTE, REST = "#ffffff", "#1b2436", "#5a677d", "#b9c3d3"
FIRST, SECOND = "#0072b2", "#c24e00"
CAPTION, CURVE = 26, 64  # heights below the boundary
COARSE = 2  # shades that are drawn alike: a GIF of ever so many is large


def save(film: Recording, path: str | Path, seconds: float, width: int) -> None:
    """Write the GIF: each frame is shown for `seconds`, the last for two more; then it begins anew."""
    dither = _pillow()[0].Dither.NONE
    pictures = [picture(film, frame, width).quantize(64, dither=dither) for frame in film.frames]
    durations = [max(round(1000 * seconds), 20)] * len(pictures)  # browsers slow down what is shorter
    durations[-1] += 2000
    pictures[0].save(path, "GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0)


def picture(film: Recording, frame: Frame, width: int) -> "Image":
    """One frame: the boundary, the numbers, the loss so far."""
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
    """From middle to middle of the grid's outermost places, as on the page."""
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
    """`scale` leads from the units of the panel to pixels."""
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
        text = text.replace("\u202f", " ").replace("\u2212", "-")  # Pillow's own font has few signs
        pen.text((x * wide, top + CAPTION * SMOOTH / 2), text, INK, anchor=anchor, font_size=size)


def _curve(pen: Any, film: Recording, frame: Frame, wide: int, top: int) -> None:
    """All losses, pale; those so far in blue; a dot at this one."""
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
