"""Optimizers, and gradient clipping.

An update is plain arithmetic on the numbers or arrays `p.data` and `p.grad`. It changes an array in place, so that all
Tensors that share the memory see the change, and creates no nodes. The state of a parameter `p` is
`optimizer.state[p]`. `compile(loss, update=optimizer)` traces the same lines, so they must not depend on the value of
a number.
"""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from copy import copy, deepcopy
from functools import partial
from operator import is_
from typing import Any, Self

from ..common.states import misnamed, refuse, unfit
from ..common.undo import all_or_nothing
from ..common.words import checked
from ..engine.modes import tell
from ..engine.value import Node
from ..scalars.kinds import plain
from .checks import Settings, not_negative, parameters_of, parts_of, why_not_count

Total = Callable[[Any], Any] | None


class State(UserDict[str, Any]):
    """What an optimizer remembers of one parameter: a dict, which a compiled training step replaces by its `Store`."""

    def __init__(self, content: Mapping[str, Any]):
        self.kept: Any = dict(content)  # the content, or the store that has it and will give it back

    @property
    def data(self) -> dict[str, Any]:
        """The content as a plain dict."""
        # A loop, since the step of another thread may take the content again
        while (kept := self.kept).__class__ is not dict:
            kept.give_back()
        return kept

    @data.setter
    def data(self, content: Mapping[str, Any]) -> None:  # type: ignore[override]
        # Read first, since a store would later replace the new content by the one that it gives back
        _ = self.data
        self.kept = dict(content)

    def __copy__(self) -> Self:
        return type(self)(self.data)

    copy = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        return State, (self.data,)


class States(dict[Any, Any]):
    """The states of all parameters. The state of a parameter that was removed begins again, empty.

    `version` is a new object after each state that is added, replaced or removed, so that a compiled step need not
    compare all states.
    """

    def __init__(self, states: Mapping[Any, Any]):
        super().__init__(states)
        self.version: object = object()

    def __missing__(self, p: Any) -> State:
        self[p] = state = State({})
        return state


