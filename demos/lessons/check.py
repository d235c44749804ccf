"""Answers to the exercises, checked offline: `check("1.2", answer)` says that it is right, or what is wrong with it.

An exercise is a function that is given the answer; it returns nothing if that is right, else a hint, a sentence. Those
of lesson 1 stand in exercises/lesson_01.py, and so on; the solutions in the notebooks themselves, folded away.
"""

import importlib
import math
from collections.abc import Callable
from typing import Any

EXERCISES: dict[str, Callable[[Any], str | None]] = {}


def check(exercise: str, answer: Any) -> None:
    """Print whether the answer to an exercise is right, and if not, a hint."""
    lesson = exercise.partition(".")[0]
    try:
        importlib.import_module(name := f"exercises.lesson_{lesson:0>2}")
    except ModuleNotFoundError as error:
        if error.name != name:  # something that it needs is missing
            raise
        raise KeyError(f"there is no lesson {lesson!r}: say which exercise as in '1.2'") from None
    if exercise not in EXERCISES:
        there = [name for name in EXERCISES if name.partition(".")[0] == lesson]
        raise KeyError(f"there is no exercise {exercise!r}; lesson {lesson} has {', '.join(there)}")
    try:
        hint = EXERCISES[exercise](answer)
    except Exception as error:
        hint = f"trying it raised {type(error).__name__}: {error}"
    print(f"{exercise}  ✓ right" if hint is None else f"{exercise}  ✗ {hint}")


def exercise(name: str) -> Callable[[Callable[[Any], str | None]], Callable[[Any], str | None]]:
    """Enter a function as the checker of an exercise."""

    def enter(checker: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
        EXERCISES[name] = checker
        return checker

    return enter


def near(found: Any, wanted: float, tolerance: float = 1e-3) -> bool:
    """Is a number (or a Value) as good as the one that is wanted?"""
    return math.isclose(float(found), wanted, rel_tol=tolerance, abs_tol=tolerance)
