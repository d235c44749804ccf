"""What changes between two calls of a compiled function, and where it lives: what is live, watched, constant.

A parameter's number is live. What a name is bound to is watched: a change means a new trace, which gives what the
function itself gives. A number in a container is constant until `retrace()`, and so is all that is in data: guards
would take longer than the program to look into 100,000 samples.
"""

from __future__ import annotations

import argparse
import builtins
import random
import re
import sys
import types
import weakref
from array import array
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache, partial, partialmethod
from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS, near

import micrograd
from micrograd import Tensor, Value, nn
from micrograd.nn.module import evaluation

LATER = "late", "abs", "GLOBAL"  # names that tests bind and take away


@pytest.fixture(autouse=True)
def _without_names_bound_later() -> Any:
    yield
    for name in LATER:
        globals().pop(name, None)
    vars(builtins).pop("later", None)


def numbers(out: Any) -> list[float]:
    """The numbers of a node, an array or a number."""
    return np.ravel(getattr(out, "data", out)).tolist()


def follows(f: Callable, change: Callable[[], object], constant: bool = False, **named: Any) -> None:
    """A compiled function gives after a change what the function itself gives, by one new trace, or after retrace()."""
    compiled = micrograd.compile(f)
    before = numbers(f(3.0, **named))
    found = [numbers(compiled(3.0, **named)) for _ in range(2)]
    change()
    after = numbers(f(3.0, **named))
    found += [numbers(compiled(3.0, **named)) for _ in range(2)]
    assert not near(after, before)
    assert near(found, [before, before, *[before if constant else after] * 2])
    assert compiled.cache_info()[:2] == ((3, 1) if constant else (2, 2))
    compiled.retrace()
    assert near(numbers(compiled(3.0, **named)), after)


# ---------------------------------------------------------------------------------------------------------------------
# Where it lives: each gives what reads it and what puts another thing there

Place = tuple[Callable[[], Any], Callable[[Any], object]]


def in_a_closure(held: Any) -> Place:
    def write(new: Any) -> None:
        nonlocal held
        held = new

    return lambda: held, write


def in_a_global(held: Any) -> Place:
    globals()["GLOBAL"] = held
    return lambda: GLOBAL, partial(globals().__setitem__, "GLOBAL")  # type: ignore[name-defined]  # noqa: F821


def in_a_default(held: Any) -> Place:
    def read(held: Any = held) -> Any:
        return held

    return read, lambda new: setattr(read, "__defaults__", (new,))


def in_a_default_by_keyword(held: Any) -> Place:
    def read(*, held: Any = held) -> Any:
        return held

    return read, partial(read.__kwdefaults__.__setitem__, "held")


def of_an_object(held: Any) -> Place:
    box = types.SimpleNamespace(k=held)
    return lambda: box.k, partial(setattr, box, "k")


def of_a_function(held: Any) -> Place:
    def read() -> Any:
        return read.k  # type: ignore[attr-defined]

    read.k = held  # type: ignore[attr-defined]
    return read, partial(setattr, read, "k")


def of_a_module(held: Any) -> Place:
    module: Any = types.ModuleType("of_a_user")
    module.k = held
    return lambda: module.k, partial(setattr, module, "k")


def of_a_node(held: Any) -> Place:
    node: Any = Value(1.0)
    node.k = held
    return lambda: node.k, partial(setattr, node, "k")


class Box:
    """What holds something in its class, in itself, in a slot, behind a property, and behind `__getattr__`."""

    k: Any
    weights: Any = [None]

    def __init__(self, **held: Any):
        vars(self).update(held)

    @property
    def by_property(self) -> Any:
        return self.held["k"]  # type: ignore[attr-defined]

    @classmethod
    def by_class_method(cls) -> Any:
        return cls.k

    @staticmethod
    def same(x: Any) -> Any:
        return x


def new_class(*bases: type, **held: Any) -> Any:
    """A class of the user's that a test may change."""
    return type("Made", bases or (Box,), {"__module__": __name__, **held})


def of_a_class(held: Any) -> Place:
    kind = new_class(k=held)
    derived = new_class(kind)
    return lambda: derived.k, partial(setattr, kind, "k")


def of_an_object_that_hides_its_class(held: Any) -> Place:
    box = new_class(k=staticmethod(held) if callable(held) else held)()
    return lambda: box.k, partial(setattr, box, "k")


def in_a_slot(held: Any) -> Place:
    box = new_class(object, __slots__=("k",))()
    box.k = held
    return lambda: box.k, partial(setattr, box, "k")


def in_a_slot_by_a_computed_name(held: Any) -> Place:
    box, name = new_class(object, __slots__=("slope",))(), "".join(["slo", "pe"])
    box.slope = held
    return lambda: getattr(box, name), partial(setattr, box, "slope")


