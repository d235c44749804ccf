"""The contract of `docs/contract.md`, line by line: whatever a function finds is watched, constant, or refused.

Each line of the guide's lists has its cases here, and each case changes what a function reads between two calls. What
is live is tested with gradients, in test_watched and test_training; what is refused, in test_refused.
"""

from __future__ import annotations

import abc
import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import importlib
import itertools
import operator
import os
import queue
import sys
import textwrap
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, cast, get_type_hints

import numpy as np
import pytest
from compile_helpers import near
from proofread import section

import micrograd
from micrograd import Value

GUIDE = (Path(__file__).parents[2] / "docs" / "contract.md").read_text(encoding="utf-8")
HOW: dict[str, Any] = {"act": "one"}  # which functions below read
LATER: Any = "one"
UNNAMED = "".join(["ra", "te"])  # a global that no code names

Case = tuple[Callable[[Any], Any], Callable[[], object]]  # a function, and what changes what it reads
CASES: dict[str, tuple[str, Callable[..., Case]]] = {}


def under(line: str) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    """A case of the line of the guide that begins so."""

    def add(case: Callable[..., Case]) -> Callable[..., Case]:
        CASES[case.__name__] = line, case
        return case

    return add


def acted(how: Any, x: Any) -> Any:
    return x * 5 if how == "other" else x * 2


def act(x: Any) -> Any:
    return acted(HOW["act"], x)


def changed() -> None:
    HOW["act"] = "other"


class Box:
    """An object of a user's class."""

    how: Any = "one"

    def __init__(self, **held: Any):
        vars(self).update(held)

    def go(self, x: Any, *_: Any) -> Any:
        return acted(self.how, x)


NAMES, CONTAINERS = "what the names that the function's code reads", "what is in the containers"
NUMBERS, DATA = "a number in a container", "**data**"
COMPUTED, BEHIND = "a number under a name that the code computes", "what an iterator or a generator"
OTHERS, BESIDES = "what Python, other libraries", "what the function does besides computing"
KEPT, THREADS = "what Python keeps", "what another thread computes"
CONSTANT = {NUMBERS, DATA, COMPUTED, BEHIND, OTHERS, KEPT, THREADS, BESIDES}


