"""A node where Python wants a number: what carries no gradient is told."""

import math
import operator
import warnings
from functools import partial

import numpy as np
import pytest

from micrograd import Value, enable_grad, no_grad
from micrograd.tensor import Tensor

MAKE = {
    "a Value": lambda: Value(2.0),
    "a result": lambda: Value(1.0) * 2,
    "a Tensor": lambda: Tensor(2.0, requires_grad=True),
    "a Tensor of one element": lambda: Tensor([[2.0]], requires_grad=True),
}
USES = {
    "float": float,
    "int": int,
    "round": round,
    "round to digits": lambda x: round(x, 2),
    "math.exp": math.exp,
    "math.hypot": lambda x: math.hypot(x, 1.0),
    "math.floor": math.floor,
    "%f": partial(operator.mod, "%f"),
    "np.float64": np.float64,
}
PLAIN_USES = {
    "a format": lambda x: f"{x:.2f}",
    "repr": repr,
    "str": str,
    "bool": bool,
    "item": lambda x: x.item(),
    "data": lambda x: np.asarray(x.data).item(),
    "a comparison": lambda x: x > 1,
    "an equality": lambda x: x == 2.0,
    "sorted": lambda x: sorted([x, x]),
}
kinds = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


@kinds
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_number_without_its_gradient_warns(make, use):
    if use is np.float64 and isinstance(make(), Tensor):
        return  # NumPy asks for the array, which raises
    with pytest.warns(UserWarning, match=r"no gradient flows through float\(x\) or a function of math: use the method"):
        use(make())


@kinds
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_number_inside_no_grad_does_not_warn(make, use):
    with no_grad():
        use(make().detach())
        if use is not np.float64:
            use(make())
    with pytest.warns(UserWarning, match="no gradient"), no_grad(), enable_grad():
        float(make())


@kinds
@pytest.mark.parametrize("use", PLAIN_USES.values(), ids=PLAIN_USES)
def test_showing_or_comparing_a_node_does_not_warn(make, use):
    use(make())


def test_warning_comes_once_a_line_and_names_the_users():
    x = Value(2.0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            float(x)
        int(x), math.exp(x)
    assert {warning.filename for warning in found} == {__file__}
    assert len({warning.lineno for warning in found}) == len(found) == 2