def behind_a_class_method(held: Any) -> Place:
    kind = new_class(k=held)
    return lambda: kind.same(kind.by_class_method()), partial(setattr, kind, "k")


BINDINGS = [  # a name is bound to it
    in_a_closure, in_a_global, in_a_default, in_a_default_by_keyword, of_an_object, of_a_function, of_a_module,
    of_a_node, of_a_class, of_an_object_that_hides_its_class, in_a_slot, in_a_slot_by_a_computed_name,
    behind_a_class_method,
]  # fmt: skip


def in_a_list(held: Any) -> Place:
    box = [held]
    return lambda: box[0], partial(box.__setitem__, 0)


def of_an_object_by_a_computed_name(held: Any) -> Place:
    box = types.SimpleNamespace(k1=held)
    return lambda: getattr(box, f"k{1}"), partial(setattr, box, "k1")


def in_a_deque(held: Any) -> Place:
    box = deque([held])
    return lambda: box[0], partial(box.__setitem__, 0)


def behind_a_property(held: Any) -> Place:
    box = Box(held={"k": held})
    return lambda: box.by_property, partial(box.held.__setitem__, "k")  # type: ignore[attr-defined]


def behind_getattr(held: Any) -> Place:
    box = new_class(__getattr__=lambda self, name: self._held[name])(_held={"slope": held})
    return lambda: box.slope, partial(box._held.__setitem__, "slope")


def by_partial(held: Any) -> Place:
    state = {"k": held}
    return partial(lambda state: state["k"], state), partial(state.__setitem__, "k")


def by_partial_keyword(held: Any) -> Place:
    read = partial(lambda k: k, k=held)
    return read, partial(read.keywords.__setitem__, "k")


def by_a_bound_method(held: Any) -> Place:
    box = {"k": held}
    get = box.get
    return lambda: get("k"), partial(box.__setitem__, "k")


def in_a_dict(make: Callable, key: Any) -> Callable[[Any], Place]:
    def place(held: Any) -> Place:
        box = make()
        box[key] = held
        return lambda: box[key], partial(box.__setitem__, key)

    place.__name__ = f"in_a_{make.__name__}_at_{key!r:.20}"
    return place


def lists() -> Any:
    return defaultdict(list)


CONTAINERS = [  # an attribute whose name is computed counts as one
    in_a_list, in_a_deque, behind_a_property, behind_getattr, of_an_object_by_a_computed_name,
    by_partial, by_partial_keyword, by_a_bound_method,
    *(in_a_dict(dict, key) for key in ("w", 1, (0, "w"), 0.5, None, object())),
    *(in_a_dict(make, "w") for make in (OrderedDict, lists, UserDict)),
]  # fmt: skip

# What lives there: the first, the one that takes its place, and what the function makes of it


def times(k: Any, x: Any) -> Any:
    return k * x


def first_times(k: Any, x: Any) -> Any:
    return k[0] * x


class Mode(IntEnum):
    """A choice, though it is a number too."""

    OFF, ON = 0, 1


THINGS: dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "a Value": (lambda: Value(2.0), lambda: Value(5.0), times),
    "a Tensor": (lambda: Tensor([2.0], requires_grad=True), lambda: Tensor([5.0], requires_grad=True), times),
    "a function": (lambda: lambda x: x * 2, lambda: lambda x: x * 5, lambda k, x: k(x)),
    "a list of nodes": (lambda: [Value(2.0)], lambda: [Value(5.0)], first_times),
    "a number that becomes a node": (lambda: 2.0, lambda: Value(5.0), times),
    "a string": (lambda: "add", lambda: "mul", lambda k, x: x + 1 if k == "add" else x * 7),
    "a bool": (lambda: True, lambda: False, lambda k, x: x + 1 if k else x * 7),
    "None": (lambda: None, lambda: 7.0, lambda k, x: x if k is None else x * 7),
    "an enum": (lambda: Mode.OFF, lambda: Mode.ON, lambda k, x: x + 1 if k == Mode.ON else x * 7),
}
NUMBERS: dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "a float": (lambda: 2.0, lambda: 3.0, times),
    "an int": (lambda: 2, lambda: 3, times),
    "a number of NumPy": (lambda: np.float64(2.0), lambda: np.float64(3.0), times),
    "a list of numbers": (lambda: [2.0], lambda: [3.0], first_times),
    "a tuple of numbers": (lambda: (2.0,), lambda: (3.0,), first_times),
    "an array": (lambda: np.array([2.0]), lambda: np.array([3.0]), lambda k, x: float(k[0]) * x),
    "a dict of numbers": (lambda: {"a": 2.0}, lambda: {"a": 3.0}, lambda k, x: k["a"] * x),
    "the sign of a zero": (lambda: 0.0, lambda: -0.0, lambda k, x: x * np.copysign(1.0, k)),
}
named = {"ids": lambda place: place.__name__}


