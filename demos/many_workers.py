"""Teach the tiny GPT of microgpt.py on many workers: each computes the gradient of its share of every batch.

    python demos/many_workers.py --workers 2               processes of this machine, with shared memory
    mpiexec -n 4 python -m mpi4py demos/many_workers.py    machines with an MPI, and mpi4py
    torchrun --nproc-per-node 4 demos/many_workers.py      machines with PyTorch
    python demos/many_workers.py --shards 4                the same bits on 1, 2 and 4 workers
    python demos/many_workers.py --resume                  continues a run from its last save
    python demos/many_workers.py --help                    lists the options

All workers start with the same weights and sum their gradients at each step, so they take the same steps. If one is
lost, the job ends. Start reading at `main`, at the bottom.
"""

import argparse
import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from functools import reduce
from multiprocessing.connection import wait
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported, since the other cores are for the other workers

try:
    import numpy as np
    from microgpt import MEANING as GPT
    from microgpt import TensorGPT, make_data, padded

    import micrograd
    from micrograd import load, no_grad, save
    from micrograd.functional import cross_entropy
    from micrograd.optim import Adam, LambdaLR
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    install = "." if package == "micrograd" else package
    sys.exit(f"This demo needs {package}, which is not installed here: pip install {install}")


# ------------------------------------------------------------------------------------------------ the workers
class Workers:
    """How one worker reaches the others. This one is alone."""

    rank, size = 0, 1

    def __init__(self, limit=60.0):
        self.limit, self.since, self.waited = limit, None, 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def gather(self, array):
        """The arrays of all workers, in the order of their ranks. All must have the same shape, in float64."""
        return [array]

    def total(self, flat):
        """The sum of an array over all workers: an all-reduce. Every worker gets the same bits."""
        return reduce(np.add, self.gather(flat))

    def leave(self):
        """Called after the last sum."""

    @contextmanager
    def waiting(self):
        """A context for anything that needs the others: ends this worker if it takes longer than the limit."""
        self.since = start = time.monotonic()
        try:
            yield
        finally:
            self.since = None
            self.waited += time.monotonic() - start

    def _watch(self):
        while (since := self.since) is None or time.monotonic() < since + self.limit:
            time.sleep(min(1.0, self.limit / 10))
        self.lost(f"has waited {self.limit:g} seconds for the others: one of them is stuck, or slow (see --limit)")

    def lost(self, why):
        """End this worker at once, whatever it waits for; the launcher then ends the others."""
        print(f"Worker {self.rank} {why}. The job ends. {RESUME}", file=sys.stderr, flush=True)
        os._exit(1)


class SharedMemory(Workers):
    """Processes on one machine: each writes its row of a table, and reads all rows once everybody has written."""

    def __init__(self, rank, size, barrier, memory, limit):
        super().__init__(limit)
        self.rank, self.size, self.barrier = rank, size, barrier
        self.table = np.frombuffer(memory).reshape(size, -1)

    def gather(self, array):
        rows = self.table[:, : array.size]
        rows[self.rank] = array.ravel()
        with self.waiting():
            self.barrier.wait()  # all have written
            found = [row.reshape(array.shape) for row in rows.copy()]
            self.barrier.wait()  # all have read: the table may be overwritten
        return found


class MPI(Workers):
    """Processes started by an MPI, on one machine or many."""

    def __init__(self, limit):
        from mpi4py.MPI import COMM_WORLD, IN_PLACE

        super().__init__(limit)
        self.all, self.in_place, self.rank, self.size = COMM_WORLD, IN_PLACE, COMM_WORLD.rank, COMM_WORLD.size

    def gather(self, array):
        found = np.empty((self.size, *array.shape))
        with self.waiting():
            self.all.Allgather(array, found)
        return list(found)

    def total(self, flat):
        with self.waiting():
            self.all.Allreduce(self.in_place, flat)
        return flat


