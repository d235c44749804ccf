"""Teach the tiny GPT of microgpt.py on many workers: each computes the gradient of its share of every batch.

    python demos/many_workers.py --workers 2               processes of this machine, with shared memory
    mpiexec -n 4 python -m mpi4py demos/many_workers.py    machines with an MPI, and mpi4py
    torchrun --nproc-per-node 4 demos/many_workers.py      machines with PyTorch
    python demos/many_workers.py --shards 4                the same bits on 1, 2 and 4 workers
    python demos/many_workers.py --resume                  continues a run from its last save
    python demos/many_workers.py --help                    lists the options

All workers start with the same weights and sum their gradients at each step, so they take the same steps. If one is
lost, the job ends. Start reading at `train`.
"""

import argparse
import atexit
import hashlib
import multiprocessing
import os
import signal
import sys
import time
from functools import reduce
from multiprocessing.connection import wait
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported, since the other cores are for the other workers

try:
    import numpy as np
    from microgpt import MEANING, TensorGPT, make_data, padded

    import micrograd
    from micrograd import load, no_grad, save
    from micrograd.functional import cross_entropy
    from micrograd.optim import Adam, LambdaLR
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    install = "." if package == "micrograd" else package
    sys.exit(f"This demo needs {package}, which is not installed here: pip install {install}")

FILE = "many_workers.safetensors"
RUN = {"seed": 1337, "width": 32, "heads": 4, "layers": 1, "batch": 64, "steps": 200, "rate": 0.01, "shards": 0}


# ---- the workers: a rank, their number, and a function that gives each worker the arrays of all, in the order of ranks


def of_mpi():
    from mpi4py.MPI import COMM_WORLD

    return COMM_WORLD.rank, COMM_WORLD.size, COMM_WORLD.allgather


def of_torchrun():
    import torch.distributed as group

    def gather(array):
        found = [None] * group.get_world_size()
        group.all_gather_object(found, array)
        return found

    group.init_process_group("gloo")
    atexit.register(group.destroy_process_group)  # its threads must have ended when Python does
    return group.get_rank(), group.get_world_size(), gather


def of_this_machine(rank, size, barrier, memory):
    table = np.frombuffer(memory).reshape(size, -1)  # a row for each worker

    def gather(array):
        table[rank, : array.size] = array.ravel()
        barrier.wait()  # all have written
        found = [row[: array.size].reshape(array.shape) for row in table.copy()]
        barrier.wait()  # all have read: the table may be overwritten
        return found

    return rank, size, gather


def start_here(options):
    """Start the workers as processes on this machine, and end all of them if one fails."""
    context, size = multiprocessing.get_context("spawn"), options.workers
    parts = share_of(0, size, options)
    numbers = len(parts) * sum(p.size for p in make_model(options).parameters())
    shared = (context.Barrier(size, timeout=60), context.RawArray("d", size * numbers))
    workers = [context.Process(target=worker, args=((rank, size, *shared), options)) for rank in range(size)]
    lost = "A worker was lost, so the job has ended. --resume continues from the last save."
    try:
        for process in workers:
            process.start()
        while running := [process.sentinel for process in workers if process.exitcode is None]:
            wait(running)
            if any(process.exitcode for process in workers):
                sys.exit(lost)
    except KeyboardInterrupt:
        sys.exit(lost)
    finally:
        for process in workers:
            process.kill()


def worker(place, options):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    train(*of_this_machine(*place), options)


# ---- the learning


def make_model(options):
    """The same weights on every worker, from the seed."""
    return TensorGPT(options.width, options.heads, options.layers, np.random.default_rng(options.seed))


