"""One list of all ops: what each does to Values, what it should be, and where. All tests of ops are driven by it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from mpmath import mp, mpf

from micrograd import ops

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
    Op("pow", lambda a, b: a**b, lambda a, b: a**b, (POSITIVE, ANY), edges=(
        ((0.0, 0.0), 1, (0, 0)),
        ((0.0, 2.0), 0, (0, 0)),
        ((0.0, 1.0), 0, (1, 0)),
        ((0.0, 0.5), 0, (inf, 0)),
        ((0.0, -1.0), inf, (-inf, -inf)),
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
        ((0.0,), 0, (inf,)), ((-8.0,), nan, (nan,)), ((inf,), inf, (0,)),
    )),
    Op("neg", lambda a: -a, lambda a: -a),
    Op("abs", abs, abs, kink=abs, edges=(((0.0,), 0, (0,)), ((-0.0,), 0, (0,)), ((-inf,), inf, (-1,)))),
    Op("exp", lambda a: a.exp(), mp.exp, edges=(
        ((1000.0,), inf, (inf,)), ((-1000.0,), 0, (0,)), ((inf,), inf, (inf,)), ((-inf,), 0, (0,)),
    )),
    Op("log", lambda a: a.log(), mp.log, (POSITIVE,), edges=(
        ((0.0,), -inf, (inf,)), ((-0.0,), -inf, (-inf,)), ((-1.0,), nan, (-1,)), ((inf,), inf, (0,)),
        ((5e-324,), -744.4400719213812, (inf,)),
    )),
    Op("log1p", lambda a: a.log1p(), mp.log1p, ((-0.95, 5.0),), edges=(
        ((-1.0,), -inf, (inf,)), ((-2.0,), nan, (-1,)), ((1e-300,), 1e-300, (1,)), ((inf,), inf, (0,)),
    )),
    Op("sqrt", lambda a: a.sqrt(), mp.sqrt, (POSITIVE,), edges=(
        ((0.0,), 0, (inf,)), ((-1.0,), nan, (nan,)), ((inf,), inf, (0,)),
    )),
    Op("sin", lambda a: a.sin(), mp.sin, edges=(((inf,), nan, (nan,)), ((-inf,), nan, (nan,)))),
    Op("cos", lambda a: a.cos(), mp.cos, edges=(((inf,), nan, (nan,)), ((-inf,), nan, (nan,)))),
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
        ((100.0,), 100, (1,)), ((-100.0,), 0, (0,)), ((0.0,), 0, (0.5,)),
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
    Op("maximum", lambda a, b: a.maximum(b), max, (ANY, ANY), kink=lambda a, b: abs(a - b), edges=(
        ((2.0, 2.0), 2, (0.5, 0.5)), ((inf, inf), inf, (0.5, 0.5)), ((inf, 1.0), inf, (1, 0)),
        ((nan, 1.0), nan, (1, 1)), ((1.0, nan), nan, (1, 1)),
    )),
    Op("minimum", lambda a, b: a.minimum(b), min, (ANY, ANY), kink=lambda a, b: abs(a - b), edges=(
        ((2.0, 2.0), 2, (0.5, 0.5)), ((-inf, -inf), -inf, (0.5, 0.5)), ((inf, 1.0), 1, (0, 1)),
        ((nan, 1.0), nan, (1, 1)), ((1.0, nan), nan, (1, 1)),
    )),
    # what the rules are made of
    Op("sign", ops.sign, lambda a: mpf(mp.sign(a)), kink=abs, torch=lambda torch, a: a.sign(), edges=(
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
