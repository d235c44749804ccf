"""The JAX back end: a program of arrays, run by XLA on what JAX finds: a CPU, GPU or TPU.

It interprets the steps once, on JAX's own tracers, and JAX compiles what it sees. The gradients are steps like any
other, so they are ours. float64 stays float64: 64-bit types are switched on around the call alone. A float32 product
is precise to float32, though JAX by default rounds its operands to three digits on a GPU or TPU. Arrays do not change
in JAX: what fills an array in NumPy has its pure form here.
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
    """Why JAX cannot run the program."""
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
    """A program run by JAX, on NumPy's arrays: results are new ones.

    With `devices`, each array among the arguments is split along its first axis, one part for each device, and all else
    is on every device. XLA adds what they tell each other: one sum over the devices. Each of several processes passes
    the whole arrays, sends its own devices their parts, and gets the whole results.
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
        self._parts: dict[int, Any] = {}  # how an input is split, by its position
        if devices:
            self._split(devices, options)
        self._indices = [x for symbol in program.steps if (x := _indexed(symbol)) and symbols_in(x[2])]
        self._places = list(dict.fromkeys(symbols_in([index for *_, index in self._indices])))
        names = {symbol.args[0] for symbol in needed(self._places) if symbol.op == "input"}
        reads_of_places = tuple(read for read in program.reads if read.name in names)
        self._read_places = Lowered(program.parameters, reads_of_places, self._places).run
        self._jitted = jax.jit(self._evaluated, **options)

    def __call__(self, *given: Any) -> Any:
        """Run the program."""
        if self._indices:
            self._check_bounds(given)
        inputs, found = [*map(_native, self._read(*given))], {}
        places = [(found, symbol) for symbol in self._outputs] + [self._place(read, given) for read in self._targets]
        with self._jax.enable_x64(self._wide):
            for i, parts in self._parts.items():
                inputs[i] = self._jax.make_array_from_callback(inputs[i].shape, parts, inputs[i].__getitem__)
            results = chain.from_iterable(starmap(self._jitted, [inputs]))
            deque(map(setitem, *zip(*places, strict=True), results), 0)  # no Ctrl-C between: the old ones are used up
        return _filled(self.program.outputs, found, _on_host)  # each result has a separate array

    def _check_bounds(self, given: Sequence[Any]) -> None:
        """Raise NumPy's error for an index out of bounds: JAX would read another element, and send no gradient."""
        found = dict(zip(self._places, self._read_places(*given), strict=True))
        for use, shape, index in self._indices:
            use(np.broadcast_to(0, shape), *_filled(index, found))

    def _place(self, read: Read, given: Sequence[Any]) -> tuple[Any, Any]:
        """Where an input was read from: a container, and a key into it."""
        container = given[self.program.parameters.index(read.parameter)]
        for key in read.keys[:-1]:
            container = container[key]
        return container, read.keys[-1]

    def _split(self, devices: Sequence[Any], options: dict[str, Any]) -> None:
        """Where each input is, split over the devices or on all of them; what is computed is on all."""
        sharding = self._jax.sharding
        if all(device.process_index != self._jax.process_index() for device in devices):
            raise ValueError("devices= has none of this process: pass jax.devices(), in every process")
        mesh = sharding.Mesh(np.array(devices), ("parts",))
        whole = sharding.NamedSharding(mesh, sharding.PartitionSpec())
        kinds = {read.name: read.kind for read in self.program.reads if read.parameter not in ("leaves", "update")}
        for i, symbol in enumerate(self._inputs):
            name, n = symbol.args[0], len(devices)
            if symbol.shape and name in kinds:
                before = [None] * (symbol.ndim - 1 if kinds[name] == "samples" else 0)  # their samples are last
                if (rows := symbol.shape[len(before)]) % n:
                    raise ValueError(
                        f"devices= splits {name} along its first axis, of {rows} rows, between {n} devices: that needs "
                        f"a multiple of {n} rows, so pad it or leave some out"
                    )
                self._parts[i] = sharding.NamedSharding(mesh, sharding.PartitionSpec(*before, "parts"))
        options["in_shardings"] = tuple(self._parts.get(i, whole) for i in range(len(self._inputs)))
        options["out_shardings"] = whole

    @cached_property
    def source(self) -> str:
        """The program in JAX's own notation."""
        like = [0.0 if x.shape is None else self._jax.ShapeDtypeStruct(x.shape, x.dtype) for x in self._inputs]
        with self._jax.enable_x64(self._wide):
            return str(self._jax.make_jaxpr(self._evaluated)(*like))

    def _evaluated(self, *inputs: Any) -> list[Any]:
        """The results, computed step by step."""
        found = dict(zip(self._inputs, inputs, strict=True))
        with self._jax.default_matmul_precision(self._jax.config.jax_default_matmul_precision or "highest"):
            for symbol in (symbol for symbol in self.program.steps if symbol.op != "input"):
                out = evaluate(symbol.op, _promoted(symbol, _filled(symbol.args, found)), dict(symbol.named))
                found[symbol] = out if symbol.shape is None else out.reshape(symbol.shape).astype(symbol.dtype)
        pairs = [(symbol, _filled(new, found)) for symbol, new in self.program.updates]
        updates = [x if symbol.shape is None else x.astype(symbol.dtype) for symbol, x in pairs]
        return [*(found[symbol] for symbol in self._outputs), *updates]


