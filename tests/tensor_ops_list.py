"""One list of all ops on Tensors: what each does, on which shapes, what NumPy and PyTorch call it, what it refuses."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from micrograd import Tensor, functional, take_along_axis
from micrograd.tensor import arrays
from micrograd.tensor import functions as functions
from micrograd.tensor.node import record

Shape = tuple[int, ...]
Interval = tuple[float, float]
Bad = tuple[Callable[[], object], type[Exception], str]

ANY, POSITIVE, NEGATIVE = (-3.0, 3.0), (0.2, 3.0), (-3.0, -0.2)
ONE = (((),), ((3,),), ((2, 3),), ((0,),), ((2, 0, 3),))
TWO = (
    ((), ()),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((), (2, 3)),
    ((2, 1), (1, 3)),
    ((4, 1, 3), (2, 1)),
    ((1, 1), ()),
    ((0,), (1,)),
    ((2, 0), (2, 1)),
)
AXES = ((None, False), (None, True), (0, False), (-2, True), ((0, 2), False), ((-1, 0), True), ((0, 1, 2), False))


@dataclass(frozen=True)
class Op:
    """An op to be tested.

    Args:
        name: the method (or the row of `arrays`) that it is, with a `:variant` where it stands here more than once.
        call: the op, on Tensors; and on arrays and on PyTorch's tensors, unless one of the next two is given.
        numpy: the same, on arrays.
        torch: the same, called with PyTorch's module and its tensors.
        shapes: for each run, the shape of every operand.
        domain: for each operand, the interval from which its elements are drawn; the last one serves those that follow.
        kinks: places without a derivative, from which no element is nearer than 0.01.
        linear: its rules need no values, so nothing that happens to its operands later disturbs the backward pass.
        brings_float64: an array of its own makes float64 of float32.
        bad: triples of a wrong use, the class that it must raise and what the message must say.
    """

    name: str
    call: Callable[..., Any]
    numpy: Callable[..., Any] | None = None
    torch: Callable[..., Any] | None = None
    shapes: tuple[tuple[Shape, ...], ...] = ONE
    domain: tuple[Interval, ...] = (ANY,)
    kinks: tuple[float, ...] = ()
    linear: bool = False
    brings_float64: bool = False
    bad: tuple[Bad, ...] = ()

    def __str__(self) -> str:
        return self.name

    def in_numpy(self, *operands: Any) -> Any:
        """The op on arrays."""
        return (self.numpy or self.call)(*operands)

    def in_torch(self, torch: Any, *operands: Any) -> Any:
        """The op on PyTorch's tensors."""
        return self.torch(torch, *operands) if self.torch else self.call(*operands)

    def runs(self, dtype: Any = np.float64) -> Iterator[list[np.ndarray]]:
        """Operands of each of its shapes."""
        return (self.operands(shapes, dtype) for shapes in self.shapes)

    def operands(self, shapes: tuple[Shape, ...], dtype: Any = np.float64) -> list[np.ndarray]:
        """Arrays of these shapes from the domain, the same in every run."""
        rng = np.random.default_rng(zlib.crc32(repr((self.name, shapes)).encode()))
        intervals = [self.domain[min(i, len(self.domain) - 1)] for i in range(len(shapes))]
        return [self._away_from_kinks(rng.uniform(*i, s)).astype(dtype) for i, s in zip(intervals, shapes, strict=True)]

    def _away_from_kinks(self, array: Any) -> np.ndarray:
        for kink in self.kinks:
            array = np.where(abs(array - kink) < 0.01, array + 0.02, array)
        return np.asarray(array)


# ---------------------------------------------------------------------------------------------------------------------
# References that NumPy does not have, and wrong uses that several ops share


def zeros(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape))


def sigmoid(a: Any) -> Any:
    return 1 / (1 + np.exp(-a))


def logsumexp(a: Any, axis: Any, keepdims: bool = False) -> Any:
    return np.log(np.exp(a).sum(axis=axis, keepdims=keepdims))


def everywhere(axis: Any) -> Any:
    """An axis as PyTorch's reductions want it, where None is an empty tuple."""
    return () if axis is None else axis


def wrong_operands(call: Callable[[Any, Any], Any]) -> tuple[Bad, ...]:
    """What a binary operator refuses."""
    return (
        (lambda: call(zeros(2, 3), zeros(4, 5)), ValueError, r"\(2, ?3\).*\(4, ?5\)"),
        (lambda: call(zeros(2, 3), np.zeros((4, 5))), ValueError, r"\(2, ?3\).*\(4, ?5\)"),
        (lambda: call(np.zeros(3), zeros(4)), ValueError, r"\(3,\).*\(4,\)"),
        (lambda: call(zeros(2), "two"), TypeError, "str|sequence"),
        (lambda: call(zeros(2), None), TypeError, "NoneType"),
        (lambda: call(zeros(2), ["two"]), TypeError, "list|sequence"),
        (lambda: call(zeros(2), 1j), TypeError, "complex"),
        (lambda: call(zeros(2), np.array([1j, 0])), TypeError, "complex|ndarray"),
    )


