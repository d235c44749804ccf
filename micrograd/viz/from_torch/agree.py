"""Are the gradients PyTorch's? What the page says of that, and which node it marks.

A hook on each of PyTorch's tensors hands its gradient to the node that stands for the tensor, as the node's `.grad`. If
PyTorch has made no backward pass from the tensor that is shown, it is asked for the gradients. That changes no `.grad`
of PyTorch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # type: ignore[reportMissingImports]

from .counterparts import array

OURS_ALONE, DIFFERS = "torch only", " \u2260 PyTorch"  # marks of nodes
_latest: list[Any] = [-1, 0.0]  # PyTorch's number of the last pass that called a hook, and its largest number so far


def saw(node: Any, g: Any) -> None:
    """Note PyTorch's gradient of a node, in which pass that was, and whether the pass began at this node."""
    task = torch._C._current_graph_task_id()
    node._began = task != _latest[0]
    if node._began:
        _latest[:] = task, 0.0
    node.grad = array(g)
    _latest[1] = max(_latest[1], abs(node.grad).max(initial=0.0))
    node._pass, node._largest = _latest


def apart(a: np.ndarray, b: np.ndarray, least: float = 0.0) -> float:
    """The largest difference of two arrays, relative to the largest number in b, which is taken to be this at least.

    It is inf or nan where only one of the two is finite, or they differ in shape.
    """
    if a.shape != b.shape:
        return np.inf
    size = max(abs(b[np.isfinite(b)]).max(initial=0.0), least) or 1.0
    off = ~np.isclose(a, b, 0, 0, equal_nan=True)
    return float(abs(a[off] - b[off]).max(initial=0.0) / size)


def remark(played: Any) -> str:
    """What the page of a graph says, whose first node with another gradient than PyTorch's is marked."""
    nodes, grads, root = played.graph.nodes, played.back.grads, played.root
    kinds = sorted({str(node._like.dtype).removeprefix("torch.") for node in nodes if hasattr(node, "_like")})
    said = f"A PyTorch program in {', '.join(kinds)}, computed again in float64."
    if not _has_begun(root, nodes) or not grads:
        return f"{said} PyTorch can make no backward pass from here any more, so its gradients are not compared."
    nodes = [node for node in nodes if getattr(node, "_pass", -1) == root._pass]
    enough = max(node._enough for node in nodes)
    least = enough * max(node._largest for node in nodes)
    off = {node: apart(grads[node], node.grad, least) for node in reversed(nodes) if node in grads}
    for node in nodes:
        node._mark = node._mark.removesuffix(DIFFERS)
    first = next((node for node in off if not off[node] <= enough), None)
    if first is None:
        return f"{said} All {len(off)} gradients agree with PyTorch\u2019s, to {max(off.values()):.0e} of the largest."
    first._mark += DIFFERS
    name = first.label or played.names.get(id(first), first._op)
    return f"{said} Going back, the first gradient that differs from PyTorch’s is that of {name}, by {off[first]:.0e}."


def _has_begun(root: Any, nodes: list[Any]) -> bool:
    """True if PyTorch's last pass through the root began there, as ours does; else it is asked for one."""
    if getattr(root, "_began", False) and (root.grad == 1).all():
        return True
    ones = root._like.new_ones(root._data.shape)
    leaves = [node._edge for node in nodes if node.is_leaf and node.requires_grad]
    try:
        torch.autograd.grad([root._edge], leaves, [ones], retain_graph=True, allow_unused=True)
    except RuntimeError:  # a pass has freed its graph
        root._began = False
    return root._began
