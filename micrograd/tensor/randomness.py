"""Where random numbers come from: `manual_seed`, and the generator that it seeds."""

from __future__ import annotations

import operator
import random

from .optional import np

_generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Seed all random numbers of micrograd, Python's `random` for networks of Values and the package's NumPy generator.

    Use it at the top of a program whose runs are to be equal.

    NumPy's global state (`np.random.seed`) is not used.

    Args:
        seed: an int.

    >>> from micrograd import randn
    >>> manual_seed(0)
    >>> first = randn(2)
    >>> manual_seed(0)
    >>> (first == randn(2)).all()
    np.True_
    """
    global _generator
    fresh = np.random.default_rng(operator.index(seed))
    random.seed(operator.index(seed))
    _generator = fresh


def generator(rng: np.random.Generator | None = None) -> np.random.Generator:
    """The generator to draw from: `rng`, or by default the package's."""
    if rng is None:
        return _generator
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a NumPy Generator, found {type(rng).__name__}: np.random.default_rng(seed) is one"
        )
    return rng
