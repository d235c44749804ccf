"""When a compiled function is traced: for each form of its arguments, and for what it reads of nodes."""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, gradient, nn, no_grad, value_and_grad

# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def both(x: Any) -> list[Any]:
    return [x, x.detach() if isinstance(x, (Value, Tensor)) else x]


FORMS: dict[str, list[Any]] = {
    "a Value and a constant": both(Value(3.0)),
    "a Tensor and a constant": both(Tensor([3.0], requires_grad=True)),
    "a number and a Value": [3.0, Value(3.0)],
    "an int and a float": [3, 3.5],
    "an array and a Tensor": [np.array([3.0]), Tensor([3.0], requires_grad=True)],
    "dtypes": [Tensor(np.array([3.0], "f4"), requires_grad=True), Tensor([3.0], requires_grad=True)],
    "an array of ints": [np.array([3]), np.array([3.0])],
    "shapes": [np.ones(3), np.ones((3, 1))],
    "in a list": [[Value(3.0), 2.0], [Value(3.0, requires_grad=False), Value(2.0)]],
    "a list and a tuple": [[3.0, 2.0], (Value(3.0), 2.0)],
    "keys of a dict": [{"a": 2.0, "b": 3.0}, {"a": 2.0, "c": Value(3.0)}],
    "a bool and an int": [True, 1],
    "bools": [True, False],
    "strings": ["tanh", "exp"],
    "None": [None, 2.0],
}


def of_any_form(x: Any, y: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return y * x[0] * x[1]
    if isinstance(x, dict):
        return y * x["a"] * sum(x.values())
    if x is None or isinstance(x, str):
        return y.tanh() if x == "tanh" else y.exp()
    return y * (2 if x else 3) if isinstance(x, bool) else y * x * x


def results(call: Callable, x: Any, y: Any) -> tuple[Any, ...]:
    """The class and the number of the result, whether it requires a gradient, and the gradients."""
    held = [x, *(x if isinstance(x, (list, tuple)) else ())]
    nodes = [n for n in held if isinstance(n, (Value, Tensor)) and n.requires_grad]
    for n in nodes:
        n.grad = None if isinstance(n, Tensor) else 0
    out = call(x, y)
    if out.requires_grad:
        (out.sum() if isinstance(out, Tensor) else out).backward()
    found = [np.asarray(0 if n.grad is None else n.grad) for n in nodes]
    return type(out).__mro__[-3:], out.requires_grad, np.asarray(out.data), *found


@pytest.mark.parametrize("forms", FORMS.values(), ids=FORMS)
def test_each_form_of_an_argument_has_its_own_program(forms: list[Any]):
    compiled = micrograd.compile(of_any_form)
    for x in (*forms, *forms):
        arrays = isinstance(x, (np.ndarray, Tensor))
        y = np.ones(1) if arrays else 2.0
        eager = Tensor(y) if arrays else Value(y, requires_grad=False)
        seen = Tensor(x) if isinstance(x, np.ndarray) else x
        for a, b in zip(results(compiled, x, y), results(of_any_form, seen, eager), strict=True):
            if isinstance(a, np.ndarray):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a, b, rtol=1e-12)
            else:
                assert a == b
    assert compiled.cache_info()[:2] == (2, 2)


def test_each_value_of_a_keyword_has_its_own_program():
    f = micrograd.compile(lambda x, n=1, o=None: sum(x for _ in range(n)) * (o["k"][0] if o else 1))
    assert [f(2.0, n=n).data for n in (3, 4, 3)] == [6.0, 8.0, 6.0]
    assert [f(2.0, o={"k": [k]}).data for k in (3, 4, 3)] == [6.0, 8.0, 6.0]
    assert f.cache_info()[:2] == (2, 4)


@pytest.mark.parametrize("bad", [{3}, {"k": {3}}, [bytearray(2)], {"k": Value(3.0)}])
def test_keyword_that_cannot_be_told_from_others_is_refused(bad: Any):
    f = micrograd.compile(lambda x, o=None: x)
    message = r"o= holds a (set|bytearray), which cannot be hashed.*close over it|o= is a Value: pass it by position"
    with pytest.raises(TypeError, match=message):
        f(2.0, o=bad)


