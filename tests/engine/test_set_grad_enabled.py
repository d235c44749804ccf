"""set_grad_enabled: at once, in a with, or around a function; and nowhere else."""

from __future__ import annotations

import asyncio
import threading

import pytest
from engine_helpers import recorded

from micrograd import enable_grad, no_grad, set_grad_enabled
from micrograd.engine.modes import modes_on


@pytest.fixture
def restored():
    """Recording is on again after the test, and no mode is left."""
    before = len(modes_on)
    yield
    set_grad_enabled(True)
    assert len(modes_on) == before


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


def test_a_call_of_set_grad_enabled_ends_with_the_block_around_it():
    with no_grad():
        set_grad_enabled(True)
        inside = recorded()
    with enable_grad():
        set_grad_enabled(False)
    assert (inside, recorded()) == (True, True)


def test_a_set_grad_enabled_that_is_entered_late_ends_no_block_around_it(restored: None):
    mode = set_grad_enabled(False)
    with enable_grad():
        with mode:
            assert not recorded()
        assert recorded()
    assert not recorded()


def test_a_thousand_calls_of_set_grad_enabled_pile_nothing_up(restored: None):
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
