"""What holds for every test."""

import gc
import importlib.util
import os
import random
from collections.abc import Generator

import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")  # before anything imports matplotlib: no test opens a window
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch: the cores are the workers' own already

# No test is timed, and CI draws the same examples each time; elsewhere hypothesis keeps looking for new ones.
IN_CI = os.environ.get("CI") == "true"
settings.register_profile("micrograd", deadline=None, derandomize=IN_CI)
settings.load_profile("micrograd")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run in CI without torch: the tests against PyTorch would all skip, and nobody would see it."""
    if IN_CI and importlib.util.find_spec("torch") is None:
        raise pytest.UsageError("CI=true, and torch is not installed: .ci/run installs it")


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