class Gloo(Workers):
    """Processes started by torchrun; PyTorch's Gloo sums arrays on CPUs."""

    def __init__(self, limit):
        import torch.distributed as group
        from torch import from_numpy

        super().__init__(limit)
        with self.waiting():
            group.init_process_group("gloo")
        self.group, self.tensor, self.rank, self.size = group, from_numpy, group.get_rank(), group.get_world_size()

    def gather(self, array):
        found = [np.empty_like(array) for _ in range(self.size)]
        self._call(self.group.all_gather, [*map(self.tensor, found)], self.tensor(array))
        return found

    def total(self, flat):
        self._call(self.group.all_reduce, self.tensor(flat))
        return flat

    def leave(self):
        self.group.destroy_process_group()  # its threads must have ended when Python does

    def _call(self, function, *arguments):
        try:
            with self.waiting():
                function(*arguments)
        except RuntimeError as error:
            self.lost(f"has lost the others: {str(error).splitlines()[0]}")


def start_here(options):
    """Start the workers as processes on this machine, and end all of them if one fails."""
    context, size = multiprocessing.get_context("spawn"), options.workers
    check_parts(options, size)
    numbers = sum(p.size for p in make_model(options).parameters())
    memory, barrier = context.RawArray("d", max(options.shards, size) * numbers), context.Barrier(size)
    ranks = {
        context.Process(target=worker, args=(rank, size, barrier, memory, options), daemon=True): rank
        for rank in range(size)
    }
    try:
        for process in ranks:
            process.start()
        while ranks:
            wait([process.sentinel for process in ranks])
            for process in [process for process in ranks if process.exitcode is not None]:
                rank, code = ranks.pop(process), process.exitcode
                if code:
                    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else "has failed"
                    sys.exit(f"Worker {rank} {how}, so the job has ended. {RESUME}")
    except KeyboardInterrupt:
        sys.exit(f"Stopped. {RESUME}")
    finally:
        for process in ranks:
            process.kill()


