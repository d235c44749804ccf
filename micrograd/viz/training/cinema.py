"""The page that plays a movie, as one self-contained HTML file, and `still`, a picture of one frame."""

from html import escape

from ..page import Page, asset, join
from ..text import clean
from . import panels
from .frames import Frame, Recording


def page(film: Recording) -> Page:
    """The page, which opens at the first frame; its static fallback shows the last."""
    first, moving = film.frames[0], panels.moving(film, film.frames)
    rows, columns = first.scores.shape
    weights = _WEIGHTS.format(panels.weights(film, moving[0]["bars"])) if film.layers else ""
    html = join(
        "training/movie",
        film.title,
        {"frames": moving, "rows": rows, "columns": columns},
        boundary=panels.boundary(film, first, panels.strip(film, film.frames), len(film.frames)),
        legend="".join(f"<span>{icon}{text}</span>" for icon, text in _legend(film)),
        loss=panels.loss(film, first),
        weights=weights,
    )
    return Page(html, ("image/svg+xml", still(film, film.frames[-1]).encode()), spoken(film))


_WEIGHTS = '<section class="panel">\n<h2>Weights and biases</h2>\n{}\n</section>'


def spoken(film: Recording) -> str:
    """The movie as text: its title, and its first and last frame."""
    began, ended = (panels.says(film, film.frames[i]) for i in (0, -1))
    return f"{clean(film.title)}: a movie of a decision boundary, {len(film.frames)} frames\n{began}\n{ended}"


# ------------------------------------------------------------------------------------------------ one frame
PAD = 12


def still(film: Recording, frame: Frame) -> str:
    """A frame as an SVG document: the panels side by side, in the viewer's light or dark colours."""
    (shown,) = panels.moving(film, [frame])
    wide, (narrow, low) = 620, panels.PLOT
    across, up = panels.size(film)
    tall = min(round(wide * up / across), wide)
    high = max(tall + 74, 2 * (low + 44) + PAD)
    right, half = wide + 4 * PAD, (high - PAD) / 2
    shades = panels.strip(film, [frame])
    parts = [
        *_panel(PAD, PAD, wide, high, "Decision boundary", shown["right"]),
        panels.boundary(film, frame, shades, 1, _place(2 * PAD, PAD + 36, wide, tall)),
        *_legend_row(film, 2 * PAD, PAD + 36 + tall + 20),
        *_panel(right, PAD, narrow, half, "Loss", f"{shown['loss']}, {shown['step']}"),
        panels.loss(film, frame, _place(right + PAD, PAD + 36, narrow, low)),
    ]
    if film.layers:
        top = 2 * PAD + half
        parts += _panel(right, top, narrow, half, "Weights and biases", "")
        parts.append(panels.weights(film, shown["bars"], _place(right + PAD, top + 36, narrow, low)))
    width, height = right + narrow + 3 * PAD, high + 2 * PAD
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" role="img" '
            f'viewBox="0 0 {width:g} {height:g}" aria-label="{escape(clean(film.title))}">',
            f"<desc>{escape(shown['says'])}</desc><style>{asset('training/movie.css')}</style>",
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
        x += 27 + 7.2 * len(text) + 14  # about the width of a character
    return parts


def _legend(film: Recording) -> list[tuple[str, str]]:
    """(icon, meaning) pairs, as markup."""
    first, second = (name.replace("-", "\u2212") for name in film.classes)
    low, middle, high = map(panels.plain, film.levels)
    icons = [
        ('<circle class="first" cx="11" cy="7" r="5"/>', f"class {first}"),
        ('<path class="second" d="M11 1l6 11h-12z"/>', f"class {second}"),
        ('<path class="line" d="M0 7h22"/>', f"score {middle}"),
        ('<path class="line margin" d="M0 7h22"/>', f"margins {low} and {high}"),
    ]
    return [(f'<svg viewBox="0 0 22 14" aria-hidden="true">{icon}</svg>', escape(text)) for icon, text in icons]


def _place(x: float, y: float, width: float, height: float) -> str:
    return f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
