"""`compile`: the public interface, and the cache of programs.

A compiled function caches one program for each signature of its arguments (shapes, dtypes, which of them require a
gradient). It is traced again when an object it read was replaced (a parameter, a layer, a string), or a module switched
between `train` and `eval`; see `guards`.

    f = compile(lambda x, y: (x * y).exp())
    loss = f(2.0, w)          traces on the first call, then runs the program: value and gradients together
    loss.backward()           w.grad += the gradient that the program computed
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, NamedTuple

from ..engine.graph import hooked, node_of
from ..engine.modes import is_anomaly_enabled, is_grad_enabled, is_tracing, modes
from ..engine.value import Value
from ..optim import SGD, Adam, AdamW, Optimizer
from ..tensor.optional import Tensor, np
from .arguments import TEXT, untraced
from .backends import BACKENDS
from .build import no_loss
from .guards import same_objects
from .lowered import Lowered, Step, drawing
from .program import Program, program_for
from .resident import AwayValue

MOST = 128  # programs cached by one function; the oldest is dropped first


class CacheInfo(NamedTuple):
    """Cache statistics of a compiled function: calls that found their program, and calls that had to trace."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


def compile(
    fn: Callable | None = None,
    *,
    scalars: bool = False,
    batch: bool = False,
    backend: str = "auto",
    update: Optimizer | None = None,
    devices: Sequence[Any] | None = None,
) -> Any:
    """Compile a function: trace it once, then run it as a program, forward and backward, without building a graph.

    Numbers and arrays that the function closes over are constants, as in JAX: later changes are not detected. Values
    and Tensors are read on every call. Everything else that its code names, in variables, attributes, lists and dicts,
    is compared before each call, and the function is traced again if it was replaced. Inside `detect_anomaly`, fn
    itself runs, except with `batch`, so that the error names a line of it.

    Args:
        fn: function whose positional arguments are numbers (it sees Values, which may meet Tensors that it closes
            over), arrays (it sees Tensors), Values, Tensors, and lists, tuples and dicts of these; numbers beside
            arrays become Tensors too. Keyword arguments, bools, strings and None are static: each new value triggers a
            retrace.
        scalars: True passes arrays to fn as nested lists of Values.
        batch: True if fn is written for one sample, in scalars; the compiled function takes arrays of shape (N, ...),
            and each result is a Tensor of shape (N,). Numbers and Values among the arguments are shared by all samples.
        backend: target for programs of numbers: "python", straight-line Python; "numpy", array operations, in which
            sums are reassociated; "auto", Python for short programs, NumPy for long ones. "jax" runs programs of arrays
            by JAX, on a GPU if it finds one; it needs the extra `[jax]`, and refuses programs of plain numbers.
        update: an optimizer. fn returns a loss, and each call is a whole training step, `zero_grad`, `backward` and
            `step`, with the optimizer's settings of that moment; the loss is returned as a constant. The update is part
            of the program, and writes no `.grad`. Parameters and state may stay where the program works on them (many
            Values in one array; on JAX's device) until someone reads them. An optimizer with `reduce=`, of a class of
            your own, or of parameters that share memory, takes its own step after the program; so does any while a
            parameter has hooks.
        devices: for "jax", such as `jax.devices()`: arrays among the arguments are split along their first axis, one
            part for each device; Tensors that fn closes over are whole on all. In several processes, after
            `jax.distributed.initialize`, each makes the same calls with the whole arrays.

    Returns:
        Callable with fn's positional arguments and results, as nodes. `f.lowered` is its last program as data (print
        it), `f.source` the source, `f.graph` a graph for `draw_dot`, and `f.cache_info()` counts the traces.
        `gradient(f)` and the other transforms of a compiled function are compiled too. A program does not warn of
        overflow. Without fn: a decorator.

    Raises:
        TypeError: fn is not callable, or `update` is not an optimizer.
        ValueError: `backend` is unknown, or both `scalars` and `batch` are set.
        ModuleNotFoundError: `backend="jax"`, and JAX is not installed.
        RuntimeError: (when traced) fn reads a number (`if`, `float`, `.data`), modifies one in place, draws from a
            global random generator, or uses a node that the guards cannot find (in a cache, behind a weak reference).

    >>> from micrograd import Value, value_and_grad
    >>> w = Value(3.0)
    >>> f = compile(lambda x: (w * x) ** 2)
    >>> loss = f(2.0)
    >>> loss.backward()
    >>> loss.data, w.grad
    (36.0, 24.0)
    >>> value_and_grad(compile(lambda x, y: (x * y) ** 2))(2.0, 3.0)
    (36.0, (36.0, 24.0))
    """
    if fn is None:
        return lambda fn: compile(fn, scalars=scalars, batch=batch, backend=backend, update=update, devices=devices)
    if not callable(fn):
        raise TypeError(f"compile takes a function, found {type(fn).__name__}")
    if backend not in BACKENDS:
        raise ValueError(f"found the backend {backend!r}: it must be {', '.join(map(repr, BACKENDS))}")
    if (batch or backend == "numpy") and not np:
        raise ModuleNotFoundError("batch=True and backend='numpy' compute on arrays: install numpy", name="numpy")
    if devices is not None and backend != "jax":
        raise ValueError(f"devices= is for backend='jax', found backend={backend!r}")
    if scalars and batch:
        raise ValueError("found scalars=True and batch=True: choose one")
    settings = {"scalars": scalars, "batch": batch, "backend": backend, "update": update, "devices": devices}
    return compiled(fn, fn, settings)


