"""What has no counterpart here: its gradient is PyTorch's own.

A region is the part of PyTorch's autograd graph from a tensor down to the tensors that nodes stand for. It sends a
gradient down by calling PyTorch's autograd nodes one after another, as PyTorch's engine does. So it knows what this
part alone contributes, for any gradient, whatever function of PyTorch's has made it.

A backward pass of PyTorch's frees what its nodes need. A hook on the tensor lets the region send the gradient of that
pass just before, which is then all that it can send.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
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


class Region:
    """The part of PyTorch's graph below a tensor, as the row of one node; `leaf` makes the nodes of leaves."""

    def __init__(self, t: Any, name: str, leaf: Callable[[Any], ArrayNode]):
        self.top: Edge = (t.grad_fn, t.output_nr)
        self.like: Any = t.new_empty(0)
        self.inside: dict[Any, None] = {}  # the autograd nodes, operands first
        self.border: dict[Edge, ArrayNode] = {}  # the nodes at its lower end
        self.sent: Any = None  # PyTorch's gradient, and what was sent for it
        stack, entered = [self.top], set()
        while stack:
            fn, _ = edge = stack[-1]
            node = leaf(fn.variable) if hasattr(fn, "variable") else known(edge)
            if node is None and fn not in entered:
                entered.add(fn)
                stack += [below for below in fn.next_functions if below[0] is not None]
                continue
            stack.pop()
            if node is None:
                self.inside[fn] = None
            else:
                self.border[edge] = node
        row, below = Many(name, nothing, self.rule, needs_values=False), tuple(self.border.values())
        self.node: Any = record(new_node(array(t)), row, below, [node._data for node in below])

    def rule(self, g: Any, *_: Any) -> list[np.ndarray]:
        """What is sent to each node at the border for the gradient g."""
        if not isinstance(g, np.ndarray) or g.shape != self.node._data.shape:  # PyTorch's nodes do not check it
            raise TypeError("only PyTorch knows this rule")
        try:
            return self.send(torch.from_numpy(g))
        except RuntimeError as error:
            if self.sent is None or apart(g, self.sent[0]) > torch.finfo(self.like.dtype).eps ** 0.5:
                why = str(error).partition(".")[0]
                how = "show the tensor that backward() was called on, or call backward(retain_graph=True)"
                raise RuntimeError(f"an operation of PyTorch\u2019s sends no gradient ({why}): {how}") from error
            return self.sent[1]

    def see(self, g: Any) -> None:
        """Send the gradient of PyTorch's pass, while that is possible."""
        self.sent = array(g), self.send(g)

    @torch.no_grad()
    def send(self, g: Any) -> list[np.ndarray]:
        """What PyTorch's autograd nodes send to each node at the border."""
        sums = {self.top: g.to(self.like)}
        for fn in reversed(self.inside):
            zeros = {(fn, k): _zeros(kind) for k, kind in enumerate(fn._input_metadata)}
            for edge, part in _parts(fn, [sums.get(each, zero) for each, zero in zeros.items()]):
                zero = _zeros(edge[0]._input_metadata[edge[1]])
                sums[edge] = sums.get(edge, zero) + part.sum_to_size(zero.shape)  # as PyTorch undoes a broadcast
        return [array(sums[edge]) if edge in sums else np.zeros(node._data.shape) for edge, node in self.border.items()]


def _zeros(kind: Any) -> Any:
    return torch.zeros(kind.shape, dtype=kind.dtype, device=kind.device)


def _parts(fn: Any, given: list[Any]) -> Iterator[tuple[Edge, Any]]:
    """Call an autograd node: where it sends something, and what."""
    edges, call = fn.next_functions, fn
    wanted = getattr(fn, "needs_input_grad", None)
    if wanted:  # of a user's Function, which answers for every argument, and has an edge for each tensor
        edges, call = [edge for edge in edges if edge[0] is not None], fn.apply
    parts = call(*given)
    parts = parts if isinstance(parts, tuple) else (parts,)
    parts = [part for part, asked in zip(parts, wanted, strict=False) if asked] if wanted else parts
    return ((edge, part) for edge, part in zip(edges, parts, strict=False) if edge[0] and part is not None)