def test_sign_of_a_zero_and_nan_by_keyword_are_told_apart():
    f = micrograd.compile(lambda x, k=1.0, ks=(): x / k + sum(x / k for k in ks))
    assert [f(1.0, k=k).data for k in (0.0, -0.0, np.float64(0.0), np.float64(-0.0))] == [np.inf, -np.inf] * 2
    assert [f(1.0, ks=[k]).data for k in (0.0, -0.0)] == [np.inf, -np.inf]
    before = f.cache_info().misses
    assert np.isnan([f(1.0, k=float("nan")).data for _ in range(3)]).all()
    assert f.cache_info().misses == before + 1


def test_oldest_of_many_programs_goes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("micrograd.compiler.api.MOST", 3)
    f, found = micrograd.compile(lambda *xs: sum(x * x for x in xs)), []
    for n in (1, 2, 3, 4, 5, 5, 1):
        f(*[1.0] * n)
        found.append(f.cache_info())
    assert [(info.misses, info.currsize) for info in found[-3:]] == [(5, 3), (5, 3), (6, 3)]


def test_array_that_is_written_is_constant_until_retrace():
    scale = np.array([1.0, 2.0])
    f = micrograd.compile(lambda x: x * scale)
    found = [f(np.ones(2)).tolist()]
    scale[:] = 7.0
    found.append(f(np.ones(2)).tolist())
    f.retrace()
    assert [*found, f(np.ones(2)).tolist()] == [[1.0, 2.0], [1.0, 2.0], [7.0, 7.0]]


# ---------------------------------------------------------------------------------------------------------------------
# Modes


def test_program_without_gradients_is_another_one():
    w = Tensor([1.0, 2.0], requires_grad=True)
    f = micrograd.compile(lambda x: (w * x).sum())
    f(np.ones(2))
    with no_grad():
        assert not f(np.ones(2)).requires_grad
    assert f(np.ones(2)).requires_grad
    assert f.cache_info().misses == 2


def test_running_statistics_are_read_at_each_call_in_use():
    model = nn.Sequential(nn.Linear(2, 2, rng=np.random.default_rng(0)), nn.BatchNorm1d(2)).eval()
    f, x = micrograd.compile(lambda x: model(x)), np.array([[1.0, 2.0], [3.0, 5.0]])
    for _ in range(2):
        np.testing.assert_allclose(f(x).data, model(Tensor(x)).data, rtol=1e-12)
        model.train()
        model(Tensor(x))  # the running ones move
        model.eval()


# ---------------------------------------------------------------------------------------------------------------------
# The shortest way: a gradient of floats, which is found without a key


def test_gradient_of_floats_is_found_without_a_key():
    """It asks all the questions: an int, another number of arguments, no_grad, and other code."""
    slope = gradient(micrograd.compile(lambda x, y=2.0: x * x * y))
    assert slope(3.0, 2.0) == slope(3.0, 2.0) == (12.0, 9.0)

    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    slope(3.0, 2.0)
    sys.setprofile(None)
    assert calls == ["program"]

    assert slope(3, 2.0) == 9.0  # an integer is no input
    assert slope(3.0) == 12.0
    with no_grad():
        assert slope(3.0, 2.0) == (12.0, 9.0)
    assert slope(float("inf"), 0.0)[1] == float("inf")
    assert slope.cache_info()[:2] == (3, 4)
    slope.origin.__code__ = (lambda x, y=2.0: x * y).__code__
    assert slope(3.0, 2.0) == (2.0, 3.0)
    assert slope(3.0, 2.0) == (2.0, 3.0)
    with pytest.raises(TypeError, match="argument"):
        slope(3.0, 2.0, 1.0)


def test_shortest_way_has_names_of_its_own():
    scale = [2.0]
    f = lambda self, rest, named, absent, g2, len, modes: self * rest * named * absent * g2 * len * modes * scale[0]  # noqa: E731
    slope = gradient(micrograd.compile(f))
    numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert slope(*numbers) == slope(*numbers) == tuple(2 * 5040 / x for x in numbers)
    with pytest.raises(TypeError, match="missing"):
        slope(1.0, 2.0)
    assert slope.cache_info()[:2] == (1, 1)


