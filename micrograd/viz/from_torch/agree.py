"""Are the gradients PyTorch's? What the page says of that, and which node it marks.

A hook on each of PyTorch's tensors hands its gradient to the node that stands for the tensor, as the node's `.grad`. If
PyTorch has made no backward pass from the tensor that is shown, it is asked for the gradients. That changes no `.grad`
of PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch  # type: ignore[reportMissingImports]

from ..drawing.data import label_of, op_of
from .counterparts import array

OURS_ALONE, DIFFERS = "torch only", "\u2260 PyTorch"  # marks of nodes
_latest = [-1]  # PyTorch's number of the last pass that called a hook


def saw(node: Any, g: torch.Tensor) -> None:
    """Note PyTorch's gradient of a node, in which pass that was, and whether the pass began at this node."""
    task = torch._C._current_graph_task_id()
    node._pass, node._began = task, task != _latest[0]
    _latest[0] = task
    node.grad = array(g)


def apart(a: np.ndarray, b: np.ndarray, least: float = 0.0) -> float:
    """The largest difference of two arrays, relative to the largest number in b, which is taken to be this at least."""
    finite = np.isfinite(b)
    if a.shape != b.shape or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    a, b = a[finite], b[finite]
    return float(abs(a - b).max(initial=0.0) / (max(abs(b).max(initial=0.0), least) or 1.0))


def remark(played: Any) -> str:
    """What the page of a graph says, whose first node with another gradient than PyTorch's is marked."""
    nodes, grads = played.graph.nodes, played.back.grads
    root = nodes[played.graph.roots[0]]
    if not _began(root):
        _ask(root, nodes)
    kinds = sorted({str(node._dtype).removeprefix("torch.") for node in nodes if hasattr(node, "_dtype")})
    said = f"A PyTorch program in {', '.join(kinds)}, computed again in float64."
    if not grads:
        return said
    if not _began(root):
        return f"{said} PyTorch can make no backward pass from here any more, so its gradients are not compared."
    return f"{said} {_compared([n for n in nodes if getattr(n, '_pass', -1) == root._pass], grads, played.names)}"


def _began(root: Any) -> bool:
    """True if PyTorch's last pass through this node began here, as ours does."""
    return getattr(root, "_began", False) and bool((root.grad == 1).all())


def _ask(root: Any, nodes: Sequence[Any]) -> None:
    """Let PyTorch compute the gradients."""
    kind = root._edge.node._input_metadata[root._edge.output_nr]
    ones = torch.ones(kind.shape, dtype=kind.dtype, device=kind.device)
    leaves = [node._edge for node in nodes if node.is_leaf and node.requires_grad]
    try:
        torch.autograd.grad([root._edge], leaves, [ones], retain_graph=True, allow_unused=True)
    except RuntimeError:  # a pass has freed its graph
        root._began = False


def _compared(nodes: Sequence[Any], grads: Any, names: Any) -> str:
    """How far the gradients of these nodes agree; the first on the way back where they do not is marked."""
    enough = max(node._eps for node in nodes) ** 0.5  # half of the digits
    least = enough * max(float(abs(node.grad).max(initial=0.0)) for node in nodes)
    off = {node: apart(grads[node], node.grad, least) for node in reversed(nodes) if node in grads}
    for node in nodes:
        node._mark = node._mark.replace(DIFFERS, "").strip()
    first = next((node for node in off if not off[node] <= enough), None)
    if first is None:
        return f"All {len(off)} gradients agree with PyTorch\u2019s, to {max(off.values()):.0e} of the largest number."
    first._mark = f"{first._mark} {DIFFERS}".strip()
    name = label_of(first) or names.get(id(first)) or op_of(first) or "a leaf"
    return (
        f"On the way back, the first gradient that differs from PyTorch\u2019s is that of {name}, by {off[first]:.0e}."
    )
