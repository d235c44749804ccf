"""no_grad, enable_grad, set_grad_enabled and detect_anomaly: on where they should be, and nowhere else."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable

import pytest
from engine_helpers import Boom, at_once, over_kinds, recorded
from interrupts import ctrl_c as ctrl_c
from interrupts import interrupted_everywhere

from micrograd import Value, detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from micrograd.engine.modes import how, modes_on

# ---------------------------------------------------------------------------------------------------------------------
# no_grad and enable_grad


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


@pytest.mark.parametrize("off", [no_grad, lambda: set_grad_enabled(False)], ids=["no_grad", "set_grad_enabled"])
@pytest.mark.parametrize("on", [enable_grad, lambda: set_grad_enabled(True)], ids=["enable_grad", "set_grad_enabled"])
def test_modes_nest_and_may_be_entered_again(off: Callable, on: Callable):
    mode, found = off(), []
    with mode:
        found.append(recorded())
        with on():
            found.append(recorded())
            with mode:
                found.append(recorded())
            found.append(recorded())
        found.append(recorded())
    found.append(recorded())
    assert found == [False, True, False, True, False, True]


@pytest.mark.parametrize("mode", [no_grad, enable_grad, detect_anomaly])
def test_block_that_a_ctrl_c_kept_from_beginning_leaves_no_mode_on(mode: Callable):
    def entering():
        made, found = mode(), []

        def run():
            try:
                made.__enter__()
            finally:
                found.append(how.get() is None)

        return run, found

    for hit, found in interrupted_everywhere(entering, lines=2):
        assert found == [hit]


def test_mode_that_has_ended_costs_nothing_more():
    before = len(modes_on)
    for mode in (no_grad(), enable_grad(), detect_anomaly()):
        with mode, mode:
            assert len(modes_on) == before + 2
    assert len(modes_on) == before


def test_task_that_was_started_inside_no_grad_keeps_it_when_the_block_has_ended():
    async def child():
        await asyncio.sleep(0)
        return recorded(), is_grad_enabled()

    async def main():
        with no_grad():
            task, context = asyncio.create_task(child()), contextvars.copy_context()
        return recorded(), context.run(recorded), await task

    assert asyncio.run(main()) == (True, False, (False, False))


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


def generator():
    yield


async def coroutine():
    pass


async def both():
    yield


@pytest.mark.parametrize("suspended", [generator, coroutine, both])
@pytest.mark.parametrize("decorate", [no_grad, no_grad(), lambda f: set_grad_enabled(False)(f)])
def test_function_that_a_call_does_not_run_is_not_decorated_and_the_error_says_what_to_write(decorate, suspended):
    with pytest.raises(TypeError, match=rf"`async def`, such as {suspended.__name__}: write `with .*inside it"):
        decorate(suspended)
    assert recorded()


# ---------------------------------------------------------------------------------------------------------------------
# set_grad_enabled: at once, too


def test_set_grad_enabled_acts_at_once_until_the_next_call_or_the_end_of_the_block_around_it(restored: None):
    found = []
    set_grad_enabled(False)
    found.append(recorded())
    with set_grad_enabled(True):
        found.append(recorded())
    found.append(recorded())
    with enable_grad():
        found.append(recorded())
        set_grad_enabled(False)
        found.append(recorded())
    with pytest.raises(RuntimeError, match="without having been entered"):
        no_grad().__exit__()
    found.append(recorded())
    set_grad_enabled(True)
    with enable_grad():
        set_grad_enabled(False)
    assert [*found, recorded()] == [False, True, False, True, False, False, True]


def test_set_grad_enabled_that_is_entered_late_ends_no_block_around_it(restored: None):
    mode = set_grad_enabled(False)
    with enable_grad():
        with mode:
            assert not recorded()
        assert recorded()
    assert not recorded()


def test_set_grad_enabled_acts_in_its_own_thread_alone(restored: None):
    mode = set_grad_enabled(False)

    def other() -> tuple[bool, bool]:
        with mode:
            inside = recorded()
        return inside, recorded()

    assert at_once(recorded, other) == [True, (False, True)]
    assert not recorded()


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


def test_detect_anomaly_says_when_the_forward_pass_ran_outside_of_it():
    y = Value(0.0).log() * 0
    with detect_anomaly(), pytest.raises(RuntimeError, match="outside of detect_anomaly"):
        y.backward()
