"""A player as a GIF, or as a video where ffmpeg is installed: a picture a step. Needs Pillow."""

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..drawing.layout import Point
from ..text import sign
from ..values import number
from .animation import HOLD, MARGIN, Film, short
from .card import CELL, pieces
from .heat import STEPS, Heat
from .scenes import Card
from .stage import Place

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BOXES, WIDEST = 60, 1600
GROUND, PANEL, INK, QUIET, EDGE, LINE = "#f6f8fb", "#ffffff", "#1b2436", "#5a677d", "#97a3b8", "#d5dce7"
ABOVE, BELOW, ACT, ACTIVE, PARAMETER = "#0072b2", "#b34700", "#6b3fa0", "#f2ecfa", "#00775a"
CAPTION = 44
PLAIN = str.maketrans("\u2212\u00d7\u2026\u2013\u25b8\u03a3", "-x.->S")  # for Pillow's own font


def save(film: Film, path: Path, seconds: float) -> None:
    """Write the steps of a film to a GIF that loops, or to an MP4; each step lasts `seconds`, the last one more."""
    if len(film.scene.cards) > MOST_BOXES:
        raise ValueError(
            f"this graph has {len(film.scene.cards):,} boxes; a GIF shows at most {MOST_BOXES}: save a page, or give a "
            "lower max_nodes, so that modules fold"
        )
    draw = _Painter(film)
    pictures = [draw.picture(step) for step in draw.said]
    if path.suffix.lower() == ".gif":
        from PIL.Image import Dither

        small = [picture.quantize(256, dither=Dither.NONE) for picture in pictures]
        durations = [max(round(1000 * seconds), 20)] * (len(small) - 1) + [round(1000 * seconds * (1 + HOLD))]
        small[0].save(path, "GIF", save_all=True, append_images=small[1:], duration=durations, loop=0)
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
    made = ["-r", "25", "-pix_fmt", "yuv420p", str(path)]
    raw = b"".join(picture.crop((0, 0, width, height)).tobytes() for picture in pictures)
    done = subprocess.run(
        [ffmpeg, "-y", "-loglevel", "error", *given, *made], input=raw, capture_output=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"ffmpeg could not write {path.name}: {done.stderr.decode(errors='replace').strip()[-300:]}")


