"""Optimizers: `SGD`, `Adam`, `AdamW`; learning-rate schedules; `clip_grad_norm`. All of them as PyTorch has them.

    optimizer = SGD(model.parameters(), lr=1.0)
    schedule = CosineAnnealingLR(optimizer, T_max=100)
    for _ in range(100):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        schedule.step()

An update is plain arithmetic on `p.data` and `p.grad`, which are numbers or arrays; no node is made. What an optimizer
remembers of a parameter `p` stands in `optimizer.state[p]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from copy import copy, deepcopy
from numbers import Real
from types import MethodType
from typing import Any

from .graph import Node


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
        self.params = _parameters(params, type(self).__name__)
        self.state: dict[Any, dict[str, Any]] = {p: {} for p in self.params}
        vars(self).update(settings if lr is None else {"lr": lr, **settings})
        self._check()

    def _check(self) -> None:
        """Validate the settings."""
        for name in ("lr", "weight_decay", "momentum"):
            if name in vars(self):
                setattr(self, name, _not_negative(getattr(self, name), name))

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
        settings, remembered = _parts(state)
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
        problems = (
            [(name, _unlike(p, x) if names[name] else _no_count(x)) for name, x in found.items()] if names else []
        )
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
    _not_negative(max_norm, "max_norm")
    reached = [p for p in _parameters(params, "clip_grad_norm") if p.grad is not None]
    norm = math.hypot(*[_norm(_plain(p.grad)) for p in reached])
    factor = max_norm / (norm + 1e-6)
    if not factor >= 1:
        for p in reached:
            p.grad = _plain(p.grad) * factor
    return norm


# ---------------------------------------------------------------------------------------------------------------------
# Schedules: the learning rate as a function of the number of steps


class LRScheduler:
    """Sets `optimizer.lr` to `lr_at(t)`, with t = 0 at first and one more after each `step()`.

    One of your own defines `lr_at`; `base_lr` is the rate that the optimizer came with.
    """

    def __init__(self, optimizer: Optimizer):
        if not isinstance(optimizer, Optimizer) or not hasattr(optimizer, "lr"):
            raise TypeError(f"a schedule sets the lr of an optimizer, found {type(optimizer).__name__}, which has none")
        self.optimizer, self.base_lr = optimizer, optimizer.lr
        self.t = 0
        optimizer.lr = self.lr_at(0)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        raise NotImplementedError(f"{type(self).__name__} needs a method lr_at(t)")

    def step(self) -> None:
        """One step further."""
        self.t += 1
        self.optimizer.lr = self.lr_at(self.t)

    def state_dict(self) -> dict[str, Any]:
        """A copy of the settings (but not of functions), of `t` and `base_lr`, and the optimizer's rate, as `lr`."""
        settings = {name: x for name, x in vars(self).items() if name != "optimizer" and not callable(x)}
        return deepcopy({"lr": self.optimizer.lr, **settings})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where the schedule was that gave this state. All of it is checked before anything changes.

        The optimizer's rate is set too, so it does not matter whether the optimizer's own state is loaded before.
        """
        names, trial = self.state_dict().keys(), copy(self)
        if not isinstance(state, Mapping) or state.keys() != names:
            raise ValueError(f"no state of a {type(self).__name__}, which has {', '.join(names)}: found {state!r:.100}")
        settings = deepcopy(dict(state))
        lr = settings.pop("lr")
        vars(trial).update(settings)
        try:
            for rate, name in ((lr, "lr"), (trial.lr_at(_steps(trial.t + 1, "t + 1")), "the next lr")):
                _not_negative(rate, name)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(f"this state gives no learning rate, and nothing was loaded: {error}") from error
        vars(self).update(settings)
        self.optimizer.lr = lr


class LambdaLR(LRScheduler):
    """base_lr * lr_lambda(t), for any function; the others are such functions with a name.

    >>> from micrograd import Value
    >>> optimizer = SGD([Value(0.0)], lr=2.0)
    >>> schedule = LambdaLR(optimizer, lambda t: min(t + 1, 10) / 10)
    >>> schedule.step()
    >>> optimizer.lr
    0.4
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float]):
        if not callable(lr_lambda):
            raise TypeError(f"lr_lambda is a function of the step, found {type(lr_lambda).__name__}")
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        return self.base_lr * self.lr_lambda(t)


