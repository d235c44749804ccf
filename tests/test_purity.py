"""A row is pure: its forward function, called again on other numbers, changes no gradient.

Whoever looks does call it again: the player, which shows what a moved leaf would have done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import ops_list
import pytest
import tensor_ops_list
from tensor_helpers import leaves

import micrograd
from micrograd import Tensor, Value, nn
from micrograd import functional as F
from micrograd.scalars.passes import topological

CLASSES, SIGNS, PROBABILITIES = np.array([2, 0, 1]), np.array([1.0, -1.0, 1.0]), np.array([0.2, 0.0, 1.0])


def scores(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)


def values() -> list[Value]:
    return [Value(x) for x in (0.4, -1.2, 0.7)]


def model_on(x: Any, *layers: Any) -> Any:
    return nn.Sequential(*layers)(x)


LOSSES: dict[str, Callable[[], Any]] = {
    f"{loss.__name__} {reduction} of {kind}": lambda loss=loss, make=make, y=y, reduction=reduction: loss(
        make(), y, reduction=reduction
    )
    for reduction in ("mean", "sum", "none")
    for loss, y in ((F.mse, PROBABILITIES), (F.hinge, SIGNS), (F.bce_with_logits, PROBABILITIES))
    for kind, make, y in (("Values", values, y.tolist()), ("a Tensor", lambda: scores(3), y))
} | {
    f"{loss.__name__} {reduction}": lambda loss=loss, reduction=reduction: loss(scores(3, 4), CLASSES, reduction)
    for reduction in ("mean", "sum", "none")
    for loss in (F.cross_entropy, F.nll)
}
OTHERS: dict[str, Callable[[], Any]] = {
    "cross_entropy of Values": lambda: F.cross_entropy(values(), 1),
    "softmax of Values": lambda: F.softmax(values())[1],
    "clip of a Value": lambda: micrograd.clip(values()[0], 0, 1),
    "einsum": lambda: micrograd.einsum("ij,jk->ik", scores(2, 3), scores(3, 2)),
    "a compiled function": lambda: micrograd.compile(lambda a, b: a * b * b)(*values()[:2]),
    "layers": lambda: model_on(
        scores(3, 4), nn.Linear(4, 4, rng=np.random.default_rng(1)), nn.LayerNorm1d(4), nn.BatchNorm1d(4), nn.GELU()
    ),
}
SCALARS = {f"{op} of Values": lambda op=op: op.call(*[Value(x) for x in op.points(1)[0]]) for op in ops_list.OPS}
ARRAYS = {
    f"{op} of Tensors": lambda op=op: op.call(*leaves(max(op.runs(), key=lambda xs: xs[0].size)))
    for op in tensor_ops_list.OPS
}
ALL = SCALARS | ARRAYS | LOSSES | OTHERS


def gradients(out: Any, look: Callable[[Any], None]) -> list[np.ndarray]:
    """Of all leaves below what was made, in the order of the walk, when somebody has looked before."""
    outs = [x for x in (out if isinstance(out, Sequence) and not isinstance(out, Tensor) else [out]) if x.requires_grad]
    roots = [getattr(x, "_node", x) for x in outs]
    order = [node for node in topological(roots) if node._row]
    found = dict.fromkeys(n for node in (*order, *roots) for n in (node, *node._prev) if n.is_leaf and n.requires_grad)
    look(order)
    micrograd.backward(
        outs, [np.cos(np.arange(x.size)).reshape(x.shape) if isinstance(x, Tensor) else 1.0 for x in outs]
    )
    return [np.array(node.grad) for node in found]


def run_again(order: list[Any]) -> None:
    for node in order:
        node._row.forward(*(elsewhere(operand._data) for operand in node._prev))


def elsewhere(x: Any) -> Any:
    return 0.9 * x + 0.01 if np.asarray(x).dtype.kind == "f" else x


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_a_forward_function_that_is_called_again_changes_no_gradient(make: Callable[[], Any]):
    expected = gradients(make(), lambda order: None)
    found = gradients(make(), run_again)
    assert expected
    assert all(a.tobytes() == b.tobytes() for a, b in zip(found, expected, strict=True))
