"""What holds for every test."""

import gc
import importlib.util
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")  # before anything imports matplotlib: no test opens a window
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch: the cores are the workers' own already
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # a test compiles a program to run it once

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # many tests compile one step, in workers that inherit this
    COMPILED = tempfile.TemporaryDirectory()
    os.environ |= {"JAX_COMPILATION_CACHE_DIR": COMPILED.name, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}

LIBRARIES = tempfile.TemporaryDirectory()  # of programs in C, which tests run once
os.environ.setdefault("MICROGRAD_CFLAGS", "-O1")
os.environ["XDG_CACHE_HOME"] = os.environ.get("MICROGRAD_TEST_CACHE", LIBRARIES.name)

# No test is timed, and CI draws the same examples each time; elsewhere hypothesis keeps looking for new ones.
settings.register_profile("micrograd", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("micrograd")

# What is not installed here is skipped, and counted in the last line, by what it was that lacked. Where everything is
# installed, nothing may be: a skip fails.
EVERYTHING = os.environ.get("MICROGRAD_HAS") == "everything"
LACKS = re.compile(r"No module named '(\w+)")
OURS = {path.stem for path in Path(__file__).parent.rglob("*.py")}  # a test may import none of another folder
OF_FOLDERS = {"browser": "pages", "site": "pages", "backends": "back_ends"}  # marks of all tests there
IN_A_BROWSER = sys.platform == "emscripten"
NOT_IN_A_BROWSER = {  # what is said there, and what is lacking
    "can't start new thread": "no threads",
    "does not support processes": "no processes",
    "stack switching not supported": "no asyncio.run",
    "No module named 'numpy'": "no numpy",
}


def _compiler() -> list[str]:
    from micrograd.backends.libraries import find_compiler

    return find_compiler()


# The marks of tests that run programs of a back end, and what they need
NEEDS: dict[str, tuple[Callable[[], object], str]] = {
    "in_c": (cache(_compiler), "no C compiler: apt install gcc"),
    "in_node": (lambda: shutil.which("node"), "no Node: apt install nodejs"),
    "in_jax": (lambda: importlib.util.find_spec("jax"), "JAX is not installed: pip install -e '.[jax]'"),
}


class Lacking(pytest.Item):
    """It stands for the tests of a file that imports a package which is not installed."""

    def runtest(self) -> None:
        pytest.skip(self.name)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, object]:
    """A file that needs what is not installed is skipped: a skip, and no error."""
    report = yield
    lacks = LACKS.search(str(report.longrepr)) if report.failed else None
    if report.skipped or (lacks and importlib.util.find_spec(lacks[1]) is None and lacks[1] not in OURS):
        once = type(collector) is pytest.Module  # its doctests are collected too
        report.result = [Lacking.from_parent(collector, name=_reason(report))] if once else []
        report.outcome, report.longrepr = "passed", None
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is left to `make test-all` by its folder. And the examples of plots are tests too."""
    for item in items:
        if mark := OF_FOLDERS.get(item.path.parent.name):
            item.add_marker(mark)
    if importlib.util.find_spec("matplotlib") is None:
        for item in items:
            if item.path.name == "plots.py":
                item.add_marker(pytest.mark.skip("no matplotlib"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What runs in a back end needs the folder of back ends, and a program or a package."""
    for mark in NEEDS.keys() & {mark.name for mark in item.iter_markers()}:
        found, reason = NEEDS[mark]
        if importlib.util.find_spec("micrograd.backends") is None:
            pytest.skip("the folder micrograd/backends was taken away")
        if not found():
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, object]:
    """Where everything is installed, a skip fails; a browser has no threads, and what needs them is skipped."""
    report = yield
    for said, lacks in NOT_IN_A_BROWSER.items() if IN_A_BROWSER and report.failed else ():
        if said in str(report.longrepr):
            report.outcome, report.longrepr = "skipped", lacks
    if EVERYTHING and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped, where everything should be: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_teststatus(report: pytest.TestReport) -> Generator[None, Any, Any]:
    """Skips are counted by their reason, each of which becomes a part of pytest's last line."""
    category, letter, word = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        category = f"skipped ({_reason(report)})"
    return (category, letter, word)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    lacks = LACKS.search(reason)
    return f"no {lacks[1]}" if lacks else reason.removeprefix("Skipped: ")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and thousands of tests are no garbage: neither look through them as they come, nor in any test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Value's nn draws its weights from `random`: a test that fails must fail again."""
    random.seed(1337)


@pytest.fixture(autouse=True)
def no_mode_is_left_on() -> Generator[None, None, None]:
    """A mode that outlived its test would change those that follow."""
    from micrograd.engine.modes import how

    yield
    left, _ = how.get(), how.set(None)
    assert left is None


@pytest.fixture
def impatient() -> Generator[None, None, None]:
    """Threads take turns after a microsecond, so that they meet in the middle of things."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def without_collector() -> Generator[None, None, None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(params=["numbers", "watched"])
def path(request: pytest.FixtureRequest) -> Generator[None, None, None]:
    """A pass of numbers alone, and one that is watched."""
    from engine_helpers import walking

    with walking(request.param):
        yield
