"""What is wrong with a state that is to be loaded into a module, an optimizer or a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any


def misnamed(state: Any, needed: Mapping[str, Any]) -> list[str]:
    """The problems of a state that is to be a dict with these names."""
    if not isinstance(state, Mapping):
        return [f"found {type(state).__name__}, needed a dict"]
    return [f"{name} is missing" for name in needed if name not in state] + [
        f"{name} is unexpected" for name in state if name not in needed
    ]


def unfit(x: Any, like: Any) -> str:
    """Why x cannot take the place of a number or of an array, as a sentence without a subject; "" if it can."""
    if not hasattr(like, "dtype"):
        return "" if isinstance(x, Real) and not isinstance(x, bool) else f"is a {type(x).__name__}, not a number"
    if not hasattr(x, "dtype"):
        return f"is a {type(x).__name__}, not an array"
    if x.shape != like.shape:
        return f"has shape {x.shape}, not {like.shape}"
    return "" if x.dtype <= like.dtype else f"has dtype {x.dtype}, which does not fit into {like.dtype} without loss"


def refuse(problems: list[str]) -> None:
    """Raise a ValueError that lists the problems, if there are any. Call it before anything is loaded."""
    if problems:
        raise ValueError(f"this state does not fit, and nothing was loaded: {'; '.join(problems)}")
