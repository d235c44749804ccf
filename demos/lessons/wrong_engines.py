"""Sixty wrong engines: one_page.py with one line changed, for lesson 25, in which each student gets one by name.

An engine is judged by what it says of an expression: the value, the gradients after one backward pass, and those after
a second pass. An expression on which a wrong engine differs from the right one exposes the mistake.

    python demos/lessons/wrong_engines.py        prints the key: each engine, its line, an expression that exposes it
    python demos/lessons/wrong_engines.py Ada    prints the row of one student
"""

import argparse
import ast
import builtins
import hashlib
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

PAGE = next(
    path
    for folder in (Path(__file__).resolve().parents[1], Path(__file__).resolve().parent)  # the second in a browser
    if (path := folder / "one_page.py").is_file()
).read_text(encoding="utf-8")
LINES = PAGE.splitlines()


@dataclass(frozen=True)
class Wrong:
    """An engine with a mistake."""

    right: str  # a line of one_page.py, without its indentation
    wrong: str  # what stands there instead
    says: str  # what the mistake is

    @property
    def line(self) -> int:
        """The number of the line, counted from 1."""
        (place,) = [number for number, line in enumerate(LINES, 1) if line.split("  #")[0].strip() == self.right]
        return place

    def engine(self) -> type:
        """Its class Value."""
        return engine(self.line, self.wrong)


ADD = "return Value(self.data + other.data, (self, lambda g: g), (other, lambda g: g))"
MUL = "return Value(a * b, (self, lambda g: g * b), (other, lambda g: g * a))"
DIV = "return Value(a / b, (self, lambda g: g / b), (other, lambda g: -g * (a / b) / b))"
POW = "return Value(a**n, (self, lambda g: g * n * a ** (n - 1)))"
EXP = "return Value(y, (self, lambda g: g * y))"
SECH = "sech = 1 / math.cosh(min(abs(a), 700))"
TANH = "return Value(math.tanh(a), (self, lambda g: g * sech * sech))"
GATE = "return 0.0 if a <= 0 else x"
RELU = "return Value(gate(a), (self, gate))"
NEG, SUB, RSUB = "return self * -1", "return self + (-other)", "return -self + other"
RDIV = "return Value(other) / self"
WAYS, SEND = "for operand, rule in self._ways_back:", "operand.grad += rule(self.grad)"
ORDER, CLEAR, START = "for node in reversed(earlier):", "node.grad = -0.0", "self.grad = 1.0"
PLACE, KEEP = "earlier[node] = node.grad", "node.grad += grad"

