"""JavaScript: a program as one module without dependencies, which `save(f, "model.js")` writes.

The loops are those of `loops`. The module stores what the program reads besides its arguments (parameters, what the
optimizer remembers, the learning rate), with the present numbers. Integers are numbers in JavaScript, exact up to
2**53, and a module raises an error for an integer of 64 bits beyond that. A user's name or text stands in the module as
an identifier that was checked, or in a string of ASCII characters without `<`.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..compiler.lowered import Lowered, Read, Symbol, reader
from .loops import Loops, unlooped
from .wording import DOUBLE, OWN, C, name_of

ARRAYS = {
    "bool": "Uint8Array",
    "int8": "Int8Array",
    "int16": "Int16Array",
    "int32": "Int32Array",
    "int64": "Float64Array",
    "uint8": "Uint8Array",
    "uint16": "Uint16Array",
    "uint32": "Uint32Array",
    "uint64": "Float64Array",
    "float32": "Float32Array",
    "float64": "Float64Array",
}
ROUNDED = {  # a result as its dtype; of integers, never -0
    "int8": "({}) << 24 >> 24",
    "int16": "({}) << 16 >> 16",
    "int32": "({}) | 0",
    "int64": "whole({})",
    "uint8": "({}) & 255",
    "uint16": "({}) & 65535",
    "uint32": "({}) >>> 0",
    "uint64": "whole({}, 0)",
    "float32": "Math.fround({})",
}
MATH = (
    "exp expm1 log log2 log10 log1p sqrt floor ceil trunc sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh"
)
SHORT = 8  # an array of more elements is stored as base64
RUNTIME = Path(__file__).with_name("module.js")
ABOVE = """
// A function compiled by micrograd, which runs in browsers, Node and Deno.
//
//     step(inputs)        the function: inputs are its arguments, by name
//     step(inputs, true)  the same, which returns typed arrays in place of nested lists
//     state()             the numbers that it has beside these: parameters, and what an optimizer remembers
//     load(saved)         sets them, or some of them; saved is like what state() returned
//
// An array is passed, and returned, as nested lists. One list of all its numbers, or a typed array, will do too. One of
// the program's dtype, which is a Float64Array for most, is read without a copy.
""".splitlines()[1:]
LARGE = "4503599627370496"  # 2**52: all numbers above are whole


class JavaScript(C):
    """The forms of JavaScript. `samples` are the inputs whose last axis is the first axis of the user's array."""

    loop = "for (let {0} = 0; {0} < {1}; {0}++)"
    constant = "const {name} = {text};"
    variable = "let {name} = {text};"
    array = "const {name} = new {type}({size});"
    filled = "{name}.fill({text});"
    function = "const {name} = ({parameters}) => {result};"
    stop: tuple[str, ...] = ()
    typed = False
    single = ""
    stops = True
    own: dict[str, tuple[str, str]] = {
        **{name: ("a", f"Math.{name}(a)") for name in MATH.split()},
        **{name: ("a b", f"Math.{name}(a, b)") for name in ("atan2", "hypot")},
        "fabs": ("a", "Math.abs(a)"),
        "fmod": ("a b", "a % b"),
        "exp2": ("a", "2 ** a"),
        "pow": ("a b", "a === 1 || (a === -1 && fabs(b) === Infinity) ? 1 : a ** b"),
        "rint": (
            "a",
            f"a === 0 || !(fabs(a) < {LARGE}) ? a : a < 0 ? -(-a + {LARGE} - {LARGE}) : a + {LARGE} - {LARGE}",
        ),
        "narrow_power": (
            "a b",
            "b < 1 ? 1 : Math.imul(b % 2 !== 0 ? a : 1, narrow_power(Math.imul(a, a), (b - b % 2) / 2))",
        ),
        **OWN,
    }

    def __init__(self, samples: set[str]):
        self.samples = samples

    def order(self, x: Symbol) -> Any:
        return "F" if x.args[0] in self.samples else "C"

    def type(self, dtype: Any) -> str:
        return ARRAYS[name_of(dtype)]

    def cast(self, text: str, dtype: Any) -> str:
        if dtype.kind == "b":
            return f"({text} != 0)"
        return f"({self.rounded(f'Math.trunc({text})' if dtype.kind in 'iu' else text, dtype)})"

    def rounded(self, text: str, dtype: Any) -> str:
        return ROUNDED.get(name_of(dtype), "{}").format(text)

    def sorted(self, dtype: Any, n: int, merged: str, order: str, keys: str) -> str:
        order, keys = (text.replace("[", ".subarray(").replace("]", ")") for text in (order, keys))
        return f"orderOf({n}, {order}, {keys});"

    def form(self, op: str, dtypes: Sequence[Any]) -> str:
        if op in ("multiply", "power") and _is_narrow(dtypes[0]):
            return {"multiply": "Math.imul({}, {})", "power": "narrow_power({}, {})"}[op]
        return super().form(op, dtypes[:1])  # numbers of all dtypes compare as they should

    def product(self, dtype: Any, n: int) -> str:
        return "Math.imul(" * (n - 1) + "{}" + ", {})" * (n - 1) if _is_narrow(dtype) else super().product(dtype, n)

    def added(self, place: str, text: str, dtype: Any) -> str:
        if dtype.kind == "b":
            return f"{place} |= {text};"
        if dtype.kind in "iu":
            return f"{place} = {self.rounded(f'{place} + {text}', dtype)};"
        return super().added(place, text, dtype)

    def number(self, x: Any, dtype: Any) -> str:
        if dtype.kind != "f":
            return str(int(x))
        return super().number(x, dtype).replace("NAN", "NaN").replace("INFINITY", "Infinity")


