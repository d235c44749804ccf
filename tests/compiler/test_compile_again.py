"""When a compiled function is traced anew: what it was traced with is no longer what it would meet."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compile_helpers import near

import micrograd
from micrograd import Tensor, Value, gradient, nn, no_grad
from micrograd import functional as F


def test_a_replaced_parameter_is_found():
    model = nn.MLP(2, [2, 1], rng=random.Random(0))
    f = micrograd.compile(lambda x: model([x, x]))
    f(1.0)
    model.layers[0].neurons[1].w[0] = Value(10.0)
    assert near(f(1.0).data, model([1.0, 1.0]).data)
    model.layers[1].neurons[0].b = Value(7.0)
    assert near(f(1.0).data, model([1.0, 1.0]).data)
    assert f.cache_info().misses == 3


def test_a_parameter_that_is_frozen_or_unfrozen_is_found():
    v, w = Value(2.0), Value(3.0, requires_grad=False)
    f = micrograd.compile(lambda: v * w)
    for frozen, expected in ((True, 0.0), (False, 2.0), (True, 2.0)):
        w.requires_grad = not frozen
        f().backward()
        assert w.grad == expected
    assert v.grad == 9.0


def test_what_is_given_by_keyword_is_traced_for_each():
    f = micrograd.compile(lambda x, n=1: sum(x for _ in range(n)))
    assert [f(2.0, n=3).data, f(2.0, n=4).data, f(2.0, n=3).data] == [6.0, 8.0, 6.0]
    assert f.cache_info()[:2] == (1, 2)


def test_what_is_given_by_keyword_may_be_a_dict_and_must_be_told_from_others():
    f = micrograd.compile(lambda x, o=None: x * o["k"][0])
    assert [f(2.0, o={"k": [k]}).data for k in (3, 4, 3)] == [6.0, 8.0, 6.0]
    assert f.cache_info()[:2] == (1, 2)
    for bad in ({3}, {"k": {3}}, [bytearray(2)]):
        with pytest.raises(TypeError, match=r"o= holds a (set|bytearray), which cannot be hashed.*close over it"):
            f(2.0, o=bad)
    with pytest.raises(TypeError, match="o= is a Value: pass it by position"):
        f(2.0, o={"k": Value(3.0)})


def test_an_argument_of_another_form_is_traced_anew():
    f = micrograd.compile(lambda xs: sum(xs))
    assert (f([1.0, 2.0]).data, f([1.0, 2.0, 3.0]).data, f([1, 2]).data) == (3.0, 6.0, 3.0)


def test_a_node_that_is_made_inside_is_a_constant():
    f = micrograd.compile(lambda x: x * Value(2.0) + F.softmax([x, 0.0])[1])
    out = f(Value(1.0))
    out.backward()
    assert len(out._prev) == 1


@pytest.mark.parametrize("transform", [lambda f: f, gradient], ids=["nodes", "numbers"])
def test_of_many_programs_the_oldest_goes(transform: Callable, monkeypatch: Any):
    monkeypatch.setattr("micrograd.compiler.api.MOST", 3)
    f = transform(micrograd.compile(lambda *xs: sum(x * x for x in xs)))
    for n in range(1, 6):
        f(*[1.0] * n)
    found = [f.cache_info()[1:]]
    for n in (5, 1):
        f(*[1.0] * n)
        found.append(f.cache_info()[1:])
    assert [(misses, size) for misses, _, size in found] == [(5, 3), (5, 3), (6, 3)]


def test_arrays_of_other_shapes_and_dtypes_are_traced_anew():
    f = micrograd.compile(lambda x: x.sum())
    x = np.ones((2, 3))
    found = [f(a).dtype for a in (x, x.astype(np.float32), x[:1], x.astype(int), x)]
    assert found == [np.float64, np.float32, np.float64, np.int64, np.float64]
    assert f.cache_info()[:2] == (1, 4)


def both(x: Any) -> list[Any]:
    return [x, x.detach() if isinstance(x, (Value, Tensor)) else x]


FORMS: dict[str, list[Any]] = {
    "a Value and a constant": both(Value(3.0)),
    "a Tensor and a constant": both(Tensor([3.0], requires_grad=True)),
    "a number and a Value": [3.0, Value(3.0)],
    "an int and a float": [3, 3.5],
    "an array and a Tensor": [np.array([3.0]), Tensor([3.0], requires_grad=True)],
    "dtypes": [Tensor(np.array([3.0], "f4"), requires_grad=True), Tensor([3.0], requires_grad=True)],
    "shapes": [np.ones(3), np.ones((3, 1))],
    "in a list": [[Value(3.0), 2.0], [Value(3.0, requires_grad=False), Value(2.0)]],
    "a list and a tuple": [[3.0, 2.0], (Value(3.0), 2.0)],
    "keys of a dict": [{"a": 2.0, "b": 3.0}, {"a": 2.0, "c": Value(3.0)}],
    "a bool and an int": [True, 1],
    "bools": [True, False],
    "strings": ["tanh", "exp"],
    "None": [None, 2.0],
}


@pytest.mark.parametrize("forms", FORMS.values(), ids=FORMS)
def test_each_form_of_an_argument_has_its_own_program(forms: list[Any]):
    def f(x: Any, y: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return y * x[0] * x[1]
        if isinstance(x, dict):
            return y * x["a"] * sum(x.values())
        if x is None or isinstance(x, str):
            return y.tanh() if x == "tanh" else y.exp()
        return y * (2 if x else 3) if isinstance(x, bool) else y * x * x

    def run(call: Any, x: Any, y: Any) -> tuple[Any, ...]:
        nodes = [
            n
            for n in (x, *(x if isinstance(x, (list, tuple)) else ()))
            if isinstance(n, (Value, Tensor)) and n.requires_grad
        ]
        for n in nodes:
            n.grad = None if isinstance(n, Tensor) else 0
        out = call(x, y)
        if out.requires_grad:
            (out.sum() if isinstance(out, Tensor) else out).backward()
        found = [np.asarray(0 if n.grad is None else n.grad) for n in nodes]
        return type(out).__mro__[-3:], out.requires_grad, np.asarray(out.data), *found

    compiled = micrograd.compile(f)
    for x in (*forms, *forms):
        arrays = isinstance(x, (np.ndarray, Tensor))
        y = np.ones(1) if arrays else 2.0
        eager = Tensor(y) if arrays else Value(y, requires_grad=False)
        seen = Tensor(x) if isinstance(x, np.ndarray) else x
        for a, b in zip(run(compiled, x, y), run(f, seen, eager), strict=True):
            if isinstance(a, np.ndarray):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a, b, rtol=1e-12)
            else:
                assert a == b
    assert compiled.cache_info()[:2] == (2, 2)


def test_a_program_without_gradients_is_another_one():
    w = Tensor([1.0, 2.0], requires_grad=True)
    f = micrograd.compile(lambda x: (w * x).sum())
    f(np.ones(2))
    with no_grad():
        assert not f(np.ones(2)).requires_grad
    assert f(np.ones(2)).requires_grad
    assert f.cache_info().misses == 2


class Noisy(nn.Module):
    """What adds a number in training, and nothing in use."""

    def __call__(self, x: Any) -> Any:
        return x + 10.0 if self.training else x


def test_train_and_eval_are_two_programs():
    model = nn.Sequential(nn.Linear(2, 2, rng=np.random.default_rng(0)), Noisy())
    f = micrograd.compile(lambda x: model(x))
    x, found, expected = np.array([[1.0, 2.0], [3.0, 5.0]]), [], []
    for mode in (True, False, True, False):
        model.train(mode)
        found.append(f(x).data)
        expected.append(model(Tensor(x)).data)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not np.allclose(found[0], found[1])


def test_running_statistics_are_refused_in_training_and_read_in_use():
    model = nn.Sequential(nn.Linear(2, 2, rng=np.random.default_rng(0)), nn.BatchNorm1d(2)).eval()
    f, x = micrograd.compile(lambda x: model(x)), np.array([[1.0, 2.0], [3.0, 5.0]])
    np.testing.assert_allclose(f(x).data, model(Tensor(x)).data, rtol=1e-12)
    model.train()
    with pytest.raises(RuntimeError, match=r"running statistics.*call eval\(\)"):
        f(x)
    model(Tensor(x))  # the running ones move
    model.eval()
    np.testing.assert_allclose(f(x).data, model(Tensor(x)).data, rtol=1e-12)


def test_a_replaced_attribute_of_self_is_found():
    class Line:
        def __init__(self) -> None:
            self.w = Value(2.0)

        @micrograd.compile
        def at(self, x: Any) -> Any:
            return self.w * x

    line = Line()
    first = line.at(3.0).data
    line.w = Value(5.0)
    assert (first, line.at(3.0).data) == (6.0, 15.0)


def test_a_layer_that_is_added_is_found():
    layers = [nn.Linear(2, 2, rng=np.random.default_rng(0))]

    def f(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    compiled, x = micrograd.compile(f), np.ones((1, 2))
    compiled(x)
    layers.append(nn.Linear(2, 3, rng=np.random.default_rng(1)))
    assert compiled(x).shape == (1, 3)


def test_what_one_compiled_function_has_compiled_is_no_affair_of_another():
    class Model(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(3, 2, rng=np.random.default_rng(0))

        @micrograd.compile
        def total(self, x: Any) -> Any:
            return self.layer(x).sum()

        @micrograd.compile
        def mean(self, x: Any) -> Any:
            return self.layer(x).mean()

    model = Model()
    outer = micrograd.compile(lambda x: model.total(x) + 1)
    for i in range(6):
        for f in (model.total, model.mean, outer):
            f(np.ones((1 + i % 2, 3)))
    assert [f.cache_info().misses for f in (model.total, model.mean, outer)] == [2, 2, 2]


def test_a_closed_over_array_is_a_constant():
    scale = np.array([1.0, 2.0])
    f = micrograd.compile(lambda x: x * scale)
    f(np.ones(2))
    scale[:] = 7.0
    assert f(np.ones(2)).data.tolist() == [1.0, 2.0]


def test_a_gradient_of_floats_is_found_without_a_key():
    """The shortest way asks all the questions: an int, another number of arguments, no_grad, and other code."""
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


def test_the_shortest_way_has_names_of_its_own():
    scale = [2.0]
    f = lambda self, rest, named, absent, g2, len, modes: self * rest * named * absent * g2 * len * modes * scale[0]  # noqa: E731
    slope = gradient(micrograd.compile(f))
    numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert slope(*numbers) == slope(*numbers) == tuple(2 * 5040 / x for x in numbers)
    with pytest.raises(TypeError, match="missing"):
        slope(1.0, 2.0)
    assert slope.cache_info()[:2] == (1, 1)


def test_a_function_that_takes_the_shortest_way_can_be_copied():
    slope = gradient(micrograd.compile(_cube))
    assert slope(2.0) == slope(2.0) == 12.0
    twin = copy.copy(slope)
    assert (type(twin), twin.cache_info()[:2]) == (type(micrograd.compile(_cube)), (0, 0))
    assert twin(2.0) == twin(2.0) == 12.0
    assert (twin.cache_info()[:2], slope.cache_info()[:2]) == ((1, 1), (1, 1))


def _cube(x: Any) -> Any:
    return x**3


def test_where_python_raises_the_shortest_way_gives_what_ieee_754_says():
    reciprocal = gradient(micrograd.compile(lambda x: 1.0 / x))
    assert [reciprocal(x) for x in (2.0, 0.0, 2.0)] == [-0.25, float("-inf"), -0.25]
