"""`compile`: the public interface, and the cache of programs.

A compiled function caches one program for each signature of its arguments (shapes, dtypes, which of them require a
gradient). It is traced again if an object that it read was replaced (a parameter, a layer, a string), or if a module
was switched between `train` and `eval`; see `stale`.

    f = compile(lambda x, y: (x * y).exp())
    loss = f(2.0, w)          traces on the first call, then runs the program: value and gradients together
    loss.backward()           w.grad += the gradient that the program computed
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce, update_wrapper
from operator import attrgetter, getitem
from types import FunctionType, MethodType
from typing import Any, NamedTuple
from weakref import WeakSet

from ..autograd.transforms import Transformable
from ..common.trees import leaves
from ..engine.locks import holding
from ..engine.modes import is_grad_enabled, modes_on
from ..engine.value import Value
from ..engine.walk import lock
from ..optim import SGD, Adam, AdamW, Optimizer
from ..scalars.anomaly import is_anomaly_enabled
from ..scalars.hooks import hooked
from ..scalars.kinds import is_tracing, node_of, plain
from ..tensor.optional import Tensor, np
from . import backends
from .build import no_loss
from .checked import Checked, checked_call, way
from .inputs import TEXT, untraced
from .lowered import Lowered
from .offload import AwayValue, may_be_used
from .program import Program, program_for
from .stale import same_objects
from .traced_nodes import is_users

MOST = 128  # programs cached by one function; the oldest is dropped first


class CacheInfo(NamedTuple):
    """Cache statistics of a compiled function: calls whose program was in the cache, and calls that had to trace."""

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
    check: bool = False,
) -> Any:
    """Compile a function that is called many times, so that it runs as a program without a graph.

    Use it for a loss that a loop calls in each step, or with `update=` for the whole step. The first call traces fn,
    and later calls run the program, which gives fn's results and gradients up to rounding. Shapes should stay the same,
    and no `if` may depend on a number. Besides its arguments, fn uses things of four kinds, which the guide
    `docs/contract.md` lists in full.

    - Live values are read at each call. They are the numbers of the nodes that fn reaches, and the settings and state
      of an optimizer in `update=`.
    - Watched properties lead to a new trace when they change. They are `requires_grad`, `training`, the objects that
      names in the code are bound to, and the content, except for numbers, of the containers that the code reads.
    - Constants are everything else, until `f.retrace()`. Most often they are numbers in a container or an array, the
      content of a container of more than 100 numbers or texts, and the answers of other libraries, the clock and files.
    - Refused operations raise an error that names the operation and the line. Such an operation reads or writes a
      number or a `.grad` of a node, calls `backward()`, writes in place, draws random numbers, or changes a setting.

    Args:
        fn: function of numbers (which it sees as Values), arrays (as Tensors), nodes, and lists, tuples and dicts of
            these. Each new value of a keyword argument, a bool, a string or None is a new trace.
        scalars: True passes arrays to fn as nested lists of Values.
        batch: True if fn is written for one sample, in scalars. The compiled function then takes arrays of shape
            (N, ...), and each result is a Tensor of shape (N,). All samples share the numbers and Values.
        backend: "auto" chooses "python" for short programs of numbers and "numpy" for long ones, in which sums are
            reassociated. "c" needs a C compiler, and is the fastest for small arrays. "jax" needs the extra `[jax]`,
            takes arrays alone, and runs on a GPU if it finds one.
        update: an optimizer, for a whole training step in each call, `zero_grad`, `backward` and `step`. The program
            writes no `.grad`, and the loss is returned as a constant.
        devices: for "jax", such as `jax.devices()`. Arrays among the arguments are split along their first axis, one
            part for each device. In several processes, each makes the same calls with the whole arrays.
        check: True also runs fn itself in each call, and raises at the first number or gradient that differs by more
            than rounding. It is slow, for debugging.

    Returns:
        Callable with fn's positional arguments and results, as nodes, or a decorator if there is no fn. Print
        `f.lowered` or `f.source` to read its last program, and `f.cache_info()` to count the traces. Its transforms,
        such as `gradient(f)`, are compiled too. Inside `detect_anomaly`, fn itself runs, except with `batch`.

    Raises:
        TypeError: fn is not callable, or `update` is not an optimizer.
        ValueError: `backend` is unknown, or both `scalars` and `batch` are set.
        ModuleNotFoundError: `backend="jax"`, and JAX is not installed.
        RuntimeError: (in a call) fn uses a refused operation or, with `check`, its program differs from it.

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
    settings = {"scalars": scalars, "batch": batch, "backend": backend, "update": update, "devices": devices}
    settings["check"] = check
    if fn is None:
        return partial(compile, **settings)  # type: ignore[arg-type]
    if not callable(fn):
        raise TypeError(f"compile takes a function, found {type(fn).__name__}")
    backends.check_name(backend)
    if (batch or backend in ("numpy", "c")) and not np:
        raise ModuleNotFoundError(
            "batch=True, backend='numpy' and backend='c' compute on arrays: install numpy", name="numpy"
        )
    if devices is not None and "devices" not in backends.has(backend, "OPTIONS"):
        raise ValueError(f"devices= is for backend='jax', found backend={backend!r}")
    if scalars and batch:
        raise ValueError("found scalars=True and batch=True: choose one")
    return compiled(fn, fn, settings)


