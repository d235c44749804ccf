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

TINY = ["--width", "8", "--heads", "2", "--batch", "10", "--steps", "20", "--often", "10"]
LONG = ["--steps", "200", "--often", "10", "--shards", "4"]  # so that the start makes no difference to the bits
LIMIT = 120  # seconds: a job that hangs fails
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def here(workers):
    return [sys.executable, str(DEMO), "--workers", str(workers)]


def with_mpi(workers):
    if importlib.util.find_spec("mpi4py") is None:  # not imported here: it would start an MPI in this process
        pytest.skip("no mpi4py")
    beside = Path(sys.prefix) / "bin" / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec")
    as_root = ["--allow-run-as-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [found, "--oversubscribe", *as_root, "-n", str(workers), sys.executable]
    return [*command, "-m", "mpi4py", str(DEMO)]


def with_torchrun(workers):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch")
    starter = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    return [sys.executable, *starter, str(workers), str(DEMO)]


STARTERS = {"here": here, "mpi": with_mpi, "torchrun": with_torchrun}


def run(command, folder, *arguments):
    """A job to its end, and what it saved."""
    done = subprocess.run(
        [*command, *TINY, *arguments, "--out", str(folder)],
        capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return load(folder / demo.FILE), done.stdout


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process learns, cut into no shards and into four, and in a long run."""
    words = {"whole": [], "cut": ["--shards", "4"], "long": LONG}
    return {name: run(here(1), tmp_path_factory.mktemp(name), *words[name])[0] for name in words}


def weights(state):
    return {name: x for name, x in state.items() if not name.startswith("run.")}


def same_bits(first, second):
    return first.keys() == second.keys() and all(first[name].tobytes() == second[name].tobytes() for name in first)


# ---------------------------------------------------------------------------------------------------------------------
# The same training


@pytest.mark.parametrize("start", STARTERS.values(), ids=STARTERS)
def test_two_workers_hold_the_same_bits_and_learn_what_one_process_does(start, alone, tmp_path):
    found, said = run(start(2), tmp_path)
    assert "2 workers, and the same weights on each, bit by bit" in said
    assert "step 20 of 20, saved" in said
    for name, x in weights(alone["whole"]).items():
        np.testing.assert_allclose(found[name], x, rtol=0, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("workers", [2, 4])
def test_fixed_number_of_shards_gives_the_same_bits_for_any_number_of_workers(workers, alone, tmp_path):
    found, _ = run(here(workers), tmp_path, "--shards", "4")
    assert same_bits(found, alone["cut"])


# ---------------------------------------------------------------------------------------------------------------------
# What goes wrong


def children(pid):
    """The processes that run the demo below this one, by the folders of /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(re.search(r"\nPPid:\s*(\d+)", (folder / "status").read_text())[1])
            line = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if parent == pid:
            runs = b"spawn_main" in line or (
                b"many_workers" in line and not re.search(rb"mpiexec|prte|distributed", line)
            )
            found += [int(folder.name)] * runs + children(int(folder.name))
    return found


PATIENCE = "5"  # seconds that a worker waits for the others


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
@pytest.mark.parametrize(
    ("start", "how", "said"),
    [
        ("here", signal.SIGKILL, r"Worker \d was killed by SIGKILL, so the job has ended. --resume continues"),
        ("here", signal.SIGSTOP, r"Worker \d has waited 5 seconds for the others: .*The job ends. --resume continues"),
        ("mpi", signal.SIGKILL, r"signal 9"),
        (
            "torchrun",
            signal.SIGKILL,
            r"Worker \d has lost the others: .*The job ends. --resume continues|closing signal SIGTERM",  # who is first
        ),
    ],
)
def test_worker_that_is_lost_ends_the_job_which_resumes_with_the_same_bits(start, how, said, alone, tmp_path):
    command = [*STARTERS[start](2), *TINY, *LONG, "--limit", PATIENCE, "--out", str(tmp_path)]
    output = subprocess.PIPE
    job = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT, cwd=ROOT)
    try:
        heard = next(line for line in iter(job.stdout.readline, "") if "saved" in line)
        os.kill(max(children(job.pid)), how)
        heard += job.communicate(timeout=LIMIT)[0]
    finally:
        left = children(job.pid)
        job.kill()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    assert job.returncode != 0
    assert not left
    assert re.search(said, heard), heard
    assert 10 <= load(tmp_path / demo.FILE)["step"] < 200
    again, _ = run(here(2), tmp_path, "--resume")
    assert same_bits(again, alone["long"])


def test_disk_that_is_full_is_said_and_the_last_save_stays(tmp_path, monkeypatch):
    options = [*TINY, "--workers", "1", "--out", str(tmp_path)]
    demo.main([*options, "--steps", "10"])
    before = load(tmp_path / demo.FILE)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemExit, match=r"Step 10 cannot be saved in .*: No space left on device. --resume continues"):
        demo.main([*options, "--steps", "10"])
    assert same_bits(load(tmp_path / demo.FILE), before)


def test_worker_that_fails_ends_the_job(tmp_path):
    (tmp_path / demo.FILE).write_bytes(b"")
    code = f"import sys; sys.path.insert(0, {str(DEMO.parent)!r}); import many_workers as demo; "
    code += "options = demo.parse(sys.argv[1:]); options.resume = True; demo.start_here(options)"
    command = [sys.executable, "-c", code, *TINY, "--workers", "2", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT)
    assert done.returncode == 1
    assert "cannot be read as safetensors" in done.stderr
    assert re.search(r"Worker \d has failed, so the job has ended. --resume continues", done.stderr)


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


@pytest.mark.parametrize("kind", ["mpi", "torchrun"])
def test_training_of_the_page_gives_with_two_workers_what_it_gives_with_one(kind, tmp_path):
    script, states = tmp_path / "train.py", []
    for way, command in (("alone", [sys.executable]), (kind, STARTERS[kind](2)[:-1])):
        script.write_text(of_the_page(way), encoding="utf-8")
        command = [*command, str(script)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) < 0.3  # the targets' variance is 0.5
        states.append(load(tmp_path / "model.safetensors"))
    for name, x in states[0].items():
        np.testing.assert_allclose(states[1][name], x, rtol=0, atol=1e-9, err_msg=name)
