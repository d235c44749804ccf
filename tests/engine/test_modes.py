"""no_grad, enable_grad, set_grad_enabled and detect_anomaly: on where they should be, and nowhere else."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import math
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

import pytest
from engine_helpers import Boom, over_kinds, recorded

from micrograd import Value, detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from micrograd.engine.modes import modes_on

# ---------------------------------------------------------------------------------------------------------------------
# no_grad and enable_grad

OFF: dict[str, Callable] = {"no_grad": no_grad, "set_grad_enabled": lambda: set_grad_enabled(False)}
either_off = pytest.mark.parametrize("off", OFF.values(), ids=OFF)


@pytest.fixture
def restored():
    """Recording is on again after the test, and no mode is left."""
    before = len(modes_on)
    yield
    set_grad_enabled(True)
    assert len(modes_on) == before


@over_kinds
def test_no_grad_records_no_op_and_leaves_leaves_what_they_are(kind: Callable):
    with no_grad():
        x = kind(3.0)
        results = [x * 2, 2 * x, x + x, x**2, x.exp(), -x, x.maximum(1), x**x]
    assert [y for y in results if y.requires_grad or y._prev] == []
    assert x.requires_grad


def test_no_grad_ends_with_an_exception():
    with pytest.raises(Boom), no_grad():
        raise Boom
    assert recorded()


@either_off
@pytest.mark.parametrize("on", [enable_grad, lambda: set_grad_enabled(True)], ids=["enable_grad", "set_grad_enabled"])
def test_modes_nest(off: Callable, on: Callable):
    found = []
    with off():
        found.append(recorded())
        with on():
            found.append(recorded())
            with off():
                found.append(recorded())
            found.append(recorded())
        found.append(recorded())
    found.append(recorded())
    assert found == [False, True, False, True, False, True]


@either_off
def test_mode_may_be_entered_again_inside_itself(off: Callable):
    mode = off()
    with mode:
        with mode:
            assert not recorded()
        assert not recorded()
    assert recorded()


def test_mode_that_has_ended_costs_nothing_more():
    before = len(modes_on)
    for mode in (no_grad(), enable_grad(), detect_anomaly()):
        with mode, mode:
            assert len(modes_on) == before + 2
    assert len(modes_on) == before


def test_copied_context_keeps_its_mode():
    with no_grad():
        context = contextvars.copy_context()
    assert (context.run(recorded), recorded()) == (False, True)


def test_task_that_was_started_inside_no_grad_keeps_it_when_the_block_has_ended():
    async def child():
        await asyncio.sleep(0)
        return recorded(), is_grad_enabled()

    async def main():
        with no_grad():
            task = asyncio.create_task(child())
        return recorded(), await task

    assert asyncio.run(main()) == (True, (False, False))


# ---------------------------------------------------------------------------------------------------------------------
# Around functions


@pytest.mark.parametrize(
    "decorate", [no_grad, no_grad(), lambda f: set_grad_enabled(False)(f)], ids=["bare", "called", "set"]
)
def test_mode_decorates_a_function_and_keeps_its_name_and_result(decorate: Callable):
    @decorate
    def f(a, *, b):
        """Doc."""
        return a + b, recorded()

    assert f(1, b=2) == (3, False)
    assert (f.__name__, f.__doc__, recorded()) == ("f", "Doc.", True)


def test_mode_decorates_a_method():
    class Model:
        @no_grad()
        def predict(self):
            return self, recorded()

    model = Model()
    assert model.predict() == (model, False)


@no_grad()
def generator(log: list):
    """Notes what it is sent or thrown, and whether ops are recorded at the time."""
    try:
        while True:
            try:
                got = yield recorded()
                log.append(("sent", got, recorded()))
                if got == "stop":
                    return "done"
            except KeyError as error:
                log.append(("caught", str(error), recorded()))
    finally:
        log.append(("closed", recorded()))


def test_decorated_generator_runs_inside_the_mode_and_what_is_between_its_items_outside():
    log: list = []
    g = generator(log)
    for step in (next, next, lambda g: g.send(7), lambda g: g.throw(KeyError("k"))):
        assert (step(g), recorded()) == (False, True)
    with pytest.raises(StopIteration) as stop:
        g.send("stop")
    assert stop.value.value == "done"
    assert log == [*[("sent", x, False) for x in (None, 7)], ("caught", "'k'", False), ("sent", "stop", False),
                   ("closed", False)]  # fmt: skip


def test_decorated_generator_that_is_closed_or_fails_ends_inside_the_mode():
    log: list = []
    closed, failing = generator(log), generator(log)
    next(closed), next(failing)
    closed.close()
    with pytest.raises(OSError, match="disk"):
        failing.throw(OSError("disk"))
    assert (log, recorded()) == ([("closed", False)] * 2, True)


def test_decorated_generator_does_not_hold_on_to_what_was_thrown_into_it():
    @no_grad()
    def patient():
        while True:
            with suppress(Boom):
                yield

    g, error = patient(), Boom()
    next(g)
    thrown = weakref.ref(error)
    gc.disable()
    try:
        g.throw(error)
        del error
        assert thrown() is None
    finally:
        gc.enable()


def test_decorated_generator_may_enable_what_is_off_outside():
    @enable_grad()
    def items():
        yield recorded()
        yield recorded()

    with no_grad():
        assert (list(items()), recorded()) == ([True, True], False)


def test_decorated_coroutine_is_off_while_others_run():
    found = []

    async def turns(name: str):
        for _ in range(3):
            found.append((name, recorded()))
            await asyncio.sleep(0)
        return name

    async def main():
        @no_grad()
        async def quiet():
            return await turns("quiet")

        return await asyncio.gather(quiet(), turns("loud"))

    assert asyncio.run(main()) == ["quiet", "loud"]
    assert found == [("quiet", False), ("loud", True)] * 3


def test_decorated_async_generator_is_refused_with_a_hint():
    async def items():
        yield 1

    with pytest.raises(TypeError, match=r"with no_grad\(\)"):
        no_grad(items)


# ---------------------------------------------------------------------------------------------------------------------
# set_grad_enabled: at once, too


def test_set_grad_enabled_acts_at_once_until_the_next_call(restored: None):
    set_grad_enabled(False)
    off = recorded()
    set_grad_enabled(True)
    assert (off, recorded()) == (False, True)


def test_set_grad_enabled_restores_off_where_a_call_had_turned_it_off(restored: None):
    set_grad_enabled(False)
    with set_grad_enabled(True):
        inside = recorded()
    assert (inside, recorded()) == (True, False)


def test_set_grad_enabled_ends_with_the_block_around_it():
    with no_grad():
        set_grad_enabled(True)
        inside = recorded()
    with enable_grad():
        set_grad_enabled(False)
    assert (inside, recorded()) == (True, True)


def test_set_grad_enabled_that_is_entered_late_ends_no_block_around_it(restored: None):
    mode = set_grad_enabled(False)
    with enable_grad():
        with mode:
            assert not recorded()
        assert recorded()
    assert not recorded()


def test_set_grad_enabled_a_thousand_times_piles_nothing_up(restored: None):
    before = len(modes_on)
    with no_grad():
        for i in range(1000):
            set_grad_enabled(i % 2 == 0)
        assert len(modes_on) == before + 1


def test_set_grad_enabled_ends_nothing_that_was_not_entered(restored: None):
    set_grad_enabled(False)
    with pytest.raises(RuntimeError, match="without having been entered"):
        no_grad().__exit__()


def test_set_grad_enabled_acts_in_its_own_thread_alone(restored: None):
    found = {}
    mode = set_grad_enabled(False)

    def run():
        found["at first"] = recorded()
        with mode:
            found["inside"] = recorded()
        found["after"] = recorded()
        set_grad_enabled(False)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == {"at first": True, "inside": False, "after": True}
    assert not recorded()
    set_grad_enabled(True)
    assert recorded()


def test_set_grad_enabled_acts_in_its_own_task_alone():
    async def task(wanted: bool) -> bool:
        set_grad_enabled(wanted)
        await asyncio.sleep(0)
        return recorded() is wanted

    async def main():
        return [*await asyncio.gather(task(False), task(True), task(False)), recorded()]

    assert asyncio.run(main()) == [True, True, True, True]


@pytest.mark.parametrize("wrong", [0, None, "off", recorded])
def test_set_grad_enabled_takes_a_bool(wrong: object):
    with pytest.raises(TypeError, match="True or False"):
        set_grad_enabled(wrong)  # type: ignore[arg-type]
    assert recorded()


# ---------------------------------------------------------------------------------------------------------------------
# detect_anomaly


@pytest.mark.parametrize("create_graph", [False, True])
def test_detect_anomaly_names_the_op_and_the_line(create_graph: bool):
    x = Value(0.0)
    with detect_anomaly():
        y = x * x.log()  # the line to be named
        with pytest.raises(RuntimeError, match=r"'log'.*test_modes\.py.*the line to be named"):
            y.backward(create_graph=create_graph)
    assert x.grad == 0


def test_detect_anomaly_lets_a_sound_pass_through():
    x = Value(3.0)
    with detect_anomaly():
        (x * x + x.exp()).backward()
    assert x.grad == 6.0 + math.exp(3.0)


def test_detect_anomaly_says_when_the_forward_pass_ran_outside_of_it():
    y = Value(0.0).log() * 0
    with detect_anomaly(), pytest.raises(RuntimeError, match="outside of detect_anomaly"):
        y.backward()
