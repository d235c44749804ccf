"""`Module`: something with parameters that can be called. It finds them, saves them, and signs what its calls make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from itertools import chain
from reprlib import recursive_repr
from textwrap import indent
from typing import Any, Self

from ..engine.graph import Node
from ..engine.modes import modes, no_grad

# The modules whose calls are running, outermost first.
_calling: ContextVar[tuple[Module, ...]] = ContextVar("calling", default=())


class Module:
    """The base of all networks and their parts.

    A subclass defines `forward` (or `__call__`), and keeps its parameters in attributes: nodes, modules, and lists,
    tuples and dicts of them are found there, in the order in which they were set. Or it defines `parameters()` itself.
    Leaves that require no gradient (frozen weights, running statistics) are not trained, but saved with the rest.
    An attribute may have any name, `modules` too: the library asks the class for its methods.

    `training` is True until `eval()` says otherwise: layers such as Dropout ask for it.

    >>> from micrograd import Value, nn
    >>> class Line(nn.Module):
    ...     def __init__(self):
    ...         self.slope, self.offset = Value(2.0), Value(1.0)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> line = Line()
    >>> line(3.0).data, [name for name, _ in line.named_parameters()]
    (7.0, ['slope', 'offset'])
    """

    training = True

    def __init_subclass__(cls, signs: bool = False, parts_sign: bool = False, **kwargs: Any) -> None:
        """Have the results of a `__call__` that the class defines signed.

        A class that `signs` does so itself; where `parts_sign`, all its results are those of modules within.
        """
        super().__init_subclass__(**kwargs)
        if "__call__" in vars(cls) and not signs:
            cls.__call__ = _signing(vars(cls)["__call__"], parts_sign)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` of the subclass gives."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise TypeError(f"{type(self).__name__} needs a method __call__(self, x), or forward(self, x)")
        return forward(*args, **kwargs)

    def parameters(self) -> list[Any]:
        """Every leaf below this module that requires a gradient, once, in a fixed order."""
        leaves = dict.fromkeys(leaf for _, held in _state(self) for leaf in _leaves(held))
        return [leaf for leaf in leaves if leaf.requires_grad]

    def modules(self) -> list[Module]:
        """This module and all below it, each once, outermost first."""
        found: dict[Module, None] = {}
        waiting: list[Module] = [self]
        while waiting:
            module = waiting.pop()
            if module not in found:
                found[module] = None
                waiting += [child for _, child in _children(module._held(), "", ())][::-1]
        return list(found)

    def train(self, mode: bool = True) -> Self:
        """Have this module and all below it behave as in training (or, with False, as in use); returns self."""
        for module in type(self).modules(self):
            module.training = mode
        return self

    def eval(self) -> Self:
        """`train(False)`: dropout lets everything pass, running statistics are used and stay as they are."""
        return type(self).train(self, False)

    def named_parameters(self) -> list[tuple[str, Any]]:
        """Pairs (name, parameter), such as ("layers.0.neurons.3.w.1", w), in the order of `parameters()`."""
        names: dict[Any, str] = {}
        for name, held in _state(self):
            for i, leaf in enumerate(_leaves(held)):
                names.setdefault(leaf, f"{name}.{i}" if isinstance(held, (list, tuple)) else name)
        return [(names[p], p) for p in dict.fromkeys(type(self).parameters(self))]

    def zero_grad(self) -> None:
        """Forget the gradients: `.grad` of every parameter is as fresh again, 0 for a Value, None for a Tensor."""
        for p in type(self).parameters(self):
            p.grad = 0 if isinstance(p, Node) else None

    def state_dict(self) -> dict[str, Any]:
        """Name -> NumPy array, a copy, for all that the network has learnt; a list of Values is one array.

        >>> from micrograd.nn import Layer
        >>> {name: array.shape for name, array in Layer(3, 1).state_dict().items()}
        {'neurons.0.w': (3,), 'neurons.0.b': ()}
        """
        return {name: _array(held) for name, held in _by_name(self).items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave. All of it is checked first: a ValueError lists every problem."""
        if not isinstance(state, Mapping):
            raise TypeError(f"a state is a dict of arrays by name, found {type(state).__name__}")
        wanted = _by_name(self)
        missing = [f"{name} is missing" for name in wanted if name not in state]
        unexpected = [f"{name} is unexpected" for name in state if name not in wanted]
        found = {name: _loaded(state[name], held) for name, held in wanted.items() if name in state}
        unfit = [f"{name} {problem}" for name, problem in found.items() if isinstance(problem, str)]
        if problems := missing + unexpected + unfit:
            raise ValueError(f"this state does not fit, and nothing was loaded: {'; '.join(problems)}")
        for name, array in found.items():
            _assign(wanted[name], array)

    def _held(self) -> dict[Any, Any]:
        """What is kept here, by the names that the state gives it."""
        return vars(self)

    def extra_repr(self) -> str:
        """What stands between the brackets of the repr, before the modules below."""
        return ""

    @recursive_repr("(...)")
    def __repr__(self) -> str:
        below = "".join(f"\n({name}): {child!r}" for name, child in _children(self._held(), "", ()))
        return f"{type(self).__name__}({type(self).extra_repr(self)}{indent(below, '  ')}{chr(10) if below else ''})"


# ---------------------------------------------------------------------------------------------------------------------
# Finding what a module holds


def _state(module: Module, path: str = "", outer: tuple[int, ...] = ()) -> list[tuple[str, Any]]:
    """Pairs (name, leaf or list of leaves of numbers) in a module; a list of numbers is one thing with one name."""
    held = _inside(module._held(), path, (*outer, id(module)))
    if type(module).parameters is not Module.parameters:  # it may know of some that stand in no attribute
        known = {leaf for _, below in held for leaf in _leaves(below)}
        if others := [p for p in dict.fromkeys(type(module).parameters(module)) if p not in known]:
            held.append((f"{path}parameters", others))
    return held


