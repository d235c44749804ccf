"""What has no counterpart here: its gradient is PyTorch's own.

A region is the part of PyTorch's autograd graph from a tensor down to the tensors that nodes stand for. It sends a
gradient down by calling PyTorch's autograd nodes one after another, as PyTorch's engine does. So it knows what this
part alone contributes, for any gradient, whatever function of PyTorch's has made it.

A backward pass of PyTorch's frees what its nodes need. A hook on the tensor lets the region send the gradient of that
pass just before, which is then all that it can send.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import compress
from typing import Any

import numpy as np
import torch  # type: ignore[reportMissingImports]

from ...scalars.rows import Many, nothing
from ...tensor.node import ArrayNode, new_node
from ...tensor.node import remember as record
from .agree import apart
from .counterparts import array

Edge = tuple[Any, int]  # an autograd node, and the place of one of its results


def known(edge: Edge) -> ArrayNode | None:
    """The node that stands for a result of one of PyTorch's autograd nodes; None if there is none."""
    fn, place = edge
    return fn.metadata.get((__name__, place), lambda: None)()


def remember(edge: Edge, node: ArrayNode) -> None:
    """Let a node stand for a result of one of PyTorch's autograd nodes, which does not keep it alive."""
    fn, place = edge
    fn.metadata[__name__, place] = weakref.ref(node)


class Region(Many):
    """The part of PyTorch's graph below a tensor, as the row of one node; `leaf` makes the nodes of leaves."""

    def __init__(self, t: Any, name: str, leaf: Callable[[Any], ArrayNode]):
        super().__init__(name, nothing, self.rule, needs_values=False)
        self.top: Edge = (t.grad_fn, t.output_nr)
        self.inside: dict[Any, None] = {}  # the autograd nodes, operands first
        self.border: dict[Edge, ArrayNode] = {}  # the nodes at its lower end
        self.sent: Any = None  # in PyTorch's pass
        stack, entered = [self.top], set()
        while stack:
            fn, _ = edge = stack[-1]
            node = leaf(fn.variable) if hasattr(fn, "variable") else known(edge)
            if node is None and fn not in entered:
                entered.add(fn)
                stack += [below for below in fn.next_functions if below[0]]
                continue
            stack.pop()
            if node is None:
                self.inside[fn] = None
            else:
                self.border[edge] = node
        self.node: Any = record(new_node(array(t)), self, tuple(self.border.values()), ())

    def rule(self, g: Any, *_: Any) -> list[np.ndarray]:
        """What is sent to each node at the border for the gradient g."""
        given = torch.from_numpy(g.copy())  # raises if g is no array: only PyTorch knows this rule
        if self.sent and apart(g, self.node.grad, self.node._enough * self.node._largest) <= self.node._enough:
            return self.sent
        return self.sending(given)

    @torch.no_grad()
    def sending(self, g: Any) -> list[np.ndarray]:
        """The same by PyTorch's autograd nodes."""
        sums = _Sums()
        sums[self.top].copy_(g)
        for fn in reversed(self.inside):
            for edge, part in _parts(fn, [sums[fn, place] for place in range(len(fn._input_metadata))]):
                sums[edge] += part.to_dense().sum_to_size(sums[edge].shape)  # as PyTorch undoes a broadcast
        return [array(sums[edge]) for edge in self.border]


class _Sums(dict[Edge, Any]):
    """The gradient that has arrived at an edge, at first zeros."""

    def __missing__(self, edge: Edge) -> Any:
        fn, place = edge
        kind = fn._input_metadata[place]
        return self.setdefault(edge, torch.zeros(kind.shape, dtype=kind.dtype, device=kind.device))


def _parts(fn: Any, given: list[Any]) -> Any:
    """Call an autograd node: where it sends something, and what."""
    if fn.name() == "CheckpointFunctionBackward":
        raise RuntimeError("a reentrant checkpoint adds to each .grad: call checkpoint with use_reentrant=False")
    edges, wanted = fn.next_functions, getattr(fn, "needs_input_grad", None)
    parts = fn.apply(*given) if wanted else fn(*given)
    parts = parts if isinstance(parts, tuple) else (parts,)
    if wanted:  # of a user's Function, which answers for every argument, and has an edge for each tensor
        edges, parts = [edge for edge in edges if edge[0]], compress(parts, wanted)
    return ((edge, part) for edge, part in zip(edges, parts, strict=False) if edge[0] and part is not None)
