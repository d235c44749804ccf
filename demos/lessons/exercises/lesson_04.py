"""The exercises of lesson 4."""

from typing import Any

from check import exercise, function, functions, kind, near, number_exercise

from micrograd import Value


@exercise("4.1", of=functions(2))
def _(given: Any) -> str | None:
    kind_of_number, subtract = given
    a, b = kind_of_number(5.0), kind_of_number(3.0)
    out = subtract(a, b)
    if not isinstance(out, kind_of_number):
        return f"subtract should return a {kind_of_number.__name__}, and returns {kind(out)}"
    if out.data != 2.0:
        return f"5 - 3 is 2, yours is {out.data:g}"
    out.grad = 3.0
    out.send_back()
    out.send_back()
    if (a.grad, b.grad) == (0.0, 0.0):
        return "nothing was sent: is out.send_back your function, and does it add to a.grad and b.grad?"
    if (a.grad, b.grad) == (3.0, -3.0):
        return "sent twice, the parts must add up: += and not ="
    if (a.grad, b.grad) == (2.0, -2.0):
        return "each gets 1 or -1 times what arrives from the right: out.grad is not in it"
    if (a.grad, b.grad) == (6.0, 6.0):
        return "if b grows, a - b falls: the sign of what b gets"
    if near(a.grad, 6.0) and near(b.grad, -6.0):
        return None
    return f"for 3 from the right, twice, a should get 6 and b -6; they got {a.grad:g} and {b.grad:g}"


@exercise("4.2", of=function)
def _(cube: Any) -> str | None:
    x = Value(2.0)
    cubed = cube(x)
    if not isinstance(cubed, Value):
        return f"cube should return a Value, and returns {kind(cubed)}"
    if cubed._prev != (x,):
        return "one node, made from x alone: Value(x.data**3, (x,), 'cube')"
    out = cubed * 10
    out.backward()
    if not near(out, 80.0):
        return f"10 * cube(2) is 80, yours is {float(out):.4g}"
    if x.grad == 0:
        return "x got nothing: is out._backward your function, and does it add to x.grad?"
    if near(x.grad, 12.0):
        return "what arrives from the right, out.grad, is not in it"
    if not near(x.grad, 120.0):
        return f"for 10 from the right x should get 10 * 3 * 2**2 = 120, it got {x.grad:g}"
    cubed._backward()  # by itself: backward() adds what a closure with = leaves behind
    return None if near(x.grad, 240.0) else "sent again, the 120 should be added to the 120: += and not ="


number_exercise(
    "4.3",
    1.0,
    {
        4.0: "that would be right; what does Forgetful make of it, one assignment after the other?",
    },
    "not {:.4g}: b.grad is assigned twice, and what is it then? The same for a",
)
