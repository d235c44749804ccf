"""The measured process: one work, one engine, one collector. The first line that comes in is the data, as JSON.

Whenever a line comes, it measures once, and figures go out as a line of JSON.

`python -m benchmarks.measure moons classic off benchmarks/peers/classic < data.json`
"""

import gc
import importlib
import json
import sys
from pathlib import Path

from benchmarks.works import WORKS


def use_engine_in(folder: Path, name: str) -> None:
    """Import the engine from this folder; two engines bear the name of micrograd, so look which one came."""
    sys.path.insert(0, str(folder))
    if name not in ("micrograd", "classic"):
        return
    engine = importlib.import_module("micrograd.engine")
    if not Path(engine.__file__ or "").resolve().is_relative_to(folder.resolve()):
        raise ImportError(f"micrograd was to come from {folder}, and came from {engine.__file__}")


def main(work: str, engine: str, collector: str, folder: str) -> None:
    """Measure, print the figures, and wait to be asked again."""
    data = json.loads(sys.stdin.readline())
    if folder:
        use_engine_in(Path(folder), engine)
    gc.collect()
    if collector == "off":
        gc.disable()
    for figures in WORKS[work].measure(engine, data):
        print(json.dumps(figures), flush=True)
        if not sys.stdin.readline():
            break


if __name__ == "__main__":
    main(*sys.argv[1:])