def _indexed(symbol: Symbol) -> tuple[Callable[..., Any], tuple[int, ...], tuple[Any, ...]] | None:
    """For an operation with an index: how NumPy applies it, to which shape, and the index."""
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
    """True if the Symbol needs 64 bits: also a number that is computed, as Python does, and what integers become."""
    return symbol.op != "input" if symbol.shape is None else symbol.dtype.itemsize == 8 or symbol.dtype.kind in "iub"


def _promoted(symbol: Symbol, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands in the dtypes in which NumPy computes integers and bools: JAX has smaller ones for some."""
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
    """x in this dtype. A mask becomes numbers by a selection, since XLA takes nan times a converted mask for 0."""
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
    """An array in the byte order of the machine, the only one that JAX has."""
    return x.astype(x.dtype.newbyteorder("=")) if x.__class__ is np.ndarray and not x.dtype.isnative else x


def _on_host(x: Any, symbol: Symbol) -> Any:
    """A result as the other back ends give it: a writable array, NumPy's number for shape (), or a float."""
    return float(x) if symbol.shape is None else np.array(x)[()]


def _filled(tree: Any, found: Mapping[Symbol, Any], made: Callable[[Any, Symbol], Any] = lambda x, _: x) -> Any:
    """The tree with what is made of the values of its Symbols, and copies of its constant arrays."""
    if tree.__class__ in (tuple, list):
        return tree.__class__(_filled(part, found, made) for part in tree)
    if tree.__class__ is Symbol:
        return made(found[tree], tree)
    return np.array(tree)[()] if tree.__class__ is np.ndarray else tree


# ---------------------------------------------------------------------------------------------------------------------
# Operations


def jnp() -> Any:
    """jax.numpy, imported on first use."""
    return import_module("jax.numpy")


def evaluate(op: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The operation, with jax.numpy for NumPy."""
    if op[0] == "." and "axis" in named and not args[0].ndim:  # where NumPy has an axis 0
        named = {**named, "axis": None}
    return evaluated(op, args, named, PURE, jnp())


def _at(a: Any, index: Any) -> Any:
    """The place of an array that is to be changed."""
    return jnp().asarray(a).at[index]


def _added(shape: tuple[int, ...], index: Any, a: Any) -> Any:
    """Zeros, with a added at an index."""
    return _at(jnp().zeros(shape, a.dtype), index).add(a)


def _of_zero(divide: Callable[..., Any], a: Any, b: Any) -> Any:
    """A division whose result for integers is 0 where b is, as in NumPy."""
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
    """The index that takes windows from an array of this shape, or adds them back."""
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
