"""Compiled functions as methods: each object has its own programs, found by the method itself and not by its name."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import micrograd
from micrograd import Value, nn
from micrograd.optim import SGD


class Line:
    def __init__(self, w: float = 2.0):
        self.w = Value(w)

    @micrograd.compile
    def forward(self, x: Any) -> Any:
        return self.w * x

    double, triple = (
        micrograd.compile(lambda self, x: self.w * x * 2),
        micrograd.compile(lambda self, x: self.w * x * 3),
    )
    sixfold = functools.partialmethod(triple, 2.0)

    def __call__(self, x: Any) -> Any:
        return self.forward(x)


class Steep(Line):
    def forward(self, x: Any) -> Any:
        return super().forward(x) * 100


class Outer:
    """A compiled method that calls one of that name of another object."""

    def __init__(self) -> None:
        self.inner, self.w = Line(), Value(5.0)

    @micrograd.compile
    def forward(self, x: Any) -> Any:
        return self.inner.forward(x) * self.w


class Shared:
    w = Value(3.0)

    @classmethod
    @micrograd.compile
    def of_class(cls, x: Any) -> Any:
        return cls.w * x

    @staticmethod
    @micrograd.compile
    def of_nothing(x: Any) -> Any:
        return Shared.w * x

    @property
    @micrograd.compile
    def squared(self) -> Any:
        return self.w * self.w


class Heir(Shared):
    w = Value(4.0)


class Holder:
    """Callables that are no methods, in a class."""

    scaled = micrograd.compile(functools.partial(lambda k, x: x * k, 3.0))
    of_line = micrograd.compile(Steep().__call__)


FORMS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], float]] = {
    "an override that calls its base's": (Steep, lambda x: x.forward(1.0), 200.0),
    "an override, by __call__": (Steep, lambda x: x(1.0), 200.0),
    "a lambda": (Line, lambda x: x.double(1.0), 4.0),
    "another lambda of the class": (Line, lambda x: x.triple(1.0), 6.0),
    "a partial method": (Line, lambda x: x.sixfold(), 12.0),
    "a method that calls another object's": (Outer, lambda x: x.forward(1.0), 10.0),
    "a class method": (lambda: Shared, lambda x: x.of_class(1.0), 3.0),
    "a class method of an heir": (lambda: Heir, lambda x: x.of_class(1.0), 4.0),
    "a static method": (lambda: Heir, lambda x: x.of_nothing(1.0), 3.0),
    "a property": (Shared, lambda x: x.squared, 9.0),
    "a method, called by its class": (Line, lambda x: Line.forward(x, 1.0), 2.0),
    "a partial function": (Holder, lambda x: x.scaled(2.0), 6.0),
    "a bound method": (Holder, lambda x: x.of_line(2.0), 400.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_compiled_method_is_called_as_its_function_is(form: str):
    make, call, expected = FORMS[form]
    held = make()
    assert [call(held).data for _ in range(3)] == [expected] * 3


@pytest.mark.parametrize("mode", [micrograd.check_compiled, micrograd.detect_anomaly, micrograd.no_grad])
def test_method_that_is_called_by_its_class_is_the_objects_in_every_mode(mode: Any):
    line = Line()
    with mode():
        assert Line.forward(line, 3.0).data == line.forward(3.0).data == 6.0


def test_method_refuses_another_object_among_its_arguments():
    with pytest.raises(TypeError, match=r"found object .* among the arguments"):
        Line().forward(object())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copy_of_an_object_has_its_own_programs(copied: Any):
    line = Line()
    line.forward(1.0)
    twin = copied(line)
    twin.w = Value(10.0)
    assert (twin.forward(1.0).data, line.forward(1.0).data) == (10.0, 2.0)
    assert twin.forward is not line.forward


def test_compiled_method_stores_nothing_under_its_name():
    line = Line()
    line.forward(1.0)
    assert [name for name in vars(line) if name[0] != "_"] == ["w"]


class Slotted:
    __slots__ = ("w",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, w: float):
        self.w = Value(w)

    def __eq__(self, other: object) -> bool:
        return True

    @micrograd.compile
    def forward(self, x: Any) -> Any:
        return self.w * x


def test_objects_with_slots_and_without_a_hash_have_their_own_programs():
    objects = [Slotted(float(i)) for i in range(3)]
    for _ in range(2):
        assert [x.forward(1.0).data for x in objects] == [0.0, 1.0, 2.0]
    assert objects[2].forward.cache_info()[:2] == (1, 1)


def test_module_may_have_its_forward_compiled():
    class Model(nn.Module):
        def __init__(self) -> None:
            self.line = nn.Neuron(1, nonlin=False)

        @micrograd.compile
        def forward(self, x: Any) -> Any:
            return self.line([x])

    model = Model()
    wanted = model.line([2.0]).data
    assert [model(2.0).data for _ in range(3)] == [wanted] * 3
    twin = copy.deepcopy(model)
    twin.line.b.data += 1.0
    assert twin(2.0).data == pytest.approx(wanted + 1.0)
    assert list(model.state_dict()) == list(twin.state_dict())


def test_object_with_compiled_methods_is_released():
    line = Line()
    line.forward(1.0)
    seen = weakref.ref(line)
    del line
    gc.collect()
    assert seen() is None


class Scaled:
    """What it returns depends on a number in a list, which is constant until `retrace()`."""

    numbers: list[float] = []
    w = Value(2.0)

    @micrograd.compile
    def at(self, x: Any) -> Any:
        return self.w * self.numbers[0] * x

    @functools.partial(micrograd.compile, update=SGD([w], lr=0.0))
    def step(self, x: Any) -> Any:
        return self.w * self.numbers[0] * x


@pytest.mark.parametrize("name", ["at", "step"])
def test_retrace_of_a_method_is_that_of_each_object(name: str):
    objects, method = [Scaled(), Scaled()], getattr(Scaled, name)
    for k in (1.0, 3.0):
        Scaled.numbers[:] = [k]
        method.retrace()
        assert [getattr(x, name)(5.0).data for x in objects] == [10.0 * k] * 2
    Scaled.numbers[:] = [7.0]
    getattr(objects[0], name).retrace()  # of one object, it is that of this one alone
    assert [getattr(x, name)(5.0).data for x in objects] == [70.0, 30.0]