# ---------------------------------------------------------------------------------------------------------------------
# Cache keys


def kind(x: Any) -> Any:
    """The signature of an argument: what a program depends on."""
    if x.__class__ is float or x.__class__ is int:
        return x.__class__
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype
    if isinstance(x, Value):
        return Value, x._row is not None
    if isinstance(x, Tensor):
        return Tensor, x.shape, x.dtype, x.requires_grad
    if isinstance(x, TEXT):
        return type(x), x
    if isinstance(x, (list, tuple, dict)):
        return _of_parts(x, kind)
    if isinstance(x, (int, float, np.integer, np.floating)):
        return type(x)
    raise TypeError(
        f"found {type(x).__name__} {x!r:.50} among the arguments of a compiled function: it takes numbers, arrays, "
        "Values, Tensors, and lists, tuples and dicts of them; anything else by keyword"
    )


def _of_parts(x: Any, of: Callable[[Any], Any]) -> Any:
    """The signature of a list, tuple or dict; `of` gives that of a part."""
    return type(x), *((tuple(x), *map(of, x.values())) if isinstance(x, dict) else map(of, x))


def static(name: str, x: Any) -> Any:
    """The cache key of a keyword argument, which is a constant."""
    if isinstance(x, (np.ndarray, Value, Tensor)):
        raise TypeError(f"{name}= is a {type(x).__name__}: pass it by position; keyword arguments are constants")
    if isinstance(x, (list, tuple, dict)):
        return _of_parts(x, lambda part: static(name, part))
    if isinstance(x, (float, np.floating)):
        return type(x), repr(x)  # -0.0 is not 0.0, and a nan equals itself
    try:
        hash(x)
    except TypeError:
        raise TypeError(
            f"{name}= holds a {type(x).__name__}, which cannot be hashed, so a compiled function cannot tell it from "
            "another: pass numbers, strings, lists, tuples or dicts of them, or close over it"
        ) from None
    return type(x), x


def names_of(function: Any) -> list[str]:
    """The names of a function's positional parameters, if they can be inspected."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _key(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The cache key of a call."""
    key: Any = tuple(map(kind, args))
    if modes and not is_grad_enabled():
        key = (False, key)
    return (key, *((name, static(name, x)) for name, x in named.items())) if named else key


def compiled(fn: Callable, origin: Callable, settings: dict[str, Any], plain: bool = False) -> Compiled:
    """A compiled function, or training step, by its settings."""
    return (Compiled if settings["update"] is None else TrainingStep)(fn, origin, settings, plain)


