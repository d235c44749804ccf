"""A player as a GIF, or as a video where ffmpeg is installed: a picture a step. Needs Pillow."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..drawing.layout import Point
from ..optional import optional
from ..page import in_full
from ..text import badge_text
from ..values import hue, thickness, typeset
from .animation import HOLD, MARGIN, Film, heat_cells, shade
from .card import CELL, Piece, pieces
from .heat import Heat
from .scenes import Card, Wire
from .stage import Place

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BOXES, WIDEST = 60, 1600
GROUND, PANEL, INK, QUIET, EDGE, LINE = "#f6f8fb", "#ffffff", "#1b2436", "#5a677d", "#97a3b8", "#d5dce7"
ACT, ACTIVE, PARAMETER = "#6b3fa0", "#f2ecfa", "#00775a"
HUES = {"above": "#0072b2", "below": "#b34700"}
CELLS = {"plus": "#0072b2", "minus": "#b34700", "odd": INK}
PILLS = {"forward": (ACT, ACT, PANEL), "backward": (PANEL, ACT, INK), "": (PANEL, LINE, QUIET)}  # fill, line, ink
CAPTION = 44
Box = tuple[float, float, float, float]  # left, top, width, height
PLAIN = str.maketrans("\u2212\u00d7\u2026\u2013\u25b8\u03a3", "-x.->S")  # for Pillow's own font


def save(film: Film, path: Path, seconds: float) -> None:
    """Write the steps of a film to a GIF that loops, or to an MP4; each step lasts `seconds`, the last one more."""
    if len(film.scene.cards) > MOST_BOXES:
        raise ValueError(
            f"this graph has {len(film.scene.cards):,} boxes; a GIF shows at most {MOST_BOXES}: save a page, or give a "
            "lower max_nodes, so that modules fold"
        )
    optional("PIL", "pillow")
    draw = _Painter(film)
    pictures = [draw.picture(step) for step in draw.said]
    if path.suffix.lower() == ".gif":
        from PIL.Image import Dither

        small = [picture.quantize(256, dither=Dither.NONE) for picture in pictures]
        durations = [max(round(1000 * seconds), 20)] * (len(small) - 1) + [round(1000 * seconds * (1 + HOLD))]
        with in_full(path) as beside:
            small[0].save(beside, "GIF", save_all=True, append_images=small[1:], duration=durations, loop=0)
    else:
        _video([*pictures, *pictures[-1:] * HOLD], path, seconds)


def _video(pictures: "list[Image]", path: Path, seconds: float) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise FileNotFoundError(
            f"{path.name} needs the program ffmpeg, which is not on the PATH; a .gif needs Pillow only"
        )
    width, height = (x - x % 2 for x in pictures[0].size)  # the format has no odd sizes
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{1 / seconds:g}", "-i", "-"]
    made = ["-r", "25", "-pix_fmt", "yuv420p"]
    raw = b"".join(picture.crop((0, 0, width, height)).tobytes() for picture in pictures)
    with in_full(path) as beside:
        command = [ffmpeg, "-y", "-loglevel", "error", *given, *made, str(beside)]
        done = subprocess.run(command, input=raw, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"ffmpeg could not write {path.name}: {said[-300:]}")


class _Painter:
    """Draws the state of a film at a step."""

    def __init__(self, film: Film):
        from PIL import Image, ImageDraw

        self.film, self.image, self.draw_on = film, Image, ImageDraw
        width, height = film.drawn.width + 2 * MARGIN, film.drawn.height + 2 * MARGIN + CAPTION
        self.scale = min(2.0, 2 * WIDEST / width)  # twice as large as the picture, for smooth lines
        self.size = round(width * self.scale), round(height * self.scale)
        self.said = dict(film.captions())

    def picture(self, step: int) -> "Image":
        """All that is seen at this step."""
        whole = self.image.new("RGB", self.size, GROUND)
        self.pen, self.step = self.draw_on.Draw(whole), step
        scene, drawn = self.film.scene, self.film.drawn
        for e, wire in enumerate(scene.wires):
            self._wire(drawn.routes[e], wire)
        for i, (card, place) in enumerate(zip(scene.cards, drawn.places, strict=True)):
            self._card(i, card, place)
        for e, spot in enumerate(drawn.pills):
            self._pill(spot, self._now(self.film.pills(e)))
        self._text(0, drawn.height + MARGIN + CAPTION / 2 - 8, self.said[step], 16, INK)
        return whole.resize((self.size[0] // 2, self.size[1] // 2), self.image.Resampling.LANCZOS)

    def _now(self, seen: Iterable[Any]) -> Any:
        """What is seen at this step, of tuples that begin with a first step and the one after the last."""
        return next((what for what in seen if what[0] <= self.step < what[1]), None)

    # ---- what it is made of

    def _at(self, x: float, y: float) -> Point:
        return (x + MARGIN) * self.scale, (y + MARGIN) * self.scale

    def _text(
        self, x: float, y: float, text: str, size: float, fill: str, anchor: str = "ls", bold: bool = False
    ) -> None:
        font = _font(size * self.scale, bold)
        text = text if "DejaVu" in font.getname()[0] else text.translate(PLAIN)
        self.pen.text(self._at(x, y), text, fill, font, anchor=anchor)

    def _box(self, box: Box, radius: float, fill: str, line: str, thick: float = 1.3) -> None:
        x, y, width, height = box
        corners = self._at(x, y), self._at(x + width, y + height)
        self.pen.rounded_rectangle(corners, radius * self.scale, fill, line, round(thick * self.scale))

    def _wire(self, route: list[Point], wire: Wire) -> None:
        if len(route) < 2:
            return
        step = self.film.passes.get(wire.head)
        colour, thick = EDGE, 1.6
        if self.step in (self.film.computed[wire.head], step):
            colour, thick = ACT, 3.0
        elif step is not None and step < self.step and wire.part not in (None, True):
            colour, thick = HUES.get(hue(wire.part), EDGE), thickness(wire.part)
        self.pen.line([self._at(*point) for point in _curve(route)], colour, round(thick * self.scale), "curve")
        backward = step == self.step and wire.part is not None
        (x, y), way = (route[0], -1) if backward else (route[-1], 1)
        self.pen.polygon([self._at(x, y), self._at(x - 8 * way, y - 4), self._at(x - 8 * way, y + 4)], colour)

    def _pill(self, spot: Point | None, seen: Any) -> None:
        if spot is None or seen is None:
            return
        (x, y), (_, _, look, lines) = spot, seen
        fill, line, ink = PILLS[look]
        width, height = max(58.0, 7.6 * max(len(text) for _, text in lines) + 14), 16 * len(lines) + 6
        self._box((x - width / 2, y - height / 2, width, height), 8, fill, line)
        for k, (_, text) in enumerate(lines):
            self._text(x, y - height / 2 + 11 + 16 * k, text, 12, ink, "mm", bold=k > 0)

    def _card(self, i: int, card: Card, place: Place) -> None:
        x, y, middle = place.x, place.y, place.y + place.height / 2
        active = self._now(self.film.rings(i)) is not None
        fill, line, thick = (ACTIVE, ACT, 3.0) if active else (PANEL, LINE, 1.3)
        self._box((x, y, place.width, place.height), 10, fill, line, thick)
        heats = iter(card.heats)
        for piece in pieces(card, place.badge):
            left = x + piece.x + (place.width if piece.x < 0 else 0)
            self._piece(piece, left, y + piece.y, i, card, place, heats)
        if place.badge:
            text, wide = badge_text(card.box.op), place.badge
            fill, line, ink = (ACT, ACT, PANEL) if active else (PANEL, EDGE, INK)
            self._box((x - wide / 2, middle - 16, wide, 32), 16, fill, line)
            self._text(x, middle, text, 19 if len(text) == 1 else 13, ink, "mm", bold=True)

    def _piece(self, piece: Piece, x: float, y: float, i: int, card: Card, place: Place, heats: Iterator[Heat]) -> None:
        known, anchor = self.film.computed.get(i, 0) <= self.step, "rs" if piece.x < 0 else "ls"
        if piece.kind == "bar":
            colour = PARAMETER if card.box.kind == "parameter" else EDGE
            self._box((x, y, 4, place.height - 2 * piece.y), 2, colour, colour)
        elif piece.kind in ("data", "grad"):
            seen = self._now(self.film.numbers(i, piece.kind))
            text, fill = (typeset(seen[2]), HUES.get(hue(seen[2]), INK)) if seen else ("\u2013", QUIET)
            self._text(x, y, text, 13, fill, anchor, bold=bool(seen and seen[3]))
        elif piece.kind == "heat":
            heat = next(heats)
            if self.film.arrivals(i)[-1][0] <= self.step if heat.name == "grad" else known:
                self._heat(heat, x, y, piece.wide)
        elif piece.text:
            size, fill = (14.5, INK) if piece.kind in ("title", "made") else (12, QUIET)
            self._text(x, y, piece.text, size, fill, anchor, piece.kind == "title")

    def _heat(self, heat: Heat, x: float, y: float, wide: float) -> None:
        for left, top, letter in heat_cells(heat, x, y, wide):
            if letter != " ":
                corners = self._at(left, top), self._at(left + wide - 0.7, top + CELL - 0.7)
                self.pen.rectangle(corners, _on_white(*shade(letter)))


@lru_cache(maxsize=64)
def _font(size: float, bold: bool) -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.truetype("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf", round(size))
    except OSError:
        return ImageFont.load_default(size)


def _on_white(kind: str, depth: float) -> str:
    """The colour of a cell, which is not opaque, on a card."""
    parts = bytes.fromhex(CELLS[kind][1:])
    return "#" + "".join(f"{round(255 - (255 - c) * depth):02x}" for c in parts)


def _curve(route: list[Point]) -> list[Point]:
    """Points of the curve through a route, which is horizontal at each of its points."""
    found = [route[0]]
    for (x0, y0), (x1, y1) in pairwise(route):
        each = [k / 16 for k in range(1, 17)]  # of a Bezier curve whose two handles are in the middle
        found += [(x0 + (x1 - x0) * (1.5 * t * (1 - t) + t**3), y0 + (y1 - y0) * t * t * (3 - 2 * t)) for t in each]
    return found