# ---------------------------------------------------------------------------------------------------------------------
# Names: imports, special methods, descriptors, what is made inside, and names that are computed


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A user's package, of which a function imports a module."""
    package = tmp_path / "of_a_user"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "config.py").write_text("k = 2.0\nhow = 'one'\n")
    (package / "lazy.py").write_text("held = {'how': 'one'}\ndef __getattr__(name):\n    return held[name]\n")
    (package / "relative.py").write_text("def read():\n    from .config import k\n    return k\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("of_a_user.config")
    for name in [name for name in sys.modules if name.split(".")[0] == "of_a_user"]:
        del sys.modules[name]


IMPORTS = {
    "import": "def f(x):\n    import of_a_user.config\n    return x * of_a_user.config.k",
    "import as": "def f(x):\n    import of_a_user.config as c\n    return x * c.k",
    "from a package": "def f(x):\n    from of_a_user import config\n    return x * config.k",
    "from a module": "def f(x):\n    from of_a_user.config import k\n    return x * k",
    "in an inner function": "def f(x):\n def g():\n  import of_a_user.config as c\n  return c.k\n return x * g()",
    "import_module": "def f(x):\n    import importlib\n    return x * importlib.import_module('of_a_user.config').k",
    "__import__": "def f(x):\n    return x * __import__('of_a_user.config').config.k",
    "sys.modules": "def f(x):\n    import sys\n    return x * sys.modules['of_a_user.config'].k",
    "relative": "def f(x):\n    import of_a_user.relative as r\n    return x * r.read()",
}


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded before", "loaded by the function"])
@pytest.mark.parametrize("text", IMPORTS.values(), ids=IMPORTS)
def test_what_a_function_imports_is_watched(text: str, loaded: bool, config: Any):
    if not loaded:
        for name in ("of_a_user.config", "of_a_user"):
            sys.modules.pop(name, None)
    if "sys.modules" in text and not loaded:
        importlib.import_module("of_a_user.config")
    user: Any = {"__name__": __name__}
    exec(textwrap.dedent(text), user)
    f = micrograd.compile(user["f"])
    found = [f(3.0).data, f(3.0).data]
    sys.modules["of_a_user.config"].k = 5.0  # type: ignore[attr-defined]
    assert [*found, f(3.0).data, f(3.0).data] == [6.0, 6.0, 15.0, 15.0]
    assert f.cache_info().misses == 2


def test_what_a_module_answers_by_a_function_is_watched(config: Any):
    lazy: Any = importlib.import_module("of_a_user.lazy")
    f = micrograd.compile(lambda x: acted(lazy.how, x))
    found = f(3.0).data
    lazy.held["how"] = "other"
    assert (found, f(3.0).data) == (6.0, 15.0)


def test_function_of_a_module_under_a_computed_name_is_watched(config: Any):
    config.act_one, name = (lambda x: x * 2), "".join(["act_", "one"])
    f = micrograd.compile(lambda x: getattr(config, name)(x))
    found = f(3.0).data
    config.act_one = lambda x: x * 5
    assert (found, f(3.0).data) == (6.0, 15.0)


SPECIAL: dict[str, Callable[[], Any]] = {
    "a static method": lambda: staticmethod(act),
    "a class method": lambda: classmethod(lambda cls, x: act(x)),
    "a partial": lambda: functools.partial(lambda x, y: act(y), None),
    "an object that can be called": lambda: type("Called", (), {"__call__": lambda self, x: act(x)})(),
    "a property": lambda: property(lambda self: act),
}


@pytest.mark.parametrize("change", ["what it reads", "itself"])
@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
def test_special_method_of_any_form_is_watched(make: Callable, change: str):
    HOW["act"] = "one"
    kind = type("Made", (Box,), {"__module__": __name__, "__call__": make()})
    box: Any = kind()
    f = micrograd.compile(lambda x: box(x))
    found = f(3.0).data
    changed() if change == "what it reads" else setattr(kind, "__call__", staticmethod(lambda x: x * 5))
    assert (found, f(3.0).data) == (6.0, 15.0)


@under(NAMES)
def what_a_class_is_indexed_by() -> Case:
    class Table:
        def __class_getitem__(cls, key: int) -> Any:
            return HOW["act"]

    return lambda x: acted(Table[0], x), changed


@under(NAMES)
def repr_and_format() -> Case:
    class Text:
        def __repr__(self) -> str:
            return HOW["act"]

    text = Text()
    return lambda x: acted(f"{text}", acted(repr(text), x)), changed


@under(NAMES)
def what_is_made_by_the_class_of_an_object() -> Case:
    class Maker(Box):
        def __init__(self) -> None:
            self.how = HOW["act"]

    made = Maker()
    return lambda x: type(made)().go(x), changed


@under(NAMES)
def descriptor() -> Case:
    class Named:
        def __set_name__(self, _: Any, name: str) -> None:
            self.name = f"_{name}"

        def __get__(self, owner: Any, _: Any = None) -> Any:
            return getattr(owner, self.name)

    box = type("Made", (Box,), {"__module__": __name__, "how": Named()})(_how="one")
    return lambda x: box.go(x), lambda: setattr(box, "_how", "other")


@under(NAMES)
def cached_property() -> Case:
    class Cached(Box):
        @functools.cached_property
        def read(self) -> Any:
            return self.how

    box = Cached()
    return lambda x: acted(box.read, x), lambda: (setattr(box, "how", "other"), vars(box).pop("read"))


@under(NAMES)
def attrgetter() -> Case:
    box, get = Box(inner=Box(how="one")), operator.attrgetter("inner.how")
    return lambda x: acted(get(box), x), lambda: setattr(box.inner, "how", "other")  # type: ignore[attr-defined]


@under(NAMES)
def methodcaller() -> Case:
    box, call = Box(how="one"), operator.methodcaller("go", 1.0)
    return lambda x: call(box) * x, lambda: setattr(box, "how", "other")


@under(NAMES)
def attribute_of_a_number() -> Case:
    k: Any = type("Rate", (float,), {"__module__": __name__})(1.0)
    k.how = "one"
    return lambda x: acted(k.how, x) * k, lambda: setattr(k, "how", "other")


@under(NAMES)
def attribute_of_an_array() -> Case:
    k: Any = np.ones(1).view(type("Named", (np.ndarray,), {"__module__": __name__}))
    k.how = "one"
    return lambda x: acted(k.how, x) * float(k[0]), lambda: setattr(k, "how", "other")


@under(NAMES)
def method_of_a_named_tuple() -> Case:
    class Point(NamedTuple):
        x: float

        def go(self, y: Any) -> Any:
            return act(y) * self.x

    point = Point(1.0)
    return lambda x: point.go(x), changed


@under(NAMES)
def what_a_list_of_a_users_kind_reads() -> Case:
    numbers = type("Numbers", (list,), {"__module__": __name__, "go": lambda self, x: act(x) * self[0]})([1.0, 2.0])
    return lambda x: numbers.go(x), changed  # type: ignore[attr-defined]


@under(NAMES)
def what_a_missing_key_gives() -> Case:
    class Table(dict):
        how = "one"

        def __missing__(self, key: str) -> Any:
            return self.how

    table = Table(a=1.0)
    return lambda x: acted(table["b"], x), lambda: setattr(table, "how", "other")


@under(NAMES)
def factory_of_a_dict() -> Case:
    table = collections.defaultdict(lambda: "one", a=1.0)
    return lambda x: acted(table.copy()["b"], x), lambda: setattr(table, "default_factory", lambda: "other")


@under(NAMES)
def attribute_of_a_thread() -> Case:
    held: Any = threading.local()
    held.k = 2.0
    return lambda x: x * held.k, lambda: setattr(held, "k", 5.0)


@under(NAMES)
def field_of_a_dataclass() -> Case:
    @dataclasses.dataclass(slots=True)
    class Settings:
        k: float = 2.0

    settings = Settings()
    return lambda x: x * settings.k, lambda: setattr(settings, "k", 5.0)


@under(NAMES)
def field_found_by_dataclasses() -> Case:
    @dataclasses.dataclass
    class Settings:
        how: str = "one"

    settings = Settings()
    return lambda x: acted(dataclasses.asdict(dataclasses.replace(settings))["how"], x), lambda: setattr(
        settings, "how", "other"
    )


@under(NAMES)
def factory_of_a_field() -> Case:
    @dataclasses.dataclass
    class Settings:
        how: str = dataclasses.field(default_factory=lambda: HOW["act"])

    return lambda x: acted(Settings().how, x), changed


@under(NAMES)
def attribute_of_a_metaclass() -> Case:
    meta = type("Meta", (type,), {"__module__": __name__, "how": property(lambda cls: cls._how)})
    kind: Any = meta("Kind", (), {"__module__": __name__, "_how": "one"})
    return lambda x: acted(kind.how, x), lambda: setattr(kind, "_how", "other")


@under(NAMES)
def function_in_an_object_of_a_library() -> Case:
    class Dispatched:
        @functools.singledispatchmethod
        def go(self, x: Any) -> Any:
            return act(x)

    box, vectorized = Dispatched(), np.vectorize(lambda x: act(x))
    return lambda x: box.go(x) * float(vectorized(1.0)), changed


@under(NAMES)
def name_of_a_function() -> Case:
    def one() -> None:
        """Has a name."""

    return lambda x: acted(one.__name__, x), lambda: setattr(one, "__name__", "other")


@under(NAMES)
def generator_expression_and_context() -> Case:
    @contextlib.contextmanager
    def context() -> Iterator[Any]:
        yield HOW["act"]

    def f(x: Any) -> Any:
        with context() as how:
            return sum(acted(how, x) for how in [how])

    return f, changed


@under(NAMES)
def method_of_an_object_under_a_computed_name() -> Case:
    kind, name = type("Made", (Box,), {"__module__": __name__}), "".join(["g", "o"])
    box = kind()
    return lambda x: getattr(box, name)(x), lambda: setattr(kind, "go", lambda self, x: x * 5)


@under(NAMES)
def global_under_a_computed_name() -> Case:
    name = "".join(["LA", "TER"])
    return lambda x: acted(globals()[name], x), lambda: globals().update(LATER="other")


@under(NAMES)
def global_that_a_text_names() -> Case:
    text = "".join(["LA", "TER"])
    return lambda x: acted(eval(text), x), lambda: globals().update(LATER="other")


@under(NAMES)
def global_of_another_function() -> Case:
    return lambda x: acted(act.__globals__["LATER"], x), lambda: globals().update(LATER="other")


@under(NAMES)
def what_a_copy_has() -> Case:
    box = Box(how="one")
    return lambda x: copy.copy(box).go(x), lambda: setattr(box, "how", "other")


# ---------------------------------------------------------------------------------------------------------------------
# Containers


@under(CONTAINERS)
def kept_view_of_values() -> Case:
    held = {"act": "one"}
    view = held.values()
    return lambda x: acted(next(iter(view)), x), lambda: held.update(act="other")


@under(CONTAINERS)
def kept_view_of_items() -> Case:
    held: dict[str, Any] = {"act": lambda x: x * 2}
    view = held.items()
    return lambda x: next(iter(view))[1](x), lambda: held.update(act=lambda x: x * 5)


@under(CONTAINERS)
def kept_view_of_keys() -> Case:
    held: dict[str, Any] = {"one": 1.0}
    view = held.keys()
    return lambda x: acted([*view][-1], x), lambda: held.update(other=2.0)


@under(CONTAINERS)
def read_only_view_in_a_chain() -> Case:
    held = {"act": "one"}
    chain = collections.ChainMap({}, types.MappingProxyType(held))  # type: ignore[arg-type]
    return lambda x: acted(chain["act"], x), lambda: held.update(act="other")


@under(CONTAINERS)
def bound_special_method() -> Case:
    held = ["one"]
    length = held.__len__
    return lambda x: x * length(), lambda: held.append("other")


@under(CONTAINERS)
def attribute_of_a_key() -> Case:
    key = Box(how="one")
    held = {key: 1.0}
    return lambda x: next(iter(held)).go(x), lambda: setattr(key, "how", "other")


# ---------------------------------------------------------------------------------------------------------------------
# What is constant


@under(NUMBERS)
def number_in_a_view() -> Case:
    held = {"k": 2.0}
    view = held.values()
    return lambda x: x * sum(view), lambda: held.update(k=5.0)


@under(NUMBERS)
def number_in_a_counter() -> Case:
    held = collections.Counter(k=2)
    return lambda x: x * held["k"], lambda: held.update(k=3)


@under(NUMBERS)
def number_in_bytes() -> Case:
    held = bytearray([2])
    return lambda x: x * held[0], lambda: held.__setitem__(0, 5)


@under(DATA)
def string_of_many() -> Case:
    held = ["one"] * 101
    return lambda x: acted(held[7], x), lambda: held.__setitem__(7, "other")


@under(COMPUTED)
def number_of_a_global_that_a_text_names() -> Case:
    globals()[UNNAMED] = 2.0
    return lambda x: x * globals()[UNNAMED], lambda: globals().update({UNNAMED: 5.0})


@under(COMPUTED)
def number_that_a_method_under_a_computed_name_reads() -> Case:
    kind = type("Made", (Box,), {"__module__": __name__, "by": lambda self, x: x * self.k})
    box, name = kind(k=2.0), "".join(["b", "y"])
    return lambda x: getattr(box, name)(x), lambda: setattr(box, "k", 5.0)


@under(BEHIND)
def kept_iterator() -> Case:
    numbers = itertools.chain([2.0], itertools.repeat(5.0))
    return lambda x: x * next(numbers), lambda: None


@under(BEHIND)
def kept_generator() -> Case:
    def read() -> Iterator[Any]:
        yield "one"
        yield from itertools.repeat("other")

    kept = read()
    return lambda x: acted(next(kept), x), lambda: None


@under(BEHIND)
def cached_function() -> Case:
    @functools.lru_cache
    def read() -> Any:
        return HOW["act"]

    return lambda x: acted(read(), x), lambda: (changed(), read.cache_clear())


@under(BEHIND)
def weak_reference() -> Case:
    box = Box(how="one")
    kept, ref = {"it": box}, weakref.ref(box)
    f = lambda x: ref().go(x)  # noqa: E731
    return f, lambda: setattr(kept["it"], "how", "other")


@under(BEHIND)
def dict_of_weak_references() -> Case:
    box = Box(how="one")
    kept, held = {"it": box}, weakref.WeakValueDictionary(a=box)
    return lambda x: held["a"].go(x), lambda: setattr(kept["it"], "how", "other")


@under(OTHERS)
def context_variable() -> Case:
    variable = contextvars.ContextVar("variable", default="one")
    return lambda x: acted(variable.get(), x), lambda: variable.set("other")


@under(OTHERS)
def environment() -> Case:
    os.environ["MICROGRAD_TEST"] = "one"
    return lambda x: acted(os.environ["MICROGRAD_TEST"], x), lambda: os.environ.update(MICROGRAD_TEST="other")


@under(OTHERS)
def what_a_queue_holds() -> Case:
    held: queue.Queue[str] = queue.Queue()
    held.put("one")
    return lambda x: acted(held.queue[0], x), lambda: held.queue.__setitem__(0, "other")


@under(OTHERS)
def setting_of_a_library() -> Case:
    return lambda x: x * np.get_printoptions()["precision"], lambda: np.set_printoptions(precision=5)


@under(OTHERS)
def classes_below_a_class() -> Case:
    kind = type("Above", (), {"__module__": __name__})
    kept = [type("Below", (kind,), {})]
    return lambda x: x * len(kind.__subclasses__()), lambda: kept.append(type("Second", (kind,), {}))


@under(KEPT)
def value_of_an_enum() -> Case:
    member = enum.Enum("How", {"KIND": "one"}).KIND  # type: ignore[attr-defined]
    return lambda x: acted(member.value, x), lambda: setattr(member, "_value_", "other")


@under(KEPT)
def annotation_of_a_function() -> Case:
    def told(how: Any) -> Any:
        return how

    told.__annotations__["how"] = "one"
    return lambda x: acted(told.__annotations__["how"], x), lambda: told.__annotations__.update(how="other")


@under(KEPT)
def hint_of_a_class() -> Case:
    class Told:
        how: int

    def change() -> None:
        Told.__annotations__["how"] = str

    return lambda x: x * (2 if get_type_hints(Told)["how"] in (int, "int") else 5), change


@under(KEPT)
def class_that_is_registered() -> Case:
    kind: Any = abc.ABCMeta("Kind", (), {})
    return lambda x: x * (5 if issubclass(Box, kind) else 2), lambda: kind.register(Box)


@under(KEPT)
def object_whose_class_is_registered() -> Case:
    box, kind = Box(), cast("Any", abc.ABCMeta("Kind", (), {}))
    return lambda x: x * (5 if isinstance(box, kind) else 2), lambda: kind.register(Box)


@under(KEPT)
def partial_that_is_set() -> Case:
    part: Any = functools.partial(acted, "one")
    return lambda x: part(x), lambda: part.__setstate__((acted, ("other",), {}, {}))


def from_a_thread(read: Callable[[], Any]) -> Any:
    """What a new thread reads."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(read).result()


@under(THREADS)
def number_from_a_thread() -> Case:
    numbers = [2.0]
    return lambda x: x * from_a_thread(lambda: numbers[0]), lambda: numbers.__setitem__(0, 5.0)


@under(THREADS)
def number_of_a_node_from_a_thread() -> Case:
    w = Value(2.0)
    return lambda x: x * from_a_thread(lambda: w.data), lambda: setattr(w, "data", 5.0)


@under(BESIDES)
def count_of_calls() -> Case:
    box = Box(calls=1)

    def f(x: Any) -> Any:
        box.calls += 1  # type: ignore[attr-defined]
        return x * box.calls  # type: ignore[attr-defined]

    return f, lambda: None


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    options = np.get_printoptions()
    HOW["act"], globals()["LATER"] = "one", "one"
    yield
    np.set_printoptions(**options)
    os.environ.pop("MICROGRAD_TEST", None)
    globals().pop(UNNAMED, None)


@pytest.mark.parametrize("case", CASES)
def test_what_changes_is_seen_or_said_to_be_constant(case: str):
    line, make = CASES[case]
    f, change = make()
    compiled = micrograd.compile(f)
    before = [compiled(3.0).data, compiled(3.0).data]
    change()
    after = [compiled(3.0).data, compiled(3.0).data]
    wanted = f(3.0)
    assert compiled.cache_info()[:2] == ((3, 1) if line in CONSTANT else (2, 2))
    assert near(after, before if line in CONSTANT else [wanted] * 2)
    assert not near(before[0], wanted)


@pytest.mark.parametrize("case", [case for case, (line, _) in CASES.items() if line in CONSTANT])
def test_checked_call_shows_a_constant_that_has_changed(case: str):
    f, change = CASES[case][1]()
    compiled = micrograd.compile(f, check=True)
    try:
        compiled(3.0)
        change()
        compiled(3.0)
    except RuntimeError as error:
        assert "and the function itself" in str(error)  # noqa: PT017
    else:
        pytest.fail("the change was not shown")


LINES = [
    line.removeprefix("- ")
    for kind in ("Watched", "Constant")
    for line in section(GUIDE, kind).splitlines()
    if line.startswith("- ")
]
ELSEWHERE = (
    "`requires_grad` of nodes",
    "the kind, shape, dtype",
    "the value of each bool",
)  # test_watched, test_traces


def test_each_line_of_the_guide_has_its_cases():
    lines = {*ELSEWHERE, *(line for line, _ in CASES.values())}
    assert [line for line in LINES if not line.startswith(tuple(lines))] == []
    assert [line for line in lines if not any(known.startswith(line) for known in LINES)] == []
