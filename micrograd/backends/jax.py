"""The JAX back end: a program of arrays, run by XLA on what JAX finds: a CPU, GPU or TPU.

The steps run once, on JAX's tracers, and JAX compiles what it has traced. Gradients are steps like any other, so they
are micrograd's. float64 stays float64, because 64-bit types are switched on during each call, and only then. A float32
product is precise to float32, although JAX by default rounds its operands to three digits on a GPU or TPU. JAX cannot
change an array, so an operation that fills an array in NumPy has a pure form here.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, compress, starmap
from operator import getitem, setitem
from typing import Any

import numpy as np

from ..compiler.lowered import OPSET, Lowered, Read, Symbol, library, needed, reader, symbols_in
from ..compiler.lowered import evaluate as evaluated

RESIDENT = True  # arrays stay on the device between the steps of a training program
OPTIONS = ("devices",)


def lacks(program: Lowered) -> str:
    """Why JAX cannot run the program; "" if it can."""
    if find_spec("jax") is None:
        return "needs JAX, which is not installed here: pip install jax"
    if program.steps and all(symbol.shape is None for symbol in program.steps):
        return "is for arrays, found a program of plain numbers, which takes less time than a call of JAX: use auto"
    missing = [symbol.op for symbol in program.steps if symbol.op not in OPSET and symbol.op != "input"]
    return f"has no {missing[0]}: use numpy" if missing else ""


def compile(program: Lowered, devices: Sequence[Any] = ()) -> Jitted:
    """The program, compiled by XLA on its first call."""
    return Jitted(program, devices)


class Jitted:
    """A program that JAX runs on NumPy's arrays. Its results are new arrays.

    With `devices`, each array among the arguments is split along its first axis, one part for each device, and all else
    is on every device. XLA inserts the communication, a sum over the devices. If there are several processes, each of
    them passes the whole arrays, sends the parts to its own devices, and gets the whole results.
    """

    def __init__(self, program: Lowered, devices: Sequence[Any] = ()):
        self.program = program
        self._jax = jax = import_module("jax")
        self._read = reader(program)
        self._outputs = list(dict.fromkeys(symbols_in(program.outputs)))
        self._inputs = [symbol for symbol in program.steps if symbol.op == "input"]
        self._wide = any(_is_wide(symbol) for symbol in program.steps)
        reads = {read.name: read for read in program.reads}
        self._targets = [reads[symbol.args[0]] for symbol, _ in program.updates]
        written = {symbol for symbol, _ in program.updates if symbol.shape is not None}
        options: dict[str, Any] = {"donate_argnums": [i for i, x in enumerate(self._inputs) if x in written]}
        self._shardings: dict[int, Any] = {}  # how an input is split over the devices, by its position
        if devices:
            self._split(devices, options)
        # A separate program computes the indices, to check their bounds
        self._uses = [use for symbol in program.steps if (use := _index_of(symbol)) and symbols_in(use[2])]
        self._indices = list(dict.fromkeys(symbols_in([index for *_, index in self._uses])))
        names = {symbol.args[0] for symbol in needed(self._indices) if symbol.op == "input"}
        reads_of_indices = tuple(read for read in program.reads if read.name in names)
        self._run_indices = Lowered(program.parameters, reads_of_indices, self._indices).run
        self._jitted = jax.jit(self._evaluated, **options)

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        if self._uses:
            self._check_bounds(args)
        inputs, outputs = [*map(_native, self._read(*args))], {}
        places = [(outputs, symbol) for symbol in self._outputs] + [self._place(read, args) for read in self._targets]
        with self._jax.enable_x64(self._wide):
            for i, sharding in self._shardings.items():
                inputs[i] = self._jax.make_array_from_callback(inputs[i].shape, sharding, inputs[i].__getitem__)
            results = chain.from_iterable(starmap(self._jitted, [inputs]))
            # JAX has used up the old arrays, so no Ctrl-C may come before all new ones are in their places
            deque(map(setitem, *zip(*places, strict=True), results), 0)
        return _filled(self.program.outputs, outputs, _on_host)  # each result has a separate array

    def _check_bounds(self, args: Sequence[Any]) -> None:
        """Raise NumPy's error for an index out of bounds, where JAX would read another element and send no gradient."""
        values = dict(zip(self._indices, self._run_indices(*args), strict=True))
        for take, shape, index in self._uses:
            take(np.broadcast_to(0, shape), *_filled(index, values))

    def _place(self, read: Read, args: Sequence[Any]) -> tuple[Any, Any]:
        """The container that an input was read from, and its key there."""
        container = args[self.program.parameters.index(read.parameter)]
        for key in read.keys[:-1]:
            container = container[key]
        return container, read.keys[-1]

    def _split(self, devices: Sequence[Any], options: dict[str, Any]) -> None:
        """Set where each input is: split over the devices, or on all of them. The results are on all."""
        sharding = self._jax.sharding
        if all(device.process_index != self._jax.process_index() for device in devices):
            raise ValueError("devices= has none of this process: pass jax.devices(), in every process")
        mesh = sharding.Mesh(np.array(devices), ("parts",))
        whole = sharding.NamedSharding(mesh, sharding.PartitionSpec())
        reads = {read.name: read for read in self.program.reads if read.parameter not in ("leaves", "update")}
        for i, symbol in enumerate(self._inputs):
            name, n = symbol.args[0], len(devices)
            if symbol.shape and name in reads:
                # The user's first axis, which is the last axis of "samples"
                axis = symbol.ndim - 1 if reads[name].kind == "samples" else 0
                if (rows := symbol.shape[axis]) % n:
                    raise ValueError(
                        f"devices= splits {name} along its first axis, of {rows} rows, between {n} devices: that needs "
                        f"a multiple of {n} rows, so pad it or leave some out"
                    )
                spec = sharding.PartitionSpec(*[None] * axis, "parts")
                self._shardings[i] = sharding.NamedSharding(mesh, spec)
        options["in_shardings"] = tuple(self._shardings.get(i, whole) for i in range(len(self._inputs)))
        options["out_shardings"] = whole

    @cached_property
    def source(self) -> str:
        """The program in JAX's own notation."""
        samples = [0.0 if x.shape is None else self._jax.ShapeDtypeStruct(x.shape, x.dtype) for x in self._inputs]
        with self._jax.enable_x64(self._wide):
            return str(self._jax.make_jaxpr(self._evaluated)(*samples))

    def _evaluated(self, *inputs: Any) -> list[Any]:
        """The outputs and the updates, computed step by step."""
        values = dict(zip(self._inputs, inputs, strict=True))
        with self._jax.default_matmul_precision(self._jax.config.jax_default_matmul_precision or "highest"):
            for symbol in self.program.steps:
                if symbol.op != "input":
                    out = evaluate(symbol.op, _promoted(symbol, _filled(symbol.args, values)), dict(symbol.named))
                    values[symbol] = out if symbol.shape is None else out.reshape(symbol.shape).astype(symbol.dtype)
        pairs = [(symbol, _filled(new, values)) for symbol, new in self.program.updates]
        updates = [x if symbol.shape is None else x.astype(symbol.dtype) for symbol, x in pairs]
        return [*(values[symbol] for symbol in self._outputs), *updates]


