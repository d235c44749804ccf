"""The points that the training page learns: (inputs, answer), within about 1.5 of the origin."""

import math
import random
from collections.abc import Callable, Iterator

Point = tuple[tuple[float, ...], float]


def moons(n: int, noise: float, rng: random.Random) -> Iterator[Point]:
    """Two half circles that reach into each other, the upper one is -1 and the lower one 1, as in scikit-learn."""
    for i in range(n):
        angle, side = math.pi * (i // 2 + 0.5) / (n / 2), 1 - 2 * (i % 2)
        x, y = 0.85 * side * (math.cos(angle) - 0.5), 0.85 * side * (math.sin(angle) - 0.25)
        yield (x + rng.gauss(0, noise), y + rng.gauss(0, noise)), -side


def circles(n: int, noise: float, rng: random.Random) -> Iterator[Point]:
    """A ring (1) around another (-1)."""
    for i in range(n):
        angle, side = 2 * math.pi * (i // 2) / (n / 2), 2 * (i % 2) - 1
        radius = 0.9 + 0.4 * side + rng.gauss(0, noise)
        yield (radius * math.cos(angle), radius * math.sin(angle)), side


def xor(n: int, noise: float, rng: random.Random) -> Iterator[Point]:
    """Four squares like those of a chessboard: 1 where the coordinates have one sign, else -1."""
    for i in range(n):
        x, y = (sign * rng.uniform(0.15, 1.3) for sign in ((-1, -1), (1, 1), (-1, 1), (1, -1))[i % 4])
        yield (x + rng.gauss(0, noise), y + rng.gauss(0, noise)), 1 if i % 4 < 2 else -1


def spiral(n: int, noise: float, rng: random.Random) -> Iterator[Point]:
    """Two arms, each a turn and a quarter; -1 and 1."""
    for i in range(n):
        along, side = math.sqrt(0.04 + 0.96 * (i // 2) / (n / 2)), 1 - 2 * (i % 2)
        angle, radius = 2.5 * math.pi * along, 1.45 * side * along
        x, y = radius * math.cos(angle), radius * math.sin(angle)
        yield (x + rng.gauss(0, noise / 2), y + rng.gauss(0, noise / 2)), side


def three(n: int, noise: float, rng: random.Random) -> Iterator[Point]:
    """Three bent arms around the origin; 0, 1 and 2."""
    for i in range(n):
        along, arm = 0.15 + 0.85 * (i // 3) / (n / 3), i % 3
        angle, radius = 2 * math.pi * arm / 3 + 1.8 * along, 1.4 * along
        x, y = radius * math.cos(angle), radius * math.sin(angle)
        yield (x + rng.gauss(0, noise), y + rng.gauss(0, noise)), arm


def wave(n: int, noise: float, rng: random.Random) -> Iterator[Point]:
    """A curve: the answer is a number, for one input."""
    for i in range(n):
        x = 3 * (i + 0.5) / n - 1.5
        yield (x,), 0.8 * math.sin(2.6 * x) + 0.3 * x + rng.gauss(0, noise)


DATA: dict[str, Callable[[int, float, random.Random], Iterator[Point]]] = {
    "moons": moons,
    "circles": circles,
    "xor": xor,
    "spiral": spiral,
    "three classes": three,
    "a curve": wave,
}
OWN = "your own"  # the text has them
KINDS = {name: {"three classes": "classes", "a curve": "number"}.get(name, "sign") for name in DATA}  # of answers
KINDS[OWN] = "own"
