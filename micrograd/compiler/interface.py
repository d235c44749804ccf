"""`compile`: what is called, and what is remembered.

A compiled function keeps a program for each form of its arguments (shapes, dtypes, which of them require a gradient),
and is traced again when what it read was replaced (a parameter, a layer, a string), or when a module went from `train`
to `eval`; see `guards`.

    f = compile(lambda x, y: (x * y).exp())
    loss = f(2.0, w)          first a trace, later the program: value and gradients from one run
    loss.backward()           w.grad += what the program has found
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, NamedTuple

import numpy as np

from ..engine.modes import is_grad_enabled, is_tracing, modes
from ..engine.value import Value
from ..optim import SGD
from ..tensor.tensor import Tensor
from .arguments import TEXT
from .build import BACKENDS
from .emit import Step
from .program import Program, program_for

_UNFUSED = "call backward() on the loss, and step() of the optimizer"
MOST = 128  # programs that one function keeps; the oldest goes first


class CacheInfo(NamedTuple):
    """How often a call found its program, and how often it had to be traced."""

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
    update: SGD | None = None,
) -> Any:
    """The function, traced once and then run as a program: forward and backward, without building a graph.

    Numbers and arrays that the function closes over are constants, as in JAX: a later change is not noticed. Values and
    Tensors are read each time. Everything else that its code names, in variables, attributes, lists and dicts, is
    compared before each call, and the function is traced again if it was replaced.

    Args:
        fn: takes, by position, numbers (it sees Values), arrays (it sees Tensors), Values, Tensors, and lists, tuples
            and dicts of them; numbers beside arrays are Tensors too. What is given by keyword, and bools, strings and
            None, it gets as they are, and each new one is traced anew.
        scalars: it sees arrays as nested lists of Values.
        batch: it is written for one sample, in scalars, and called with arrays of many: the first axis counts them. It
            gives a Tensor of as many elements. Numbers and Values among the arguments are the same for each sample.
        backend: of what programs of numbers are made: "python", straight Python; "numpy", operations on arrays, in
            which sums are reassociated; "auto", Python for short ones.
        update: an SGD of Tensors, without momentum and weight decay. The function gives a loss, and each call is a
            whole training step: what `zero_grad`, `backward` and `step` would do. `lr` is read each time, `.grad` is
            not written, and the loss comes back as a constant.

    `f.source` is the program, `f.graph` can be drawn, `f.cache_info()` tells how often it was traced.
    `gradient(f)` and the other transforms of a compiled function are compiled too. A program warns of no overflow.

    Raises while it is traced: where it looks at a number (`if`, `float`, `.data`), changes one in place, draws from a
    global random generator, or uses a node that it gets from where no name leads (a cache, a weak reference).

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
        return lambda fn: compile(fn, scalars=scalars, batch=batch, backend=backend, update=update)
    if not callable(fn):
        raise TypeError(f"compile takes a function, found {type(fn).__name__}")
    if backend not in BACKENDS:
        raise ValueError(f"found the backend {backend!r}: it must be {', '.join(map(repr, BACKENDS))}")
    if scalars and batch:
        raise ValueError("found scalars=True and batch=True: the one takes whole arrays apart, the other one sample")
    if update is not None:
        _check(update, scalars or batch)
    return Compiled(fn, fn, {"scalars": scalars, "batch": batch, "backend": backend, "update": update})


def _check(update: Any, in_scalars: bool) -> None:
    """Raise if a program cannot do this update."""
    if type(update) is not SGD or update.momentum or update.weight_decay:
        raise TypeError(f"update= takes an SGD without momentum and weight decay, found {update!r}: {_UNFUSED}")
    if in_scalars or not all(isinstance(p, Tensor) for p in update.params):
        raise TypeError(f"update= takes Tensors, found Values to be updated: {_UNFUSED}")


# ---------------------------------------------------------------------------------------------------------------------
# Which program


def kind(x: Any) -> Any:
    """What a program depends on in an argument: the key under which it is remembered."""
    if x.__class__ is float:
        return float
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype
    if isinstance(x, Value):
        return Value, x._row is not None
    if isinstance(x, Tensor):
        return Tensor, x.shape, x.dtype, x.requires_grad
    if isinstance(x, TEXT):
        return type(x), x
    if isinstance(x, (list, tuple)):
        return type(x), *map(kind, x)
    if isinstance(x, dict):
        return dict, *((key, kind(part)) for key, part in x.items())
    if isinstance(x, (int, float, np.integer, np.floating)):
        return type(x)
    raise TypeError(
        f"found {type(x).__name__} {x!r:.50} among the arguments of a compiled function: it takes numbers, arrays, "
        "Values, Tensors, and lists, tuples and dicts of them; anything else by keyword"
    )


