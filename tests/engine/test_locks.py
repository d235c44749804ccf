"""A lock is held in one form, which no Ctrl-C can leave taken."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from engine_helpers import Boom
from interrupts import ctrl_c as ctrl_c

from micrograd import Value
from micrograd.engine import locks, walk
from micrograd.engine.locks import holding

PACKAGE = Path(locks.__file__).parents[1]
INTERRUPTS = os.environ.get("INTERRUPTS", "300")  # enough: a `with` loses one in four on CPython 3.14
over_locks = pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
with_a_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no setitimer")


def is_free(lock) -> bool:
    """May another thread have it?"""
    free: list[bool] = []
    thread = threading.Thread(target=lambda: free.append(lock.acquire(timeout=0.1)) or (free[0] and lock.release()))
    thread.start()
    thread.join()
    return free == [True]


@over_locks
def test_lock_is_held_while_the_function_runs_and_free_after_it(kind):
    lock = kind()
    assert holding(lock, lambda a, b: (a, b, is_free(lock)), 1, 2) == (1, 2, False)
    assert is_free(lock)


@over_locks
def test_lock_is_free_after_a_function_that_raises(kind):
    def fails() -> None:
        raise Boom

    lock = kind()
    with pytest.raises(Boom):
        holding(lock, fails)
    assert is_free(lock)


def test_thread_that_holds_the_lock_may_hold_it_once_more():
    lock = threading.RLock()
    assert holding(lock, holding, lock, lambda: is_free(lock)) is False
    assert is_free(lock)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no pthread_kill")
def test_ctrl_c_ends_a_pass_that_waits_for_its_turn():
    x, inside, done = Value(3.0), threading.Event(), threading.Event()
    y = Value(9.0, (x,), "waits")
    y._backward = lambda: (inside.set(), done.wait(30))
    other = threading.Thread(target=y.backward)
    other.start()
    timer = threading.Timer(0.1, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
    try:
        inside.wait(30)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            (x * 2).backward()
        assert x.grad == 0
    finally:
        done.set()
        other.join()
        timer.join()
    (x * 2).backward()
    assert x.grad == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# At any moment, by a timer's signal. The things that are run, each with the lock that it takes

THINGS = {
    "holding": "import threading; lock = threading.RLock(); run = lambda: holding(lock, int)",
    "a pass of Values": "x = Value(3.0); run = (x.tanh() * x).backward",
    "a pass of Tensors": "x = Tensor([1.0, 2.0], requires_grad=True); y = (x * x).sum(); "
    "run = lambda: y.backward(retain_graph=True)",
    "a compiled loss": "x = Value(3.0); f = compile(lambda: x * x); f(); run = lambda: f().backward()",
    "a compiled step": "xs = [Value(0.5 * i) for i in range(80)]; step = compile(lambda: sum(x * x for x in xs), "
    "update=Adam(xs, lr=0.01)); step(); run = step",
    "a parameter that a step took away": "xs = [Value(0.5 * i) for i in range(80)]; step = compile("
    "lambda: sum(x * x for x in xs), update=Adam(xs, lr=0.01)); step(); run = lambda: (step(), xs[0].data)",
    "lazy mode": "x = Value(3.0); f = lazy()(lambda: x * x); run = lambda: f().data",
    "data of a Tensor that a graph saved": "x = Tensor([1.0], requires_grad=True); run = lambda: (x * x, x.data)",
}
BY_A_TIMER = """
import signal, sys, threading, time
from micrograd import Tensor, Value, compile, lazy
from micrograd.engine import walk
from micrograd.engine.locks import holding
from micrograd.optim import Adam

lock = walk.lock
THING
signal.signal(signal.SIGALRM, signal.default_int_handler)
interrupts = left = 0
run()
began = time.perf_counter()
for _ in range(20):
    run()
takes = (time.perf_counter() - began) / 20
while interrupts < INTERRUPTS:
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-6 + takes * 2 * (interrupts * 0.6180339887 % 1))
        for _ in range(50):  # not for ever: a weak reference's callback may swallow the interrupt
            run()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
    while lock._is_owned():
        lock.release()
        left += 1
print(left)
"""


@with_a_timer
@pytest.mark.parametrize("thing", THINGS)
def test_no_ctrl_c_leaves_the_lock_taken(thing: str):
    program = BY_A_TIMER.replace("THING", THINGS[thing]).replace("INTERRUPTS", INTERRUPTS)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


# ---------------------------------------------------------------------------------------------------------------------
# In every place


def parts() -> list[tuple[str, ast.AST]]:
    """All that the package consists of, each with the file that it is in."""
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in files.items()}
    return [(name, part) for name, tree in trees.items() for part in ast.walk(tree)]


def name_of(part: ast.AST) -> str:
    """`self._lock` -> "_lock", `library.lock` -> "lock", `lock` -> "lock"."""
    return part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""


def bound_to_a_lock(part: ast.AST) -> list[str]:
    """The names that this assignment binds to a lock."""
    if not (isinstance(part, ast.Assign | ast.AnnAssign) and isinstance(part.value, ast.Call)):
        return []
    targets = part.targets if isinstance(part, ast.Assign) else [part.target]
    return [*map(name_of, targets)] if name_of(part.value.func) in ("Lock", "RLock") else []


def takes(part: ast.AST, names: set[str]) -> bool:
    """Does this take a lock of one of these names, or any by its methods?"""
    if isinstance(part, ast.With):
        return any(name_of(item.context_expr) in names for item in part.items)
    if isinstance(part, ast.Call) and name_of(part.func) == "enter_context":
        return any(name_of(x) in names for x in part.args)
    return isinstance(part, ast.Attribute) and part.attr == "acquire"


def test_every_lock_of_the_package_is_taken_in_this_form_alone():
    everything = parts()
    names = {name for _, part in everything for name in bound_to_a_lock(part)}
    calls = [part for _, part in everything if isinstance(part, ast.Call) and name_of(part.func) == "holding"]
    assert names <= {name_of(call.args[0]) for call in calls}
    assert {file for file, part in everything if takes(part, names)} == {"engine/locks.py"}


def test_walk_runs_with_the_lock_that_one_reads_there():
    y = Value(3.0) * 2
    found: list[bool] = []
    y.register_hook(lambda g: found.append(is_free(walk.lock)))
    y.backward()
    assert found == [False]