# ---------------------------------------------------------------------------------------------------------------------
# Cache keys


def signature(x: Any) -> Any:
    """The properties of an argument that a program depends on, as a part of the key."""
    if x.__class__ is float or x.__class__ is int:
        return x.__class__
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype, x.__class__
    if isinstance(x, Value):
        return x.__class__ if is_users(x.__class__) else Value, x._row is not None
    if isinstance(x, Tensor):
        return x.__class__ if is_users(x.__class__) else Tensor, x.shape, x.dtype, x.requires_grad
    if isinstance(x, TEXT):
        return type(x), x
    if isinstance(x, (list, tuple, dict)):
        return _of_parts(x, signature)
    if isinstance(x, (int, float, np.integer, np.floating)):
        return type(x)
    raise TypeError(
        f"found {type(x).__name__} {x!r:.50} among the arguments of a compiled function: it takes numbers, arrays, "
        "Values, Tensors, and lists, tuples and dicts of them; pass anything else by keyword"
    )


def _of_parts(x: Any, of_part: Callable[[Any], Any]) -> Any:
    """The signature of a list, tuple or dict, by a function for the signature of each part."""
    if isinstance(x, dict):
        return type(x), tuple(x), *map(of_part, x.values())
    return type(x), *map(of_part, x)


class Same:
    """An object in a key, which is equal only to itself."""

    def __init__(self, target: Any):
        self.target = target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)


def _attribute(x: Any, name: str) -> Any:
    """An attribute of an argument, as a part of the key: by its value or, if it cannot be hashed, by its identity."""
    attribute = getattr(x, name, None)
    try:
        return static(name, attribute)
    except TypeError:
        return Same(getattr(attribute, "__func__", attribute))


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
            f"another {type(x).__name__}: pass numbers, strings, or lists, tuples or dicts of them, or close over it"
        ) from None
    return type(x), x


def names_of(function: Any) -> list[str]:
    """The names of a function's positional parameters, if they can be inspected."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _key(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The cache key of a call."""
    key: Any = tuple(map(signature, args))
    if modes_on and not is_grad_enabled():
        key = (False, key)
    return (key, *((name, static(name, x)) for name, x in named.items())) if named else key


def _is_taken(x: Any) -> bool:
    """True if a compiled function takes x as an argument."""
    try:
        return bool(signature(x))
    except TypeError:
        return False


def _is_method(function: Any) -> bool:
    """True for a function that was defined in the body of a class."""
    above = getattr(function, "__qualname__", "").rpartition(".")[0]
    return isinstance(function, FunctionType) and above != "" and not above.endswith("<locals>")


def compiled(fn: Callable, origin: Callable, settings: dict[str, Any], plain: bool = False) -> Compiled:
    """A compiled function, or training step, by its settings."""
    return class_for(settings)(fn, origin, settings, plain)