def _by_name(module: Module) -> dict[str, Any]:
    """The state by name; of two with one name, one would be lost."""
    named: dict[str, Any] = {}
    for name, held in _state(module):
        if name in named:
            raise ValueError(f"two things in this module have the name {name!r} in its state: rename a key")
        named[name] = held
    return named


def _inside(x: Any, path: str, outer: tuple[int, ...]) -> list[tuple[str, Any]]:
    """The same in any attribute; `outer` tells what we are inside of, so that a module may refer to its parent."""
    if _is_node(x):
        return [(path.removesuffix("."), x)] if x.is_leaf else []
    if not isinstance(x, (Module, list, tuple, dict)) or id(x) in outer:
        return []
    if isinstance(x, Module):
        return _state(x, path, outer)
    if isinstance(x, dict):
        items = x.items()
    elif x and all(isinstance(item, Node) and item.is_leaf for item in x):
        return [(path.removesuffix("."), x)]
    else:
        items = enumerate(x)
    outer = (*outer, id(x))
    return [pair for key, item in items for pair in _inside(item, f"{path}{key}.", outer)]


def _children(x: Any, path: str, outer: tuple[object, ...]) -> Iterator[tuple[str, Module]]:
    """Pairs (name, module) of the nearest modules in an attribute, or in a dict of them."""
    if isinstance(x, Module):
        yield path, x
    elif isinstance(x, (list, tuple, dict)) and not any(x is container for container in outer):
        for key, item in x.items() if isinstance(x, dict) else enumerate(x):
            yield from _children(item, f"{path}.{key}" if path else str(key), (*outer, x))


def _is_node(x: Any) -> bool:
    """Is x a Value or a Tensor? (A Tensor is no node but has one, and its file would load NumPy.)"""
    return isinstance(x, Node) or isinstance(getattr(x, "_node", None), Node)


def _leaves(held: Any) -> Iterable[Any]:
    return held if isinstance(held, (list, tuple)) else (held,)


# ---------------------------------------------------------------------------------------------------------------------
# To arrays and back


def _array(held: Any) -> Any:
    import numpy as np

    return np.array([leaf.data for leaf in held] if isinstance(held, (list, tuple)) else held.data)


def _loaded(given: Any, held: Any) -> Any:
    """The array to load where `held` stands, or a sentence that says why it cannot be."""
    import numpy as np

    now = _array(held)
    try:
        array = np.asarray(given)
    except ValueError:
        return "is no array of numbers"
    if array.dtype.kind not in "fiu":
        return f"has dtype {array.dtype}, not real numbers"
    if array.shape != now.shape:
        return f"has shape {array.shape}, not {now.shape}"
    if hasattr(given, "dtype") and not (isinstance(held, (Node, list, tuple)) or np.can_cast(array.dtype, now.dtype)):
        return f"has dtype {array.dtype}, which does not fit into {now.dtype} without loss"
    return array.astype(now.dtype)


def _assign(held: Any, array: Any) -> None:
    if isinstance(held, (list, tuple)):
        for leaf, number in zip(held, array.tolist(), strict=True):
            leaf.data = number
    elif isinstance(held, Node):
        held._data = array.item()
    else:
        with no_grad():
            held.copy_(array)


# ---------------------------------------------------------------------------------------------------------------------
# Signing: a drawing folds a graph by the modules that made it


def _signing(call: Callable, parts_sign: bool = False) -> Callable:
    """`call`, with its results signed; while it runs, the module is among those that are being called."""

    @wraps(call)
    def __call__(self: Module, *args: Any, **kwargs: Any) -> Any:
        modules = calling(self)
        token = _calling.set(modules)
        try:
            out = call(self, *args, **kwargs)
        finally:
            _calling.reset(token)
        if made := () if parts_sign else [node for node in _flat(out) if (modes and _waits(node)) or node._row]:
            inputs = _flat((args, kwargs) if kwargs else args)
            for node in made:
                if id(node) not in map(id, inputs):  # else it was handed through, and would refer to itself
                    sign(node, modules, inputs)
        return out

    return __call__


def calling(module: Module) -> tuple[Module, ...]:
    """The modules that are being called, and this one; once, if it is the last already: it calls super().__call__()."""
    outer = _calling.get()
    return outer if outer and outer[-1] is module else (*outer, module)


def sign(out: Any, modules: tuple[Module, ...], inputs: tuple[Any, ...]) -> None:
    """Set `out._made_by` to the modules that were being called, outermost first, and the inputs of the last one.

    Only what an op made is signed, and the first signature stays: the innermost module's. What `lazy` has put off is
    signed when it is computed.
    """
    if modes and _waits(out):
        vars(out).setdefault("_when_ready", lambda ready: sign(ready, modules, _flat(inputs)))
    elif out._row and not out._made_by:
        out._made_by = (*modules, inputs)


def _waits(x: Any) -> bool:
    """True if `lazy` has put x off: looking into it would compute it."""
    return getattr(x, "_waiting", False)


def _flat(x: Any) -> tuple[Any, ...]:
    """The nodes in nested lists, tuples and dicts; of a Tensor that waits to be computed, itself."""
    if isinstance(x, Node):
        return (x,)
    if not isinstance(x, (list, tuple, dict)):
        node = x if modes and _waits(x) else getattr(x, "_node", None)  # that of a Tensor
        return (node,) if isinstance(node, Node) or node is x else ()
    parts = [_flat(item) for item in (x.values() if isinstance(x, dict) else x)]
    return parts[0] if len(parts) == 1 else tuple(chain.from_iterable(parts))


Module.__call__ = _signing(Module.__call__)
