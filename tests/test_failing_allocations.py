"""An allocation that fails, whichever it is, tears nothing and leaves no lock taken."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import failing_allocations
import pytest

TRIALS = os.environ.get("FAILING_ALLOCATIONS", "6")  # so many of each; `make hunt` tries more
SEED = os.environ.get("HUNT_SEED", "0")
pytestmark = pytest.mark.skipif(
    not (hasattr(os, "fork") and find_spec("_testcapi")),
    reason="needs fork(), and CPython's module _testcapi, which lets an allocation fail",
)


@pytest.mark.parametrize("trial", failing_allocations.TRIALS)
def test_allocation_that_fails_leaves_all_or_nothing_done_and_no_lock_taken(trial: str):
    command = [sys.executable, "-W", "ignore", failing_allocations.__file__, trial, TRIALS, SEED]
    done = subprocess.run(
        command,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
    assert "BAD" not in done.stdout