@pytest.mark.parametrize("thing", THINGS | NUMBERS)
@pytest.mark.parametrize("place", [*BINDINGS, *CONTAINERS], **named)
def test_things_in_any_place_are_watched_but_numbers_in_a_container_are_constant_until_retrace(
    place: Callable, thing: str
):
    first, then, use = (THINGS | NUMBERS)[thing]
    read, write = place(first())
    follows(lambda x: use(read(), x), lambda: write(then()), constant=place in CONTAINERS and thing in NUMBERS)


@pytest.mark.parametrize("kind", ["a Value", "a Tensor"])
@pytest.mark.parametrize("place", [*BINDINGS, *CONTAINERS], **named)
def test_number_of_a_node_is_live(place: Callable, kind: str):
    first, then, use = THINGS[kind]
    read, _ = place(node := first())
    f = micrograd.compile(lambda x: use(read(), x))
    found = [numbers(f(3.0))]
    node.data = then().data
    assert [*found, numbers(f(3.0)), f.cache_info()[:2]] == [[6.0], [15.0], (1, 1)]


SLOPE = Value(2.0, label="slope")


@pytest.mark.parametrize(
    "hidden", [weakref.ref(SLOPE), lru_cache(lambda: Value(2.0, label="slope"))], ids=["weakref", "lru_cache"]
)
def test_node_that_no_way_leads_to_is_refused(hidden: Callable):
    f = micrograd.compile(lambda x: hidden() * x)
    with pytest.raises(RuntimeError, match=r"cannot use Value 'slope': .* or pass it as an argument; at .*py"):
        f(3.0)
    assert f.cache_info().currsize == 0


# ---------------------------------------------------------------------------------------------------------------------
# Names that are bound later


def of_a_closure() -> Place:
    def write(new: Any) -> None:
        nonlocal late
        late = new

    late = None
    del late
    return lambda: late, write  # noqa: F821


def of_an_attribute(box: Any, on: Any = None) -> Callable[[], Place]:
    return lambda: (lambda: box.act, partial(setattr, on or box, "act"))


def a_function() -> None:
    """What gets an attribute."""


PLAIN, SLOTTED = new_class(), new_class(object, __slots__=("act",))
UNBOUND: dict[str, Callable[[], Place]] = {
    "a closure": of_a_closure,
    "the globals, inside": lambda: (lambda: (lambda: late)(), lambda new: globals().update(late=new)),  # type: ignore[name-defined] # noqa: F821
    "the globals, by a string": lambda: (lambda: globals()["late"], lambda new: globals().update(late=new)),
    "the globals, hiding a builtin": lambda: (lambda: abs, lambda new: globals().update(abs=new)),
    "the builtins": lambda: (lambda: later, lambda new: setattr(builtins, "later", new)),  # type: ignore[name-defined] # noqa: F821
    "an object": of_an_attribute(types.SimpleNamespace()),
    "a class": of_an_attribute(new_class()),
    "the class of an object": of_an_attribute(PLAIN(), PLAIN),
    "a module": of_an_attribute(types.ModuleType("of_a_user")),
    "a function": of_an_attribute(a_function),
    "a slot": of_an_attribute(SLOTTED()),
}


@pytest.mark.parametrize("where", UNBOUND)
def test_name_that_is_bound_later_is_watched(where: str):
    read, write = UNBOUND[where]()

    def f(x: Any) -> Any:
        try:
            return read()(x)
        except (NameError, AttributeError, KeyError):
            return x

    follows(f, lambda: write(staticmethod(lambda x: x * 2)))


def test_class_whose_attributes_are_read_by_computed_names_is_watched():
    kind, names = new_class(act=staticmethod(lambda x: x * 3)), ["act"]
    follows(lambda x: getattr(kind, names[0])(x), lambda: setattr(kind, "act", staticmethod(lambda x: x * 2)))


def test_class_that_begins_to_answer_for_attributes_is_watched():
    kind = new_class()
    box = kind()
    follows(lambda x: getattr(box, "act", abs)(x), lambda: setattr(kind, "__getattr__", lambda *_: lambda x: x * 2))


# ---------------------------------------------------------------------------------------------------------------------
# Changes of a structure: what is held, what the function makes of it, and the change


class Act:
    """What returns its argument, or twice that."""

    act = "same"

    def __call__(self, x: Any) -> Any:
        return acted(self.act, x)


