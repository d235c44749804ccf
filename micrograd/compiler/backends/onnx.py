"""ONNX: a lowered program as the bytes of an .onnx file, which onnxruntime and others run without Python.

`NODES` is the table of primitives: each makes one node or a few, and returns the name of its result. `FORMS` rewrites
what ONNX lacks in terms of what it has. Floats have one dtype throughout; parameters are stored with their current
numbers. Two programs that differ by one size of their inputs become one with a free axis, "batch".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..graph import rebuilt
from ..lowered import Lowered, Read
from ..simplify import RULES, axes_of
from ..symbols import Symbol, needed

OPSET, IR = 18, 8  # of December 2022
END = np.iinfo(np.int64).max


class Differs(Exception):
    """Two programs differ by more than one size."""


def to_bytes(
    program: Lowered, leaves: Sequence[Any], others: Sequence[Lowered], dtype: Any, by_rows: bool = False
) -> bytes:
    """The content of an .onnx file that computes the program's values.

    Args:
        program: the program.
        leaves: the outside nodes that it reads.
        others: programs of the same function for other sizes; the first that differs by one size alone frees an axis.
        dtype: of all floats, float32 or float64.
        by_rows: True if the program computes one array, each row of which is an output.

    Raises:
        ModuleNotFoundError: the package onnx is missing.
        RuntimeError: the program contains an operation without an ONNX form.
        ValueError: dtype is another one.
    """
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"found dtype {kind}: an .onnx file is saved in float32 or float64")
    try:
        onnx = import_module("onnx")
    except ModuleNotFoundError as error:
        needs = 'saving a compiled function needs the package onnx: pip install "micrograd-glass[onnx]"'
        raise ModuleNotFoundError(needs, name="onnx") from error
    values = _forms(program)
    if missing := next((x.op for x in needed(values) if x.op not in NODES), ""):
        raise RuntimeError(f"ONNX has no form of the operation {missing.lstrip('.')!r}, which the function uses")
    for other in (*map(_forms, others), values):
        try:
            graph = Graph(onnx, kind, values, other)
            model = graph.model(program.reads, leaves, by_rows)
        except Differs:
            continue
        onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()
    raise RuntimeError("the program does not equal itself")


def _forms(program: Lowered) -> list[Any]:
    """A program's values, in operations that have a node."""
    return rebuilt(list(_flat(program.values)), {}, FORMS)


def _flat(x: Any) -> Any:
    if x.__class__ in (list, tuple):
        for part in x:
            yield from _flat(part)
    else:
        yield x


