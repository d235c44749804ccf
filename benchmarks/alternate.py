"""The runner: every engine in a separate process, the processes taking turns.

In one process, the live objects of one engine slow the garbage collector for the other. And a machine drifts: it warms
up, others use it, by the second. So all processes stay alive, and each measures for some hundredths of a second while
the others wait: A B A B ... A figure has then a figure of the other beside it, taken in the same moment.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from benchmarks.work import Turn, Work

ROOT = Path(__file__).parent.parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run(work: Work, engines: dict[str, Path | None], rounds: int) -> list[list[str]]:
    """The lines of a work; `engines` gives the folder of each one that is installed."""
    data = json.dumps(work.data())
    measured: dict[str, dict[str, list[Turn]]] = {}
    for collector in dict.fromkeys(line.collector for line in work.lines):
        taken: dict[str, list[Turn]] = {name: [] for name in work.engines if name in engines}
        for _ in range(rounds):
            with ExitStack() as stack:
                turns = {
                    name: stack.enter_context(process(work, name, collector, engines[name], data)) for name in taken
                }
                for _ in range(work.turns):
                    for name in taken:
                        taken[name].append(next(turns[name]))
        measured[collector] = taken
    return [line.cells(measured[line.collector]) for line in work.lines if line.can_be_had(engines)]


@contextmanager
def process(work: Work, engine: str, collector: str, folder: Path | None, data: str) -> Iterator[Iterator[Turn]]:
    """A Python that measures once each time that it is asked; it sets up when it is asked first."""
    command = [sys.executable, "-m", "benchmarks.measure", work.name, engine, collector, str(folder or "")]
    environment: dict[str, Any] = {**os.environ, **ONE_THREAD}
    with TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env=environment
        )

        def figures() -> Iterator[Turn]:
            line = data
            while found := ask(child, line):
                yield json.loads(found)
                line = ""
            errors.seek(0)
            raise RuntimeError(f"{work.name} with {engine}, collector {collector}, failed:\n{errors.read()}")

        try:
            yield figures()
        finally:
            child.kill()
            child.communicate()


def ask(child: Any, line: str) -> str:
    """Send a line, and wait for one; nothing comes of a process that has ended."""
    with suppress(BrokenPipeError):
        print(line, file=child.stdin, flush=True)
    return child.stdout.readline()
