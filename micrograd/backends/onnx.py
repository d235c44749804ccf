"""ONNX: a lowered program as the bytes of an .onnx file, which onnxruntime and other runtimes run without Python.

`NODES` is the table of operations. Each entry adds one node or a few, and returns the name of the result. `FORMS` says
how operations that ONNX lacks are composed of operations that it has. Floats have one dtype throughout. Parameters are
stored with their current numbers, but a parameter that a training step writes to is an input, and its next value is an
output. Two programs that differ in one size of their inputs become one program with a free axis, "batch". Each becomes
a `Graph`, and where the two have different shapes, or different constants such as the 1/n of a mean, the file computes
these from the size of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from ..compiler.lowered import Lowered, Read, Symbol, axes_of, leaves, needed, rewritten

OPSET, IR = 18, 8  # of December 2022
END = np.iinfo(np.int64).max

Info = tuple[str, Any, Sequence[int]]  # name, dtype and shape
Node = tuple[str, list[str], str, dict[str, Any]]  # op, operands, result and settings


class Differs(RuntimeError):
    """Two programs differ by more than one size."""


def to_bytes(program: Lowered, others: Sequence[Lowered], dtype: Any, by_rows: bool = False) -> bytes:
    """The content of an .onnx file that computes the program's values and, of a training step, its next state.

    Args:
        program: the program.
        others: programs of the same function for other sizes. The first that differs in one size alone frees an axis.
        dtype: of all floats, float32 or float64.
        by_rows: True if the program computes one array, of which each row is an output.

    Raises:
        ModuleNotFoundError: the package onnx is missing.
        RuntimeError: the program contains an operation without an ONNX form, or it computes no result.
        ValueError: dtype is neither float32 nor float64.
    """
    float_dtype = np.dtype(dtype)
    if float_dtype not in (np.float32, np.float64):
        raise ValueError(f"found dtype {float_dtype}: an .onnx file is saved in float32 or float64")
    try:
        onnx = import_module("onnx")
    except ModuleNotFoundError as error:
        message = "saving a compiled function needs the package onnx, which is not installed here: pip install onnx"
        raise ModuleNotFoundError(message, name="onnx") from error
    graph = Graph(onnx, float_dtype, program, by_rows)
    model = graph.model(graph)
    for other in others:
        with suppress(RuntimeError):
            model = graph.model(Graph(onnx, float_dtype, other, by_rows))
            break
    if not graph.outputs:
        raise RuntimeError("the function returns no node, so an .onnx file would compute nothing")
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise RuntimeError(f"ONNX lacks an operation of this dtype: change it by astype(); {error}") from error
    return model.SerializeToString()


class Graph:
    """The nodes that compute a program's values, for its sizes."""

    def __init__(self, onnx: Any, float_dtype: np.dtype, program: Lowered, by_rows: bool):
        self.onnx = onnx
        self.float_dtype = float_dtype
        self.nodes: list[Node] = []
        self.inputs: list[Info] = []
        self.outputs: list[Info] = []
        self.shapes: list[Info] = []  # arrays of sizes, which are stored or computed from the size of the batch
        self.stored: list[
            tuple[Any, str, np.ndarray]
        ] = []  # a key (the content, or a parameter's name), name and array
        self.names: dict[Symbol, str] = {}
        updates = program.updates
        values = rewritten([*leaves(program.values), *(new for _, new in updates)], FORMS)
        steps = needed(values)
        if missing := next((x.op for x in steps if x.op not in NODES), ""):
            raise RuntimeError(f"ONNX has no form of the operation {missing.lstrip('.')!r}, which the function uses")
        symbols = {x.args[0]: x for x in steps if x.op == "input"}
        for read in program.reads:
            self._read(read, symbols, program.leaves)
        for x in steps:
            if x.op != "input":
                self.names[x] = NODES[x.op](self, x, *x.args, **dict(x.named))
        results = [(self.value(x), self.type(x), _shape(x)) for x in values]
        count = len(values) - len(updates)
        outputs, state = results[:count], results[count:]
        if by_rows:
            ((rows, dtype, (n, *shape)),) = outputs
            outputs = [(self.add("Gather", rows, self.constant(np.array(i))), dtype, shape) for i in range(n)]
        names = ["output"] if len(outputs) == 1 else [f"output_{i}" for i in range(len(outputs))]
        names += [f"next_{x.args[0]}" for x, _ in updates]
        taken = {name for name, *_ in self.inputs}
        for name, (result, dtype, shape) in zip(names, [*outputs, *state], strict=True):
            while name in taken:
                name += "_"
            self.nodes.append(("Identity", [result], name, {}))
            self.outputs.append((name, dtype, shape))

    def model(self, twin: Graph) -> Any:
        """The model, as an object of onnx. If the inputs of the twin differ in one size, this size is free.

        Raises:
            Differs: the two graphs differ in more than that.
        """
        if self._signature() != twin._signature():
            raise Differs
        make, n, m = self.onnx.helper, 1, 1
        nodes: list[Node] = []
        for (name, _, shape), (_, _, other) in zip(self.inputs, twin.inputs, strict=True):
            for axis, (a, b) in enumerate(zip(shape, other, strict=True)):
                if a != b and not nodes:
                    n, m = a, b
                    nodes.append(("Shape", [name], "t0", {"start": axis, "end": axis + 1}))
                if a != b and (a, b) != (n, m):
                    raise Differs
        arrays: dict[str, np.ndarray] = {}
        first: dict[Any, str] = {}  # the name of the first constant with a key
        names: dict[str, str] = {}  # for each constant, the name of the first one with the same key
        for (key, name, x), (other, _, y) in zip(self.stored, twin.stored, strict=True):
            if key == other:
                names[name] = first.setdefault(key, name)
                arrays[names[name]] = x
            else:
                factors, computing = _of_the_batch(name, x, y, n, m, make.np_dtype_to_tensor_dtype(x.dtype))
                arrays, nodes = arrays | factors, nodes + computing
        reshapes = {operands[1] for op, operands, *_ in self.nodes if op == "Reshape"}
        for (name, _, shape), (_, _, other) in zip(self.shapes, twin.shapes, strict=True):
            x, y = np.array(shape, np.int64), np.array(other, np.int64)
            fixed, times = np.where(x == y, x, 0), np.where(x == y, 0, x // (n or 1))
            if name in reshapes and x.all() and (x != y).sum() == 1:
                arrays[name] = np.where(x == y, x, -1)  # onnx computes this size
            elif (x == y).all():
                arrays[name] = x
            elif (x == fixed + n * times).all() and (y == fixed + m * times).all():
                arrays |= {f"{name}_fixed": fixed, f"{name}_times": times}
                nodes.append(("Mul", ["t0", f"{name}_times"], f"{name}_free", {}))
                nodes.append(("Add", [f"{name}_fixed", f"{name}_free"], name, {}))
            else:
                raise Differs
        infos = []
        sides = zip(self.inputs + self.outputs, twin.inputs + twin.outputs, strict=True)
        for (name, dtype, shape), (_, _, other) in sides:
            dims = [a if a == b else "batch" if (a, b) == (n, m) else None for a, b in zip(shape, other, strict=True)]
            infos.append(make.make_tensor_value_info(name, make.np_dtype_to_tensor_dtype(dtype), dims))
        inputs, outputs = infos[: len(self.inputs)], infos[len(self.inputs) :]
        initializers = [self.onnx.numpy_helper.from_array(np.asarray(x), name) for name, x in arrays.items()]
        written = [
            make.make_node(op, [names.get(name, name) for name in operands], [result], **settings)
            for op, operands, result, settings in (*nodes, *self.nodes)
        ]
        graph = make.make_graph(written, "micrograd", inputs, outputs, initializers)
        opset = [make.make_opsetid("", OPSET)]
        return make.make_model(graph, opset_imports=opset, ir_version=IR, producer_name="micrograd")

    def _signature(self) -> Any:
        """The nodes, names and dtypes, which a twin must share."""
        infos = [(name, dtype, len(shape)) for name, dtype, shape in (*self.inputs, *self.shapes, *self.outputs)]
        return self.nodes, [(name, x.dtype, x.ndim) for _, name, x in self.stored], infos

    # ---- inputs

    def _read(self, read: Read, symbols: dict[str, Symbol], nodes: Sequence[Any]) -> None:
        """Name the Symbols of a read: add an input, or a stored parameter."""
        name, x = read.name, symbols.get(read.name)
        if read.kind == "lists":  # a Symbol for each number of an array
            flat = self.add("Reshape", self._input(name, self.float_dtype, read.shape), self.ints(-1))
            for i, index in enumerate(np.ndindex(*read.shape)):
                if (element := symbols.get("_".join(map(str, (name, *index))))) is not None:
                    self.names[element] = self.add("Gather", flat, self.constant(np.array(i)))
        elif x is None:
            return
        elif read.parameter == "leaves":
            data: Any = [node.data for node in nodes]
            for key in read.keys:
                data = data[key]
            self.names[x] = self.constant(np.asarray(data), self.type(x), name)
        elif read.kind == "vector":
            elements = [self.add("Reshape", self._input(key, self.float_dtype, ()), self.ints(1)) for key in read.keys]
            self.names[x] = self.add("Concat", *elements, axis=0)
        elif read.kind == "flat":
            self.names[x] = self.add("Reshape", self._input(name, self.type(x), read.shape), self.ints(-1))
        elif read.kind == "samples" and x.ndim > 1:
            transposed = self._input(name, self.type(x), x.shape[::-1])
            self.names[x] = self.add("Transpose", transposed, perm=[*range(x.ndim)][::-1])
        else:
            self.names[x] = self._input(name, self.type(x), _shape(x))

    def _input(self, name: str, dtype: Any, shape: tuple[int, ...]) -> str:
        self.inputs.append((name, dtype, shape))
        return name

    # ---- nodes and constants

    def add(self, op: str, *operands: Any, **settings: Any) -> str:
        """Add a node, and return the name of its result. The operands are names, or Symbols and constants."""
        names = [x if x.__class__ is str else self.value(x) for x in operands]
        result = f"t{len(self.nodes) + 1}"
        self.nodes.append((op, names, result, settings))
        return result

    def like(self, x: Symbol, *operands: Any) -> list[str]:
        """The names of operands, in the dtype of the Symbol."""
        return [self.value(a, self.type(x)) for a in operands]

    def value(self, x: Any, dtype: Any = None) -> str:
        """The name of an operand, cast to this dtype."""
        dtype = self.type(x) if dtype is None else dtype
        if x.__class__ is Symbol:
            cast = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            return self.names[x] if self.type(x) == dtype else self.add("Cast", self.names[x], to=cast)
        if _shape(x) and x.size and not any(x.strides):
            return self.add("Expand", self.constant(x.flat[0], dtype), self.shape(x.shape))
        return self.constant(np.asarray(x), dtype)

    def constant(self, x: np.ndarray, dtype: Any = np.int64, name: str = "") -> str:
        """Store an array, and return its name. A finite number stays finite in a narrower dtype."""
        if x.dtype.kind == "f" and np.dtype(dtype) == np.float32:
            x = np.where(np.isinf(x), x, np.clip(x, *np.array([-1, 1]) * float(np.finfo(dtype).max)))
        x = np.asarray(x, dtype, order="C")
        key, name = name or (x.dtype, x.shape, x.tobytes()), name or self._unused()
        self.stored.append((key, name, x))
        return name

    def ints(self, *numbers: int) -> str:
        """Store a vector of integers, and return its name."""
        return self.constant(np.array(numbers, np.int64))

    def shape(self, sizes: Sequence[int]) -> str:
        """The name of a shape. If the twin has another shape there, it is computed from the size of the batch."""
        self.shapes.append((self._unused(), np.int64, sizes))
        return self.shapes[-1][0]

    def _unused(self) -> str:
        return f"k{len(self.stored) + len(self.shapes)}"

    def type(self, x: Any) -> Any:
        """The dtype of an operand in the file."""
        dtype = x.dtype if isinstance(x, (Symbol, np.ndarray, np.generic)) else np.result_type(x)
        return self.float_dtype if dtype is None or dtype.kind == "f" else dtype

    def reshaped(self, x: Symbol, a: Any) -> str:
        """The operand in the shape of the Symbol."""
        return self.add("Reshape", a, self.shape(_shape(x)), allowzero=int(0 in _shape(x)))

    def zeros(self, x: Symbol) -> str:
        """Zeros like the Symbol."""
        return self.add("Expand", self.constant(np.zeros(()), self.type(x)), self.shape(_shape(x)))


def _shape(x: Any) -> tuple[int, ...]:
    return getattr(x, "shape", None) or ()


def _of_the_batch(name: str, x: np.ndarray, y: np.ndarray, n: int, m: int, to: int) -> tuple[dict, list[Node]]:
    """The arrays and nodes that compute a constant, which is x for a batch of n and y for a batch of m.

    The constant is a number times a power of the size, such as the 1/n of a mean, or it numbers the rows.

    Raises:
        Differs: the constant is neither of the two.
    """
    size, by, power, grown, zero, one = (f"{name}_{part}" for part in ("size", "by", "power", "grown", "zero", "one"))
    nodes: list[Node] = [("ReduceSum", ["t0"], f"{name}_n", {"keepdims": 0})]  # a number, without an axis
    nodes.append(("Cast", [f"{name}_n"], size, {"to": to}))
    if x.ndim == 1 and n and x.size * m == y.size * n and all(np.array_equal(a, np.arange(a.size)) for a in (x, y)):
        nodes += [("Mul", [size, by], grown, {}), ("Range", [zero, grown, one], name, {})]
        return {by: x.dtype.type(x.size // n), zero: x.dtype.type(0), one: x.dtype.type(1)}, nodes
    for k in (-1, 1, -2, 2) if x.ndim == 0 and x.dtype.kind == "f" and n * m and n != m else ():
        factor, other = x / float(n) ** k, y / float(m) ** k
        if np.isclose(factor, other, rtol=8 * np.finfo(x.dtype).eps, atol=0.0):
            nodes += [("Pow", [size, power], grown, {}), ("Mul", [grown, by], name, {})]
            return {by: x.dtype.type(factor), power: x.dtype.type(k)}, nodes
    raise Differs


# ---------------------------------------------------------------------------------------------------------------------
# Indices


def _parts(index: Any, ndim: int) -> list[Any]:
    """The index of each axis: an int, a slice, or an array. New axes are left out."""
    parts: list[Any] = []
    for part in _tuple(index):
        if part.__class__ is np.ndarray and part.dtype.kind == "b":
            parts += np.nonzero(part)
        elif part is not None:
            parts.append(np.array(part) if part.__class__ is list else part)
    where = next((i for i, part in enumerate(parts) if part is ...), len(parts))
    missing = ndim - sum(part is not ... for part in parts)
    return [*parts[:where], *[slice(None)] * missing, *parts[where + 1 :]]


def _tuple(index: Any) -> tuple[Any, ...]:
    return index if index.__class__ is tuple else (index,)


def _item(graph: Graph, a: Any, ndim: int, index: Any) -> Any:
    """The elements at an index. The caller reshapes the result, since axes of ints stay and new axes are missing."""
    parts = _parts(index, ndim)
    arrays = any(isinstance(x, (Symbol, np.ndarray)) for x in parts)
    chosen = [i for i, x in enumerate(parts) if arrays and not isinstance(x, slice)]
    cuts = {i: x for i, x in enumerate(parts) if i not in chosen and x != slice(None)}
    if cuts:
        slices = [x if isinstance(x, slice) else slice(x, x + 1 or None) for x in cuts.values()]
        steps = [x.step or 1 for x in slices]
        starts = [x.start if x.start is not None else 0 if (x.step or 1) > 0 else END for x in slices]
        ends = [x.stop if x.stop is not None else END if (x.step or 1) > 0 else -END for x in slices]
        a = graph.add("Slice", a, *(graph.ints(*numbers) for numbers in (starts, ends, [*cuts], steps)))
    places = [graph.value(parts[i] if parts[i].__class__ is Symbol else np.asarray(parts[i]), np.int64) for i in chosen]
    if len(chosen) < 2:
        return graph.add("Gather", a, *places, axis=chosen[0]) if chosen else a
    shape = np.broadcast_shapes(*(_shape(parts[i]) for i in chosen))
    each = [graph.add("Unsqueeze", graph.add("Expand", x, graph.shape(shape)), graph.ints(-1)) for x in places]
    rest = [i for i in range(ndim) if i not in chosen]
    first = graph.add("Transpose", a, perm=[*chosen, *rest])
    gathered = graph.add("GatherND", first, graph.add("Concat", *each, axis=-1))
    before, n = chosen[0], len(shape)
    # As in NumPy, the axes of arrays that are side by side stand in their place, and those of other arrays come first
    if chosen != [*range(before, chosen[-1] + 1)] or not before:
        return gathered
    return graph.add("Transpose", gathered, perm=[*range(n, n + before), *range(n), *range(n + before, n + len(rest))])


def _scattered(graph: Graph, x: Symbol, into: Any, a: Any, index: Any, **reduction: str) -> str:
    """An array in which the elements at an index are replaced, or added to. Both are flattened first."""
    numbers = graph.constant(np.arange(x.size).reshape(x.shape))
    fixed = tuple(np.zeros(i.shape, int) if i.__class__ is Symbol else i for i in _tuple(index))
    places = np.empty(x.shape, bool)[fixed]
    flat = graph.add("Reshape", into, graph.ints(-1))
    at = graph.add("Reshape", _item(graph, numbers, x.ndim, index), graph.ints(-1, 1))
    values = graph.add("Expand", *graph.like(x, a), graph.shape(places.shape))
    values = graph.add("Reshape", values, graph.ints(-1))
    return graph.reshaped(x, graph.add("ScatterND", flat, at, values, **reduction))


def _scatter(graph: Graph, x: Symbol, a: Any, index: Any, *_: Any) -> str:
    """An array with zeros around it, if its index is a block; else zeros with the array added."""
    block = all(i is ... or (i.__class__ is slice and i.step in (None, 1)) for i in _tuple(index))
    if not x.shape or not block:
        return _scattered(graph, x, graph.zeros(x), a, index, reduction="add")
    ends = [part.indices(n) for part, n in zip(_parts(index, x.ndim), x.shape, strict=True)]
    pads = [start for start, *_ in ends] + [n - stop for (_, stop, _), n in zip(ends, x.shape, strict=True)]
    return graph.add("Pad", a, graph.ints(*pads))


# ---------------------------------------------------------------------------------------------------------------------
# The table. Each function adds the nodes of one operation, the Symbol x, on its operands, and returns the result's name


def _elementwise(op: str) -> Callable[..., str]:
    """A node whose operands have the dtype of the result."""
    return lambda graph, x, *args, **_: graph.add(op, *graph.like(x, *args))


def _comparison(op: str) -> Callable[..., str]:
    def node(graph: Graph, x: Symbol, *args: Any) -> str:
        numbers = (float, int, bool)
        common = np.result_type(*(a if isinstance(a, numbers) else graph.type(a) for a in args))
        common = graph.float_dtype if common.kind == "f" else common
        return graph.add(op, *(graph.value(a, common) for a in args))

    return node


def _reduction(op: str) -> Callable[..., str]:
    def node(graph: Graph, x: Symbol, a: Any, axis: Any = None, keepdims: bool = False) -> str:
        (name,), axes = graph.like(x, a), axes_of(a, axis)
        return graph.add(op, name, graph.ints(*axes), keepdims=int(keepdims)) if axes else name

    return node


def _broadcast(graph: Graph, x: Symbol, a: Any, *_: Any) -> str:
    if not x.size:  # Expand leaves an axis of one element as it is
        return graph.constant(np.zeros(x.shape), graph.type(x))
    return graph.add("Expand", a, graph.shape(x.shape))


def _einsum(graph: Graph, x: Symbol, letters: Any, output: Any, *operands: Any) -> str:
    texts = ["".join(chr(ord("a") + i) for i in part) for part in (*letters, output)]
    return graph.add("Einsum", *graph.like(x, *operands), equation=f"{','.join(texts[:-1])}->{texts[-1]}")


def _windows(graph: Graph, x: Symbol, a: Any, size: Any, stride: Any, dilation: Any) -> str:
    """The windows. Each axis is gathered into two: the place in a window, and the window."""
    n, first = len(size), a.ndim - len(size)
    for i, (k, s, d) in enumerate(zip(size, stride, dilation, strict=True)):
        places = np.arange(k)[:, None] * d + np.arange(x.shape[first + n + i]) * s
        a = graph.add("Gather", a, graph.constant(places), axis=first + 2 * i)
    return graph.add("Transpose", a, perm=[*range(first), *range(first, x.ndim, 2), *range(first + 1, x.ndim, 2)])


def _expm1(_: Any, x: Any) -> Any:
    """exp(x) - 1, also exact near 0."""
    return np.tanh(x / 2.0) * (np.exp(x) + 1.0)


def _log1p(_: Any, x: Any) -> Any:
    """log(1 + x), corrected near 0 by the digits that the sum 1 + x loses."""
    total = x + 1.0
    return np.log(total) + np.where(abs(x) < 0.5, (x - (total - 1.0)) / total, 0.0)


def _clip(_: Any, a: Any, low: Any, high: Any) -> Any:
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _of_integers(*operands: Any) -> bool:
    return all(np.issubdtype(getattr(x, "dtype", type(x)), np.integer) for x in operands)


def _quotient(graph: Graph, x: Symbol, *operands: Any) -> str:
    """The quotient of integers, rounded down. ONNX rounds towards 0, so the remainder is subtracted first."""
    a, b = graph.like(x, *operands)
    return graph.add("Div", graph.add("Sub", a, graph.add("Mod", a, b)), b)


def _python_remainder(graph: Any, a: Any, b: Any) -> Any:
    """The remainder with the sign of b, as in Python. ONNX has it for integers; for floats, ONNX has that of C."""
    if _of_integers(a, b):
        return None
    c = graph.make("fmod", (a, b))
    return np.where(c * b < 0.0, c + b, c)


FORMS: dict[str, Callable[..., Any]] = {
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
    "floor_divide": lambda _, a, b: None if _of_integers(a, b) else np.rint((a - np.remainder(a, b)) / b),
}
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
for _name in ("remainder", "fmod"):
    NODES[_name] = lambda graph, x, *args: graph.add("Mod", *graph.like(x, *args), fmod=int(graph.type(x).kind == "f"))
for _name in ("matmul", "matmul_like"):
    NODES[_name] = lambda graph, x, a, b, *_: graph.add("MatMul", *graph.like(x, a, b))
for _name in (".reshape", ".item", "squeeze"):
    NODES[_name] = lambda graph, x, a, *_, **__: graph.reshaped(x, *graph.like(x, a))
for _name in (".astype", "input"):
    NODES[_name] = lambda graph, x, a, *_, **__: graph.value(a, graph.type(x))
NODES |= {
    "where": lambda graph, x, condition, *args: graph.add("Where", graph.value(condition, bool), *graph.like(x, *args)),
    "einsum_of": _einsum,
    ".cumsum": lambda graph, x, a, axis: graph.add("CumSum", *graph.like(x, a), graph.constant(np.array(axis))),
    "broadcast_to": _broadcast,
    ".transpose": lambda graph, _, a, order: graph.add("Transpose", a, perm=order),
    "concatenate": lambda graph, x, parts, axis=0: graph.add("Concat", *graph.like(x, *parts), axis=axis),
    "take": lambda graph, _, a, index, axis: graph.add("Gather", a, graph.value(index, np.int64), axis=axis),
    "floor_divide": _quotient,
    "take_along_axis": lambda graph, x, a, index, axis: graph.add(
        "GatherElements", a, graph.value(index, np.int64), axis=axis
    ),
    "getitem": lambda graph, x, a, index: graph.reshaped(x, _item(graph, a, len(_shape(a)), index)),
    "setitem": lambda graph, x, a, index, b: _scattered(graph, x, a, b, index),
    "accumulate": lambda graph, x, total, a, index: _scattered(graph, x, total, a, index, reduction="add"),
    "scatter": _scatter,
    "scatter_along_axis": lambda graph, x, a, index, axis, _: graph.add(
        "ScatterElements", graph.zeros(x), graph.value(index, np.int64), a, axis=axis, reduction="add"
    ),
    "placed": lambda graph, x, a, plan, _: graph.add(
        "ScatterND", graph.zeros(x), graph.constant(plan[0][..., None]), *graph.like(x, a), reduction="add"
    ),
    "windows": _windows,
}
