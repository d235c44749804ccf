"""One list of all ops: what each does to Values, what it should be, and where. All tests of ops are driven by it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from mpmath import mp, mpf

from micrograd.scalars import ops

Interval = tuple[float, float]
ANY, POSITIVE, NEGATIVE = (-5.0, 5.0), (0.05, 5.0), (-5.0, -0.05)


@dataclass(frozen=True)
class Op:
    """An op to be tested.

    Args:
        name: the key in `ops.TABLE`, followed by `:variant` where an op stands here more than once.
        call: the op, on Values (and, if `torch` is not given, on PyTorch's tensors).
        reference: the same in mpmath.
        domain: for each operand, the interval from which points are drawn.
        kink: the distance of a point from the nearest place without a derivative.
        torch: the same in PyTorch, called with the module and the operands; None if PyTorch has no such thing.
        edges: special operands, with the result and the first derivatives that IEEE 754 (or a convention) wants there.
    """

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    domain: tuple[Interval, ...] = (ANY,)
    kink: Callable[..., float] = lambda *_: inf
    torch: Callable[..., Any] | str | None = "the same"
    edges: tuple[tuple[tuple[float, ...], float, tuple[float, ...]], ...] = ()

    def __str__(self) -> str:
        return self.name

    def points(self, count: int) -> list[tuple[float, ...]]:
        """Points of the domain, the same in every run, none nearer than 0.02 to a kink."""
        rng = random.Random(self.name)
        found: list[tuple[float, ...]] = []
        while len(found) < count:
            point = tuple(rng.uniform(*interval) for interval in self.domain)
            if self.kink(*point) > 0.02:
                found.append(point)
        return found

    def in_torch(self, torch: Any, *operands: Any) -> Any:
        """The op on PyTorch's tensors."""
        return self.torch(torch, *operands) if callable(self.torch) else self.call(*operands)


def step(a: Any) -> Any:
    """1 above 0, else 0, in mpmath."""
    return mpf(a > 0)


def gelu(a: Any) -> Any:
    """Hendrycks and Gimpel (2016), the tanh form, in mpmath."""
    return a / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (a + mpf(0.044715) * a**3)))


def whole(a: float) -> float:
    """The distance from the nearest whole number."""
    return abs(a - round(a))


def floored(a: Any) -> Any:
    """The greatest whole number up to a, in mpmath."""
    return mp.floor(a)


