"""What the contract of `compile` watches: names that are bound later, what metaclasses and keywords lead to, lengths.

Each case gives a function of x, something that changes what it does, and keyword arguments, if it has any. The change
must lead to a new trace, which gives what the function itself gives.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Value, nn

CASES: list[Callable[[], tuple[Any, ...]]] = []


def case(make: Callable) -> Callable:
    CASES.append(make)
    return make


@pytest.fixture(autouse=True)
def _clean() -> Any:
    yield
    for name in ("LATE", "abs"):
        globals().pop(name, None)
    vars(builtins).pop("later", None)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_a_change_of_what_is_watched_means_a_new_trace(make: Callable):
    f, change, *rest = make()
    named = rest[0] if rest else {}
    compiled = micrograd.compile(f)
    before = [compiled(3.0, **named).data for _ in range(2)]
    assert before == [f(Value(3.0), **named).data] * 2
    change()
    after = [compiled(3.0, **named).data for _ in range(2)]
    assert after == [f(Value(3.0), **named).data] * 2
    assert after != before
    assert compiled.cache_info()[:2] == (2, 2)


def double(x: Any) -> Any:
    return x * 2


# ---------------------------------------------------------------------------------------------------------------------
# Names that are bound later


@case
def a_variable_of_the_closure() -> Any:
    def f(x: Any) -> Any:
        try:
            return late(x)
        except NameError:
            return x

    def change() -> None:
        nonlocal late
        late = double

    late = None
    del late
    return f, change


@case
def a_variable_of_the_closure_of_an_inner_function() -> Any:
    def f(x: Any) -> Any:
        def inner() -> Any:
            try:
                return late
            except NameError:
                return 1.0

        return x * inner()

    def change() -> None:
        nonlocal late
        late = 4.0

    late = None
    del late
    return f, change


@case
def a_global() -> Any:
    def f(x: Any) -> Any:
        try:
            return LATE(x)  # type: ignore[name-defined]
        except NameError:
            return x

    return f, lambda: globals().update(LATE=double)


@case
def a_global_by_a_string() -> Any:
    return lambda x: x * 2 if "LATE" in globals() else x, lambda: globals().update(LATE=1)


@case
def a_global_that_hides_a_builtin() -> Any:
    return lambda x: abs(x), lambda: globals().update(abs=double)


@case
def a_builtin() -> Any:
    def f(x: Any) -> Any:
        try:
            return later(x)  # type: ignore[name-defined]
        except NameError:
            return x

    return f, lambda: setattr(builtins, "later", double)


class Plain:
    """A class without attributes."""


def new_class(*bases: type, **held: Any) -> Any:
    """A class of the user's that a case may change."""
    return type("Made", bases or (Plain,), {"__module__": __name__, **held})


@case
def an_attribute_with_a_default_on_an_object() -> Any:
    box = types.SimpleNamespace()
    return lambda x: getattr(box, "act", abs)(x), lambda: setattr(box, "act", double)


@case
def an_attribute_with_a_default_on_a_class() -> Any:
    box = new_class()
    return lambda x: getattr(box, "act", abs)(x), lambda: setattr(box, "act", double)


@case
def an_attribute_with_a_default_on_the_class_of_an_object() -> Any:
    box = new_class()()
    return lambda x: getattr(box, "act", abs)(x), lambda: setattr(type(box), "act", staticmethod(double))


@case
def an_attribute_with_a_default_on_a_module() -> Any:
    box = types.ModuleType("of_a_user")
    return lambda x: getattr(box, "act", abs)(x), lambda: setattr(box, "act", double)


@case
def an_attribute_with_a_default_on_a_function() -> Any:
    def g(x: Any) -> Any:
        return x

    return lambda x: getattr(g, "act", abs)(g(x)), lambda: setattr(g, "act", double)


@case
def an_attribute_in_a_slot() -> Any:
    box = new_class(object, __slots__=("act",))()

    def f(x: Any) -> Any:
        try:
            return box.act(x)
        except AttributeError:
            return x

    return f, lambda: setattr(box, "act", double)


