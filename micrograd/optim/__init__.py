"""Optimizers, learning-rate schedules and `clip_grad_norm`, with PyTorch's names and update rules.

    optimizers.py   `SGD`, `Adam`, `AdamW`; `clip_grad_norm`
    schedules.py    `StepLR`, `CosineAnnealingLR` and so on
    checks.py       which settings and parameters are refused

Several workers, each with a share of every batch: `reduce=` of an optimizer sums their gradients (docs/scaling.md).

>>> from micrograd import Value
>>> x = Value(1.0)
>>> optimizer = SGD([x], lr=1.0)
>>> schedule = CosineAnnealingLR(optimizer, T_max=100)
>>> for _ in range(100):
...     optimizer.zero_grad()
...     (x * x).backward()
...     optimizer.step()
...     schedule.step()
>>> abs(x.data) < 1e-6
True
"""

from .optimizers import SGD, Adam, AdamW, Optimizer, clip_grad_norm, clip_grad_norm_
from .schedules import CosineAnnealingLR, LambdaLR, LinearLR, LRScheduler, SequentialLR, StepLR

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "clip_grad_norm", "clip_grad_norm_"]
__all__ += ["CosineAnnealingLR", "LRScheduler", "LambdaLR", "LinearLR", "SequentialLR", "StepLR"]