def _index_of(symbol: Symbol) -> tuple[Callable[..., Any], tuple[int, ...], tuple[Any, ...]] | None:
    """For an operation with an index: the function that applies it, the shape of the array, and the index."""
    args = symbol.args
    if symbol.op in ("getitem", "setitem"):
        return getitem, args[0].shape, (args[1],)
    if symbol.op == "accumulate":
        return getitem, args[0].shape, (args[2],)
    if symbol.op == "scatter":
        return getitem, args[2], (args[1],)
    if symbol.op in ("take_along_axis", "scatter_along_axis") and getattr(args[1], "op", "") != "argsort":
        return np.take_along_axis, args[0].shape if symbol.op[0] == "t" else args[3], args[1:3]
    return None


def _is_wide(symbol: Symbol) -> bool:
    """True if the Symbol needs 64 bits. Computed numbers do, as in Python, and results of integers and bools may."""
    return symbol.op != "input" if symbol.shape is None else symbol.dtype.itemsize == 8 or symbol.dtype.kind in "iub"


def _promoted(symbol: Symbol, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of integers and bools in NumPy's dtypes, since JAX would compute some in smaller dtypes."""
    dtypes = [_dtype_of(x) for x in symbol.args]
    arrays = [isinstance(dtype, np.dtype) for dtype in dtypes]
    if not any(dtype.kind in "iub" for dtype in compress(dtypes, arrays)):
        return args
    ufunc = getattr(np, symbol.op, None)
    if isinstance(ufunc, np.ufunc) and ufunc.signature is None:
        dtypes = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))[: ufunc.nin]
    elif symbol.op in INTO_RESULT:
        dtypes = [symbol.dtype if is_array else None for is_array in arrays]
    else:
        return args
    return tuple(x if dtype is None else _converted(x, dtype) for x, dtype in zip(args, dtypes, strict=True))


INTO_RESULT = {".sum", ".mean", ".cumsum", "matmul", "dot", "matmul_like", "einsum_of", "clip"}


def _converted(x: Any, dtype: Any) -> Any:
    """x in this dtype. A mask becomes numbers by a selection, since XLA computes nan times a converted mask as 0."""
    x = jnp().asarray(x)
    if x.dtype.kind == "b" and np.dtype(dtype).kind != "b":
        return jnp().where(x, jnp().ones((), dtype), jnp().zeros((), dtype))
    return x.astype(dtype)