def share_of(rank, size, options):
    """Where the parts of a batch begin and end that a worker computes: its share, or its shards."""
    shards = options.shards or size
    if shards % size:
        sys.exit(f"{shards} shards cannot be dealt to {size} workers evenly: choose a multiple.")
    if options.batch < shards:
        sys.exit(f"A batch of {options.batch} names is too small: each worker, or shard, needs one at least.")
    bounds = [options.batch * i // shards for i in range(shards + 1)]
    mine = range(shards * rank // size, shards * (rank + 1) // size)
    return [slice(bounds[i], bounds[i + 1]) for i in mine]


def train(rank, size, gather, options):
    """Train the model, save it now and then, and compare the weights of all workers at the end."""
    data, unseen = make_data(options.seed)
    model, parts, gradients = make_model(options), share_of(rank, size, options), []

    def total(flat):
        """The gradients of all parts, added in their order, whichever worker computed them."""
        nonlocal waited
        start = time.perf_counter()
        rows = np.concatenate(gather(np.array([*gradients, flat])))
        waited += time.perf_counter() - start
        return reduce(np.add, rows)

    @micrograd.compile
    def loss_of(numbers, targets, weights):
        return (cross_entropy(model(numbers), targets, "none") * weights).sum()

    optimizer = Adam(model.parameters(), options.rate, (0.9, 0.99), reduce=total)
    schedule = LambdaLR(optimizer, lambda t: 1 - t / options.steps)
    run = {"model": model, "optimizer": optimizer, "schedule": schedule}
    file = options.out / FILE
    start = load(file, into=run)["step"].item() if options.resume else 0
    begun, seen, waited = time.perf_counter(), 0, 0.0
    for step in range(start, options.steps):
        batch = np.random.default_rng([options.seed, step]).choice(data, options.batch).tolist()  # the same on all
        letters, nats = sum(len(name) + 1 for name in batch), 0.0
        gradients.clear()
        for part in parts:
            if part is not parts[0]:
                gradients.append(np.concatenate([p.grad.ravel() for p in optimizer.params]))
            optimizer.zero_grad()
            numbers, targets, counts = padded(batch[part])
            loss = loss_of(numbers, targets, counts / letters)  # its part of the mean over the letters of the batch
            loss.backward()
            nats += loss.item()
        optimizer.step()  # the sum over all workers, then the same step on each
        schedule.step()
        seen += letters
        if (step + 1) % options.often == 0 or step + 1 == options.steps:
            nats, seconds = sum(gather(np.array([nats])))[0], time.perf_counter() - begun
            if rank == 0:
                # All that the next step depends on; its number seeds its batch
                save({**run, **{f"run.{name}": getattr(options, name) for name in RUN}, "step": step + 1}, file)
                said = f"{nats:.3f} nats per letter, {seen / seconds:,.0f} letters a second"
                print(f"step {step + 1}, saved: {said}, {waited / seconds:.0%} of the time spent on sums", flush=True)
            begun, seen, waited = time.perf_counter(), 0, 0.0
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
    if len({row.tobytes() for row in gather(np.frombuffer(digest.digest(), np.uint8).astype(float))}) > 1:
        sys.exit(f"Worker {rank}: the workers hold different weights, though all began with the same.")
    if rank == 0:
        print(f"{size} workers, and the same weights on each, bit by bit: {digest.hexdigest()[:16]}")
        with no_grad():
            print(f"On unseen names: {model.loss(*padded(unseen)).item():.3f} nats per letter")


def main(arguments=None):
    """Join the workers that were started together, or start them here."""
    options = parse(arguments)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        train(*of_torchrun(), options)
    elif "mpi4py" in sys.modules:
        train(*of_mpi(), options)
    elif any(os.environ.get(name, "1") != "1" for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")):
        sys.exit("Start it as `mpiexec -n 4 python -m mpi4py demos/many_workers.py`: then all end when one fails.")
    elif options.workers == 1:
        train(0, 1, lambda array: [array], options)
    else:
        start_here(options)


def parse(arguments):
    """The options of the command line; a resumed run keeps its settings."""
    parser = argparse.ArgumentParser(description="Teach a tiny GPT on many workers, each with its share of a batch.")
    add, default = parser.add_argument, "(default: %(default)s)"
    add("--workers", type=int, default=min(4, os.cpu_count() or 1), help=f"how many to start here {default}")
    meaning = MEANING | {"shards": "0, or into how many parts to cut each batch, added in order"}
    for name, value in RUN.items():
        add(f"--{name}", type=type(value), default=value, help=f"{meaning[name]} {default}")
    add("--often", type=int, default=50, help=f"steps between two saves {default}")
    add("--out", type=Path, default=Path("out"), help=f"where to save, a folder that all machines share {default}")
    add("--resume", action="store_true", help="continue the run that is saved there, with its settings")
    options = parser.parse_args(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        if options.resume:
            state = load(options.out / FILE)
            vars(options).update({name: state[f"run.{name}"].item() for name in RUN})
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"there is no run to resume in {options.out}, or no such folder can be made: {error}")
    for name in ("workers", *RUN, "often"):
        if not (getattr(options, name) > 0 or (name in ("seed", "shards") and getattr(options, name) == 0)):
            parser.error(f"--{name} must be above 0, found {getattr(options, name)}")
    if options.width % options.heads:
        parser.error(f"--width must be a multiple of --heads, {options.heads}; found {options.width}")
    return options


if __name__ == "__main__":
    main()
