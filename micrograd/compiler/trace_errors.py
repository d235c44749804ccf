"""Trace-time restrictions: what a traced function must not do.

Reading a number (an `if`, `float`, `.data`) would freeze it into the program, and writing a number would happen only
once. Both raise an error with the user's line.

Draws are detected by comparing the states of generators before and after the trace. If a state has changed, this thread
or another thread drew. The function is then run again, line by line, to find out which thread it was, and where. For
that time, the locks of NumPy's generators make other threads wait. The functions of `random` are in C, where a profiler
sees the calls of one thread.

    f = compile(lambda x: x if x > 0 else -x)
    f(1.0)      Frozen: ... Write where(condition, a, b) for an if ...; at demo.py:1: f = compile(...)
"""

from __future__ import annotations

import inspect
import os
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial
from linecache import getline
from pathlib import Path
from typing import Any

from ..engine.locks import holding
from ..engine.modes import modes_on
from ..engine.value import Node
from ..scalars.kinds import is_tracing
from ..tensor.optional import np
from ..tensor.randomness import generator

READ = (
    "a compiled function cannot look at {}: its value would be frozen into the program. Write where(condition, a, b) "
    "for an if, pass settings by keyword, and compute on nodes instead of their data"
)
OUTSIDE = (
    "a compiled function cannot look at or change the numbers in a node: its program could not. Compute on the node "
    "itself, and change parameters outside of the function; for an if write where(condition, a, b)"
)
WRITE = (
    "a compiled function cannot change {} in place: the program would not do it again. Write y = y + ..., and change "
    "parameters outside of it"
)
CHANGED = (
    "a compiled function cannot change {}: the program would not do it again. Change settings, step schedules and "
    "switch between train() and eval() outside of it"
)
BACKWARD = (
    "a compiled function cannot call backward(): its program computes the gradients by itself. Return the loss, and "
    "call backward() on the result; gradients inside are grad(output, inputs, create_graph=True)"
)
GRAD = (
    "a compiled function cannot look at or change .grad: its program has computed no gradient yet. Call zero_grad() "
    "and clip_grad_norm(), and change parameters outside of the function; gradients inside are grad(output, inputs, "
    "create_graph=True)"
)
MASKED = (
    "a compiled function cannot use a boolean mask as an index: the size of the result would depend on the data. Write "
    "where(condition, a, 0.0), or pass the mask as an array that the function closes over"
)
BITS = (
    "a compiled function combines masks alone by &, |, ^ and ~, found the dtype {}: a comparison makes a mask, such as "
    "a != 0"
)
CONDITIONS = (
    "a compiled function cannot combine conditions on Values by &, | and ^. Write (a > 0) * (b > 0) for both, and "
    "1 - (a <= 0) * (b <= 0) for at least one"
)
DRAWN = (
    "a compiled function cannot draw random numbers: each call of the program would have the same ones. Draw outside, "
    "and pass the draws as an argument; dropout is for eager mode, or off by eval()"
)
OWN_OP = (
    "a compiled function cannot use {}, whose derivative was written by hand for numbers: its program is made from the "
    "rows of the table. Write it with micrograd's operations, in a Function whose methods use them, or call it outside"
)
UNWATCHED = (
    "a compiled function cannot use {}: no variable, attribute, list or dict that its code names leads there, so "
    "replacing it would go undetected. Store it in one of these, or pass it as an argument"
)
ELSEWHERE = (
    "this node belongs to the trace of a compiled function, and has no value outside of that trace. Return the node "
    "from the function, and pass the result as an argument to the next call"
)
REMAINS = (
    "a compiled function cannot store a node in {}: the assignment would run only during tracing. Return the node, and "
    "store it outside (a state is an argument of the function, and its next state a result)"
)
REDEFINED = (
    "a compiled function cannot take gradients as nodes through {}, whose {} is not Value's: the rules of the table "
    "use it. Take the gradient of the result by backward(), or write the operation as a method of another name"
)
SETTING = (
    "a compiled function cannot change requires_grad of a node from outside: the program would not do it again. Freeze "
    "and unfreeze outside of the function, which is then traced again; detach() gives a constant inside"
)
PACKAGE = str(Path(__file__).parent.parent) + os.sep


class Frozen(RuntimeError):
    """Raised if a traced function does what its program could not repeat, such as reading a number."""


def frozen(what: str) -> Frozen:
    """The error for a forbidden operation, with the user's line."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return Frozen(f"{what}; at {_line(frame.f_code.co_filename, frame.f_lineno)}")


def refusing(what: str) -> Callable[..., Any]:
    """A function or method that raises this error, whatever its arguments are."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise frozen(what)

    return refuse


