"""Drawings that take the size of their place: their elements are placed by percentages, and texts keep their size.

Paths cannot use percentages, so they are in a nested element, in units of `size`.
"""

from collections.abc import Iterable

Box = tuple[float, float, float, float]  # x, y, width, height
MARGINS = {"loss": (12, 12, 28, 46), "layer": (24, 10, 40, 10), "network": (32, 32, 44, 32)}  # top, right, bottom, left


def size(panel: str, box: Box | None) -> tuple[float, float]:
    """Width and height of the drawing without its margins; without a box, 1000 units each, which the page stretches."""
    top, right, bottom, left = MARGINS[panel]
    return (box[2] - left - right, box[3] - top - bottom) if box else (1000, 1000)


def drawing(panel: str, label: str, parts: Iterable[str], box: Box | None, more: str = "", style: str = "") -> str:
    """A drawing in a box of a picture, or as wide as its element of a page; texts may extend into its margins."""
    top, right, bottom, left = MARGINS[panel]
    wide, high = size(panel, box)
    if box:
        more += f' x="{box[0] + left:g}" y="{box[1] + top:g}" width="{wide:g}" height="{high:g}"'
    else:
        style += f"margin:{top}px {right}px {bottom}px {left}px;width:calc(100% - {left + right}px)"
    return f'<svg class="{panel}"{more} style="{style}" aria-label="{label}">{"".join(parts)}</svg>'


def paths(panel: str, box: Box | None, name: str, *parts: str) -> str:
    """The nested element of a drawing that is in units."""
    wide, high = size(panel, box)
    view = f'viewBox="0 0 {wide:g} {high:g}" preserveAspectRatio="none"'
    return f'<svg class="{name}" {view}>{"".join(parts)}</svg>'
