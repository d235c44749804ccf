"""The exercises of lesson 24."""

import math
from itertools import permutations
from typing import Any

import numpy as np
from check import exercise, function, functions, kind, number, number_exercise


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


@exercise("24.5", of=functions(2))
def _(given: Any) -> str | None:
    compressed, total = given
    rng = np.random.default_rng(245)
    for k in (3, 1, 8):
        gradient, left = rng.normal(size=8), rng.normal(size=8)
        before = gradient.copy(), left.copy()
        found = compressed(gradient, left, k)
        if not isinstance(found, tuple | list) or len(found) != 3:
            return f"return the places, the numbers and what is left; found {kind(found)}"
        if not (np.array_equal(gradient, before[0]) and np.array_equal(left, before[1])):
            return "an argument has changed: `left += ...` writes into the array"
        places, numbers, rest = (np.asarray(each) for each in found)
        if places.shape != (k,) or numbers.shape != (k,) or rest.shape != (8,):
            shapes = f"{places.shape}, {numbers.shape}, {rest.shape}"
            return f"with k={k} and 8 numbers the shapes are ({k},), ({k},), (8,); yours are {shapes}"
        whole = gradient + left
        wanted = np.sort(np.argsort(-np.abs(whole))[:k])
        if not np.array_equal(places, wanted):
            orders = {
                "the places should be in rising order": np.argsort(-np.abs(whole))[:k],
                "those are the largest numbers; the largest in size may be negative": np.sort(np.argsort(-whole)[:k]),
                "those are the smallest in size": np.sort(np.argsort(np.abs(whole))[:k]),
                "the places are those of the gradient alone: add what was left first": np.sort(
                    np.argsort(-np.abs(gradient))[:k]
                ),
            }
            known = (why for why, order in orders.items() if np.array_equal(places, order))
            return next(known, f"the {k} largest in size of {whole.round(2)} are at {wanted}, yours at {places}")
        if not np.allclose(numbers, whole[wanted]):
            if np.allclose(numbers, np.abs(whole[wanted])):
                return "the places are right; the numbers have lost their signs"
            return "the places are right; the numbers are those of the gradient and what was left, together"
        sent = np.zeros(8)
        sent[places] = numbers
        if not np.allclose(rest + sent, whole):
            if np.allclose(rest, whole):
                return "what has been sent is still among what is left, so it would be sent again"
            return "something is lost: what is sent and what is left should add up to the gradient and the old rest"
    pairs = [
        (np.array([0, 3]), np.array([1.0, -2.0])),
        (np.array([1, 3]), np.array([0.5, 5.0])),
        (np.array([3]), np.ones(1)),
    ]
    kept = [(places.copy(), numbers.copy()) for places, numbers in pairs]
    found = np.asarray(total([(places, numbers) for places, numbers in pairs], 5))
    if not all(
        np.array_equal(a, b) for pair, was in zip(pairs, kept, strict=True) for a, b in zip(pair, was, strict=True)
    ):
        return "an argument of total has changed"
    if found.shape != (5,):
        return f"the sum has 5 numbers, yours has the shape {found.shape}"
    if np.allclose(found, [1.0, 0.5, 0.0, 1.0, 0.0]):
        return "place 3 was sent by three workers, and the last one replaces the others: write +="
    if np.allclose(found * 3, [1.0, 0.5, 0.0, 4.0, 0.0]):
        return "that is the mean of the workers; the sum is asked for"
    return None if np.allclose(found, [1.0, 0.5, 0.0, 4.0, 0.0]) else f"the sum is [1, 0.5, 0, 4, 0], yours is {found}"
