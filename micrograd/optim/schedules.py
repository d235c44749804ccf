"""Schedules: the learning rate as a function of the number of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from typing import Any

from .checks import not_negative, steps
from .optimizers import Optimizer


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
            for rate, name in ((lr, "lr"), (trial.lr_at(steps(trial.t + 1, "t + 1")), "the next lr")):
                not_negative(rate, name)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(f"this state gives no learning rate, and nothing was loaded: {error}") from error
        vars(self).update(settings)
        self.optimizer.lr = lr


class LambdaLR(LRScheduler):
    """base_lr * lr_lambda(t), for any function; the others are such functions with a name.

    >>> from micrograd.optim import SGD
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
        self.step_size, self.gamma = steps(step_size, "step_size"), gamma
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
        self.total_iters = steps(total_iters, "total_iters")
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        done = min(t / self.total_iters, 1.0)
        return self.base_lr * (self.start + (self.end - self.start) * done)


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` steps, along half a wave of a cosine (Loshchilov and Hutter, 2016)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0):
        self.T_max, self.eta_min = steps(T_max, "T_max"), eta_min
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * t / self.T_max)) / 2