def class_for(settings: dict[str, Any]) -> type[Compiled]:
    """The class of a compiled function with these settings."""
    cls = Compiled if settings["update"] is None else TrainingStep
    return type(cls.__name__, (Checked, cls), {"__slots__": ()}) if settings["check"] else cls


UNBOUND = (partial, MethodType)  # a class that stores one of these does not bind it to its objects


class Methods:
    """The compiled methods of one object, by the function in its class. A copy of the object has None instead."""

    def __init__(self, owner: Any):
        self.owner = owner
        self.by_function: dict[Compiled, Compiled] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class Compiled(Transformable):
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
        self._attributes: set[str] = set()  # the names of those attributes of arguments that the function reads
        self._elsewhere: dict[int, Methods] = {}  # the methods of classes, and of objects without a `__dict__`
        self._bound: WeakSet[Compiled] = WeakSet()  # the methods of all objects
        self._lock = threading.RLock()
        update_wrapper(self, origin, updated=())

    def __call__(self, *args: Any, **named: Any) -> Any:
        if modes_on:
            if is_tracing():
                return self._inside(args, named)
            if (bound := self._of(args)) is not None:
                return bound(*args[1:], **named)
            if way() == "uncompiled" or (is_anomaly_enabled() and not self.settings["batch"]):
                return self.untraced(args, named)
            if way() == "checked":
                return checked_call(self, Compiled.__call__, args, named)
        try:
            key = _key(args, named)
        except TypeError:
            if (bound := self._of(args)) is None:
                raise
            return bound(*args[1:], **named)
        if self._attributes:
            key = key, self._attributes_of(args)
        program = self._programs.get(key)
        if program is None or not program.is_current():
            program = holding(self._lock, self._traced, key, args, named)
        else:
            self._hits += 1
        return program(args)

    def _of(self, args: tuple[Any, ...]) -> Any:
        """The compiled method of the first argument, if the call is Class.method(self, x), as a property makes it."""
        called_by_class = args and _is_method(self.origin) and not _is_taken(args[0])
        return self.__get__(args[0]) if called_by_class else None

    def _inside(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call while another function is traced: it becomes part of that function's program."""
        if self.settings["batch"]:
            raise TypeError(f"{self!r} takes arrays of samples, and so cannot be called inside a compiled function")
        if self.settings["update"] is not None:
            raise TypeError(f"{self!r} updates parameters, and so cannot be called inside a compiled function")
        return self.fn(*args, **named)

    def _attributes_of(self, args: tuple[Any, ...]) -> Any:
        """The attributes of the nodes among the arguments that the function reads, as a part of the key."""
        nodes = [x for x in leaves(list(args)) if isinstance(x, (Value, Tensor))]
        return tuple([(name, _attribute(x, name)) for x in nodes for name in self._attributes])

    def untraced(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call of the function itself, as under `detect_anomaly`, when its graph shows where a nan comes from."""
        return self.fn(*args, **named) if self.plain else untraced(self.fn, args, named, self.settings["scalars"])

    def _traced(self, key: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Program:
        program = self._programs.pop(key, None)
        if program is None or not program.is_current():
            program = program_for(self, args, named)
            self._misses += 1
            if program.built.attributes > self._attributes:
                key = key[0] if self._attributes else key
                self._attributes |= program.built.attributes
                key = key, self._attributes_of(args)
        self._programs[key] = self._last = program
        of_floats = key == (float,) * len(args) and not self.settings["check"]
        if of_floats and (quick := program.quick(Compiled.__call__)):
            self.__class__ = type("Compiled", (Compiled,), {"__slots__": (), "__call__": quick})  # type: ignore[assignment]
        if len(self._programs) > MOST:
            del self._programs[next(iter(self._programs))]
        return program

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        """The method of an object, a compiled function that is stored under this one instead of under a name."""
        if owner is None or isinstance(self.fn, UNBOUND) or not hasattr(type(self.fn), "__get__"):
            return self
        methods = self._methods(owner)
        if self not in methods:
            fn, origin = self.fn.__get__(owner, cls), self.origin.__get__(owner, cls)
            self._bound.add(methods.setdefault(self, compiled(fn, origin, self.settings, self.plain)))
        return methods[self]

    def _methods(self, owner: Any) -> dict[Compiled, Compiled]:
        """The compiled methods of an object. They refer to the object, so it stores them itself, if it can."""
        attributes = getattr(owner, "__dict__", None)
        store: Any
        store, key = (attributes, "_compiled_methods") if isinstance(attributes, dict) else (self._elsewhere, id(owner))
        methods = store.get(key)
        # A copy of an object begins with the attributes of the original
        if methods is None or methods.owner is not owner:
            methods = store[key] = Methods(owner)
            if len(self._elsewhere) > MOST:
                del self._elsewhere[next(iter(self._elsewhere))]
        return methods.by_function

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy starts with an empty cache."""
        return compiled, (self.fn, self.origin, self.settings, self.plain)

    def transformed(self, transform: Callable) -> Compiled:
        """The compiled `gradient`, `value_and_grad` or other transform of this function."""
        if self.settings["update"] is not None:
            raise TypeError(f"{self!r} updates parameters: take the gradient of a function compiled without update=")
        return compiled(transform(self.fn), self.origin, self.settings, plain=True)

    def retrace(self) -> None:
        """Trace again at the next call, which reads the constants again: numbers in containers, files, the clock.

        For a function in a class, this is done for the methods of all its objects.
        """
        holding(self._lock, self._forget)
        for method in [*self._bound]:
            method.retrace()

    def _forget(self) -> None:
        self._programs.clear()
        # The class may be one with a `quick` call, which is a program itself
        self.__class__ = class_for(self.settings)  # type: ignore[assignment]

    def fresh(self) -> Compiled:
        """The same function, unchecked and without a program."""
        return compiled(self.fn, self.origin, {**self.settings, "check": False}, self.plain)

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
        """The program traced last as data, before it was written for a back end. Print it to read it."""
        return self.program.built.lowered

    def to_onnx(self, dtype: Any = None) -> bytes:
        """The content of the .onnx file that `save(f, "model.onnx")` writes for the program traced last.

        The state of a training step is among the inputs, and its next state among the outputs; see `state`.

        A program that was traced for another size of one axis, and is otherwise the same, makes that axis free.
        """
        program = self._current()
        built, earlier = program.built, [p for p in reversed(self._programs.values()) if p is not program]
        variants = [p.built.lowered for p in earlier if p.is_current() and same_objects(p.built.leaves, built.leaves)]
        return backends.bundled("onnx").to_bytes(built.lowered, variants, dtype or "float32", built.vector)

    def to_js(self) -> bytes:
        """The content of the module that `save(f, "model.js")` writes for the program traced last."""
        javascript, program = backends.bundled("javascript"), self._current()
        built = program.built
        tree: Any = built.lowered.values
        if built.vector:
            tree = built.filled(javascript.Part(tree, i) for i in range(len(built.outs)))
        elif not built.as_text:
            tree = built.filled(tree)
        lowered = replace(built.lowered, gradients=None, by=())
        names = {name: name for name in built.names} | dict(zip(built.names, self.names, strict=False))
        read = program._read
        text = holding(lock, lambda: javascript.module(lowered, read(), tree, names, built.labels, built.rules))
        return text.encode()

    def _current(self) -> Program:
        """The program to be saved."""
        program = self.program
        if not program.is_current():
            raise RuntimeError(f"what {self!r} reads was replaced since it was traced: call it again, then save it")
        if self.settings["update"] is not None and program.built.update is None:
            raise TypeError(f"{self!r} cannot be saved as a training step: its optimizer takes its own step in Python")
        return program

    def state(self) -> dict[str, Any]:
        """The numbers that a training step has beside its arguments, by their names in a saved file.

        Use it to run a saved training step. Its .onnx file takes the state as inputs, and returns the next state.

        Returns:
            Arrays by name: the learning rate `lr`, the parameters `p0`, `p1`, ... in the optimizer's order, and what
            the optimizer remembers of each, such as `s0_mean`. Empty for a function without `update=`.

        >>> from micrograd.optim import SGD
        >>> w = Tensor([3.0], requires_grad=True)
        >>> step = compile(lambda: (w * w).sum(), update=SGD([w], lr=0.1))
        >>> step().item(), step.state()["p0"].round(4)
        (9.0, array([2.4]))
        """
        program = self._current()
        lowered, arguments = program.built.lowered, program._read()  # the last of the arguments is what is updated
        names = {symbol.args[0] for symbol in lowered.inputs}
        reads = [read for read in lowered.reads if read.parameter == "update" and read.name in names]
        return {read.name: np.array(plain(reduce(getitem, read.keys, arguments[-1]))) for read in reads}

    def cache_info(self) -> CacheInfo:
        """Cache statistics, as of `functools.lru_cache`: hits, misses (traces), most programs, programs now."""
        return CacheInfo(self._hits, self._misses, MOST, len(self._programs))

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.origin, '__qualname__', self.origin)!s}>"


