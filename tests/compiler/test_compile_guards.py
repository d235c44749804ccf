"""What a compiled function was traced with, replaced: it is traced again, or refused; it never goes on with the old."""

from __future__ import annotations

import argparse
import random
import types
import weakref
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache, partial, partialmethod
from typing import Any, NamedTuple

import numpy as np
import pytest
from compile_helpers import BACKENDS, near

import micrograd
from micrograd import Tensor, Value, nn

Change = Callable[[Any], None]
Way = tuple[Callable, Change]  # a function of x, and what puts another node where it has found its w
GLOBAL = Value(2.0)
MODULE = types.ModuleType("of_a_user")


def by_default(w: Any) -> Way:
    def f(x: Any, w: Any = w) -> Any:
        return w * x

    return f, lambda new: setattr(f, "__defaults__", (new,))


def in_a_default(w: Any) -> Way:
    held = [w]
    return lambda x, held=held: held[0] * x, lambda new: held.__setitem__(0, new)


def by_keyword_default(w: Any) -> Way:
    def f(x: Any, *, w: Any = w) -> Any:
        return w * x

    return f, lambda new: f.__kwdefaults__.__setitem__("w", new)


def by_nonlocal(w: Any) -> Way:
    def change(new: Any) -> None:
        nonlocal w
        w = new

    return lambda x: w * x, change


def by_global(w: Any) -> Way:
    globals()["GLOBAL"] = w
    return lambda x: GLOBAL * x, lambda new: globals().__setitem__("GLOBAL", new)


def in_a_module(w: Any) -> Way:
    MODULE.w = w
    return lambda x: MODULE.w * x, lambda new: setattr(MODULE, "w", new)


def as_class_attribute(w: Any) -> Way:
    class Config:
        pass

    class Derived(Config):
        pass

    Config.w = w
    return lambda x: Derived.w * x, lambda new: setattr(Config, "w", new)


def behind_a_class_attribute(w: Any) -> Way:
    class Model:
        def __call__(self, x: Any) -> Any:
            return self.w * x

    Model.w = w
    model = Model()
    return model, lambda new: setattr(model, "w", new)


def in_slots(w: Any) -> Way:
    class Line:
        __slots__ = ("w",)

        def __init__(self, w: Any):
            self.w = w

    line = Line(w)
    return lambda x: line.w * x, lambda new: setattr(line, "w", new)


def in_a_slot_whose_name_is_computed(w: Any) -> Way:
    class Line:
        __slots__ = ("slope",)

    line, name = Line(), "".join(["slo", "pe"])
    line.slope = w
    return lambda x: getattr(line, name) * x, lambda new: setattr(line, name, new)


def in_a_dataclass(w: Any) -> Way:
    @dataclass(slots=True)
    class Line:
        w: Any

    line = Line(w)
    return lambda x: line.w * x, lambda new: setattr(line, "w", new)


def behind_a_property(w: Any) -> Way:
    class Line:
        weights = [w]

        @property
        def slope(self) -> Any:
            return self.weights[0]

    line = Line()
    return lambda x: line.slope * x, lambda new: Line.weights.__setitem__(0, new)


def behind_a_cached_property(w: Any) -> Way:
    class Line:
        @cached_property
        def slope(self) -> Any:
            return w

    line = Line()
    return lambda x: line.slope * x, lambda new: setattr(line, "slope", new)


def behind_getattr(w: Any) -> Way:
    class Line:
        def __init__(self) -> None:
            self._held = {"slope": w}

        def __getattr__(self, name: str) -> Any:
            return self._held[name]

    line = Line()
    return lambda x: line.slope * x, lambda new: line._held.__setitem__("slope", new)


def by_a_computed_name(w: Any) -> Way:
    box = types.SimpleNamespace(w1=w)
    return lambda x: getattr(box, f"w{1}") * x, lambda new: setattr(box, "w1", new)


