"""Learning-rate schedules: the learning rate as a function of the number of steps."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from ..common.states import misnamed
from ..common.undo import all_or_nothing
from .checks import Settings, not_negative, steps
from .optimizers import Optimizer


class LRScheduler(Settings):
    """Base class of schedules, which set `optimizer.lr` to `lr_at(t)`, where t counts the calls of `step()`.

    Use it for a schedule that has settings. A subclass defines `lr_at`, and `base_lr` is the learning rate that
    the optimizer had before its first schedule. For a formula alone, `LambdaLR` is shorter.

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
        self.base_lr: float = getattr(optimizer, "initial_lr", optimizer.lr)
        self.t: int = 0
        optimizer.lr = self._next(optimizer.lr, 0)  # if this raises, the optimizer is unchanged
        optimizer.initial_lr = self.base_lr

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps, if nothing else changes it. To be overridden.

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
        lr = self._next(self.optimizer.lr, self.t + 1)
        self.t += 1
        self.optimizer.lr = lr

    def _next(self, lr: float, t: int) -> float:
        """The learning rate after t steps, given the lr of the step before."""
        return self.lr_at(t)

    def state_dict(self) -> dict[str, Any]:
        """Copy the state of the schedule.

        Returns:
            Dict of the settings, `t`, `base_lr`, and the optimizer's learning rate as `lr`. Functions are left out. Of
            the schedules of a `SequentialLR`, it has a list of the states.
        """
        settings = {
            name: setting for name, setting in vars(self).items() if name != "optimizer" and not callable(setting)
        }
        if "schedulers" in settings:
            settings["schedulers"] = [schedule.state_dict() for schedule in settings["schedulers"]]
        return deepcopy({"lr": self.optimizer.lr, **settings})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`, and set the optimizer's learning rate. On an error nothing is loaded.

        Args:
            state: result of `state_dict()`, of a schedule of the same class.

        Raises:
            ValueError: the state is not one of this class, or gives no valid learning rate.

        The optimizer's own state may be loaded before or after.
        """
        try:
            with all_or_nothing([partial(self._take, self.state_dict())]):
                self._take(deepcopy(state))
                not_negative(self.optimizer.lr, "lr")
                not_negative(self.lr_at(steps(self.t + 1, "t + 1")), "the next lr")
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ValueError(f"this state gives no learning rate, and nothing was loaded: {error}") from error

    def _take(self, state: Any) -> None:
        """Load a `state_dict`, of which only the names are checked."""
        if problems := misnamed(state, self.state_dict()):
            raise ValueError(f"no state of a {type(self).__name__}: {'; '.join(problems)}")
        for name, setting in state.items():
            if name == "schedulers":
                for schedule, inner_state in zip(getattr(self, name), setting, strict=True):
                    schedule._take(inner_state)
            elif name != "lr":
                setattr(self, name, setting)
        self.optimizer.lr = state["lr"]


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


class _Chained(LRScheduler):
    """A schedule that scales the optimizer's present learning rate, so that the factors of several schedules multiply.

    A rate lr becomes eta_min + factor * (lr - eta_min).
    """

    eta_min: float = 0.0

    def _next(self, lr: float, t: int) -> float:
        before = self.lr_at(t - 1) if t else self.base_lr
        now = self.lr_at(t)
        # If nothing else has changed the rate, the formula alone gives the next one, without rounding errors.
        if lr == before:
            return now
        if before == self.eta_min:  # no factor leads away from eta_min, so the difference is added
            return lr + now - before
        factor = (now - self.eta_min) / (before - self.eta_min)
        return lr * factor + self.eta_min * (1 - factor)


class StepLR(_Chained):
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


class LinearLR(_Chained):
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


class CosineAnnealingLR(_Chained):
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


class SequentialLR(LRScheduler):
    """Several schedules one after the other, each of which counts its steps from its own beginning.

    Use it for a warm-up that another schedule follows.

    Args:
        optimizer: the optimizer of all schedules.
        schedulers: the schedules. Call `step()` of the `SequentialLR` alone.
        milestones: the steps at which the second schedule and each later one begins.

    Raises:
        TypeError: as for `LRScheduler`.
        ValueError: `schedulers` has something other than schedules of this optimizer, or the milestones are not
            increasing positive integers, one fewer than the schedules.

    >>> from micrograd import Value
    >>> from micrograd.optim import SGD
    >>> optimizer = SGD([Value(0.0)], lr=1.0)
    >>> warm_up, decay = LinearLR(optimizer, 0.5, total_iters=2), CosineAnnealingLR(optimizer, T_max=4)
    >>> schedule = SequentialLR(optimizer, [warm_up, decay], milestones=[2])
    >>> [round(schedule.lr_at(t), 2) for t in range(7)]
    [0.5, 0.75, 1.0, 0.85, 0.5, 0.15, 0.0]
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]):
        self.schedulers: list[Any] = list(schedulers)
        self.milestones: list[int] = list(milestones)
        of_optimizer = all(getattr(schedule, "optimizer", None) is optimizer for schedule in self.schedulers)
        begins = [0, *self.milestones]
        if not of_optimizer or len(begins) != len(self.schedulers) or sorted({*begins}) != begins:
            raise ValueError(
                "SequentialLR takes schedules of this optimizer, and one milestone fewer, which increase: found "
                f"{len(self.schedulers)} schedules, {self.milestones}"
            )
        super().__init__(optimizer)

    def _schedule_at(self, t: int) -> tuple[LRScheduler, int]:
        """The schedule that is active at step t, and the number of steps since it began."""
        i = bisect_right(self.milestones, t)
        return self.schedulers[i], t - (0, *self.milestones)[i]

    def lr_at(self, t: int) -> float:
        """The learning rate after t steps."""
        schedule, since = self._schedule_at(t)
        return schedule.lr_at(since)

    def _next(self, lr: float, t: int) -> float:
        schedule, since = self._schedule_at(t)
        return schedule._next(lr, since) if since else schedule.lr_at(0)
