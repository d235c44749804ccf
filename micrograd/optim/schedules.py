"""Learning-rate schedules: the learning rate as a function of the number of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from typing import Any

from .checks import Settings, not_negative, steps
from .optimizers import Optimizer


class LRScheduler(Settings):
    """Base class of schedules, which set `optimizer.lr` to `lr_at(t)`, where t counts the calls of `step()`.

    Use it for a schedule that has settings. A subclass defines `lr_at`, and `base_lr` is the learning rate that
    the optimizer had. For a formula alone, `LambdaLR` is shorter.

    Args:
        optimizer: an optimizer with a learning rate.

    Raises:
        TypeError: `optimizer` is not an optimizer, or has no learning rate.

    >>> from micrograd import Value
    >>> from micrograd.optim import SGD
    >>> class InverseTime(LRScheduler):
    ...     def lr_at(self, t):
    ...         return self.base_lr / (1 + t)
    >>> optimizer = SGD([Value(0.0)], lr=2.0)
    >>> InverseTime(optimizer).step()
    >>> optimizer.lr
    1.0
    """

    def __init__(self, optimizer: Optimizer):
        if not isinstance(optimizer, Optimizer) or not hasattr(optimizer, "lr"):
            raise TypeError(f"a schedule sets the lr of an optimizer, found {type(optimizer).__name__}, which has none")
        self.optimizer = optimizer
        self.base_lr: float = optimizer.lr
        self.t: int = 0
        optimizer.lr = self.lr_at(0)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps. To be overridden.

        Args:
            t: the number of calls of `step()` so far.

        Returns:
            The learning rate, a float.

        Raises:
            NotImplementedError: a subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method lr_at(t)")

    def step(self) -> None:
        """Advance by one step, and set the optimizer's learning rate."""
        lr = self.lr_at(self.t + 1)
        self.t, self.optimizer.lr = self.t + 1, lr

    def state_dict(self) -> dict[str, Any]:
        """Copy the state of the schedule.

        Returns:
            Dict of the settings, `t`, `base_lr`, and the optimizer's learning rate as `lr`. Functions are left out.
        """
        settings = {name: x for name, x in vars(self).items() if name != "optimizer" and not callable(x)}
        return deepcopy({"lr": self.optimizer.lr, **settings})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`, and set the optimizer's learning rate. On an error nothing is loaded.

        Args:
            state: what `state_dict()` of a schedule of the same class returned.

        Raises:
            ValueError: the state is not one of this class, or gives no valid learning rate.

        The optimizer's own state may be loaded before or after.
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
    """Learning rate base_lr * lr_lambda(t).

    Use it for a schedule that is one formula, such as a warm-up or a linear decay to 0.

    Args:
        optimizer: an optimizer with a learning rate.
        lr_lambda: function of the number of steps t that returns a factor.

    Raises:
        TypeError: `lr_lambda` is not callable, or as for `LRScheduler`.

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
    """Step decay, where the learning rate is multiplied by `gamma` every `step_size` steps.

    Use it to lower the learning rate at fixed times, such as after each third of the training.

    Args:
        optimizer: an optimizer with a learning rate.
        step_size: steps between two decays.
        gamma: factor.

    Raises:
        TypeError: as for `LRScheduler`.
        ValueError: `step_size` is not a positive integer.

    >>> from micrograd import Value
    >>> from micrograd.optim import SGD
    >>> schedule = StepLR(SGD([Value(0.0)], lr=1.0), step_size=2, gamma=0.5)
    >>> [schedule.lr_at(t) for t in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1):
        self.step_size: int = steps(step_size, "step_size")
        self.gamma = gamma
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        return self.base_lr * self.gamma ** (t // self.step_size)


class LinearLR(LRScheduler):
    """Linear warm-up of the factor of the learning rate from `start_factor` to `end_factor` in `total_iters` steps.

    Use it where a training is unstable at the beginning, or with an `end_factor` of 0 as a linear decay.

    Args:
        optimizer: an optimizer with a learning rate.
        start_factor, end_factor: factors at t = 0, and from t = total_iters on.
        total_iters: number of steps.

    Raises:
        TypeError: as for `LRScheduler`.
        ValueError: `total_iters` is not a positive integer.

    >>> from micrograd import Value
    >>> from micrograd.optim import SGD
    >>> schedule = LinearLR(SGD([Value(0.0)], lr=1.0), start_factor=0.5, total_iters=2)
    >>> [schedule.lr_at(t) for t in range(4)]
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5
    ):
        self.start = start_factor
        self.end = end_factor
        self.total_iters: int = steps(total_iters, "total_iters")
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        done = min(t / self.total_iters, 1.0)
        return self.base_lr * (self.start + (self.end - self.start) * done)


class CosineAnnealingLR(LRScheduler):
    """Cosine decay to `eta_min` in `T_max` steps, without restarts (Loshchilov and Hutter, 2016).

    Use it for a training of known length, which slows down smoothly towards the end.

    Args:
        optimizer: an optimizer with a learning rate.
        T_max: steps to the minimum, after which the learning rate rises again along the cosine.
        eta_min: lowest learning rate.

    Raises:
        TypeError: as for `LRScheduler`.
        ValueError: `T_max` is not a positive integer.

    >>> from micrograd import Value
    >>> from micrograd.optim import SGD
    >>> schedule = CosineAnnealingLR(SGD([Value(0.0)], lr=1.0), T_max=10)
    >>> [round(schedule.lr_at(t), 2) for t in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0):
        self.T_max: int = steps(T_max, "T_max")
        self.eta_min = eta_min
        super().__init__(optimizer)

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * t / self.T_max)) / 2