def _is_narrow(dtype: Any) -> bool:
    """True for integers of which the last 32 bits are enough. JavaScript's numbers may not hold their products."""
    return dtype.kind in "iu" and dtype.itemsize <= 4


class Part(NamedTuple):
    """An element of a vector that the program returns, or a row of a matrix."""

    of: Any
    at: int


Rule = Callable[[Any], object]


def module(
    program: Lowered,
    stored: Sequence[Any],
    tree: Any,
    names: Mapping[str, str],
    labels: Lowered | None = None,
    rules: Sequence[Rule] = (),
) -> str:
    """The text of a module.

    Args:
        program: the program, without gradients.
        stored: the values of its first parameters, before the user's arguments.
        tree: what `step` returns: a tree of Symbols, Parts and constants.
        names: the name of each parameter in the module.
        labels: a program that computes the labels and indices to check before each call.
        rules: for each value of that program, the function that checks it.

    Raises:
        RuntimeError: the program has something that JavaScript lacks.
    """
    if reason := unlooped(program):
        raise RuntimeError(f"JavaScript {reason}")
    checked = labels and Module(labels, stored, names)
    return "\n".join(Module(program, stored, names).lines(tree, checked, rules))


class Module:
    """The text of a module, or of its function that checks labels."""

    def __init__(self, program: Lowered, stored: Sequence[Any], names: Mapping[str, str]):
        self.names = names
        self.language: JavaScript = JavaScript({read.name for read in program.reads if read.kind == "samples"})
        self.loops: Loops = Loops(program, self.language)
        self.inputs: dict[str, Symbol] = {x.args[0]: x for x in self.loops.inputs}
        own = [read for read in program.reads if read.parameter in ("leaves", "update")]
        self.reads: dict[str, Read] = {read.name: read for read in program.reads if read not in own}
        symbols = [self.inputs[read.name] for read in own if read.name in self.inputs]
        state = Lowered(program.parameters[: len(stored)], tuple(own), symbols)
        self.state: list[tuple[Symbol, Any]] = [
            (x, np.asarray(array, x.dtype or float))
            for x, array in zip(state.steps, reader(state)(*stored), strict=True)
        ]
        for x in (*(x for _, x in self.loops.constants.values()), *(array for _, array in self.state)):
            if x.dtype.kind in "iu" and x.size and not -(2**53) <= x.min() <= x.max() <= 2**53:
                raise RuntimeError("JavaScript has no integers beyond 2**53")

    def lines(self, tree: Any, labels: Module | None, rules: Sequence[Rule]) -> Iterator[str]:
        """The lines of the module."""
        first, last = ["check(inputs);"] * bool(labels), [f"return {self._tree(tree)};"]
        step = _function("export function step", self._body(first, last), "inputs, typed")
        check = labels.checking(rules, {x.args[0] for x, _ in self.state}) if labels else ""
        yield from ABOVE
        yield from (step, check)
        yield from self.language.functions(step + check)
        yield from self._arrays()
        yield "const stored = {"
        for x, array in self.state:
            yield f"    {x.args[0]}: {{array: {self._numbers(x.dtype or DOUBLE, array)}, shape: {[*array.shape]}}},"
        yield "};\n\n" + RUNTIME.read_text(encoding="utf-8")

    def checking(self, rules: Sequence[Rule], stored: set[str]) -> str:
        """The function that checks labels and indices by the rules of the functions that take them."""
        if not {x.args[0] for x, _ in self.state} <= stored:
            raise RuntimeError("JavaScript cannot check labels that are trained: pass them as arguments")
        tests = []
        for rule, value in zip(rules, self.loops.program.values, strict=True):
            for i, x in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(x, Symbol):
                    shape = [*(x.shape or ())]
                    condition, message = condition_of(rule, None if isinstance(value, list) else len(shape))
                    place = f"[{i}]" if isinstance(value, list) else "@place@"
                    message = _literal(message.replace("[0]" * (len(shape) or 1), place, 1))
                    tests.append(f"verify({self.loops.outputs[x].name}, {shape}, x => {condition}, {message});")
        return _function("function check", [*self._arrays(), *self._body([], tests)])

    def _arrays(self) -> Iterator[str]:
        """The declarations of the program's arrays."""
        loops = self.loops
        yield from loops.arrays()
        yield from (self.language.array.format(**self.language.of(x)) for x in loops.outputs.values())
        yield from (f"const {array.name} = {self._numbers(array.dtype, x)};" for array, x in loops.constants.values())

    def _body(self, first: Sequence[str], last: Sequence[str]) -> list[str]:
        """The statements of a function of the inputs."""
        begin = [f"const {name} = {text};" for name, text in [*self._stored(), *self._arguments()]]
        return [*first, *begin, *self.loops.body(), *last]

    def _numbers(self, dtype: Any, x: np.ndarray) -> str:
        """The expression for an array of these numbers."""
        if x.size <= SHORT:
            numbers = (self.language.number(n, dtype) for n in x.reshape(-1).tolist())
            return f"{self.language.type(dtype)}.of({', '.join(numbers)})"
        in_bytes = "u1" if dtype.kind == "b" else "<f8" if dtype.itemsize == 8 else dtype.newbyteorder("<")
        text = base64.b64encode(np.ascontiguousarray(x, in_bytes).tobytes()).decode()
        return f'decoded("{text}", {self.language.type(dtype)})'

    def _stored(self) -> Iterator[tuple[str, str]]:
        """Names and expressions of the stored numbers and arrays, and of the arrays where new numbers are written."""
        for x, _ in self.state:
            yield self.loops.inputs[x].name, f"stored.{x.args[0]}.array{'[0]' * (x.shape is None)}"
        yield from ((new.name, f"stored.{x.args[0]}.array") for x, new in self.loops.news.items())

    # ---- arguments

    def _arguments(self) -> Iterator[tuple[str, str]]:
        """Names, or patterns of names, and the expressions that read them from the arguments."""
        for read in self.reads.values():
            if read.kind == "lists":
                elements = ["_".join(map(str, (read.name, *i))) for i in np.ndindex(read.shape)]
                variables = [*map(self._variable, elements)]
                if any(variables):
                    yield f"[{', '.join(variables)}]", self._argument(read)
            elif variable := self._variable(read.name):
                yield variable, self._argument(read)

    def _variable(self, name: str) -> str:
        """The variable of an input; "" if the program does not use it."""
        return self.loops.inputs[self.inputs[name]].name if name in self.inputs else ""

    def _argument(self, read: Read) -> str:
        """The expression that reads an argument."""
        if read.kind == "vector":
            return f"Float64Array.of({', '.join(self._argument(self.reads[name]) for name in read.keys)})"
        x = self.inputs.get(read.name)  # None for an element of a vector
        dtype, shape = getattr(x, "dtype", None) or DOUBLE, getattr(x, "shape", None)
        if read.kind in ("lists", "flat"):
            shape = read.shape
        path = ", ".join(map(_literal, (self.names[read.parameter], *read.keys)))
        passed = [*(shape or ())][:: -1 if read.kind == "samples" else 1]
        text = f"read(inputs, [{path}], {passed}, {self.language.type(dtype)}{', true' * (dtype.kind in 'iub')})"
        return text if shape is not None else f"{text}[0]"

    # ---- results

    def _tree(self, x: Any) -> str:
        """The expression for a tree of results."""
        if isinstance(x, dict):
            return f"{{{', '.join(f'[{_literal(key)}]: {self._tree(part)}' for key, part in x.items())}}}"
        if isinstance(x, (list, tuple)) and not isinstance(x, Part):
            return f"[{', '.join(map(self._tree, x))}]"
        x, at = x if isinstance(x, Part) else (x, None)
        if not isinstance(x, Symbol):
            return self._constant(x if at is None else x[at])
        shape = (x.shape or ())[at is not None :]
        return f"nested({self.loops.outputs[x].name}, {[*shape]}, {(at or 0) * math.prod(shape)}, typed)"

    def _constant(self, x: Any) -> str:
        if x is None or isinstance(x, str):
            return _literal(x)
        if isinstance(x, (bool, np.bool_)):
            return json.dumps(bool(x))
        array = np.asarray(x)
        return f"nested({self._numbers(array.dtype, array)}, {[*array.shape]}, 0, typed)"


