"""`python -m benchmarks.run` measures every work and writes the table into benchmarks/README.md.

With names of works (`python -m benchmarks.run moons`), only those, and nothing is written.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter

from benchmarks import alternate
from benchmarks.conditions import conditions
from benchmarks.engines import installed
from benchmarks.table import HEAD, markdown, write_between
from benchmarks.works import WORKS

README = Path(__file__).parent / "README.md"


def main() -> None:
    """Read the command line, measure, print; write only what is complete."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"of {', '.join(WORKS)}; all when none is named")
    parser.add_argument("--rounds", type=int, help="processes for each engine, instead of the work's own number")
    args = parser.parse_args()
    if unknown := set(args.works) - WORKS.keys():
        parser.error(f"no work is called {', '.join(sorted(unknown))}; there are {', '.join(WORKS)}")
    text = measure(args.works or list(WORKS), args.rounds)
    print(text)
    if not args.works and args.rounds is None:
        write_between(README, text)


def measure(names: list[str], rounds: int | None) -> str:
    """Conditions and table, as Markdown."""
    engines = installed()
    head = conditions(engines)
    rows = []
    for name in names:
        work, begin = WORKS[name], perf_counter()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        rows += alternate.run(work, engines, rounds or work.rounds)
        print(f"{perf_counter() - begin:.0f} s", file=sys.stderr)
    return f"{head}\n{markdown(HEAD, rows)}"


if __name__ == "__main__":
    main()
