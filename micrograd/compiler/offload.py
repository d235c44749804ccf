"""Where numbers are between the calls of a program: parameters, and what an optimizer remembers of them.

A program of many Values works on one array of them all, and a program that JAX runs works on arrays of a device. To
copy every number to its node after each step, and back before the next, would take longer than the step. So the numbers
stay in a `Store`, and the nodes become `Away`. When such a node is read or written, the store brings its numbers home
first. Then it is an ordinary node, until the next step fetches its number. A state of the optimizer refers to the store
in place of its dict (`optimizers.State`). A program that updates nothing fetches the numbers that it reads after some
calls in a row with the same numbers (`Numbers`).

Other threads see a node before such a change or after it, because of the interpreter lock. On a free-threaded
interpreter, which has none, all numbers stay in their nodes (`may_be_used`).

>>> nodes = [Value(1.0), Value(2.0)]
>>> store = Store(nodes)
>>> store.fetch({}, {}, nodes)  # there are no states
>>> store.arrays["data"] *= 10.0
>>> type(nodes[0]).__name__, nodes[0].data, nodes[1].data, type(nodes[0]).__name__
('AwayValue', 10.0, 20.0, 'Value')
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ..engine.locks import holding
from ..engine.rows import LEAF
from ..engine.value import Node, Value
from ..engine.walk import lock
from ..optim.optimizers import State, states_of
from ..tensor.optional import ArrayNode, np
from .lowered import at_once

_slot: Any = Node._data  # the slot that `Away._data` hides
PATIENCE = 16  # calls, which read the numbers for as long as it takes to fetch them and to bring them home


def may_be_used() -> bool:
    """True if no other thread can come between the calls of `at_once`, since this interpreter has its lock."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


class Store:
    """The numbers of some nodes, `arrays["data"]`, and the content of their states, by name, while a program has them.

    The caller holds `lock`.

    Args:
        nodes: nodes of Values, whose numbers form one array, or the node of one array.
        apart: True if each Value has its own count of steps. Otherwise all share one count.
    """

    def __init__(self, nodes: Sequence[Any], apart: bool = False):
        # References to nodes and states are weak, since these refer to the store
        self.nodes: list[weakref.ref[Any]] = list(map(weakref.ref, nodes))
        self.states: list[weakref.ref[State]] = []
        self.version: object = None  # the version of the optimizer's states when they were taken
        self.arrays: dict[str, Any] = {}
        self.counts: set[str] = set()  # the names of counts of steps
        self.apart: bool = apart
        self.of_values: Any = nodes[0]._is_number
        self.shared: Any = None  # an array whose memory views share

    def fetch(self, names: Mapping[str, bool], state: dict[Any, Any], params: Sequence[Any]) -> None:
        """Take the numbers, and the content of the states of these parameters, unless the store has them.

        Args:
            names: the parts of a state, as in `Optimizer._remembers`.
            state: the states of the optimizer, by parameter.
            params: the parameters, to which the nodes of the store belong.
        """
        if "data" not in self.arrays:
            self._take([ref() for ref in self.nodes])
        first = state[params[0]] if names and self.states else None
        if not names or (self.states and self.states[0]() is first and names.keys() <= self.arrays.keys()):
            return
        self.bring_states()
        version = getattr(state, "version", None)  # read first, so that a later change is seen
        self._take_states(names, state, params)
        self.version = version

    def _take(self, nodes: list[Any]) -> None:
        brought_home = [node._data for node in nodes]  # another store may have had some
        taken: list[Any] = []  # filled when no other thread can write to the nodes
        moves: list[Any] = [(taken.extend, map(_slot.__get__, nodes)), *((_slot.__set__, x, self) for x in nodes)]
        if not self.of_values:
            node = nodes[0]
            self.shared = brought_home[0] if node._store is not None and node._store.views else None
            moves += [(setattr, node, "_store", None)] * (self.shared is None)
        # A map, which makes the array after `taken` was filled
        arrays = map(np.array if self.of_values else itemgetter(0), [taken])
        moves.append((self.arrays.update, zip(("data",), arrays, strict=True)))
        # From the change of class on, a thread that reads one of the nodes waits
        at_once(*_become(AwayValue if self.of_values else AwayNode, nodes), *moves)

    def _take_states(self, names: Mapping[str, bool], state: dict[Any, Any], params: Sequence[Any]) -> None:
        states = states_of(state, params)
        contents = [s.data for s in states]  # another store may have had some
        like, arrays = self.arrays["data"], {}
        self.counts = {name for name in names if not names[name]}
        for name in names:
            if name in self.counts and not self.apart:
                arrays[name] = float(contents[0].get(name, 0))
            elif self.of_values:
                arrays[name] = np.array([content.get(name, 0.0) for content in contents], float)
            else:
                # After an eager step on an array of shape (), this is a number, by NumPy's rules
                array = contents[0].get(name, 0)
                arrays[name] = array if isinstance(array, np.ndarray) else np.full(like.shape, array, like.dtype)
        moves = [(setattr, s, "kept", self) for s in states]
        at_once((self.arrays.update, arrays), *moves, (setattr, self, "states", list(map(weakref.ref, states))))

    def has_states(self, state: dict[Any, Any]) -> bool:
        """True if the store has the states of an optimizer, and no state was read or replaced since."""
        return bool(self.states) and self.version is not None and getattr(state, "version", None) is self.version

    def bring_data(self) -> None:
        """Give the nodes their numbers back."""
        if "data" not in self.arrays:
            return
        if self.of_values:
            numbers, cls = np.asarray(self.arrays["data"]).tolist(), Value
        else:
            numbers, cls = [_on_host(self.arrays["data"])], ArrayNode
        if self.shared is not None:
            np.copyto(self.shared, numbers[0])
            numbers = [self.shared]
        alive = [(node, x) for ref, x in zip(self.nodes, numbers, strict=True) if (node := ref()) is not None]
        moves = [(_slot.__set__, node, x) for node, x in alive]
        at_once(*moves, *_become(cls, [node for node, _ in alive]), (self.arrays.pop, "data"))

    def show(self) -> None:
        """Write the numbers to the array whose memory views share, if there are views."""
        if self.shared is not None:
            self.bring_data()

    def bring_states(self) -> None:
        """Give the states their content back. A state that has made no step stays empty."""
        columns = {name: self._column(name) for name in self.arrays if name != "data"}
        moves: list[Any] = []
        for i, ref in enumerate(self.states):
            if (state := ref()) is not None:
                content = {name: column[i] for name, column in columns.items()}
                stepped = all(content[name] for name in self.counts)
                moves.append((setattr, state, "kept", content if stepped else {}))
        moves.append((setattr, self, "states", []))
        at_once(*moves, *((self.arrays.pop, name) for name in columns))

    def give_back(self) -> None:
        """Give the states their content back, when one of them is read."""
        holding(lock, self.bring_states)

    def _column(self, name: str) -> list[Any]:
        """The entry of this name in each state."""
        array = self.arrays[name]
        if name in self.counts:
            return [int(x) for x in np.broadcast_to(np.asarray(array), len(self.states))]
        return np.asarray(array).tolist() if self.of_values else [_on_host(array)]