class TrainingStep(Compiled):
    """A training step: the program updates the parameters too, by the optimizer's rule.

    Sometimes the program cannot do so: with `reduce=`, an optimizer of a class that is not ours, parameters that share
    memory, hooks, or `detect_anomaly`, and on a free-threaded interpreter. Then the optimizer takes its own step after
    the program of the loss and its gradients.
    """

    def __init__(self, fn: Callable, origin: Callable, settings: dict[str, Any], plain: bool = False):
        super().__init__(fn, origin, settings, plain)
        self.loss: Compiled = Compiled(fn, origin, {**settings, "update": None})
        self.optimizer: Any = settings["update"]
        self.by_rule: bool = _has_rule(self.optimizer) and not settings["batch"] and may_be_used()
        self._steps_separately = not self.by_rule

    def __call__(self, *args: Any, **named: Any) -> Any:
        if is_tracing() or way() == "uncompiled":
            return self._inside(args, named)
        watched = (modes_on and is_anomaly_enabled()) or (
            hooked and any(node_of(p)._hooks for p in self.optimizer.params)
        )
        self._steps_separately = bool(watched or not self.by_rule or _is_changed(self.optimizer))
        if not self._steps_separately:
            return super().__call__(*args, **named)
        # Without the lock, the gradients of two threads would add up
        return holding(self._lock, self._step, args, named)

    def _step(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A step that the optimizer takes itself."""
        loss = self.loss(*args, **named)
        if not (isinstance(loss, (Value, Tensor)) and getattr(loss, "size", 1) == 1 and loss.requires_grad):
            raise no_loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def retrace(self) -> None:
        """Trace again at the next call, which reads the constants again."""
        self.loss.retrace()
        super().retrace()

    @property
    def program(self) -> Program:
        """The program traced last, which is that of the loss and its gradients if the optimizer takes its own step."""
        return self.loss.program if self._steps_separately else super().program

    def cache_info(self) -> CacheInfo:
        """Cache statistics of the program traced last."""
        return self.loss.cache_info() if self._steps_separately else super().cache_info()


METHODS = ("step", "zero_grad", "reduce", "_update", "_decay")  # which make a step
methods_of: Callable[[Any], tuple[Any, ...]] = attrgetter(*METHODS)
OURS = {cls: methods_of(cls) for cls in (SGD, Adam, AdamW)}


def _is_changed(update: Any) -> bool:
    """True if a method of an optimizer of ours was replaced, on the optimizer or on its class."""
    cls = update.__class__
    return methods_of(cls) != OURS.get(cls) or not vars(update).keys().isdisjoint(METHODS)


def _has_rule(update: Any) -> bool:
    """True if a program can do the update: by our own rule, on separate parameters, all Values or all Tensors."""
    if not isinstance(update, Optimizer):
        raise TypeError(f"update= takes an optimizer, such as SGD(params, lr=0.1), found {update!r:.60}")
    if type(update) not in OURS or update._total is not None:
        return False
    if all(type(p) in (Value, AwayValue) for p in update.params):
        return True
    if not all(isinstance(p, Tensor) for p in update.params):
        return False
    storages = [storage for p in update.params if (storage := p._node._store)]  # views share theirs
    return len(set(storages)) == len(storages)
