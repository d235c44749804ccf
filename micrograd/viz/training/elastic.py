"""Drawings that take the size of their place: what is in them is placed by percentages, and type keeps its size.

Paths cannot use percentages: they are in a nested element, in units of `size`.
"""

from collections.abc import Iterable

Box = tuple[float, float, float, float]  # x, y, width, height
MARGINS = {"loss": (12, 12, 28, 46), "layer": (24, 10, 40, 10), "network": (32, 32, 44, 32)}  # top, right, bottom, left


def size(kind: str, box: Box | None) -> tuple[float, float]:
    """Width and height of the drawing without its margins; without a box, 1000 units each, which the page stretches."""
    top, right, bottom, left = MARGINS[kind]
    return (box[2] - left - right, box[3] - top - bottom) if box else (1000, 1000)


def drawing(kind: str, says: str, parts: Iterable[str], box: Box | None, more: str = "", style: str = "") -> str:
    """A drawing in a box of a picture, or as wide as its element of a page; type may extend into its margins."""
    top, right, bottom, left = MARGINS[kind]
    wide, high = size(kind, box)
    if box:
        more += f' x="{box[0] + left:g}" y="{box[1] + top:g}" width="{wide:g}" height="{high:g}"'
    else:
        style += f"margin:{top}px {right}px {bottom}px {left}px;width:calc(100% - {left + right}px)"
    return f'<svg class="{kind}"{more} style="{style}" aria-label="{says}">{"".join(parts)}</svg>'


def paths(kind: str, box: Box | None, name: str, *parts: str) -> str:
    """The part of a drawing that is in units."""
    wide, high = size(kind, box)
    view = f'viewBox="0 0 {wide:g} {high:g}" preserveAspectRatio="none"'
    return f'<svg class="{name}" {view}>{"".join(parts)}</svg>'