def _with_new_version(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of dict that adds, replaces or removes states, and then sets a new version."""

    def changing(self: States, *args: Any, **named: Any) -> Any:
        try:
            return method(self, *args, **named)
        finally:
            # After the change: a step of another thread that comes in between notes the old version
            self.version = object()

    return changing


for _method in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(States, _method, _with_new_version(getattr(dict, _method)))


def states_of(state: dict[Any, Any], params: Iterable[Any]) -> list[State]:
    """The states of these parameters. A plain dict that a user assigned is replaced by a `State`."""
    states: list[State] = []
    for p in params:
        content = state[p]  # read once, since another thread may assign another
        if not isinstance(content, State):
            content = state[p] = State(content)
        states.append(content)
    return states


class Optimizer(Settings):
    """Base class of optimizers.

    Use it to write an update rule of your own, as the method `_update` of a subclass.

    Args:
        params: the leaves to train, as an iterable of Values and Tensors.
        lr: learning rate, for an optimizer that has one.
        reduce: a function for several workers, each with its share of every batch. It takes all gradients of this
            worker as one flat NumPy array, which it may write to, and returns their sum over all workers. See
            `Optimizer.reduce`.
        **settings: other hyperparameters, which become attributes and part of the state dict as `lr` does.

    Raises:
        TypeError: `params` is not an iterable of Values and Tensors, a setting is not a number, or `reduce` is not
            callable.
        ValueError: `params` is empty or contains a constant, a non-leaf or a duplicate, or a setting is out of range.

    >>> from micrograd import Value
    >>> class SignSGD(Optimizer):
    ...     def _update(self, p, g, state):
    ...         p.data -= self.lr * ((g > 0) - (g < 0))
    >>> x = Value(1.0)
    >>> optimizer = SignSGD([x], lr=0.25)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> x.data
    0.75
    """

    lr: float
    initial_lr: float  # the `lr` from before the first schedule
    weight_decay: float

    # The state of a parameter, by name: True if it has the parameter's shape, False if it is a count.
    _remembers: Mapping[str, bool] | None = None

    def __init__(self, params: Iterable[Any], lr: float | None = None, *, reduce: Total = None, **settings: Any):
        if not (reduce is None or callable(reduce)):
            raise TypeError(f"reduce= takes a function that sums an array over all workers, found {reduce!r:.50}")
        self._total, self._reduced = reduce, False
        self._used = []  # the gradients of the last step after `reduce()`, which are sums already
        self.params: list[Any] = parameters_of(params, type(self).__name__)
        self.state: dict[Any, State | dict[str, Any]] = States({p: State({}) for p in self.params})
        vars(self).update(settings if lr is None else {"lr": lr, **settings})
        self._check()

    def _check(self) -> None:
        """Validate the hyperparameters."""
        for name in ("lr", "initial_lr", "weight_decay", "momentum"):
            if name in vars(self):
                setattr(self, name, not_negative(getattr(self, name), name))

    def zero_grad(self) -> None:
        """Reset every parameter's `.grad` before the next backward pass, to 0 for a Value and to None for a Tensor."""
        self.__dict__.update(_reduced=False, _used=[])
        for p in self.params:
            p.grad = 0 if isinstance(p, Node) else None

    reset_grad = zero_grad

    def reduce(self) -> None:
        """Replace the gradients by their sums over all workers, in one call of the function `reduce=`.

        Call it after the last backward pass of a step, before a function that needs the complete gradient, such as
        `clip_grad_norm`. Otherwise `step()` calls it. Every worker must call it equally often. The gradient of a Tensor
        that no backward pass has reached counts as zeros, and is an array afterwards. Gradients that the last step has
        used are sums already, and stay as they are. Without `reduce=`, all gradients stay as they are.

        Raises:
            RuntimeError: the gradients of this step are reduced already.
            ValueError: the function did not return one sum for each gradient. No gradient was changed.

        >>> from micrograd import Value
        >>> x = Value(3.0)
        >>> optimizer = SGD([x], lr=0.1, reduce=lambda flat: flat + 8.0)  # a second worker, whose gradient is 8
        >>> (x * x).backward()
        >>> optimizer.reduce()
        >>> clip_grad_norm([x], 7.0), round(x.grad, 5)
        (14.0, 7.0)
        >>> optimizer.step()
        >>> round(x.data, 5)
        2.3
        """
        if self._reduced:
            raise RuntimeError(
                "the gradients of this step are reduced already: call zero_grad() and backward() before the next time"
            )
        grads = [p.grad for p in self.params]
        if self._total is not None and not (self._used and all(map(is_, grads, self._used))):
            from ..tensor.flat import summed  # not at the top: one worker with Values needs no NumPy

            _set_grads(self.params, summed(self._total, [*map(plain, self.params)], [*map(plain, grads)]))
        # Without a call of `__setattr__`, in which a Ctrl-C could come between the sums and this mark
        self.__dict__["_reduced"] = True

    def step(self) -> None:
        """Update every parameter once, from its `.grad`, after `reduce()`. A NaN propagates to the parameter.

        The parameters and their states change one after another. A Ctrl-C, or an error in a rule of your own, may
        therefore leave only some of them updated, as in PyTorch. (A compiled training step is all or nothing.)
        """
        if self._total is not None and not self._reduced:
            self.reduce()
        if self._reduced:
            self.__dict__.update(_reduced=False, _used=[p.grad for p in self.params])
        tell("step", self)  # see `nn.strict_mode`
        for p in self.params:
            g = p.grad
            if g.__class__ is not float:
                if g is None or (isinstance(p, Node) and not p.requires_grad):  # no pass reached p, or p is frozen
                    continue
                g = plain(g)
            state: Any = self.state[p]
            if state.__class__ is State:  # not a plain dict that a user assigned
                kept = state.kept
                state = kept if kept.__class__ is dict else state.data  # usually without the call that `.data` is
            self._update(p, g, state)

    def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
        """Update `p.data` from the gradient g, which has p's shape, and the state of p, a dict. To be overridden."""
        raise NotImplementedError(f"{type(self).__name__} needs a method _update(p, g, state)")

    def _decay(self, p: Any, g: Any) -> Any:
        """The gradient plus that of the L2 penalty of p. Called if `weight_decay` is not 0."""
        return g + self.weight_decay * p.data

    def state_dict(self) -> dict[str, Any]:
        """Copy the hyperparameters and the state of every parameter.

        Returns:
            Dict with "settings", a dict, and "state", a list in the order of the parameters.
        """
        return deepcopy({"settings": self._settings(), "state": [dict(self.state[p]) for p in self.params]})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`. Everything is checked first, so that on an error nothing is loaded.

        Args:
            state: result of `state_dict()`, of an optimizer with settings of the same names and parameters of the same
                shapes.

        Raises:
            TypeError: a setting is not a number.
            ValueError: the state does not fit. The message lists every problem.
        """
        settings, states = parts_of(state)
        optional = {"initial_lr": None}  # only a schedule sets it
        refuse(misnamed(optional | dict(settings), optional | self._settings()))
        if len(states) != len(self.params):
            raise ValueError(f"the state is of {len(states)} parameters, and this optimizer has {len(self.params)}")
        trial = copy(self)
        vars(trial).update(deepcopy(dict(settings)))
        trial._check()
        pairs = [*zip(self.params, states, strict=True)]
        refuse([f"parameter {i}: {problem}" for i, pair in enumerate(pairs) for problem in self._misfits(*pair)])
        trial.state = States({p: State(deepcopy(content)) for p, content in pairs})
        vars(self).update(vars(trial))

    def _misfits(self, p: Any, state: Any) -> list[str]:
        """The problems of a loaded state for the parameter p."""
        has_shape = self._remembers
        # A rule of the user's may remember anything, and every rule begins with an empty state.
        if has_shape is None or not state:
            return misnamed(state, state)
        if problems := misnamed(state, has_shape):
            return problems
        misfits = {name: unfit(x, plain(p)) if has_shape[name] else why_not_count(x) for name, x in state.items()}
        return [f"{name} {problem}" for name, problem in misfits.items() if problem]

    def _settings(self) -> dict[str, Any]:
        return {name: x for name, x in vars(self).items() if name not in ("params", "state") and name[0] != "_"}

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={x}" for name, x in self._settings().items())
        return f"{type(self).__name__}({len(self.params)} parameters, {settings})"


class SGD(Optimizer):
    """Stochastic gradient descent, p -= lr * g, with optional momentum (Polyak, 1964).

    Use it for small networks, or with momentum and a schedule where the learning rate can be tuned.

    Args:
        params: the leaves to train.
        lr: learning rate.
        momentum: if above 0, velocity = momentum * velocity + g replaces g in the update.
        weight_decay: factor of the L2 penalty, g += weight_decay * p.
        nesterov: use g + momentum * velocity instead of the velocity (Sutskever et al., 2013).
        reduce: sum of the gradients over all workers, as for `Optimizer`.

    Raises:
        TypeError, ValueError: as for `Optimizer`, or `nesterov` without momentum.

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
        *,
        reduce: Total = None,
    ):
        super().__init__(params, lr, reduce=reduce, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov)

    def _check(self) -> None:
        super()._check()
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov=True looks ahead along the momentum: it needs momentum > 0")

    def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
        if self.weight_decay:
            g = self._decay(p, g)
        if not self.momentum:
            p.data -= self.lr * g
            return
        velocity = self.momentum * state.get("velocity", 0.0) + g
        p.data -= self.lr * (g + self.momentum * velocity if self.nesterov else velocity)
        state["velocity"] = velocity


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014), p -= lr * mean / (sqrt(mean of squares) + eps), with bias correction.

    Use it where in doubt. It adapts the step to each parameter, so that one learning rate suits gradients of all sizes.

    Args:
        params: the leaves to train.
        lr: learning rate, which is about the size of a step, whatever the size of the gradient.
        betas: decay rates of the running means of the gradient and of its square, in [0, 1).
        eps: added to the denominator.
        weight_decay: factor of the L2 penalty, g += weight_decay * p.
        reduce: sum of the gradients over all workers, as for `Optimizer`.

    Raises:
        TypeError, ValueError: as for `Optimizer`.

    >>> from micrograd import Value
    >>> x = Value(1.0)
    >>> optimizer = Adam([x], lr=0.25)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.data, 6)
    0.75
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
        *,
        reduce: Total = None,
    ):
        super().__init__(params, lr, reduce=reduce, weight_decay=weight_decay, betas=betas, eps=eps)

    def _check(self) -> None:
        super()._check()
        betas, eps = self.betas, self.eps
        if not isinstance(betas, (tuple, list)) or len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas must be two numbers from 0 to below 1, found {betas}")
        if not eps > 0:
            raise ValueError(f"eps must be above 0, found {eps}: it prevents a division by 0")
        self.betas = tuple(betas)

    def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
        if self.weight_decay:
            g = self._decay(p, g)
        beta1, beta2 = self.betas
        t = state.get("steps", 0) + 1
        mean = beta1 * state.get("mean", 0.0) + (1 - beta1) * g
        squares = beta2 * state.get("squares", 0.0) + (1 - beta2) * g * g
        # Both running means start at 0, which biases the first ones towards 0.
        unbiased = mean / (1 - beta1**t)
        unbiased_squares = squares / (1 - beta2**t)
        p.data -= self.lr * unbiased / (unbiased_squares**0.5 + self.eps)
        state.update(steps=t, mean=mean, squares=squares)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017), p -= lr * weight_decay * p before each step.

    Use it instead of `Adam` where weights are to decay, as in transformers.

    Args:
        params, lr, betas, eps, reduce: as for `Adam`.
        weight_decay: decay rate, which does not enter the gradient.

    Raises:
        TypeError, ValueError: as for `Optimizer`.

    >>> from micrograd import Value
    >>> x = Value(1.0)
    >>> optimizer = AdamW([x], lr=0.25, weight_decay=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.data, 6)
    0.725
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        *,
        reduce: Total = None,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, reduce=reduce)

    def _decay(self, p: Any, g: Any) -> Any:
        p.data -= self.lr * self.weight_decay * p.data
        return g


@checked
def clip_grad_norm(params: Iterable[Any], max_norm: float) -> float:
    """Scale the gradients in place so that their joint Euclidean norm is at most `max_norm` (Pascanu et al., 2013).

    Use it between `backward()` and `step()` where single steps are far too large, as in deep or recurrent networks.

    Args:
        params: leaves whose `.grad` is scaled, as an iterable of Values and Tensors.
        max_norm: greatest norm allowed.

    Returns:
        The norm before clipping, as a float.

    Raises:
        TypeError: `max_norm` is not a number, or `params` is not an iterable of Values and Tensors.
        ValueError: `max_norm` is negative, or `params` is empty or contains a constant, a non-leaf or a duplicate.

    As in PyTorch, a norm that is NaN or infinite turns gradients into NaN, so that the failure shows in the next step.

    >>> from micrograd import Value
    >>> x, y = Value(3.0), Value(4.0)
    >>> (x * x + y * y).backward()
    >>> clip_grad_norm([x, y], 1.0), round(x.grad, 4), round(y.grad, 4)
    (10.0, 0.6, 0.8)
    """
    not_negative(max_norm, "max_norm")
    reached = [p for p in parameters_of(params, "clip_grad_norm") if p.grad is not None]
    norms = [_norm(plain(p.grad)) for p in reached]
    norm = math.nan if any(map(math.isnan, norms)) else math.hypot(*norms)  # hypot(nan, inf) would be inf
    factor = max_norm / (norm + 1e-6)
    if not factor >= 1:
        _set_grads(reached, [plain(p.grad) * factor for p in reached])
        tell("scaled", reached, factor)
    return norm


clip_grad_norm_ = clip_grad_norm  # PyTorch's name


def _set_grads(params: list[Any], grads: list[Any]) -> None:
    """Assign all gradients, or none if a Ctrl-C or an error interrupts the assignments."""
    with all_or_nothing([partial(setattr, p, "grad", p.grad) for p in params]):
        for p, g in zip(params, grads, strict=True):
            p.grad = g


def _norm(grad: Any) -> float:
    """The Euclidean norm, with the greatest element factored out so that no square overflows."""
    if isinstance(grad, (float, int)):
        return abs(grad)
    top = float(abs(grad).max()) if grad.size else 0.0
    return top * float(((grad / top) ** 2).sum()) ** 0.5 if 0 < top < math.inf else top