class Twice(Act):
    def __call__(self, x: Any) -> Any:
        return x * 2


class Made(Act):
    def __init__(self) -> None:
        self.act = SETTINGS["act"]


class Noisy(nn.Module):
    """What adds a number in training, and nothing in use."""

    def __call__(self, x: Any) -> Any:
        return x + 10.0 if self.training else x


class Partial:
    act = "same"
    go = partialmethod(lambda self, x, by: acted(by if self.act == "same" else "same", x), by="twice")


SETTINGS = {"act": "same"}


def acted(how: str, x: Any) -> Any:
    return x * 2 if how == "twice" else x


def by_pattern(box: Any, x: Any) -> Any:
    match box:
        case Partial(act="twice"):
            return x * 2
    return x


def in_order(weights: dict[str, Any], x: Any) -> Any:
    a, b = weights.values()
    return a * x - b


def an_act() -> Any:
    return new_class(Act)()


def functions() -> list[Callable]:
    return [lambda x: x * 2, lambda x: x + 1]


def one_by_one(functions: list[Callable], x: Any) -> Any:
    for f in functions:
        x = f(x)
    return x


def sum_of_rows(matrix: Any, x: Any) -> Any:
    return sum(row[0] * x + row[1] for row in (matrix[0], matrix[1], *matrix[3:]))


def matrix() -> list[list[Value]]:
    return [[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)], [Value(7.0), Value(8.0)]]


def of_a_metaclass(**held: Any) -> Any:
    """A class whose class is one of the user's."""
    return new_class(type, **held)("A", (), {"__module__": __name__})


def mlp() -> Any:
    return nn.MLP(2, [3, 1], activation="tanh", rng=random.Random(0))


def neuron(model: Any) -> Any:
    return model.layers[0].neurons[0]


def of_model(model: Any, x: Any) -> Any:
    return model(x)


def of_two(model: Any, x: Any) -> Any:
    return model([Value(1.0) * x, x * 2])