def defined_at(function: Any) -> str:
    """The line where a function begins, or the function itself if it is not written in Python."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    if code is None:
        return repr(function)
    return f"at {_line(code.co_filename, code.co_firstlineno)}"


def _line(name: str, line: int) -> str:
    return f"{name}:{line}: {getline(name, line).strip()}"


# ---------------------------------------------------------------------------------------------------------------------
# Draws

GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
NOT_THE_USERS = (PACKAGE, os.path.dirname(np.__file__), random.__file__, "<frozen")


def generators_in(objects: Iterable[Any]) -> list[Any]:
    """The generators that a function may draw from: the global ones, and those among the objects that it reaches."""
    users = [x for x in objects if isinstance(x, GENERATORS) and not isinstance(x, random.SystemRandom)]
    return [random._inst, *([generator(), np.random.mtrand._rand] if np else ()), *users]  # type: ignore[attr-defined]


def states(generators: list[Any]) -> list[Any]:
    """The states of these generators."""
    return [*map(_state, generators)]


def _state(x: Any) -> Any:
    if isinstance(x, random.Random):
        return x.getstate()
    return x.bit_generator.state if isinstance(x, np.random.Generator) else x.get_state(legacy=False)


def restore(generators: list[Any], states: list[Any]) -> None:
    """Restore the generators' states."""
    for x, state in zip(generators, states, strict=True):
        if isinstance(x, random.Random):
            x.setstate(state)
        elif isinstance(x, np.random.Generator):
            x.bit_generator.state = state
        else:
            x.set_state(state)


def without_draws(run: Callable[[], Any], generators: list[Any]) -> Any:
    """The result of `run`; raises, with the line, if it draws. Draws in other threads are allowed."""
    before = states(generators)
    pickled = pickle.dumps(before)
    out = run()
    after = states(generators)
    if pickle.dumps(after) == pickled:
        return out
    find: Callable[[], str] = partial(_run_again, run, generators, before, after)
    for lock in filter(None, (getattr(getattr(x, "_bit_generator", None), "lock", None) for x in generators)):
        if isinstance(lock, type(threading.RLock())):  # the lock of a NumPy generator, for which other threads wait
            find = partial(holding, lock, find)
    if line := find():
        raise Frozen(f"{DRAWN}; at {line}")
    return out


def _run_again(run: Callable[[], Any], generators: list[Any], before: list[Any], after: list[Any]) -> str:
    """The line where this thread draws, if it does. Draws of other threads do not happen again."""
    restore(generators, before)  # a `gauss` draws every other time
    line = ""
    try:
        line = _line_of_the_draw(run, [x for x in generators if not isinstance(x, random.Random)])
    finally:
        restore(generators, before if line else after)
    return line


def _line_of_the_draw(run: Callable[[], Any], of_arrays: list[Any]) -> str:
    """The last user line begun before this thread drew, from NumPy's generators or one of `random`."""
    pickled = lambda: pickle.dumps(states(of_arrays))  # noqa: E731
    # The text of the lines is read at the end, since reading a file lets other threads run
    begun: list[tuple[str, int]] = [("an unknown file", 0)]
    before, drawn_at = pickled(), []

    def watch(frame: Any, event: str, _: Any) -> Any:
        if drawn_at or frame.f_code.co_filename.startswith(NOT_THE_USERS):
            return None
        if pickled() != before:
            drawn_at.append(begun[-1])
            return None
        begun.append((frame.f_code.co_filename, frame.f_lineno))
        return watch

    def called(_frame: Any, event: str, function: Any) -> None:
        if event == "c_call" and isinstance(getattr(function, "__self__", None), random.Random):
            drawn_at.append(begun[-1])

    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(watch)
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(profiler)
        sys.settrace(tracer)
    if pickled() != before:
        drawn_at.append(begun[-1])
    return _line(*drawn_at[0]) if drawn_at else ""


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


_slot = Node._gradient  # a pass uses the slot by this name


def _unless_tracing(access: Callable[..., Any]) -> Callable[..., Any]:
    def accessed(*args: Any) -> Any:
        if modes_on and is_tracing():
            raise frozen(GRAD)
        return access(*args)

    return accessed


_refusing = property(*map(_unless_tracing, (_slot.__get__, _slot.__set__, _slot.__delete__)))  # type: ignore[arg-type]
_traces: set[object] = set()  # the traces under way, in any thread
_one_at_a_time = threading.Lock()


class watched_gradients:
    """A context in which `.grad` raises an error in a trace.

    Outside of the context, `.grad` is the slot, which is ten times as fast to read.
    """

    def __enter__(self) -> None:
        holding(_one_at_a_time, _watch_gradients, _traces.add, self)

    def __exit__(self, *_: object) -> None:
        holding(_one_at_a_time, _watch_gradients, _traces.discard, self)


def _watch_gradients(change: Callable[[object], None], trace: object) -> None:
    """Begin or end a trace, and watch `.grad` for as long as there is one."""
    change(trace)
    Node.grad = _refusing if _traces else _slot  # type: ignore[attr-defined]