class Graph:
    """The graph of a file, while its nodes are made.

    `names` are those of Symbols; `twins` are the Symbols (and constants, by id) of the other program.
    """

    def __init__(self, onnx: Any, kind: np.dtype, values: list[Any], other: list[Any]):
        self.onnx = onnx
        self.kind = kind
        self.values = values
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.initializers: dict[Any, Any] = {}
        self.names: dict[Symbol, str] = {}
        self.count: int = 0
        self.batch: str = ""  # the name of its size
        self.sizes: tuple[int, int] | None = None  # in both programs
        self.twins: dict[Any, Any] = {}
        self.steps: list[Symbol] = needed(values)
        steps = needed(other)
        if len(self.steps) != len(steps):
            raise Differs
        for x, y in zip(self.steps, steps, strict=True):
            settings = SHAPED.get(x.op, slice(None))
            if (x.op, x.named, x.dtype, len(x.shape or ())) != (y.op, y.named, y.dtype, len(y.shape or ())):
                raise Differs
            self._pair(x.args[settings], y.args[settings])
            self.twins[x] = y
        self._pair(values, other)

    def _pair(self, a: Any, b: Any) -> None:
        """Raise unless two operands or settings are the same in both programs."""
        if a.__class__ in (tuple, list) and b.__class__ is a.__class__ and len(a) == len(b):
            for x, y in zip(a, b, strict=True):
                self._pair(x, y)
        elif a.__class__ is np.ndarray and b.__class__ is np.ndarray:
            uniform = not any((*a.strides, *b.strides)) and a.ndim == b.ndim and a.size and b.size
            if not (a.flat[0] == b.flat[0] if uniform else np.array_equal(a, b)):
                raise Differs
            self.twins[id(a)] = b
        elif not (self.twins.get(a) is b if a.__class__ is Symbol else repr(a) == repr(b)):
            raise Differs

    def model(self, reads: Sequence[Read], leaves: Sequence[Any], by_rows: bool) -> Any:
        """The whole, as onnx has it."""
        make = self.onnx.helper
        symbols = {x.args[0]: x for x in self.steps if x.op == "input"}
        for read in reads:
            self._read(read, symbols, leaves)
        for x in self.steps:
            if x.op != "input":
                self.names[x] = NODES[x.op](self, x, *x.args, **dict(x.named))
        found = [(self.value(x), self.type(x), self.pairs(x)) for x in self.values]
        if by_rows:
            ((rows, dtype, ((n, _), *pairs)),) = found
            found = [(self.add("Gather", rows, self.constant(np.array(i))), dtype, pairs) for i in range(n)]
        outputs, taken = [], {x.name for x in self.inputs}
        for i, (result, dtype, pairs) in enumerate(found):
            name = "output" if len(found) == 1 else f"output_{i}"
            while name in taken:
                name += "_"
            self.nodes.append(make.make_node("Identity", [result], [name]))
            outputs.append(self._info(name, dtype, pairs))
        graph = make.make_graph(self.nodes, "micrograd", self.inputs, outputs, [*self.initializers.values()])
        opset = [make.make_opsetid("", OPSET)]
        return make.make_model(graph, opset_imports=opset, ir_version=IR, producer_name="micrograd")

    # ---- what it reads

    def _read(self, read: Read, symbols: dict[str, Symbol], leaves: Sequence[Any]) -> None:
        """The input or the parameter that a Symbol stands for."""
        name, x = read.name, symbols.get(read.name)
        if read.kind == "lists":
            self._elements(read, symbols)
        elif x is None:
            return
        elif read.parameter == "leaves":
            found: Any = [node.data for node in leaves]
            for key in read.keys:
                found = found[key]
            self.names[x] = self.constant(np.asarray(found), self.type(x), name)
        elif read.kind == "vector":
            parts = [self.add("Reshape", self._input(key, self.kind, []), self.ints(1)) for key in read.keys]
            self.names[x] = self.add("Concat", *parts, axis=0)
        elif read.kind == "flat":
            whole = self._input(name, self.type(x), [(n, n) for n in read.shape])
            self.names[x] = self.add("Reshape", whole, self.ints(-1))
        else:
            pairs = self.pairs(x)
            self.names[x] = self._input(name, self.type(x), pairs[::-1] if read.kind == "samples" else pairs)
            if read.kind == "samples" and len(pairs) > 1:
                self.names[x] = self.add("Transpose", name, perm=[*range(len(pairs))][::-1])

    def _elements(self, read: Read, symbols: dict[str, Symbol]) -> None:
        """The numbers of an array, each by itself."""
        whole = self.add("Reshape", self._input(read.name, self.kind, [(n, n) for n in read.shape]), self.ints(-1))
        for i, index in enumerate(np.ndindex(*read.shape)):
            if (name := "_".join(map(str, (read.name, *index)))) in symbols:
                self.names[symbols[name]] = self.add("Gather", whole, self.constant(np.array(i)))

    def _input(self, name: str, dtype: Any, pairs: list[tuple[int, int]]) -> str:
        for axis, pair in enumerate(pairs):
            if pair[0] != pair[1] and self.sizes is None:
                self.sizes = pair
                self.batch = self.add("Shape", name, start=axis, end=axis + 1)
        if any(a != b and (a, b) != self.sizes for a, b in pairs):
            raise Differs
        self.inputs.append(self._info(name, dtype, pairs))
        return name

    def _info(self, name: str, dtype: Any, pairs: list[tuple[int, int]]) -> Any:
        dims = [a if a == b else "batch" if (a, b) == self.sizes else None for a, b in pairs]
        return self.onnx.helper.make_tensor_value_info(name, self.onnx.helper.np_dtype_to_tensor_dtype(dtype), dims)

    # ---- nodes and constants

    def add(self, op: str, *operands: str, **settings: Any) -> str:
        """A node, and the name of its result."""
        self.count += 1
        self.nodes.append(self.onnx.helper.make_node(op, operands, [f"t{self.count}"], **settings))
        return f"t{self.count}"

    def constant(self, x: np.ndarray, dtype: Any = np.int64, name: str = "") -> str:
        """The name of a stored array; a finite number stays finite in a narrower dtype."""
        if x.dtype.kind == "f" and np.dtype(dtype) == np.float32:
            x = np.where(np.isinf(x), x, np.clip(x, *np.array([-1, 1]) * float(np.finfo(dtype).max)))
        x = np.asarray(x, dtype, order="C")
        key = name or (x.dtype, x.shape, x.tobytes())
        if key not in self.initializers:
            self.initializers[key] = self.onnx.numpy_helper.from_array(x, name or f"k{len(self.initializers)}")
        return self.initializers[key].name

    def ints(self, *numbers: int) -> str:
        """A constant vector."""
        return self.constant(np.array(numbers, np.int64))

    def type(self, x: Any) -> Any:
        """The dtype of an operand in the file."""
        dtype = x.dtype if isinstance(x, (Symbol, np.ndarray, np.generic)) else np.result_type(x)
        return self.kind if dtype is None or dtype.kind == "f" else dtype

    def value(self, x: Any, dtype: Any = None) -> str:
        """The name of an operand, as this dtype."""
        dtype = self.type(x) if dtype is None else dtype
        if x.__class__ is Symbol:
            return self.names[x] if self.type(x) == dtype else self.cast(self.names[x], dtype)
        pairs = self.pairs(x)
        if all(a == b for a, b in pairs):
            return self.constant(np.asarray(x), dtype)
        return self.add("Expand", self.constant(x.flat[0], dtype), self.dims(pairs))

    def cast(self, name: str, dtype: Any) -> str:
        """A name for the same array in another dtype."""
        return self.add("Cast", name, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    # ---- sizes

    def pairs(self, x: Any) -> list[tuple[int, int]]:
        """Each size of an operand, in both programs."""
        other = self.twins.get(x if x.__class__ is Symbol else id(x), x)
        return [*zip(getattr(x, "shape", None) or (), getattr(other, "shape", None) or (), strict=True)]

    def fixed(self, *sizes: tuple[int, int]) -> None:
        """Raise if one of the sizes is free."""
        if any(a != b for a, b in sizes):
            raise Differs

    def dims(self, pairs: list[tuple[int, int]]) -> str:
        """The name of a shape; free sizes are multiples of that of the batch."""
        if all(a == b for a, b in pairs):
            return self.ints(*(a for a, _ in pairs))
        parts = []
        for a, b in pairs:
            times = 1 if a == b or self.sizes is None else a // self.sizes[0]
            if a != b and (self.sizes is None or (a, b) != (times * self.sizes[0], times * self.sizes[1])):
                raise Differs
            parts.append(self.ints(a) if a == b else self.add("Mul", self.batch, self.ints(times)))
        return self.add("Concat", *parts, axis=0)

    def reshaped(self, name: str, x: Any) -> str:
        """The array in the shape of a Symbol."""
        pairs = self.pairs(x)
        if sum(a != b for a, b in pairs) == 1 and all(a for a, _ in pairs):
            return self.add("Reshape", name, self.ints(*(a if a == b else -1 for a, b in pairs)))
        return self.add("Reshape", name, self.dims(pairs), allowzero=int(any(a == 0 for a, _ in pairs)))

    def zeros(self, x: Symbol) -> str:
        """Zeros like the Symbol."""
        return self.add("Expand", self.constant(np.zeros(()), self.type(x)), self.dims(self.pairs(x)))


# ---------------------------------------------------------------------------------------------------------------------
# The table


def _elementwise(op: str) -> Callable[..., str]:
    """Operands and result have one dtype."""
    return lambda graph, x, *args, **_: graph.add(op, *(graph.value(a, graph.type(x)) for a in args))


def _comparison(op: str) -> Callable[..., str]:
    def node(graph: Graph, x: Symbol, *args: Any) -> str:
        numbers = (float, int, bool)
        common = np.result_type(*(a if isinstance(a, numbers) else graph.type(a) for a in args))
        common = graph.kind if common.kind == "f" else common
        return graph.add(op, *(graph.value(a, common) for a in args))

    return node


def _reduction(op: str) -> Callable[..., str]:
    def node(graph: Graph, x: Symbol, a: Any, axis: Any = None, keepdims: bool = False) -> str:
        name = graph.value(a, graph.type(x))
        axes = axes_of(a, axis)
        return graph.add(op, name, graph.ints(*axes), keepdims=int(keepdims)) if axes else name

    return node


def _where(graph: Graph, x: Symbol, condition: Any, a: Any, b: Any) -> str:
    return graph.add("Where", graph.value(condition, bool), *(graph.value(y, graph.type(x)) for y in (a, b)))


def _remainder(graph: Graph, x: Symbol, a: Any, b: Any) -> str:
    return graph.add("Mod", *(graph.value(y, graph.type(x)) for y in (a, b)), fmod=int(graph.type(x).kind == "f"))


def _reshape(graph: Graph, x: Symbol, a: Any, *_: Any, **__: Any) -> str:
    return graph.reshaped(graph.value(a, graph.type(x)), x)


def _broadcast(graph: Graph, x: Symbol, a: Any, *_: Any) -> str:
    if not x.size:  # Expand leaves an axis of one element as it is
        return graph.constant(np.zeros(x.shape), graph.type(x))
    return graph.add("Expand", graph.value(a), graph.dims(graph.pairs(x)))


def _transpose(graph: Graph, x: Symbol, a: Any, *order: Any) -> str:
    return graph.add("Transpose", graph.value(a), perm=[*(order[0] if len(order) == 1 else order)])


def _cast(graph: Graph, x: Symbol, a: Any, *_: Any, **__: Any) -> str:
    return graph.value(a, graph.type(x))


def _concatenate(graph: Graph, x: Symbol, parts: Any, axis: int = 0) -> str:
    return graph.add("Concat", *(graph.value(a, graph.type(x)) for a in parts), axis=axis)


def _flip(graph: Graph, x: Symbol, a: Any, axis: Any = None) -> str:
    axes = axes_of(x, axis)
    settings = ([-1] * len(axes), [-END] * len(axes), axes, [-1] * len(axes))
    return graph.add("Slice", graph.value(a), *(graph.ints(*numbers) for numbers in settings))


def _cumsum(graph: Graph, x: Symbol, a: Any, axis: int) -> str:
    return graph.add("CumSum", graph.value(a, graph.type(x)), graph.constant(np.array(axis)))


def _take(graph: Graph, x: Symbol, a: Any, index: Any, axis: int | None = None, **_: Any) -> str:
    name = graph.value(a) if axis is not None else graph.add("Reshape", graph.value(a), graph.ints(-1))
    return graph.add("Gather", name, graph.value(index, np.int64), axis=axis or 0)


def _take_along(graph: Graph, x: Symbol, a: Any, index: Any, axis: int) -> str:
    return graph.add("GatherElements", graph.value(a), graph.value(index, np.int64), axis=axis)


def _einsum(graph: Graph, x: Symbol, letters: Any, output: Any, *operands: Any) -> str:
    texts = ["".join(chr(ord("a") + i) for i in part) for part in (*letters, output)]
    equation = f"{','.join(texts[:-1])}->{texts[-1]}"
    return graph.add("Einsum", *(graph.value(a, graph.type(x)) for a in operands), equation=equation)


def _matmul(graph: Graph, x: Symbol, a: Any, b: Any, *_: Any) -> str:
    return graph.add("MatMul", graph.value(a, graph.type(x)), graph.value(b, graph.type(x)))


def _windows(graph: Graph, x: Symbol, a: Symbol, size: Any, stride: Any, dilation: Any) -> str:
    """Each axis is gathered into one of the places in a window and one of the windows."""
    n, name = len(size), graph.value(a)
    first = a.ndim - n
    graph.fixed(*graph.pairs(a)[first:])
    for i, (k, s, d) in enumerate(zip(size, stride, dilation, strict=True)):
        places = np.arange(k)[:, None] * d + np.arange(x.shape[first + n + i]) * s
        name = graph.add("Gather", name, graph.constant(places), axis=first + 2 * i)
    return graph.add("Transpose", name, perm=[*range(first), *range(first, x.ndim, 2), *range(first + 1, x.ndim, 2)])


def _parts(index: Any, ndim: int) -> list[Any]:
    """What an index says about each axis: an int, a slice, or an array; without new axes."""
    parts = [part for part in (index if index.__class__ is tuple else (index,)) if part is not None]
    parts = [y for x in parts for y in (np.nonzero(x) if np.ndarray is x.__class__ and x.dtype.kind == "b" else [x])]
    where = next((i for i, x in enumerate(parts) if x is ...), len(parts))
    left = ndim - sum(x is not ... for x in parts)
    return [*parts[:where], *[slice(None)] * left, *parts[where + 1 :]]


def _item(graph: Graph, name: str, ndim: int, index: Any) -> str:
    """The elements at an index; axes of ints, and new ones, are left to a reshape."""
    parts = _parts(index, ndim)
    arrays = [i for i, x in enumerate(parts) if isinstance(x, (Symbol, np.ndarray, list))]
    chosen = [i for i, x in enumerate(parts) if i in arrays or not isinstance(x, slice)] if len(arrays) else []
    cuts = {i: x for i, x in enumerate(parts) if i not in chosen and x != slice(None)}
    if cuts:
        slices = [x if isinstance(x, slice) else slice(x, x + 1 or None) for x in cuts.values()]
        steps = [x.step or 1 for x in slices]
        starts = [x.start if x.start is not None else 0 if (x.step or 1) > 0 else END for x in slices]
        ends = [x.stop if x.stop is not None else END if (x.step or 1) > 0 else -END for x in slices]
        name = graph.add("Slice", name, *(graph.ints(*numbers) for numbers in (starts, ends, [*cuts], steps)))
    if len(chosen) == 1:
        return graph.add("Gather", name, _places(graph, parts[chosen[0]]), axis=chosen[0])
    if not chosen:
        return name
    shape = np.broadcast_shapes(*(np.shape(parts[i]) if i not in arrays else _shape(parts[i]) for i in chosen))
    graph.fixed(*(pair for i in arrays for pair in graph.pairs(parts[i])))
    each = [graph.add("Expand", _places(graph, parts[i]), graph.ints(*shape)) for i in chosen]
    stacked = graph.add("Concat", *(graph.add("Unsqueeze", x, graph.ints(-1)) for x in each), axis=-1)
    rest = [i for i in range(ndim) if i not in chosen]
    name = graph.add("GatherND", graph.add("Transpose", name, perm=[*chosen, *rest]), stacked)
    before, n = chosen[0], len(shape)  # arrays side by side: the result has their axes in their place, else first
    if chosen != [*range(before, chosen[-1] + 1)] or not before:
        return name
    return graph.add("Transpose", name, perm=[*range(n, n + before), *range(n), *range(n + before, n + len(rest))])


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if x.__class__ is Symbol else np.shape(x)


def _places(graph: Graph, x: Any) -> str:
    return graph.value(x if x.__class__ is Symbol else np.asarray(x), np.int64)


def _getitem(graph: Graph, x: Symbol, a: Any, index: Any) -> str:
    return graph.reshaped(_item(graph, graph.value(a), len(_shape(a)), index), x)


def _written(graph: Graph, x: Symbol, into: str, a: Any, index: Any, **reduction: str) -> str:
    """An array with the elements at an index replaced, or added to: both are flattened."""
    graph.fixed(*graph.pairs(x))
    numbers = graph.constant(np.arange(x.size).reshape(x.shape))
    fixed = tuple(np.zeros(_shape(i), int) if i.__class__ is Symbol else i for i in _tuple(index))
    places = np.empty(x.shape, bool)[fixed]
    flat = graph.add("Reshape", into, graph.ints(-1))
    at = graph.add("Reshape", _item(graph, numbers, x.ndim, index), graph.ints(-1, 1))
    values = graph.add("Expand", graph.value(a, graph.type(x)), graph.ints(*places.shape))
    values = graph.add("Reshape", values, graph.ints(-1))
    return graph.reshaped(graph.add("ScatterND", flat, at, values, **reduction), x)


def _tuple(index: Any) -> tuple[Any, ...]:
    return index if index.__class__ is tuple else (index,)


def _setitem(graph: Graph, x: Symbol, a: Any, index: Any, b: Any) -> str:
    return _written(graph, x, graph.value(a), b, index)


def _accumulate(graph: Graph, x: Symbol, total: Any, a: Any, index: Any) -> str:
    return _written(graph, x, graph.value(total), a, index, reduction="add")


def _scatter(graph: Graph, x: Symbol, a: Any, index: Any, *_: Any) -> str:
    """Zeros around an array, if its index is a block; else zeros with it added."""
    if not x.shape or any(
        i is None or not (i is ... or (i.__class__ is slice and i.step in (None, 1))) for i in _tuple(index)
    ):
        return _written(graph, x, graph.zeros(x), a, index, reduction="add")
    ends = [part.indices(n) for part, n in zip(_parts(index, x.ndim), x.shape, strict=True)]
    pads = [start for start, *_ in ends] + [n - stop for (_, stop, _), n in zip(ends, x.shape, strict=True)]
    return graph.add("Pad", graph.value(a), graph.ints(*pads))


def _scatter_along(graph: Graph, x: Symbol, a: Any, index: Any, axis: int, *_: Any) -> str:
    operands = graph.value(index, np.int64), graph.value(a)
    return graph.add("ScatterElements", graph.zeros(x), *operands, axis=axis, reduction="add")


def _placed(graph: Graph, x: Symbol, a: Any, plan: Any, _: int) -> str:
    at = graph.constant(plan[0][..., None])
    return graph.add("ScatterND", graph.zeros(x), at, graph.value(a, graph.type(x)), reduction="add")


def _expm1(_: Any, x: Any) -> Any:
    """exp(x) - 1, exact near 0 too."""
    return np.tanh(x / 2.0) * (np.exp(x) + 1.0)


def _log1p(_: Any, x: Any) -> Any:
    """log(1 + x), corrected near 0 by what the sum has lost."""
    total = x + 1.0
    return np.log(total) + np.where(abs(x) < 0.5, (x - (total - 1.0)) / total, 0.0)


def _clip(_: Any, a: Any, low: Any, high: Any) -> Any:
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _python_remainder(graph: Any, a: Any, b: Any) -> Any:
    """With the sign of b, as in Python; ONNX has that for integers, and C's for floats."""
    if all(getattr(x, "dtype", None) is not None and x.dtype.kind in "iu" for x in (a, b)):
        return None
    c = graph.make("fmod", (a, b))
    return np.where(c * b < 0.0, c + b, c)


FORMS: dict[str, Callable[..., Any]] = RULES | {
    "expm1": _expm1,
    "log1p": _log1p,
    "exp2": lambda _, x: np.exp(x * np.log(2.0)),
    "log2": lambda _, x: np.log(x) / float(np.log(2.0)),
    "log10": lambda _, x: np.log(x) / float(np.log(10.0)),
    "hypot": lambda _, a, b: np.sqrt(a * a + b * b),
    "logaddexp": lambda _, a, b: np.maximum(a, b) + _log1p(_, np.exp(-abs(a - b))),
    "not_equal": lambda _, a, b: np.logical_not(np.equal(a, b)),
    "clip": _clip,
    "trunc": lambda _, x: np.sign(x) * np.floor(abs(x)),
    "remainder": _python_remainder,
    "floor_divide": lambda _, a, b: np.rint((a - np.remainder(a, b)) / b),
}
SHAPED = {".reshape": slice(1), "squeeze": slice(1), "broadcast_to": slice(1), ".item": slice(1)}
SHAPED |= {"scatter": slice(2), "scatter_along_axis": slice(3)}  # the operands before the shape, which the result has

_PLAIN = "Exp Log Sqrt Sin Cos Tan Sinh Cosh Tanh Floor Ceil Sign"
_NAMES = {name.lower(): name for name in _PLAIN.split()} | {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow", "negative": "Neg",
    "maximum": "Max", "minimum": "Min", "absolute": "Abs", "rint": "Round",
    "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
    "logical_and": "And", "logical_or": "Or", "logical_not": "Not",
}  # fmt: skip
_COMPARISONS = {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual"}
_COMPARISONS |= {"equal": "Equal"}
_REDUCTIONS = {f".{name.lower()}": f"Reduce{name}" for name in ("Sum", "Mean", "Max", "Min")}
NODES: dict[str, Callable[..., str]] = {op: _elementwise(name) for op, name in _NAMES.items()}
NODES |= {op: _comparison(name) for op, name in _COMPARISONS.items()}
NODES |= {op: _reduction(name) for op, name in _REDUCTIONS.items()}
NODES |= {
    "where": _where,
    "remainder": _remainder,
    "fmod": _remainder,
    "matmul": _matmul,
    "matmul_like": _matmul,
    "einsum_of": _einsum,
    ".cumsum": _cumsum,
    ".reshape": _reshape,
    ".item": _reshape,
    "squeeze": _reshape,
    "broadcast_to": _broadcast,
    ".transpose": _transpose,
    ".astype": _cast,
    "detach": _cast,
    "input": _cast,
    "concatenate": _concatenate,
    "flip": _flip,
    "take": _take,
    "take_along_axis": _take_along,
    "getitem": _getitem,
    "setitem": _setitem,
    "accumulate": _accumulate,
    "scatter": _scatter,
    "scatter_along_axis": _scatter_along,
    "placed": _placed,
    "windows": _windows,
}