WRONG = [
    Wrong(ADD, ADD.replace("data + other", "data - other"), "The sum is a difference."),
    Wrong(ADD, ADD.replace("(other, lambda g: g)", "(other, lambda g: -g)"), "The second operand gets a wrong sign."),
    Wrong(ADD, ADD.replace("(self, lambda g: g)", "(self, lambda g: -g)"), "The first operand gets a wrong sign."),
    Wrong(ADD, ADD.replace(", (other, lambda g: g)", ""), "The second operand of a sum is forgotten."),
    Wrong(ADD, ADD.replace("(self, lambda g: g), ", ""), "The first operand of a sum is forgotten."),
    Wrong(ADD, ADD.replace("(other, lambda g: g)", "(other, lambda g: 1.0)"), "A rule of the sum forgets g."),
    Wrong(ADD, ADD.replace("(self, lambda g: g)", "(self, lambda g: 1.0)"), "The first rule of the sum forgets g."),
    Wrong(ADD, ADD.replace("lambda g: g", "lambda g: g / 2"), "A sum shares the gradient out instead of copying it."),
    Wrong(ADD, ADD.replace("(other, lambda", "(self, lambda"), "Both parts of the gradient go to the first operand."),
    Wrong(ADD, ADD.replace("lambda g: g)", "lambda g: g * self.data)", 1), "The first rule is that of a product."),
    Wrong(MUL, MUL.replace("a * b,", "a + b,"), "The product is a sum."),
    Wrong(
        MUL, MUL.replace("g * b", "g * t").replace("g * a", "g * b").replace("g * t", "g * a"), "The rules are swapped."
    ),
    Wrong(MUL, MUL.replace("g * b", "g * a"), "The first operand is multiplied by itself, not by the second."),
    Wrong(MUL, MUL.replace("g * a", "g * b"), "The second operand is multiplied by itself, not by the first."),
    Wrong(MUL, MUL.replace("g * a", "a"), "The second rule forgets g, the gradient that arrives."),
    Wrong(MUL, MUL.replace("g * b", "b"), "The first rule forgets g, the gradient that arrives."),
    Wrong(MUL, MUL.replace("g * b", "g + b"), "The first rule adds where the chain rule multiplies."),
    Wrong(MUL, MUL.replace(", (other, lambda g: g * a)", ""), "The second operand of a product is forgotten."),
    Wrong(MUL, MUL.replace("(other, lambda", "(self, lambda"), "Both parts of the gradient go to the first operand."),
    Wrong(DIV, DIV.replace("a / b, (", "b / a, ("), "The quotient is upside down."),
    Wrong(DIV, DIV.replace("g / b)", "g * b)"), "The first rule multiplies by b instead of dividing."),
    Wrong(DIV, DIV.replace("-g * (a", "g * (a"), "The divisor gets a wrong sign."),
    Wrong(DIV, DIV.replace("(a / b) / b", "(a / b)"), "The divisor is squared in the slope; here it is not."),
    Wrong(DIV, DIV.replace("-g * (a / b) / b", "-g / b"), "The rule of the divisor forgets the quotient."),
    Wrong(DIV, DIV.replace(", (other, lambda g: -g * (a / b) / b)", ""), "The divisor is forgotten."),
    Wrong(DIV, DIV.replace("-g * (a", "-(a"), "The rule of the divisor forgets g."),
    Wrong(POW, POW.replace("a**n,", "a * n,"), "The power is a product."),
    Wrong(POW, POW.replace("(n - 1)", "n"), "The exponent is not lowered by 1."),
    Wrong(POW, POW.replace("g * n * a", "g * a"), "The factor n is forgotten."),
    Wrong(POW, POW.replace("g * n", "n"), "The rule of the power forgets g."),
    Wrong(POW, POW.replace("a ** (n - 1)", "a"), "The rule holds for squares alone, whose power n - 1 is 1."),
    Wrong(POW, POW.replace("g * n", "g * 2"), "The rule holds for squares alone, whose n is 2."),
    Wrong(POW, POW.replace("a ** (n", "abs(a) ** (n"), "A negative base loses its sign in the slope."),
    Wrong(EXP, EXP.replace("g * y", "g * self.data"), "The slope of exp is y; here it is the operand."),
    Wrong(EXP, EXP.replace("g * y", "y"), "The rule of exp forgets g."),
    Wrong(EXP, EXP.replace("g * y", "g * y * self.data"), "A factor too many, as if exp were a power."),
    Wrong("y = math.exp(self.data)", "y = 2**self.data", "The base is 2 instead of e."),
    Wrong(SECH, SECH.replace("abs(a)", "a"), "The number is cut on one side only, so that -800 is too large for cosh."),
    Wrong(SECH, SECH.replace("700", "1"), "The slope stops falling at 1."),
    Wrong(TANH, TANH.replace("g * sech * sech", "g * sech"), "The slope of tanh is squared; here it is not."),
    Wrong(TANH, TANH.replace("g * sech", "sech"), "The rule of tanh forgets g."),
    Wrong(TANH, TANH.replace("sech * sech", "(1 - math.tanh(a))"), "The tanh in the slope is not squared."),
    Wrong(GATE, GATE.replace("<=", "<"), "The gate is open at 0 itself."),
    Wrong(GATE, GATE.replace("a <=", "x <="), "On the way back, the gate looks at the gradient instead of the number."),
    Wrong(GATE, GATE.replace("0.0 if", "0.1 * x if"), "The gate leaks."),
    Wrong(RELU, RELU.replace("(self, gate)", "(self, lambda g: g)"), "On the way back, the gate is always open."),
    Wrong(RELU, RELU.replace("gate(a)", "a"), "On the way forward, the gate is always open."),
    Wrong(NEG, "return Value(-self.data)", "The graph is cut: the result does not know its operand."),
    Wrong(SUB, "return other + (-self)", "The difference is the other way round."),
    Wrong(RSUB, "return self + (-other)", "With a plain number on the left, the difference is the other way round."),
    Wrong(RDIV, "return self / other", "With a plain number on the left, the quotient is upside down."),
    Wrong(SEND, SEND.replace("+=", "="), "What arrives later replaces what was there."),
    Wrong(SEND, SEND.replace("self.grad", "1.0"), "Local derivatives are sent, without what arrives from the right."),
    Wrong(SEND, "operand.grad += self.grad", "What arrives is sent on without the local derivative."),
    Wrong(
        WAYS,
        "for operand, rule in dict(self._ways_back).items():",
        "An operand that is used twice counts once.",
    ),
    Wrong(ORDER, "for node in earlier:", "The order is that of the forward pass."),
    Wrong(PLACE, "earlier[node] = earlier.pop(node, node.grad)", "A number that is met again sends too early."),
    Wrong(CLEAR, "pass", "The gradients of an earlier pass are not cleared."),
    Wrong(START, "self.grad = self.data", "The result begins with its value instead of 1."),
    Wrong(KEEP, "node.grad = grad", "The second pass is not added to the first."),
]


