"""A pass that fails, by whatever error or by Ctrl-C, leaves every `.grad` as it was."""

from __future__ import annotations

import ast
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_helpers import PATHS, Boom, raising, square, walking
from interrupts import ctrl_c as ctrl_c
from interrupts import interrupted_everywhere

from micrograd import Value, detect_anomaly, grad, no_grad
from micrograd.engine.modes import State, modes_on
from micrograd.scalars import ops

PACKAGE = Path(ops.__file__).parents[1]


def bad_row(error: BaseException) -> Callable[[Value], Value]:
    """An op of the table whose rule raises."""

    def rule(g, out, a):
        raise error

    return ops.Row("bad", lambda a: a, rule)


def bad_hook(error: BaseException) -> Callable[[Value], Value]:
    def op(x: Value) -> Value:
        y = x * 1
        y.register_hook(raising(error))
        return y

    return op


def bad_closure(error: BaseException) -> Callable[[Value], Value]:
    def op(x: Value) -> Value:
        out = Value(x.data, (x,), "bad")

        def _backward():
            x.grad += 12345.0
            raise error

        out._backward = _backward
        return out

    return op


@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("bad", [bad_row, bad_hook, bad_closure])
def test_pass_that_fails_leaves_every_grad_as_it_was(bad, error: type[BaseException]):
    x, w = Value(3.0), Value(2.0)
    y = x * w
    x.grad, w.grad, y.grad = 1.0, 2.0, 3.0
    z = bad(error())(y) * w + x
    with pytest.raises(error):
        z.backward()
    assert (x.grad, w.grad, y.grad, z.grad) == (1.0, 2.0, 3.0, 0)


@pytest.mark.parametrize("bad", [bad_row, bad_hook, bad_closure])
def test_after_a_failed_pass_another_over_the_same_nodes_is_right(bad):
    x, w = Value(3.0), Value(2.0)
    y = x * w
    with pytest.raises(Boom):
        (bad(Boom())(y) * w).backward()
    (y * w).backward()
    assert (x.grad, w.grad, y.grad) == (4.0, 12.0, 2.0)


class Guarded(Value):
    """A Value whose `.grad` refuses to be set once, as if Ctrl-C came then."""

    __slots__ = ("_fails",)
    _slot = Value.grad

    @property
    def grad(self):
        return Guarded._slot.__get__(self)

    @grad.setter
    def grad(self, g):
        if g and getattr(self, "_fails", False):
            self._fails = False
            raise KeyboardInterrupt
        Guarded._slot.__set__(self, g)


@pytest.mark.parametrize("which", range(4))
def test_interrupt_in_the_middle_of_the_commit_undoes_it(which: int):
    leaves = [Guarded(float(i + 1)) for i in range(4)]
    a, b, c, d = leaves
    y = a * b * c * d
    leaves[which]._fails = True
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    assert [leaf.grad for leaf in leaves] == [0, 0, 0, 0]
    y.backward()
    assert [leaf.grad for leaf in leaves] == [24.0, 12.0, 8.0, 6.0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "op",
    [
        pytest.param(lambda y: y, id="numbers"),
        pytest.param(lambda y: y / Value(0.0), id="ieee"),
        pytest.param(square, id="closure"),
    ],
)
def test_interrupt_at_any_line_leaves_all_of_the_pass_or_nothing(op, path: str):
    def fresh() -> tuple[Callable, list[Value]]:
        x, w = Value(3.0), Value(2.0)
        y = x * w
        z = op(y) + y.tanh()
        x.grad, w.grad, y.grad = 1.0, 2.0, 3.0
        return z.backward, [x, w, y, z]

    nothing = [node.grad for node in fresh()[1]]
    with walking(path):
        *outcomes, everything = ([node.grad for node in nodes] for _, nodes in interrupted_everywhere(fresh, 50))
    assert [outcome for outcome in outcomes if outcome not in (nothing, everything)] == []
    assert outcomes.count(nothing) > 50