def by_class_method(w: Any) -> Way:
    class Line:
        held = {"w": w}

        @classmethod
        def at(cls, x: Any) -> Any:
            return cls.held["w"] * x

        @staticmethod
        def double(x: Any) -> Any:
            return 2 * x

    return lambda x: Line.at(Line.double(x)) / 2, lambda new: Line.held.__setitem__("w", new)


def in_a_tuple(w: Any) -> Way:
    class Pair(NamedTuple):
        held: Any
        k: float

    pair = Pair([w], 1.0)
    return lambda x: pair.held[0] * x, lambda new: pair.held.__setitem__(0, new)


def in_an_array_of_objects(w: Any) -> Way:
    held = np.array([w, 1.0], dtype=object)
    return lambda x: held[0] * x, lambda new: held.__setitem__(0, new)


def in_a_deque(w: Any) -> Way:
    held = deque([w])
    return lambda x: held[0] * x, lambda new: held.__setitem__(0, new)


def in_a_set(w: Any) -> Way:
    held = {w}
    return lambda x: sum(held) * x, lambda new: (held.clear(), held.add(new))


def by_partial(w: Any) -> Way:
    state = {"w": w}
    return partial(lambda state, x: state["w"] * x, state), lambda new: state.__setitem__("w", new)


def by_partial_keyword(w: Any) -> Way:
    f = partial(lambda x, w: w * x, w=w)
    return f, lambda new: f.keywords.__setitem__("w", new)


def by_bound_method(w: Any) -> Way:
    held = {"w": w}
    get = held.get
    return lambda x: get("w") * x, lambda new: held.__setitem__("w", new)


def by_function_attribute(w: Any) -> Way:
    def f(x: Any) -> Any:
        return f.w * x

    f.w = w
    return f, lambda new: setattr(f, "w", new)


def in_a_helper(w: Any) -> Way:
    def helper() -> Any:
        return w

    def change(new: Any) -> None:
        nonlocal w
        w = new

    return lambda x: helper() * x, change


def in_another_compiled_function(w: Any) -> Way:
    held = [w]
    inner = micrograd.compile(lambda x: held[0] * x)
    return lambda x: inner(x) * 1.0, lambda new: held.__setitem__(0, new)


def of_dict(make: Callable, key: Any) -> Callable[[Any], Way]:
    def way(w: Any) -> Way:
        held = make()
        held[key] = w
        return lambda x: held[key] * x, lambda new: held.__setitem__(key, new)

    way.__name__ = f"in_a_dict_at_{key!r:.20}"
    return way


def in_a_users_dict(w: Any) -> Way:
    class Held(UserDict):
        pass

    held = Held(w=w)
    return lambda x: held["w"] * x, lambda new: held.__setitem__("w", new)


