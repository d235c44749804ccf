"""Looking is free: whatever is shown between forward and backward, no gradient is another, not in its last bit.

So is calling forward functions again, on other numbers, as the player does: a row is pure.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import ops_list
import pytest
import tensor_ops_list
from function_helpers import Cube

from micrograd import Tensor, Value, compile, lazy, no_grad, viz
from micrograd import functional as F
from micrograd.command.report import table
from micrograd.nn import MLP, BatchNorm1d, Dropout, Linear, ReLU, Sequential
from micrograd.scalars.grad_fn import GradFn
from micrograd.scalars.passes import topological
from micrograd.viz.drawing.data import walk
from micrograd.viz.playing.animation import MAX_NODES

Graph = tuple[Any, list[Any]]  # a root, and its leaves


# ------------------------------------------------------------------------------------------------ what is looked at
def of_op(op: ops_list.Op) -> Graph:
    leaves = [Value(x, label=name) for name, x in zip("ab", op.points(1)[0], strict=False)]
    return op.call(*leaves) * leaves[0], leaves


def of_arrays(op: tensor_ops_list.Op) -> Graph:
    leaves = [Tensor(a, requires_grad=True) for a in op.operands(op.shapes[min(2, len(op.shapes) - 1)])]
    return weighed(op.call(*leaves)), leaves


def weighed(out: Any) -> Any:
    """One number of all that there is, each part with another weight."""
    if isinstance(out, Tensor):
        return (out.astype(float) * np.linspace(0.5, 1.5, out.size).reshape(out.shape)).sum()
    return sum((i + 1.0) * x for i, x in enumerate(out)) if isinstance(out, list) else out * 1.0


CLASSES, SIGNS, PROBABILITIES = np.array([2, 0, 1]), np.array([1.0, -1.0, 1.0]), np.array([0.2, 0.0, 1.0])


def of_loss(loss: Callable, y: Any, reduction: str, kind: type) -> Graph:
    """A loss of three scores, or of three rows of four."""
    scores = np.random.default_rng(0).normal(size=(3, 4) if y is CLASSES else 3)
    x = Tensor(scores, requires_grad=True) if kind is Tensor else [Value(x) for x in scores]
    return weighed(loss(x, y, reduction=reduction)), [x] if kind is Tensor else x


def network() -> Graph:
    random.seed(1)
    model = MLP(2, [3, 1])
    xs = [[0.5, -1.0], [2.0, 0.25]]
    return F.hinge([model(x) for x in xs], [1, -1]), model.parameters()


def layers() -> Graph:
    rng = np.random.default_rng(1)
    model = Sequential(Linear(3, 4, rng=rng), BatchNorm1d(4), ReLU(), Dropout(0.5, rng=rng), Linear(4, 2, rng=rng))
    model(rng.normal(size=(5, 3)))
    return F.cross_entropy(model(rng.normal(size=(5, 3)) * 100), [0, 1, 1, 0, 1]), model.parameters()


def in_place() -> Graph:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1.1
    y *= x
    y += [0.5, 0.25]
    return (y * y.exp()).sum(), [x]


def by_hand(kind: Any) -> Graph:
    a, b = kind(0.1, requires_grad=True), kind(0.7, requires_grad=True)
    out = kind(a.data * b.data, (a, b), "mine")

    def _backward() -> None:
        a.grad += out.grad * b.data
        b.grad += out.grad * a.data

    out._backward = _backward
    return out * 0.3 + a * out, [a, b]


def of_function() -> Graph:
    x = Tensor([0.1, 0.7], requires_grad=True)
    return Cube.apply(x).sum(), [x]


def hooked() -> Graph:
    x = Value(0.1)
    y = x * 0.7
    y.register_hook(lambda g: g * 1.1)
    return y.tanh() + x, [x]


def compiled() -> Graph:
    x, w = Tensor([0.1, 0.7], requires_grad=True), Tensor([1.5, 0.3], requires_grad=True)
    program = compile(lambda x: (x * w).tanh().sum())
    out = program(x) * 0.3
    assert program.source
    return out, [x, w]


def deferred() -> Graph:
    x = Tensor([0.1, 0.7], requires_grad=True)
    with lazy():
        out = (x.tanh() * x).sum()
    return out, [x]


def changed_since() -> Graph:
    x, y = Value(0.1), Tensor([0.1, 0.7], requires_grad=True)
    out, other = x * x * 0.3, (y * y).sum()
    x.data = 5.0
    with no_grad():
        y.data[:] = 5.0
    other.backward()
    return out, [x]


GRAPHS: dict[str, Callable[[], Graph]] = {
    **{f"Value {op}": partial(of_op, op) for op in ops_list.OPS if ":" not in op.name},
    **{f"Tensor {op}": partial(of_arrays, op) for op in tensor_ops_list.OPS if ":" not in op.name},
    "a network": network,
    "layers": layers,
    "in place": in_place,
    "a closure of Values": lambda: by_hand(Value),
    "a closure of Tensors": lambda: by_hand(Tensor),
    "a Function": of_function,
    "hooks": hooked,
    "a compiled function": compiled,
    "lazy": deferred,
    "data that was changed": changed_since,
    **{
        f"{loss.__name__} {reduction} of {kind.__name__}s": partial(of_loss, loss, y, reduction, kind)
        for reduction in ("mean", "sum", "none")
        for loss, y, kinds in (
            (F.mse, PROBABILITIES, (Value, Tensor)), (F.hinge, SIGNS, (Value, Tensor)), (F.nll, CLASSES, (Tensor,)),
            (F.bce_with_logits, PROBABILITIES, (Value, Tensor)), (F.cross_entropy, CLASSES, (Tensor,)),
        )
        for kind in kinds
    },
}  # fmt: skip
VARIANTS: dict[str, Callable[[], Graph]] = {  # of ops with settings
    **{f"Value {op}": partial(of_op, op) for op in ops_list.OPS if ":" in op.name},
    **{f"Tensor {op}": partial(of_arrays, op) for op in tensor_ops_list.OPS if ":" in op.name},
}


# ------------------------------------------------------------------------------------------------ ways to look
def look_at_nodes(root: Any) -> None:
    for node in walk(root).nodes:
        assert isinstance((repr(node), str(node), format(node), node._op, node.label), tuple)
        assert repr(node._backward)
        assert isinstance((node._prev, node.is_leaf, node.requires_grad), tuple)
        _ = node.data
        look_at_functions(node.grad_fn)


def look_at_functions(view: GradFn | None) -> None:
    if view is not None:
        assert repr(view)
        _ = view.next_functions


LOOKS: dict[str, Callable[[Any], Any]] = {
    "show": lambda root: root.show(),
    "draw_dot": lambda root: (viz.draw_dot(root).source, viz.draw_dot(root)._repr_mimebundle_()),
    "animate": lambda root: viz.animate(root).svg if len(walk(root).nodes) <= MAX_NODES else None,
    "nodes": look_at_nodes,
    "trace": viz.trace,
    "table": lambda root: table(root) if isinstance(root, Value) else None,
    "number": lambda root: (root.item(), f"{root:.2f}", bool(root), root > 0),
}


def bits(grad: Any) -> bytes:
    return np.asarray(grad, dtype=float).tobytes()


def state() -> tuple:
    return random.getstate(), repr(np.random.get_state())


@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)
def test_looking_changes_no_gradient(make):
    root, leaves = make()
    root.backward()
    wanted = [bits(leaf.grad) for leaf in leaves]
    root, leaves = make()
    before, draws = [leaf.grad for leaf in leaves], state()
    for look in LOOKS.values():
        look(root)
    assert all(leaf.grad is grad for leaf, grad in zip(leaves, before, strict=True))
    assert state() == draws
    root.backward(retain_graph=True)
    assert [bits(leaf.grad) for leaf in leaves] == wanted
    nodes = topological([getattr(root, "_node", root)])
    after = [bits(node.grad) for node in nodes]
    for look in LOOKS.values():
        look(root)
    assert [bits(node.grad) for node in nodes] == after


def run_again(root: Any) -> None:
    """Call each forward function below the root on other numbers."""
    for node in topological([getattr(root, "_node", root)]):
        if node._row and node._row.forward:
            node._row.forward(*(elsewhere(operand._data) for operand in node._prev))


def elsewhere(x: Any) -> Any:
    return 0.9 * x + 0.01 if np.asarray(x).dtype.kind == "f" else x


@pytest.mark.parametrize("make", (GRAPHS | VARIANTS).values(), ids=GRAPHS | VARIANTS)
def test_forward_function_that_is_called_again_changes_no_gradient(make):
    found = []
    for look in (lambda root: None, run_again):
        root, leaves = make()
        look(root)
        root.backward()
        found.append([bits(leaf.grad) for leaf in leaves])
    assert found[0] == found[1]


def test_frame_of_a_movie_changes_no_gradient():
    def trained(looking: bool) -> list[bytes]:
        random.seed(1)
        model = MLP(2, [3, 1])
        xs, ys = [[0.5, -1.0], [2.0, 0.25]], [1, -1]
        film = viz.movie(model, xs, ys, resolution=8)
        loss = F.hinge([model(x) for x in xs], ys)
        if looking:
            film.frame(loss)
            assert film.page().html
            assert film.still()
        loss.backward()
        return [bits(p.grad) for p in model.parameters()]

    assert trained(looking=True) == trained(looking=False)
