"""The exercises of lesson 25."""

import ast
from typing import Any

from check import NotAnAnswer, exercise, kind, number
from wrong_engines import (
    LINES,
    PAGE,
    POINTS,
    RIGHT,
    TESTS,
    WRONG,
    NoExpression,
    Wrong,
    alike,
    engine,
    engine_of,
    exposes,
    methods,
    seen,
    size,
    smallest,
    wrong_of,
)

SWAPPED, REPLACED = 11, 51  # the engines of the first two exercises


def parts(count: int, example: str) -> Any:
    """What was found, if it is a tuple of `count`."""

    def all_of(found: Any) -> Any:
        if isinstance(found, tuple) and len(found) == count:
            return found
        raise NotAnAnswer(f"answer as in the original cell, {example}; found {kind(found)}")

    return all_of


def owner(who: Any) -> Wrong:
    """The engine of a name or a number."""
    if isinstance(who, bool) or not isinstance(who, str | int) or not str(who).strip():
        raise NotAnAnswer(f"your name comes first, as a text; found {kind(who)}")
    return wrong_of(who)


def verdict(wrong: Wrong, text: Any, numbers: Any) -> str | None:
    """Whether an expression exposes an engine, and is as small as can be."""
    if not isinstance(text, str):
        return f"write the expression as a text, as in 'a * b'; found {kind(text)}"
    if not isinstance(numbers, dict) or not all(isinstance(name, str) for name in numbers):
        return f"give each name a number, as in {{'a': 2.0, 'b': 3.0}}; found {kind(numbers)}"
    given = {name: number(x) for name, x in numbers.items()}
    try:
        operations = size(text)
        if exposes(wrong, text, given):
            needed = size(smallest(wrong)[0])
            if operations <= needed:
                return None
            return (
                f"that exposes the mistake, with {operations} operations; {needed} can do it. What can you leave out?"
            )
        return why_not(wrong, text, [*given])
    except NoExpression as error:
        return str(error)


def why_not(wrong: Wrong, text: str, names: list[str]) -> str:
    """Why an expression exposes nothing: its numbers, its operations, or its shape."""
    other = [dict(zip(names, (x, y, 5.0, -1.5), strict=False)) for point in POINTS for x, y in [point.values()]]
    for numbers in other if len(names) <= 4 else ():
        try:
            if exposes(wrong, text, numbers):
                return "with these numbers both engines agree, and with others they do not. Are yours equal, 0, 1 or 2?"
        except NoExpression:
            continue
    if (place := method_of(wrong.line)) not in methods(text) | {"_backward", "backward", "__init__", "as_value"}:
        return "both engines agree, and always will: the mistake is in an operation that is not used here"
    if place in ("_backward", "backward"):
        return "both engines agree. Use a result once more, or a number twice, and see whether the gradients still do"
    return (
        "both engines agree, though the mistake is near: compute something from this result, or take a negative number"
    )


def method_of(line: int) -> str:
    """The name of the innermost function in which a line of the page stands."""
    functions = [node for node in ast.walk(ast.parse(PAGE)) if isinstance(node, ast.FunctionDef)]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno).name if around else ""


@exercise("25.1", of=parts(2, "('a * b', {'a': 3.0, 'b': 3.0})"))
def _(answer: Any) -> str | None:
    return verdict(WRONG[SWAPPED], *answer)


@exercise("25.2", of=parts(2, "('a * b', {'a': 2.0, 'b': 3.0})"))
def _(answer: Any) -> str | None:
    return verdict(WRONG[REPLACED], *answer)


@exercise("25.3", of=parts(3, "(NAME, 'a + b', {'a': 2.0, 'b': 3.0})"))
def _(answer: Any) -> str | None:
    who, text, numbers = answer
    return verdict(owner(who), text, numbers)


@exercise("25.4", of=parts(2, "(NAME, 114)"))
def _(answer: Any) -> str | None:
    who, found = answer
    wrong, line = owner(who), number(found)
    if line == wrong.line:
        return None
    text, numbers = smallest(wrong)
    if not line.is_integer() or not method_of(int(line)) or not LINES[int(line) - 1].strip():
        return f"{line:g} is not the number of a line of code in the class Value"
    place, there = method_of(int(line)), method_of(wrong.line)
    if place == there:
        return f"line {line:g} is right, and the mistake is near: look at the other lines of {place}"
    everywhere = ("_backward", "backward", "__init__", "as_value")
    if place in everywhere and there not in everywhere:
        return f"line {line:g} serves all operations alike, and your engine is wrong in one. Which one?"
    if place not in methods(text) | {*everywhere}:
        given = ", ".join(f"{name} = {x:g}" for name, x in numbers.items())
        return f"line {line:g} is in {place}, which {text} does not use, and this is wrong too, with {given}"
    return f"line {line:g} of {place} is right: which other line runs when you compute {text}?"


@exercise("25.5", of=parts(2, "(NAME, 'return ...')"))
def _(answer: Any) -> str | None:
    who, line = answer
    wrong = owner(who)
    if not isinstance(line, str):
        return f"write the line as a text; found {kind(line)}"
    if " ".join(line.split()) == wrong.right:
        return "that is how the line reads in the right engine; how does it read in yours?"
    try:
        mine = engine(wrong.line, " ".join(line.split()))
    except SyntaxError as error:
        return f"in line {wrong.line} this is not Python: {error.msg}"
    for text, numbers in TESTS:
        try:
            found, wanted = seen(mine, text, numbers), seen(engine_of(wrong), text, numbers)
        except Exception as error:
            return f"with this line, {text} raises {type(error).__name__}: {error}"
        if not alike(found, wanted):
            given = ", ".join(f"{name}={x:g}" for name, x in numbers.items())
            same = "as the right engine does" if alike(found, seen(RIGHT, text, numbers)) else "which it does not"
            return f"with this line, {text} at {given} says {told(found)}, {same}; your engine says {told(wanted)}"
    return None


def told(found: Any) -> str:
    """What an engine says, in short: the value and the gradients of the first pass."""
    if isinstance(found, str):
        return found
    return ", ".join(f"{x:.4g}" for x in found[: 1 + len(found) // 2])
