"""Argument and state checks of optimizers and schedules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Real
from types import MethodType
from typing import Any

from ..common.words import KeywordsChecked
from ..engine.modes import listener, modes_on
from ..scalars.kinds import is_node


class Settings(KeywordsChecked):
    """Base class of optimizers and schedules, whose settings must not change while `compile` traces a function."""

    def __setattr__(self, name: str, setting: Any) -> None:
        if modes_on and name[0] != "_":
            listener().change(f"the {name} of {type(self).__name__}")
        super().__setattr__(name, setting)


def parameters_of(params: Any, who: str) -> list[Any]:
    """The parameters as a non-empty list of distinct, trainable leaves; raises otherwise."""
    refusal = f"{who} needs a list of parameters, found"
    if hasattr(params, "parameters"):
        raise TypeError(f"{refusal} {type(params).__name__}: pass its .parameters()")
    if isinstance(params, MethodType):
        raise TypeError(f"{refusal} the method {params.__name__} itself: call it, {params.__name__}()")
    if is_node(params) or isinstance(params, (Mapping, Set, str)) or not isinstance(params, Iterable):
        raise TypeError(f"{refusal} {type(params).__name__}: put the parameters in a list")
    listed = list(params)
    if not listed:
        raise ValueError(f"{refusal} an empty one: there is nothing to train")
    seen: set[Any] = set()
    for i, p in enumerate(listed):
        name = f"parameter {i} of {who}"
        if not is_node(p):
            raise TypeError(f"{name} is a {type(p).__name__}, not a Value or a Tensor: plain numbers cannot be trained")
        if not p.requires_grad:
            raise ValueError(f"{name} is a constant, {p!r}: make it with requires_grad=True, or leave it out")
        if not p.is_leaf:
            raise ValueError(f"{name} is the result of '{p._op}': train its operands, or a leaf made from its detach()")
        if p in seen:
            raise ValueError(f"{name} is in the list twice: it would be updated twice per step")
        seen.add(p)
    return listed


def parts_of(state: Any) -> tuple[Mapping[str, Any], Sequence[Any]]:
    """The settings, and the states of the parameters, in the state dict of an optimizer."""
    match state:
        case {"settings": Mapping() as settings, "state": list() | tuple() as states, **rest} if not rest:
            return settings, states
    raise ValueError("no state of an optimizer: it needs a dict 'settings' and a list 'state', as state_dict() gives")


def why_not_count(x: Any) -> str:
    """Why x is no count of steps, as a sentence without a subject; "" if it is."""
    return "" if type(x) is int and x >= 1 else f"is {x!r:.50}, not a count from 1 on"


def not_negative(setting: Any, name: str) -> float:
    """The setting as a float; raises if it is negative, or no number."""
    if isinstance(setting, bool) or not isinstance(setting, Real):
        raise TypeError(f"{name} must be a number, found {type(setting).__name__}")
    number = float(setting)
    if not number >= 0:
        raise ValueError(f"{name} must not be below 0, found {setting}")
    return number


def steps(n: Any, name: str) -> int:
    """The number of steps n; raises if it is not a positive integer."""
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"{name} must be a whole number of steps, at least 1; found {n!r}")
    return n
