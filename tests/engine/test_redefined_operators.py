"""A rule means the engine's operators, whatever a user's class does with those signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import micrograd
from micrograd import Value, grad
from micrograd.scalars import ops

BINARY = {"add": ops.add, "sub": ops.sub, "mul": ops.mul, "truediv": ops.div, "pow": ops.pow}
SIGNS = [f"__{side}{name}__" for name in BINARY for side in ("", "r")] + ["__neg__", "__abs__"]
ROWS = {**ops.TABLE, "power": ops.power(3), "root": ops.power(0.5)}


def tenfold(name: str) -> Callable[..., Any]:
    """The operator of this name, times ten."""
    of_value = getattr(Value, name)

    def method(self: Any, *others: Any) -> Any:
        out = of_value(self, *others)
        return ops.add(out, ops.mul(out, 9.0))

    return method


Tenfold = type("Tenfold", (Value,), {name: tenfold(name) for name in SIGNS})


def derivatives(kind: type[Value], row: Any) -> list[float]:
    """The derivatives of a row up to the third, at a point without a kink, and what two passes leave in `.grad`."""
    points = [kind(x + (row is ops.TABLE.get("arccosh"))) for x in ((0.3,) if row.to_b is None else (0.3, 0.7))]
    found, ys = [], [row(*points)]
    for _ in range(3):
        ys = [g for y in ys for g in grad(y, points, create_graph=True, allow_unused=True) if g is not None]
        found += [g.data for g in ys]
        ys = [g for g in ys if g.requires_grad]
    for _ in range(2):
        row(*points).backward(create_graph=True)
    return found + [float(x.grad) for x in points]


@pytest.mark.filterwarnings("ignore:no gradient flows")
@pytest.mark.parametrize("name", ROWS)
def test_derivatives_of_any_order_are_those_of_a_value(name: str):
    assert derivatives(Tenfold, ROWS[name]) == derivatives(Value, ROWS[name])


def test_edges_of_ieee_754_are_those_of_a_value():
    x = Tenfold(0.0)
    ops.div(1.0, x).backward()
    assert x.grad == -float("inf")


def test_operator_that_is_redefined_is_used_where_the_user_writes_it():
    class Times(Value):
        def __mul__(self, other: Any) -> Any:
            return ops.mul(ops.mul(self, other), 10.0)

    x = Times(2.0)
    y = x * x  # 10 x^2
    (slope,) = grad(y, x, create_graph=True)
    assert (y.data, slope.data, grad(slope, x)) == (40.0, 40.0, (20.0,))


def test_derivatives_of_a_subclass_of_tensor_are_those_of_a_tensor():
    class Tenfolds(micrograd.Tensor):
        def __rmul__(self, other: Any) -> Any:
            return 10 * (other * micrograd.Tensor(self.data))

        def __truediv__(self, other: Any) -> Any:
            return super().__truediv__(other) * 10

        def __pow__(self, other: Any) -> Any:
            return super().__pow__(other) * 10

    def second(kind: Any) -> list[float]:
        x, y = kind([2.0, 3.0], requires_grad=True), kind([4.0, 5.0], requires_grad=True)
        out = ops.add(ops.div(x, y), ops.add(ops.mul(x, y), ops.power(3)(x))).sum()
        slopes = grad(out, [x, y], create_graph=True)
        return [part.tolist() for part in grad(sum(slope.sum() for slope in slopes), [x, y])]

    assert second(Tenfolds) == second(micrograd.Tensor)