class Numbers:
    """The numbers of the Values that a program reads: a list, or one array after a few calls with the same list.

    To read thousands of Values takes longer than many programs. In the store, no number can be changed unseen.

    Args:
        nodes: the Values.
        own: the Values that the program is differentiated by.
    """

    def __init__(self, nodes: Sequence[Any], own: Sequence[Any]):
        self.nodes = nodes
        self.own = own
        self.store: Store = Store(nodes)
        self.last: list[float] = []
        self.alike: int = 0  # the number of calls in a row that read the same numbers as `last`

    def __call__(self) -> tuple[Any]:
        if (array := self.store.arrays.get("data")) is not None:
            return (array,)
        numbers = [x._data for x in self.nodes]
        self.alike, self.last = (self.alike + 1 if numbers == self.last else 0), numbers
        if self.alike > PATIENCE and may_be_used():
            holding(lock, self._fetch)
        return (self.store.arrays.get("data", numbers),)

    def _fetch(self) -> None:
        self.alike = 0
        if all(map(_is_leaf, self.nodes)) and all(x.requires_grad for x in self.own):
            self.store.fetch({}, {}, self.nodes)

    def are_away(self) -> bool:
        """True if no node was read since they were fetched, so the program's own nodes are leaves, and not frozen."""
        return "data" in self.store.arrays


def _is_leaf(x: Value) -> bool:
    return x.__class__ in (Value, AwayValue) and (x._row is LEAF or x._row is None)


def _on_host(array: Any) -> np.ndarray:
    """The array as an array of NumPy's, which may be written to."""
    return array if array.__class__ is np.ndarray else np.array(array)


def _become(cls: type, nodes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """The calls that change the class of these nodes."""
    return [(object.__setattr__, node, "__class__", cls) for node in nodes]


# ---------------------------------------------------------------------------------------------------------------------
# Nodes that are away


def home(x: Any) -> Any:
    """The node x, which was away, with its numbers."""
    holding(lock, _bring_home, x)
    return x


def _bring_home(x: Any) -> None:
    if isinstance(x, Away):
        try:
            store = _slot.__get__(x)
        except AttributeError:
            # An op creates this node, and took the class from an operand that a step has just taken away
            object.__setattr__(x, "__class__", type(x).__mro__[2])
        else:
            store.bring_data()


def at_hand(node: Any) -> Any:
    """The array of a node where it is, which may be on a device."""
    return _slot.__get__(node).arrays["data"] if isinstance(node, Away) else node._data


def store_of(node: Any) -> Store:
    """The store that has the array of this node, or a new one."""
    return _slot.__get__(node) if isinstance(node, Away) else Store([node])


def _at_home(name: str) -> Any:
    """A method that brings the node home, and then calls the method of its ordinary class."""
    return lambda self, *args, **named: getattr(home(self), name)(*args, **named)


class Away:
    """Mixin of a node whose numbers are in a store."""

    __slots__ = ()
    _data = property(lambda self: home(self)._data, lambda self, x: setattr(home(self), "_data", x))
    _constant, _as_now = map(_at_home, ("_constant", "_as_now"))


# Set here and not in the class's body, so that type checkers see what these replace
_frozen = property(Node.requires_grad.fget, lambda self, wanted: setattr(home(self), "requires_grad", wanted))
setattr(Away, "requires_grad", _frozen)  # noqa: B010
for _name in ("__repr__", "__reduce_ex__"):
    setattr(Away, _name, _at_home(_name))


class AwayValue(Away, Value):
    """A Value whose number is in a store."""

    __slots__ = ()


class AwayNode(Away, ArrayNode):
    """The node of an array that is in a store."""

    __slots__ = ()
