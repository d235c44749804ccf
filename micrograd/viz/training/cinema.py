"""The page that plays a movie, as one self-contained HTML file, and `still`, a picture of one frame."""

import json
from html import escape
from typing import Any

from ..page import Page, asset, join, pack, script
from ..text import clean, text_width
from . import columns, panels
from .frames import Frame, Recording

PLANE = {"sides": "Decision boundary", "regions": "Decision boundary", "curve": "Curve"}
PAD = 12


def page(film: Recording, inside: str = "", closed: str = "") -> Page:
    """The page, which opens at the first frame; its static fallback shows the last.

    `inside` is what a click on a point or a neuron opens; `closed` is why it opens nothing.
    """
    frames, first = film.frames, film.frames[0]
    moving, limits = panels.moving(film, frames), panels.Limits(film)
    rows, across = first.scores.shape[-2:] if film.kind in ("sides", "regions") else (1, 1)
    net = _network(film, first, frames)
    html = page_with_player(
        "movie",
        film.title,
        {
            "frames": pack(json.dumps(moving, ensure_ascii=False, separators=(",", ":"))),
            "rows": rows,
            "columns": across,
            "kinds": {n: limits.texts(n) for n in limits.names},
            "inside": inside,
            "closed": closed,
            "ends": columns.ends(first.network) if net else [],
        },
        inside or closed,
        plane=_plane(film, first, bool(inside)) if film.kind != "none" else "",
        network=f'<section class="panel">\n<h2>Network</h2>\n{net}\n</section>' if net else "",
        loss=panels.loss(film, first),
        weights=_WEIGHTS.format(_choice(limits.names), panels.weights(film, moving[0], limits)) if film.layers else "",
    )
    return Page(html, ("image/svg+xml", still(film, frames[-1]).encode()), spoken(film))


def page_with_player(name: str, title: str, data: Any, opens: Any, **markup: str) -> str:
    """A page of pictures; if it `opens` anything, a click there shows a player."""
    return join(
        f"training/{name}",
        title,
        data,
        style="".join(asset(f"training/{sheet}.css") for sheet in ("panels", "movie", "inside")),
        script=script("training/inside.js", f"training/{name}.js"),
        inside=asset("training/inside.html") if opens else "",
        **markup,
    )


_WEIGHTS = '<section class="panel">\n<h2><label for="kind">By layer</label>{}</h2>\n{}\n</section>'


def choice(count: int) -> str:
    """Where a point is chosen by its number, without a pointer."""
    field = f'<input id="point" type="number" min="1" max="{count}" placeholder="1 to {count}">'
    return f"<label>look inside: point {field}</label>"


def _choice(names: list[str]) -> str:
    options = "".join(f"<option>{escape(name)}</option>" for name in names)
    return f'<select id="kind">{options}</select>'


def _plane(film: Recording, first: Frame, opens: bool) -> str:
    drawn = panels.boundary(film, first, film.frames)
    legend = "".join(f"<span>{icon}{text}</span>" for icon, text in _legend(film))
    legend += choice(len(film.points)) if opens else ""
    heading = f'<h2>{PLANE[film.kind]} <span id="right"></span></h2>'
    return f'<section class="panel wide">\n{heading}\n{drawn}\n<p class="legend">{legend}</p>\n</section>'


def _network(
    film: Recording, shown: Frame, frames: list[Frame], place: str = "", size: columns.Size = columns.SIZE
) -> str:
    """The network of a frame, with the answers of all frames in its image; "" if the model has none."""
    layers = [frame.network for frame in frames]
    if not all(layers):
        return ""
    reach = columns.widest([frame.network for frame in film.frames])
    return columns.network(shown.network, columns.sheet(layers), len(frames), reach, place, size)


def spoken(film: Recording) -> str:
    """The movie as text: its title, and its first and last frame."""
    began, ended = (panels.says(film, film.frames[i]) for i in (0, -1))
    what = f" of a {PLANE[film.kind].lower()}" if film.kind != "none" else ""
    return f"{clean(film.title)}: a movie{what}, {len(film.frames)} frames\n{began}\n{ended}"