def test_function_that_takes_the_shortest_way_can_be_copied():
    slope = gradient(micrograd.compile(lambda x: x**3))
    slope(2.0)
    twin = copy.copy(slope)
    assert [twin(2.0), slope(2.0)] == [12.0, 12.0]
    assert (twin.cache_info()[:2], slope.cache_info()[:2]) == ((0, 1), (1, 1))


def test_program_of_floats_gives_what_ieee_754_says_where_python_raises():
    reciprocal = gradient(micrograd.compile(lambda x: 1.0 / x))
    assert [reciprocal(x) for x in (2.0, 0.0, 2.0)] == [-0.25, float("-inf"), -0.25]


# ---------------------------------------------------------------------------------------------------------------------
# What is read of nodes besides their numbers

KINDS = {"value": Value, "tensor": lambda x, **named: Tensor([x], **named)}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
READS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, bool], object]]] = {
    "requires_grad": (lambda w: w.requires_grad, lambda w, way: setattr(w, "requires_grad", way)),
    "a label": (lambda w: w.label == "three", lambda w, way: setattr(w, "label", "three" if way else "five")),
    "an attribute": (lambda w: w.three, lambda w, way: setattr(w, "three", way)),
    "an attribute with a default": (
        lambda w: getattr(w, "three", False),
        lambda w, way: setattr(w, "three", 1) if way else vars(w).pop("three", 0),
    ),
}


@each_kind
@pytest.mark.parametrize("where", ["outside", "in a list", "an argument"])
@pytest.mark.parametrize("what", READS)
def test_attributes_that_are_read_of_a_node_are_watched(what: str, where: str, make: Callable):
    read, change = READS[what]
    w = make(2.0, requires_grad=True)
    held, arguments = [w], [w] * (where == "an argument")
    node = {"outside": lambda *_: w, "in a list": lambda *_: held[0], "an argument": lambda *x: x[0]}[where]
    f = micrograd.compile(lambda *x: node(*x) * (3.0 if read(node(*x)) else 5.0))
    for way, expected in ((True, 6.0), (False, 10.0), (True, 6.0)):
        change(w, way)
        assert f(*arguments).item() == expected == f(*arguments).item()


@pytest.mark.parametrize("x", [2.0, np.ones(2)], ids=["a Value", "a Tensor"])
def test_label_of_a_node_without_a_label_is_empty(x: Any):
    labels: list[str] = []
    micrograd.compile(lambda x: [labels.extend([x.label, (2.0 * x).label]), x][1])(x)
    assert labels == ["", ""]


def test_attribute_that_an_argument_lacks_is_an_error():
    f = micrograd.compile(lambda x: x * x.times)
    x: Any = Value(1.0)
    x.times = 2
    assert f(x).data == 2.0
    with pytest.raises(AttributeError, match="times"):
        f(Value(1.0))


@pytest.mark.parametrize("read", [len, lambda t: t.ndim, lambda t: t.dtype.itemsize], ids=["len", "ndim", "dtype"])
def test_shape_of_a_tensor_that_is_not_used_otherwise_is_watched(read: Callable):
    box = types.SimpleNamespace(t=Tensor(np.ones(3)), others=[Tensor(np.ones(3))])
    other = Tensor(np.ones((5, 1), np.float32))
    f = micrograd.compile(lambda x: x * read(box.t) * read(box.others[0]))
    found = [f(1.0).data]
    box.t = other
    found.append(f(1.0).data)
    box.others[0] = other
    assert [*found, f(1.0).data] == [read(Tensor(np.ones(3))) ** (2 - i) * read(other) ** i for i in range(3)]


def test_parameter_may_be_created_and_frozen_inside():
    def f(x: Any) -> Any:
        w = Tensor([2.0, 3.0], requires_grad=True)
        w.requires_grad = False
        return w * x

    assert micrograd.compile(f)(np.ones(2)).tolist() == [2.0, 3.0]


# ---------------------------------------------------------------------------------------------------------------------
# Subclasses of the user's


