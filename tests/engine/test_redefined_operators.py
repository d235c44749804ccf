"""A rule means the engine's operators; a class that redefines one has first derivatives alone."""

from __future__ import annotations

from typing import Any

import pytest

from micrograd import Tensor, Value, grad
from micrograd.scalars import ops


def redefining(base: type, name: str) -> type:
    """A class whose operator of this name gives ten times as much."""
    of_base = getattr(base, f"__{name}__")
    return type("Tenfold", (base,), {f"__{name}__": lambda self, *other: ops.mul(of_base(self, *other), 10.0)})


def leaf(kind: Any, x: float) -> Any:
    return kind(x, requires_grad=True)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "neg", "radd", "rmul"])
@pytest.mark.parametrize("base", [Value, Tensor])
def test_redefined_operator_has_a_first_derivative_and_no_second(base: type, name: str):
    kind = redefining(base, name)
    x, y = leaf(kind, 3.0), leaf(kind, 2.0)
    out = ops.div(x, y)
    assert grad(out, [x, y], retain_graph=True) == (0.5, -0.75)
    with pytest.raises(TypeError, match=rf"Tenfold redefines __{name}__.*give the method another name"):
        grad(out, [x, y], create_graph=True)
    assert (x.grad, y.grad) in [(0, 0), (None, None)]


@pytest.mark.parametrize("base", [Value, Tensor])
def test_gradient_of_a_class_that_redefines_an_operator_is_refused_in_a_recorded_pass(base: type):
    x, seed = leaf(base, 3.0), leaf(redefining(base, "mul"), 2.0)
    with pytest.raises(TypeError, match="redefines __mul__"):
        (x * x).backward(seed, create_graph=True)


def test_operator_that_is_redefined_is_used_where_the_user_writes_it():
    x = redefining(Value, "mul")(2.0)
    y = x * x  # 10 x^2
    assert (y.data, grad(y, x)) == (40.0, (40.0,))


@pytest.mark.parametrize("base", [Value, Tensor])
def test_subclass_with_other_methods_has_derivatives_of_any_order(base: type):
    kind = type("Named", (base,), {"twice": lambda self: self * 2})
    x = leaf(kind, 3.0)
    (slope,) = grad(x.twice() * x, x, create_graph=True)
    assert grad(slope, x) == (4.0,)