def wrong_axes(call: Callable[[Tensor, Any], Any]) -> tuple[Bad, ...]:
    """What a reduction refuses as an axis."""
    return (
        (lambda: call(zeros(2, 3), 2), AxisError, "axis 2 is out of bounds"),
        (lambda: call(zeros(2, 3), -3), AxisError, "axis -3 is out of bounds"),
        (lambda: call(zeros(2, 3), "rows"), (TypeError, ValueError), ""),
        (lambda: call(zeros(2, 3), 0.0), TypeError, "integer"),
    )


def several(call: Callable[..., Any]) -> tuple[Bad, ...]:
    """The same for reductions over several axes."""
    return (
        *wrong_axes(call),
        (lambda: call(zeros(2, 3), (0, 0)), ValueError, "duplicate|repeated"),
        (lambda: call(zeros(2, 3, 2), (0.0, 2.0)), TypeError, "integer"),
        (lambda: call(zeros(2, 3), (0, 2)), AxisError, "axis 2 is out of bounds"),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Elementwise


def binary(name: str, call: Callable, numpy: Callable | None = None, torch: Callable | None = None, **kw: Any) -> Op:
    """An op of two operands that broadcast, and what it refuses unless told otherwise."""
    return Op(name, call, numpy, torch, shapes=TWO, **({"bad": wrong_operands(call)} | kw))


BINARY = [
    binary("__add__", lambda a, b: a + b, linear=True),
    binary("__sub__", lambda a, b: a - b, linear=True),
    binary("__mul__", lambda a, b: a * b),
    binary("__truediv__", lambda a, b: a / b, domain=(ANY, NEGATIVE)),
    binary("__pow__", lambda a, b: a**b, domain=(POSITIVE, ANY)),
    binary("maximum", lambda a, b: a.maximum(b), np.maximum, lambda t, a, b: t.maximum(a, b), domain=((-3, 0), (-1, 3)),
           bad=wrong_operands(lambda a, b: Tensor(a).maximum(b))),
    binary("minimum", lambda a, b: a.minimum(b), np.minimum, lambda t, a, b: t.minimum(a, b), domain=((-3, 0), (-1, 3)),
           bad=wrong_operands(lambda a, b: Tensor(a).minimum(b))),
    binary("__mod__", lambda a, b: a % b, domain=((0.1, 0.9), (1, 2))),
    binary("__floordiv__", lambda a, b: a // b, domain=((0.1, 0.9), (1, 2)), torch=lambda t, a, b: (a / b) * 0),
    *[binary(name, getattr(functions, name), getattr(np, name), lambda t, a, b, name=name: getattr(t, name)(a, b),
             bad=(), domain=(ANY, POSITIVE)) for name in ("hypot", "arctan2", "logaddexp")],
    binary("where", lambda a, b: arrays.where(mask_of(a, b))(a, b), lambda a, b: np.where(mask_of(a, b), a, b),
           lambda t, a, b: t.where(t.tensor(mask_of(a, b)), a, b), linear=True, bad=()),
]  # fmt: skip


def mask_of(a: Any, b: Any) -> np.ndarray:
    """Some mask of the shape that the two have together: here true, there false."""
    shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    return np.arange(int(np.prod(shape))).reshape(shape) % 3 == 1


WHOLE = tuple(range(-3, 4))
HALVES = tuple(n + 0.5 for n in range(-3, 4))
UFUNCS: list[tuple[str, tuple[Interval, ...], dict[str, Any]]] = [
    ("exp2", (ANY,), {}), ("expm1", (ANY,), {}), ("log2", (POSITIVE,), {}), ("log10", (POSITIVE,), {}),
    ("square", (ANY,), {}), ("reciprocal", (NEGATIVE,), {}), ("tan", ((-1.0, 1.0),), {}),
    ("arcsin", ((-0.8, 0.8),), {}), ("arccos", ((-0.8, 0.8),), {}), ("arctan", (ANY,), {}), ("sinh", (ANY,), {}),
    ("cosh", (ANY,), {}), ("arcsinh", (ANY,), {}), ("arccosh", ((1.2, 3.0),), {}), ("arctanh", ((-0.8, 0.8),), {}),
    ("sign", (ANY,), {"kinks": (0,)}), ("floor", (ANY,), {"kinks": WHOLE}), ("ceil", (ANY,), {"kinks": WHOLE}),
    ("trunc", (ANY,), {"kinks": WHOLE}), ("round", (ANY,), {"kinks": HALVES}), ("abs", (ANY,), {"kinks": (0,)}),
]  # fmt: skip
UNARY = [
    Op("__neg__", lambda a: -a, linear=True),
    Op("__pos__", lambda a: +a, linear=True),
    Op("__abs__", abs, kinks=(0,)),
    Op("__radd__", lambda a: 2.5 + a, linear=True),
    Op("__rsub__", lambda a: 2.5 - a, linear=True),
    Op("__rmul__", lambda a: 2.5 * a, linear=True),
    Op("__rtruediv__", lambda a: 2.5 / a, domain=(NEGATIVE,)),
    Op("__rpow__", lambda a: 2.5**a),
    Op("__add__:number", lambda a: a + 2.5, linear=True),
    Op("__sub__:number", lambda a: a - 2.5, linear=True),
    Op("__mul__:number", lambda a: a * 2.5, linear=True),
    Op("__mul__:itself", lambda a: a * a),
    Op("__truediv__:number", lambda a: a / 2.5, linear=True),
    Op("__pow__:2", lambda a: a**2),
    Op("__pow__:1", lambda a: a**1),
    Op("__pow__:0", lambda a: a**0),
    Op("__pow__:-3", lambda a: a**-3, lambda a: a**-3.0, domain=(NEGATIVE,)),
    Op("__pow__:half", lambda a: a**0.5, domain=(POSITIVE,)),
    Op("__rmod__", lambda a: 2.5 % a, None, lambda t, a: t.remainder(t.full_like(a, 2.5), a), domain=((1.5, 2.0),)),
    Op("__rfloordiv__", lambda a: 2.5 // a, None, lambda t, a: a * 0 + 1, domain=((1.5, 2.0),)),
    Op("pow", lambda a: a.pow(3), lambda a: a**3),
    *[Op(name, lambda a, name=name: getattr(a, name)(), getattr(np, name), domain=domain, **kw)
      for name, domain, kw in UFUNCS],
    Op("exp", lambda a: a.exp(), np.exp),
    Op("log", lambda a: a.log(), np.log, domain=(POSITIVE,)),
    Op("log1p", lambda a: a.log1p(), np.log1p, domain=((-0.8, 3.0),)),
    Op("sqrt", lambda a: a.sqrt(), np.sqrt, domain=(POSITIVE,)),
    Op("sin", lambda a: a.sin(), np.sin),
    Op("cos", lambda a: a.cos(), np.cos),
    Op("tanh", lambda a: a.tanh(), np.tanh),
    Op("sigmoid", lambda a: a.sigmoid(), sigmoid),
    Op("softplus", lambda a: a.softplus(), lambda a: np.log(1 + np.exp(a)), lambda t, a: t.log1p(a.exp())),
    Op("relu", lambda a: a.relu(), lambda a: np.maximum(a, 0), kinks=(0,)),
    Op("gelu", lambda a: a.gelu(), lambda a: a / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3))),
          lambda t, a: t.nn.functional.gelu(a, approximate="tanh")),
    Op("leaky_relu", lambda a: a.leaky_relu(0.1), lambda a: np.where(a > 0, a, 0.1 * a),
          lambda t, a: t.nn.functional.leaky_relu(a, 0.1), kinks=(0,),
          bad=((lambda: zeros(2).leaky_relu("steep"), (TypeError, ValueError), "steep"),)),
    Op("clip", lambda a: a.clip(-1.0, 2.0), kinks=(-1, 2)),
    Op("clip:low", lambda a: a.clip(-1.0), lambda a: np.clip(a, -1, None), kinks=(-1,)),
    Op("clip:high", lambda a: a.clip(high=2.0), lambda a: np.clip(a, None, 2), lambda t, a: a.clip(max=2.0),
          kinks=(2,)),
    Op("clip:unbounded", lambda a: a.clip(), lambda a: a * 1.0, lambda t, a: a * 1.0),
    Op("astype", lambda a: a.astype(np.float64), None, lambda t, a: a.double(), linear=True, brings_float64=True,
          bad=((lambda: zeros(2).astype("no such dtype"), TypeError, "no such dtype"),)),
]  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# Shapes and selection

