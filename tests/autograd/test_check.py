"""gradcheck: what it lets pass, and what it must not."""

import math

import numpy as np
import pytest

from micrograd import Value
from micrograd.autograd.check import gradcheck
from micrograd.engine.rows import Row
from micrograd.tensor import Tensor

A = np.array([0.5, -1.5, 2.0])


def planted(slope):
    """2 * x, whose derivative is said to be `slope`."""
    return Row("planted", lambda a: 2 * a, lambda g, _out, _a: g * slope)


@pytest.mark.parametrize("x", [3.0, Value(3.0), np.array(3.0), Tensor(3.0), A, Tensor(A)])
def test_planted_2_001_for_2_is_found(x):
    assert gradcheck(planted(2.0), x)
    with pytest.raises(AssertionError, match="derivative of order 1 is wrong"):
        gradcheck(planted(2.001), x)


def test_message_shows_arguments_index_and_both_derivatives():
    with pytest.raises(AssertionError) as caught:
        gradcheck(lambda x, y: (planted(2.001)(x[1]) * y[0]).sum(), [1.0, np.array([0.5, 0.5])], np.array([[3.0, 4.0]]))
    assert str(caught.value) == (
        "derivative of order 1 is wrong\n"
        "  arguments: ([1.0, array([0.5, 0.5])], array([[3., 4.]]))\n"
        "  index:     argument 0[1][0]\n"
        "  found:     6.003\n"
        "  expected:  6\n"
        "  factor:    1.0005"
    )


def test_gradcheck_takes_and_passes_on_what_its_function_does():
    assert gradcheck(lambda x, n, index: x[index] ** n, A, 3, np.array([0, 0, 2]))
    assert gradcheck(lambda xs, b: [xs[0] * xs[1], {"y": (xs[1] + b).tanh()}], [0.5, -0.25], 2.0)


