"""Optimizers, and the clipping of gradients.

An update is plain arithmetic on `p.data` and `p.grad`, which are numbers or arrays; no node is made. What an optimizer
remembers of a parameter `p` is `optimizer.state[p]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import copy, deepcopy
from typing import Any

from ..engine.graph import Node
from .checks import no_count, not_negative, parameters_of, parts_of, unlike


class Optimizer:
    """What all optimizers share. One of your own defines `_update`.

    Args:
        params: the leaves to train, Values or Tensors; a generator of them will do.
        lr: the learning rate, if it has one.
        settings: its other settings; they become attributes, as `lr` does, and are part of its state.
    """

    lr: float
    weight_decay: float

    # What `_update` remembers of a parameter, by name: True if it is of the parameter's shape, False if it is a count.
    _remembers: Mapping[str, bool] | None = None

    def __init__(self, params: Iterable[Any], lr: float | None = None, **settings: Any):
        self.params = parameters_of(params, type(self).__name__)
        self.state: dict[Any, dict[str, Any]] = {p: {} for p in self.params}
        vars(self).update(settings if lr is None else {"lr": lr, **settings})
        self._check()

    def _check(self) -> None:
        """Validate the settings."""
        for name in ("lr", "weight_decay", "momentum"):
            if name in vars(self):
                setattr(self, name, not_negative(getattr(self, name), name))

    def zero_grad(self) -> None:
        """Forget the gradients: `.grad` of every parameter is as fresh again, 0 for a Value, None for a Tensor."""
        for p in self.params:
            p.grad = 0 if isinstance(p, Node) else None

    reset_grad = zero_grad

    def step(self) -> None:
        """Move every parameter once, by its `.grad`. A nan in a gradient goes on into the parameter."""
        for p in self.params:
            if p.grad is not None:  # else: a Tensor that no backward pass has reached
                self._update(p, _plain(p.grad), self.state[p])

    def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
        """Change `p.data`, given the gradient and what was remembered of p."""
        raise NotImplementedError(f"{type(self).__name__} needs a method _update(p, g, state)")

    def state_dict(self) -> dict[str, Any]:
        """A copy of the settings and of what is remembered, in the order of the parameters."""
        return deepcopy({"settings": self._settings(), "state": [self.state[p] for p in self.params]})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what the `state_dict` of such an optimizer gave. All of it is checked before anything changes."""
        settings, remembered = parts_of(state)
        if set(settings) != set(self._settings()):
            raise ValueError(f"found settings {sorted(settings)}, this one has {sorted(self._settings())}")
        if len(remembered) != len(self.params):
            raise ValueError(f"found a state of {len(remembered)} parameters, this one has {len(self.params)}")
        trial = copy(self)
        vars(trial).update(deepcopy(dict(settings)))
        trial._check()
        pairs = zip(self.params, remembered, strict=True)
        if problems := [f"parameter {i} {bad}" for i, (p, x) in enumerate(pairs) for bad in self._misfits(p, x)]:
            raise ValueError(f"this state does not fit, and nothing was loaded: {'; '.join(problems)}")
        trial.state = {p: dict(x) for p, x in zip(self.params, deepcopy(list(remembered)), strict=True)}
        vars(self).update(vars(trial))

    def _misfits(self, p: Any, found: Any) -> list[str]:
        """What is wrong with a state for the parameter p: sentences that lack their subject."""
        if not isinstance(found, Mapping):
            return [f"has a {type(found).__name__} for a state, not a dict"]
        names = self._remembers
        if names is not None and found and set(found) != set(names):
            return [f"remembers {sorted(found)}, not {sorted(names)}"]
        problems = [(name, unlike(p, x) if names[name] else no_count(x)) for name, x in found.items()] if names else []
        return [f"has a {name} that {problem}" for name, problem in problems if problem]

    def _settings(self) -> dict[str, Any]:
        return {name: x for name, x in vars(self).items() if name not in ("params", "state")}

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={x}" for name, x in self._settings().items())
        return f"{type(self).__name__}({len(self.params)} parameters, {settings})"