def engine(line: int = 0, instead: str = "") -> type:
    """The class Value of one_page.py, with another text in one line; by default as it stands."""
    lines = list(LINES)
    if line:
        old = lines[line - 1]
        lines[line - 1] = old[: len(old) - len(old.lstrip())] + instead.strip()
    tree = ast.parse("\n".join(lines))
    if strange := sorted(reach(tree) - REACH):  # the line may be a student's, and is run
        raise SyntaxError(f"{strange[0]} is not used on this page")
    names: dict[str, Any] = {"__name__": "one_page"}
    exec(compile(tree, "one_page.py", "exec"), names)
    return names["Value"]


def reach(tree: ast.AST) -> set[str]:
    """What a program reaches besides its own variables: modules, attributes and Python's functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.add(ast.unparse(node))
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and (node.id in dir(builtins) or node.id.startswith("_")):
            found.add(node.id)
    return found


REACH = reach(ast.parse(PAGE)) | {"dict", "abs", "items", "pop"}  # what the wrong lines need, too


def number_of(who: str | int) -> int:
    """The number of a student's engine: their name decides, or their teacher, who gives them a number."""
    if isinstance(who, int):
        return who % len(WRONG)
    return int(hashlib.sha256("".join(who.casefold().split()).encode()).hexdigest(), 16) % len(WRONG)


def wrong_of(who: str | int) -> Wrong:
    """A student's engine."""
    return WRONG[number_of(who)]


# ---------------------------------------------------------------------------------------------------------------------
# Expressions

FUNCTIONS = ("exp", "tanh", "relu")
OPERATORS = {ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__", ast.Pow: "__pow__"}
MADE_OF = {  # the methods that an operator uses
    "__sub__": {"__sub__", "__neg__", "__mul__", "__add__", "__rsub__"},
    "__neg__": {"__neg__", "__mul__"},
    "__truediv__": {"__truediv__", "__rtruediv__"},
    "relu": {"relu", "gate"},
}
Seen = tuple[float, ...] | str


class NoExpression(ValueError):
    """The text is no expression of this lesson; the message says what was found and what may be written."""


def parsed(text: str) -> ast.Module:
    """The syntax tree of an expression: steps such as `c = a * b`, each followed by `;` or a new line, and a result."""
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NoExpression(f"this is not Python: {text!r:.60}") from None
    *steps, last = tree.body or [None]
    if not isinstance(last, ast.Expr):
        raise NoExpression("end with the result, as in 'c = a * b; c + c'")
    for step in steps:
        if not (isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(step.targets[0], ast.Name)):
            raise NoExpression(f"a step gives a name to a result, as in 'c = a * b'; found {ast.unparse(step)!r:.60}")
    for node in chain.from_iterable(ast.walk(step.value) for step in tree.body):  # type: ignore[attr-defined]
        permit(node)
    return tree


@cache
def programs(text: str) -> tuple[types.CodeType, types.CodeType]:
    """The steps of an expression and its result, ready to run; plain numbers are floats, as in an engine."""
    tree = parsed(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = float(node.value)  # a power of whole numbers might have a million digits
    *steps, last = tree.body
    result = ast.Expression(last.value)  # type: ignore[attr-defined]
    return compile(ast.Module(list(steps), []), "<steps>", "exec"), compile(result, "<result>", "eval")


def permit(node: ast.AST) -> None:
    """Let a node pass that is a name, a number, an operator, or a call of exp, tanh or relu."""
    allowed = "write names, numbers, + - * / **, .exp(), .tanh() and .relu()"
    match node:
        case ast.BinOp(op=ast.Pow(), right=right) if not plain(right):
            raise NoExpression("the exponent of ** is a plain number here, as in 'a**3'")
        case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]) if name in FUNCTIONS:
            pass
        case ast.Constant(value=bool() | complex() | str() | bytes() | None):
            raise NoExpression(f"{allowed}; found {ast.unparse(node)!r:.60}")
        case ast.BinOp() | ast.UnaryOp() | ast.Name() | ast.Constant() | ast.Attribute(attr="exp" | "tanh" | "relu"):
            pass
        case ast.USub() | ast.Load() | ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow():
            pass
        case _:
            found = type(node).__name__ if isinstance(node, ast.operator | ast.unaryop) else ast.unparse(node)
            raise NoExpression(f"{allowed}; found {found!r:.60}")


