"""Whether the gradients agree with PyTorch's: the remark of the page, and the node that it marks.

A hook on each PyTorch tensor hands the tensor's gradient to the node that stands for the tensor, as the node's `.grad`.
If PyTorch has made no backward pass from the tensor that is shown, `remark` lets it make one, which changes no `.grad`
of PyTorch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # type: ignore[reportMissingImports]

from .counterparts import array

OURS_ALONE, DIFFERS = "torch only", " \u2260 PyTorch"  # marks of nodes
_latest: list[Any] = [-1, 0.0]  # PyTorch's id of the last pass that called a hook, and its largest gradient so far


def saw(node: Any, g: Any) -> None:
    """Note PyTorch's gradient of a node, the pass that computed it, and whether the pass began at this node."""
    pass_id = torch._C._current_graph_task_id()
    node._began = pass_id != _latest[0]
    if node._began:
        _latest[:] = pass_id, 0.0
    node.grad = array(g)
    _latest[1] = max(_latest[1], abs(node.grad).max(initial=0.0))
    node._pass, node._largest = _latest


def apart(a: np.ndarray, b: np.ndarray, least: float = 0.0) -> float:
    """The largest difference of two arrays, relative to the largest number in b or, if that is smaller, to `least`.

    It is inf or nan if the shapes differ, or if only one of two numbers is finite.
    """
    if a.shape != b.shape:
        return np.inf
    size = max(abs(b[np.isfinite(b)]).max(initial=0.0), least) or 1.0
    differ = ~np.isclose(a, b, 0, 0, equal_nan=True)
    return float(abs(a[differ] - b[differ]).max(initial=0.0) / size)


def remark(played: Any) -> str:
    """The remark of a graph's page; the first node whose gradient differs from PyTorch's is marked."""
    nodes, grads, root = played.graph.nodes, played.back.grads, played.root
    dtypes = sorted({str(node._like.dtype).removeprefix("torch.") for node in nodes if hasattr(node, "_like")})
    program = f"A PyTorch program in {', '.join(dtypes)}, computed again in float64."
    if not _has_begun(root, nodes) or not grads:
        return f"{program} PyTorch can make no backward pass from here any more, so its gradients are not compared."
    nodes = [node for node in nodes if getattr(node, "_pass", -1) == root._pass]
    enough = max(node._enough for node in nodes)
    least = enough * max(node._largest for node in nodes)
    errors = {node: apart(grads[node], node.grad, least) for node in reversed(nodes) if node in grads}
    for node in nodes:
        node._mark = node._mark.removesuffix(DIFFERS)
    first = next((node for node, error in errors.items() if not error <= enough), None)
    if first is None:
        largest = max(errors.values())
        return f"{program} All {len(errors)} gradients agree with PyTorch\u2019s, to {largest:.0e} of the largest."
    first._mark += DIFFERS
    name, error = first.label or played.names.get(id(first), first._op), errors[first]
    return f"{program} Going back, the first gradient that differs from PyTorch’s is that of {name}, by {error:.0e}."


def _has_begun(root: Any, nodes: list[Any]) -> bool:
    """Whether PyTorch's last pass through the root began there, as ours does, if need be after a new pass."""
    if getattr(root, "_began", False) and (root.grad == 1).all():
        return True
    ones = root._like.new_ones(root._data.shape)
    leaves = [node._edge for node in nodes if node.is_leaf and node.requires_grad]
    try:
        torch.autograd.grad([root._edge], leaves, [ones], retain_graph=True, allow_unused=True)
    except RuntimeError:  # a pass has freed its graph
        root._began = False
    return root._began
