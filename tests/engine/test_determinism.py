"""Gradients depend on the program alone: not on hash seeds, addresses, or what ran before."""

from __future__ import annotations

import os
import random
import subprocess
import sys

from micrograd import Value

PROGRAM = """
import random
from micrograd import Value, backward, grad

rng = random.Random(7)
leaves = [Value(rng.uniform(-1, 1)) for _ in range(30)]
nodes = leaves[:]
for _ in range(600):
    a, b = rng.choice(nodes), rng.choice(nodes)
    nodes.append(rng.choice([a + b, a * b, a - b, a.tanh(), (a * b).sin(), a.maximum(b), a / (b * b + 1)]))
junk = [object() for _ in range(SALT)]       # other addresses
backward(nodes[-5:])
print([leaf.grad.hex() for leaf in leaves if leaf.grad])
print([node.grad.hex() for node in nodes[30:] if node.grad])
(first,) = grad(nodes[-1].tanh(), leaves[0], create_graph=True, allow_unused=True)
print(grad(first, [leaf for leaf in leaves], allow_unused=True) if first is not None else None)

order = []
for i, leaf in enumerate(leaves):
    leaf.register_hook(lambda g, i=i: order.append(i))
nodes[-1].backward()
print(order)
print([node._op for node in nodes[-1]._prev])
"""


def run(seed: str, salt: int) -> str:
    """What the program prints in a fresh process."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    code = PROGRAM.replace("SALT", str(salt))
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_gradients_and_hooks_are_the_same_to_the_bit_in_fresh_processes():
    outputs = {run(seed, salt) for seed, salt in [("0", 0), ("1", 17), ("12345", 1000), ("random", 31)]}
    assert len(outputs) == 1
    assert outputs.pop().count("0x") > 100


def test_gradients_are_the_same_to_the_bit_when_the_pass_takes_the_slow_path():
    def gradients(hooked: bool) -> list[float]:
        rng = random.Random(3)
        leaves = [Value(rng.uniform(-1, 1)) for _ in range(20)]
        nodes = leaves[:]
        for _ in range(300):
            nodes.append(rng.choice(nodes) * rng.choice(nodes) + rng.choice(nodes).tanh())
        if hooked:
            handle = nodes[-1].register_hook(lambda g: None)
        nodes[-1].backward()
        if hooked:
            handle.remove()
        return [leaf.grad for leaf in leaves]

    assert gradients(hooked=True) == gradients(hooked=False)
