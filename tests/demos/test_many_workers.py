"""The demo of many workers: one training however many there are, on each way to reach the others; and what is lost."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from demo_helpers import demo_module

from micrograd.nn.saving import load

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demos" / "many_workers.py"
sys.path.append(str(DEMO.parent))  # as for a script: it imports the demo beside it
demo = demo_module("many_workers")

TINY = ["--width", "8", "--heads", "2", "--batch", "10", "--often", "5", "--shards", "4"]
LIMIT = 120  # seconds: a job that hangs fails
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
HERE = [sys.executable, str(DEMO), "--workers", "2"]


def with_mpi(script):
    if importlib.util.find_spec("mpi4py") is None:  # not imported here: it would start an MPI in this process
        pytest.skip("no mpi4py")
    beside = Path(sys.prefix) / "bin" / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec")
    as_root = ["--allow-run-as-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [found, "--oversubscribe", *as_root, "-n", "2", sys.executable, "-m", "mpi4py", str(script)]


def with_torchrun(script):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch")
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]


STARTERS = {"mpi": with_mpi, "torchrun": with_torchrun}
starters = pytest.mark.parametrize("kind", STARTERS)


def run(command, folder):
    """What a job prints, which must come to its end."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def learnt(folder, *arguments):
    """What one process, this one, has saved."""
    demo.main([*TINY, "--workers", "1", "--out", str(folder), *arguments])
    return load(folder / demo.FILE)


def same_bits(first, second):
    return first.keys() == second.keys() and all(first[name].tobytes() == second[name].tobytes() for name in first)


# ---------------------------------------------------------------------------------------------------------------------
# The same training


def test_two_processes_hold_the_same_bits_and_learn_what_one_does_bit_by_bit(tmp_path):
    said = run([*HERE, *TINY, "--steps", "10", "--out", str(tmp_path)], ROOT)
    assert "2 workers, and the same weights on each, bit by bit" in said
    assert same_bits(load(tmp_path / demo.FILE), learnt(tmp_path / "alone", "--steps", "10"))


@starters
def test_workers_that_something_else_starts_find_each_other(kind, tmp_path):
    said = run([*STARTERS[kind](DEMO), *TINY, "--steps", "5", "--out", str(tmp_path)], ROOT)
    assert "2 workers, and the same weights on each, bit by bit" in said


def test_share_of_each_worker_is_a_part_of_the_batch_when_nobody_asks_for_shards():
    options = demo.parse([*TINY, "--shards", "0", "--batch", "7"])
    shares = [demo.share_of(rank, 3, options) for rank in range(3)]
    assert [len(share) for share in shares] == [1, 1, 1]
    assert [i for [part] in shares for i in range(7)[part]] == [*range(7)]


# ---------------------------------------------------------------------------------------------------------------------
# What goes wrong


def works(pid):
    """True for a process that runs a worker, and has not ended."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_worker_that_is_killed_ends_the_job_which_resumes_with_the_same_bits(tmp_path):
    command = [*HERE, *TINY, "--steps", "60", "--out", str(tmp_path)]
    output = subprocess.PIPE
    job = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT, cwd=ROOT)
    try:
        heard = next(line for line in iter(job.stdout.readline, "") if "saved" in line)
        workers = [pid for pid in Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split() if works(pid)]
        os.kill(int(workers[-1]), signal.SIGKILL)
        heard += job.communicate(timeout=LIMIT)[0]
    finally:
        job.kill()
    assert job.returncode == 1
    assert len(workers) == 2
    assert not any(map(works, workers))
    assert "A worker was lost, so the job has ended. --resume continues" in heard
    assert 5 <= load(tmp_path / demo.FILE)["step"] < 60
    assert same_bits(learnt(tmp_path, "--resume"), learnt(tmp_path / "alone", "--steps", "60"))


def test_mpi_that_would_hang_when_a_worker_fails_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    with pytest.raises(SystemExit, match=r"mpiexec -n 4 python -m mpi4py demos/many_workers\.py"):
        demo.main(["--out", str(tmp_path)])


# ---------------------------------------------------------------------------------------------------------------------
# The page that tells how


def of_the_page(kind):
    """The training of the page, with the lines that reach the others by MPI or by PyTorch, or alone with none."""
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    script, torch, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    if kind == "mpi":
        return script
    lines = {"torchrun": torch, "alone": "rank, size, total = 0, 1, None\n"}[kind]
    script = script.replace("from mpi4py import MPI\n", "")
    return re.sub(r"workers = MPI.*?return flat\n", lambda _: lines, script, flags=re.DOTALL)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What the training of the page saves in one process."""
    folder = tmp_path_factory.mktemp("alone")
    run([sys.executable, "-c", of_the_page("alone")], folder)
    return load(folder / "model.safetensors")


@starters
def test_training_of_the_page_gives_with_two_workers_what_it_gives_with_one(kind, alone, tmp_path):
    (tmp_path / "train.py").write_text(of_the_page(kind), encoding="utf-8")
    said = run(STARTERS[kind](tmp_path / "train.py"), tmp_path)
    assert float(said) < 0.3  # the targets' variance is 0.5
    found = load(tmp_path / "model.safetensors")
    for name, x in alone.items():
        np.testing.assert_allclose(found[name], x, rtol=0, atol=1e-9, err_msg=name)
