"""Every op on Values gives compiled what it gives eagerly: value, gradient and second derivatives, at the edges too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS, unwatched
from ops_list import OPS, Op

import micrograd
from micrograd import Value, gradient


def results(op: Op, call: Any, point: tuple[float, ...]) -> list[float]:
    """The value and the gradients."""
    values = [Value(x) for x in point]
    out = call(*values)
    if out.requires_grad:
        out.backward()
    return [out.data, *(float(v.grad) for v in values)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("op", OPS, ids=str)
def test_an_op_is_the_same_compiled(op: Op, backend: str):
    compiled = micrograd.compile(op.call, backend=backend)
    edges = [point for point, *_ in op.edges]
    for point in [*op.points(3), *edges]:
        with np.errstate(all="ignore"):
            found = results(op, compiled, point)
        assert found == pytest.approx(results(op, op.call, point), rel=1e-13, abs=1e-300, nan_ok=True), point


@pytest.mark.parametrize("op", OPS, ids=str)
def test_an_op_has_the_same_second_derivatives_compiled(op: Op):
    call = unwatched(op.call)

    def square(*xs: Any) -> Any:
        slopes = gradient(lambda *ys: call(*ys) + sum(0 * y for y in ys))(*xs)
        return sum(g * g for g in (slopes if isinstance(slopes, tuple) else [slopes])) + 0 * xs[0]

    for point in op.points(2):
        found, expected = gradient(micrograd.compile(square))(*point), gradient(square)(*point)
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(
    "function",
    [lambda a, b: a + (b - 1.0), lambda a, b: a + (b + b), lambda a, b: a * (b / a), lambda a, b: b * (a * b)],
)
def test_a_program_computes_in_the_order_that_is_written(function: Any):
    compiled = micrograd.compile(function, backend="python")
    for point in ((1e-20, 1.0), (3e-17, 0.1), (1e300, 1e200), (0.1, 0.7)):
        a, b = map(Value, point)
        assert compiled(a, b).data == function(a, b).data
