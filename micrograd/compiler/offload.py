"""Where numbers are between the calls of a program: parameters, and what an optimizer remembers of them.

A program of many Values works on one array of them all, and one that JAX runs works on arrays of a device. To copy
every number to its node after each step, and back before the next, would take longer than the step. So the numbers stay
in a `Store`, and the nodes become `Away`: reading or writing one makes the store bring its numbers home first. Then it
is an ordinary node, until the next step fetches it. A state of the optimizer refers to the store in place of its dict
(`optimizers.State`). A program that updates nothing fetches the numbers that it reads when some calls have found the
same ones (`Numbers`).

Other threads see a node before such a change or after it, because of the interpreter lock. On a free-threaded
interpreter, which has none, all numbers stay in their nodes (`may_be_used`).

>>> nodes = [Value(1.0), Value(2.0)]
>>> store = Store(nodes)
>>> store.fetch({}, {}, nodes)  # there are no states
>>> store.held["data"] *= 10.0
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

_slot: Any = Node._data  # what `Away._data` hides
PATIENCE = 16  # so many calls read the numbers for as long as it takes to fetch them and to bring them home


def may_be_used() -> bool:
    """True if no other thread can come between the calls of `at_once`: this interpreter has its lock."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


class Store:
    """The numbers of some nodes, `held["data"]`, and the content of their states, by name, while a program has them.

    The caller holds `lock`.

    Args:
        nodes: nodes of Values, whose numbers form one array; or the node of one array.
        apart: True if each Value has its own count, else one count is that of all.
    """

    def __init__(self, nodes: Sequence[Any], apart: bool = False):
        # weak, since they refer to the store; so are the states
        self.nodes: list[weakref.ref[Any]] = list(map(weakref.ref, nodes))
        self.states: list[weakref.ref[State]] = []
        self.version: object = None  # the optimizer's, of when they were taken
        self.held: dict[str, Any] = {}
        self.counts: set[str] = set()
        self.apart: bool = apart
        self.of_values: Any = nodes[0]._is_number
        self.shared: Any = None  # an array that views see too

    def fetch(self, names: Mapping[str, bool], state: dict[Any, Any], params: Sequence[Any]) -> None:
        """Take the numbers, and what is remembered of these parameters, unless the store has them.

        Args:
            names: what is remembered, as in `Optimizer._remembers`.
            state: the optimizer's.
            params: the parameters, whose nodes these are.
        """
        if "data" not in self.held:
            self._take([ref() for ref in self.nodes])
        first = state[params[0]] if names and self.states else None
        if not names or (self.states and self.states[0]() is first and names.keys() <= self.held.keys()):
            return
        self.bring_states()
        version = getattr(state, "version", None)  # of before, so that a change in between is seen
        self._take_states(names, state, params)
        self.version = version

    def _take(self, nodes: list[Any]) -> None:
        first = [node._data for node in nodes]  # which brings home what another store has
        now: list[Any] = []  # what is there when no other thread can write to it
        moves: list[Any] = [(now.extend, map(_slot.__get__, nodes)), *((_slot.__set__, x, self) for x in nodes)]
        if not self.of_values:
            node = nodes[0]
            self.shared = first[0] if node._store is not None and node._store.views else None
            moves += [(setattr, node, "_store", None)] * (self.shared is None)
        made = map(np.array if self.of_values else itemgetter(0), [now])
        moves.append((self.held.update, zip(("data",), made, strict=True)))
        at_once(*_become(AwayValue if self.of_values else AwayNode, nodes), *moves)  # a thread that reads one now waits

    def _take_states(self, names: Mapping[str, bool], state: dict[Any, Any], params: Sequence[Any]) -> None:
        states = states_of(state, params)
        contents = [x.data for x in states]  # which brings home what another store has
        like, found = self.held["data"], {}
        self.counts = {name for name in names if not names[name]}
        for name in names:
            if name in self.counts and not self.apart:
                found[name] = float(contents[0].get(name, 0))
            elif self.of_values:
                found[name] = np.array([x.get(name, 0.0) for x in contents], float)
            else:
                known = contents[0].get(name, 0)  # one number is no array in NumPy: the result of an eager step
                found[name] = known if isinstance(known, np.ndarray) else np.full(like.shape, known, like.dtype)
        moves = [(setattr, x, "kept", self) for x in states]
        at_once((self.held.update, found), *moves, (setattr, self, "states", list(map(weakref.ref, states))))

    def has_states(self, state: dict[Any, Any]) -> bool:
        """True if the store has the states of an optimizer, and nobody has looked at one or put in another since."""
        return bool(self.states) and self.version is not None and getattr(state, "version", None) is self.version

    def bring_data(self) -> None:
        """Give the nodes their numbers back."""
        if "data" not in self.held:
            return
        if self.of_values:
            numbers, kind = np.asarray(self.held["data"]).tolist(), Value
        else:
            numbers, kind = [_on_host(self.held["data"])], ArrayNode
        if self.shared is not None:
            np.copyto(self.shared, numbers[0])
            numbers = [self.shared]
        home = [(n, x) for ref, x in zip(self.nodes, numbers, strict=True) if (n := ref()) is not None]
        moves = [(_slot.__set__, node, x) for node, x in home]
        at_once(*moves, *_become(kind, [node for node, _ in home]), (self.held.pop, "data"))

    def show(self) -> None:
        """Write to the array that views see too, if there are any."""
        if self.shared is not None:
            self.bring_data()

    def bring_states(self) -> None:
        """Give the states their content back, or none if no step was made."""
        columns = {name: self._column(name) for name in self.held if name != "data"}
        moves: list[Any] = []
        for i, ref in enumerate(self.states):
            if (state := ref()) is not None:
                content = {name: column[i] for name, column in columns.items()}
                stepped = all(content[name] for name in self.counts)
                moves.append((setattr, state, "kept", content if stepped else {}))
        moves.append((setattr, self, "states", []))
        at_once(*moves, *((self.held.pop, name) for name in columns))

    def give_back(self) -> None:
        """Give the states their content back, asked by one of them."""
        holding(lock, self.bring_states)

    def _column(self, name: str) -> list[Any]:
        """What each state has by this name."""
        held = self.held[name]
        if name in self.counts:
            return [int(x) for x in np.broadcast_to(np.asarray(held), len(self.states))]
        return np.asarray(held).tolist() if self.of_values else [_on_host(held)]