@pytest.mark.parametrize("path", PATHS)
def test_interrupt_at_any_line_of_grad_changes_no_grad(path: str):
    def fresh() -> tuple[Callable, list[Value]]:
        x, w = Value(3.0), Value(2.0)
        y = x * w
        z = y + y.tanh()
        x.grad, w.grad, y.grad, z.grad = 1.0, 2.0, 3.0, 4.0
        return lambda: grad(z, [x, y]), [x, w, y, z]

    with walking(path):
        for _, nodes in interrupted_everywhere(fresh, 50):
            assert [node.grad for node in nodes] == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("path", PATHS)
def test_after_an_interrupt_at_any_line_a_retry_is_right(path: str):
    def fresh() -> tuple[Callable, Value, Value, Value, Value]:
        x, w = Value(3.0), Value(2.0)
        y = x * w
        z = y + y * x
        return z.backward, x, w, y, z

    with walking(path):
        for _, x, w, y, z in interrupted_everywhere(fresh, 50):
            x.grad = w.grad = 0
            z.backward()
            assert (x.grad, w.grad, y.grad) == (2.0 + 12.0, 3.0 + 9.0, 4.0)


def test_interrupt_while_a_mode_is_entered_leaves_the_one_around_it_on():
    """A signal that is found as a function begins, which is before its first line."""

    def trace(frame, *_):
        if frame.f_code is State.__init__.__code__:
            raise KeyboardInterrupt

    before = sys.gettrace()
    with no_grad():
        sys.settrace(trace)
        try:
            with pytest.raises(KeyboardInterrupt):
                detect_anomaly().__enter__()
        finally:
            sys.settrace(before)
        assert not (Value(3.0) * 2).requires_grad


def test_mode_that_was_interrupted_before_it_was_counted_is_not_discounted():
    before = len(modes_on)
    State.__new__(State)  # gone at once
    assert len(modes_on) == before


def test_pass_that_finds_no_number_in_a_grad_adds_to_none():
    x, y = Value(2.0), Value(3.0)
    z = x * y
    x.grad, y.grad = 1.0, "no number"
    with pytest.raises(TypeError):
        z.backward()
    assert (x.grad, y.grad) == (1.0, "no number")


BY_A_TIMER = """
import signal
import threading
from micrograd import Value
from micrograd.engine.walk import lock

def grads():
    return [leaf.grad for leaf in leaves]

def nobody_holds_the_lock():
    asking = threading.Thread(target=lock.acquire, daemon=True)
    asking.start()
    asking.join(5)
    return not asking.is_alive()

signal.signal(signal.SIGALRM, signal.default_int_handler)
leaves = [Value(1.0 + i) for i in range(20)]
y = sum(leaf.tanh() * leaves[0] for leaf in leaves)
if HOOKED:
    y.register_hook(lambda g: None)
y.backward()
nothing, everything = [0] * len(leaves), grads()
microseconds = interrupted = whole = 0
while whole < 100:  # by now the pass is over before the signal comes
    for leaf in leaves:
        leaf.grad = 0
    microseconds += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, microseconds * 1e-6)
        y.backward()
        signal.setitimer(signal.ITIMER_REAL, 0)
        whole += 1
    except KeyboardInterrupt:
        interrupted += 1
    assert grads() in (nothing, everything), (microseconds, grads())
assert nobody_holds_the_lock()
print(interrupted)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no setitimer")
@pytest.mark.parametrize("hooked", [False, True])
def test_real_signal_at_any_time_leaves_all_of_the_pass_or_nothing(hooked: bool):
    command = [sys.executable, "-c", BY_A_TIMER.replace("HOOKED", str(hooked))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_locks_and_modes_hold_nothing_that_python_3_13_leaves_uncovered():
    """A Ctrl-C that comes as a comprehension's `if` skips an element leaves CPython 3.13's `with` without its exit."""
    found = [
        f"{path.relative_to(PACKAGE)}:{part.lineno}"
        for path in PACKAGE.rglob("*.py")
        for block in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(block, ast.With) and "errstate" not in ast.unparse(block.items[0])
        for part in ast.walk(block)
        if isinstance(part, (ast.ListComp, ast.SetComp, ast.DictComp)) and any(of.ifs for of in part.generators)
    ]
    assert found == []