Row = tuple[Callable[[], Any], Callable[[Any, Any], Any], Callable[[Any], object]]
CHANGES: dict[str, Row] = {
    "functions appended": (functions, one_by_one, lambda fs: fs.append(Twice())),
    "functions in another order": (functions, one_by_one, lambda fs: fs.reverse()),
    "a node appended to an empty list": (list, lambda xs, x: x + sum(xs), lambda xs: xs.append(Value(2.0))),
    "a key added": (lambda: {"a": Value(0.5)}, lambda d, x: x * sum(d.values()), lambda d: d.update(b=Value(2.0))),
    "the order of a dict": (
        lambda: {"a": Value(2.0), "b": Value(5.0)}, in_order, lambda d: d.update(a=d.pop("a")),
    ),
    "a key of a dict of numbers": (
        lambda: {"k": 2.0}, lambda d, x: x * d.get("k", 3.0), lambda d: d.update(j=d.pop("k")),
    ),
    "a string in a list in a dict": (
        lambda: {"act": ["same", "twice"]}, lambda d, x: acted(d["act"][0], x), lambda d: d["act"].reverse(),
    ),
    "a string in a ChainMap": (
        lambda: ChainMap({"act": "same"}), lambda d, x: acted(d["act"], x), lambda d: d.update(act="twice"),
    ),
    "a string in a read-only view of a dict": (
        lambda: ((held := {"act": "same"}), types.MappingProxyType(held)), lambda h, x: acted(h[1]["act"], x),
        lambda h: h[0].update(act="twice"),
    ),
    "a node in a set": (
        lambda: {Value(2.0)}, lambda held, x: sum(held) * x, lambda held: (held.clear(), held.add(Value(5.0))),
    ),
    "a node in an array of objects": (
        lambda: np.array([Value(2.0), 1.0], object), first_times, lambda held: held.__setitem__(0, Value(5.0)),
    ),
    "a Value in a matrix": (matrix, sum_of_rows, lambda m: m[1].__setitem__(0, Value(9.0))),
    "a row that is twice there": (matrix, sum_of_rows, lambda m: m.__setitem__(0, m[1])),
    "rows in another order": (matrix, sum_of_rows, lambda m: m.reverse()),
    # classes
    "a method of a class": (an_act, of_model, lambda a: setattr(type(a), "__call__", Twice.__call__)),
    "the class of an object": (an_act, of_model, lambda a: setattr(a, "__class__", Twice)),
    "the bases of a class": (an_act, of_model, lambda a: setattr(type(a), "__bases__", (Twice,))),
    "an attribute that hides a base's": (
        an_act, lambda a, x: acted(a.act, x), lambda a: setattr(type(a), "act", "twice"),
    ),
    "what a constructor reads": (lambda: Made, lambda made, x: made()(x), lambda _: SETTINGS.update(act="twice")),
    "what a partial method reads": (Partial, lambda a, x: a.go(x), lambda a: setattr(a, "act", "twice")),
    "an attribute by a class pattern": (Partial, by_pattern, lambda a: setattr(a, "act", "twice")),
    "an attribute of a kind of list": (
        lambda: new_class(list, act="same")([Value(1.0)]), lambda xs, x: acted(xs.act, x * xs[0]),
        lambda xs: setattr(xs, "act", "twice"),
    ),
    "an attribute of a namespace of argparse": (
        lambda: argparse.Namespace(act="same"), lambda a, x: acted(a.act, x), lambda a: setattr(a, "act", "twice"),
    ),
    "an attribute of a metaclass": (
        lambda: of_a_metaclass(act="same"), lambda c, x: acted(c.act, x), lambda c: setattr(type(c), "act", "twice"),
    ),
    "what a special method of a metaclass reads": (
        lambda: of_a_metaclass(held=[1.0], __len__=lambda cls: len(cls.held)), lambda c, x: x * len(c),
        lambda c: type(c).held.append(1.0),
    ),
    # layers, and other compiled functions
    "a setting of a layer": (
        lambda: nn.LayerNorm1d(2), lambda layer, x: layer(Tensor([1.0, 2.0]) * x), lambda m: setattr(m, "eps", 0.5),
    ),
    "the mode of a model": (lambda: nn.Sequential(Noisy()), of_model, lambda m: m.eval()),
    "forward on a layer": (
        lambda: nn.Sequential(an_act()), of_model, lambda m: setattr(m, "forward", lambda x: x * 7.0),
    ),
    "a weight of a neuron": (mlp, of_two, lambda m: neuron(m).w.__setitem__(0, Value(3.0))),
    "the bias of a neuron": (mlp, of_two, lambda m: setattr(neuron(m), "b", Value(7.0))),
    "whether a neuron is linear": (mlp, of_two, lambda m: setattr(neuron(m), "nonlin", False)),
    "what another compiled function reads": (
        lambda: ((held := [Value(2.0)]), micrograd.compile(lambda x: held[0] * x)), lambda held, x: held[1](x) * 1.0,
        lambda held: held[0].__setitem__(0, Value(5.0)),
    ),
    # lengths of containers, and the kind of what is in them
    "a list that grows": (lambda: [2.0, 3.0], lambda h, x: x * len(h), lambda h: h.append(1.0)),
    "a list in a list that grows": (lambda: [[2.0], [3.0]], lambda h, x: x * len(h[1]), lambda h: h[1].append(9.0)),
    "a list in a tuple": (lambda: ([2.0],), lambda h, x: x * len(h[0]), lambda h: h[0].append(1.0)),
    "a node in a mixed list": (
        lambda: [2.0, [1.0]], lambda h, x: x * h[1][0], lambda h: h[1].__setitem__(0, Value(9.0)),
    ),
    "a node in a dict of numbers": (
        lambda: dict.fromkeys(range(30), 1.0), lambda h, x: x * h[7], lambda h: h.__setitem__(7, Value(9.0)),
    ),
    "a deque": (lambda: deque([1.0]), lambda h, x: x * len(h), lambda h: h.append(2.0)),
    "an array of the standard library": (
        lambda: array("d", [1.0]), lambda h, x: x * len(h), lambda h: h.append(2.0),
    ),
    "a dtype": (
        lambda: [np.ones(2)], lambda h, x: x * len(h[0].dtype.name), lambda h: h.__setitem__(0, np.ones(2, int)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "use", "change"), CHANGES.values(), ids=CHANGES)
def test_structure_that_changes_is_traced_again(
    make: Callable, use: Callable, change: Callable, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(SETTINGS, "act", "same")
    held = make()
    follows(lambda x: use(held, x), lambda: change(held))


# ---------------------------------------------------------------------------------------------------------------------
# Data: what is in a container of more than 100 items, unless it leads to a node, a module or a function


class Sample:
    """A point and its class."""

    scale: Any = 1.0

    def __init__(self, *x: Any):
        self.x, self.label = [*x], "same"

    def scaled(self) -> Any:
        return self.x[0] * self.scale


MANY = range(2, 202)


def rows() -> list[list[float]]:
    return [[i, 0.0] for i in MANY]


def samples() -> list[Any]:
    return [new_class(Sample)(2.0)] * 101


def data_in_a_dict() -> dict[str, Any]:
    return {"x": [*MANY], "act": "same"}


def replace(held: Any, key: Any = 0, new: Any = 5) -> None:
    held[key] = new


DATA: dict[str, Row] = {
    "a number in a list": (lambda: [*MANY], first_times, replace),
    "a node in a list": (lambda: [*MANY], first_times, lambda h: replace(h, 0, Value(5.0))),
    "a string in a list": (
        lambda: ["same"] * 101, lambda h, x: acted(h[3], x), lambda h: replace(h, 3, "twice"),
    ),
    "a bool in a tuple": (
        lambda: (*([True] for _ in MANY),), lambda h, x: x if h[3][0] else 2 * x, lambda h: replace(h[3], 0, False),
    ),
    "a number in a row": (rows, lambda h, x: x * h[0][0], lambda h: replace(h[0])),
    "the length of a row": (rows, lambda h, x: x * len(h[0]), lambda h: h[0].append(5)),
    "a row": (rows, lambda h, x: x * h[0][0], lambda h: replace(h, 0, [5, 0.0])),
    "a number in one of two long rows": (
        lambda: [[*MANY], [*MANY]], lambda h, x: x * h[0][0], lambda h: replace(h[0]),
    ),
    "a value of a dict": (
        lambda: {i: (i, "a") for i in MANY}, lambda h, x: x * h[2][0], lambda h: replace(h, 2, (5, "a")),
    ),
    "a number in a deque": (lambda: deque(MANY), first_times, replace),
    "a string in an array of objects": (
        lambda: np.array(["same"] * 101, object), lambda h, x: acted(h[3], x), lambda h: replace(h, 3, "twice"),
    ),
    "an attribute of an object": (
        samples, lambda h, x: acted(h[0].label, x), lambda h: setattr(h[0], "label", "twice"),
    ),
    "a number of data in a dict": (data_in_a_dict, lambda h, x: x * h["x"][0], lambda h: replace(h["x"])),
    "a number beside a function": (lambda: [*MANY, len], first_times, replace),
}  # fmt: skip
BESIDE_DATA: dict[str, Row] = {
    "the length of a list": (lambda: [*MANY], lambda h, x: x * len(h), lambda h: h.append(5)),
    "the length of a list of rows": (rows, lambda h, x: x * len(h), lambda h: h.pop()),
    "the length of a dict": (lambda: dict.fromkeys(MANY, 1.0), lambda h, x: x * len(h), lambda h: h.clear()),
    "the length of data in a dict": (data_in_a_dict, lambda h, x: x * len(h["x"]), lambda h: h["x"].append(5)),
    "a string beside data in a dict": (
        data_in_a_dict, lambda h, x: acted(h["act"], x) * h["x"][0], lambda h: h.update(act="twice"),
    ),
    "another list under the name": (
        lambda: types.SimpleNamespace(x=[*MANY]), lambda h, x: x * h.x[0], lambda h: setattr(h, "x", [5, *h.x[1:]]),
    ),
    "a function in a long list": (
        lambda: [*MANY, Act()], lambda h, x: h[-1](x) * h[0], lambda h: replace(h, -1, Twice()),
    ),
    "what a function in a long dict reads": (
        lambda: {**dict.fromkeys(MANY, 1.0), "act": Act()}, lambda h, x: h["act"](x),
        lambda h: setattr(h["act"], "act", "twice"),
    ),
    "a node in a long list": (
        lambda: [*MANY, Value(2.0)], lambda h, x: h[-1] * x, lambda h: replace(h, -1, Value(5.0)),
    ),
    "a node in a row of a long list": (
        lambda: [(i, [Value(2.0)]) for i in MANY], lambda h, x: h[7][1][0] * x,
        lambda h: replace(h[7][1], 0, Value(5.0)),
    ),
    "a function in a long array of objects": (
        lambda: np.array([*MANY, Act()], object), lambda h, x: h[-1](x), lambda h: replace(h, -1, Twice()),
    ),
    "a string in a short array of objects": (
        lambda: np.array(["same"], object), lambda h, x: acted(h[0], x), lambda h: replace(h, 0, "twice"),
    ),
    "a module in a long list": (
        lambda: [*MANY, nn.Sequential(Noisy())], lambda h, x: h[-1](x), lambda h: h[-1].eval(),
    ),
    "a method of a class of many objects": (
        samples, lambda h, x: h[0].scaled() * x, lambda h: setattr(type(h[0]), "scaled", lambda self: 5.0),
    ),
    "an attribute of a class of many objects": (
        samples, lambda h, x: h[0].scaled() * x, lambda h: setattr(type(h[0]), "scale", 5.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "use", "change"), DATA.values(), ids=DATA)
def test_what_is_in_data_is_constant_until_retrace(make: Callable, use: Callable, change: Callable):
    held = make()
    follows(lambda x: use(held, x), lambda: change(held), constant=True)


@pytest.mark.parametrize(("make", "use", "change"), DATA.values(), ids=DATA)
def test_checked_call_shows_what_has_changed_in_data(make: Callable, use: Callable, change: Callable):
    held = make()
    f = micrograd.compile(lambda x: use(held, x), check=True)
    f(3.0)
    change(held)
    with pytest.raises(RuntimeError, match="and the function itself"):
        f(3.0)


@pytest.mark.parametrize(("make", "use", "change"), BESIDE_DATA.values(), ids=BESIDE_DATA)
def test_what_is_beside_data_is_watched(make: Callable, use: Callable, change: Callable):
    held = make()
    follows(lambda x: use(held, x), lambda: change(held))


@pytest.mark.parametrize(("make", "use", "_"), DATA.values(), ids=DATA)
def test_checks_of_a_call_do_not_look_into_data(make: Callable, use: Callable, _: Callable):
    held = make()
    f = micrograd.compile(lambda x: use(held, x))
    f(1.0)
    expression, objects = f.program.guard
    assert expression.count(" and ") < 20
    assert len(objects) < 40
    assert all(len(objects[name]) < 100 for name in re.findall(r"map\(type, (g\d+)", expression))


@pytest.mark.parametrize("where", [lambda held: held, lambda held: held[7]], ids=["the list", "a row"])
def test_node_that_is_left_in_data_is_refused(where: Callable):
    held = rows()
    f = micrograd.compile(lambda x: [where(held).append(x * 2), held[0][0] * x][1])
    with pytest.raises(RuntimeError, match="cannot store a node in a list"):
        f(2.0)


def test_objects_and_bound_methods_are_watched_as_functions_are():
    model, act = nn.Sequential(an_act()), an_act()
    follows(model, lambda: model[0].__setattr__("act", "twice"))
    follows(act.__call__, lambda: setattr(act, "act", "twice"))


def test_evaluation_mode_is_watched_where_no_module_changes():
    """Such as that in which a picture of a model is drawn."""
    noisy, norm = micrograd.compile(Noisy()), micrograd.compile(nn.BatchNorm1d(2))
    with evaluation():
        found = [numbers(noisy(1.0)), norm(np.ones((3, 2))).shape]
    assert [*found, numbers(noisy(1.0))] == [[1.0], (3, 2), [11.0]]
    with pytest.raises(RuntimeError, match="running statistics"):
        norm(np.ones((3, 2)))


KEYWORDS: dict[str, tuple[Any, Callable[..., Any], Callable[[Any], object]]] = {
    "an attribute": (an_act(), lambda x, c: acted(c.act, x), lambda c: setattr(c, "act", "twice")),
    "a parameter": (new_class()(w=Value(2.0)), lambda x, c: x * c.w, lambda c: setattr(c, "w", Value(7.0))),
    "what a method reads": (an_act().__call__, lambda x, c: c(x), lambda c: setattr(c.__self__, "act", "twice")),
    "a function in a list": ([functions()], lambda x, c: one_by_one(c[0], x), lambda c: c[0].append(Twice())),
}


@pytest.mark.parametrize(("held", "f", "change"), KEYWORDS.values(), ids=KEYWORDS)
def test_object_given_by_keyword_is_watched(held: Any, f: Callable, change: Callable):
    follows(f, lambda: change(held), c=held)


# ---------------------------------------------------------------------------------------------------------------------
# What makes no difference


class Trainer:
    """What changes at each step, beside the weights."""

    def __init__(self) -> None:
        self.model, self.w = mlp(), Value(2.0)
        self.steps, self.last, self.notes = 0, Value(1.0), {"step": 0}
        self.numbers, self.log = [[1.0, 2.0]], [Value(0.0)]

    def step(self) -> None:
        self.steps += 1
        self.last, self.log[0] = Value(3.0), Value(float(self.steps))
        self.notes[str(self.steps)], self.numbers[0][0], self.more = 1.0, float(self.steps), self.steps

    @micrograd.compile
    def loss(self, x: Any) -> Any:
        return self.model([x, 1.0])


class Counter:
    """What grows, beside a model of which all parameters are read."""

    total: Any = [0.5]

    def __init__(self) -> None:
        self.model, self.losses, self.steps = mlp(), [0.5], 0

    def step(self) -> None:
        self.steps += 1
        self.losses.append(0.5)
        self.total.append(1.0)


class Line(nn.Module):
    def __init__(self) -> None:
        self.w, self.act, self.seen = Value(2.0), "same", object()

    def forward(self, x: Any) -> Any:
        return acted(self.act, self.w * x)

    def step(self) -> None:
        self.seen = object()


def equal_numbers() -> Any:
    box = types.SimpleNamespace(k=2.5, nan=float("nan"))
    box.step = lambda: vars(box).update(k=float("2.5"), nan=float("nan"))
    return box


UNREAD: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "what a method does not name": (Trainer, lambda t, x: t.loss(x)),
    "what a function does not name": (Trainer, lambda t, x: t.w * x + t.numbers[0][0] + (t.last is t.log)),
    "a list that grows, beside all parameters": (Counter, lambda t, x: sum(p * p for p in t.model.parameters()) * x),
    "numbers that are bound again and equal": (equal_numbers, lambda box, x: x * box.k + box.nan),
}


@pytest.mark.parametrize("what", UNREAD)
def test_things_that_a_function_does_not_read_make_no_difference(what: str):
    make, use = UNREAD[what]
    held = make()
    f = micrograd.compile(lambda x: use(held, x))
    for _ in range(4):
        f(1.0)
        held.step()
    assert f.cache_info()[:2] == (3, 1)


def test_compiled_module_is_asked_about_what_its_forward_names_alone():
    line = Line()
    f = micrograd.compile(line)
    for _ in range(3):
        f(1.0)
        line.step()
    assert f.cache_info()[:2] == (2, 1)
    follows(line, lambda: setattr(line, "act", "twice"))


def test_generator_that_draws_outside_makes_no_difference():
    rng = random.Random(0)
    f = micrograd.compile(nn.MLP(2, [2, 1], rng=rng))
    for _ in range(4):
        f([rng.gauss(0, 1), 1.0])
    assert f.cache_info().misses == 1


def test_code_of_an_installed_package_is_not_followed(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    site.mkdir()
    text = "state = {}\ndef helper(x):\n    return state.setdefault(len(state), x)\n"
    text += "def line(held, x):\n    return held.w * x\n"
    (site / "installed.py").write_text(text)
    monkeypatch.syspath_prepend(str(site))
    import installed

    f = micrograd.compile(lambda x: x * 2 if installed.helper(1) else x)
    for _ in range(3):
        f(2.0)
        installed.helper(None)
    assert f.cache_info()[:2] == (2, 1)
    assert len(f.program.guard[1]) < 20
    held = types.SimpleNamespace(w=Value(2.0))  # whose w no code of the user's reads
    follows(lambda x: installed.line(held, x), lambda: setattr(held, "w", Value(5.0)))
    sys.modules.pop("installed")


def test_script_is_its_users_even_if_an_installed_program_runs_it(monkeypatch):
    """Under a debugger, pytest or coverage, `__main__` is the file of that program."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__file__", "/usr/lib/python3/site-packages/debugger/__main__.py", raising=False)
    script: Any = {"__name__": "__main__", "w": Value(2.0)}
    exec("f = lambda x: w * x", script)
    follows(script["f"], lambda: script.update(w=Value(5.0)))


# ---------------------------------------------------------------------------------------------------------------------
# Whether nodes require a gradient


@pytest.mark.parametrize("backend", BACKENDS)
def test_result_requires_a_gradient_as_long_as_a_parameter_does(backend: str):
    v, w = Value(2.0), Value(3.0)
    f = micrograd.compile(lambda x: [v * w * x, v * x], backend=backend)
    g = micrograd.compile(lambda x: v * w * x, backend=backend)

    def wanted() -> list[bool]:
        return [y.requires_grad for y in (*f(1.0), g(1.0))]

    found = [wanted()]
    for node, state in ((v, False), (w, False), (v, True), (w, True)):
        node.requires_grad = state
        found.append(wanted())
    assert found == [[True] * 3, [True, False, True], [False] * 3, [True] * 3, [True] * 3]


def test_parameter_that_is_frozen_or_unfrozen_is_found():
    v, w = Value(2.0), Value(3.0, requires_grad=False)
    f = micrograd.compile(lambda: v * w)
    for frozen, expected in ((True, 0.0), (False, 2.0), (True, 2.0)):
        w.requires_grad = not frozen
        f().backward()
        assert w.grad == expected
    assert v.grad == 9.0


def test_class_that_creates_objects_is_watched_even_if_an_object_of_it_was_met_first():
    class Scale:
        def __init__(self) -> None:
            self.factor = 2.0

    held = Scale()
    held.made_of = [Scale]  # type: ignore[attr-defined]
    f = micrograd.compile(lambda x: held.made_of[0]().factor * x)  # type: ignore[attr-defined]
    assert f(1.0).data == 2.0
    Scale.__init__ = lambda self: setattr(self, "factor", 3.0)  # type: ignore[method-assign]
    assert f(1.0).data == 3.0
