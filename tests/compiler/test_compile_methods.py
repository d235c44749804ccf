"""Compiled functions as methods: each object has its own programs, found by the method itself and not by its name."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import weakref
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


class Steeper(Line):
    @micrograd.compile
    def forward(self, x: Any) -> Any:
        return super().forward(x) * 1000


def thrice(call: Any, *args: Any) -> list[float]:
    return [call(*args).data for _ in range(3)]


def test_an_override_may_call_the_compiled_method_of_its_base():
    assert thrice(Steep().forward, 1.0) == [200.0] * 3
    assert thrice(Steeper().forward, 1.0) == [2000.0] * 3
    assert thrice(Steep(), 1.0) == [200.0] * 3


def test_two_compiled_lambdas_in_one_class_are_two_methods():
    line = Line()
    assert [line.double(1.0).data, line.triple(1.0).data] * 2 == [4.0, 6.0] * 2


def test_a_partial_method_of_a_compiled_one():
    assert thrice(Line().sixfold) == [12.0] * 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_an_object_has_its_own_programs(copied: Any):
    line = Line()
    line.forward(1.0)
    twin = copied(line)
    twin.w = Value(10.0)
    assert (twin.forward(1.0).data, line.forward(1.0).data) == (10.0, 2.0)
    assert twin.forward is not line.forward


def test_nothing_is_stored_under_the_name_of_a_method():
    line = Line()
    line.forward(1.0)
    assert [name for name in vars(line) if name[0] != "_"] == ["w"]


def test_a_method_that_is_replaced_in_its_class_is_found(monkeypatch: pytest.MonkeyPatch):
    line = Line()
    assert line.forward(1.0).data == 2.0
    monkeypatch.setattr(Line, "forward", micrograd.compile(lambda self, x: self.w * x * 7))
    assert line.forward(1.0).data == 14.0


def test_two_compiled_methods_may_have_one_function_name():
    class Both:
        def __init__(self) -> None:
            self.inner, self.w = Line(), Value(5.0)

        @micrograd.compile
        def forward(self, x: Any) -> Any:
            return self.inner.forward(x) * self.w

        again = forward
        other = micrograd.compile(Line.triple.fn)

    both = Both()
    assert thrice(both.forward, 1.0) == thrice(both.again, 1.0) == [10.0] * 3
    assert thrice(both.other, 1.0) == [15.0] * 3


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


def test_a_compiled_function_may_be_a_class_method():
    assert thrice(Shared.of_class, 1.0) == thrice(Shared().of_class, 1.0) == [3.0] * 3
    assert thrice(Heir.of_class, 1.0) == thrice(Heir().of_class, 1.0) == [4.0] * 3


def test_a_compiled_function_may_be_a_static_method():
    assert thrice(Heir.of_nothing, 1.0) == thrice(Heir().of_nothing, 1.0) == [3.0] * 3


def test_a_compiled_function_may_be_called_through_its_class_or_by_a_property():
    line, shared = Line(), Shared()
    assert thrice(Line.forward, line, 1.0) == [2.0] * 3
    assert [shared.squared.data, shared.squared.data] == [9.0, 9.0]
    with pytest.raises(TypeError, match=r"found object .* among the arguments"):
        line.forward(object())


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


class Unhashable(Slotted):
    pass


@pytest.mark.parametrize("kind", [Slotted, Unhashable])
def test_objects_with_slots_or_without_a_hash_have_their_own_programs(kind: Any):
    objects = [kind(float(i)) for i in range(3)]
    for _ in range(2):
        assert [x.forward(1.0).data for x in objects] == [0.0, 1.0, 2.0]
    assert objects[2].forward.cache_info()[:2] == (1, 1)


def test_a_module_may_have_its_call_or_its_forward_compiled():
    class ByCall(nn.Module):
        def __init__(self) -> None:
            self.line = nn.Neuron(1, nonlin=False)

        @micrograd.compile
        def __call__(self, x: Any) -> Any:
            return self.line([x])

    class ByForward(ByCall):
        __call__ = nn.Module.__call__

        @micrograd.compile
        def forward(self, x: Any) -> Any:
            return self.line([x])

    for model in (ByCall(), ByForward()):
        wanted = model.line([2.0]).data
        assert thrice(model, 2.0) == [wanted] * 3
        twin = copy.deepcopy(model)
        twin.line.b.data += 1.0
        assert abs(twin(2.0).data - wanted - 1.0) < 1e-12
        assert list(model.state_dict()) == list(twin.state_dict())


def test_a_callable_that_is_no_method_is_none_in_a_class_either():
    class Holder:
        scaled = micrograd.compile(functools.partial(lambda k, x: x * k, 3.0))
        of_line = micrograd.compile(Steep().__call__)

    assert thrice(Holder().scaled, 2.0) == [6.0] * 3
    assert thrice(Holder().of_line, 2.0) == [400.0] * 3


def test_an_object_with_compiled_methods_is_released():
    line = Line()
    line.forward(1.0)
    seen = weakref.ref(line)
    del line
    gc.collect()
    assert seen() is None


class Slope:
    """A class whose method may be called by the class, as a property calls it."""

    def __init__(self, k: float):
        self.k = Value(k)

    @micrograd.compile
    def at(self, x: Any) -> Any:
        return self.k * x


@pytest.mark.parametrize("mode", [micrograd.check_compiled, micrograd.detect_anomaly, micrograd.no_grad])
def test_a_method_that_is_called_by_its_class_is_the_objects_in_every_mode(mode: Any):
    slope = Slope(2.0)
    with mode():
        assert Slope.at(slope, 3.0).data == slope.at(3.0).data == 6.0


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


class ScaledSlots:
    __slots__ = ()
    numbers, w, at, step = Scaled.numbers, Scaled.w, Scaled.__dict__["at"], Scaled.__dict__["step"]


@pytest.mark.parametrize("name", ["at", "step"])
def test_retrace_of_a_method_is_that_of_each_object(name: str):
    objects, method = [Scaled(), Scaled(), ScaledSlots()], getattr(Scaled, name)
    for k in (1.0, 3.0):
        Scaled.numbers[:] = [k]
        method.retrace()
        assert [getattr(x, name)(5.0).data for x in objects] == [10.0 * k] * 3
    Scaled.numbers[:] = [7.0]
    getattr(objects[0], name).retrace()  # of one object, it is that of this one alone
    assert [getattr(x, name)(5.0).data for x in objects] == [70.0, 30.0, 30.0]
