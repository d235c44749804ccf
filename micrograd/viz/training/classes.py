"""How classes of points look in plots, in movies and on the site's live pages: one table of colours and shapes.

Of two classes, one is blue and one is orange, as numbers above and below zero are in all pictures, since the side of
the boundary is the sign of the score. Of more classes, none is blue or orange. Classes differ in their shapes too. The
colours themselves are in palette.css.
"""

from typing import Any, NamedTuple


class Shape(NamedTuple):
    """The shape of a class's points: its name in the plural, its sign in a text, matplotlib's marker, and its outline.

    The outline is around the origin. It has a start, and the way from there as an SVG path, empty for a circle.
    """

    name: str
    sign: str
    marker: str
    start: tuple[int, int]
    way: str


SIDES = "--below-fill", "--above"  # the colours of two classes, by their names in palette.css
MANY = "--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6"  # the colours of more classes
SHAPES = (
    Shape("circles", "●", "o", (10, 0), ""),
    Shape("triangles", "▲", "^", (0, -13), "l12 21h-24z"),
    Shape("squares", "■", "s", (-9, -9), "h18v18h-18z"),
    Shape("diamonds", "◆", "D", (0, -13), "l11 13-11 13-11-13z"),
    Shape("triangles that point down", "▼", "v", (0, 13), "l12-21h-24z"),
    Shape("pluses", "✚", "P", (-4, -11), "h8v7h7v8h-7v7h-8v-7h-7v-8h7z"),
    Shape("crosses", "✖", "X", (-10, -6), "l4-4 6 6 6-6 4 4-6 6 6 6-4 4-6-6-6 6-4-4 6-6z"),
)


def shape(index: int) -> Shape:
    """The shape of a class."""
    return SHAPES[index % len(SHAPES)]


def hue(index: Any) -> Any:
    """The index in `MANY` of a class's colour, also for an array of classes. Classes of one shape differ in colour."""
    return (index + index // len(SHAPES)) % len(MANY)
