"""The names that the language models of lessons 17 to 19 learn from, and their letters as numbers."""

import names
import numpy as np

LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the dot, number 0, marks where a name begins and ends
PLACES = 12  # the longest name has eleven letters, and one mark


def read_names(seed: int = 17) -> tuple[list[str], list[str], list[str]]:
    """First names of the US census of 1990: a training set, a validation set and a test set (80, 10 and 10 %)."""
    found = set()
    for which in ("first:female", "first:male"):
        with open(names.FILES[which], encoding="ascii") as lines:
            found |= {line.split()[0].lower() for line in lines}
    shuffled = np.random.default_rng(seed).permutation(sorted(found)).tolist()
    tenth = len(shuffled) // 10
    return shuffled[2 * tenth :], shuffled[tenth : 2 * tenth], shuffled[:tenth]


def tokens(name: str) -> list[int]:
    """The numbers of its letters, between two marks: tokens("ada") is [0, 1, 4, 1, 0]."""
    return [LETTERS.index(letter) for letter in f".{name}."]


def numbered(names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The letters that are read, those that follow, and 1 where a letter counts: three arrays (names, PLACES).

    For "al": read . a l, and tell a l . instead. What lies behind the end is 0, and does not count.
    """
    rows, counts = np.zeros((len(names), PLACES + 1), int), np.zeros((len(names), PLACES))
    for row, count, name in zip(rows, counts, names, strict=True):
        row[: len(name) + 2] = tokens(name)
        count[: len(name) + 1] = 1
    return rows[:, :-1], rows[:, 1:], counts
