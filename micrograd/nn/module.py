"""`Module`, the base of all networks: finds parameters, saves and loads them, and tags the outputs of its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial, wraps
from reprlib import recursive_repr
from textwrap import indent
from typing import TYPE_CHECKING, Any, Self

from ..common.states import misnamed, refuse, unfit
from ..common.trees import leaves
from ..common.undo import all_or_nothing
from ..common.words import OF_MODULES, KeywordsChecked, unknown
from ..engine.modes import Mode, Variable, listener, modes_on, no_grad
from ..engine.rows import LEAF
from ..engine.value import Node, Value
from ..scalars.kinds import is_node, node_of

# The modules being called, outermost first.
_calling: ContextVar[tuple[Module, ...]] = ContextVar("calling", default=())


class evaluation(Mode):
    """All modules are in evaluation mode, and none is changed; see `Module.training`."""

    variable: Variable = ContextVar("evaluation", default=None)
    value = True


class Module(KeywordsChecked):
    """Base class of networks and their parts.

    Use it for a network that is more than a sequence of layers. A subclass defines `forward` (or `__call__`) and stores
    its parameters as attributes. Nodes, modules, and lists, tuples and dicts of these are found there, in the order in
    which they were set, unless the subclass overrides `parameters()`. Leaves that require no gradient (frozen weights,
    running statistics) are not trained, but are saved with the rest.

    `training` is True until `eval()` is called, and layers such as Dropout depend on it.

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

    _training = True

    @property
    def training(self) -> bool:
        """True until `eval()` is called, and False while a picture is made of the model's answers."""
        return self._training and not evaluation.variable.get()

    @training.setter
    def training(self, mode: bool) -> None:
        if mode != self._training:
            listener().change(f"the training of {type(self).__name__}")
        self._training = mode

    def __init_subclass__(cls, tags: bool = False, inner_calls_tag: bool = False, **kwargs: Any) -> None:
        """Wrap a `__call__` that the class defines, so that its outputs are tagged.

        Args:
            tags: True if the class tags its outputs itself.
            inner_calls_tag: True if all outputs come from calls of inner modules, which tag them.
        """
        super().__init_subclass__(**kwargs)
        if "__call__" in vars(cls) and not tags:
            cls.__call__ = _tagging(vars(cls)["__call__"], inner_calls_tag)

    if not TYPE_CHECKING:  # else a type checker would take every attribute for a known one

        def __getattr__(self, name: str) -> Any:
            raise unknown(f"{type(self).__name__!r} object", name, OF_MODULES, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the subclass's `forward`; TypeError if it has none."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise TypeError(f"{type(self).__name__} needs a method __call__(self, x), or forward(self, x)")
        return forward(*args, **kwargs)

    def parameters(self) -> list[Any]:
        """List the trainable leaves of this module and its submodules.

        Returns:
            Values and Tensors that require a gradient, each once, in the order in which they were set.
        """
        parameters: dict[Any, None] = {}
        _add_parameters(self._members().values(), parameters, {id(self)})
        if modes_on:  # check again through the public attributes, which `compile` watches while it traces
            return [p for p in parameters if p.is_leaf and p.requires_grad]
        return [*parameters]

    def modules(self) -> list[Module]:
        """List this module and all its submodules, each once, outermost first."""
        return list({id(x): x for _, x in _named_members(self) if isinstance(x, Module)}.values())

    def train(self, mode: bool = True) -> Self:
        """Set training mode, here and in all submodules.

        Args:
            mode: False sets evaluation mode.

        Returns:
            The module itself.
        """
        for module in type(self).modules(self):
            module.training = mode
        return self

    def eval(self) -> Self:
        """Set evaluation mode for predictions, in which Dropout is off and BatchNorm1d uses its running statistics."""
        return type(self).train(self, False)

    def named_parameters(self) -> list[tuple[str, Any]]:
        """List the parameters with their names.

        Returns:
            Pairs (name, parameter), such as ("layers.0.neurons.3.w.1", w), in the order of `parameters()`.
        """
        names = {leaf: name for name, leaf in reversed([*named_leaves(self)])}  # of a shared leaf, the first name
        return [(names[p], p) for p in dict.fromkeys(type(self).parameters(self))]

    def zero_grad(self) -> None:
        """Reset every parameter's `.grad` before the next backward pass, to 0 for a Value and to None for a Tensor."""
        for p in type(self).parameters(self):
            p.grad = 0 if isinstance(p, Node) else None

    def state_dict(self) -> dict[str, Any]:
        """Copy all parameters and other leaves to NumPy arrays.

        Returns:
            Dict of arrays by name. A Tensor has its own shape, a Value (), a list of n Values (n,).

        Raises:
            ValueError: two leaves have the same name.

        >>> from micrograd.nn import Layer
        >>> {name: array.shape for name, array in Layer(3, 1).state_dict().items()}
        {'neurons.0.w': (3,), 'neurons.0.b': ()}
        """
        return {name: _numbers_of(entry) for name, entry in _by_name(self).items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`, or nothing if an error or a Ctrl-C interrupts the loading.

        Args:
            state: dict of arrays by name, with the names and shapes of `state_dict()`.

        Raises:
            TypeError: `state` is not a mapping.
            ValueError: names are missing or unexpected, or arrays do not fit. The message lists every problem.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"a state is a dict of arrays by name, found {type(state).__name__}")
        entries = _by_name(self)
        arrays = {name: _array_for(entry, state[name]) for name, entry in entries.items() if name in state}
        misfits = [f"{name} {problem}" for name, problem in arrays.items() if isinstance(problem, str)]
        refuse(misnamed(state, entries) + misfits)
        with all_or_nothing([partial(_assign, entry, _numbers_of(entry)) for entry in entries.values()]):
            for name, entry in entries.items():
                _assign(entry, arrays[name])

    def _members(self) -> dict[Any, Any]:
        """The attributes, by their names in the state dict."""
        return vars(self)

    def extra_repr(self) -> str:
        """The text between the brackets of the repr, before the submodules. To be overridden."""
        return ""

    @recursive_repr("(...)")
    def __repr__(self) -> str:
        children = [(name, x) for name, x in _named_members(self._members(), deep=False) if isinstance(x, Module)]
        below = "".join(f"\n({name}): {child!r}" for name, child in children)
        return f"{type(self).__name__}({type(self).extra_repr(self)}{indent(below, '  ')}{chr(10) if below else ''})"


# ---------------------------------------------------------------------------------------------------------------------
# Finding the members of a module


def _add_parameters(items: Iterable[Any], parameters: dict[Any, None], seen: set[int]) -> None:
    """Add the parameters in these items, in order. A module that overrides `parameters()` lists its own.

    While a mode is on, every node is added.

    Training loops call `parameters()` in each step. So this function makes no names, unlike `_named_members`, and first
    tests for the types of a Neuron's members.
    """
    for x in items:
        cls = type(x)
        if cls is Value:
            if x._row is LEAF or modes_on:
                parameters[x] = None
        elif cls is bool or cls is str:
            continue
        elif cls is list:
            if id(x) not in seen:
                seen.add(id(x))
                _add_parameters(x, parameters, seen)
        elif isinstance(x, (Module, tuple, dict, list)):
            if id(x) not in seen:  # a module may refer to its parent
                seen.add(id(x))
                _add_parameters(_items(x), parameters, seen)
        elif is_node(x) and (node_of(x)._row is LEAF or modes_on):
            parameters[x] = None


def _items(x: Any) -> Iterable[Any]:
    """The members of a module, or the parameters that it lists itself; the items of a tuple, dict or list."""
    if isinstance(x, Module):
        parameters = type(x).parameters
        return x._members().values() if parameters is Module.parameters else parameters(x)
    return x.values() if isinstance(x, dict) else x


def _named_members(x: Any, path: str = "", outer: tuple[Any, ...] = (), deep: bool = True) -> Iterator[tuple[str, Any]]:
    """Pairs (name, object) of the modules, leaves and lists of Values in x; a module comes before its members.

    `outer` has the objects around x, since a module may refer to its parent. Without `deep`, modules are not entered.
    """
    if (is_node(x) and x.is_leaf) or _is_list_of_values(x):
        yield path.removesuffix("."), x
    elif isinstance(x, (Module, list, tuple, dict)) and not any(x is around for around in outer):
        if isinstance(x, Module):
            yield path.removesuffix("."), x
            members = x._members() if deep else {}
        else:
            members = x if isinstance(x, dict) else dict(enumerate(x))
        for key, member in members.items():
            yield from _named_members(member, f"{path}{key}.", (*outer, x), deep)


def _is_list_of_values(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and bool(x) and all(isinstance(item, Node) and item.is_leaf for item in x)


def _state(module: Module) -> list[tuple[str, Any]]:
    """The entries in the state dict of a module, as pairs (name, leaf or list of Values).

    The parameters that an overridden `parameters()` lists, and no attribute has, form an entry of the innermost module
    that lists them.
    """
    members = [*_named_members(module)]
    state = [(name, x) for name, x in members if not isinstance(x, Module)]
    known = {leaf for _, x in state for leaf in leaves(x)}
    for name, x in reversed(members):
        if isinstance(x, Module) and type(x).parameters is not Module.parameters:
            unnamed = [p for p in dict.fromkeys(type(x).parameters(x)) if p not in known]
            known.update(unnamed)
            if unnamed:
                state.append((f"{name}.parameters".removeprefix("."), unnamed))
    return state


def named_leaves(module: Module) -> Iterator[tuple[str, Any]]:
    """Pairs (name, leaf) of all leaves in the state dict. A leaf that is in several places has several names."""
    for name, entry in _state(module):
        if isinstance(entry, (list, tuple)):
            yield from ((f"{name}.{i}", leaf) for i, leaf in enumerate(entry))
        else:
            yield name, entry


def _by_name(module: Module) -> dict[str, Any]:
    """The entries of the state dict by name; raises if two have the same name, since one of them would be lost."""
    named: dict[str, Any] = {}
    for name, entry in _state(module):
        if name in named:
            raise ValueError(f"two things in this module have the name {name!r} in its state: rename a key")
        named[name] = entry
    return named


# ---------------------------------------------------------------------------------------------------------------------
# To arrays and back


def _numbers_of(entry: Any) -> Any:
    import numpy as np

    return np.array([leaf.data for leaf in entry] if isinstance(entry, (list, tuple)) else entry.data)


def _array_for(entry: Any, x: Any) -> Any:
    """The numbers x as the array to load into `entry` or, if they do not fit, a message that says why."""
    import numpy as np

    now = _numbers_of(entry)
    try:
        array = np.asarray(x)
    except ValueError:
        return "is no array of numbers"
    if array.dtype.kind not in "fiu":
        return f"has dtype {array.dtype}, not real numbers"
    fitted = array.astype(now.dtype)
    # Plain numbers fit into any dtype; an array must not lose digits.
    return unfit(array if hasattr(x, "dtype") else fitted, now) or fitted


def _assign(entry: Any, array: Any) -> None:
    if isinstance(entry, (Node, list, tuple)):
        for leaf, number in zip(leaves(entry), array.ravel().tolist(), strict=True):
            leaf.data = number
    else:
        with no_grad():
            entry.copy_(array)


# ---------------------------------------------------------------------------------------------------------------------
# Tagging outputs: a drawing groups nodes by the modules that made them


def _tagging(call: Callable, inner_calls_tag: bool = False) -> Callable:
    """Wrap `call`, so that the module is on the stack of modules being called meanwhile, and the outputs are tagged."""

    @wraps(call)
    def __call__(self: Module, *args: Any, **kwargs: Any) -> Any:
        modules = calling(self)
        outer = _calling.get()
        try:
            _calling.set(modules)
            out = call(self, *args, **kwargs)
        finally:
            _calling.set(outer)
        if not inner_calls_tag:
            inputs = _flat((args, kwargs) if kwargs else args[0] if len(args) == 1 else args)
            mark = (*modules, inputs)
            # An input that is also an output is left out, since its mark would refer to itself.
            for node in {*_flat(out)}.difference(inputs):
                tag(node, mark)
        return out

    return __call__


def calling(module: Module) -> tuple[Module, ...]:
    """The stack of modules being called, with this module on top: once, also inside a `super().__call__()`."""
    outer = _calling.get()
    return outer if outer and outer[-1] is module else (*outer, module)


def tag(out: Any, mark: tuple[Any, ...]) -> None:
    """Set `out._made_by` to the mark of a call: the modules being called, outermost first, and the inputs of the last.

    All outputs of a call share one mark, so that calls on the same inputs can be told apart. Only non-leaf nodes are
    tagged, and a node keeps its first tag, which is that of the innermost module. A result that `lazy` has deferred is
    tagged itself, and passes the tag on to its node.
    """
    if ((modes_on and _waits(out)) or out._row) and not getattr(out, "_made_by", ()):
        out._made_by = mark


def _waits(x: Any) -> bool:
    """True if `lazy` has deferred x, so that reading its slots would compute it."""
    return getattr(x, "_waiting", False)


def _flat(tree: Any) -> tuple[Any, ...]:
    """The nodes in nested lists, tuples and dicts; in place of a node that `lazy` has deferred, the deferred object."""
    nodes = [x if modes_on and _waits(x) else node_of(x) for x in leaves(tree)]
    return tuple([x for x in nodes if isinstance(x, Node) or _waits(x)])


Module.__call__ = _tagging(Module.__call__)