def _function(head: str, lines: Sequence[str], parameters: str = "inputs") -> str:
    return "\n".join([f"{head}({parameters}) {{", *(f"    {line}" for line in lines), "}\n"])


@dataclass(eq=False)
class Element:
    """A stand-in for each element that a rule checks: it notes every comparison, and gives the same answer to each."""

    answer: bool
    comparisons: list[str]
    text: str = "x"

    def _compared(self, sign: str, number: Any) -> bool:
        self.comparisons.append(f"{self.text} {sign} {float(number)!r}")
        return self.answer

    def __abs__(self) -> Element:
        return Element(self.answer, self.comparisons, f"Math.abs({self.text})")

    def __repr__(self) -> str:
        return "@found@"


for _name, _sign in {"eq": "===", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}.items():
    setattr(Element, f"__{_name}__", lambda self, number, sign=_sign: self._compared(sign, number))


def condition_of(rule: Rule, axes: int | None) -> tuple[str, str]:
    """The condition that a rule sets for each element, and its message for an element that breaks it.

    `axes` is the number of axes of the array that is checked, None for a list.

    >>> def rule(found):
    ...     if not (found[0] >= 0 and found[0] < 3):
    ...         raise ValueError(f"found {found[0]}: it must be from 0 to 2")
    >>> condition_of(rule, None)
    ('x >= 0.0 && x < 3.0', 'found @found@: it must be from 0 to 2')
    """
    comparisons: list[str] = []
    # First each comparison holds, so that the rule makes all of them; then none does, so that the rule raises its error
    for answer in (True, False):
        element = Element(answer, comparisons if answer else [])
        try:
            rule([element] if axes is None else np.full((1,) * axes, element))
        except (IndexError, ValueError) as error:
            return " && ".join(dict.fromkeys(comparisons)), str(error)
    raise RuntimeError(
        "cannot export a check of this program to JavaScript: only comparisons with a number can be exported"
    )


def _literal(x: Any) -> str:
    """A key or a text as a literal, in ASCII and without `<`, so that it cannot end the script of a page."""
    if x.__class__ not in (str, int, type(None)):
        raise RuntimeError(f"JavaScript has no key of the type {type(x).__name__}")
    return json.dumps(x).replace("<", "\\u003c")