SHAPES = [
    Op("reshape", lambda a: a.reshape(3, 2), shapes=(((2, 3),), ((6,),), ((1, 6, 1),)), linear=True, bad=(
        (lambda: zeros(2, 3).reshape(4, 2), ValueError, r"size 6.*\(4, ?2\)"),
        (lambda: zeros(2, 3).reshape(-1, 4), ValueError, r"size 6|\(2, 3\)"),
        (lambda: zeros(2, 3).reshape(-1, -1), ValueError, r"\(2, 3\)"),
        (lambda: zeros(2, 3).reshape("flat"), (TypeError, ValueError), ""),
        (lambda: zeros(2, 3).reshape(3.0, 2.0), TypeError, "ints"),
        (lambda: zeros(2, 3).reshape((3.0, 2)), TypeError, "ints"),
    )),
    Op("reshape:-1", lambda a: a.reshape((-1, 2)), shapes=(((2, 3),), ((6,),), ((0, 2),)), linear=True),
    Op("reshape:()", lambda a: a.reshape(()), shapes=(((),), ((1, 1),)), linear=True),
    Op("flatten", lambda a: a.flatten(), linear=True),
    Op("flatten:start", lambda a: a.flatten(1), lambda a: a.reshape(*a.shape[:1], int(np.prod(a.shape[1:]))),
       lambda t, a: a.flatten(1), shapes=(((2, 3, 2),), ((2, 3),), ((2, 0, 3),)), linear=True,
       bad=((lambda: zeros(2, 3).flatten(2), AxisError, "axis 2 is out of bounds"),)),
    Op("flip", lambda a: a.flip(), np.flip, lambda t, a: t.flip(a, tuple(range(a.ndim))), linear=True),
    Op("flip:axis", lambda a: a.flip((0, -1)), lambda a: np.flip(a, (0, -1)), lambda t, a: t.flip(a, (0, -1)),
       shapes=(((2, 3),), ((2, 3, 2),)), linear=True, bad=wrong_axes(lambda a, axis: a.flip(axis))),
    Op("roll", lambda a: a.roll(2), lambda a: np.roll(a, 2), lambda t, a: t.roll(a, 2), linear=True),
    Op("roll:axis", lambda a: a.roll((1, -2), (0, 1)), lambda a: np.roll(a, (1, -2), (0, 1)),
       lambda t, a: t.roll(a, (1, -2), (0, 1)), shapes=(((2, 3),), ((2, 3, 2),)), linear=True,
       bad=((lambda: zeros(2, 3).roll(1, 2), AxisError, "axis 2 is out of bounds"),)),
    Op("repeat", lambda a: a.repeat(2), lambda a: np.repeat(a, 2), lambda t, a: t.repeat_interleave(a, 2), linear=True,
       bad=((lambda: zeros(2, 3).repeat(-1), ValueError, "negative"),)),
    Op("repeat:axis", lambda a: a.repeat([1, 0, 2], 1), lambda a: np.repeat(a, [1, 0, 2], 1),
       lambda t, a: t.repeat_interleave(a, t.tensor([1, 0, 2]), 1), shapes=(((2, 3),), ((1, 3, 2),)), linear=True),
    Op("tile", lambda a: a.tile((2, 1, 3)), lambda a: np.tile(a, (2, 1, 3)), lambda t, a: t.tile(a, (2, 1, 3)),
       linear=True),
    Op("pad", lambda a: a.pad(1), lambda a: np.pad(a, 1), lambda t, a: t.nn.functional.pad(a, (1, 1) * a.ndim),
       shapes=(((3,),), ((2, 3),), ((2, 0),)), linear=True, bad=(
        (lambda: zeros(2, 3).pad(-1), ValueError, "found -1"),
        (lambda: zeros(2, 3).pad(1.5), TypeError, "found 1.5"),
        (lambda: zeros(2, 3).pad(((1, 1),) * 3), ValueError, "broadcast"),
        (lambda: zeros(2, 3).pad(1, "empty"), ValueError, "padded in the modes constant, edge.*empty"),
        (lambda: zeros(2, 3).pad(1, "linear_ramp"), ValueError, "with concatenate"),
    )),
    Op("pad:value", lambda a: a.pad(((1, 0), (0, 2)), constant_values=5.0),
       lambda a: np.pad(a, ((1, 0), (0, 2)), constant_values=5.0),
       lambda t, a: t.nn.functional.pad(a, (0, 2, 1, 0), value=5.0), shapes=(((2, 3),), ((1, 1),)), linear=True),
    *[Op(f"pad:{mode}", lambda a, mode=mode: a.pad((2, 1), mode), lambda a, mode=mode: np.pad(a, (2, 1), mode),
         lambda t, a, theirs=theirs: t.nn.functional.pad(a[None], (2, 1), theirs)[0], shapes=(((3,),), ((5,),)),
         linear=True) for mode, theirs in (("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular"))],
    Op("diag", lambda a: a.diag(), np.diag, lambda t, a: t.diag(a), shapes=(((3,),), ((2, 3),), ((3, 2),), ((1, 1),)),
       linear=True, bad=((lambda: zeros(2, 2, 2).diag(), ValueError, "1- or 2-d"),)),
    *[Op(f"diag:{k}", lambda a, k=k: a.diag(k), lambda a, k=k: np.diag(a, k), lambda t, a, k=k: t.diag(a, k),
         shapes=(((3,),), ((3, 4),)), linear=True) for k in (1, -2)],
    *[Op(f"{name}:{k}", lambda a, name=name, k=k: getattr(a, name)(k),
         lambda a, name=name, k=k: getattr(np, name)(a, k), lambda t, a, name=name, k=k: getattr(t, name)(a, k),
         shapes=(((3, 3),), ((2, 4),), ((2, 3, 2),)), linear=True,
         bad=((lambda name=name: getattr(Tensor(2.0), name)(), ValueError, "part of a matrix"),))
      for name in ("tril", "triu") for k in (0, 1, -1)],
    Op("sort", lambda a: a.sort(), np.sort, lambda t, a: t.sort(a).values, shapes=(((5,),), ((2, 4),), ((2, 3, 2),)),
       bad=wrong_axes(lambda a, axis: a.sort(axis))),
    Op("sort:0", lambda a: a.sort(axis=0), lambda a: np.sort(a, 0), lambda t, a: t.sort(a, 0).values,
       shapes=(((4, 2),), ((3, 1, 2),))),
    Op("sort:None", lambda a: a.sort(None), lambda a: np.sort(a, None), lambda t, a: t.sort(a.flatten()).values),
    Op("hstack", lambda *a: functions.hstack(a), lambda *a: np.hstack(a), lambda t, *a: t.hstack(a),
       shapes=(((2,), (3,)), ((2, 1), (2, 3)), ((2, 1, 2), (2, 2, 2)), ((), ())), linear=True),
    Op("vstack", lambda *a: functions.vstack(a), lambda *a: np.vstack(a), lambda t, *a: t.vstack(a),
       shapes=(((3,), (3,)), ((2, 3), (1, 3)), ((2, 3), (3,)), ((), ())), linear=True),
    Op("transpose", lambda a: a.transpose(), lambda a: a.T, lambda t, a: a.permute(tuple(reversed(range(a.ndim)))),
       linear=True, bad=(
        (lambda: zeros(2, 3).transpose(0), ValueError, r"\(2, 3\)"),
        (lambda: zeros(2, 3).transpose(0, 0), ValueError, "repeated"),
        (lambda: zeros(2, 3).transpose(0, 5), AxisError, "axis 5 is out of bounds"),
        (lambda: zeros(2, 3).transpose(1.0, 0.0), TypeError, "integer"),
    )),
    Op("transpose:axes", lambda a: a.transpose(1, -1, 0), None, lambda t, a: a.permute(1, -1, 0),
       shapes=(((2, 3, 4),), ((0, 1, 2),)), linear=True),
    Op("transpose:tuple", lambda a: a.transpose((2, 0, 1)), None, lambda t, a: a.permute(2, 0, 1),
       shapes=(((2, 3, 4),),), linear=True),
    Op("T", lambda a: a.T, None, lambda t, a: a.permute(tuple(reversed(range(a.ndim)))), linear=True),
    Op("swapaxes", lambda a: a.swapaxes(0, -1), shapes=(((2, 3),), ((2, 3, 4),), ((3,),)), linear=True,
       bad=((lambda: zeros(2, 3).swapaxes(0, 5), AxisError, "axis 5 is out of bounds"),)),
    Op("expand_dims", lambda a: a.expand_dims(0), lambda a: np.expand_dims(a, 0), lambda t, a: a.unsqueeze(0),
       linear=True, bad=(
        (lambda: zeros(2, 3).expand_dims(10), AxisError, "axis 10 is out of bounds"),
        (lambda: zeros(2, 3).expand_dims(-10), AxisError, "axis -10 is out of bounds"),
    )),
    Op("expand_dims:-1", lambda a: a.expand_dims(-1), lambda a: np.expand_dims(a, -1), lambda t, a: a.unsqueeze(-1),
       linear=True),
    Op("expand_dims:-2", lambda a: a.expand_dims(-2), lambda a: np.expand_dims(a, -2), lambda t, a: a.unsqueeze(-2),
       shapes=(((2, 3),),), linear=True),
    Op("squeeze", lambda a: a.squeeze(), shapes=(((1, 3, 1),), ((1, 1),), ((),), ((2,),)), linear=True, bad=(
        (lambda: zeros(2, 1).squeeze(0), ValueError, r"size|\(2, 1\)"),
        (lambda: zeros(2, 1).squeeze(5), AxisError, "axis 5 is out of bounds"),
    )),
    Op("squeeze:axis", lambda a: a.squeeze((0, -1)), shapes=(((1, 3, 1),), ((1, 1, 1),)), linear=True),
    Op("broadcast_to", lambda a: a.broadcast_to((2, 3)), lambda a: np.broadcast_to(a, (2, 3)),
       shapes=(((),), ((3,),), ((2, 1),), ((2, 3),)), linear=True,
       bad=((lambda: zeros(2, 3).broadcast_to((2, 4)), ValueError, r"\(2, ?3\).*\(2, ?4\)"),
            (lambda: zeros(3).broadcast_to((2.0, 3.0)), TypeError, "ints"))),
    Op("__getitem__", lambda a: a[1:, ::2], shapes=(((3, 4),), ((2, 1, 3),), ((1, 0),)), linear=True, bad=(
        (lambda: zeros(2, 3)[5], IndexError, r"index 5.*\(2, 3\)"),
        (lambda: zeros(2, 3)[0, 0, 0], IndexError, r"\(2, 3\)"),
        (lambda: zeros(2, 3)[1.5], IndexError, r"\(2, 3\)"),
        (lambda: zeros(2, 3)["row"], IndexError, r"\(2, 3\)"),
        (lambda: zeros(2, 3)[np.array([True] * 3)], IndexError, r"\(2, 3\)"),
        (lambda: zeros()[0], IndexError, r"\(\)"),
    )),
    Op("__getitem__:repeats", lambda a: a[[0, 2, 0, 0]], shapes=(((3,),), ((3, 2),)), linear=True),
    Op("setitem", lambda a, b: arrays.setitem((slice(1, None), 0))(a, b), lambda a, b: with_item(a, b),
       lambda t, a, b: t.cat([a[:1], t.cat([b.expand(a[1:, :1].shape[:1])[:, None], a[1:, 1:]], 1)]),
       shapes=(((3, 2), (2,)), ((3, 2), ()), ((4, 1), (3,))), linear=True),
    Op("take_along_axis", lambda a: take_along_axis(a, PLACES, 1), lambda a: np.take_along_axis(a, PLACES, 1),
       lambda t, a: t.take_along_dim(a, t.tensor(PLACES), 1), shapes=(((2, 3),),), linear=True),
    Op("concatenate", lambda *a: arrays.concatenate(-1)(*a), lambda *a: np.concatenate(a, -1),
       lambda t, *a: t.cat(a, -1), shapes=(((2,), (3,)), ((2, 1), (2, 0), (2, 3)), ((3,),)), linear=True),
]  # fmt: skip
PLACES = np.array([[2, 0, 2, 1], [0, 0, 0, 0]])


