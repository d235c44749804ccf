"""Programs that hypothesis draws, of all rows: those that the hunt runs in every way there is."""

from __future__ import annotations

import contextlib
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


def doubled(kind: type, name: str) -> Program:
    """An op of the first and the third leaf, which may be one node: half of its gradient was lost."""
    op = next(op for op in OPS[kind] if op.name == name)
    return Program([(op, [0, 2])], [np.array(2.0), np.array(3.0), np.array(2.0)])


def nodes(program: Program) -> list[Any]:
    return [node(Value if program.steps[0][0] in OPS[Value] else Tensor, a) for a in program.leaves]