def plain(node: ast.AST) -> bool:
    """Whether this is a plain number, with or without a minus sign."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def size(text: str) -> int:
    """How many operations are written in an expression: operators, and calls of functions."""
    nodes = list(ast.walk(parsed(text)))
    signs = [node for node in nodes if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant)]
    return len(signs) + sum(isinstance(node, ast.BinOp | ast.Call) for node in nodes)


def methods(text: str) -> set[str]:
    """The names of the engine's methods that an expression may use."""
    nodes = list(ast.walk(parsed(text)))
    used = {OPERATORS[type(node.op)] for node in nodes if isinstance(node, ast.BinOp)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {"__neg__"} if any(isinstance(node, ast.UnaryOp) and not plain(node) for node in nodes) else set()
    return set().union(*(MADE_OF.get(name, {name}) for name in used))


def seen(value: type, text: str, numbers: Mapping[str, float]) -> Seen:
    """What an engine says: the value, the gradients after one pass and after two, or the error that it raises."""
    steps, result = programs(text)
    inputs = {name: value(x) for name, x in numbers.items()}
    names: dict[str, Any] = {"__builtins__": {}, **inputs}
    try:
        exec(steps, names)
        out = eval(result, names)
        if not isinstance(out, value):
            raise NoExpression("no input is used in the result")
        out.backward()
        once = [x.grad for x in inputs.values()]
        out.backward()
        return (out.data, *once, *(x.grad for x in inputs.values()))
    except NameError as error:
        raise NoExpression(f"{error.name} has no number: give one for each name") from None
    except (ArithmeticError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def exposes(wrong: Wrong, text: str, numbers: Mapping[str, float]) -> bool:
    """Whether a wrong engine differs from the right one on an expression.

    Raises:
        NoExpression: the text is no expression, or the right engine cannot compute it.
    """
    right = seen(RIGHT, text, numbers)
    if isinstance(right, str) or not all(map(math.isfinite, right)):
        raise NoExpression("the right engine cannot compute this: choose other numbers")
    return not alike(seen(engine_of(wrong), text, numbers), right)


def alike(found: Seen, right: Seen) -> bool:
    """The same but for rounding."""
    if isinstance(found, str) or isinstance(right, str):
        return found == right
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(found, right, strict=True))


RIGHT = engine()
engine_of = cache(Wrong.engine)


def compare(who: str | int, text: str, **numbers: float) -> None:
    """Print what both engines, the right one and a student's, say: compare("Ada", "a * b", a=2, b=3)."""
    right, found = seen(RIGHT, text, numbers), seen(engine_of(wrong_of(who)), text, numbers)
    names = ["value", *(f"d/d{name}" for name in numbers), *(f"d/d{name} after a second pass" for name in numbers)]
    if isinstance(right, str) or isinstance(found, str):
        print("right:", right, " yours:", found)
        return
    for name, a, b in zip(names, right, found, strict=True):
        print(f"{name:25} right {a:<12.6g} yours {b:<12.6g} {'' if alike((a,), (b,)) else '<- differs'}".rstrip())


# On these, no two of the engines say the same.
TESTS: list[tuple[str, dict[str, float]]] = [
    *((f"a {sign} b", {"a": 2.0, "b": 3.0}) for sign in "+-*/"),
    *((f"(a {sign} b) * 5", {"a": -2.0, "b": 0.5}) for sign in "+-*/"),
    *((f"(a {sign} a)**2", {"a": 3.0}) for sign in "+*/"),
    *((f"2 {sign} a", {"a": 3.0}) for sign in "-/"),
    *((f"a.{name}() * -3", {"a": x}) for name in FUNCTIONS for x in (2.0, 0.5, 0.0, -2.0)),
    *((f"a**{n}", {"a": x}) for n in (2, 3) for x in (2.0, -3.0)),
    ("a**3 * 7", {"a": 2.0}),
    ("(a * 400).tanh()", {"a": -2.0}),
    ("-a", {"a": 3.0}),
    ("c = a * b; c * 2 + c", {"a": 2.0, "b": 3.0}),
    ("c = a * b; d = c + a; d * c", {"a": 2.0, "b": 3.0}),
]


# ---------------------------------------------------------------------------------------------------------------------
# The smallest expression

POINTS = [{"a": a, "b": b} for a, b in [(2.0, 3.0), (-2.0, 0.5), (0.0, 3.0), (-800.0, 2.0)]]


def expressions(operations: int) -> Iterator[str]:
    """All expressions of so many operations on a and b and a few plain numbers, of the kinds that are tried."""
    yield from (text for text in trees(operations, ("a", "b")))
    for inner in range(1, operations):
        steps = trees(inner, ("a", "b"))
        yield from (f"c = {step}; {text}" for step, text in product(steps, trees(operations - inner, ("c",))))


@cache
def trees(operations: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Expressions without steps; a plain number stands at one side of an operator alone."""
    if operations == 0:
        return names
    found = []
    for left in range(operations):
        pairs = product(trees(left, names), trees(operations - 1 - left, names))
        for x, y in sorted(pairs, key=lambda pair: pair[0] == pair[1]):  # a + b is simpler to read than a + a
            found += [f"{grouped(x)} {sign} {grouped(y)}" for sign in "+*/-"]
    for x in map(grouped, trees(operations - 1, names)):
        found += [*(f"{x}.{name}()" for name in FUNCTIONS), f"{x}**2", f"{x}**3", f"2 - {x}", f"2 / {x}", f"-{x}"]
    return tuple(found)


def grouped(text: str) -> str:
    """An operand, in brackets where it needs them."""
    return text if text.isidentifier() else f"({text})"


@cache
def smallest(wrong: Wrong) -> tuple[str, dict[str, float]]:
    """An expression of as few operations as possible that exposes a wrong engine, and its numbers."""
    for operations in range(4):
        for numbers in POINTS:  # the plainest first, which expose nearly all
            for text in expressions(operations):
                used = {name: x for name, x in numbers.items() if name in text.replace("tanh", "").replace("relu", "")}
                try:
                    if exposes(wrong, text, used):
                        return text, used
                except NoExpression:  # 2 / 0
                    continue
    raise LookupError(f"no expression of three operations exposes {wrong.wrong!r}")


def key(who: str | int) -> str:
    """A row of the key."""
    wrong = wrong_of(who)
    text, numbers = smallest(wrong)
    given = ", ".join(f"{name}={x:g}" for name, x in numbers.items())
    return f"{number_of(who):2}  line {wrong.line:3}  {text}  at {given}\n      {wrong.wrong}\n      {wrong.says}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the key to the wrong engines.")
    parser.add_argument("students", nargs="*", default=range(len(WRONG)), help="names or numbers (all numbers)")
    for who in parser.parse_args().students:
        print(f"{who}: {key(int(who) if str(who).isdecimal() else who)}")


if __name__ == "__main__":
    main()