class StepLR(LRScheduler):
    """The rate times `gamma` after every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1):
        self.step_size, self.gamma = _steps(step_size, "step_size"), gamma
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        return self.base_lr * self.gamma ** (t // self.step_size)


class LinearLR(LRScheduler):
    """A warm-up: from `start_factor` times the rate to `end_factor` times it, evenly in `total_iters` steps."""

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5
    ):
        self.start, self.end = start_factor, end_factor
        self.total_iters = _steps(total_iters, "total_iters")
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        done = min(t / self.total_iters, 1.0)
        return self.base_lr * (self.start + (self.end - self.start) * done)


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` steps, along half a wave of a cosine (Loshchilov and Hutter, 2016)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0):
        self.T_max, self.eta_min = _steps(T_max, "T_max"), eta_min
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * t / self.T_max)) / 2


# ---------------------------------------------------------------------------------------------------------------------
# Arguments, checked; gradients, as numbers or arrays


def _plain(grad: Any) -> Any:
    return getattr(grad, "_node", grad)._data if hasattr(grad, "_apply") else grad  # a node, under create_graph=True


def _norm(grad: Any) -> float:
    """The Euclidean norm; the greatest element comes out first, so that no square overflows."""
    if isinstance(grad, (float, int)):
        return abs(grad)
    top = float(abs(grad).max()) if grad.size else 0.0
    return top * float(((grad / top) ** 2).sum()) ** 0.5 if 0 < top < math.inf else top


def _parameters(params: Any, who: str) -> list[Any]:
    """The parameters as a non-empty list of distinct, trainable leaves; raises otherwise."""
    found = f"{who} needs a list of parameters, found"
    if hasattr(params, "parameters"):
        raise TypeError(f"{found} {type(params).__name__}: give it .parameters() of that")
    if isinstance(params, MethodType):
        raise TypeError(f"{found} the method {params.__name__} itself: call it, {params.__name__}()")
    if _is_node(params) or isinstance(params, (Mapping, Set, str)) or not isinstance(params, Iterable):
        raise TypeError(f"{found} {type(params).__name__}: put what is to be trained in a list")
    listed = list(params)
    if not listed:
        raise ValueError(f"{found} an empty one: there is nothing to train")
    for i, p in enumerate(listed):
        _check_parameter(p, f"parameter {i} of {who}")
    if len(set(listed)) < len(listed):
        seen: set[Any] = set()
        twice = next(i for i, p in enumerate(listed) if p in seen or seen.add(p))
        raise ValueError(f"parameter {twice} of {who} is in the list twice: it would be moved twice a step")
    return listed


def _is_node(x: Any) -> bool:
    return isinstance(x, Node) or hasattr(x, "_node")  # the latter is a Tensor


def _check_parameter(p: Any, name: str) -> None:
    if not _is_node(p):
        raise TypeError(f"{name} is a {type(p).__name__}, not a Value or a Tensor: plain numbers cannot be trained")
    if not p.requires_grad:
        raise ValueError(f"{name} is a constant, {p!r}: make it with requires_grad=True, or leave it out")
    if not p.is_leaf:
        raise ValueError(f"{name} was made by '{p._op}' of others: train those, or a leaf made of its detach()")


def _parts(state: Any) -> tuple[Mapping[str, Any], Sequence[Any]]:
    match state:
        case {"settings": Mapping() as settings, "state": list() | tuple() as remembered, **others} if not others:
            return settings, remembered
    raise ValueError("no state of an optimizer: it needs a dict 'settings' and a list 'state', as state_dict() gives")


def _unlike(p: Any, x: Any) -> str:
    """How x differs from what may be remembered of p: a number of a Value, an array of the same shape of a Tensor."""
    if isinstance(p, Node):
        return "" if isinstance(x, Real) and not isinstance(x, bool) else f"is a {type(x).__name__}, not a number"
    if not hasattr(x, "dtype"):
        return f"is a {type(x).__name__}, not an array"
    if x.shape != p.shape:
        return f"has shape {x.shape}, not {p.shape}"
    return "" if x.dtype <= p.dtype else f"has dtype {x.dtype}, which does not fit into {p.dtype} without loss"


def _no_count(x: Any) -> str:
    return "" if type(x) is int and x >= 1 else f"is {x!r:.50}, not a count from 1 on"


def _not_negative(x: Any, name: str) -> float:
    if isinstance(x, bool) or not isinstance(x, Real):
        raise TypeError(f"{name} must be a number, found {type(x).__name__}")
    number = float(x)
    if not number >= 0:
        raise ValueError(f"{name} must not be below 0, found {x}")
    return number


def _steps(n: Any, name: str) -> int:
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"{name} must be a whole number of steps, at least 1; found {n!r}")
    return n
