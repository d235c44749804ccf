"""The page that plays a movie, as one self-contained HTML file, and pictures of its frames as SVG."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple

from ..page import Page, asset, join, palette, script, sheet, uncommented
from ..text import clean, text_width
from ..values import thickness, typeset
from . import network_svg, panels
from .elastic import Box
from .frames import Frame, Histograms, Recording
from .neurons import Layer

PLANE = {"sides": "Decision boundary", "regions": "Decision boundary", "curve": "Curve"}
PAD, HEAD, LEGEND = 12, 36, 26
WIDE, NARROW = 740, 476  # width of the panels on the left of the still, at most, and on the right


def page(film: Recording, player: dict[str, Any]) -> Page:
    """The page, which shows the last frame at first, as its static fallback does.

    `player` is the data of the player that a click on a point or a neuron opens: see `open_player`.
    """
    frames, histograms, opens = film.frames, panels.histograms(film), "inside" in player
    data = {
        "frames": panels.moving(film),
        "histograms": histograms,
        "ends": network_svg.ends(frames[0].network) if frames[0].network else [],
        "looks": network_svg.LOOKS,
    }
    across, up = panels.plane_size(film)
    columns = []
    for side in _sides(film, frames, histograms, opens):
        sections = "\n".join(_section(panel, histograms, opens) for panel in side)
        columns.append(f'<div class="column">\n{sections}\n</div>')
    html = page_with_player("movie", film.title, data | player, aspect=f"{across / up:.3f}", sides="\n".join(columns))
    return Page(html, still(film, frames[-1]), alt_text(film))


def page_with_player(name: str, title: str, data: dict[str, Any], **markup: str) -> str:
    """A page of pictures; if its data has "inside" or "closed", a click on a picture shows a player."""
    return join(
        f"training/{name}",
        title,
        data,
        style=uncommented(palette() + asset("training/panels.css") + asset("training/movie.css")),
        script=script(f"training/{name}.js", "training/inside.css"),
        inside=asset("training/inside.html") if {"inside", "closed"} & data.keys() else "",
        **markup,
    )


def choice(count: int) -> str:
    """A field to choose a point by its number, without a pointer."""
    field = f'<input id="point" type="number" min="1" max="{count}" placeholder="1 to {count}">'
    return f"<label>look inside: point {field}</label>"


# ------------------------------------------------------------------------------------------------ panels
class Panel(NamedTuple):
    """A panel of the page or of a picture. `name` is the id of the text in the page that stands beside the heading."""

    name: str
    heading: str
    aside: str  # the text beside the heading
    height: float  # in a picture
    draw: Callable[[Box | None], str]  # in a box of a picture, or as markup of the page


def _sides(
    film: Recording, frames: list[Frame], histograms: dict[str, Histograms], opens: bool = False, wide: float = WIDE
) -> list[list[Panel]]:
    """The panels on the left, where the plane is, and those on the right; they show the first of the frames.

    In a picture, the plane has at most the width `wide`.
    """
    frame = frames[0]
    aside = f"{typeset(frame.loss)}, step {frame.step}"
    loss = Panel("loss", "Loss", aside, 180, partial(panels.loss, film, frame))
    bars = Panel("quantity", "By layer", "weights", 180, partial(panels.weights, film, frame, histograms["weights"]))
    right = [bars] if film.layers else []
    if film.task == "none":
        return [[loss, *right]]
    high, draw = _plane_still(film, wide)[1] + HEAD + LEGEND + PAD, partial(_plane, film, frames, opens)
    plane = Panel("right", PLANE[film.task], panels.right(film, frame), high, draw)
    if not all(f.network for f in frames):
        return [[plane], [loss, *right]]
    network = network_panel([f.network for f in frames], [each.network for each in film.frames])
    return [[plane, loss], [network, *right]]


def network_panel(frames: list[list[Layer]], film: list[list[Layer]], high: float = 300) -> Panel:
    """The panel of the network in these frames of a film."""
    return Panel("network", "Network", "", high, partial(network_svg.network, frames, network_svg.widest(film)))


def _plane_still(film: Recording, wide: float = WIDE) -> tuple[int, float]:
    """Width and height of the plane in a picture with room for a plane of width `wide`, and two thirds as high."""
    across, up = panels.plane_size(film)
    scale = wide * min(1 / across, 0.675 / up)
    return max(round(scale * across), 420), scale * up


def _plane(film: Recording, frames: list[Frame], opens: bool, box: Box | None) -> str:
    """The boundary or the curve, and its legend."""
    if box:
        x, y, wide, high = box
        inner = panels.boundary(film, frames, (x, y, wide, high - LEGEND))
        return "\n".join([inner, *_legend_row(film, x, y + high - 8)])
    legend = "".join(f"<span><svg {ICON}>{icon}</svg>{text}</span>" for icon, text in _legend(film))
    legend += choice(len(film.points)) if opens else ""
    return f'{panels.boundary(film, frames)}\n<p class="legend">{legend}</p>'


ICON = 'viewBox="0 0 22 14" aria-hidden="true"'
SCALE = "".join(
    f'<span><i style="height:{thickness(float(g)):g}px"></i>{g}</span>' for g in ("0.0001", "0.01", "1", "100")
)


def _section(panel: Panel, quantities: Collection[str], opens: bool) -> str:
    """A panel of the page."""
    name, heading, aside, _, draw = panel
    aside, legend = f'<span id="{name}">{aside}</span>', ""
    if name == "quantity" and len(quantities) > 1:
        heading, aside = f'<label for="{name}">{heading}</label>', _select(name, quantities)
    if name == "network" and opens:
        aside = f"<label>lines: {_select('lines', ('weights', 'gradients', 'changes'))}</label>"
        legend = f'<p id="flow" class="legend" hidden>{SCALE}<span id="largest" role="status"></span></p>'
    return f'<section class="panel">\n<h2>{heading} {aside}</h2>\n{draw(None)}\n{legend}</section>'


def _select(name: str, options: Collection[str]) -> str:
    return f'<select id="{name}">{"".join(f"<option>{escape(option)}</option>" for option in options)}</select>'


def alt_text(film: Recording) -> str:
    """The movie as text: its title, and its first and last frame."""
    began, ended = (panels.says(film, film.frames[i]) for i in (0, -1))
    what = f" of a {PLANE[film.task].lower()}" if film.task != "none" else ""
    return f"{clean(film.title)}: a movie{what}, {len(film.frames)} frames\n{began}\n{ended}"


# ------------------------------------------------------------------------------------------------ one frame
def still(film: Recording, frame: Frame) -> str:
    """A frame as an SVG document, with the panels of the page."""
    sides = _sides(film, [frame], panels.histograms(film))
    widths = [(_plane_still(film)[0] if side[0].name == "right" else NARROW) + 2 * PAD for side in sides]
    return picture(sides, widths, film.title, panels.says(film, frame))


def pictures(film: Recording, width: float) -> Iterator[str]:
    """The plane and the loss, or all panels if there are no points, for each frame, as SVG documents of this width."""
    histograms = panels.histograms(film)
    for frame in film.frames:
        sides = _sides(film, [frame], histograms, wide=width - 4 * PAD)
        shown = [panel for side in sides for panel in side if panel.name in ("right", "loss") or film.task == "none"]
        yield picture([shown], [width - 2 * PAD], film.title, panels.says(film, frame))


def picture(sides: list[list[Panel]], widths: Sequence[float], name: str, says: str) -> str:
    """Panels side by side as an SVG document, in the viewer's light or dark colours."""
    high = max(sum(panel.height + PAD for panel in side) for side in sides)
    parts, x = [], PAD
    for side, wide in zip(sides, widths, strict=True):
        y = float(PAD)
        for _, heading, aside, height, draw in side:
            tall = height * (high - PAD * len(side)) / sum(panel.height for panel in side)
            parts += [
                f'<rect class="panel-ground" x="{x}" y="{y:g}" width="{wide}" height="{tall:g}" rx="12"/>',
                f'<text class="heading" x="{x + PAD}" y="{y + 23:g}">{heading}</text>',
                f'<text class="aside" x="{x + wide - PAD}" y="{y + 23:g}">{aside}</text>',
                draw((x + PAD, y + HEAD, wide - 2 * PAD, tall - HEAD - PAD)),
            ]
            y += tall + PAD
        x += wide + PAD
    size = f'width="{x:g}" height="{high + PAD:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
            f'viewBox="0 0 {x:g} {high + PAD:g}" aria-label="{escape(clean(name))}">',
            f"<desc>{escape(says)}</desc><style>{sheet('training/panels.css')}</style>",
            f'<rect class="picture-ground" {size}/>',
            *parts,
            "</svg>\n",
        ]
    )


