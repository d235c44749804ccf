"""The exercises of lesson 4."""

from typing import Any

from check import exercise, function, functions, kind, near, number, number_exercise

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
        return "when out sends twice, the two contributions must add up: use += and not ="
    if (a.grad, b.grad) == (2.0, -2.0):
        return "each gets 1 or -1 times what arrives from the right, but out.grad is missing"
    if (a.grad, b.grad) == (6.0, 6.0):
        return "if b grows, a - b falls, so what is the sign of what b gets?"
    if near(a.grad, 6.0) and near(b.grad, -6.0):
        return None
    if near(b.grad, -6.0):
        return (
            f"what b gets is right; if a grows by 1, a - b grows by 1, so a should get 3 each time, not {a.grad / 2:g}"
        )
    if near(a.grad, 6.0):
        return (
            f"what a gets is right; if b grows by 1, a - b falls by 1, so b should get -3 each time, not {b.grad / 2:g}"
        )
    return f"when 3 arrives from the right twice, a should get 6 and b -6; they got {a.grad:g} and {b.grad:g}"


@exercise("4.2", of=function)
def _(cube: Any) -> str | None:
    x = Value(2.0)
    cubed = cube(x)
    if not isinstance(cubed, Value):
        return f"cube should return a Value, and returns {kind(cubed)}"
    if cubed._prev != (x,):
        return "make one node from x alone: Value(x.data**3, (x,), 'cube')"
    if cubed._op.startswith("**"):
        return "that is the library's power, with the library's way back; make the node, and write its closure yourself"
    out = cubed * 10
    out.backward()
    if not near(out, 80.0):
        return f"10 * cube(2) is 80, yours is {number(out):.4g}"
    if x.grad == 0:
        return "x got nothing: is out._backward your function, and does it add to x.grad?"
    if near(x.grad, 12.0):
        return "multiply by what arrives from the right; out.grad is missing"
    if near(x.grad, 80.0):
        return "10 * 2**3 is 10 times the value; the slope of x**3 is 3 * x**2"
    if near(x.grad, 40.0):
        return "10 * 2**2: the slope of x**3 is 3 * x**2, so a factor of 3 is missing"
    if not near(x.grad, 120.0):
        return f"when 10 arrives from the right, x should get 10 * 3 * 2**2 = 120; it got {x.grad:g}"
    cubed._backward()  # by itself: backward() adds what a closure with = leaves behind
    return None if near(x.grad, 240.0) else "when cube sends again, add the second 120 to the first: use += and not ="


number_exercise(
    "4.3",
    1.0,
    {
        4.0: "that would be right, but Forgetful finds another number; follow its assignments one after the other",
        2.0: "that would need += in one of the two places; Forgetful writes = in both",
        3.0: "nothing is added in Forgetful, so no number can grow: each assignment replaces what was there",
        0.0: "an assignment does not delete: it puts the part that has just arrived in place of the old number",
    },
    "it is not {:.4g}; b.grad is assigned twice, so what is b.grad then? Ask the same about a.grad",
)


def back(root: Any) -> None:
    """All nodes below the root send back, each after those that it was used for."""
    order: list[Any] = []

    def visit(node: Any) -> None:
        if all(node is not other for other in order):
            for operand in node.made_from:
                visit(operand)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        node.send_back()


@exercise("4.4", of=function)
def _(full: Any) -> str | None:
    cases = (
        ("a + b", lambda a, b: a + b),
        ("a + a", lambda a, b: a + a),
        ("a * b", lambda a, b: a * b),
        ("-a", lambda a, b: -a),
        ("a - b", lambda a, b: a - b),
        ("a / b", lambda a, b: a / b),
        ("a ** 3", lambda a, b: a**3),
        ("a.exp()", lambda a, b: a.exp()),
        ("a.tanh()", lambda a, b: a.tanh()),
        ("a - 2", lambda a, b: a - 2),
        ("a / 2", lambda a, b: a / 2),
        ("(a * b - 2).tanh() / b + (-a).exp() ** 2", lambda a, b: (a * b - 2).tanh() / b + (-a).exp() ** 2),
    )
    for text, f in cases:
        a, b, x, y = full(0.7), full(1.5), Value(0.7), Value(1.5)
        wanted = f(x, y)
        wanted.backward()
        try:
            out = f(a, b)
        except (TypeError, AttributeError) as error:
            return f"{text} does not work yet: {error}"
        if not isinstance(out, full):
            return f"{text} should be a {full.__name__}, and is {kind(out)}"
        if not near(out.data, wanted.data, 1e-9):
            return f"{text} is {wanted.data:.6g} at a = 0.7, b = 1.5, yours is {out.data:.6g}"
        back(out)
        for name, have, want in (("a", a.grad, x.grad), ("b", b.grad, y.grad)):
            if near(have, want, 1e-9):
                continue
            if text == "a + a":
                return "a + a sends two gradients to one a: write += where the gradient arrives"
            if have == 0 and want:
                return f"in {text}, nothing arrives at {name}: is the result made by `made`, with its operands?"
            if text.startswith("(a * b"):
                return f"each operation is right by itself, but in {text} {name} gets {have:.6g}: is out.grad a factor?"
            if text == "a / b" and name == "b":
                return (
                    f"in a / b, the gradient of b is {want:.6g}, yours is {have:.6g}: multiply by out.grad all the way"
                )
            return f"in {text}, the gradient of {name} is {want:.6g}, yours is {have:.6g}"
    return None