def _dtype_of(x: Any) -> Any:
    """The dtype of an array or a bool; of a number, its Python type; None for a setting."""
    if x.__class__ in (int, float):
        return x.__class__
    if x.__class__ is Symbol and x.dtype is None:
        return float
    return np.dtype(bool) if x.__class__ is bool else getattr(x, "dtype", None)


def _native(x: Any) -> Any:
    """The array in the byte order of the machine, since JAX has no other."""
    return x.astype(x.dtype.newbyteorder("=")) if x.__class__ is np.ndarray and not x.dtype.isnative else x


def _on_host(x: Any, symbol: Symbol) -> Any:
    """A result as all back ends return it: a writable array, NumPy's number for the shape (), or a float."""
    return float(x) if symbol.shape is None else np.array(x)[()]


def _filled(tree: Any, values: Mapping[Symbol, Any], finish: Callable[[Any, Symbol], Any] = lambda x, _: x) -> Any:
    """The tree with values in place of its Symbols, each after `finish`, and with copies of its constant arrays."""
    if tree.__class__ in (tuple, list):
        return tree.__class__(_filled(part, values, finish) for part in tree)
    if tree.__class__ is Symbol:
        return finish(values[tree], tree)
    return np.array(tree)[()] if tree.__class__ is np.ndarray else tree


# ---------------------------------------------------------------------------------------------------------------------
# Operations


def jnp() -> Any:
    """jax.numpy, imported on first use."""
    return import_module("jax.numpy")


def evaluate(op: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The operation, by jax.numpy."""
    if op[0] == "." and "axis" in named and not args[0].ndim:  # NumPy lets a number have an axis 0
        named = {**named, "axis": None}
    return evaluated(op, args, named, PURE, jnp())


def _at(a: Any, index: Any) -> Any:
    """The elements at an index, as JAX's object that changes them."""
    return jnp().asarray(a).at[index]


def _added(shape: tuple[int, ...], index: Any, a: Any) -> Any:
    """Zeros with a added at an index."""
    return _at(jnp().zeros(shape, a.dtype), index).add(a)


def _of_zero(divide: Callable[..., Any], a: Any, b: Any) -> Any:
    """A division, of which the result for integers is 0 where b is 0, as in NumPy."""
    if not jnp().issubdtype(jnp().result_type(a, b), jnp().integer):
        return divide(a, b)
    return jnp().where(b == 0, 0, divide(a, jnp().where(b == 0, 1, b)))


def _placed(a: Any, plan: tuple[Any, ...], n: int) -> Any:
    tail = a.shape[plan[0].ndim :]
    return _added((n, *tail), plan[0].reshape(-1), a.reshape(plan[0].size, *tail))


def _scatter_along_axis(a: Any, indices: Any, axis: int, shape: tuple[int, ...]) -> Any:
    places: list[Any] = list(np.indices(indices.shape, sparse=True))
    places[axis] = indices
    return _added(shape, tuple(places), a)


def _einsum(letters: Sequence[Any], output: Any, *operands: Any) -> Any:
    return jnp().einsum(*(part for pair in zip(operands, letters, strict=True) for part in pair), output)


def _in_windows(shape: tuple[int, ...], *how: Any) -> tuple[Any, ...]:
    """The index that takes the windows of an array of this shape, or adds them to it."""
    axes = shape[len(shape) - len(how[0]) :]
    places = library.windows(np.arange(math.prod(axes)).reshape(axes), *how)
    return ..., *np.unravel_index(places, axes)


PURE: dict[str, Callable[..., Any]] = {
    ".astype": _converted,
    ".item": lambda a: a.reshape(()),
    "floor_divide": lambda a, b: _of_zero(jnp().floor_divide, a, b),
    "remainder": lambda a, b: _of_zero(jnp().remainder, a, b),
    "getitem": lambda a, index: jnp().asarray(a)[index],
    "accumulate": lambda total, a, index: _at(total, index).add(a),
    "placed": _placed,
    "scatter": lambda a, index, shape: _added(shape, index, a),
    "setitem": lambda a, index, b: _at(a, index).set(b),
    "scatter_along_axis": _scatter_along_axis,
    "matmul_like": lambda a, b, _like: a @ b,
    "einsum_of": _einsum,
    "windows": lambda a, *how: jnp().asarray(a)[_in_windows(a.shape, *how)],
    "windows_back": lambda a, *how: _added(how[-1], _in_windows(how[-1], *how[:-1]), a),
    "argsort": lambda a, axis, _kind="": jnp().argsort(a, axis),
}