# ------------------------------------------------------------------------------------------------ one frame
def still(film: Recording, frame: Frame) -> str:
    """A frame as an SVG document: the panels side by side, in the viewer's light or dark colours."""
    (shown,) = panels.moving(film, [frame])
    wide, (narrow, low) = 740 if film.kind != "none" else 0, panels.PLOT
    across, up = panels.size(film) if wide else (1, 0)
    tall = min(round(wide * up / across), wide)
    second = max(tall - low - 26, low + 18)
    net = _network(film, frame, [frame], _place(0, 0, narrow, second), (1.4 * narrow, 1.4 * second))
    high = max(tall + 74 if wide else 0, low + second + 88 + PAD if film.layers else low + 44)
    right = wide + 4 * PAD if wide else PAD
    parts = []
    if wide:
        parts = [
            *_panel(PAD, PAD, wide, high, PLANE[film.kind], shown["right"]),
            panels.boundary(film, frame, [frame], _place(2 * PAD, PAD + 36, wide, tall)),
            *_legend_row(film, 2 * PAD, PAD + 36 + tall + 20),
        ]
    half = high - (second + 44 + PAD if film.layers else 0)
    parts += [
        *_panel(right, PAD, narrow, half, "Loss", f"{shown['loss']}, {shown['step']}"),
        panels.loss(film, frame, _place(right + PAD, PAD + 36 + (half - low - 44) / 2, narrow, low)),
    ]
    if film.layers:
        top = 2 * PAD + half
        inner = net or panels.weights(film, shown, panels.Limits(film), _place(0, 0, narrow, second))
        parts += _panel(right, top, narrow, second + 44, "Network" if net else "Weights and biases", "")
        parts.append(f'<g transform="translate({right + PAD:g} {top + 36:g})">{inner}</g>')
    width, height = right + narrow + 3 * PAD, high + 2 * PAD
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" role="img" '
            f'viewBox="0 0 {width:g} {height:g}" aria-label="{escape(clean(film.title))}">',
            f"<desc>{escape(shown['says'])}</desc><style>{asset('training/panels.css')}</style>",
            f'<rect class="picture-ground" width="{width:g}" height="{height:g}"/>',
            *parts,
            "</svg>",
        ]
    )


def _panel(x: float, y: float, width: float, height: float, heading: str, aside: str) -> list[str]:
    return [
        f'<rect class="panel-ground" x="{x:g}" y="{y:g}" width="{width + 2 * PAD:g}" height="{height:g}" rx="12"/>',
        f'<text class="heading" x="{x + PAD:g}" y="{y + 23:g}">{escape(heading)}</text>',
        f'<text class="aside" x="{x + PAD + width:g}" y="{y + 23:g}">{escape(aside)}</text>',
    ]


def _legend_row(film: Recording, x: float, y: float) -> list[str]:
    parts = []
    for icon, text in _legend(film):
        parts.append(icon.replace("<svg ", f'<svg x="{x:g}" y="{y - 11:g}" width="22" height="14" ', 1))
        parts.append(f'<text class="tick" x="{x + 27:g}" y="{y:g}">{text}</text>')
        x += 27 + text_width(text, 11.5) + 16
    return parts


def _legend(film: Recording) -> list[tuple[str, str]]:
    """(icon, meaning) pairs, as markup."""
    low, middle, high = map(panels.plain, film.levels)
    line, margin = '<path class="line" d="M0 7h22"/>', '<path class="line margin" d="M0 7h22"/>'
    if film.kind == "curve":
        dot = f'<g transform="scale(.6)">{panels.mark(film, 0, 18, 12)}</g>'
        icons = [(line, "the model"), (dot, "what it learns from")]
    else:
        icons = [
            (f'<g transform="scale(.5)">{panels.mark(film, i, 22, 14)}</g>', f"class {name}".replace("-", "\u2212"))
            for i, name in zip(panels.class_indices(film), film.classes, strict=True)
        ]
        icons += [(line, f"score {middle}"), (margin, f"margins {low} and {high}")] if film.kind == "sides" else []
    return [(f'<svg viewBox="0 0 22 14" aria-hidden="true">{icon}</svg>', escape(text)) for icon, text in icons]


def _place(x: float, y: float, width: float, height: float) -> str:
    return f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
