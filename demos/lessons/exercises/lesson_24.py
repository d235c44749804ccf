"""The exercises of lesson 24."""

import math
from itertools import permutations
from typing import Any

import numpy as np
from check import exercise, function, number, number_exercise


@exercise("24.1", of=function)
def _(share_of_the_mean: Any) -> str | None:
    first, second = [1.0, 2.0, 6.0], [11.0]
    found = number(share_of_the_mean(first, 4)) + number(share_of_the_mean(second, 4))
    if math.isclose(found, 5.0):
        return None
    if math.isclose(found, 14.0):
        return "for the errors 1, 2, 6 and 11 your sum is 14: that is the sum of two means, not the mean of all"
    if math.isclose(found, 20.0):
        return "for the errors 1, 2, 6 and 11 your sum is 20, their sum; a mean is divided by how many there are"
    if math.isclose(found, 7.0):
        return "the mean of the two means gives the 11 as much weight as the other three together"
    return f"for the errors 1, 2, 6 here and 11 there, the mean is 5; the sum of your shares is {found:.4g}"


number_exercise(
    "24.2",
    1_600_000,
    {
        1_000_000: "that would be a whole gradient; a ring has two halves of 4 rounds, with a fifth in each round",
        200_000: "that is one piece, sent in one round; how many rounds are there?",
        4_000_000: "in a ring only a fifth of the gradient is sent in each round, and there are two halves",
        5_000_000: "that is what each would read in our room: a whole gradient from each worker",
        8_000_000: "in a ring only a piece is sent in each round, not a whole gradient",
        800_000: "that is enough to complete the pieces; they must go round too",
        2_000_000: "nearly: of n pieces, each worker sends n - 1 in each half",
    },
    "not {:.4g}: how many rounds, and how much of the gradient in each?",
)


@exercise("24.3", of=function)
def _(sum_of_shards: Any) -> str | None:
    shards = [np.array(row) for row in ([0.1, 1e16], [0.2, 1.0], [0.3, -1e16], [0.4, 1.0])]
    found = [np.asarray(sum_of_shards([(i, shards[i].copy()) for i in order])) for order in permutations(range(4))]
    if any(x.shape != (2,) for x in found):
        return f"arrays of shape (2,) have a sum of that shape, not {found[0].shape}"
    if np.allclose(found[0][0], 0.25):
        return "that is the mean; the sum is asked for"
    if not np.allclose(found[0][0], 1.0):
        return f"the sum of 0.1, 0.2, 0.3 and 0.4 is 1, not {found[0][0]:.4g}"
    if len({x.tobytes() for x in found}) == 1:
        return None
    return "the same arrays in another order give other bits: put them in the order of their numbers first"


number_exercise(
    "24.4",
    36,
    {
        4: "then the two take equally long, and half of the time is spent on sums",
        100: "that is more than enough; which is the smallest?",
        9: "the computing must take 9 times as long as the all-reduce, 200 ms: 50 k >= 9 * 200",
        10: "the all-reduce takes 200 ms, not 50: computing must take 9 times that",
        0.9: "k is how many steps are computed before an average",
        32: "the 90 % are of the whole time, 50 k + 200, not of 50 k alone",
        35: "that is just too few: 50 k has to reach 90 % of 50 k + 200",
        40: "a little too much: waiting may take a tenth of the whole time, not of the computing",
    },
    "not {:.4g}: solve 50 k / (50 k + 200) >= 0.9",
)