def static(name: str, x: Any) -> Any:
    """The key of what is given by keyword: a constant."""
    if isinstance(x, (np.ndarray, Value, Tensor)):
        raise TypeError(f"{name}= is a {type(x).__name__}: give it by position; what is given by keyword is a constant")
    if isinstance(x, (list, tuple)):
        return type(x), *(static(name, part) for part in x)
    if isinstance(x, dict):
        return dict, *((key, static(name, part)) for key, part in x.items())
    if isinstance(x, (float, np.floating)):
        return type(x), repr(x)  # -0.0 is not 0.0, and a nan equals itself
    try:
        hash(x)
    except TypeError:
        raise TypeError(
            f"{name}= holds a {type(x).__name__}, which cannot be hashed, so a compiled function cannot tell it from "
            "another: give numbers, strings, lists, tuples or dicts of them, or close over it"
        ) from None
    return type(x), x


def names_of(function: Any) -> list[str]:
    """What a function calls its positional parameters, as far as that can be told."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _key(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a program depends on in a call."""
    key: Any = tuple(map(kind, args))
    if modes and not is_grad_enabled():
        key = (False, key)
    return (key, *((name, static(name, x)) for name, x in named.items())) if named else key


class Compiled:
    """A compiled function; `compile` makes it."""

    def __init__(self, fn: Callable, origin: Callable, settings: dict[str, Any], plain: bool = False):
        self.fn, self.origin, self.settings, self.plain = fn, origin, settings, plain
        self.names = names_of(origin)
        self._programs: dict[Any, Program] = {}
        self._quick: dict[Any, Callable] = {}  # of those that ask for nothing but their arguments, the code
        self._last: Program | None = None
        self._hits = self._misses = 0
        self._lock = threading.RLock()
        update_wrapper(self, origin, updated=())

    def __call__(self, *args: Any, **named: Any) -> Any:
        key: Any = tuple(map(type, args))  # of plain numbers, it is all that matters
        quick = self._quick.get(key)
        if quick is not None and not (modes or named):
            try:
                answer = quick(*args)
            except (ArithmeticError, ValueError):
                pass  # the program knows what to do
            else:
                self._hits += 1
                return answer
        if modes or named or key not in self._programs:
            if is_tracing():
                return self._inside(args, named)
            key = _key(args, named)
        program = self._programs.get(key)
        if program is None or not (program.current is None or program.current()):
            program = self._traced(key, args, named)
        else:
            self._hits += 1
        return program(args)

    def _inside(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call while another function is traced: it becomes a part of that one's program."""
        if self.settings["batch"]:
            raise TypeError(f"{self!r} takes arrays of samples, and so cannot be called inside of a compiled function")
        if self.settings["update"] is not None:
            raise TypeError(f"{self!r} updates parameters, and so cannot be called inside of a compiled function")
        return self.fn(*args, **named)

    def _traced(self, key: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Program:
        with self._lock:
            program = self._programs.pop(key, None)
            if program is None or (program.current is not None and not program.current()):
                program = program_for(self, args, named)
                self._misses += 1
            self._programs[key] = self._last = program
            if program.alone:
                self._quick[key] = program.code.run
            if len(self._programs) > MOST:
                self._quick.pop(oldest := next(iter(self._programs)), None)
                del self._programs[oldest]
            return program

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """As a method: one compiled function for each object, which keeps it."""
        if owner is None:
            return self
        bound = Compiled(self.fn.__get__(owner), self.origin.__get__(owner), self.settings, self.plain)
        return vars(owner).setdefault(self.origin.__name__, bound)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has programs of its own."""
        return Compiled, (self.fn, self.origin, self.settings, self.plain)

    def transformed(self, transform: Callable) -> Compiled:
        """`gradient`, `value_and_grad` and the like of this function, compiled."""
        if self.settings["update"] is not None:
            raise TypeError(f"{self!r} updates parameters: take the gradient of a function compiled without update=")
        return Compiled(transform(self.fn), self.origin, self.settings, plain=True)

    @property
    def program(self) -> Program:
        """The program that was traced last."""
        if self._last is None:
            raise RuntimeError("there is no program yet: call the function once")
        return self._last

    @property
    def source(self) -> str:
        """The text of the program that was traced last."""
        return self.program.code.source

    @property
    def graph(self) -> list[Step]:
        """That program as a graph: the nodes of its outputs and gradients, for `draw_dot`."""
        return self.program.code.graph

    def cache_info(self) -> CacheInfo:
        """How many calls found their program, and how many were traced."""
        return CacheInfo(self._hits, self._misses, MOST, len(self._programs))

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.origin, '__qualname__', self.origin)!s}>"
