"""The exercises of lesson 20."""

import gc
import math
from collections.abc import Callable
from typing import Any

from check import beside, exercise, function, functions, kind, near, number, number_exercise

from micrograd import compile, value_and_grad


@exercise("20.1", of=functions(2))
def _(given: Any) -> str | None:
    number, multiply = given
    a, b = number(5.0), number(3.0)
    out = multiply(a, b)
    if out.data != 15.0:
        return f"5 * 3 is 15, yours is {out.data}"
    try:
        out.send_back(2.0)
    except TypeError:
        return "send_back takes no gradient yet: def send_back(g), and g instead of out.grad"
    if a.grad == b.grad == 0.0:
        return "send_back takes g but does not use it: out.grad is 0 here"
    if (a.grad, b.grad) in ((10.0, 10.0), (6.0, 6.0), (10.0, 6.0)):
        return "each of the two gets the gradient times the *other* one's number"
    if (a.grad, b.grad) in ((3.0, 10.0), (6.0, 5.0), (3.0, 5.0)):
        return "2 arrives from the right, and is not used everywhere: multiply by g"
    if (a.grad, b.grad) != (6.0, 10.0):
        return f"for 2 from the right, 5 should get 6 and 3 should get 10; they got {a.grad} and {b.grad}"
    out.send_back(2.0)
    if (a.grad, b.grad) != (12.0, 20.0):
        return "when it sends back twice, the second gradient replaces the first: write +="
    left = _left_over(number, multiply)
    return None if not left else f"{left} nodes still wait for the collector: does send_back still mention out?"


@exercise("20.2", of=functions(4))
def _(given: Any) -> str | None:
    symbol, derive, write, tanh = given
    x = symbol("x")
    out = tanh(x) * x
    parts = tanh(x).rule
    if not isinstance(parts, Callable):
        return "a rule is a function of g: lambda g: (..., )"
    try:
        if not isinstance(parts(symbol("g")), tuple):
            return "a rule returns a tuple, with a symbol for each operand: lambda g: (..., )"
        source = write([x], [out, *derive(out, [x])])
    except (TypeError, AttributeError):
        return 'a rule is made of symbols alone: write Symbol("1.0") for a number'
    program = _program(source)
    for place in (0.5, -1.0):
        t = math.tanh(place)
        value, found = program(place)
        if not near(value, t * place):
            return f"the value of tanh(x) * x at {place} is {t * place:.4f}, yours is {value:.4f}"
        if near(found, t + place):
            return "that passes g on as it is: the slope of tanh is missing"
        if near(found, t + 1 - t * t):
            return "the slope is there, but g is missing: the rule returns g times the slope"
        if near(found, t + place * (1 + t * t)):
            return '1 minus the square, not plus: Symbol("-1.0") * out * out'
        if near(found, t + place * (1 - place * place)):
            return "1 minus the square of tanh(x), not of x: the rule needs the result"
        if not near(found, t + place * (1 - t * t)):
            return f"the slope of tanh(x) * x at {place} is {t + place * (1 - t * t):.4f}, yours is {found:.4f}"
    return None


number_exercise(
    "20.3",
    3,
    {
        5: "other numbers of the same type use the same program",
        4: "zeros or ones: the numbers do not matter, only how many there are",
        2: "three numbers and four are two shapes, with a program each",
        1: "a number and an array are different types",
        6: "there are five calls, and a call is traced at most once",
        7: "there are five calls, and a call is traced at most once",
        0: "the first call is traced in any case, or there would be no program",
    },
    "not {}: how many different types and shapes are there?",
    tolerance=0,
)