def _legend_row(film: Recording, x: float, y: float) -> list[str]:
    row = []
    for icon, text in _legend(film):
        row.append(f'<svg x="{x:g}" y="{y - 11:g}" width="22" height="14" {ICON}>{icon}</svg>')
        row.append(f'<text class="tick" x="{x + 27:g}" y="{y:g}">{text}</text>')
        x += 27 + text_width(text, 11.5) + 16
    return row


def _legend(film: Recording) -> list[tuple[str, str]]:
    """(icon, meaning) pairs, as markup; the elements of an icon are for an <svg> with the attributes `ICON`."""
    low, middle, high = map(panels.number_text, film.levels)
    line, margin = '<path class="line" d="M0 7h22"/>', '<path class="line margin" d="M0 7h22"/>'
    if film.task == "curve":
        dot = f'<g transform="scale(.6)">{panels.mark(film, 0, 18, 12)}</g>'
        icons = [(line, "the model"), (dot, "what it learns from")]
    else:
        icons = [
            (f'<g transform="scale(.5)">{panels.mark(film, i, 22, 14)}</g>', f"class {name}".replace("-", "\u2212"))
            for i, name in zip(film.class_indices, film.classes, strict=True)
        ]
        icons += [(line, f"score {middle}"), (margin, f"margins {low} and {high}")] if film.task == "sides" else []
    return [(icon, escape(text)) for icon, text in icons]
