"""What a compiled function reads of nodes besides their numbers: a change means a new trace, or is refused."""

from __future__ import annotations

import copy
import pickle
import random
import sys
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, gradient, nn, value_and_grad

W, T = Value(2.0), Tensor([1.0, 2.0], requires_grad=True)


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


@pytest.mark.parametrize("w", [Value(2.0), Tensor([2.0], requires_grad=True)], ids=["value", "tensor"])
@pytest.mark.parametrize("in_list", [False, True])
def test_whether_a_node_requires_a_gradient_is_watched(w: Any, in_list: bool):
    held = [w]
    f = micrograd.compile(lambda x: x * (3.0 if (held[0] if in_list else w).requires_grad else 5.0))
    x = 1.0 if isinstance(w, Value) else np.ones(1)
    for wanted, expected in ((True, 3.0), (False, 5.0), (True, 3.0)):
        w.requires_grad = wanted
        assert f(x).item() == expected == f(x).item()


def test_the_parameters_that_are_not_frozen_are_watched():
    model = nn.MLP(1, [1])
    f = micrograd.compile(lambda x: x * len(model.parameters()))
    assert f(1.0).data == 2.0
    model.parameters()[0].requires_grad = False
    assert f(1.0).data == 1.0


@pytest.mark.parametrize(
    "read",
    [
        lambda t: len(t),
        lambda t: t.shape[0],
        lambda t: t.size,
        lambda t: t.ndim + t.shape[0],
        lambda t: 1.0 if t.dtype == np.float64 else 2.0,
    ],
)
def test_the_shape_of_a_tensor_that_is_not_used_otherwise_is_watched(read: Any):
    class Holder:
        t = Tensor(np.ones(3))
        others = [Tensor(np.ones(3))]

    holder = Holder()
    other = Tensor(np.ones((5, 1), np.float32))
    f = micrograd.compile(lambda x: x * read(holder.t) * read(holder.others[0]))
    for _ in range(2):
        assert f(1.0).data == read(holder.t) * read(holder.others[0])
        holder.t = other
        assert f(1.0).data == read(holder.t) * read(holder.others[0])
        holder.others[0] = other


def freezes_a_value(x: Any) -> Any:
    W.requires_grad = False
    return W * x


def freezes_a_tensor(x: Any) -> Any:
    T.requires_grad_(False)
    return (T * x).sum()


@pytest.mark.parametrize("f", [freezes_a_value, freezes_a_tensor])
def test_freezing_inside_is_refused_and_undone(f: Any):
    with pytest.raises(RuntimeError, match=r"cannot change requires_grad.*; at .*test_compile_reads.py"):
        micrograd.compile(f)(1.0)
    assert [W.requires_grad, T.requires_grad] == [True, True]


@pytest.mark.parametrize("x", [Value(1.0), Tensor([1.0], requires_grad=True)], ids=["value", "tensor"])
def test_freezing_an_argument_is_refused(x: Any):
    def f(x: Any) -> Any:
        x.requires_grad = False
        return x * 2

    with pytest.raises(RuntimeError, match="cannot change requires_grad"):
        micrograd.compile(f)(x)


def test_a_parameter_may_be_created_and_frozen_inside():
    def f(x: Any) -> Any:
        w = Tensor([2.0, 3.0], requires_grad=True)
        w.requires_grad = False
        return w * x

    assert micrograd.compile(f)(np.ones(2)).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("make", [Value, lambda x, **named: Tensor([x], **named)], ids=["value", "tensor"])
def test_the_label_of_an_argument_is_watched(make: Any):
    f = micrograd.compile(lambda x: x * (3 if x.label == "three" else 5))
    a, b = make(1.0, label="three"), make(1.0, label="five")
    assert [f(x).item() for x in (a, b, a, b)] == [3.0, 5.0, 3.0, 5.0]
    assert f.cache_info().misses == 2
    b.label = "three"
    assert f(b).item() == 3.0


def test_the_label_of_a_node_outside_is_watched():
    w = Value(2.0, label="w")
    f = micrograd.compile(lambda x: w * x * (3 if w.label == "three" else 5))
    assert f(1.0).data == 10.0
    w.label = "three"
    assert f(1.0).data == 6.0


@pytest.mark.parametrize("make", [Value, lambda x: Tensor([x])], ids=["value", "tensor"])
def test_an_attribute_of_an_argument_is_watched(make: Any):
    f = micrograd.compile(lambda x: x * getattr(x, "times", 7))
    g = micrograd.compile(lambda x: x * x.times)
    a, b = make(1.0), make(1.0)
    a.times, b.times = 2, 3
    assert [g(x).item() for x in (a, b, a)] == [2.0, 3.0, 2.0]
    assert [f(x).item() for x in (a, make(1.0), b)] == [2.0, 7.0, 3.0]
    a.times = 4
    assert (f(a).item(), g(a).item()) == (4.0, 4.0)
    with pytest.raises(AttributeError, match="times"):
        g(make(1.0))


def test_an_attribute_of_a_node_outside_is_watched():
    w = Value(2.0)
    w.times = 3  # type: ignore[attr-defined]
    f = micrograd.compile(lambda x: w * x * w.times)  # type: ignore[attr-defined]
    assert f(1.0).data == 6.0
    w.times = Value(4.0)  # type: ignore[attr-defined]
    assert f(1.0).data == 8.0