WAYS = [
    by_default, in_a_default, by_keyword_default, by_nonlocal, by_global, in_a_module, as_class_attribute,
    behind_a_class_attribute, in_slots, in_a_dataclass, behind_a_property, behind_a_cached_property, behind_getattr,
    by_a_computed_name, by_class_method, in_a_tuple, in_an_array_of_objects, in_a_deque, in_a_set, by_partial,
    by_partial_keyword, by_bound_method, by_function_attribute, in_a_helper, in_another_compiled_function,
    of_dict(dict, "w"), of_dict(dict, 1), of_dict(dict, (0, "w")), of_dict(dict, 0.5), of_dict(dict, None),
    of_dict(dict, object()), of_dict(OrderedDict, "w"), of_dict(lambda: defaultdict(list), "w"), in_a_users_dict,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("kind", [Value, lambda x: Tensor([x], requires_grad=True)], ids=["Value", "Tensor"])
def test_a_parameter_that_is_replaced_is_found_however_it_is_held(kind: Callable, way: Callable):
    def used(f: Callable) -> list[float]:
        return [float(np.sum(f(3.0 if kind is Value else np.array([3.0])).data)) for _ in range(2)]

    if way is in_an_array_of_objects and kind is not Value:
        return
    f, change = way(kind(2.0))
    compiled = micrograd.compile(f)
    first = used(compiled)
    misses = compiled.cache_info().misses
    change(new := kind(2.0))  # of the same number, which must make no difference
    new.data = kind(5.0).data
    assert (first, used(compiled)) == ([6.0, 6.0], [15.0, 15.0])
    assert (misses, compiled.cache_info().misses) == (1, 2)


SLOPE = Value(2.0, label="slope")
reference, remembered = weakref.ref(SLOPE), lru_cache(lambda: Value(2.0, label="slope"))


@pytest.mark.parametrize("hidden", [reference, remembered], ids=["weakref", "lru_cache"])
def test_a_node_that_no_way_leads_to_is_refused(hidden: Callable):
    f = micrograd.compile(lambda x: hidden() * x)
    with pytest.raises(RuntimeError, match=r"cannot use Value 'slope': .* or pass it as an argument; at .*py"):
        f(3.0)
    assert f.cache_info().currsize == 0


# ---------------------------------------------------------------------------------------------------------------------
# Changes that put no node in another's place


class Model(nn.Module):
    """A model with every kind of switch."""

    depth = 1
    squash: Any = staticmethod(lambda x: x * 1.0)

    def __init__(self) -> None:
        self.layers = [nn.Linear(2, 2, rng=np.random.default_rng(0)), nn.ReLU()]
        self.act, self.skip, self.last = "tanh", False, None
        self.extra: list[Any] = []
        self.terms = {"a": Tensor([0.5, -1.0], requires_grad=True)}
        self.activations = {"tanh": micrograd.tanh, "relu": micrograd.relu}
        self.options = {"act": ["tanh", "relu"]}

    def __call__(self, x: Any) -> Any:
        out = x
        for layer in self.layers:
            out = layer(out)
        out = self.squash(self.activations[self.act](out) + sum(self.terms.values()) + sum(self.extra))
        out = self.activations[self.options["act"][0]](out)
        out = out if self.last is None else self.last(out)
        return out + x if self.skip else out


class Cube(nn.Module):
    def __call__(self, x: Any) -> Any:
        return x**3


def vector() -> Tensor:
    return Tensor([0.3, 0.7], requires_grad=True)


STRUCTURE: dict[str, Change] = {
    "a layer replaced": lambda m: m.layers.__setitem__(1, nn.Tanh()),
    "a layer appended": lambda m: m.layers.append(nn.Tanh()),
    "a layer taken away": lambda m: m.layers.pop(),
    "layers in another order": lambda m: m.layers.reverse(),
    "another list of layers": lambda m: setattr(m, "layers", m.layers[:1]),
    "a key added": lambda m: m.terms.__setitem__("b", vector()),
    "a key renamed and replaced": lambda m: (m.terms.pop("a"), m.terms.__setitem__("c", vector())),
    "a key taken away": lambda m: m.terms.clear(),
    "a node appended to an empty list": lambda m: m.extra.append(vector()),
    "a string": lambda m: setattr(m, "act", "relu"),
    "a string in a list in a dict": lambda m: m.options["act"].reverse(),
    "a bool": lambda m: setattr(m, "skip", True),
    "a None": lambda m: setattr(m, "last", nn.Tanh()),
    "a function in a dict": lambda m: m.activations.__setitem__("tanh", micrograd.sigmoid),
    "a function of the class, hidden": lambda m: setattr(m, "squash", micrograd.sin),
    "a module's setting": lambda m: setattr(m, "layers", [m.layers[0], Cube()]),
}


@pytest.mark.parametrize("change", STRUCTURE.values(), ids=STRUCTURE)
@pytest.mark.parametrize("form", [lambda m: lambda x: m(x), lambda m: m, lambda m: m.__call__], ids=["f", "m", "bound"])
def test_a_changed_structure_is_traced_again(form: Callable, change: Change):
    model, x = Model(), np.array([[1.0, -2.0], [-3.0, 0.5]])
    f = micrograd.compile(form(model))
    before = f(x).data
    change(model)
    expected = model(Tensor(x)).data
    assert not np.array_equal(before, expected)
    np.testing.assert_allclose(f(x).data, expected, rtol=1e-12)
    np.testing.assert_allclose(f(x).data, expected, rtol=1e-12)
    assert f.cache_info()[:2] == (1, 2)


class Base:
    act = "relu"

    def __init__(self) -> None:
        self.how = SETTINGS["how"]

    def __call__(self, x: Any) -> Any:
        return getattr(x, self.how)()


def an_act() -> Any:
    """An object of a new class, which the test may change."""
    return type("Act", (Base,), {"__module__": __name__})()


class Tanh(Base):
    def __call__(self, x: Any) -> Any:
        return x.tanh()


class Listed(list):
    def __init__(self, parts: Any) -> None:
        super().__init__(parts)
        self.act = "relu"


class Linear(Base):
    go = partialmethod(lambda self, x, by: x.tanh() if self.act == by else x.relu(), by="tanh")


SETTINGS = {"how": "relu"}


def by_pattern(box: Any) -> Callable:
    def f(x: Any) -> Any:
        match box:
            case Base(act="tanh"):
                return x.tanh()
        return x.relu()

    return f


def in_order(weights: dict[str, Value]) -> Callable:
    def f(x: Any) -> Any:
        a, b = weights.values()
        return a * x - b

    return f


def named(held: Any) -> Callable:
    return lambda x: getattr(x, held["act"])()


# what a function reads, the function, and a change that puts no node in another's place
STRUCTURES: dict[str, tuple[Callable, Callable, Change]] = {
    "the order of a dict": (lambda: {"a": Value(2.0), "b": Value(5.0)}, in_order, lambda d: d.update(a=d.pop("a"))),
    "a number in a dict": (
        lambda: {"k": 2.0}, lambda d: lambda x: x * d["k"], lambda d: d.update(k=Value(3.0)),
    ),
    "a key of a dict of numbers": (
        lambda: {"k": 2.0}, lambda d: lambda x: x * d.get("k", 3.0), lambda d: d.update(j=d.pop("k")),
    ),
    "the class of an object": (an_act, lambda a: lambda x: a(x), lambda a: setattr(a, "__class__", Tanh)),
    "the bases of a class": (an_act, lambda a: lambda x: a(x), lambda a: setattr(type(a), "__bases__", (Tanh,))),
    "an attribute that hides a base's": (
        an_act, lambda a: lambda x: getattr(x, a.act)(), lambda a: setattr(type(a), "act", "tanh"),
    ),
    "a special method that hides a base's": (
        an_act, lambda a: lambda x: a(x), lambda a: setattr(type(a), "__call__", Tanh.__call__),
    ),
    "what a constructor reads": (
        lambda: Base, lambda act: lambda x: act()(x), lambda _: SETTINGS.update(how="tanh"),
    ),
    "what a partial method reads": (Linear, lambda a: lambda x: a.go(x), lambda a: setattr(a, "act", "tanh")),
    "forward on a layer of the library": (
        lambda: nn.Sequential(an_act()), lambda layer: lambda x: layer(x),
        lambda layer: setattr(layer, "forward", lambda x: x * 7.0),
    ),
    "an attribute by a class pattern": (an_act, by_pattern, lambda a: setattr(a, "act", "tanh")),
    "an attribute of a kind of list": (
        lambda: Listed([Value(1.0)]), lambda xs: lambda x: getattr(x * xs[0], xs.act)(),
        lambda xs: setattr(xs, "act", "tanh"),
    ),
    "an attribute of a namespace of argparse": (
        lambda: argparse.Namespace(act="relu"), lambda a: lambda x: x.tanh() if a.act == "tanh" else x.relu(),
        lambda a: setattr(a, "act", "tanh"),
    ),
    **{
        kind.__name__: (lambda kind=kind: kind({"act": "relu"}), named, lambda d: d.update(act="tanh"))
        for kind in (UserDict, ChainMap)
    },
}  # fmt: skip


@pytest.mark.parametrize("what", STRUCTURES)
def test_a_structure_that_changes_is_traced_again(what: str, monkeypatch):
    monkeypatch.setitem(SETTINGS, "how", "relu")
    make, function, change = STRUCTURES[what]
    f = function(held := make())
    compiled = micrograd.compile(f)
    before = [compiled(Value(0.7)).data for _ in range(2)]
    assert before == [f(Value(0.7)).data] * 2
    assert compiled.cache_info()[:2] == (1, 1)
    change(held)
    found = compiled(Value(0.7)).data
    assert near([found], [f(Value(0.7)).data])
    assert found != before[0]


def test_a_method_of_a_class_that_is_replaced_is_found(monkeypatch):
    f = micrograd.compile(Model())
    x = np.array([[1.0, -2.0]])
    f(x)
    monkeypatch.setattr(Model, "__call__", lambda self, x: self.layers[0](x))
    assert f(x).shape == (1, 2)
    assert f.cache_info().misses == 2


def test_a_rebound_function_is_found_and_so_is_its_rebound_helper():
    helper = lambda x: x * 2  # noqa: E731
    act = lambda x: helper(x) + 1  # noqa: E731
    f = micrograd.compile(lambda x: act(x))
    found = [f(3.0).data]
    helper = lambda x: x * 5  # noqa: E731
    found.append(f(3.0).data)
    act = lambda x: x  # noqa: E731
    found.append(f(3.0).data)
    assert found == [7.0, 16.0, 3.0]


class Mode(IntEnum):
    """A choice, though it is a number too."""

    OFF, ON = 0, 1


def test_an_enum_that_is_replaced_is_found():
    box = types.SimpleNamespace(mode=Mode.OFF)
    f = micrograd.compile(lambda x: x * 2 if box.mode == Mode.ON else x)
    first = f(3.0).data
    box.mode = Mode.ON
    assert (first, f(3.0).data) == (3.0, 6.0)


def test_a_number_that_becomes_a_parameter_is_found():
    box = types.SimpleNamespace(k=2.0)
    f = micrograd.compile(lambda x: box.k * x)
    f(3.0)
    box.k = Value(5.0)
    f(3.0).backward()
    assert box.k.grad == 3.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_requires_a_gradient_as_long_as_a_parameter_does(backend: str):
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


# ---------------------------------------------------------------------------------------------------------------------
# What makes no difference


class Trainer:
    """What changes at each step, beside the weights."""

    def __init__(self) -> None:
        self.model = nn.MLP(2, [3, 1])
        self.losses: list[Any] = []
        self.steps, self.last, self.batch, self.best = 0, None, (), None
        self.notes = {"step": 0}

    @micrograd.compile
    def loss(self, x: Any) -> Any:
        return self.model([x, 1.0])

    def step(self, x: float) -> None:
        self.last = self.loss(x)
        self.losses.append(self.last.data)
        self.batch, self.best = ([x], str(x)), object()
        self.steps += 1
        self.notes["step"] += 1
        self.notes[x] = x


def test_a_module_with_forward_is_asked_about_what_that_names_alone():
    class Line(nn.Module):
        def __init__(self) -> None:
            self.w, self.act, self.seen = Value(2.0), "id", object()

        def forward(self, x: Any) -> Any:
            return self.w * x if self.act == "id" else (self.w * x).tanh()

    line = Line()
    f, g = micrograd.compile(line), micrograd.compile(lambda x: line(x))
    for _ in range(3):
        f(1.0), g(1.0)
        line.seen = object()
    line.act = "tanh"
    assert near([f(1.0).data, g(1.0).data], [np.tanh(2.0)] * 2)
    assert [h.cache_info()[:2] for h in (f, g)] == [(2, 2)] * 2


def test_what_the_function_does_not_read_may_change_as_it_likes():
    trainer = Trainer()
    for i in range(10):
        trainer.step(i / 10)
    assert trainer.loss.cache_info()[:2] == (9, 1)


def test_numbers_in_containers_and_nodes_that_are_not_used_may_change_as_they_like():
    box = types.SimpleNamespace(w=Value(2.0), data=[[1.0, 2.0]], old=Value(1.0), log=[Value(0.0)])
    f = micrograd.compile(lambda x: box.w * x + box.data[0][0] + (box.old is box.log))
    for i in range(5):
        f(1.0)
        box.old = Value(float(i))
        box.data[0][0] = float(i)
        box.log[0] = box.old
        box.more = i
    assert f.cache_info()[:2] == (4, 1)


def test_a_list_that_the_code_does_not_name_may_grow_also_if_it_reads_everything():
    class Trainer:
        total: Any = []

        def __init__(self) -> None:
            self.model, self.losses, self.step = nn.MLP(1, [1]), [0.5], 0

        def penalty(self, x: Any) -> Any:
            return sum(p * p for p in self.model.parameters()) * x

    trainer = Trainer()
    Trainer.total = [0.5]
    f = micrograd.compile(trainer.penalty)
    for _ in range(3):
        trainer.losses.append(f(1.0).data)
        Trainer.total.append(1.0)
        trainer.step += 1
    assert f.cache_info().misses == 1


def test_a_drawn_number_outside_makes_no_difference():
    rng = random.Random(0)
    f = micrograd.compile(nn.MLP(2, [2, 1], rng=rng))
    for _ in range(4):
        f([rng.gauss(0, 1), 1.0])
    assert f.cache_info().misses == 1


# ---------------------------------------------------------------------------------------------------------------------
# What is compared as a whole


def rows_of(model: list[list[Value]]) -> list[list[float]]:
    return [[x.data for x in row] for row in model]


CHANGES: dict[str, Callable[[list[list[Value]]], None]] = {
    "a Value": lambda m: m[1].__setitem__(0, Value(9.0)),
    "a Value that was not used": lambda m: m[2].__setitem__(0, Value(9.0)),
    "a row": lambda m: m.__setitem__(0, [Value(5.0), Value(6.0)]),
    "a row that is twice there": lambda m: m.__setitem__(0, m[1]),
    "a longer matrix": lambda m: m.append([Value(1.0), Value(2.0)]),
    "rows in another order": lambda m: m.reverse(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_in_a_matrix_of_values_is_seen(what: str):
    matrix = [[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)], [Value(7.0), Value(8.0)]]
    fn = lambda x: sum(row[0] * x + row[1] for row in (matrix[0], matrix[1], *matrix[3:]))  # noqa: E731
    f = micrograd.compile(fn)
    assert f(2.0).data == fn(Value(2.0)).data
    CHANGES[what](matrix)
    assert f(2.0).data == fn(Value(2.0)).data


def test_a_row_of_a_matrix_that_has_another_name_too_is_watched_by_that_name():
    row, other = [Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)]
    held = {"row": row, "matrix": [row, other]}
    fn = lambda x: held["row"][0] * x + sum(r[1] for r in held["matrix"])  # noqa: E731
    f = micrograd.compile(fn)
    assert f(2.0).data == 8.0
    held["matrix"][0] = row[:]
    assert f(2.0).data == 8.0
    row[0] = Value(10.0)  # no longer in the matrix
    assert f(2.0).data == fn(Value(2.0)).data == 26.0


def test_what_a_neuron_holds_is_watched_as_a_whole():
    model = nn.MLP(2, [3, 1])
    f = micrograd.compile(lambda x: model([x, x * 2]))
    neuron = model.layers[0].neurons[0]

    def agree() -> None:
        assert near(f(0.5).data, model([Value(0.5), Value(1.0)]).data)

    agree()
    neuron.w[0] = Value(3.0)
    agree()
    neuron.w = [Value(1.0), Value(-2.0)]
    agree()
    neuron.b = Value(7.0)
    agree()
    neuron.nonlin = not neuron.nonlin
    agree()
    before = f.cache_info().misses
    agree()
    assert f.cache_info().misses == before == 5