def test_index_counts_along_all_axes():
    mask = np.array([[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(AssertionError, match=r"index:     argument 1\[1, 0\]"):
        gradcheck(lambda n, x: (planted(2.001)(x) * mask + 2 * x * (1 - mask)).sum(), 3, np.ones((2, 2)))


def test_error_of_the_second_order_alone_is_found():
    """The rule of exp is right, but says that its own slope is something else."""
    wrong = Row("slope", lambda a: a, lambda g, _out, _a: g * 1.001)
    row = Row("exp", math.exp, lambda g, out, _a: g * wrong(out))
    assert gradcheck(row, 0.5, order=1)
    with pytest.raises(AssertionError, match="derivative of order 2 is wrong"):
        gradcheck(row, 0.5)


def test_error_of_the_third_order_is_found_when_asked_for():
    assert gradcheck(lambda x: x**3, 0.5, order=5)
    third = Row("6x", lambda a: 6 * a, lambda g, _out, _a: g * 6.001)
    first = Row("3x^2", lambda a: 3 * a * a, lambda g, _out, a: g * third(a))
    row = Row("cube", lambda a: a**3, lambda g, _out, a: g * first(a))
    assert gradcheck(row, 0.5, order=2)
    with pytest.raises(AssertionError, match="derivative of order 3 is wrong"):
        gradcheck(row, 0.5, order=3)


def test_errors_that_cancel_in_a_sum_are_found():
    """Softmax adds up to 1 whatever it is given: a gradient of zero would pass if its outputs were just added."""
    frozen = Row("softmax", lambda a: np.exp(a) / np.exp(a).sum(), lambda g, _out, a: 0 * a)
    assert gradcheck(lambda x: x.softmax(), A)
    with pytest.raises(AssertionError, match="derivative of order 1"):
        gradcheck(frozen, A)


@pytest.mark.parametrize("x", [1e-3, 1.0, 1e6])
def test_gradcheck_is_exact_enough_at_all_scales(x):
    assert gradcheck(lambda x: x.log(), x, step=1e-2 if x > 0.1 else 1e-4)
    assert gradcheck(lambda x: x * x * x, x, order=3)


def test_near_the_edge_of_a_domain_smaller_steps_are_found_by_themselves():
    assert gradcheck(lambda x: x.log(), 0.006)
    assert gradcheck(lambda x: x.sqrt(), np.array([0.006]))


def test_inputs_stay_as_they_are():
    x, t = Value(2.0), Tensor(A, requires_grad=True)
    assert gradcheck(lambda x, t: (t * t).sum() * 1.0, 2.0, t)
    assert gradcheck(lambda x: x * x, x)
    assert x.grad == 0
    assert t.grad is None
    assert t.tolist() == A.tolist()


TINY = {
    "a small function": lambda x, rule: rule(x) * 1e-9,
    "near a flat point": lambda x, rule: rule(x * 1e-4) ** 3,
    "beside a constant": lambda x, rule: rule(x) * 1e-8 + 1,
    "a small sine": lambda x, rule: (rule(x) * 1e-10).sin() + 0.01,
}


@pytest.mark.parametrize("f", TINY.values(), ids=TINY)
@pytest.mark.parametrize("x", [1.5, np.array([1.5, 1e-3, -2.0])], ids=["value", "tensor"])
def test_wrong_factor_is_found_however_small_the_gradient_is(f, x):
    assert gradcheck(lambda x: f(x, planted(2.0)), x)
    with pytest.raises(AssertionError, match=r"factor:    1\.5"):
        gradcheck(lambda x: f(x, planted(3.0)), x)


ZERO = {
    "at a minimum": (lambda x: x * x, 0.0),
    "at a flat point": (lambda x: x**3, 0.0),
    "the slopes of two terms cancel": (lambda x: x.exp() - x, 0.0),
    "the slopes of large terms cancel": (lambda x: 1e6 * (x.exp() - x), 0.0),
    "at the top of a sine": (lambda x: x.sin(), math.pi / 2),
    "it does not depend on x": (lambda x: 0 * x + 1e3, 1.0),
    "a sum that is 1": (lambda x: x.softmax().sum(), A),
    "a variance of equal numbers": (lambda x: x.var(), np.ones(3)),
}


@pytest.mark.parametrize(("f", "x"), ZERO.values(), ids=ZERO)
def test_gradient_of_zero_is_right_though_rounding_says_otherwise(f, x):
    assert gradcheck(f, x, order=1)


def test_absolute_tolerance_is_added_to_the_relative_one():
    assert gradcheck(planted(2.001), 3.0, atol=1e-2)
    with pytest.raises(AssertionError, match="order 1 is wrong"):
        gradcheck(planted(2.001), 3.0, atol=1e-4)
    assert gradcheck(planted(2.001), 3.0, atol=0, rtol=1e-2)


def test_message_tells_no_factor_if_there_is_not_one():
    rules = [planted(3.0), planted(4.0)]
    with pytest.raises(AssertionError) as caught:
        gradcheck(lambda x, y: rules[0](x) + rules[1](y), 1.0, 1.0)
    assert "factor" not in str(caught.value)
    with pytest.raises(AssertionError) as caught:
        gradcheck(lambda x: planted(1.0)(x) - 2 * x, 1.0)
    assert "factor" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gradcheck(lambda x: x * 2, np.float32(1.0)), TypeError, "needs float64, found an input of .* float32"),
        (lambda: gradcheck(lambda x: x * 2, Tensor(A, dtype="float32")), TypeError, "found an input of dtype float32"),
        (lambda: gradcheck(lambda x: x.astype("float32"), A), TypeError, "found a result of dtype float32"),
        (lambda: gradcheck(lambda x: x, 1.0, order=0), ValueError, "order must be at least 1, found 0"),
        (lambda: gradcheck(planted(math.nan), 1.0), AssertionError, "found:     nan"),
        (lambda: gradcheck(lambda x: x * x.detach(), 1.5), AssertionError, "derivative of order 1"),
    ],
)
def test_gradcheck_refuses_few_digits_a_nan_and_what_was_detached(call, error, message):
    with pytest.raises(error, match=message):
        call()