@case
def a_method_that_answers_for_attributes() -> Any:
    box = new_class()()

    def f(x: Any) -> Any:
        try:
            return box.act(x)
        except AttributeError:
            return x

    return f, lambda: setattr(type(box), "__getattr__", lambda self, name: double)


# ---------------------------------------------------------------------------------------------------------------------
# Metaclasses


@case
def an_attribute_of_a_metaclass() -> Any:
    meta = new_class(type, act="same")
    made: Any = meta("A", (), {"__module__": __name__})
    return lambda x: x * 2 if made.act == "twice" else x, lambda: setattr(meta, "act", "twice")


@case
def a_property_of_a_metaclass() -> Any:
    meta = new_class(type, how="same", act=property(lambda cls: cls.how))
    made: Any = meta("A", (), {"__module__": __name__})
    return lambda x: x * 2 if made.act == "twice" else x, lambda: setattr(meta, "how", "twice")


def by_a_metaclass(name: str, method: Callable, use: Callable) -> None:
    @case
    def made() -> Any:
        held = ["same"]
        meta = new_class(type, **{name: lambda cls, *args: method(held, *args)})
        cls: Any = meta("A", (), {"__module__": __name__})
        return lambda x: use(cls, x), lambda: held.__setitem__(0, "twice")

    made.__name__ = f"{name}_of_a_metaclass"


by_a_metaclass("__getattr__", lambda held, _: held[0], lambda cls, x: x * 2 if cls.act == "twice" else x)
by_a_metaclass("__len__", lambda held: len(held[0]), lambda cls, x: x * len(cls))
by_a_metaclass("__iter__", lambda held: iter(held[0]), lambda cls, x: x * len(list(cls)))
by_a_metaclass(
    "__instancecheck__", lambda held, _: held[0] == "twice", lambda cls, x: x * 2 if isinstance(1, cls) else x
)
by_a_metaclass("__call__", lambda held, x: x * 2 if held[0] == "twice" else x, lambda cls, x: cls(x))


# ---------------------------------------------------------------------------------------------------------------------
# Objects given by keyword


class Config:
    def __init__(self) -> None:
        self.act, self.by, self.ws = "same", {"name": "same"}, [Value(2.0)]


@case
def an_attribute_of_an_object_by_keyword() -> Any:
    c = Config()
    return lambda x, c: x * 2 if c.act == "twice" else x, lambda: setattr(c, "act", "twice"), {"c": c}


@case
def a_dict_in_an_object_by_keyword() -> Any:
    c = Config()
    return lambda x, c: x * 2 if c.by["name"] == "twice" else x, lambda: c.by.update(name="twice"), {"c": c}


@case
def a_parameter_in_an_object_by_keyword() -> Any:
    c = Config()
    return lambda x, c: x * c.ws[0], lambda: c.ws.__setitem__(0, Value(7.0)), {"c": c}


@case
def what_a_function_by_keyword_reads() -> Any:
    held = ["same"]
    act = lambda x: x * 2 if held[0] == "twice" else x  # noqa: E731
    return lambda x, act: act(x), lambda: held.__setitem__(0, "twice"), {"act": act}


@case
def a_layer_of_a_model_in_a_list_by_keyword() -> Any:
    model = nn.MLP(1, [1])
    return lambda x, models: models[0]([x]), lambda: model.layers.append(nn.MLP(1, [1])), {"models": [model]}


# ---------------------------------------------------------------------------------------------------------------------
# Numbers, arrays and lists of numbers that a name is bound to


