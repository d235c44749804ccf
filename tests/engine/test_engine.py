"""Value as a number: what it takes, what it gives, and what it refuses."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import pytest

from micrograd import Value, backward, detect_anomaly, enable_grad, grad, no_grad

try:
    import numpy as np
except ModuleNotFoundError:  # the engine needs none
    np = None

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge]
# What NumPy calls numbers counts as numbers, where there is a NumPy.
NUMPYS = [getattr(np, name)(3) for name in ("float64", "float32", "int64", "uint8")] if np else []


over_arithmetic = pytest.mark.parametrize("op", ARITHMETIC)


class Labelled(Value):
    """A subclass as users write them."""

    __slots__ = ()


# ---------------------------------------------------------------------------------------------------------------------
# Making one


@pytest.mark.parametrize("data", [3, 3.0, -0.0, inf, Fraction(3, 4), *NUMPYS], ids=repr)
def test_data_is_a_plain_float(data):
    assigned = Value(1.0)
    assigned.data = data
    for x in (Value(data), assigned):
        assert (type(x.data), x.data) == (float, float(data))


def test_fresh_value_is_a_leaf_that_requires_a_gradient_and_has_none_yet():
    x = Value(1.0)
    assert (x.grad, x.requires_grad, x.is_leaf, x._prev, x._op, x.label, x.grad_fn) == (0, True, True, (), "", "", None)


@pytest.mark.parametrize("make", [
    lambda: Value(6.0, requires_grad=False), lambda: Value(6.0).detach(), lambda: (Value(2.0) * 3).detach(),
    lambda: Value(2.0, requires_grad=False) * Value(3.0, requires_grad=False),
])  # fmt: skip
def test_constant_is_a_leaf_that_requires_no_gradient(make):
    x = make()
    assert (x.data, x.requires_grad, x.is_leaf, x._prev, x.grad_fn) == (6.0, False, True, (), None)


def test_arguments_may_be_given_by_position_as_in_the_classic():
    a = Value(2.0)
    out = Value(4.0, (a, a), "+", "twice")
    assert (out.data, out._prev, out._op, out.label) == (4.0, (a, a), "+", "twice")
    assert Value(2.0, [a], "id")._prev == Value(2.0, {a}, "id")._prev == (a,)


# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic


@over_arithmetic
@pytest.mark.parametrize("other", [3, 3.0, 49, True, Fraction(3, 2), *NUMPYS], ids=repr)
def test_number_may_stand_on_either_side(op, other):
    x = Value(5.0)  # 5 / 49 is not 5 * 49**-1
    for out, wanted in ((op(x, other), op(5.0, float(other))), (op(other, x), op(float(other), 5.0))):
        assert (type(out), type(out.data), out.data) == (Value, float, wanted)


@over_arithmetic
def test_operands_are_kept_in_order_and_repeats_too(op):
    a, b = Value(2.0), Value(3.0)
    assert (op(a, b)._prev, op(b, a)._prev, op(a, a)._prev) == ((a, b), (b, a), (a, a))


def test_number_among_the_operands_is_a_constant_and_the_same_one_each_time():
    y = 3 - Value(2.0)
    three = y._prev[0]
    assert (three.data, three.requires_grad, three is y._prev[0]) == (3.0, False, True)


@pytest.mark.parametrize("op", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow])
def test_in_place_op_rebinds_as_numbers_do_and_plus_gives_the_value_itself(op):
    x = Value(2.0)
    y = op(x, 3)
    assert (x.data, x.is_leaf, y._prev[0], +x) == (2.0, True, x, x)


# ---------------------------------------------------------------------------------------------------------------------
# A Value where a number is expected


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("a", [1.0, 2.0, nan])
def test_comparisons_are_those_of_the_numbers(op, a: float):
    wanted = op(a, 2.0)
    assert op(Value(a), Value(2.0)) is op(Value(a), 2) is op(a, Value(2.0)) is wanted


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize("other", ["3", None, [3], 1j, Decimal(3), object()], ids=lambda x: type(x).__name__)
def test_value_has_no_arithmetic_and_no_order_with_what_is_no_real_number(op, other):
    for pair in ((Value(2.0), other), (other, Value(2.0))):
        with pytest.raises(TypeError):
            op(*pair)


def test_equality_and_hash_are_identity_so_that_nodes_can_stand_in_sets_and_dicts():
    a, b = Value(1.0), Value(1.0)
    assert (a == a, a == b, a == 1.0) == (True, False, False)
    seen = {a: "a", b: "b"}
    a.data = 7.0
    assert (seen[a], seen[b]) == ("a", "b")


CONVERSIONS = [float, int, round, lambda x: round(x, 1), bool, abs, math.floor, math.ceil, math.fabs, complex]
FORMATS = [lambda x, spec=spec: format(x, spec) for spec in (".3f", "+.2e", "10.4g", "%", ">8")]


@pytest.mark.parametrize("convert", CONVERSIONS + FORMATS)
@pytest.mark.parametrize("number", [-2.75, 0.12345, 0.0, -0.0])
def test_value_converts_as_its_number_does(convert, number: float):
    found, wanted = convert(Value(number, requires_grad=False)), convert(number)
    found = found.data if isinstance(found, Value) else found
    assert (found, type(found)) == (wanted, type(wanted))


def test_repr_has_the_classic_form_and_names_the_subclass():
    x = Value(3)
    (x * 2).backward()
    assert repr(x) == str(x) == f"{x}" == "Value(data=3.0, grad=2.0)"
    assert (repr(Value(-1)), repr(Labelled(1))) == ("Value(data=-1.0, grad=0)", "Labelled(data=1.0, grad=0)")


# ---------------------------------------------------------------------------------------------------------------------
# Subclasses


@over_arithmetic
def test_subclass_makes_nodes_of_itself(op):
    a, b = Labelled(2.0), Value(3.0)
    made = [op(a, b), op(b, a), op(3, a)._prev[0], a.detach(), grad(op(a, b), a, create_graph=True)[0]]
    assert {type(y) for y in made} == {Labelled}


def test_op_does_not_call_the_constructor_of_a_subclass():
    class Named(Value):
        def __init__(self, name: str, data: float):
            super().__init__(data)
            self.name = name

    x = Named("x", 2.0)
    (x * 3 + 1).backward()
    assert x.grad == 3.0


def test_subclass_that_compares_by_value_is_refused():
    with pytest.raises(TypeError, match="Equal defines == or hash: nodes are told apart by identity"):

        class Equal(Value):
            def __eq__(self, other):
                return self.data == float(other)


# ---------------------------------------------------------------------------------------------------------------------
# Wrong inputs


def hooked(result: object) -> None:
    y = Value(2.0) * 3
    y.register_hook(lambda g: result)
    y.backward()


x, c = Value(3.0), Value(2.0, requires_grad=False)

WRONG = [
    # data
    (lambda: Value("3"), TypeError, ["str", "real number"]),
    (lambda: Value(None), TypeError, ["NoneType", "real number"]),
    (lambda: Value(True), TypeError, ["bool", "real number"]),
    (lambda: Value(1j), TypeError, ["complex", "real number"]),
    (lambda: Value([1.0]), TypeError, ["list", "real number"]),
    (lambda: Value(x), TypeError, ["Value", "detach()"]),
    (lambda: setattr(x, "data", x * 2), TypeError, ["Value", "detach()"]),
    (lambda: Value(1.0, requires_grad=True, grad=3), TypeError, ["grad"]),
    # operands
    (lambda: Value(1.0, (2.0,), "+"), TypeError, ["operands", "tuple of Values", "(2.0,)"]),
    (lambda: Value(1.0, x), TypeError, ["Value", "tuple"]),
    (lambda: Value(1.0, "x"), TypeError, ["operands", "tuple of Values", "its name is label=; found 'x'"]),
    (lambda: setattr(x * 2, "requires_grad", False), RuntimeError, ["leaf", "detach()"]),
    (lambda: x + "1", TypeError, ["+", "Value", "str"]),
    (lambda: x ** "2", TypeError, ["**", "Value", "str"]),
    (lambda: pow(x, 2, 5), TypeError, []),
    (lambda: divmod(x, 3), TypeError, ["unsupported operand"]),
    (lambda: x @ 3, TypeError, ["unsupported operand"]),
    (lambda: x < "1", TypeError, ["<", "Value", "str"]),
    (lambda: x.maximum("1"), TypeError, ["maximum", "str"]),
    (lambda: x.minimum(None), TypeError, ["minimum", "NoneType"]),
    (lambda: x.leaky_relu(Value(0.1)), TypeError, ["slope", "Value"]),
    (lambda: int(Value(inf, requires_grad=False)), OverflowError, ["infinity"]),
    (lambda: int(Value(nan, requires_grad=False)), ValueError, ["NaN"]),
    # backward
    (lambda: c.backward(), RuntimeError, ["constant", "no_grad"]),
    (lambda: (x * 2).backward("1"), TypeError, ["gradient", "str"]),
    (lambda: (x * 2).backward([1.0, 2.0]), TypeError, ["gradient", "number", "list"]),
    (lambda: (x * 2).backward(inputs=[]), ValueError, ["empty", "input"]),
    (lambda: backward([]), ValueError, ["empty", "root"]),
    (lambda: backward(3.0), TypeError, ["root", "float"]),
    # grad
    (lambda: grad([], x), ValueError, ["empty", "output"]),
    (lambda: grad(x * 2, []), ValueError, ["empty", "input"]),
    # hooks and modes
    (lambda: c.register_hook(print), RuntimeError, ["constant", "requires_grad=True"]),
    (lambda: x.register_hook("print"), TypeError, ["hook", "str"]),
    (lambda: hooked("2"), TypeError, ["gradient", "str"]),
    (lambda: no_grad(3), TypeError, ["no_grad", "function", "int"]),
    (lambda: enable_grad()("f"), TypeError, ["enable_grad", "function", "str"]),
    (lambda: detect_anomaly(True), TypeError, ["detect_anomaly", "function", "bool"]),
]


@pytest.mark.parametrize(("code", "error", "words"), WRONG)
def test_wrong_input_raises_the_right_class_and_says_what_to_do(code, error: type[Exception], words: list[str]):
    with pytest.raises(error) as caught:
        code()
    assert type(caught.value) is error
    assert [word for word in words if word not in str(caught.value)] == []
    assert (x.data, x.grad, x.requires_grad, c.data, c.grad) == (3.0, 0, True, 2.0, 0)