class Compiled:
    """A compiled function, created by `compile`."""

    __slots__ = ("__dict__", "__weakref__", "_hits")  # a slot, since each call writes to it

    def __init__(self, fn: Callable, origin: Callable, settings: dict[str, Any], plain: bool = False):
        self.fn = fn
        self.origin = origin
        self.settings = settings
        self.plain = plain
        self.names: list[str] = names_of(origin)
        self._programs: dict[Any, Program] = {}
        self._last: Program | None = None
        self._hits: int = 0
        self._misses: int = 0
        self._lock = threading.RLock()
        update_wrapper(self, origin, updated=())

    def __call__(self, *args: Any, **named: Any) -> Any:
        if modes:
            if is_tracing():
                return self._inside(args, named)
            if is_anomaly_enabled() and not self.settings["batch"]:
                return self._checked(args, named)
        key = _key(args, named)
        program = self._programs.get(key)
        if program is None or not program.is_current():
            program = self._traced(key, args, named)
        else:
            self._hits += 1
        return program(args)

    def _inside(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call while another function is traced: it becomes part of that function's program."""
        if self.settings["batch"]:
            raise TypeError(f"{self!r} takes arrays of samples, and so cannot be called inside a compiled function")
        if self.settings["update"] is not None:
            raise TypeError(f"{self!r} updates parameters, and so cannot be called inside a compiled function")
        return self.fn(*args, **named)

    def _checked(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call under `detect_anomaly`: the function itself runs, whose graph shows where a nan was made."""
        return self.fn(*args, **named) if self.plain else untraced(self.fn, args, named, self.settings["scalars"])

    def _traced(self, key: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Program:
        with self._lock:
            program = self._programs.pop(key, None)
            if program is None or not program.is_current():
                program = program_for(self, args, named)
                self._misses += 1
            self._programs[key] = self._last = program
            if key == (float,) * len(args) and (quick := program.quick(Compiled.__call__)):
                self.__class__ = type("Compiled", (Compiled,), {"__slots__": (), "__call__": quick})  # type: ignore[assignment]
            if len(self._programs) > MOST:
                del self._programs[next(iter(self._programs))]
            return program

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """As a method: one compiled function for each object, stored on it."""
        if owner is None:
            return self
        bound = compiled(self.fn.__get__(owner), self.origin.__get__(owner), self.settings, self.plain)
        return vars(owner).setdefault(self.origin.__name__, bound)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy starts with an empty cache."""
        return compiled, (self.fn, self.origin, self.settings, self.plain)

    def transformed(self, transform: Callable) -> Compiled:
        """The compiled `gradient`, `value_and_grad` or other transform of this function."""
        if self.settings["update"] is not None:
            raise TypeError(f"{self!r} updates parameters: take the gradient of a function compiled without update=")
        return Compiled(transform(self.fn), self.origin, self.settings, plain=True)

    @property
    def program(self) -> Program:
        """The program traced last."""
        if self._last is None:
            raise RuntimeError("there is no program yet: call the function once")
        return self._last

    @property
    def source(self) -> str:
        """The source of the program traced last."""
        return self.program.code.source

    @property
    def lowered(self) -> Lowered:
        """That program as data, before it was written for a back end: print it."""
        return self.program.built.lowered

    @property
    def graph(self) -> list[Step]:
        """That program as a graph for `draw_dot`: the nodes of its outputs and gradients."""
        return drawing(self.lowered)

    def to_onnx(self, dtype: Any = None) -> bytes:
        """The content of the .onnx file that `save(f, "model.onnx")` writes: what the program traced last computes.

        A program that was traced for another size of one axis, and is otherwise the same, makes that axis free.
        """
        from .backends.onnx import to_bytes

        program = self.program
        if self.settings["update"] is not None:
            raise TypeError(f"{self!r} updates parameters: an .onnx file holds a function compiled without update=")
        if not program.is_current():
            raise RuntimeError(f"what {self!r} reads was replaced since it was traced: call it again, then save it")
        built, twins = program.built, [p for p in reversed(self._programs.values()) if p is not program]
        others = [p.built.lowered for p in twins if p.is_current() and same_objects(p.built.leaves, built.leaves)]
        return to_bytes(built.lowered, built.leaves, others, dtype or "float32", built.vector)

    def cache_info(self) -> CacheInfo:
        """Cache statistics, as `functools.lru_cache` has: hits, misses (traces), most programs, programs now."""
        return CacheInfo(self._hits, self._misses, MOST, len(self._programs))

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.origin, '__qualname__', self.origin)!s}>"


class TrainingStep(Compiled):
    """A training step: the program updates the parameters too, by the optimizer's rule.

    Where it cannot (`reduce=`, an optimizer of a class that is not ours, parameters that share memory, hooks,
    `detect_anomaly`), the optimizer takes its own step after the program of the loss and its gradients.
    """

    def __init__(self, fn: Callable, origin: Callable, settings: dict[str, Any], plain: bool = False):
        super().__init__(fn, origin, settings, plain)
        self.loss: Compiled = Compiled(fn, origin, {**settings, "update": None})
        self.optimizer: Any = settings["update"]
        self.by_rule: bool = _has_rule(self.optimizer) and not settings["batch"]
        self._apart = not self.by_rule

    def __call__(self, *args: Any, **named: Any) -> Any:
        if is_tracing():
            return self._inside(args, named)
        watched = (modes and is_anomaly_enabled()) or (hooked and any(node_of(p)._hooks for p in self.optimizer.params))
        self._apart = bool(watched or not self.by_rule)
        if not self._apart:
            return super().__call__(*args, **named)
        with self._lock:  # else the gradients of two threads would add up
            loss = self.loss(*args, **named)
            if not (isinstance(loss, (Value, Tensor)) and getattr(loss, "size", 1) == 1 and loss.requires_grad):
                raise no_loss()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss.detach()

    @property
    def program(self) -> Program:
        """The program traced last; that of the loss and its gradients, where the optimizer takes its own step."""
        return self.loss.program if self._apart else super().program

    def cache_info(self) -> CacheInfo:
        """Cache statistics of that program."""
        return self.loss.cache_info() if self._apart else super().cache_info()


def _has_rule(update: Any) -> bool:
    """True if a program can do the update: by a rule of ours, on separate parameters of one kind, and alone."""
    if not isinstance(update, Optimizer):
        raise TypeError(f"update= takes an optimizer, such as SGD(params, lr=0.1), found {update!r:.60}")
    values = all(type(p) in (Value, AwayValue) for p in update.params)
    one_kind = values or all(isinstance(p, Tensor) for p in update.params)
    stores = [x for p in update.params if isinstance(p, Tensor) and (x := p._node._store)]  # one for all views
    ours = type(update) in (SGD, Adam, AdamW) and update._total is None
    return ours and one_kind and len(set(stores)) == len(stores)
