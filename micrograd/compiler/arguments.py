"""Arguments: what a function sees of its arguments, and the lines of code that read numbers out of them.

passed                     the function sees             the program begins with
x = 2.0                    a Value
w = Value(3.0)             a Value, to be differentiated w = w._data
xs = [1.0, 2.0]            a list of Values              xs_0 = xs[0]; xs_1 = xs[1]
a = np.ones((2, 3))        a Tensor

>>> given = Arguments(Trace(), (Value(3.0), [1.0, 2.0]), ["w", "xs"], scalars=False, batch=False)
>>> given.lines, [place for place, _ in given.wanted]
(['w = w._data', 'xs_0 = xs[0]', 'xs_1 = xs[1]'], ['w'])
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from ..autograd.transforms import leaves, tree_map
from ..engine.value import Value
from ..tensor.tensor import Tensor
from .nodes import data_of, traced_value
from .symbols import OWN
from .text import FAST
from .trace import Trace

_RESERVED = re.compile(r"([tbkp]\d+|k\d+_\w*|\w+_\d+|seed\d+|p)$")  # names used by programs, and of elements
_WORDS = {"stock", "buffers", "answer", "program", "leaves", "numbers", "wanted", "fixed", "seeds"}
_WORDS |= {"np", "inf", "nan", "vector", "abs", "float", "lr", *FAST, *OWN}
TEXT = (bool, str, type(None))


def has_arrays(args: Any) -> bool:
    """True if there is an array or a Tensor among the arguments."""
    return any(isinstance(x, (np.ndarray, Tensor)) for x in leaves(list(args)))


def dtype_of(args: Any) -> np.dtype:
    """The dtype of numbers beside arrays: that of the arrays, so that float32 stays float32."""
    found = [x.dtype for x in leaves(list(args)) if isinstance(x, (np.ndarray, Tensor)) and x.dtype.kind == "f"]
    return np.result_type(*found) if found else np.dtype(float)


class Block(NamedTuple):
    """Numbers that a program on arrays takes as one array."""

    name: str
    text: str  # the expression for the array; empty if a line defines it already
    symbols: list[Any]  # its elements; under `batch` its rows
    of_samples: tuple[int, ...] = ()  # its shape, if it holds samples

    def like(self) -> np.ndarray:
        """An array of its shape that takes no memory, since there may be many samples."""
        return np.broadcast_to(0.0, self.of_samples or (len(self.symbols),))

    def rows(self, array: Any, samples: int | None) -> Any:
        """The array as `levels` takes it: under `batch` a matrix, with a single column if it holds no samples."""
        return array if samples is None else array.reshape(-1, samples if self.of_samples else 1)


class Arguments:
    """The arguments of one trace: `seen` by the function, `lines` that read them, `wanted` nodes to differentiate."""

    def __init__(self, trace: Trace, args: tuple[Any, ...], names: list[str], scalars: bool, batch: bool):
        self.trace, self.scalars, self.batch = trace, scalars or batch, batch
        self.tensors = not self.scalars and has_arrays(args)
        self.dtype = dtype_of(args)
        self.samples: int | None = None  # their number, under `batch`
        self.lines: list[str] = []
        self.unpacking: list[str] = []  # the lines that unpack arrays
        self.arrays: list[Block] = []  # numbers passed in arrays
        self.numbers: list[tuple[str, Any]] = []  # (name, Value) of numbers passed alone
        self.wanted: list[tuple[str, Any]] = []  # (where to find it, its placeholder)
        names = [*names[: len(args)], *(f"x{i}" for i in range(len(names), len(args)))]
        self.names = [f"{name}_" if name in _WORDS or _RESERVED.match(name) else name for name in names]
        self.seen = tuple(self._see(x, name, name) for x, name in zip(args, self.names, strict=True))
        if batch and self.samples is None:
            raise TypeError("batch=True needs an array of samples among the arguments")

    def _see(self, x: Any, name: str, place: str) -> Any:
        if isinstance(x, dict):
            return {key: self._see(part, f"{name}_{i}", f"{place}[{key!r}]") for i, (key, part) in enumerate(x.items())}
        if isinstance(x, (list, tuple)):
            parts = [self._see(part, f"{name}_{i}", f"{place}[{i}]") for i, part in enumerate(x)]
            return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
        if isinstance(x, TEXT):
            return x
        if isinstance(x, np.ndarray) and self.batch:
            return self._sample(x, name, place)
        if isinstance(x, np.ndarray) and self.scalars:
            self.unpacking.append(f"{name} = {place}.astype(float).tolist()")
            self.arrays.append(Block(name, f"{place}.astype(float, copy=False).reshape(-1)", []))
            return self._unpacked(x.shape, name, self.arrays[-1].symbols)
        return self._leaf(x, name, place)

    def _unpacked(self, shape: tuple[int, ...], name: str, found: list[Any]) -> Any:
        """Nested lists of Values for an array; adds the lines that unpack its nested lists of numbers."""
        if not shape:
            node = self.trace.value(name)
            found.append(data_of(node))
            return node
        if shape[0]:
            self.unpacking.append(f"{', '.join(f'{name}_{i}' for i in range(shape[0]))}, = {name}")
        return [self._unpacked(shape[1:], f"{name}_{i}", found) for i in range(shape[0])]

    def _sample(self, x: np.ndarray, name: str, place: str) -> Any:
        """Nested lists of Values for one sample of an array; each stands for that element in all samples."""
        if not x.ndim:
            raise ValueError(f"{place} has no axis: with batch=True the first axis of an array counts the samples")
        if self.samples not in (None, len(x)):
            raise ValueError(f"{place} holds {len(x)} samples, an array before it {self.samples}")
        self.samples = len(x)
        self.lines.append(f'{name} = np.array({place}.T, float, order="C")  # the samples last')
        symbol = self.trace.graph.input(name, x.shape[::-1], np.dtype(float))
        elements = [symbol[i] if i else symbol for i in np.ndindex(*x.shape[:0:-1])]
        self.arrays.append(Block(name, "", elements, x.shape[::-1]))

        def part(*index: int) -> Any:
            if len(index) + 1 == x.ndim:
                return traced_value(symbol[index[::-1]] if index else symbol)
            return [part(*index, i) for i in range(x.shape[len(index) + 1])]

        return part()

    def for_each(self, x: Any) -> Any:
        """A result of a function of one sample, expanded to one number for each sample under `batch`."""
        if not self.batch or not isinstance(x, Value) or getattr(data_of(x), "shape", None) is not None:
            return x
        return x * traced_value(self.trace.graph.constant(np.ones(self.samples or 0)))

    def _leaf(self, x: Any, name: str, place: str) -> Any:
        wanted = isinstance(x, (Value, Tensor)) and x.requires_grad
        if isinstance(x, Tensor) and self.scalars:
            raise TypeError(f"{place} is a Tensor: a compiled function of scalars takes Values and plain arrays")
        like = x if isinstance(x, (Tensor, np.ndarray)) else np.zeros((), self.dtype)
        as_tensor = not isinstance(x, Value) and (self.tensors or isinstance(x, (Tensor, np.ndarray)))
        node = self.trace.tensor(name, like, wanted) if as_tensor else self.trace.value(name, wanted)
        self._read(name, _reading(x, place, self.dtype if as_tensor else None))
        if not as_tensor:
            self.numbers.append((name, node))
        if wanted:
            self.wanted.append((f"{place}._node" if isinstance(x, Tensor) else place, node))
        return node

    def blocks(self) -> list[Block]:
        """All numbers: those passed in arrays, those passed alone, and of these the ones to differentiate."""
        wanted = {id(node) for _, node in self.wanted}
        blocks = list(self.arrays)
        for name, chosen in (("numbers", False), ("wanted", True)):
            pairs = [(text, data_of(node)) for text, node in self.numbers if (id(node) in wanted) == chosen]
            texts, symbols = [text for text, _ in pairs], [symbol for _, symbol in pairs]
            blocks.append(Block(name, f"np.array([{', '.join(texts)}])", symbols))
        return blocks

    def _read(self, name: str, text: str) -> None:
        if name != text:
            self.lines.append(f"{name} = {text}")


def _reading(x: Any, place: str, dtype: Any) -> str:
    """The expression that reads the number or array from an argument; with a dtype, a number becomes an array."""
    if isinstance(x, Value):
        return f"{place}._data"
    if isinstance(x, Tensor):
        return f"{place}._node._data"
    if isinstance(x, np.ndarray) or (x.__class__ is float and dtype is None):
        return place
    return f"float({place})" if dtype is None else f"np.asarray({place}, np.{dtype})"


def as_nodes(args: Any, scalars: bool) -> Any:
    """The arguments as the function sees them outside a trace: nodes unchanged, the rest as constants."""
    dtype = dtype_of(args) if has_arrays(args) and not scalars else None

    def node(x: Any) -> Any:
        if isinstance(x, (*TEXT, Value, Tensor)):
            return x
        if isinstance(x, np.ndarray) and scalars:
            return tree_map(node, x.astype(float).tolist())
        if isinstance(x, np.ndarray):
            return Tensor(x)
        return Value(float(x), requires_grad=False) if dtype is None else Tensor(np.asarray(x, dtype))

    return tree_map(node, args)
