"""no_grad, enable_grad and detect_anomaly: on where they should be, and nowhere else."""

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
from engine_helpers import Boom, recorded

from micrograd import Value, detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from micrograd.engine.modes import modes_on

# ---------------------------------------------------------------------------------------------------------------------
# no_grad and enable_grad


def test_nothing_is_recorded_inside_no_grad():
    x = Value(3.0)
    with no_grad():
        results = [x * 2, 2 * x, x + x, x**2, x.exp(), -x, x.maximum(1), x**x]
    assert [y for y in results if y.requires_grad or y._prev] == []


def test_leaves_made_inside_no_grad_are_parameters_all_the_same():
    with no_grad():
        x = Value(3.0)
    assert x.requires_grad


def test_recording_goes_on_after_an_exception_inside_no_grad():
    with pytest.raises(Boom), no_grad():
        raise Boom
    assert recorded()


@pytest.mark.parametrize(
    ("off", "on"), [(no_grad, enable_grad), (lambda: set_grad_enabled(False), lambda: set_grad_enabled(True))]
)
def test_modes_nest(off, on):
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


@pytest.mark.parametrize("make", [no_grad, lambda: set_grad_enabled(False)])
def test_the_same_mode_object_may_be_entered_again_inside_itself(make):
    mode = make()
    with mode:
        with mode:
            assert not recorded()
        assert not recorded()
    assert recorded()


def test_a_mode_that_has_ended_costs_nothing_more():
    before = len(modes_on)
    for mode in (no_grad(), enable_grad(), detect_anomaly()):
        with mode, mode:
            assert len(modes_on) == before + 2
    assert len(modes_on) == before


@pytest.mark.parametrize(
    "decorate", [no_grad, no_grad(), lambda f: set_grad_enabled(False)(f)], ids=["bare", "called", "set"]
)
def test_a_mode_decorates_a_function_and_keeps_its_name_and_result(decorate):
    @decorate
    def f(a, *, b):
        """Doc."""
        return a + b, recorded()

    assert f(1, b=2) == (3, False)
    assert (f.__name__, f.__doc__, recorded()) == ("f", "Doc.", True)


def test_a_decorated_method_is_a_method():
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


def test_inside_a_decorated_generator_the_mode_is_on_and_between_its_items_it_is_off():
    g = generator([])
    assert (next(g), recorded(), next(g), recorded()) == (False, True, False, True)


ACTIONS: dict[str, tuple[Callable, tuple]] = {  # what is done to a generator, and what it notes
    "send": (lambda g: g.send(7), ("sent", 7, False)),
    "throw": (lambda g: g.throw(KeyError("k")), ("caught", "'k'", False)),
    "close": (lambda g: g.close(), ("closed", False)),
}


@pytest.mark.parametrize(("act", "noted"), ACTIONS.values(), ids=ACTIONS)
def test_decorated_generator_is_sent_thrown_and_closed_inside_the_mode(act: Callable, noted: tuple):
    log: list = []
    g = generator(log)
    next(g)
    assert not act(g)
    assert log == [noted]
    assert recorded()


def test_what_a_decorated_generator_does_not_catch_comes_out():
    g = generator([])
    next(g)
    with pytest.raises(OSError, match="disk"):
        g.throw(OSError("disk"))
    assert recorded()


def test_the_return_value_of_a_decorated_generator_comes_out():
    log: list = []

    def outer():
        return (yield from generator(log))

    g = outer()
    next(g)
    with pytest.raises(StopIteration) as stop:
        g.send("stop")
    assert stop.value.value == "done"


def test_a_decorated_generator_does_not_hold_on_to_what_was_thrown_into_it():
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


def test_a_generator_that_is_decorated_may_enable_what_is_off_outside():
    @enable_grad()
    def items():
        yield recorded()
        yield recorded()

    with no_grad():
        assert (list(items()), recorded()) == ([True, True], False)


def test_a_decorated_coroutine_is_off_while_others_run():
    found = []

    @no_grad()
    async def quiet(turn):
        for _ in range(3):
            found.append(("quiet", recorded()))
            await turn()
        return "done"

    async def loud(turn):
        for _ in range(3):
            found.append(("loud", recorded()))
            await turn()

    async def main():
        return await asyncio.gather(quiet(lambda: asyncio.sleep(0)), loud(lambda: asyncio.sleep(0)))

    assert asyncio.run(main()) == ["done", None]
    assert found == [("quiet", False), ("loud", True)] * 3


def test_tasks_that_interleave_keep_their_modes_apart():
    async def task(mode, wanted: bool) -> bool:
        right = True
        for _ in range(5):
            with mode:
                await asyncio.sleep(0)
                right = right and recorded() is wanted
            await asyncio.sleep(0)
            right = right and recorded()
        return right

    async def main():
        return await asyncio.gather(task(no_grad(), False), task(enable_grad(), True), task(no_grad(), False))

    assert asyncio.run(main()) == [True, True, True]


def test_a_task_that_was_started_inside_no_grad_keeps_it_when_the_block_has_ended():
    async def child():
        await asyncio.sleep(0)
        return recorded(), is_grad_enabled()

    async def main():
        with no_grad():
            task = asyncio.create_task(child())
        return recorded(), await task

    assert asyncio.run(main()) == (True, (False, False))


def test_a_copied_context_keeps_its_mode():
    with no_grad():
        context = contextvars.copy_context()
    assert (context.run(recorded), recorded()) == (False, True)


def test_a_thread_does_not_see_the_modes_of_another():
    inside, asked = threading.Event(), threading.Event()
    found = {}

    def quiet():
        with no_grad():
            inside.set()
            asked.wait(10)
            found["quiet"] = recorded()

    def loud():
        inside.wait(10)
        found["loud"] = recorded()
        asked.set()

    threads = [threading.Thread(target=run) for run in (quiet, loud)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"quiet": False, "loud": True}


def test_an_async_generator_is_refused_with_a_hint():
    async def items():
        yield 1

    with pytest.raises(TypeError, match=r"with no_grad\(\)"):
        no_grad(items)


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