class Scaled(Value):
    """A Value whose product with a number is scaled, by a setting of its class or of itself."""

    scale: Any = 10.0

    def __mul__(self, other: Any) -> Any:
        return super().__mul__(other * self.scale)

    def twice(self) -> Any:
        return self + self


class Doubled(Tensor):
    scale: Any = 2.0

    def __mul__(self, other: Any) -> Any:
        return super().__mul__(other) * self.scale

    def twice(self) -> Any:
        return self + self


def of_kind(kind: type, x: float, requires_grad: bool = True, scale: float | None = None) -> Any:
    """A node of this class, with a scale of its own or without."""
    node: Any = kind([x] if issubclass(kind, Tensor) else x, requires_grad=requires_grad)
    if scale:
        node.scale = scale
    return node


@pytest.mark.parametrize("kind", [Scaled, Doubled])
@pytest.mark.parametrize("wanted", [True, False])
def test_subclass_keeps_its_methods_as_an_argument_and_closed_over(kind: Any, wanted: bool):
    f = lambda x, y: x.twice() * y + x * y  # noqa: E731
    compiled, y = micrograd.compile(f), 2.0 if kind is Scaled else np.array([2.0])
    for scale in (None, 5.0, None):
        x = of_kind(kind, 3.0, wanted, scale)
        closed_over = micrograd.compile(lambda y, x=x: f(x, y))
        assert compiled(x, y).item() == closed_over(y).item() == f(x, y).item()


class Twice(Value):
    scale: Any = 2.0

    def twice(self) -> Any:
        return self * self.scale


@pytest.mark.parametrize("kind", [Twice, Doubled])
@pytest.mark.parametrize("wanted", [True, False])
def test_subclass_keeps_its_methods_in_transforms(kind: Any, wanted: bool):
    x = of_kind(kind, 3.0, wanted, scale=5.0)
    f = lambda x: x.twice().sum() if isinstance(x, Tensor) else x.twice()  # noqa: E731
    for transformed in (value_and_grad(f), value_and_grad(micrograd.compile(f))):
        value, slope = transformed(x)
        assert (value.item(), slope.item()) == (f(x).item(), f(x).item() / 3)


LOOKED_UP: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "its own attribute": (lambda w: setattr(w, "scale", 5.0), lambda w, x: w * x),
    "an attribute of its class": (lambda w: setattr(type(w), "scale", 5.0), lambda w, x: w * x),
    "a method": (lambda w: setattr(type(w), "twice", lambda self: self), lambda w, x: w.twice() * x),
}


@pytest.mark.parametrize(("change", "f"), LOOKED_UP.values(), ids=LOOKED_UP)
@pytest.mark.parametrize("kind", [Scaled, Doubled])
def test_attributes_that_a_subclass_looks_up_are_watched(kind: Any, change: Callable, f: Callable):
    w = of_kind(type("Made", (kind,), {"__module__": __name__}), 3.0)
    compiled = micrograd.compile(lambda x: f(w, x))
    for _ in range(2):
        assert [compiled(2.0).item() for _ in range(2)] == [f(w, 2.0).item()] * 2
        change(w)
    assert compiled.cache_info()[:2] == (2, 2)


def test_gradients_as_nodes_of_a_kind_with_an_operator_of_its_own_are_refused():
    f = micrograd.compile(lambda x: x * 2.0)
    x = Scaled(3.0)
    out = f(x)
    out.backward()
    assert (out.data, x.grad) == (60.0, 20.0)
    with pytest.raises(RuntimeError, match=r"cannot take gradients as nodes through Scaled, whose __mul__"):
        gradient(f)(x)


class Kept(Value):
    """Keeps the gradients that it is given."""

    __slots__ = ("seen",)

    @property
    def grad(self) -> Any:
        return self._grad

    @grad.setter
    def grad(self, g: Any) -> None:
        self.seen = g
        self._grad = g


def test_class_that_watches_its_gradients_sees_those_of_a_compiled_function():
    x: Any = Kept(3.0)
    (x * x).backward()
    micrograd.compile(lambda y: x * y)(2.0).backward()
    assert (x.grad, x.seen) == (8.0, 8.0)