@exercise("20.4", of=function)
def _(crooked: Any) -> str | None:
    f = value_and_grad(compile(crooked))
    for place, value, slope in ((3.0, 9.0, 6.0), (0.5, 0.25, 1.0), (-2.0, -0.2, 0.1)):
        try:
            found, gradient = f(place)
        except RuntimeError as error:
            if "condition" not in str(error):
                raise
            return "it still looks at a number: an if, a max or a comparison"
        if place < 0 and near(found, -value):
            return "below zero the sign is wrong: relu of -x is positive there"
        if place < 0 and near(found, place * place):
            return "that is x**2 below zero, too: what makes a number 0 there?"
        if place < 0 and near(found, 0.0):
            return "above zero it is right; below, x/10 is missing: relu of -x is -x there, and 0 above"
        if place > 0 and near(found, place):
            return "above zero that is x itself, and it should be x**2"
        if place > 0 and near(found, 0.1 * place):
            return "above zero that is x/10, and it should be x**2: relu of x is x there, and 0 below"
        if place > 0 and near(found, value + 0.1 * place):
            return "x/10 is added above zero, too: relu of -x is 0 there"
        if not near(found, value):
            return f"at {place} it should be {value}, yours is {number(found):.4g}"
        if not near(gradient, slope):
            return f"at {place} the value is right, and the slope should be {slope}; it is {number(gradient):.4g}"
    return None


@beside
def _program(source: str) -> Any:
    """The function that a program of the answer's defines."""
    space = {"tanh": math.tanh}
    exec(source, space)
    return space["program"]


@beside
def _left_over(number: Any, multiply: Any) -> int:
    """How many nodes of a chain that was dropped are still there."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        before = sum(type(thing) is number for thing in gc.get_objects())
        x = y = number(1.0)
        for _ in range(100):
            y = multiply(y, x)
        del x, y
        return sum(type(thing) is number for thing in gc.get_objects()) - before
    finally:
        if was_on:
            gc.enable()


@exercise("20.5", of=functions(4))
def _(given: Any) -> str | None:
    symbol, derive, _, simplified = given
    x, y, one, two = symbol("x"), symbol("y"), symbol("1.0"), symbol("2.0")
    twice, product = (x * y) * (x * y), x * y + y * x
    gradients = derive(twice + x, [x, y])
    cases = (
        ("x", [x], 1),
        ("(x * y) * (x * y)", [twice], 4),
        ("1.0 * x", [one * x], 1),
        ("x * 1.0", [x * one], 1),
        ("1.0 * 1.0", [one * symbol("1.0")], 1),
        ("2.0 * x + 2.0 * x", [two * x + symbol("2.0") * x], 4),
        ("x * y + y * x", [product], 5),
        ("1.0 * (1.0 * x + y)", [one * (one * x + y)], 3),
        ("1.0 + x", [one + x], 3),
        ("(x * y) * (x * y) + x with its gradients", [twice + x, *gradients], 11),
    )
    for text, roots, count in cases:
        before = [(node, node.text, tuple(node.made_from)) for node in _below(roots)]
        found = simplified(list(roots))
        if not isinstance(found, list | tuple) or len(found) != len(roots):
            return f"a list of {len(roots)} symbols is needed here; found {kind(found)}"
        if any(node.text != was or tuple(node.made_from) != of for node, was, of in before):
            return f"for {text}, an old symbol has changed: make new ones"
        for old, new in zip(roots, found, strict=True):
            for place in ({"x": 0.5, "y": -1.5}, {"x": 3.0, "y": 0.25}):
                if not near(_value(new, place), _value(old, place)):
                    return f"{text} is no longer {_value(old, place):.4g} at {place}, but {_value(new, place):.4g}"
        nodes = _below(found)
        if any(node.text in ("x", "y") and node is not x and node is not y for node in nodes):
            return f"for {text}, the input is another object now, and write would not know its name"
        if len(nodes) > count:
            ones = any(node.text == "{} * {}" and one.text in [of.text for of in node.made_from] for node in nodes)
            why = (
                "a product with 1.0 is still there"
                if ones
                else "two symbols compute the same: is the key made of new ones?"
            )
            return f"for {text}, {count} symbols are enough, and yours are {len(nodes)}: {why}"
    return None


def _below(roots: Any) -> list[Any]:
    """All symbols that the roots are made of."""
    found: list[Any] = []
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if all(node is not other for other in found):
            found.append(node)
            waiting += node.made_from
    return found


def _value(node: Any, place: dict[str, float]) -> float:
    """The number that a symbol stands for."""
    operands = [_value(operand, place) for operand in node.made_from]
    if len(operands) == 2:
        return operands[0] + operands[1] if "+" in node.text else operands[0] * operands[1]
    return place[node.text] if node.text in place else float(node.text)
