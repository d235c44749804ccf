"""The runner: every engine in a process of its own, the processes taking turns.

In one process, the live objects of one engine slow the garbage collector for the other. And a machine drifts: it warms
up, others use it. Taking turns (A B A B ..., not A A ... B B ...) lets the drift fall on all alike.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.work import Figures, Measured, Work

ROOT = Path(__file__).parent.parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run(work: Work, engines: dict[str, Path | None], rounds: int) -> Measured:
    """All figures of a work; `engines` gives the folder of each one that is installed."""
    data = json.dumps(work.data())
    measured: Measured = {}
    for collector in work.collectors:
        figures: dict[str, list[Figures]] = {name: [] for name in work.engines if name in engines}
        for _ in range(rounds):
            for name, taken in figures.items():
                taken.append(in_own_process(work, name, collector, engines[name], data))
        measured[collector] = figures
    return measured


def in_own_process(work: Work, engine: str, collector: str, folder: Path | None, data: str) -> Figures:
    """Start a Python, let it measure, and read what it found."""
    command = [sys.executable, "-m", "benchmarks.measure", work.name, engine, collector, str(folder or "")]
    environment: dict[str, Any] = {**os.environ, **ONE_THREAD}
    done = subprocess.run(command, input=data, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode:
        raise RuntimeError(f"{work.name} with {engine}, collector {collector}, failed:\n{done.stderr}")
    return json.loads(done.stdout)
