"""What it costs to share a batch between two workers: `python -m benchmarks.workers [TURNS]`, some minutes.

Each job is demos/many_workers.py, with one thread a worker. One process and two take turns, each with a short job and a
long one, whose difference leaves out the start. Two figures come of it:

- *work*: the processor time that one process needs for a step, divided by what two workers need together. It is the
  efficiency that a quiet machine could reach; what is missing to 1 are calls that half a batch needs as much as a whole
  one, and the sums. It hardly depends on what else the machine does.
- *speed*: the letters a second of two workers, divided by those of one process. Two cores without neighbours could
  reach 2. The time on sums includes the waiting for the other worker, whom the machine may have set aside.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

DEMO = Path(__file__).parents[1] / "demos" / "many_workers.py"
SIZES = [(32, 64, 400), (32, 512, 60), (128, 64, 80), (128, 512, 12), (256, 256, 10)]  # width, batch, steps
LINE = re.compile(r"([\d,]+) letters a second, (\d+)%")


def job(workers: int, width: int, batch: int, steps: int) -> tuple[float, float, float]:
    """Processor time of all workers; letters a second in the second half; the share of that half spent on sums."""
    options = {"workers": workers, "width": width, "batch": batch, "steps": steps, "often": steps // 2}
    with tempfile.TemporaryDirectory() as folder:
        words = [word for name, x in options.items() for word in (f"--{name}", str(x))]
        command = [sys.executable, str(DEMO), *words, "--out", folder]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    letters, waited = LINE.findall(done.stdout)[-1]
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, float(letters.replace(",", "")), int(waited) / 100


def measured(workers: int, width: int, batch: int, steps: int) -> tuple[float, float, float]:
    """As `job`, with the processor time of one step."""
    start, *_ = job(workers, width, batch, 2)
    used, letters, waited = job(workers, width, batch, steps)
    return (used - start) / (steps - 2), letters, waited


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.workers", description=__doc__.splitlines()[0])
    parser.add_argument("turns", type=int, nargs="?", default=3, help="runs of each size (default: %(default)s)")
    turns = parser.parse_args().turns
    print("| width | names a batch | step of one process | of two workers, together | work | speed | on sums |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for size in SIZES:
        pairs = [(measured(1, *size), measured(2, *size)) for _ in range(turns)]
        one, two = (median(pair[i][0] for pair in pairs) * 1000 for i in (0, 1))
        work = median(a[0] / b[0] for a, b in pairs)
        speeds = sorted(b[1] / a[1] for a, b in pairs)
        sums = median(b[2] for _, b in pairs)
        spread = f"{median(speeds):.2f} times ({speeds[0]:.2f} to {speeds[-1]:.2f})"
        print(
            f"| {size[0]} | {size[1]} | {one:.1f} ms | {two:.1f} ms | **{work:.2f}** | {spread} | {sums:.0%} |",
            flush=True,
        )
    print(f"\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