def with_item(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A copy of a with b in the column that the case of `setitem` writes to."""
    out = a.copy()
    out[1:, 0] = b
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Reductions: every axis, with and without keepdims


def reductions(name: str, call: Callable, torch: Callable, numpy: Callable | None = None, **kw: Any) -> list[Op]:
    """The op for each of `AXES`: all three are called with (a, axis, keepdims), PyTorch's with its module before."""
    return [
        Op(
            f"{name}:{axis}" + (",keepdims" if keepdims else ""),
            lambda a, axis=axis, keepdims=keepdims: call(a, axis, keepdims),
            numpy and (lambda a, axis=axis, keepdims=keepdims: numpy(a, axis, keepdims)),
            lambda t, a, axis=axis, keepdims=keepdims: torch(t, a, axis, keepdims),
            shapes=(((2, 3, 2),), ((1, 2, 1),), *([((),)] if axis is None else [])),
            bad=several(lambda a, axis: call(a, axis, False)) if (axis, keepdims) == (None, False) else (),
            **kw,
        )
        for axis, keepdims in AXES
    ]


def everything(a: Any, axis: Any) -> Any:
    """PyTorch has no prod over several axes: bring those to the end, and make them one."""
    axes = range(a.ndim) if axis is None else [i % a.ndim for i in ((axis,) if isinstance(axis, int) else axis)]
    rest = [i for i in range(a.ndim) if i not in axes]
    return a.permute((*rest, *axes)).reshape(*(a.shape[i] for i in rest), -1)


def torch_prod(_: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    out = everything(a, axis).prod(-1)
    axes = range(a.ndim) if axis is None else [i % a.ndim for i in ((axis,) if isinstance(axis, int) else axis)]
    return out.reshape([1 if i in axes else n for i, n in enumerate(a.shape)]) if keepdims else out


def torch_var(t: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    return t.var(a, dim=axis, correction=0, keepdim=keepdims)


REDUCTIONS = [
    *reductions("sum", lambda a, axis, k: a.sum(axis, keepdims=k),
                lambda t, a, axis, k: a.sum(dim=everywhere(axis), keepdim=k),
                lambda a, axis, k: a.sum(axis, keepdims=k), linear=True),
    *reductions("mean", lambda a, axis, k: a.mean(axis, keepdims=k),
                lambda t, a, axis, k: a.mean(dim=everywhere(axis), keepdim=k), linear=True),
    *reductions("max", lambda a, axis, k: a.max(axis, keepdims=k),
                lambda t, a, axis, k: t.amax(a, everywhere(axis), k)),
    *reductions("min", lambda a, axis, k: a.min(axis, keepdims=k),
                lambda t, a, axis, k: t.amin(a, everywhere(axis), k)),
    *reductions("var", lambda a, axis, k: a.var(axis, keepdims=k), torch_var),
    *reductions("prod", lambda a, axis, k: a.prod(axis, keepdims=k), torch_prod),
    *reductions("logsumexp", lambda a, axis, k: a.logsumexp(axis, k),
                lambda t, a, axis, k: t.logsumexp(a, tuple(range(a.ndim)) if axis is None else axis, k), logsumexp),
    *reductions("norm", lambda a, axis, k: a.norm(axis=axis, keepdims=k),
                lambda t, a, axis, k: t.linalg.vector_norm(a, 2, axis, k),
                lambda a, axis, k: np.sqrt((a * a).sum(axis, keepdims=k))),
    *[Op(f"norm:ord={p}", lambda a, p=p: a.norm(p, -1), lambda a, p=p: np.linalg.norm(a, p, -1),
         lambda t, a, p=p: t.linalg.vector_norm(a, p, -1) if p else a.sign().abs().sum(-1),
         shapes=(((3,),), ((2, 3),), ((2, 2, 4),)), kinks=(0,),
         bad=((lambda: zeros(2, 3).norm(1), ValueError, r"over 2 axes takes ord=None or \"fro\", found 1"),
              (lambda: zeros(2, 3).norm("nuc"), ValueError, "found 'nuc'"),
              (lambda: zeros(3).norm("fro"), ValueError, "over 1 axes takes ord=None or a number, found 'fro'"),
              (lambda: zeros(2, 2, 2).norm("fro"), ValueError, "over 3 axes takes ord=None, found 'fro'")) * (p == 1))
      for p in (0, 1, 2, 3, 1.5, 0.5, -1, -2.5, np.inf, -np.inf)],
    Op("norm:fro", lambda a: a.norm("fro"), np.linalg.norm, lambda t, a: t.linalg.matrix_norm(a), shapes=(((2, 3),),)),
    Op("norm:fro of each", lambda a: a.norm("fro", (0, 2), True), lambda a: np.linalg.norm(a, "fro", (0, 2), True),
       lambda t, a: t.linalg.matrix_norm(a, "fro", (0, 2), True), shapes=(((2, 4, 3),),)),
    Op("sum:()", lambda a: a.sum(axis=()), None, lambda t, a: a * 1, shapes=(((2, 3),),), linear=True),
    Op("sum:empty", lambda a: a.sum(axis=0), shapes=(((0,),), ((0, 3),), ((2, 0),)), linear=True),
    Op("max:empty", lambda a: a.max(axis=1), None, lambda t, a: t.amax(a, 1), shapes=(((0, 3),),),
       bad=((lambda: zeros(0, 3).max(axis=0), ValueError, r"zero-size.*\(0, 3\)"),
            (lambda: zeros(0).max(), ValueError, r"zero-size.*\(0,\)"))),
    Op("prod:empty", lambda a: a.prod(axis=0), shapes=(((0,),), ((0, 3),), ((2, 0),))),
    Op("prod:zeros", lambda a: (a * ZEROS).prod(axis=1), None,
       lambda t, a: (a * t.tensor(ZEROS, dtype=a.dtype)).prod(1), shapes=(((3, 3),),), brings_float64=True),
    Op("var:ddof", lambda a: a.var(axis=0, ddof=1), None, lambda t, a: t.var(a, 0), shapes=(((3, 2),), ((4,),))),
    Op("std", lambda a: a.std(axis=-1, keepdims=True), None, lambda t, a: t.std(a, -1, correction=0, keepdim=True),
       shapes=(((2, 3),), ((4,),))),
    Op("std:ddof", lambda a: a.std(ddof=1), None, lambda t, a: t.std(a), shapes=(((2, 3),), ((4,),))),
    *[Op(f"cumsum:{axis}", lambda a, axis=axis: a.cumsum(axis), shapes=(((2, 3),), ((0, 2),), ((1, 1),)), linear=True,
         bad=wrong_axes(lambda a, axis: a.cumsum(axis))) for axis in (0, -1)],
    *[Op(f"softmax:{axis}", lambda a, axis=axis: a.softmax(axis),
         lambda a, axis=axis: np.exp(a - logsumexp(a, axis, True)), shapes=(((2, 3),), ((4, 1),), ((2, 3, 2),)),
         bad=wrong_axes(lambda a, axis: a.softmax(axis))) for axis in (0, -1)],
    *[Op(f"log_softmax:{axis}", lambda a, axis=axis: a.log_softmax(axis),
         lambda a, axis=axis: a - logsumexp(a, axis, True), shapes=(((2, 3),), ((4, 1),), ((2, 3, 2),)),
         bad=wrong_axes(lambda a, axis: a.log_softmax(axis))) for axis in (0, -1)],
]  # fmt: skip
ZEROS = np.array([[1.0, 1, 1], [1, 0, 1], [0, 1, 0]])  # no zero, one, and two of them in a row

# ---------------------------------------------------------------------------------------------------------------------
# Products

MATMUL = Op("__matmul__", lambda a, b: a @ b, shapes=(
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((1, 1), (1, 1)),
    ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((5, 2, 3), (3,)),
    ((3,), (5, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0)),
), bad=(
    (lambda: zeros(2, 3) @ zeros(2, 3), ValueError, r"\(2, 3\) by \(2, 3\)"),
    (lambda: zeros(3) @ zeros(4), ValueError, r"\(3,\) by \(4,\)"),
    (lambda: zeros(2, 2, 3) @ zeros(3, 3, 2), ValueError, r"\(2, 2, 3\) and \(3, 3, 2\)"),
    (lambda: zeros(3) @ zeros(), ValueError, r"\(3,\) and \(\)"),
    (lambda: zeros(3) @ 2, ValueError, r"\(3,\) and \(\)"),
    (lambda: zeros(3) @ "x", TypeError, "str"),
))  # fmt: skip
PRODUCTS = [
    MATMUL,
    Op("__rmatmul__", lambda a: MATRIX @ a, None, lambda t, a: t.tensor(MATRIX, dtype=a.dtype) @ a,
       shapes=(((3,),), ((3, 2),), ((2, 3, 1),)), brings_float64=True),
    Op("__matmul__:itself", lambda a: a @ a, shapes=(((2, 2),), ((3,),), ((2, 3, 3),))),
]  # fmt: skip
PRODUCTS += [
    Op("dot", functions.dot, np.dot, lambda t, a, b: t.tensordot(a, b, ([-1], [max(b.ndim - 2, 0)])) if a.ndim * b.ndim
       else a * b, shapes=(((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((), (2, 3)), ((2, 2, 3), (5, 3, 4)),
                           ((3,), (5, 3, 4)), ((2, 3), (5, 1, 3, 2))), bad=(
        (lambda: functions.dot(zeros(3), zeros(4)), ValueError, ""),
    )),
    Op("outer", functions.outer, np.outer, lambda t, a, b: t.outer(a.flatten(), b.flatten()),
       shapes=(((3,), (2,)), ((2, 3), (2, 1)), ((), (3,)), ((0,), (2,)))),
]  # fmt: skip
MATRIX = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]])

# ---------------------------------------------------------------------------------------------------------------------
# Windows, and what looks through them; `test_convolution.py` asks for all their settings


def windows(a: Any) -> Any:
    """Windows of 2 x 2, of every row and every second column."""
    return np.moveaxis(
        np.lib.stride_tricks.sliding_window_view(a, (2, 2), (-2, -1))[..., ::2, :, :], (-2, -1), (-4, -3)
    )


def convolved(x: Any, weight: Any, bias: Any) -> Any:
    """The sums of 2 x 2 windows times filters, by hand."""
    seen = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (-2, -1))
    return np.einsum("...crsij,fcij->...frs", seen, weight) + bias[:, None, None]


PICTURES = (((2, 3, 4),), ((2, 1, 3, 5),))
WINDOWS = [
    Op("windows", lambda a: record(arrays.windows((2, 2), (1, 2), (1, 1)), a), windows,
       lambda t, a: a.unfold(-2, 2, 1).unfold(-2, 2, 2).movedim((-2, -1), (-4, -3)), shapes=PICTURES, linear=True),
    Op("first_max", lambda a: record(arrays.extreme("max", -1, False, True), a), lambda a: a.max(-1),
       lambda t, a: t.max(a, -1).values, shapes=(((2, 3),), ((4, 1),))),
    Op("conv2d", functional.conv2d, convolved, lambda t, *operands: t.nn.functional.conv2d(*operands),
       shapes=(((2, 3, 4), (3, 2, 2, 2), (3,)), ((2, 1, 2, 3), (1, 1, 2, 2), (1,)))),
    Op("max_pool2d", lambda a: functional.max_pool2d(a, 2, (1, 2)), lambda a: windows(a).max((-4, -3)),
       lambda t, a: t.nn.functional.max_pool2d(a, 2, (1, 2)), shapes=PICTURES,
       bad=((lambda: functional.max_pool2d(zeros(1, 2, 3), 2.0, 1), ValueError, "whole number"),)),
    Op("avg_pool2d", lambda a: functional.avg_pool2d(a, 2, (1, 2)), lambda a: windows(a).mean((-4, -3)),
       lambda t, a: t.nn.functional.avg_pool2d(a, 2, (1, 2)), shapes=PICTURES, linear=True),
]  # fmt: skip

OPS = [*BINARY, *UNARY, *SHAPES, *REDUCTIONS, *PRODUCTS, *WINDOWS]
BAD = [(op.name, *bad) for op in OPS for bad in op.bad]
