"""Functions without a counterpart here, whose gradient is PyTorch's own.

A region is a subgraph of PyTorch's autograd graph, from a tensor down to the tensors that nodes stand for. It sends a
gradient down by calling PyTorch's autograd nodes one after another, as PyTorch's engine does. So it knows the gradients
that this subgraph alone sends, for any gradient that arrives, whatever PyTorch function made the subgraph.

A backward pass of PyTorch's frees the values that its nodes saved. A hook on the tensor lets the region send the
gradient of that pass just before. From then on this is the only gradient that the region can send.
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
    """The node that stands for a result of one of PyTorch's autograd nodes, or None."""
    fn, place = edge
    return fn.metadata.get((__name__, place), lambda: None)()


def remember(edge: Edge, node: ArrayNode) -> None:
    """Let a node stand for a result of one of PyTorch's autograd nodes, without keeping the node alive."""
    fn, place = edge
    fn.metadata[__name__, place] = weakref.ref(node)


class Region(Many):
    """The subgraph of PyTorch's graph below a tensor, as the row of one node; `leaf` makes the nodes of leaves."""

    def __init__(self, t: Any, name: str, leaf: Callable[[Any], ArrayNode]):
        super().__init__(name, nothing, self.rule, reads_values=False)
        self.top: Edge = (t.grad_fn, t.output_nr)
        self.inside: dict[Any, None] = {}  # the autograd nodes, operands first
        self.border: dict[Edge, ArrayNode] = {}  # the nodes at its lower end
        self.sent: Any = None  # the gradients that it sent in PyTorch's pass
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
        """The gradient that is sent to each node at the border, for the gradient g."""
        ours = torch.from_numpy(g.copy())  # raises an error if g is no array, since only PyTorch knows this rule
        if self.sent and apart(g, self.node.grad, self.node._enough * self.node._largest) <= self.node._enough:
            return self.sent
        return self.sending(ours)

    @torch.no_grad()
    def sending(self, g: Any) -> list[np.ndarray]:
        """The gradients that PyTorch's autograd nodes send to the border."""
        sums = _Sums()
        sums[self.top].copy_(g)
        for fn in reversed(self.inside):
            for edge, sent in _sent(fn, [sums[fn, place] for place in range(len(fn._input_metadata))]):
                sums[edge] += sent.to_dense().sum_to_size(sums[edge].shape)  # as PyTorch undoes a broadcast
        return [array(sums[edge]) for edge in self.border]


class _Sums(dict[Edge, Any]):
    """The sum of the gradients that have arrived at each edge, at first zeros."""

    def __missing__(self, edge: Edge) -> Any:
        fn, place = edge
        like = fn._input_metadata[place]
        return self.setdefault(edge, torch.zeros(like.shape, dtype=like.dtype, device=like.device))


def _sent(fn: Any, grads: list[Any]) -> Any:
    """Call an autograd node; return the edges along which it sends gradients, each with its gradient."""
    if fn.name() == "CheckpointFunctionBackward":
        raise RuntimeError("a reentrant checkpoint adds to each .grad: call checkpoint with use_reentrant=False")
    edges, needed = fn.next_functions, getattr(fn, "needs_input_grad", None)
    sent = fn.apply(*grads) if needed else fn(*grads)
    sent = sent if isinstance(sent, tuple) else (sent,)
    if needed:  # a user's Function, which returns a gradient for every argument, but has edges for tensors only
        edges, sent = [edge for edge in edges if edge[0]], compress(sent, needed)
    return ((edge, g) for edge, g in zip(edges, sent, strict=False) if edge[0] and g is not None)