def bound_to(name: str, first: Any, then: Any, read: Callable[[Any], Any] = lambda found: found) -> None:
    def by(where: str) -> Callable[[Callable], Callable]:
        def made(make: Callable) -> Callable:
            make.__name__ = f"{name}, of {where}"
            return case(make)

        return made

    @by("a closure")
    def _closure() -> Any:
        k = first

        def change() -> None:
            nonlocal k
            k = then

        return lambda x: x * read(k), change

    @by("a global")
    def _global() -> Any:
        globals()["LATE"] = first
        return lambda x: x * read(LATE), lambda: globals().update(LATE=then)  # noqa: F821

    @by("a default")
    def _default() -> Any:
        def f(x: Any, k: Any = first) -> Any:
            return x * read(k)

        return lambda x: f(x), lambda: setattr(f, "__defaults__", (then,))

    @by("a default by keyword")
    def _keyword() -> Any:
        def f(x: Any, *, k: Any = first) -> Any:
            return x * read(k)

        return lambda x: f(x), lambda: f.__kwdefaults__.update(k=then)

    @by("an object")
    def _attribute() -> Any:
        box = types.SimpleNamespace(k=first)
        return lambda x: x * read(box.k), lambda: setattr(box, "k", then)

    @by("a class")
    def _class() -> Any:
        class Box:
            k = first

        return lambda x: x * read(Box().k), lambda: setattr(Box, "k", then)

    @by("a slot")
    def _slot() -> Any:
        class Box:
            __slots__ = ("k",)

        box = Box()
        box.k = first
        return lambda x: x * read(box.k), lambda: setattr(box, "k", then)

    @by("a module")
    def _module() -> Any:
        module = types.ModuleType("a_users_own")
        module.k = first  # type: ignore[attr-defined]
        return lambda x: x * read(module.k), lambda: setattr(module, "k", then)

    @by("a node")
    def _node() -> Any:
        node = Value(2.0)
        node.k = first  # type: ignore[attr-defined]
        return lambda x: node * x * read(node.k), lambda: setattr(node, "k", then)


bound_to("a float", 2.0, 3.0)
bound_to("an int", 2, 3)
bound_to("a number of numpy", np.float64(2.0), np.float64(3.0))
bound_to("a list", [2.0], [3.0], lambda found: found[0])
bound_to("a tuple", (2.0,), (3.0,), lambda found: found[0])
bound_to("an array", np.array([2.0]), np.array([3.0]), lambda found: float(found[0]))
bound_to("a dict", {"a": 2.0}, {"a": 3.0}, lambda found: found["a"])


@case
def a_zero_that_changes_its_sign() -> Any:
    box = types.SimpleNamespace(k=0.0)
    return lambda x: x * np.copysign(1.0, box.k), lambda: setattr(box, "k", -0.0)


def test_a_setting_of_a_layer_is_watched():
    layer, x = nn.LayerNorm1d(2), np.array([[1.0, 2.0]])
    f = micrograd.compile(layer)
    for eps in (1e-5, 0.5):
        layer.eps = eps
        assert np.allclose(f(x).data, layer(x).data)


def test_a_number_that_is_bound_again_and_equal_is_no_change():
    box = types.SimpleNamespace(k=2.5, nan=float("nan"), data=[1.0])
    f = micrograd.compile(lambda x: x * box.k + box.nan + box.data[0])
    for _ in range(3):
        f(1.0)
        box.k, box.nan = float("2.5"), float("nan")
        box.data[0] += 1.0
    assert f.cache_info()[:2] == (2, 1)


# ---------------------------------------------------------------------------------------------------------------------
# The length of containers, and the kind of what is in them


def of_numbers(name: str, make: Callable[[], Any], change: Callable[[Any], Any], read: Callable[[Any], Any]) -> None:
    @case
    def in_a_variable() -> Any:
        held = make()
        return lambda x: x * read(held), lambda: change(held)

    @case
    def in_an_attribute() -> Any:
        box = types.SimpleNamespace(held=make())
        return lambda x: x * read(box.held), lambda: change(box.held)

    in_a_variable.__name__, in_an_attribute.__name__ = name, f"{name}, in an attribute"


