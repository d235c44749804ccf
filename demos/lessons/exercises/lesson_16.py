"""The exercises of lesson 16."""

from typing import Any

import numpy as np
from check import exercise, function, kind, number_exercise, shape

from micrograd.functional import conv2d


@exercise("16.1", of=shape)
def _(found: tuple[int, ...]) -> str | None:
    if found == (8, 28, 28):
        return None
    if found[1:] == (32, 32):
        return "there is no padding here: where can the middle of a filter with five rows not be?"
    if len(found) != 3:
        return "one axis is missing: each of the 8 filters makes a picture, so there are channels, rows and columns"
    if found[1:] == (5, 5):
        return "5 is the size of the filter; how many places are there for it, in 32 rows?"
    if found[1:] == (27, 27):
        return "32 - 5 is nearly right: a filter with one row would have 32 places, not 31"
    if found[1:] == (28, 28):
        return "the rows and columns are right; the channels of the output are the filters"
    return "first the number of filters, then the rows and the columns that are left"


number_exercise(
    "16.2",
    4640,
    {
        4608: "each of the 32 filters has a bias too",
        9: "those are the weights of one filter for one channel; there are 16 channels and 32 filters",
        4609: "each filter has its own bias, and there are 32 filters",
        16 * 32: "those are the pairs of a channel and a filter; each pair has 3 by 3 weights, and each filter a bias",
        16 * 32 * 3: "a filter of size 3 has 3 by 3 weights for each channel",
        16 * 32 * 3 + 32: "a filter of size 3 has 3 by 3 weights for each channel",
        320: "each filter looks at all 16 channels, with nine weights for each",
        288: "each filter looks at all 16 channels, with nine weights for each, and has a bias",
        144: "those are the weights of one filter",
        145: "those are the numbers of one filter",
    },
    "not {:g}: (weights of one filter + 1) times 32",
    tolerance=0,
)


@exercise("16.3")
def _(found: Any) -> str | None:
    try:
        weights = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        return f"three rows of three numbers are needed here; found {kind(found)}"
    if weights.shape != (3, 3):
        return f"three rows of three numbers are needed here; found the shape {weights.shape}"
    picture = np.random.default_rng(19).random((8, 8))
    moved = conv2d(picture[None], weights[None, None], padding=1).numpy()[0]
    if np.allclose(moved[:, 1:], picture[:, :-1]):
        return None
    if np.allclose(moved, picture):
        return "that leaves the picture as it is: whose value should a pixel take?"
    if np.allclose(moved[:, :-1], picture[:, 1:]):
        return "that moves it to the left: a pixel has to take the value of its left neighbour"
    if np.allclose(moved[1:], picture[:-1]) or np.allclose(moved[:-1], picture[1:]):
        return "that moves it up or down: the columns of the filter are left and right"
    if (count := np.count_nonzero(weights)) != 1:
        return f"{count} of your nine numbers are not 0, so {count} pixels are mixed; a pixel should take one value"
    if weights.sum() != 1:
        return f"the picture becomes {weights.sum():g} times as bright: the number should be 1"
    return "nine numbers, one of them 1 and the others 0: that moves it along a diagonal"


@exercise("16.4", of=function)
def _(pooled: Any) -> str | None:
    picture = np.random.default_rng(19).standard_normal((6, 8))
    found = pooled(picture)
    if np.shape(found) != (3, 4):
        return f"6 by 8 pixels become 3 by 4; found {kind(found) if found is None else np.shape(found)}"
    wanted = np.array([[picture[i : i + 2, j : j + 2].max() for j in (0, 2, 4, 6)] for i in (0, 2, 4)])
    if np.allclose(np.asarray(found, dtype=float), wanted):
        return None
    found, blocks = np.asarray(found, dtype=float), picture.reshape(3, 2, 4, 2)
    for wrong, why in (
        (picture[::2, ::2], "that takes the first pixel of each block, whatever the other three are"),
        (picture[1::2, 1::2], "that takes the last pixel of each block, whatever the other three are"),
        (blocks.mean((1, 3)), "that is the mean of each block; it should be the largest"),
        (blocks.sum((1, 3)), "that is the sum of each block; it should be the largest"),
        (blocks.min((1, 3)), "that is the smallest of each block"),
        (picture.reshape(3, 4, 2, 2).max((2, 3)), "the four pixels are neighbours in memory: reshape to (3, 2, 4, 2)"),
    ):
        if np.allclose(found, wrong):
            return why
    return "each number should be the largest of one block of two by two pixels"


number_exercise(
    "16.5",
    7,
    {
        3: "that is one layer; each further one sees a row more on either side",
        6: "each further layer adds a row on both sides, so 2 rows",
        8: "each further layer adds one row on both sides: 3, 5, and then?",
        9: "the second layer adds one pixel on each side, not a whole filter",
        27: "they do not multiply: each layer adds one pixel on each side",
        5: "that is after two layers",
        49: "that is the number of pixels; the question is about rows",
    },
    "not {:g}: three rows, and one more on each side with every further layer",
    tolerance=0,
)


@exercise("16.6", of=function)
def _(augmented: Any) -> str | None:
    images = np.random.default_rng(166).uniform(0.5, 1, size=(300, 1, 5, 6))
    given = images.copy()
    found = np.asarray(augmented(images, np.random.default_rng(1)))
    if not np.array_equal(images, given):
        return "the argument has changed: write into a new array"
    if found.shape != images.shape:
        return f"the result has the shape of the images, {images.shape}; yours has {found.shape}"
    wide = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = {(d, r): wide[:, :, d : d + 5, r : r + 6] for d in range(3) for r in range(3)}
    drawn = [
        next((move for move, moved in moves.items() if np.array_equal(moved[i], found[i])), None) for i in range(300)
    ]
    wrong = drawn.count(None)
    round_about = [np.roll(images, (d, r), (2, 3)) for d in (-1, 0, 1) for r in (-1, 0, 1)]
    if wrong and all(any(np.array_equal(rolled[i], found[i]) for rolled in round_about) for i in range(300)):
        return "the images come in again on the other side; there should be zeros"
    if wrong and (found > 0).all():
        return "nothing is 0 at the border: what comes in there should be zeros, not copies of the pixels beside it"
    if wrong:
        return f"{wrong} of 300 images are not moved by at most one row and one column, with zeros at the border"
    if set(drawn) == {(1, 1)} and np.array_equal(augmented(images, np.random.default_rng(2)), images):
        return "no image has moved"
    if len(set(drawn)) == 1:
        return "all images are moved alike: draw for each of them"
    if len(set(drawn)) < 9:
        return f"only {len(set(drawn))} of the nine moves occur: draw rows and columns separately, from -1, 0 and 1"
    again = np.asarray(augmented(images, np.random.default_rng(1)))
    return None if np.array_equal(again, found) else "the same rng gives another result: draw with rng alone"
