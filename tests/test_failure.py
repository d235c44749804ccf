"""A pass that fails, by whatever error or by Ctrl-C, leaves every `.grad` as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from engine_helpers import Boom, raising, square

from micrograd import Value, grad, ops


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
def test_a_pass_that_fails_leaves_every_grad_as_it_was(bad, error: type[BaseException]):
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


def test_a_hook_that_raises_once_may_be_retried():
    x = Value(3.0)
    y = x * x
    failures = [Boom()]

    def hook(g: float) -> None:
        if failures:
            raise failures.pop()

    x.register_hook(hook)
    with pytest.raises(Boom):
        y.backward()
    y.backward()
    assert (x.grad, y.grad) == (6.0, 1.0)


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
def test_an_interrupt_in_the_middle_of_the_commit_undoes_it(which: int):
    leaves = [Guarded(float(i + 1)) for i in range(4)]
    a, b, c, d = leaves
    y = a * b * c * d
    leaves[which]._fails = True
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    assert [leaf.grad for leaf in leaves] == [0, 0, 0, 0]
    y.backward()
    assert [leaf.grad for leaf in leaves] == [24.0, 12.0, 8.0, 6.0]


BEFORE_COMMIT = {"_gradients", "topological", "edges", "propagate", "_propagate_numbers", "contributions", "run_hooks"}


def interrupted_at(step: int, run: Callable[[], None]) -> bool:
    """Run with a KeyboardInterrupt before the given line (counted from 0) of the engine; was there such a line?"""
    left = [step]

    def trace(frame, event, _):
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("micrograd"):
            return None
        if event == "line" and frame.f_code.co_name in BEFORE_COMMIT:
            if left[0] == 0:
                left[0] -= 1
                raise KeyboardInterrupt
            left[0] -= 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("op", [lambda y: y, square, lambda y: y * Value(1.0)], ids=["numbers", "closure", "more"])
def test_an_interrupt_at_any_line_of_the_pass_leaves_no_trace(op):
    step = 0
    while True:
        x, w = Value(3.0), Value(2.0)
        y = x * w
        z = op(y) + y.tanh()
        x.grad, w.grad, y.grad = 1.0, 2.0, 3.0
        if not interrupted_at(step, z.backward):
            break
        assert (x.grad, w.grad, y.grad, z.grad) == (1.0, 2.0, 3.0, 0)
        step += 1
    assert step > 20  # and the last pass, which nothing interrupted, is right
    assert (x.grad, w.grad) == (pytest.approx(1.0 + grad(z, x)[0]), pytest.approx(2.0 + grad(z, w)[0]))
