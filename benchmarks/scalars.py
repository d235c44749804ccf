"""A scalar engine in the manner of microgpt (Karpathy, 2026), written for the benchmark: what `compile` is beside.

A node keeps its operands and, beside each, its local derivative, a number; backward is one loop over them.
"""

from __future__ import annotations

import math
from typing import Any


class Scalar:
    """A number, what it was made from, and the local derivatives."""

    __slots__ = ("data", "grad", "locals", "operands")

    def __init__(self, data: float, operands: tuple[Scalar, ...] = (), local: tuple[float, ...] = ()):
        self.data, self.grad, self.operands, self.locals = data, 0.0, operands, local

    def __add__(self, other: Any) -> Scalar:
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other: Any) -> Scalar:
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, n: float) -> Scalar:
        return Scalar(self.data**n, (self,), (n * self.data ** (n - 1),))

    def exp(self) -> Scalar:
        e = math.exp(self.data)
        return Scalar(e, (self,), (e,))

    def log(self) -> Scalar:
        return Scalar(math.log(self.data), (self,), (1 / self.data,))

    def relu(self) -> Scalar:
        return Scalar(max(0.0, self.data), (self,), (float(self.data > 0),))

    def __neg__(self) -> Scalar:
        return self * -1.0

    def __sub__(self, other: Any) -> Scalar:
        return self + (-other)

    def __truediv__(self, other: Any) -> Scalar:
        return self * other**-1

    __radd__, __rmul__ = __add__, __mul__

    def backward(self) -> None:
        """Add to the grads of all that this was made from."""
        order: list[Scalar] = []
        seen: set[Scalar] = set()
        waiting: list[tuple[Scalar, bool]] = [(self, False)]
        while waiting:  # without recursion, for which a sum of many terms is too deep
            node, done = waiting.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                waiting.append((node, True))
                waiting.extend((operand, False) for operand in node.operands)
        self.grad = 1.0
        for node in reversed(order):
            for operand, local in zip(node.operands, node.locals, strict=True):
                operand.grad += local * node.grad