def worker(rank, size, barrier, memory, options):
    """What each process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    train(SharedMemory(rank, size, barrier, memory, options.limit), options)


# ------------------------------------------------------------------------------------------------ the learning
def make_model(options):
    """The same weights on every worker, from the seed."""
    return TensorGPT(options.width, options.heads, options.layers, np.random.default_rng(options.seed))


def parts_of(batch, workers, shards):
    """The parts of a batch of names that this worker computes: its share, or its shards."""
    count = shards or workers.size
    mine = range(count * workers.rank // workers.size, count * (workers.rank + 1) // workers.size)
    return [batch[len(batch) * i // count : len(batch) * (i + 1) // count] for i in mine]


def check_parts(options, workers):
    """Exit unless the batch can be cut as requested, and the parts distributed."""
    if options.shards % workers:
        sys.exit(f"{options.shards} shards cannot be dealt to {workers} workers evenly: choose a multiple.")
    if options.batch < max(options.shards, workers):
        sys.exit(f"A batch of {options.batch} names is too small: each worker, or shard, needs one at least.")


def joined(params):
    """The gradients, as one array."""
    return np.concatenate([p.grad.ravel() for p in params])


def train(workers, options):
    """Train the model, save it now and then, and compare the weights of all workers at the end."""
    check_parts(options, workers.size)
    data, unseen = make_data(options.seed)
    model, earlier = make_model(options), []

    def in_order(flat):
        """The gradients of the shards, added in the order of the shards, whichever worker computed them."""
        shards = np.concatenate(workers.gather(np.array([*earlier, flat])))
        return reduce(np.add, shards)

    @micrograd.compile
    def loss_of(numbers, targets, weights):
        return (cross_entropy(model(numbers), targets, "none") * weights).sum()

    optimizer = Adam(
        model.parameters(), options.rate, (0.9, 0.99), reduce=in_order if options.shards else workers.total
    )
    run = {"model": model, "optimizer": optimizer}
    run["schedule"] = schedule = LambdaLR(optimizer, lambda t: 1 - t / options.steps)
    start = load(options.out / FILE, into=run)["step"].item() if options.resume else 0
    begun, seen, workers.waited = time.perf_counter(), 0, 0.0
    for step in range(start, options.steps):
        batch = np.random.default_rng([options.seed, step]).choice(data, options.batch).tolist()  # the same on all
        letters, losses = sum(len(name) + 1 for name in batch), []
        earlier.clear()
        for part in parts_of(batch, workers, options.shards):
            if losses:
                earlier.append(joined(optimizer.params))
            optimizer.zero_grad()
            numbers, targets, counts = padded(part)
            loss = loss_of(numbers, targets, counts / letters)  # its share of the mean over the letters of all workers
            loss.backward()
            losses.append(loss.item())
        optimizer.step()  # the sum over all workers, then the same step on each
        schedule.step()
        seen += letters
        if (step + 1) % options.often == 0 or step + 1 == options.steps:
            nats = np.sum(workers.gather(np.array(losses)))
            seconds = time.perf_counter() - begun
            if workers.rank == 0:
                keep(run, options, step + 1)
                speed, waited = f"{seen / seconds:,.0f} letters a second", f"{workers.waited / seconds:.0%}"
                said = f"step {step + 1} of {options.steps}, saved: {nats:.3f} nats per letter"
                print(f"{said}, {speed}, {waited} of the time spent on sums", flush=True)
            begun, seen, workers.waited = time.perf_counter(), 0, 0.0
    finish(workers, model, unseen)


def keep(run, options, step):
    """Save everything that the next step depends on; its number seeds its batch."""
    settings = {f"run.{name}": getattr(options, name) for name in RUN}
    try:
        save({**run, "step": step, **settings}, options.out / FILE)
    except OSError as error:
        sys.exit(f"Step {step} cannot be saved in {options.out}: {error.strerror}. {RESUME}")


def finish(workers, model, unseen):
    """Check that all workers hold the same weights, and print how good these are."""
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
    found = {row.tobytes() for row in workers.gather(np.frombuffer(digest.digest(), np.uint8).astype(float))}
    if len(found) > 1:
        sys.exit(f"Worker {workers.rank}: the workers hold different weights, though all began with the same.")
    if workers.rank == 0:
        with no_grad():
            nats = model.loss(*padded(unseen)).item()
        print(f"{workers.size} workers, and the same weights on each, bit by bit: {digest.hexdigest()[:16]}")
        print(f"On unseen names: {nats:.3f} nats per letter")
    workers.leave()


# ------------------------------------------------------------------------------------------------ the whole
def main(arguments=None):
    """Join the workers that were started together, or start them here."""
    options = parse(arguments)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        train(Gloo(options.limit), options)
    elif "mpi4py" in sys.modules:
        train(MPI(options.limit), options)
    elif any(os.environ.get(name, "1") != "1" for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")):
        sys.exit(
            "Start it as `mpiexec -n 4 python -m mpi4py demos/many_workers.py`: -m mpi4py ends all when one fails."
        )
    elif options.workers == 1:
        train(Workers(), options)
    else:
        start_here(options)


FILE = "many_workers.safetensors"
RESUME = "--resume continues from the last save."
RUN = {"seed": 1337, "width": 32, "heads": 4, "layers": 1, "batch": 64, "steps": 200, "rate": 0.01, "shards": 0}
MEANING = GPT | {"shards": "0, or into how many parts to cut each batch, added in order"}


def parse(arguments):
    """The options of the command line; a resumed run keeps its settings."""
    parser = argparse.ArgumentParser(description="Teach a tiny GPT on many workers, each with its share of a batch.")
    add, default = parser.add_argument, "(default: %(default)s)"
    add(
        "--workers",
        type=int,
        default=min(4, os.cpu_count() or 1),
        help=f"how many to start, unless something else has {default}",
    )
    for name, value in RUN.items():
        add(f"--{name}", type=type(value), default=value, help=f"{MEANING[name]} {default}")
    add("--often", type=int, default=50, help=f"steps between two saves {default}")
    add("--limit", type=float, default=60.0, help=f"seconds to wait for other workers {default}")
    add(
        "--out",
        type=Path,
        default=Path("out"),
        help=f"where to save; several machines need one folder that all share {default}",
    )
    add("--resume", action="store_true", help="continue the run that is saved there, with its settings")
    options = parser.parse_args(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        if options.resume:
            state = load(options.out / FILE)
            vars(options).update({name: state[f"run.{name}"].item() for name in RUN})
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"there is no run to resume in {options.out}, or no such folder can be made: {error}")
    for name in ("workers", *RUN, "often", "limit"):
        if not (getattr(options, name) > 0 or (name in ("seed", "shards") and getattr(options, name) == 0)):
            parser.error(f"--{name} must be above 0, found {getattr(options, name)}")
    if options.width % options.heads:
        parser.error(f"--width must be a multiple of --heads, {options.heads}; found {options.width}")
    return options


if __name__ == "__main__":
    main()
