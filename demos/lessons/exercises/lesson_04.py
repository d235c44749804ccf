"""The exercises of lesson 4."""

from typing import Any

from check import exercise, near

from micrograd import Value


@exercise("4.1")
def _(given: Any) -> str | None:
    number, subtract = given
    a, b = number(5.0), number(3.0)
    out = subtract(a, b)
    out.grad = 2.0
    out.send_back()
    out.send_back()
    if (a.grad, b.grad) == (2.0, -2.0):
        return "sent twice, the parts must add up: += and not ="
    if near(a.grad, 4.0) and near(b.grad, -4.0):
        return None
    return f"for 2 from the right, twice, a should get 4 and b -4; they got {a.grad} and {b.grad}"


@exercise("4.2")
def _(cube: Any) -> str | None:
    x = Value(2.0)
    out = cube(x) * 10
    out.backward()
    if not near(out, 80.0):
        return f"10 * cube(2) is 80, yours is {float(out):.4g}"
    if near(x.grad, 12.0):
        return "the gradient that comes in, out.grad, is not in it"
    return None if near(x.grad, 120.0) else f"x should get 10 * 3 * 2**2 = 120, it got {x.grad}"


@exercise("4.3")
def _(grad: Any) -> str | None:
    if near(grad, 4.0):
        return "that would be right; what does Forgetful make of it, one assignment after the other?"
    return None if near(grad, 1.0) else "b.grad is assigned twice, and what is it after that? Then the same for a"
