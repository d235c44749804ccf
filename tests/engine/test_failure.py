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

from micrograd import Value, grad
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


@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt])
@pytest.mark.parametrize("bad", [bad_row, bad_hook, bad_closure])
def test_pass_that_fails_leaves_every_grad_as_it_was_and_the_next_one_is_right(bad, error: type[BaseException]):
    x, w = Value(3.0), Value(2.0)
    y = x * w
    x.grad, w.grad, y.grad = 1.0, 2.0, 3.0
    z = bad(error())(y) * w + x
    with pytest.raises(error):
        z.backward()
    assert (x.grad, w.grad, y.grad, z.grad) == (1.0, 2.0, 3.0, 0)
    (y * w).backward()
    assert (x.grad, w.grad, y.grad) == (5.0, 14.0, 2.0)


class Guarded(Value):
    """A Value whose `.grad` refuses to be set once, as if Ctrl-C came then."""

    @property
    def grad(self):
        return Value.grad.__get__(self)

    @grad.setter
    def grad(self, g):
        if g and vars(self).pop("fails", False):
            raise KeyboardInterrupt
        Value.grad.__set__(self, g)


@pytest.mark.parametrize("which", range(4))
def test_interrupt_in_the_middle_of_the_commit_undoes_it(which: int):
    leaves = [Guarded(float(i + 1)) for i in range(4)]
    a, b, c, d = leaves
    y = a * b * c * d
    leaves[which].fails = True
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    assert [leaf.grad for leaf in leaves] == [0, 0, 0, 0]
    y.backward()
    assert [leaf.grad for leaf in leaves] == [24.0, 12.0, 8.0, 6.0]


class Bounded(Value):
    """A class that watches its gradients, and refuses those above 10."""

    @property
    def grad(self):
        return vars(self).get("found", 0)

    @grad.setter
    def grad(self, g):
        if abs(g) > 10:
            raise OverflowError
        vars(self)["found"] = g


def test_gradient_that_the_class_of_a_leaf_refuses_is_an_error():
    x = Bounded(3.0)
    x.grad = 8.0
    with pytest.raises(OverflowError):
        (x * x).backward()
    assert x.grad == 8.0


def dividing(y: Value) -> Value:
    return y / Value(0.0)


PASSES: dict[str, tuple[Callable[[Value], Value], Callable[[Value, Value], object]]] = {
    "numbers": (Value.tanh, lambda z, _: z.backward()),
    "ieee": (dividing, lambda z, _: z.backward()),
    "closure": (square, lambda z, _: z.backward()),
    "grad": (Value.tanh, grad),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("op", "ask"), PASSES.values(), ids=PASSES)
def test_interrupt_at_any_line_leaves_all_of_the_pass_or_nothing_and_a_retry_is_right(op, ask, path: str):
    def fresh() -> tuple[Callable, list[Value]]:
        x, w = Value(3.0), Value(2.0)
        y = x * w
        z = op(y) + y * x
        x.grad, w.grad, y.grad = 1.0, 2.0, 3.0
        return lambda: ask(z, x), [x, w, y, z]

    (_, untouched), (run, finished) = fresh(), fresh()
    run()
    nothing, everything = ([node.grad for node in nodes] for nodes in (untouched, finished))
    with walking(path):
        for _, (x, w, y, z) in interrupted_everywhere(fresh, 50):
            assert [node.grad for node in (x, w, y, z)] in (nothing, everything)
            x.grad, w.grad = 1.0, 2.0
            ask(z, x)
            assert [node.grad for node in (x, w, y, z)] == everything


def test_pass_that_finds_no_number_in_a_grad_adds_to_none():
    x, y = Value(2.0), Value(3.0)
    z = x * y
    x.grad, y.grad = 1.0, "no number"
    with pytest.raises(TypeError):
        z.backward()
    assert (x.grad, y.grad) == (1.0, "no number")


BY_A_TIMER = """
import signal
from interrupts import assert_nobody_holds_the_lock
from micrograd import Value

def grads():
    return [leaf.grad for leaf in leaves]

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
assert_nobody_holds_the_lock()
print(interrupted)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no setitimer")
@pytest.mark.parametrize("hooked", [False, True])
def test_real_signal_at_any_time_leaves_all_of_the_pass_or_nothing(hooked: bool):
    command = [sys.executable, "-c", BY_A_TIMER.replace("HOOKED", str(hooked))]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=120)
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
