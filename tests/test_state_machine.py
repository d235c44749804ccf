"""The engine beside a naive second one, over whatever sequence of uses hypothesis draws, for both kinds of node.

What a test of one use does not meet: a leaf that was moved after it was used, a gradient that is switched off below a
graph, a pass from several roots that share nodes, and all of these in any order. `make hunt` draws more of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from test_hunt import hunted

import micrograd
from micrograd import Tensor, Value, backward, no_grad

# A name, the function of any kind of number, its derivatives, and where it is smooth and small
UNARY: dict[str, tuple[Callable, Callable[[float], float], Callable[[float], bool]]] = {
    "tanh": (lambda x: x.tanh(), lambda a: 1 - math.tanh(a) ** 2, lambda a: True),
    "relu": (lambda x: x.relu(), lambda a: float(a > 0), lambda a: abs(a) > 1e-6),
    "exp": (lambda x: x.exp(), lambda a: math.exp(a), lambda a: a < 5),
    "square": (lambda x: x**2, lambda a: 2 * a, lambda a: abs(a) < 50),
    "negative": (lambda x: -x, lambda a: -1.0, lambda a: True),
    "a number plus": (lambda x: 3 + x, lambda a: 1.0, lambda a: True),
    "a number over": (lambda x: 2 / x, lambda a: -2 / a**2, lambda a: abs(a) > 0.2),
}
BINARY: dict[str, tuple[Callable, Callable[[float, float], tuple[float, float]], Callable[[float, float], bool]]] = {
    "+": (lambda x, y: x + y, lambda a, b: (1.0, 1.0), lambda a, b: True),
    "-": (lambda x, y: x - y, lambda a, b: (1.0, -1.0), lambda a, b: True),
    "*": (lambda x, y: x * y, lambda a, b: (b, a), lambda a, b: max(abs(a), abs(b)) < 1e3),
    "/": (lambda x, y: x / y, lambda a, b: (1 / b, -a / b**2), lambda a, b: abs(b) > 0.2),
}
numbers = st.floats(-2, 2).map(lambda x: round(x, 3))


class Naive:
    """A number, its slope with respect to each operand, and whether it needs a gradient. Nothing is forgotten."""

    def __init__(self, data: float, slopes: Sequence[tuple[Naive, float]] = (), requires_grad: bool = False):
        self.data = data
        self.slopes = [(operand, slope) for operand, slope in slopes if operand.requires_grad]
        self.requires_grad = requires_grad or bool(self.slopes)
        self.is_leaf = not self.slopes
        self.grad = 0.0


class Machine(RuleBasedStateMachine):
    """Each node beside its naive twin."""

    kind: type = Value
    pairs = Bundle("pairs")

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[Any, Naive]] = []

    def derivatives(self, roots: Sequence[Naive]) -> dict[Naive, float]:
        """The derivatives of the roots' sum: all that was ever made is visited, the newest first."""
        found: dict[Naive, float] = defaultdict(float)
        for root in roots:
            found[root] += 1.0
        for _, twin in reversed(self.made):
            for operand, slope in twin.slopes if twin in found else ():
                found[operand] += found[twin] * slope
        return found

    def note(self, node: Any, twin: Naive) -> tuple[Any, Naive]:
        assume(math.isfinite(twin.data) and abs(twin.data) < 1e6)
        self.made.append((node, twin))
        return node, twin

    @initialize(target=pairs, x=numbers)
    def begin(self, x: float) -> Any:
        return self.leaf(x, True)

    @rule(target=pairs, x=numbers, requires_grad=st.booleans())
    def new_leaf(self, x: float, requires_grad: bool) -> Any:
        return self.leaf(x, requires_grad)

    def leaf(self, x: float, requires_grad: bool) -> Any:
        return self.note(self.kind(x, requires_grad=requires_grad), Naive(x, requires_grad=requires_grad))

    @rule(target=pairs, pair=pairs, name=st.sampled_from([*UNARY]), recorded=st.booleans())
    def one_operand(self, pair: Any, name: str, recorded: bool) -> Any:
        run, slope, is_fine = UNARY[name]
        node, twin = pair
        assume(is_fine(twin.data))
        with nullcontext() if recorded else no_grad():
            out = run(node)
        return self.note(out, Naive(float(out.data), [(twin, slope(twin.data))] * recorded))

    @rule(target=pairs, pair=pairs, other=pairs, name=st.sampled_from([*BINARY]), recorded=st.booleans())
    def two_operands(self, pair: Any, other: Any, name: str, recorded: bool) -> Any:
        run, slopes, is_fine = BINARY[name]
        (x, a), (y, b) = pair, other
        assume(is_fine(a.data, b.data))
        with nullcontext() if recorded else no_grad():
            out = run(x, y)
        parts = zip((a, b), slopes(a.data, b.data), strict=True)
        assert math.isclose(float(out.data), run(a.data, b.data), rel_tol=1e-12, abs_tol=1e-12)
        return self.note(out, Naive(float(out.data), [*parts] * recorded))

    @rule(target=pairs, pair=pairs)
    def detached(self, pair: Any) -> Any:
        node, twin = pair
        return self.note(node.detach(), Naive(twin.data))

    @rule(roots=st.lists(pairs, min_size=1, max_size=3))
    def backward(self, roots: list[Any]) -> None:
        roots = [(node, twin) for node, twin in roots if twin.requires_grad]
        assume(roots)
        if len(roots) == 1:
            roots[0][0].backward(retain_graph=True)
        else:
            backward([node for node, _ in roots], retain_graph=True)
        for twin, g in self.derivatives([twin for _, twin in roots]).items():
            twin.grad += g * (twin.is_leaf and twin.requires_grad)

    @rule(root=pairs, at=st.lists(pairs, min_size=1, max_size=3, unique_by=id))
    def grad(self, root: Any, at: list[Any]) -> None:
        at = [(node, twin) for node, twin in at if twin.requires_grad]
        assume(at and root[1].requires_grad)
        self.compare(root, at)

    @invariant()
    def newest_has_its_gradients(self) -> None:
        node, twin = self.made[-1]
        if twin.requires_grad:
            self.compare((node, twin), [(x, a) for x, a in self.made if a.requires_grad])

    def compare(self, root: tuple[Any, Naive], at: list[tuple[Any, Naive]]) -> None:
        """The gradients of the root at these nodes, which are not added to `.grad`."""
        found = micrograd.grad(root[0], [node for node, _ in at], allow_unused=True, retain_graph=True)
        expected = self.derivatives([root[1]])
        for g, (_, twin) in zip(found, at, strict=True):
            assert (g is None) == (twin not in expected)
            np.testing.assert_allclose(0.0 if g is None else float(g), expected.get(twin, 0.0), rtol=1e-9, atol=1e-9)

    @rule(pair=pairs)
    def cleared(self, pair: Any) -> None:
        node, twin = pair
        assume(twin.is_leaf)
        node.grad, twin.grad = 0 if self.kind is Value else None, 0.0

    @rule(pair=pairs, x=numbers)
    def moved(self, pair: Any, x: float) -> None:
        node, twin = pair
        assume(twin.is_leaf)
        node.data, twin.data = x if self.kind is Value else np.array(x), x

    @rule(pair=pairs, on=st.booleans())
    def switched(self, pair: Any, on: bool) -> None:
        node, twin = pair
        assume(twin.is_leaf)
        node.requires_grad = twin.requires_grad = on

    @invariant()
    def agree(self) -> None:
        for node, twin in self.made:
            assert float(node.data) == twin.data
            assert node.requires_grad == twin.requires_grad
            if twin.is_leaf and twin.requires_grad:
                np.testing.assert_allclose(float(node.grad or 0.0), twin.grad, rtol=1e-9, atol=1e-9)


class TensorMachine(Machine):
    kind = Tensor


@pytest.mark.parametrize("machine", [Machine, TensorMachine], ids=["Value", "Tensor"])
def test_engine_agrees_with_a_naive_one_whatever_is_done_in_whatever_order(machine: type[Machine]):
    run_state_machine_as_test(machine, settings=settings(hunted, stateful_step_count=25))