HUNDREDS = 300
of_numbers("a list that grows", lambda: [2.0, 3.0], lambda held: held.append(1.0), len)
of_numbers("a list that shrinks", lambda: [2, 3], lambda held: held.pop(), sum)
of_numbers("a list in a list that grows", lambda: [[2.0], [3.0]], lambda held: held[1].append(9.0), lambda h: len(h[1]))
of_numbers("a node in a list", lambda: [2.0, 3.0], lambda held: held.__setitem__(0, Value(9.0)), lambda h: h[0])
of_numbers("a node in a nested list", lambda: [[2.0]], lambda h: h[0].__setitem__(0, Value(9.0)), lambda h: h[0][0])
of_numbers("a node in a mixed list", lambda: [2.0, [1.0]], lambda h: h[1].__setitem__(0, Value(9.0)), lambda h: h[1][0])
of_numbers("None in a list", lambda: [2.0], lambda h: h.__setitem__(0, None), lambda h: 5.0 if h[0] is None else 1.0)
of_numbers("a list in a tuple", lambda: ([2.0],), lambda held: held[0].append(1.0), lambda h: len(h[0]))
of_numbers("a long dict", lambda: dict.fromkeys(range(HUNDREDS), 1.0), lambda h: h.update(more=1.0), len)
of_numbers(
    "a node in a long dict",
    lambda: dict.fromkeys(range(HUNDREDS), 1.0),
    lambda held: held.__setitem__(7, Value(9.0)),
    lambda held: held[7],
)
of_numbers("a deque", lambda: deque([1.0]), lambda held: held.append(2.0), len)
of_numbers("a set", lambda: {1.0}, lambda held: held.add(2.0), len)
of_numbers("a bytearray", lambda: bytearray(b"ab"), lambda held: held.extend(b"c"), len)
of_numbers("an array in a list", lambda: [np.ones(2)], lambda h: h.__setitem__(0, np.ones(3)), lambda h: len(h[0]))
of_numbers("a dtype", lambda: [np.ones(2)], lambda h: h.__setitem__(0, np.ones(2, int)), lambda h: len(h[0].dtype.name))


@case
def another_tuple() -> Any:
    box = types.SimpleNamespace(held=(1.0, 2.0))
    return lambda x: x * len(box.held), lambda: setattr(box, "held", (1.0, 2.0, 3.0))


@case
def another_array() -> Any:
    box = types.SimpleNamespace(held=np.ones(2))
    return lambda x: x * len(box.held), lambda: setattr(box, "held", np.ones(3))


def test_numbers_in_containers_are_constants():
    held = {"list": [2.0, [3.0]], "dict": dict.fromkeys(range(HUNDREDS), 1.0), "array": np.ones(2), "set": deque([1.0])}
    f = micrograd.compile(lambda x: x * held["list"][1][0] * held["dict"][7] * held["array"][0] * held["set"][0])
    first = f(1.0).data
    held["list"][1][0] = held["dict"][7] = held["array"][0] = held["set"][0] = 7.0
    assert (first, f(1.0).data, f.cache_info().misses) == (3.0, 3.0, 1)
    f.retrace()
    assert f(1.0).data == 7.0**4


# ---------------------------------------------------------------------------------------------------------------------
# What is not the user's is not followed


def test_the_code_of_an_installed_package_is_not_followed(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "installed.py").write_text("state = {}\ndef helper(x):\n    return state.setdefault(len(state), x)\n")
    monkeypatch.syspath_prepend(str(site))
    import installed

    f = micrograd.compile(lambda x: x * 2 if installed.helper(1) else x)
    for _ in range(3):
        f(2.0)
        installed.helper(None)
    assert f.cache_info()[:2] == (2, 1)
    assert len(f.program.guard[1]) < 20
    sys.modules.pop("installed")


def test_an_objects_own_method_may_be_called_transformed():
    class Scaler:
        def __init__(self) -> None:
            self.by = "same"

        def transformed(self, x: Any) -> Any:
            return x * 2 if self.by == "twice" else x

        def __call__(self, x: Any) -> Any:
            return self.transformed(x)

    scaler = Scaler()
    f = micrograd.compile(lambda x: scaler.transformed(x))
    assert [f(3.0).data, micrograd.gradient(scaler)(3.0)] == [3.0, 1.0]
    scaler.by = "twice"
    assert [f(3.0).data, micrograd.gradient(scaler)(3.0)] == [6.0, 2.0]


def test_an_object_with_any_attribute_beside_parameters():
    class Anything:
        def __getattr__(self, name: str) -> Any:
            return lambda *_: None

    anything, model = Anything(), nn.MLP(1, [1])
    f = micrograd.compile(lambda x: x * sum(model.parameters()) if anything.gcf() is None else x)
    assert f(1.0).data == f(1.0).data
    assert f.cache_info()[:2] == (1, 1)
