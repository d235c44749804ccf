"""Programs that hypothesis draws, of all rows: those that the hunt runs in every way there is."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import ops_list
import tensor_ops_list
from hypothesis import assume
from hypothesis import strategies as st

from micrograd import Tensor, Value

torch: Any = None
with contextlib.suppress(ImportError):
    import torch

SHAPES = [(2, 3), (3,), (), (3, 2), (2, 1, 3), (3, 3), (2, 3, 2), (1, 3)]
place = st.integers(0, 7)


class Program(NamedTuple):
    """Ops, each with the places of its operands among what was computed before; and the leaves that it starts from."""

    steps: list[tuple[Any, list[int]]]
    leaves: list[np.ndarray]

    def __call__(self, *xs: Any) -> Any:
        """All that is computed, added up with a weight each."""
        made = list(xs)
        for op, places in self.steps:
            made.append(op.call(*(tamed(op, i, made[p]) for i, p in enumerate(places))))
        return sum((k + 1) * (v if isinstance(v, Value) else v.sum()) for k, v in enumerate(made))

    def in_torch(self, *xs: Any) -> Any:
        made = list(xs)
        for op, places in self.steps:
            made.append(op.in_torch(torch, *(tamed(op, i, made[p]) for i, p in enumerate(places))))
        return sum((k + 1) * v.sum() for k, v in enumerate(made))

    def __repr__(self) -> str:
        names = [f"{op.name}{tuple(places)}" for op, places in self.steps]
        return f"Program of {[a.shape for a in self.leaves]}: {', '.join(names)}"


def tamed(op: Any, i: int, x: Any) -> Any:
    """The operand, brought into the domain of the op."""
    low, high = op.domain[min(i, len(op.domain) - 1)]
    return x if low == -high else low + (high - low) * x.sigmoid()


def fits(op: Any, operands: Sequence[Any], out: Any) -> bool:
    """Is it small, smooth and finite here, and an op of PyTorch's for these shapes too?"""
    arrays = [np.asarray(x.data) for x in operands]
    near = (abs(a - k).min(initial=1) for a in arrays for k in getattr(op, "kinks", ()))
    kinks = [op.kink(*map(float, arrays))] if hasattr(op, "kink") else list(near)
    if op.name.startswith("norm"):  # that of zeros has no derivative
        kinks.append(np.min(abs(np.asarray(out.data)), initial=1))
    size = np.max(abs(np.asarray(out.data)), initial=0)
    return (
        min(kinks, default=1) > 1e-3
        and size < 30
        and np.size(out.data) < 200
        and runs_in_torch(op, arrays, np.shape(out.data))
    )


def runs_in_torch(op: Any, arrays: list[np.ndarray], shape: tuple[int, ...]) -> bool:
    try:
        theirs = torch and op.in_torch(torch, *map(torch.tensor, arrays))
        return torch is None or (bool(theirs.isfinite().all()) and theirs.shape == shape)
    except (RuntimeError, IndexError, ValueError, TypeError, ZeroDivisionError):
        return False


OPS: dict[type, Sequence[Any]] = {Value: [op for op in ops_list.OPS if op.torch], Tensor: tensor_ops_list.OPS}


@st.composite
def programs(draw: st.DrawFn, kind: type) -> Program:
    """A program of these ops, of which the steps that do not fit are left out; its first and last leaf are alike."""
    first, second = (() if kind is Value else draw(st.sampled_from(SHAPES)) for _ in range(2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    program = Program([], [rng.uniform(-1.5, 1.5, shape) for shape in (first, second, first)])
    made: list[Any] = [node(kind, a, False) for a in program.leaves]
    for k, *places in draw(
        st.lists(st.tuples(st.integers(0, len(OPS[kind]) - 1), place, place), min_size=1, max_size=12)
    ):
        op = OPS[kind][k]
        count = len(op.shapes[0]) if kind is Tensor else len(op.domain)
        places = [len(made) - 1 - p % len(made) for p in (places * 2)[:count]]
        try:
            operands = [tamed(op, i, made[p]) for i, p in enumerate(places)]
            out = op.call(*operands)
        except (ValueError, IndexError, TypeError):
            continue
        if fits(op, operands, out):
            made.append(out)
            program.steps.append((op, places))
    assume(program.steps)
    return program


def node(kind: type, a: np.ndarray, requires_grad: bool = True) -> Any:
    return kind(float(a) if kind is Value else a, requires_grad=requires_grad)


# ---------------------------------------------------------------------------------------------------------------------
# Programs of integers, at the borders of their dtypes

DTYPES = ["?", *(f"{order}{kind}{n}" for order in "<>" for kind in "iu" for n in (1, 2, 4, 8))]
BORDERS = [0, 1, 2, 3, 7, 100, 2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**62, 2**63]
BORDERS = [n + step for n in BORDERS for step in (-1, 0)] + [-n for n in BORDERS]
OF_INTEGERS = [np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.maximum, np.minimum, np.less]
OF_INTEGERS += [np.greater_equal, np.equal, np.not_equal, np.negative, np.absolute, np.sign]
OF_INTEGERS += [lambda a: a.sum(0), lambda a: a.cumsum(1), lambda a: a.max(1), lambda a: a**3, lambda a: a @ a.T]
OF_INTEGERS += [lambda a: a.clip(None, 5), lambda a: a.sort(0) if isinstance(a, Tensor) else np.sort(a, 0)]


class Integers(NamedTuple):
    """The same of integers: it returns all that is computed."""

    steps: list[tuple[Any, list[int]]]
    leaves: list[np.ndarray]

    def __call__(self, *xs: Any) -> list[Any]:
        made = list(xs)
        for op, places in self.steps:
            made.append(op(*(made[p] for p in places)))
        return made[len(xs) :]


@st.composite
def integers(draw: st.DrawFn, most: float = math.inf) -> Integers:
    """A program of integers of any dtypes and byte orders; steps with numbers beyond `most` are left out."""
    leaves = [borders(draw, draw(st.sampled_from(DTYPES)), most) for _ in range(3)]
    program, made = Integers([], leaves), list(leaves)
    for op, *places in draw(st.lists(st.tuples(st.sampled_from(OF_INTEGERS), place, place), min_size=1, max_size=12)):
        places = [p % len(made) for p in places[: getattr(op, "nin", 1)]]
        try:
            out = np.asarray(op(*(made[p] for p in places)))
            unwrapped = np.asarray(op(*(made[p].astype(float) for p in places)) if out.dtype.itemsize == 8 else out)
        except (TypeError, ValueError):
            continue
        too_large = (abs(out.astype(float)) > most) | (abs(unwrapped.astype(float)) > most)
        if out.dtype.kind in "iub" and out.shape == (2, 3) and not too_large.any():
            made.append(out)
            program.steps.append((op, places))
    assume(program.steps)
    return program


def borders(draw: st.DrawFn, dtype: str, most: float) -> np.ndarray:
    low, high = (0, 1) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    numbers = [n for n in BORDERS if low <= n <= high and abs(n) <= most]
    return np.array(draw(st.lists(st.sampled_from(numbers), min_size=6, max_size=6)), dtype).reshape(2, 3)


def doubled(kind: type, name: str) -> Program:
    """An op of the first and the third leaf, which may be one node: half of its gradient was lost."""
    op = next(op for op in OPS[kind] if op.name == name)
    return Program([(op, [0, 2])], [np.array(2.0), np.array(3.0), np.array(2.0)])


def nodes(program: Program) -> list[Any]:
    return [node(Value if program.steps[0][0] in OPS[Value] else Tensor, a) for a in program.leaves]
