"""Let the n-th allocation fail, once, and see what it leaves; as a script, since each trial is a process of its own.

python tests/failing_allocations.py "a step of Values" 20 7      # 20 trials, drawn with seed 7

An idea of SQLite's tests. `_testcapi`, a module that comes with CPython for its own tests, has the means.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd import Tensor, compile, is_grad_enabled, manual_seed, nn, optim, save
from micrograd.engine.walk import lock

Trial = tuple[Callable[[], object], Callable[[], Any]]  # what is run, and a look at all that it may change


def values() -> tuple[Any, Callable[[], Any]]:
    """A small network, and its loss."""
    random.seed(1)
    model = nn.MLP(2, [4, 1])
    return model, lambda: sum((model(x) - y) ** 2 for x, y in [((0.1, 0.2), 1.0), ((-0.3, 0.4), -1.0)])


def tensors() -> tuple[Any, Callable[[], Any]]:
    manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    X, y = Tensor([[0.1, 0.2], [-0.3, 0.4]]), Tensor([[1.0], [-1.0]])
    return model, lambda: ((model(X) - y) ** 2).sum()


def gradients(model: Any) -> list[Any]:
    return [repr(p.grad) for p in model.parameters()]


def numbers(model: Any) -> list[Any]:
    return [repr(p.data) for p in model.parameters()]


def backward(made: Callable) -> Trial:
    model, loss_of = made()
    loss_of().backward()
    loss = loss_of()
    return loss.backward, lambda: gradients(model)


def forward(made: Callable) -> Trial:
    model, loss_of = made()
    return loss_of, lambda: (gradients(model), numbers(model))


def step(made: Callable) -> Trial:
    model, loss_of = made()
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    loss_of().backward()
    optimizer.step()
    return optimizer.step, lambda: None  # the parameters change one after the other: only the lock is looked at


def compiled_step(made: Callable) -> Trial:
    model, loss_of = made()
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    run = compile(loss_of, update=optimizer)
    run()
    return run, lambda: (numbers(model), repr(optimizer.state_dict()))


def saving(made: Callable) -> Trial:
    model, _ = made()
    folder = Path(tempfile.mkdtemp())
    path = folder / "model.safetensors"
    save(model, path)
    for p in model.parameters():
        p.data = p.data + 1
    return lambda: save(model, path), lambda: [(path.name, path.read_bytes()) for path in folder.iterdir()]


def loading(made: Callable) -> Trial:
    model, _ = made()
    state = model.state_dict()
    for p in model.parameters():
        p.data = p.data + 1
    return lambda: model.load_state_dict(state), lambda: numbers(model)


MADE = {"Values": values, "Tensors": tensors}
WHATS = {"a pass": backward, "an expression": forward, "a step": step}
TRIALS: dict[str, Callable[[], Trial]] = {
    f"{what} of {kind}": lambda of=of, made=made: of(made) for what, of in WHATS.items() for kind, made in MADE.items()
}
# Nor is a load of Tensors, which enters `no_grad`: a lack of memory as that mode begins or ends may leave it on
TRIALS |= {"a save": lambda: saving(tensors), "a load of Values": lambda: loading(values)}
# A compiled step of Tensors is not one: it writes one array after another, and NumPy may lack memory in between
TRIALS |= {"a compiled step of Values": lambda: compiled_step(values)}


def outcome(trial: str, n: int) -> str:
    """What a failure of the n-th allocation leads to. A wrong end begins with "BAD"."""
    import _testcapi

    twin, look_at_twin = TRIALS[trial]()
    twin()
    run, look = TRIALS[trial]()
    nothing, everything = look(), look_at_twin()
    raised = None
    gc.collect()
    gc.disable()
    _testcapi.set_nomemory(n, n + 1)
    try:
        run()
    except BaseException as error:
        raised = error
    finally:
        _testcapi.remove_mem_hooks()
    if not another_thread_gets(lock):
        return "BAD: the lock is left taken"
    if not is_grad_enabled():
        return "BAD: recording is left off"
    if (found := look()) not in (nothing, everything):
        return f"BAD: {found} is neither {nothing} nor {everything}"
    if raised is None:
        return "done" if found == everything else "BAD: nothing raised, and nothing was done"
    if found == everything != nothing:
        return "raised, and done"
    run()
    return "raised, and done by a second call" if look() == everything else "BAD: a second call does something else"


def another_thread_gets(lock: Any) -> bool:
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(lock.acquire(timeout=2)) or (got[0] and lock.release()))
    thread.start()
    thread.join()
    return got == [True]


def in_a_process(trial: str, n: int) -> str:
    """The outcome, in a process of its own, which may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(60)  # ends one that hangs
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # of what cannot be raised, Python writes a note
        try:
            answer = outcome(trial, n)
        except BaseException as error:
            answer = f"BAD: {error!r}"
        os.write(writing, answer[:4000].encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return answer if not status else f"BAD: the process ended with status {status}"


def main(trial: str, trials: int, seed: int) -> None:
    """Draw so many allocations; print which one led to a wrong end, and what the others led to."""
    few = (32 << i for i in range(15))
    most = next(n for n in few if in_a_process(trial, n) == "done")  # no more allocations are made than this
    points = random.Random(seed).sample(range(most), min(trials, most))
    outcomes = {n: in_a_process(trial, n) for n in sorted(points)}
    for n, found in outcomes.items():
        if found.startswith("BAD"):
            print(n, found)
    print(*(f"{count} {found}" for found, count in Counter(outcomes.values()).items() if "BAD" not in found), sep=", ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", help="the name of a trial")
    parser.add_argument("trials", type=int, help="how many allocations fail, each in a process of its own")
    parser.add_argument("seed", type=int, help="which allocations are drawn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as tempfile.tempdir:
        main(arguments.trial, arguments.trials, arguments.seed)
