"""Run the tests that draw what they try with one seed after the other, until something fails or the time is up.

python tools/hunt.py 3600           # for an hour
python tools/hunt.py 3600 17        # beginning with seed 17, the one that a failure named, say
"""

import argparse
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ["test_hunt.py", "test_failing_allocations.py"]
MORE = {"HUNT_EXAMPLES": "300", "FAILING_ALLOCATIONS": "100"}  # of each test, with one seed


def main(seconds: float = 600, first: int = 0) -> int:
    """The exit status of the first run that fails, else 0."""
    end = time.monotonic() + seconds
    environment = {**os.environ, **MORE, "CI": ""}  # in CI the examples are the same each time
    for seed in itertools.count(first):
        left = end - time.monotonic()
        if left <= 0:
            print(f"nothing found in {seconds:.0f} s, with the seeds {first} to {seed - 1}")
            return 0
        print(f"seed {seed}, {left:.0f} s to go", flush=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:nbmake", f"--hypothesis-seed={seed}"]
        command += [str(ROOT / "tests" / name) for name in TESTS]
        done = subprocess.run(command, cwd=ROOT, env={**environment, "HUNT_SEED": str(seed)})
        if done.returncode:
            print(f"found with seed {seed}; what hypothesis drew is kept in .hypothesis/, and pytest tries it first")
            return done.returncode
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int, nargs="?", default=600, help="how long to go on (default: %(default)s)")
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed (default: %(default)s)")
    sys.exit(main(**vars(parser.parse_args())))
