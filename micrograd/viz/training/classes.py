"""How classes of points look in plots, in movies and on the site's live pages: one table of colours and shapes.

Blue is above zero and orange below, as in all pictures, so that the two sides of a boundary are the signs of the score.
Of more classes, none is blue or orange. They differ in their shapes too. The colours themselves are in palette.css.
"""

from typing import Any, NamedTuple


class Shape(NamedTuple):
    """The shape of a class's points: what they are called, their sign in a text, matplotlib's marker, and their element
    of SVG, whose outline is drawn around the origin.
    """

    name: str
    sign: str
    marker: str
    element: str
    outline: str


SIDES = "--below-fill", "--above"  # of two classes, the colours by their names in palette.css
MANY = "--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6"  # of more
SHAPES = (
    Shape("circles", "●", "o", "circle", 'r="10"'),
    Shape("triangles", "▲", "^", "path", 'd="M0-13l12 21h-24z"'),
    Shape("squares", "■", "s", "path", 'd="M-9-9h18v18h-18z"'),
    Shape("diamonds", "◆", "D", "path", 'd="M0-13l11 13-11 13-11-13z"'),
    Shape("triangles that point down", "▼", "v", "path", 'd="M0 13l12-21h-24z"'),
    Shape("pluses", "✚", "P", "path", 'd="M-4-11h8v7h7v8h-7v7h-8v-7h-7v-8h7z"'),
    Shape("crosses", "✖", "X", "path", 'd="M-10-6l4-4 6 6 6-6 4 4-6 6 6 6-4 4-6-6-6 6-4-4 6-6z"'),
)


def shape(place: int) -> Shape:
    """The shape of a class."""
    return SHAPES[place % len(SHAPES)]


def hue(place: Any) -> Any:
    """The place in `MANY` of a class's colour, or of an array of them. Where shapes repeat, each has another."""
    return (place + place // len(SHAPES)) % len(MANY)