class SGD(Optimizer):
    """Stochastic gradient descent: p -= lr * g, or with momentum p -= lr * velocity.

    >>> from micrograd import Value
    >>> x = Value(1.0)
    >>> optimizer = SGD([x], lr=0.25)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> x.data
    0.5
    """

    momentum: float
    nesterov: bool
    _remembers = {"velocity": True}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ):
        super().__init__(params, lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov)

    def _check(self) -> None:
        super()._check()
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov=True looks ahead along the momentum: it needs momentum > 0")

    def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
        if self.weight_decay:
            g = g + self.weight_decay * p.data
        if self.momentum:
            velocity = state["velocity"] = self.momentum * state.get("velocity", 0.0) + g
            g = g + self.momentum * velocity if self.nesterov else velocity
        _subtract(p, self.lr * g)


class Adam(Optimizer):
    """Steps of about lr, whatever the gradient's size (Kingma and Ba, 2014): p -= lr * mean / sqrt(mean of squares).

    Both means forget at the rates `betas`. `weight_decay` adds to the gradient.
    """

    betas: tuple[float, ...]
    eps: float
    _remembers = {"steps": False, "mean": True, "squares": True}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr, weight_decay=weight_decay, betas=betas, eps=eps)

    def _check(self) -> None:
        super()._check()
        betas, eps = self.betas, self.eps
        if not isinstance(betas, (tuple, list)) or len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas must be two numbers from 0 to below 1, found {betas}")
        if not eps > 0:
            raise ValueError(f"eps must be above 0, found {eps}: it stands where a gradient of 0 would be divided by")
        self.betas = tuple(betas)

    def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
        g = self._decay(p, g)
        beta1, beta2 = self.betas
        t = state["steps"] = state.get("steps", 0) + 1
        mean = state["mean"] = beta1 * state.get("mean", 0.0) + (1 - beta1) * g
        squares = state["squares"] = beta2 * state.get("squares", 0.0) + (1 - beta2) * g * g
        mean, squares = mean / (1 - beta1**t), squares / (1 - beta2**t)  # they began at 0: make up for it
        _subtract(p, self.lr * mean / (squares**0.5 + self.eps))

    def _decay(self, p: Any, g: Any) -> Any:
        return g + self.weight_decay * p.data if self.weight_decay else g


class AdamW(Adam):
    """Adam with the weight decay beside the gradient instead of in it (Loshchilov and Hutter, 2017)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ):
        super().__init__(params, lr, betas, eps, weight_decay)

    def _decay(self, p: Any, g: Any) -> Any:
        _subtract(p, self.lr * self.weight_decay * p.data)
        return g


def _subtract(p: Any, change: Any) -> None:
    """p -= change: no node is made, and what shares a Tensor's memory follows."""
    p.data -= change


def clip_grad_norm(params: Iterable[Any], max_norm: float) -> float:
    """Shrink the gradients together, so that their Euclidean norm is at most `max_norm`; the norm before is returned.

    As in PyTorch, a norm that is nan or infinite makes nan of gradients, which the next step will show.
    """
    not_negative(max_norm, "max_norm")
    reached = [p for p in parameters_of(params, "clip_grad_norm") if p.grad is not None]
    norm = math.hypot(*[_norm(_plain(p.grad)) for p in reached])
    factor = max_norm / (norm + 1e-6)
    if not factor >= 1:
        for p in reached:
            p.grad = _plain(p.grad) * factor
    return norm


def _plain(grad: Any) -> Any:
    return getattr(grad, "_node", grad)._data if hasattr(grad, "_apply") else grad  # a node, under create_graph=True


def _norm(grad: Any) -> float:
    """The Euclidean norm; the greatest element comes out first, so that no square overflows."""
    if isinstance(grad, (float, int)):
        return abs(grad)
    top = float(abs(grad).max()) if grad.size else 0.0
    return top * float(((grad / top) ** 2).sum()) ** 0.5 if 0 < top < math.inf else top