@pytest.mark.parametrize("kind", [Scaled, Doubled])
@pytest.mark.parametrize("wanted", [True, False])
def test_a_subclass_among_the_arguments_keeps_its_methods(kind: Any, wanted: bool):
    make = lambda x: kind(x if kind is Scaled else [x], requires_grad=wanted)  # noqa: E731
    f = lambda x, y: x.twice() * y + x * y  # noqa: E731
    a, b = make(3.0), 2.0 if kind is Scaled else np.array([2.0])
    assert micrograd.compile(f)(a, b).item() == f(a, b).item()
    own, plain = make(3.0), make(3.0)
    own.scale = 5.0
    compiled = micrograd.compile(f)
    for x in (plain, own, plain, Value(3.0) if kind is Scaled else None):
        if x is not None and hasattr(x, "twice"):
            assert compiled(x, b).item() == f(x, b).item()


@pytest.mark.parametrize("kind", [Scaled, Doubled])
def test_a_subclass_that_is_closed_over_keeps_its_methods(kind: Any):
    w = kind(3.0 if kind is Scaled else [3.0], requires_grad=True)
    f = lambda x: w * x + w.twice() * x  # noqa: E731
    x = 2.0 if kind is Scaled else np.array([2.0])
    assert micrograd.compile(f)(x).item() == f(x).item()


class Twice(Value):
    scale: Any = 2.0

    def twice(self) -> Any:
        return self * self.scale


@pytest.mark.parametrize("kind", [Twice, Doubled])
@pytest.mark.parametrize("wanted", [True, False])
def test_a_subclass_keeps_its_methods_in_transforms(kind: Any, wanted: bool):
    x = kind(3.0 if kind is Twice else [3.0], requires_grad=wanted)
    x.scale = 5.0
    f = lambda x: (x.twice() * 2.0).sum() if isinstance(x, Tensor) else x.twice() + x.twice()  # noqa: E731
    expected = f(x).item()
    for transformed in (value_and_grad(f), value_and_grad(micrograd.compile(f))):
        value, slope = transformed(x)
        assert (value.item(), slope.item()) == (expected, expected / 3)


def test_gradients_as_nodes_of_a_kind_with_an_operator_of_its_own_are_refused():
    f = micrograd.compile(lambda x: x * 2.0)
    x = Scaled(3.0)
    out = f(x)
    out.backward()
    assert (out.data, x.grad) == (60.0, 20.0)
    with pytest.raises(RuntimeError, match=r"cannot take gradients as nodes through Scaled, whose __mul__"):
        gradient(f)(x)


def watching(name: str) -> type[Value]:
    """A class that keeps the gradients which it is given: in an attribute of its own, or in the node."""
    given: list[Any] = []

    class Kept(Value):
        __slots__ = ()
        seen = given

        @property
        def grad(self) -> Any:
            return self._grad

        @grad.setter
        def grad(self, g: Any) -> None:
            given.append(g)
            self._grad = g

    class Mixin:
        seen = given
        __slots__ = ()

        @property
        def grad(self) -> Any:
            return Value.grad.__get__(self)

        @grad.setter
        def grad(self, g: Any) -> None:
            given.append(g)
            Value.grad.__set__(self, g)

    return Kept if name == "kept" else type("Mixed", (Mixin, Value), {"__slots__": ()})


@pytest.mark.parametrize("name", ["kept", "mixed"])
@pytest.mark.parametrize("traced", [False, True], ids=["before a trace", "after one"])
def test_a_class_that_watches_its_gradients_sees_those_of_every_pass(name: str, traced: bool):
    if traced:
        micrograd.compile(lambda x: x * x)(1.0)
    kind = watching(name)
    x = kind(3.0)
    (x * x).backward()
    assert (x.grad, kind.seen) == (6.0, [0, 0, 1.0, 6.0])
    micrograd.compile(lambda y: x * y)(2.0).backward()
    assert (x.grad, kind.seen[-1]) == (8.0, 8.0)


def test_gradients_outside_of_a_trace_are_read_written_and_copied_as_before_any():
    micrograd.compile(lambda x: x * x)(1.0)
    x = Value(3.0)
    (x * x).backward()
    assert (x.grad, copy.copy(x).grad, pickle.loads(pickle.dumps(x)).grad) == (6.0, 6.0, 6.0)
    x.grad = 1.0
    assert repr(x) == "Value(data=3.0, grad=1.0)"
    with micrograd.lazy():
        y = x * 2
        assert y.grad == 0
        y.grad = 5.0
    assert y.grad == 5.0


def test_a_script_is_its_users_even_if_an_installed_program_runs_it(monkeypatch):
    """Under a debugger, pytest or coverage, `__main__` is the file of that program."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__file__", "/usr/lib/python3/site-packages/debugger/__main__.py", raising=False)
    script = {"__name__": "__main__", "model": nn.MLP(2, [2, 1])}
    exec("f = lambda x: model(x)", script)
    f = micrograd.compile(script["f"])
    f([1.0, 2.0])
    script["model"] = nn.MLP(2, [2, 1], rng=random.Random(3))
    assert f([1.0, 2.0]).data == pytest.approx(script["model"]([1.0, 2.0]).data)