class _Painter:
    """Draws the state of a film at a step."""

    def __init__(self, film: Film):
        from PIL import Image, ImageDraw, ImageFont

        self.film, self.image, self.draw_on, self.fonts = film, Image, ImageDraw, ImageFont
        width, height = film.drawn.width + 2 * MARGIN, film.drawn.height + 2 * MARGIN + CAPTION
        self.scale = min(2.0, 2 * WIDEST / width)  # twice as large as the picture, for smooth lines
        self.size = round(width * self.scale), round(height * self.scale)
        self.said = dict(film.captions())
        self.named: dict[tuple[float, bool], Any] = {}

    def picture(self, step: int) -> "Image":
        """All that is seen at this step."""
        whole = self.image.new("RGB", self.size, GROUND)
        self.pen, self.step = self.draw_on.Draw(whole), step
        scene, drawn = self.film.scene, self.film.drawn
        for e, wire in enumerate(scene.wires):
            self._wire(drawn.routes[e], wire)
        for i, (card, place) in enumerate(zip(scene.cards, drawn.places, strict=True)):
            self._card(i, card, place)
        for e, wire in enumerate(scene.wires):
            self._pill(drawn.pills[e], wire)
        self._text(0, drawn.height + MARGIN + CAPTION / 2 - 8, self.said[step], 16, INK)
        return whole.resize((self.size[0] // 2, self.size[1] // 2), self.image.Resampling.LANCZOS)

    # ---- what it is made of

    def _at(self, x: float, y: float) -> Point:
        return (x + MARGIN) * self.scale, (y + MARGIN) * self.scale

    def _font(self, size: float, bold: bool) -> Any:
        key = (size, bold)
        if key not in self.named:
            try:
                name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
                self.named[key] = self.fonts.truetype(name, round(size * self.scale))
            except OSError:
                self.named[key] = self.fonts.load_default(size * self.scale)
        return self.named[key]

    def _text(
        self, x: float, y: float, text: str, size: float, fill: str, anchor: str = "ls", bold: bool = False
    ) -> None:
        font = self._font(size, bold)
        text = text if "DejaVu" in font.getname()[0] else text.translate(PLAIN)
        self.pen.text(self._at(x, y), text, fill, font, anchor=anchor)

    def _box(
        self, x: float, y: float, width: float, height: float, radius: float, fill: str, line: str, thick: float = 1.3
    ) -> None:
        self.pen.rounded_rectangle(
            (self._at(x, y), self._at(x + width, y + height)),
            radius * self.scale,
            fill,
            line,
            round(thick * self.scale),
        )

    def _wire(self, route: list[Point], wire: Any) -> None:
        if len(route) < 2:
            return
        step, passed = self.film.passes.get(wire.head), self.film.passes.get(wire.head, 10**9) < self.step
        active = self.step in (self.film.computed[wire.head], step)
        number = wire.part is not None and wire.part is not True
        colour, thick = (ACT, 3.0) if active else (EDGE, 1.6)
        if passed and number:
            colour, thick = _hue(wire.part, EDGE), self.film.width(wire)
        self.pen.line([self._at(*point) for point in _curve(route)], colour, round(thick * self.scale), "curve")
        backward = step == self.step and wire.part is not None
        (x, y), way = (route[0], -1) if backward else (route[-1], 1)
        self.pen.polygon([self._at(x, y), self._at(x - 8 * way, y - 4), self._at(x - 8 * way, y + 4)], colour)

    def _pill(self, spot: Point | None, wire: Any) -> None:
        if spot is None:
            return
        local = f"\u00d7 {short(wire.local)}" if wire.local is not None else ""
        step, value = self.film.passes.get(wire.head), self.film.scene.cards[wire.tail].data
        fill, line, ink, texts = PANEL, LINE, QUIET, [local] if step is not None and step < self.step else []
        if self.film.computed[wire.head] == self.step and value is not None:
            fill, line, ink, texts = ACT, ACT, PANEL, [short(value)]
        elif step == self.step and local:
            line, ink, texts = ACT, INK, [local, f"= {short(wire.part)}"]
        texts = [text for text in texts if text]
        if texts:
            width, height, (x, y) = max(58.0, 7.6 * max(map(len, texts)) + 14), 16 * len(texts) + 6, spot
            self._box(x - width / 2, y - height / 2, width, height, 8, fill, line)
            for k, text in enumerate(texts):
                self._text(x, y - height / 2 + 11 + 16 * k, text, 12, ink, "mm", bold=k > 0)

    def _card(self, i: int, card: Card, place: Place) -> None:
        computed, passed = self.film.computed.get(i, 0), self.film.passes.get(i)
        active = self.step and self.step in (computed, passed)
        x, y = place.x, place.y
        fill, line = (ACTIVE, ACT) if active else (PANEL, LINE)
        self._box(x, y, place.width, place.height, 10, fill, line, 3.0 if active else 1.3)
        heats = iter(card.heats)
        for piece in pieces(card, place.badge):
            left = x + piece.x + (place.width if piece.x < 0 else 0)
            self._piece(piece, left, y + piece.y, i, card, place, next(heats) if piece.kind == "heat" else None)
        if place.badge:
            text, wide = sign(card.box.op), place.badge
            self._box(
                x - wide / 2, y + place.height / 2 - 16, wide, 32, 16, ACT if active else PANEL, ACT if active else EDGE
            )
            size = 19 if len(text) == 1 else 13
            self._text(x, y + place.height / 2, text, size, PANEL if active else INK, "mm", bold=True)

    def _piece(self, piece: Any, x: float, y: float, i: int, card: Card, place: Place, heat: Heat | None) -> None:
        known = self.film.computed.get(i, 0) <= self.step
        arrived = [total for step, total in self.film.arrivals(i) if step <= self.step]
        whole = len(arrived) == len(self.film.arrivals(i))
        anchor = "rs" if piece.x < 0 else "ls"
        if piece.kind == "bar":
            colour = PARAMETER if card.box.kind == "parameter" else EDGE
            self._box(x, y, 4, place.height - 2 * piece.y, 2, colour, colour)
        elif piece.kind == "data":
            self._text(
                x, y, number(card.data) if known else "\u2013", 13, _hue(card.data, INK) if known else QUIET, anchor
            )
        elif piece.kind == "grad":
            shown = (card.grad if whole else arrived[-1]) if arrived and card.grad is not None else None
            text, fill = ("\u2013", QUIET) if shown is None else (number(shown), _hue(shown, INK))
            self._text(x, y, text, 13, fill, anchor, bold=whole and shown is not None)
        elif heat is not None and (whole if heat.name == "grad" else known):
            self._heat(heat, x, y, piece.wide)
        elif piece.text:
            title = piece.kind in ("title", "made")
            self._text(x, y, piece.text, 14.5 if title else 12, INK if title else QUIET, anchor, piece.kind == "title")

    def _heat(self, heat: Heat, x: float, y: float, wide: float) -> None:
        for k, letter in enumerate(heat.cells):
            if letter == " ":
                continue
            level = ord(letter) - ord("A") - STEPS
            colour = (
                INK
                if letter == "?"
                else LINE
                if not level
                else _mixed(ABOVE if level > 0 else BELOW, abs(level) / STEPS)
            )
            left, top = x + k % heat.columns * wide, y + k // heat.columns * CELL
            self.pen.rectangle((self._at(left, top), self._at(left + wide - 0.7, top + CELL - 0.7)), colour)


def _hue(x: Any, plain: str) -> str:
    return ABOVE if x > 0 else BELOW if x < 0 else plain


def _mixed(colour: str, much: float) -> str:
    """A colour on white."""
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - c) * (0.12 + 0.88 * much)):02x}" for c in parts)


def _curve(route: list[Point]) -> list[Point]:
    """Points of the curve through a route, which is horizontal at each of its points."""
    found = [route[0]]
    for (x0, y0), (x1, y1) in pairwise(route):
        for k in range(1, 17):
            t = k / 16
            found.append((_along(x0, x1, t), y0 + (y1 - y0) * t * t * (3 - 2 * t)))
    return found


def _along(a: float, b: float, t: float) -> float:
    """The x of a Bezier curve whose two handles are in the middle."""
    middle = (a + b) / 2
    return a * (1 - t) ** 3 + 3 * middle * t * (1 - t) + b * t**3