OPS = [
    Op("add", lambda a, b: a + b, lambda a, b: a + b, (ANY, ANY), edges=(((inf, -inf), nan, (1, 1)),)),
    Op("sub", lambda a, b: a - b, lambda a, b: a - b, (ANY, ANY), edges=(((inf, inf), nan, (1, -1)),)),
    Op("mul", lambda a, b: a * b, lambda a, b: a * b, (ANY, ANY), edges=(
        ((0.0, inf), nan, (inf, 0)),
        ((1e200, 1e200), inf, (1e200, 1e200)),
        ((1e-200, 1e-200), 0, (1e-200, 1e-200)),
    )),
    Op("div", lambda a, b: a / b, lambda a, b: a / b, (ANY, NEGATIVE), edges=(
        ((1e-200, 1e-200), 1, (1e200, -1e200)),
        ((1.0, 0.0), inf, (inf, -inf)),
        ((1.0, -0.0), -inf, (-inf, -inf)),
        ((-1.0, 0.0), -inf, (inf, inf)),
        ((0.0, 0.0), nan, (inf, nan)),
        ((1e300, 1e-300), inf, (1e300, -inf)),
        ((1.0, inf), 0, (0, 0)),
        ((inf, inf), nan, (0, nan)),
    )),
    Op("remainder", lambda a, b: a % b, lambda a, b: a - b * floored(a / b), (ANY, NEGATIVE),
       kink=lambda a, b: whole(a / b), edges=(
        ((1.0, 0.0), nan, (1, -inf)), ((-5.0, inf), inf, (1, 1)), ((5.0, inf), 5, (1, 0)), ((-1.0, 3.0), 2, (1, 1)),
        ((inf, 2.0), nan, (1, nan)),
    )),
    Op("floor_divide", lambda a, b: a // b, lambda a, b: floored(a / b), (ANY, NEGATIVE),
       kink=lambda a, b: whole(a / b), torch=None, edges=(
        ((1.0, 0.0), inf, (0, 0)), ((-1.0, 0.0), -inf, (0, 0)), ((0.0, 0.0), nan, (0, 0)), ((-1.0, inf), -1, (0, 0)),
        ((inf, 2.0), nan, (0, 0)),
    )),
    Op("pow", lambda a, b: a**b, lambda a, b: a**b, (POSITIVE, ANY), edges=(
        ((0.0, 0.0), 1, (0, 0)),
        ((1e-309, 0.0), 1, (0, -711.4987937351601)),
        ((-1e-320, 0.0), 1, (0, nan)),
        ((nan, 0.0), 1, (0, nan)),
        ((0.0, 2.0), 0, (0, 0)),
        ((0.0, 1.0), 0, (1, 0)),
        ((0.0, 0.5), 0, (inf, 0)),
        ((0.0, -1.0), inf, (-inf, -inf)),
        ((-0.0, -2.0), inf, (inf, -inf)),
        ((-8.0, 3.0), -512, (192, nan)),
        ((-8.0, 0.5), nan, (nan, nan)),
        ((1e200, 2.0), inf, (2e200, inf)),
        ((-1e200, 3.0), -inf, (inf, nan)),
    )),
    Op("pow:number_to_value", lambda a: 2.5**a, lambda a: mpf(2.5) ** a, edges=(
        ((1e6,), inf, (inf,)),
        ((-1e6,), 0, (0,)),
    )),
    Op("pow:zero_to_value", lambda a: 0.0**a, lambda a: mpf(0) * a, (POSITIVE,), torch=None, edges=(
        ((0.0,), 1, (0,)),
        ((2.0,), 0, (0,)),
        ((-1.0,), inf, (-inf,)),
    )),
    Op("pow:0", lambda a: a**0, lambda a: mpf(1) + 0 * a, edges=(
        ((0.0,), 1, (0,)), ((inf,), 1, (0,)), ((nan,), 1, (0,)),
    )),
    Op("pow:1", lambda a: a**1, lambda a: a, edges=(((0.0,), 0, (1,)), ((inf,), inf, (1,)))),
    Op("pow:2", lambda a: a**2, lambda a: a**2, edges=(((0.0,), 0, (0,)), ((1e200,), inf, (2e200,)))),
    Op("pow:3", lambda a: a**3, lambda a: a**3, edges=(((0.0,), 0, (0,)), ((-1e200,), -inf, (inf,)))),
    Op("pow:-1", lambda a: a**-1, lambda a: 1 / a, (NEGATIVE,), edges=(
        ((0.0,), inf, (-inf,)), ((-0.0,), -inf, (-inf,)), ((inf,), 0, (0,)),
    )),
    Op("pow:-2.5", lambda a: a**-2.5, lambda a: a ** mpf(-2.5), (POSITIVE,), edges=(
        ((0.0,), inf, (-inf,)), ((-2.0,), nan, (nan,)),
    )),
    Op("pow:0.5", lambda a: a**0.5, mp.sqrt, (POSITIVE,), edges=(
        ((0.0,), 0, (inf,)), ((-8.0,), nan, (nan,)), ((inf,), inf, (0,)), ((-inf,), nan, (nan,)),
    )),
    Op("neg", lambda a: -a, lambda a: -a),
    Op("abs", abs, abs, kink=abs, edges=(((0.0,), 0, (0,)), ((-0.0,), 0, (0,)), ((-inf,), inf, (-1,)))),
    Op("exp", lambda a: a.exp(), mp.exp, edges=(
        ((1000.0,), inf, (inf,)), ((-1000.0,), 0, (0,)), ((inf,), inf, (inf,)), ((-inf,), 0, (0,)),
    )),
    Op("exp2", lambda a: a.exp2(), lambda a: mpf(2) ** a, edges=(((1e4,), inf, (inf,)), ((-inf,), 0, (0,)))),
    Op("expm1", lambda a: a.expm1(), mp.expm1, edges=(
        ((1000.0,), inf, (inf,)), ((-inf,), -1, (0,)), ((1e-300,), 1e-300, (1,)),
        ((-50.0,), -1, (1.9287498479639178e-22,)),
    )),
    Op("log", lambda a: a.log(), mp.log, (POSITIVE,), edges=(
        ((0.0,), -inf, (inf,)), ((-0.0,), -inf, (-inf,)), ((-1.0,), nan, (-1,)), ((inf,), inf, (0,)),
        ((5e-324,), -744.4400719213812, (inf,)),
    )),
    Op("log2", lambda a: a.log2(), lambda a: mp.log(a, 2), (POSITIVE,), edges=(
        ((0.0,), -inf, (inf,)), ((-1.0,), nan, (-1.4426950408889634,)), ((8.0,), 3, (0.18033688011112042,)),
    )),
    Op("log10", lambda a: a.log10(), mp.log10, (POSITIVE,), edges=(
        ((0.0,), -inf, (inf,)), ((-1.0,), nan, (-0.4342944819032518,)), ((inf,), inf, (0,)),
    )),
    Op("log1p", lambda a: a.log1p(), mp.log1p, ((-0.95, 5.0),), edges=(
        ((-1.0,), -inf, (inf,)), ((-2.0,), nan, (-1,)), ((1e-300,), 1e-300, (1,)), ((inf,), inf, (0,)),
    )),
    Op("sqrt", lambda a: a.sqrt(), mp.sqrt, (POSITIVE,), edges=(
        ((0.0,), 0, (inf,)), ((-1.0,), nan, (nan,)), ((inf,), inf, (0,)),
    )),
    Op("square", lambda a: a.square(), lambda a: a * a, edges=(((0.0,), 0, (0,)), ((-1e200,), inf, (-2e200,)))),
    Op("reciprocal", lambda a: a.reciprocal(), lambda a: 1 / a, (NEGATIVE,), edges=(
        ((0.0,), inf, (-inf,)), ((-0.0,), -inf, (-inf,)), ((inf,), 0, (0,)),
    )),
    Op("sin", lambda a: a.sin(), mp.sin, edges=(((inf,), nan, (nan,)), ((-inf,), nan, (nan,)))),
    Op("cos", lambda a: a.cos(), mp.cos, edges=(((inf,), nan, (nan,)), ((-inf,), nan, (nan,)))),
    Op("tan", lambda a: a.tan(), mp.tan, ((-1.5, 1.5),), edges=(((inf,), nan, (nan,)),)),
    Op("arcsin", lambda a: a.arcsin(), mp.asin, ((-0.95, 0.95),), edges=(
        ((1.0,), 1.5707963267948966, (inf,)), ((-1.0,), -1.5707963267948966, (inf,)), ((2.0,), nan, (nan,)),
    )),
    Op("arccos", lambda a: a.arccos(), mp.acos, ((-0.95, 0.95),), edges=(
        ((1.0,), 0, (-inf,)), ((-1.0,), 3.141592653589793, (-inf,)), ((2.0,), nan, (nan,)),
    )),
    Op("arctan", lambda a: a.arctan(), mp.atan, edges=(
        ((inf,), 1.5707963267948966, (0,)), ((1e200,), 1.5707963267948966, (0,)),
    )),
    Op("sinh", lambda a: a.sinh(), mp.sinh, edges=(((1000.0,), inf, (inf,)), ((-1000.0,), -inf, (inf,)))),
    Op("cosh", lambda a: a.cosh(), mp.cosh, edges=(((1000.0,), inf, (inf,)), ((-1000.0,), inf, (-inf,)))),
    Op("arcsinh", lambda a: a.arcsinh(), mp.asinh, edges=(
        ((inf,), inf, (0,)), ((-inf,), -inf, (0,)),
    )),
    Op("arccosh", lambda a: a.arccosh(), mp.acosh, ((1.1, 5.0),), edges=(
        ((1.0,), 0, (inf,)), ((0.5,), nan, (nan,)), ((inf,), inf, (0,)),
    )),
    Op("arctanh", lambda a: a.arctanh(), mp.atanh, ((-0.9, 0.9),), edges=(
        ((1.0,), inf, (inf,)), ((-1.0,), -inf, (inf,)), ((2.0,), nan, (-1 / 3,)),
    )),
    Op("hypot", ops.hypot, mp.hypot, (ANY, NEGATIVE), torch=lambda torch, a, b: torch.hypot(a, b), edges=(
        ((3e200, 4e200), 5e200, (0.6, 0.8)), ((0.0, 0.0), 0, (0, 0)), ((-inf, nan), inf, (nan, nan)),
    )),
    Op("arctan2", ops.arctan2, mp.atan2, (ANY, NEGATIVE),
       kink=lambda a, b: abs(a), torch=lambda torch, a, b: torch.arctan2(a, b), edges=(
        ((0.0, -1.0), 3.141592653589793, (-1, 0)), ((-0.0, -1.0), -3.141592653589793, (-1, 0)),
        ((1e-200, 1e-200), 0.7853981633974483, (5e199, -5e199)), ((0.0, 0.0), 0, (0, 0)),
    )),
    Op("logaddexp", ops.logaddexp, lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), (ANY, ANY),
       torch=lambda torch, a, b: torch.logaddexp(a, b), edges=(
        ((1000.0, 1000.0), 1000.6931471805599, (0.5, 0.5)), ((-inf, 1.0), 1, (0, 1)), ((inf, inf), inf, (nan, nan)),
    )),
    Op("tanh", lambda a: a.tanh(), mp.tanh, edges=(
        ((inf,), 1, (0,)), ((-inf,), -1, (0,)), ((1000.0,), 1, (0,)), ((1e308,), 1, (0,)),
    )),
    Op("sigmoid", lambda a: a.sigmoid(), lambda a: 1 / (1 + mp.exp(-a)), edges=(
        ((inf,), 1, (0,)), ((-inf,), 0, (0,)), ((-1000.0,), 0, (0,)), ((1000.0,), 1, (0,)),
    )),
    Op("softplus", lambda a: a.softplus(), lambda a: mp.log1p(mp.exp(a)),
       torch=lambda torch, a: torch.nn.functional.softplus(a, threshold=50), edges=(
        ((1e4,), 1e4, (1,)), ((-1e4,), 0, (0,)), ((inf,), inf, (1,)), ((-inf,), 0, (0,)),
    )),
    Op("gelu", lambda a: a.gelu(), gelu, ((-4.0, 4.0),),
       torch=lambda torch, a: torch.nn.functional.gelu(a, approximate="tanh"), edges=(
        ((100.0,), 100, (1,)), ((-100.0,), 0, (0,)), ((0.0,), 0, (0.5,)), ((1e300,), 1e300, (1,)), ((-1e300,), 0, (0,)),
        ((inf,), inf, (1,)),
    )),
    Op("relu", lambda a: a.relu(), lambda a: a * step(a), kink=abs, edges=(
        ((0.0,), 0, (0,)), ((-0.0,), 0, (0,)), ((nan,), nan, (1,)), ((inf,), inf, (1,)), ((-inf,), 0, (0,)),
    )),
    Op("leaky_relu", lambda a: a.leaky_relu(), lambda a: a * (step(a) + mpf(0.01) * step(-a)), kink=abs,
       torch=lambda torch, a: torch.nn.functional.leaky_relu(a), edges=(
        ((0.0,), 0, (0.01,)), ((nan,), nan, (1,)), ((-inf,), -inf, (0.01,)),
    )),
    Op("leaky_relu:0.3", lambda a: a.leaky_relu(0.3), lambda a: a * (step(a) + mpf(0.3) * step(-a)), kink=abs,
       torch=lambda torch, a: torch.nn.functional.leaky_relu(a, 0.3)),
    Op("clip", lambda a: a.clip(-1, 2.5), lambda a: min(max(a, -1), 2.5), kink=lambda a: min(abs(a + 1), abs(a - 2.5)),
       edges=(((-1.0,), -1, (1,)), ((2.5,), 2.5, (1,)), ((inf,), 2.5, (0,)), ((nan,), nan, (0,)))),
    Op("clip:low", lambda a: a.clip(0), lambda a: a * step(a), kink=abs),
    Op("clip:high", lambda a: a.clip(high=0.5), lambda a: min(a, 0.5), kink=lambda a: abs(a - 0.5),
       torch=lambda torch, a: a.clip(max=0.5)),
    Op("clip:unbounded", lambda a: a.clip(), lambda a: a + 0, torch=lambda torch, a: a + 0),
    Op("maximum", lambda a, b: a.maximum(b), max, (ANY, ANY), kink=lambda a, b: abs(a - b), edges=(
        ((2.0, 2.0), 2, (0.5, 0.5)), ((inf, inf), inf, (0.5, 0.5)), ((inf, 1.0), inf, (1, 0)),
        ((nan, 1.0), nan, (1, 1)), ((1.0, nan), nan, (1, 1)),
    )),
    Op("minimum", lambda a, b: a.minimum(b), min, (ANY, ANY), kink=lambda a, b: abs(a - b), edges=(
        ((2.0, 2.0), 2, (0.5, 0.5)), ((-inf, -inf), -inf, (0.5, 0.5)), ((inf, 1.0), 1, (0, 1)),
        ((nan, 1.0), nan, (1, 1)), ((1.0, nan), nan, (1, 1)),
    )),
    Op("floor", lambda a: a.floor(), floored, kink=whole, edges=(
        ((-0.5,), -1, (0,)), ((inf,), inf, (0,)), ((2.0,), 2, (0,)), ((1e300,), 1e300, (0,)),
    )),
    Op("ceil", lambda a: a.ceil(), mp.ceil, kink=whole, edges=(((0.5,), 1, (0,)), ((-inf,), -inf, (0,)))),
    Op("trunc", lambda a: a.trunc(), lambda a: mp.sign(a) * floored(abs(a)), kink=whole, edges=(
        ((-1.5,), -1, (0,)), ((1.5,), 1, (0,)), ((-inf,), -inf, (0,)),
    )),
    Op("round", lambda a: a.round(), mp.nint, kink=lambda a: abs(whole(a) - 0.5), edges=(
        ((0.5,), 0, (0,)), ((1.5,), 2, (0,)), ((-2.5,), -2, (0,)), ((inf,), inf, (0,)),
    )),
    # what the rules are made of
    Op("sech", ops.sech, mp.sech, torch=None, edges=(
        ((inf,), 0, (0,)), ((-inf,), 0, (0,)), ((1000.0,), 0, (0,)), ((nan,), nan, (nan,)),
    )),
    Op("sign", lambda a: a.sign(), lambda a: mpf(mp.sign(a)), kink=abs, edges=(
        ((0.0,), 0, (0,)), ((nan,), nan, (0,)), ((-inf,), -1, (0,)),
    )),
    Op("step", ops.step, step, kink=abs, torch=None, edges=(
        ((0.0,), 0, (0,)), ((inf,), 1, (0,)), ((nan,), 1, (0,)),
    )),
    Op("above", ops.above, lambda a, b: mpf(a > b), (ANY, ANY), kink=lambda a, b: abs(a - b), torch=None, edges=(
        ((2.0, 2.0), 0.5, (0, 0)), ((inf, inf), 0.5, (0, 0)),
    )),
    Op("equal", ops.equal, lambda a, b: mpf(a == b), (ANY, ANY), kink=lambda a, b: abs(a - b), torch=None, edges=(
        ((2.0, 2.0), 1, (0, 0)), ((inf, inf), 1, (0, 0)), ((0.0, -0.0), 1, (0, 0)), ((nan, nan), 0, (0, 0)),
    )),
    Op("gate", ops.gate, lambda a, b: a * step(b), (ANY, ANY), kink=lambda a, b: abs(b), torch=None, edges=(
        ((inf, -1.0), 0, (0, 0)), ((3.0, 0.0), 0, (0, 0)), ((nan, 0.0), 0, (0, 0)),
    )),
]  # fmt: skip