class Numbers:
    """The numbers of the Values that a program reads: a list, or one array after a few calls that found the same list.

    To read thousands of Values takes longer than many programs. In the store, nobody can change one unseen.

    Args:
        nodes: the Values.
        own: those of them that the program is differentiated by.
    """

    def __init__(self, nodes: Sequence[Any], own: Sequence[Any]):
        self.nodes = nodes
        self.own = own
        self.store: Store = Store(nodes)
        self.last: list[float] = []
        self.alike: int = 0  # so many calls in a row found the last ones

    def __call__(self) -> tuple[Any]:
        if (held := self.store.held.get("data")) is not None:
            return (held,)
        numbers = [x._data for x in self.nodes]
        self.alike, self.last = (self.alike + 1 if numbers == self.last else 0), numbers
        if self.alike > PATIENCE and may_be_used():
            holding(lock, self._fetch)
        return (self.store.held.get("data", numbers),)

    def _fetch(self) -> None:
        self.alike = 0
        if all(map(_is_leaf, self.nodes)) and all(x.requires_grad for x in self.own):
            self.store.fetch({}, {}, self.nodes)

    def are_away(self) -> bool:
        """True if nobody has looked at one of the nodes since: the program's own are leaves, and not frozen."""
        return "data" in self.store.held


def _is_leaf(x: Value) -> bool:
    return x.__class__ in (Value, AwayValue) and (x._row is LEAF or x._row is None)


def _on_host(array: Any) -> np.ndarray:
    """An array as NumPy's, which may be written to."""
    return array if array.__class__ is np.ndarray else np.array(array)


def _become(kind: type, them: Iterable[Any]) -> list[tuple[Any, ...]]:
    """The calls that change the class of these objects."""
    return [(object.__setattr__, x, "__class__", kind) for x in them]


# ---------------------------------------------------------------------------------------------------------------------
# What is away


def home(x: Any) -> Any:
    """x with its content; it was away."""
    holding(lock, _bring_home, x)
    return x


def _bring_home(x: Any) -> None:
    if isinstance(x, Away):
        try:
            store = _slot.__get__(x)
        except AttributeError:  # an op is making it, and read the class of an operand that a step just took away
            object.__setattr__(x, "__class__", type(x).__mro__[2])
        else:
            store.bring_data()


def at_hand(node: Any) -> Any:
    """The array of a node where it is: for a program that JAX runs, on its device."""
    return _slot.__get__(node).held["data"] if isinstance(node, Away) else node._data


def store_of(node: Any) -> Store:
    """The store that has the array of this node, or a new one."""
    return _slot.__get__(node) if isinstance(node, Away) else Store([node])


def _at_home(name: str) -> Any:
    """A method that needs the content, or the class that the object has with it."""
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
