"""Run tests/test_hunt.py with one seed after the other, until something fails or the time is up.

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
EXAMPLES = "300"  # of each test, with one seed


def main(seconds: float = 600, first: int = 0) -> int:
    """The exit status of the first run that fails, else 0."""
    end = time.monotonic() + seconds
    environment = {**os.environ, "HUNT_EXAMPLES": EXAMPLES, "CI": ""}  # in CI the examples are the same each time
    for seed in itertools.count(first):
        left = end - time.monotonic()
        if left <= 0:
            print(f"nothing found in {seconds:.0f} s, with the seeds {first} to {seed - 1}")
            return 0
        print(f"seed {seed}, {left:.0f} s to go", flush=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:nbmake", f"--hypothesis-seed={seed}"]
        done = subprocess.run([*command, str(ROOT / "tests/test_hunt.py")], cwd=ROOT, env=environment)
        if done.returncode:
            print(f"found with seed {seed}; it is kept in .hypothesis/, and `pytest tests/test_hunt.py` tries it first")
            return done.returncode
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int, nargs="?", default=600, help="how long to go on (default: %(default)s)")
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed (default: %(default)s)")
    sys.exit(main(**vars(parser.parse_args())))
