"""A lowered program as loops, in C or in JavaScript: one emitter, and two small languages.

    views       are positions: NumPy itself applies `reshape`, `[...]` or `transpose` to an array of positions, and the
                result says which element of the stored array is read
    loops       a step joins the first loop over its shape that runs after what the step reads; a step that is read in
                this loop alone needs no array
    sums        and whatever else fills an array (`scatter`, `concatenate`, products) add to it, or set it, in a loop

>>> from ..graph import Graph
>>> x = Graph().input("x", (4, 3), np.dtype(float))
>>> print("\\n".join(Loops(Lowered(("x",), (), (np.exp(x.transpose((1, 0))) * 2.0).sum(1))).body()))
for (int i = 0; i < 3; i++)
    out0[i] = 0.0;
for (int i = 0; i < 4; i++)
    for (int j = 0; j < 3; j++) {
        const double t2 = exp(x[3 * i + j]);  // exp (3, 4)
        const double t3 = t2 * 2.0;  // multiply (3, 4)
        out0[j] += t3;  // sum (3,)
    }
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..lowered import BY_COLUMNS, ELEMENTWISE, Lowered, Symbol, axes_of, is_uniform, library, symbols_in

DOUBLE, BOOL, INT = np.dtype(float), np.dtype(bool), np.dtype(np.int64)
INLINE = 8  # a constant array of more elements is passed to the program, not written in its source
WHOLE, ADDED = "{} = {};", "{} += {};"
# A name of the user's ends in _, which no keyword, function or macro of the languages does, nor a name of our own; but
# single letters, with or without a number, which neither language has, stay as they are, if we have not.
PLAIN, SHORT = re.compile("[A-Za-z][A-Za-z0-9_]{0,40}"), re.compile("[abd-hp-suvw-zA-HJ-Z][0-9]*")


class View(NamedTuple):
    """Elements of a stored array: those at these positions, plus `stride * index` for each index read `through`.

    A view without a name is the positions themselves.
    """

    name: str
    dtype: Any
    at: np.ndarray
    through: tuple[tuple[int, int | None, View], ...] = ()  # stride; size of the axis, to be checked; the index

    def moved(self, how: Callable[[np.ndarray], np.ndarray]) -> View:
        """The elements in another arrangement, which `how` makes of an array of positions."""
        through = tuple((stride, size, index.moved(how)) for stride, size, index in self.through)
        return View(self.name, self.dtype, how(self.at), through)

    def all(self) -> Iterator[View]:
        """Itself and the indices."""
        yield self
        for *_, index in self.through:
            yield from index.all()


class Line(NamedTuple):
    """A statement of a loop: `form`, filled with the operands, each as a dtype, is the value `name`, or goes `into`."""

    form: str
    operands: Sequence[tuple[Any, Any]]
    comment: str
    name: str = ""
    dtype: Any = None
    into: View | None = None
    how: str = WHOLE

    def reads(self) -> list[View]:
        """What is read."""
        indices = [*self.into.all()][1:] if self.into else []
        return indices + [x for operand, _ in self.operands if operand.__class__ is View for x in operand.all()]

    def views(self) -> list[View]:
        """What is read, or written to."""
        return [*self.reads(), *([self.into] if self.into else [])]

    def over(self, shape: tuple[int, ...]) -> Line:
        """The same in a loop of this shape."""
        spread = lambda x: x.moved(lambda at: at.reshape(shape)) if x.__class__ is View and x.at.shape != shape else x  # noqa: E731
        return self._replace(operands=[(spread(x), kind) for x, kind in self.operands], into=spread(self.into))


class Loop:
    """The statements over one shape, and those before it. One that is `ordered` keeps the order of its axes."""

    def __init__(self, shape: tuple[int, ...], ordered: bool):
        self.shape = shape
        self.ordered = ordered
        self.lines: list[Line] = []
        self.before: list[str] = []


# ---------------------------------------------------------------------------------------------------------------------
# Operations: their text in both languages

SIGNS = {
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / {}", "negative": "-{}",
    "less": "{} < {}", "less_equal": "{} <= {}", "greater": "{} > {}", "greater_equal": "{} >= {}",
    "equal": "{} == {}", "not_equal": "{} != {}", "where": "{} ? {} : {}",
    "logical_and": "{} != 0 && {} != 0", "logical_or": "{} != 0 || {} != 0", "logical_not": "{} == 0",
}  # fmt: skip
OF_BOOLS: dict[str, str] = dict.fromkeys(("add", "maximum"), SIGNS["logical_or"])
OF_BOOLS |= dict.fromkeys(("multiply", "minimum"), SIGNS["logical_and"]) | {"absolute": "{}"}
OF_INTS = {"absolute": "{0} < 0 ? -{0} : {0}", "sign": "({0} > 0) - ({0} < 0)", "power": "integer_power({}, {})"}
OF_INTS |= {"maximum": "{0} > {1} ? {0} : {1}", "minimum": "{0} < {1} ? {0} : {1}"}
OF_INTS |= {"remainder": "integer_remainder({}, {})", "floor_divide": "integer_quotient({}, {})"}
OF_INTS |= dict.fromkeys(("floor", "ceil", "trunc", "rint"), "{}")
# In math.h; others have NumPy's name, or asin's.
FUNCTIONS = {"power": "pow", "absolute": "fabs", "arctan2": "atan2", "remainder": "modulo"}
FUNCTIONS |= {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
OWN = {  # functions of our own, of floats or `integer_` ones: parameters, and what they return
    "maximum": ("a b", "a > b || a != a ? a : b"),
    "minimum": ("a b", "a < b || a != a ? a : b"),
    "sign": ("a", "a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a * 0.0"),
    "signed_as": ("m b", "m != 0.0 ? (b < 0.0) != (m < 0.0) ? m + b : m : b < 0.0 ? -0.0 : 0.0"),
    "modulo": ("a b", "signed_as(fmod(a, b), b)"),
    "nearest": ("q r", "q != 0.0 ? floor(q) + (q - floor(q) > 0.5 ? 1.0 : 0.0) : 0.0 * r"),
    "quotient": ("a b m", "nearest((a - m) / b - (m != 0.0 && (b < 0.0) != (m < 0.0) ? 1.0 : 0.0), a / b)"),
    "floor_divide": ("a b", "b == 0.0 ? a / b : quotient(a, b, fmod(a, b))"),
    "above": ("a d", "d != d ? d : a + log1p(exp(-d))"),
    "logaddexp": ("a b", "a == b ? a + log(2.0) : a > b ? above(a, a - b) : above(b, b - a)"),
    "integer_remainder": (
        "a b",
        "b == 0 || b == -1 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b",
    ),
    "integer_quotient": ("a b", "b == 0 ? 0 : b == -1 ? -a : (a - integer_remainder(a, b)) / b"),
    "integer_power": ("a b", "b < 1 ? 1 : (b % 2 != 0 ? a : 1) * integer_power(a * a, (b - b % 2) / 2)"),
}
BINARY = {"power", "hypot", "arctan2", "maximum", "minimum", "remainder", "floor_divide", "logaddexp"}
# Of x at j and at i: does the first come earlier in sorted order, in which a nan is last and equals keep their order?
EARLIER = "({0} < {1} || ({1} != {1} && {0} == {0})) || ({2} < {3} && !({1} < {0} || ({0} != {0} && {1} == {1})))"


@lru_cache(maxsize=4096)
def loop_types(op: str, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dtypes that NumPy computes in: those of the operands, then that of the result."""
    if op == "where":
        like = [np.ones((), kind) if isinstance(kind, np.dtype) else kind(1) for kind in kinds[1:]]
        return BOOL, *[np.result_type(*like)] * 3
    if op == "clip":
        return (np.result_type(*(np.ones((), k) if isinstance(k, np.dtype) else k(1) for k in kinds)),) * 4
    if all(kind is float or kind is int for kind in kinds):
        kinds = (DOUBLE,) * len(kinds)
    return getattr(np, op).resolve_dtypes((*kinds, None))


def form_of(op: str, dtype: Any) -> str:
    """The text of an operation on this dtype, with a place for each operand."""
    own = OF_BOOLS if dtype.kind == "b" else OF_INTS if dtype.kind in "iu" else {}
    if form := own.get(op) or SIGNS.get(op):
        return form
    return f"{FUNCTIONS.get(op, op)}({'{}, {}' if op in BINARY else '{}'})"


@lru_cache
def name_of(dtype: Any) -> str:
    """Its name, which NumPy takes long to find."""
    return dtype.name


class C:
    """How C says it."""

    loop = "for (int {0} = 0; {0} < {1}; {0}++)"
    single = "f"  # the end of a float32
    stop: tuple[str, ...] = ("if (fault) return failed(at);",)  # what follows when an index was wrong
    own: dict[str, tuple[str, str]] = OWN

    def order(self, x: Symbol) -> Any:
        """The order of an input's elements in memory, as NumPy names it."""
        return "F" if x.named == BY_COLUMNS else "C"

    def type(self, dtype: Any) -> str:
        name = name_of(dtype)
        return {"float64": "double", "float32": "float", "bool": "bool"}.get(name, f"{name}_t")

    def variable(self, name: str, dtype: Any, text: str, constant: str = "const ") -> str:
        """The statement that introduces a name."""
        return f"{constant}{self.type(dtype)} {name} = {text};"

    def filled(self, name: str, size: int, number: str) -> list[str]:
        """The statements that set all of an array to a number."""
        return [self.loop.format("i", size), f"    {name}[i] = {number};"]

    def cast(self, text: str, dtype: Any) -> str:
        return f"({self.type(dtype)}){text}"

    def rounded(self, text: str, dtype: Any) -> str:
        """A result as its dtype, which an assignment does in C."""
        return text

    def number(self, x: Any, dtype: Any) -> str:
        """A number as text."""
        if dtype.kind == "f":
            x = float(x)
            if dtype == np.float32 and math.isfinite(x):
                return f"{float(np.float32(x))!r}{self.single}"
            return repr(x) if math.isfinite(x) else "NAN" if x != x else "INFINITY" if x > 0 else "-INFINITY"
        return f"{int(x)}{'' if abs(int(x)) < 2**31 else 'LL' if int(x) < 2**63 else 'ULL'}"

    def function(self, name: str, parameters: Sequence[str], result: str) -> str:
        """A function that returns this expression."""
        kind = "int64_t" if name.startswith("integer") else "double"
        return f"static inline {kind} {name}({', '.join(f'{kind} {x}' for x in parameters)}) {{ return {result}; }}"

    def array(self, name: str, dtype: Any, content: int | Sequence[str]) -> str:
        """An array of zeros, or of these numbers."""
        if isinstance(content, int):
            return f"static {self.type(dtype)} {name}[{content or 1}];"
        return f"static const {self.type(dtype)} {name}[] = {{{', '.join(content)}}};"


class Loops:
    """The loops of a program: `body` are its lines, `arrays` what they need.

    Inputs and constants, `constants`, are read by name, as are the arrays for the outputs, `outputs`. `checks` describe
    the indices that the program checks, by number.
    """

    def __init__(self, program: Lowered, language: Any = None):
        self.program = program
        self.language: Any = language or C()
        self.loops: list[Loop] = []
        self.made: dict[str, tuple[int, bool]] = {}  # the loop that makes an array, and True for a value of each turn
        self.read: dict[str, int] = {}  # the last loop that reads it
        self.local: set[tuple[str, Loop]] = set()  # values, and loops that read them as they are made
        self.views: dict[Symbol, View] = {}
        self.own: dict[Symbol, str] = {}  # the array that a step makes
        self.origins: dict[int, np.ndarray] = {}
        self.sizes: dict[str, int] = {}
        self.stored: dict[str, Any] = {}  # arrays, with their dtypes
        self.sums: dict[str, Any] = {}  # numbers that are added to
        self.constants: dict[str, np.ndarray] = {}
        self.tables: dict[str, str] = {}
        self.checks: list[str] = []
        self.checked: bool = False
        self.news: dict[Symbol, str] = {}  # new values of numbers
        self.known: dict[Any, tuple[str, np.ndarray]] = {}  # constants, with their names
        self.uses: Counter[Symbol] = Counter(
            symbols_in([*(x.args for x in program.steps), program.outputs, program.updates])
        )
        self.inputs: dict[Symbol, str] = {}
        self.outputs: dict[Symbol, str] = {
            x: f"out{i}" for i, x in enumerate(dict.fromkeys(symbols_in(program.outputs)))
        }
        for x in program.steps:
            self.views[x] = self._input(x) if x.op == "input" else self._step(x)
        news = [(x, self._operand(new, x.shape or ())) for x, new in program.updates]
        names = {*self.inputs.values()}  # these are written to: what is new is read before
        news = [(x, self._stored(new) if isinstance(new, View) and new.name in names else new) for x, new in news]
        for x, name in [*self.outputs.items()]:
            if self.views[x].name != name:
                self._into(self._array(name, x.shape or (), self.views[x].dtype), [self.views[x]], "copy")
        self.commits: int = len(self.loops)  # the loops from here on write to inputs, if what they read was checked
        for x, new in news:
            self._update(x, new)

    def _input(self, x: Symbol) -> View:
        name = x.args[0] if PLAIN.fullmatch(x.args[0]) else f"input{len(self.inputs)}"
        name += "_" * (not SHORT.fullmatch(name))
        while name in self.inputs.values():
            name += "_"
        self.inputs[x] = name
        if x.shape is not None:
            self.stored[name] = x.dtype
        at = self._origin(math.prod(x.shape or ())).reshape(x.shape or (), order=self.language.order(x))
        self.sizes[name] = at.size
        return View(name, DOUBLE if x.dtype is None else x.dtype, at)

    def _origin(self, size: int) -> np.ndarray:
        if size not in self.origins:
            self.origins[size] = np.arange(size)
        return self.origins[size]

    # ---- operands

    def _operand(self, x: Any, shape: tuple[int, ...] | None = None) -> Any:
        """A view of this shape, or a number."""
        if x.__class__ is np.ndarray and x.size and is_uniform(x):
            return x.flat[0]
        if x.__class__ is not Symbol and x.__class__ is not np.ndarray:
            return x
        view = self.views[x] if x.__class__ is Symbol else self._constant(x)
        return view if shape is None or view.at.shape == shape else view.moved(lambda at: np.broadcast_to(at, shape))

    def _whole(self, x: Any) -> View:
        """A view of an operand that may be a number or a constant."""
        return self.views[x] if x.__class__ is Symbol else self._constant(np.asarray(x))

    def _constant(self, x: np.ndarray, dtype: Any = None) -> View:
        dtype = dtype or x.dtype
        key = (x.shape, dtype, x.tobytes()) if x.size <= INLINE else id(x)
        if key not in self.known:
            name = f"k{len(self.known) + 1}"
            self.known[key] = name, x
            self.sizes[name], self.stored[name] = x.size, dtype
            if x.size <= INLINE:
                numbers = [self.language.number(number, dtype) for number in x.reshape(-1).tolist() or [0]]
                self.tables[name] = self.language.array(name, dtype, numbers)
            else:
                self.constants[name] = np.ascontiguousarray(x, dtype)
        return View(self.known[key][0], dtype, self._origin(x.size).reshape(x.shape))

    def _plain(self, x: View) -> View:
        """The view, or a copy of its elements if their positions are not evenly spaced."""
        return self._stored(x) if x.through or self._strides(x)[2] is not None else x

    def _stored(self, x: View) -> View:
        """A copy."""
        return self._value(self._new(), x.at.shape, x.dtype, "{}", [(x, x.dtype)], "copy")

    def _new(self) -> str:
        return f"c{len(self.sizes)}"

    # ---- what loops make

    def _value(self, name: str, shape: Any, dtype: Any, form: str, operands: Any, comment: str) -> View:
        """A value for each element."""
        self.sizes[name] = math.prod(shape)
        line = Line(form, operands, f"{comment} {shape or ''}".rstrip(), name, dtype)
        self.made[name] = self._place(shape, line), True
        if name in self.outputs.values():
            self.stored[name] = dtype
        return View(name, dtype, self._origin(self.sizes[name]).reshape(shape))

    def _array(self, name: str, shape: Any, dtype: Any) -> View:
        """An array to be filled."""
        self.sizes[name] = math.prod(shape)
        self.stored[name] = dtype
        return View(name, dtype, self._origin(self.sizes[name]).reshape(shape))

    def _sum(self, name: str, shape: Any, dtype: Any) -> View:
        """An array, or a number, to be added to."""
        view = self._array(name, shape, dtype)
        if view.at.size == 1 and name not in self.outputs.values():
            del self.stored[name]
            self.sums[name] = DOUBLE if dtype == np.float32 else dtype
        return view

    def _into(
        self, target: View, operands: Sequence[Any], comment: Any, how: str = WHOLE, form: str = "{}", **place: Any
    ) -> None:
        """A statement that fills an array; the comment is a step, or a word."""
        pairs = [x if x.__class__ is tuple else (x, target.dtype) for x in operands]
        word, shape = (comment.op, comment.shape) if comment.__class__ is Symbol else (comment, target.at.shape)
        line = Line(form, pairs, f"{word.lstrip('.')} {shape or ''}".rstrip(), into=target, how=how)
        self.made[target.name] = self._place(target.at.shape, line, **place), False

    def _place(self, shape: Any, line: Line, start: Any = None, first: int = 0, alone: bool = False) -> int:
        """Put the line in the first loop over its shape that is late enough; `start` is what it adds to."""
        shape = tuple(n for n in shape if n != 1)
        line = line.over(shape)
        for x in line.reads():
            made, of_turn = self.made.get(x.name, (-1, False))
            first = max(first, made + (not (of_turn and self.loops[made].shape == shape and self._is_all(x))))
        if line.into is not None:
            first = max(first, self.made.get(line.into.name, (-1, False))[0] + 1)
        end = len(self.loops)
        fitting = (i for i in range(first, end) if self.loops[i].shape == shape and not self.loops[i].ordered)
        here = end if alone else next(fitting, end)
        if here == end:
            self.loops.append(Loop(shape, alone))
        loop = self.loops[here]
        for x in line.reads():
            self._keep(x, here, loop)
        if start is not None and line.into is not None:
            loop.before += self._started(line.into, start)
        loop.lines.append(line)
        return here

    def _keep(self, x: View, here: int, loop: Loop) -> None:
        """Have a loop find what it reads: in an array, or as a value of the same turn."""
        self.read[x.name] = max(here, self.read.get(x.name, -1))
        if self.made.get(x.name) == (here, True) or (x.name, loop) in self.local:
            self.local.add((x.name, loop))
        elif x.name in self.made and self.sizes[x.name] != 1 and x.name not in self.stored:
            self.stored[x.name] = x.dtype

    def _started(self, x: View, start: Any) -> list[str]:
        """The statements that set what will be added to."""
        if x.name in self.sums:
            return [self.language.variable(x.name, self.sums[x.name], self.language.number(start, x.dtype), "")]
        return self.language.filled(x.name, self.sizes[x.name], self.language.number(start, x.dtype))

    def _is_all(self, x: View) -> bool:
        """True if it is the whole array, in order."""
        return not x.through and x.at.size == self.sizes[x.name] and x.at.flags.c_contiguous and self._is_regular(x)

    def _is_regular(self, x: View) -> bool:
        """True if NumPy made the positions without a copy, so that their strides are those of the elements."""
        origin = self.origins.get(self.sizes.get(x.name, -1))
        return origin is not None and (x.at.base is origin or x.at is origin)

    def _strides(self, x: View) -> tuple[int, list[int], np.ndarray | None]:
        """Where the elements are: an offset and strides, and a table for the axes that are not evenly spaced."""
        at = x.at
        if not at.size:
            return 0, [0] * at.ndim, None
        if self._is_regular(x):
            strides = [s // at.itemsize if n > 1 else 0 for n, s in zip(at.shape, at.strides, strict=True)]
            return int(at[(0,) * at.ndim]), strides, None
        strides = [0] * at.ndim
        for d in range(at.ndim):
            head = at.take([0, 1], d, mode="clip")
            step = head.take([1], d) - head.take([0], d)
            if (step == step.flat[0]).all() and (at.strides[d] == 0 or (np.diff(at, axis=d) == step.flat[0]).all()):
                strides[d], at = int(step.flat[0]), at.take([0], d)
        return (int(at.flat[0]), strides, None) if at.size == 1 else (0, strides, at)

    # ---- steps

    def _step(self, x: Symbol) -> View:
        name = self.outputs[x] if x in self.outputs and x.shape and x.size != 1 else self.program.names[x]
        if x.op in MOVES:
            return MOVES[x.op](self, x, *x.args, **dict(x.named))
        self.own[x] = name
        if x.op in STEPS:
            return STEPS[x.op](self, name, x, *x.args, **dict(x.named))
        return self._elementwise(name, x)

    def _elementwise(self, name: str, x: Symbol) -> View:
        op, args, shape = x.op, x.args, x.shape or ()
        limits = zip(("maximum", "minimum"), args[1:], strict=True) if op == "clip" else ()
        bounds = [(f, b) for f, b in limits if b is not None]
        if op == "clip":
            args = (args[0], *(b for _, b in bounds))
        operands = [self._operand(a, shape) for a in args]
        *kinds, dtype = loop_types(op, tuple(map(_kind, args)))
        form = "{0}" if op == "clip" else form_of(op, kinds[0])
        for i, (f, _) in enumerate(bounds, 1):
            form = form_of(f, dtype).format(form if i == 1 else f"({form})", f"{{{i}}}")
        pairs = [*zip(operands, kinds[: len(operands)], strict=True)]
        return self._value(name, shape, dtype if x.dtype is None else x.dtype, form, pairs, op)

    def _reduced(self, name: str, x: Symbol, a: Any, axis: Any, op: str) -> View:
        """The sum, or the maximum or minimum, of the elements along axes."""
        view = self._whole(a)
        kept = tuple(1 if i in axes_of(a, axis) else n for i, n in enumerate(view.at.shape))
        limits = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        least, most = (limits.min, limits.max) if limits else (0, 1) if x.dtype == BOOL else (-math.inf, math.inf)
        how = ADDED if op == "sum" else "{0} = " + form_of(op, x.dtype).format("{0}", "{1}") + ";"
        out = self._sum(name, x.shape, x.dtype)
        target = out.moved(lambda at: np.broadcast_to(at.reshape(kept), view.at.shape))
        self._into(target, [view], x, how, start={"sum": 0, "maximum": least, "minimum": most}[op])
        return out

    def _mean(self, name: str, x: Symbol, a: Any, axis: Any = None, keepdims: bool = False) -> View:
        total, n = self._reduced(self._new(), x, a, axis, "sum"), math.prod(a.shape[i] for i in axes_of(a, axis))
        return self._value(name, x.shape, x.dtype, "{} / {}", [(total, x.dtype), (n, x.dtype)], "mean")

    def _product(self, name: str, x: Symbol, terms: Sequence[tuple[Any, Sequence[Any]]], output: Sequence[Any]) -> View:
        """A sum of products: axes of the operands with the same letter are one, and those not in the output summed."""
        letters = list(dict.fromkeys([*output, *(letter for _, part in terms for letter in part)]))
        views = [(self._plain(self._whole(a)), part) for a, part in terms]
        sizes = dict.fromkeys(letters, 1)
        for view, part in views:
            sizes |= {letter: n for letter, n in zip(part, view.at.shape, strict=True) if n != 1}
        shape = tuple(sizes[letter] for letter in letters)
        if output and sizes[output[-1]] > 3:
            views = [self._inner_last(view, part, output[-1], math.prod(shape)) for view, part in views]

        def spread(at: np.ndarray, part: Sequence[Any]) -> np.ndarray:
            own = [letter for letter in letters if letter in part]
            at = np.einsum(at, [*map(letters.index, part)], [*map(letters.index, own)])  # a letter twice: the diagonal
            return np.broadcast_to(at[tuple(slice(None) if letter in own else None for letter in letters)], shape)

        operands = [view.moved(lambda at, part=part: spread(at, part)) for view, part in views]
        form = " * ".join(["{}"] * len(operands))
        if math.prod(shape) == x.size:  # there is nothing to sum
            pairs = [(view.moved(lambda at: at.reshape(x.shape)), x.dtype) for view in operands]
            return self._value(name, x.shape, x.dtype, form, pairs, x.op)
        out = self._sum(name, x.shape, x.dtype)
        target = out.moved(lambda at: spread(at, output))
        self._into(target, operands, x, ADDED, form, start=0)
        return out

    def _inner_last(self, x: View, part: Sequence[Any], inner: Any, turns: int) -> tuple[View, Sequence[Any]]:
        """The operand, or a copy in which the elements that the innermost loop reads are side by side."""
        if part.count(inner) != 1 or self._strides(x)[1][part.index(inner)] in (0, 1) or turns < 4 * x.at.size:
            return x, part
        d = part.index(inner)
        return self._stored(x.moved(lambda at: np.moveaxis(at, d, -1))), [*part[:d], *part[d + 1 :], inner]

    def _indexed(self, x: View, index: Any) -> View:
        """x[index], where the index may hold Symbols: what they add to the positions is read through them."""
        parts = index if index.__class__ is tuple else (index,)
        shape, symbols = x.at.shape, symbols_in(parts)
        if not symbols:
            return x.moved(lambda at: at[index])
        x, self.checked = self._plain(x), True
        _, strides, _ = self._strides(x)
        zeros = [np.zeros(p.shape, int) if p.__class__ is Symbol else p for p in parts]
        at: Any = None if 0 in shape else x.at[tuple(zeros)]
        through, axis, which = [], 0, at
        for k, part in enumerate(parts):
            if part is ...:
                axis = len(shape) - sum(_axes(p) for p in parts[k + 1 :])
            if part.__class__ is Symbol:
                n = math.prod(part.shape)
                wide = tuple(n if d == axis else m for d, m in enumerate(shape))
                numbers = np.broadcast_to(
                    np.arange(n).reshape([-1 if d == axis else 1 for d in range(len(shape))]), wide
                )
                which = numbers[(*zeros[:k], np.arange(n).reshape(part.shape), *zeros[k + 1 :])]
                through.append(
                    (strides[axis], shape[axis], self.views[part].moved(lambda at, w=which: at.reshape(-1)[w]))
                )
            axis += _axes(part) if part is not ... else 0
        return View(x.name, x.dtype, at if at is not None else np.zeros(which.shape, int), tuple(through))

    def _placed(
        self, name: str, x: Symbol, a: Any, target: Callable[[View], View], how: str = ADDED, **place: Any
    ) -> View:
        """a, added to zeros at the elements that `target` takes."""
        out = self._array(name, x.shape, x.dtype)
        into = target(out)
        self._into(into, [self._operand(a, into.at.shape)], x, how, start=0, **place)
        return out

    def _changed(self, name: str, x: Symbol, old: Any, index: Any, a: Any, how: str) -> View:
        """A copy of an array with a added, or set, at the index; in place if nothing else reads the array."""
        mine = old.__class__ is Symbol and self.own.get(old) == self.views[old].name and self.uses[old] == 1
        if mine and self.views[old].name not in self.outputs.values() and x.size != 1:
            out = self.views[old]
            self.own[x] = out.name
            self.stored[out.name] = x.dtype
            self.made[out.name] = self.made[out.name][0], False
        else:
            out = self._array(name, x.shape, x.dtype)
            self._into(out, [self._operand(old, x.shape)], "copy")
        into = self._indexed(out, index)
        self._into(into, [self._operand(a, into.at.shape)], x, how, alone=how == WHOLE)
        return out

    def _ranks(self, name: str, x: Symbol, a: Any, axis: int, sort: bool) -> View:
        """sort and argsort: an element goes where the count of those before it says."""
        view = self._plain(self._operand(a)).moved(lambda at: np.moveaxis(at, axis, -1))
        shape, n = view.at.shape, view.at.shape[-1]
        rank = self._array(self._new(), shape, INT)
        square = (*shape, n)
        order = View("", INT, np.broadcast_to(np.arange(n), shape))
        across, down = (
            (lambda at: np.broadcast_to(at[..., None, :], square)),
            (lambda at: np.broadcast_to(at[..., None], square)),
        )
        pairs = [(x.moved(how), x.dtype) for x in (view, order) for how in (across, down)]
        self._into(rank.moved(down), pairs, "rank", ADDED, EARLIER, start=0)
        out = self._array(name, x.shape, x.dtype)
        ends = np.moveaxis(out.at, axis, -1)
        start = View(name, x.dtype, np.broadcast_to(ends[..., :1], shape), ((ends.strides[-1] // 8, None, rank),))
        self._into(start, [view if sort else order], x)
        return out

    def _joined(self, name: str, x: Symbol, parts: Any, axis: int = 0) -> View:
        out, begin = self._array(name, x.shape, x.dtype), 0
        for part in parts:
            end = begin + part.shape[axis]
            here = (slice(None),) * (axis % x.ndim) + (slice(begin, end),)
            into = out.moved(lambda at, here=here: at[here])
            self._into(into, [self._operand(part, into.at.shape)], x)
            begin = end
        return out

    def _cumulated(self, name: str, x: Symbol, a: Any, axis: int) -> View:
        out = self._array(name, x.shape, x.dtype)
        self._into(out, [self._operand(a, x.shape)], "copy")
        later, before = (
            out.moved(lambda at, s=s: np.moveaxis(np.moveaxis(at, axis, 0)[s], 0, axis))
            for s in (slice(1, None), slice(-1))
        )
        self._into(later, [before], x, ADDED, alone=True)
        return out

    def _update(self, x: Symbol, new: Any) -> None:
        """Write the new value of an input, after all that reads the old one."""
        target = self.views[x]
        if x.shape is None:
            self.news[x] = f"new{len(self.news)}"
            self._into(self._array(self.news[x], (), DOUBLE), [new], "new", first=self.checked * self.commits)
            return
        last, shape = self.read.get(target.name, -1), tuple(n for n in x.shape if n != 1)
        first = self.commits if self.checked else last + 1
        if last >= 0 and not self.checked and self.loops[last].shape == shape:
            views = [y for line in self.loops[last].lines for y in line.reads() if y.name == target.name]
            first = last if all(np.array_equal(y.at, target.at.reshape(shape)) for y in views) else first
        self._into(target, [new], "update", first=first)

    # ---- text

    def body(self) -> list[str]:
        """The statements."""
        texts = [[*loop.before, *self._text(loop)] for loop in self.loops]
        if self.checked:
            texts.insert(self.commits, [*self.language.stop])
        return [line for text in texts for line in text]

    def functions(self, text: str, known: set[str]) -> Iterator[str]:
        """The functions of our own that a text calls, each after those that it calls."""
        for name, (parameters, result) in self.language.own.items():
            if name in known or f"{name}(" not in text or not re.search(rf"\b{name}\(", text):
                continue
            known.add(name)
            yield from self.functions(result, known)
            yield self.language.function(name, parameters.split(), result)

    def arrays(self) -> list[str]:
        """The arrays that the statements need."""
        given = (self.inputs.values(), self.constants, self.tables, self.outputs.values(), self.news.values())
        own = self.stored.keys() - set().union(*given)
        made = [self.language.array(name, x, self.sizes[name]) for name, x in self.stored.items() if name in own]
        return [*self.tables.values(), *made]

    def _text(self, loop: Loop) -> Iterator[str]:
        """A loop over each axis; those that every array has side by side in memory are one."""
        if 0 in loop.shape:
            return
        lines = [self._into_array(line, loop) for line in loop.lines if self._is_needed(line, loop)]
        places = {
            id(x): self._address(x) for line in lines for x in line.views() if x.name in self.stored or not x.name
        }
        vectors = [vector for _, *pairs in places.values() for vector, _ in pairs]
        order, axes = [*range(len(loop.shape))], []
        if not loop.ordered:
            order.sort(key=lambda d: -sum(abs(vector[d]) for vector in vectors))
        for d in order:
            n = loop.shape[d]
            if axes and all(vector[axes[-1][0]] == vector[d] * n for vector in vectors):
                axes[-1] = d, n * axes[-1][1]
            else:
                axes.append((d, n))
        names = {d: "ijklmn"[i] if i < 6 else f"n{i}" for i, (d, _) in enumerate(axes)}
        brace = len(lines) > 1 and bool(axes)
        for i, (d, n) in enumerate(axes):
            yield "    " * i + self.language.loop.format(names[d], n) + " {" * (brace and i == len(axes) - 1)
        for line in lines:
            yield "    " * len(axes) + self._line(line, places, names)
        if brace:
            yield "    " * (len(axes) - 1) + "}"

    def _is_needed(self, line: Line, loop: Loop) -> bool:
        return not line.name or line.name in self.stored or (line.name, loop) in self.local or not loop.shape

    def _into_array(self, line: Line, loop: Loop) -> Line:
        """The statement; if its value is stored, as one that goes there."""
        if line.name not in self.stored:
            return line
        at = self._origin(math.prod(loop.shape)).reshape(loop.shape)
        return line._replace(into=View(line.name, line.dtype, at))

    def _address(self, x: View) -> tuple[Any, ...]:
        """An offset, and pairs: strides, and the name of what they are an index into, "" for the array itself."""
        offset, strides, table = self._strides(x)
        if table is None:
            return offset, (strides, "")
        inner = [math.prod(table.shape[d + 1 :]) if n > 1 else 0 for d, n in enumerate(table.shape)]
        return offset, (strides, ""), (inner, self._constant(table.reshape(-1), np.dtype(np.int32)).name)

    def _index(self, x: View, places: Any, names: Any) -> str:
        offset, (strides, _), *tables = places[id(x)]
        terms = _terms(strides, names)
        terms += [f"{name}[{_sum_of(_terms(inner, names))}]" for inner, name in tables]
        for stride, size, index in x.through:
            inner = self._element(index, INT, places, names)
            if size is not None:
                self.checks.append(f"found the index {{}}, which is out of bounds for an axis of {size} elements")
                inner = f"within({inner}, {size}, {len(self.checks)})"
            terms.append(inner if stride == 1 else f"{stride} * {inner}")
        return _sum_of([*([str(offset)] if offset else []), *terms])

    def _element(self, x: Any, dtype: Any, places: Any, names: Any) -> str:
        """The text of an operand, as this dtype."""
        if x.__class__ is not View:
            text = self.language.number(x, dtype)
            return f"({text})" if text[0] == "-" else text
        text = self._written(x, places, names) if x.name else f"({self._index(x, places, names)})"
        kind = self.sums.get(x.name, x.dtype)
        text = self.language.cast(text, x.dtype) if kind != x.dtype and dtype == x.dtype else text
        return text if kind == dtype or x.dtype == dtype else self.language.cast(text, dtype)

    def _line(self, line: Line, places: Any, names: Any) -> str:
        text = line.form.format(*(self._element(x, dtype, places, names) for x, dtype in line.operands))
        if line.into is None:
            text = self.language.variable(line.name, line.dtype, self.language.rounded(text, line.dtype))
        else:
            text = self.language.rounded(text, line.into.dtype)
            text = line.how.format(self._written(line.into, places, names), text)
        return f"{text}  // {line.comment}"

    def _written(self, x: View, places: Any, names: Any) -> str:
        return f"{x.name}[{self._index(x, places, names)}]" if x.name in self.stored else x.name


# ---------------------------------------------------------------------------------------------------------------------
# Small things, and the table of the steps that are not elementwise


def _kind(x: Any) -> Any:
    """The dtype of an operand, or the type of a number."""
    if x.__class__ is Symbol:
        return float if x.dtype is None else x.dtype
    return getattr(x, "dtype", BOOL if x.__class__ is bool else x.__class__)


def _terms(strides: Sequence[int], names: Any) -> list[str]:
    """The products of loop variables and strides."""
    pairs = ((names[d], stride) for d, stride in enumerate(strides) if stride and d in names)
    return [name if stride == 1 else f"{stride} * {name}" for name, stride in sorted(pairs)]


def _sum_of(terms: Sequence[str]) -> str:
    return " + ".join(terms).replace("+ -", "- ") or "0"


def _axes(part: Any) -> int:
    """The number of axes that a part of an index takes."""
    return 0 if part is None else part.ndim if getattr(part, "dtype", None) == BOOL else 1


def _along(a: Any, index: Any, axis: int) -> tuple[Any, ...]:
    """The index of `take_along_axis` as one of brackets."""
    shape, axis = a.shape, axis % len(a.shape)
    grid = [np.arange(n).reshape([-1 if d == e else 1 for e in range(len(shape))]) for d, n in enumerate(index.shape)]
    return tuple(index if d == axis else part for d, part in enumerate(grid))


def _matmul(self: Loops, name: str, x: Symbol, a: Any, b: Any, *_: Any) -> View:
    left = [*range(-a.ndim, -2), *["n"] * (a.ndim > 1), "k"]
    right = [*range(-b.ndim, -2), "k", *["m"] * (b.ndim > 1)]
    most = max(a.ndim, b.ndim)
    return self._product(
        name, x, [(a, left), (b, right)], [*range(-most, -2), *left[-2:-1], *right[-1:] * (b.ndim > 1)]
    )


def _einsum(self: Loops, name: str, x: Symbol, letters: Any, output: Any, *operands: Any) -> View:
    return self._product(name, x, [*zip(operands, letters, strict=True)], output)


def _take(self: Loops, x: Symbol, a: Any, index: Any, axis: int | None = None, **_: Any) -> View:
    view = self._whole(a)
    if axis is None:
        view, axis = view.moved(lambda at: at.reshape(-1)), 0
    return self._indexed(view, (*[slice(None)] * (axis % view.at.ndim), index))


MOVES: dict[str, Callable[..., View]] = {  # of positions
    "getitem": lambda self, x, a, index: self._indexed(self._whole(a), index),
    "take": _take,
    "take_along_axis": lambda self, x, a, index, axis: self._indexed(self._whole(a), _along(a, index, axis)),
    "broadcast_to": lambda self, x, a, *_: self._whole(a).moved(lambda at: np.broadcast_to(at, x.shape)),
    ".transpose": lambda self, x, a, *order: self._whole(a).moved(lambda at: at.transpose(*order)),
    "windows": lambda self, x, a, *how: self._whole(a).moved(lambda at: library.windows(at, *how)),
}
MOVES |= dict.fromkeys(
    (".reshape", "squeeze", ".item"),
    lambda self, x, a, *_, **__: self._whole(a).moved(lambda at: at.reshape(x.shape or ())),
)
STEPS: dict[str, Callable[..., View]] = {
    ".sum": lambda self, name, x, a, axis=None, keepdims=False: self._reduced(name, x, a, axis, "sum"),
    ".max": lambda self, name, x, a, axis=None, keepdims=False: self._reduced(name, x, a, axis, "maximum"),
    ".min": lambda self, name, x, a, axis=None, keepdims=False: self._reduced(name, x, a, axis, "minimum"),
    ".mean": Loops._mean,
    ".cumsum": Loops._cumulated,
    ".astype": lambda self, name, x, a, *_, **__: self._value(
        name, x.shape, x.dtype, "{}", [(self._operand(a, x.shape), x.dtype)], "astype"
    ),
    "matmul": _matmul,
    "matmul_like": _matmul,
    "dot": _matmul,
    "einsum_of": _einsum,
    "concatenate": Loops._joined,
    "sort": lambda self, name, x, a, axis=-1, *_: self._ranks(name, x, a, axis, True),
    "argsort": lambda self, name, x, a, axis=-1, *_: self._ranks(name, x, a, axis, False),
    "accumulate": lambda self, name, x, total, a, index: self._changed(name, x, total, index, a, ADDED),
    "setitem": lambda self, name, x, old, index, a: self._changed(name, x, old, index, a, WHOLE),
    "scatter": lambda self, name, x, a, index, _: self._placed(name, x, a, lambda out: self._indexed(out, index)),
    "scatter_along_axis": lambda self, name, x, a, index, axis, _: self._placed(
        name, x, a, lambda out: self._indexed(out, _along(x, index, axis))
    ),
    "placed": lambda self, name, x, a, plan, _: self._placed(name, x, a, lambda out: self._indexed(out, plan[0])),
    "windows_back": lambda self, name, x, a, *how: self._placed(
        name, x, a, lambda out: out.moved(lambda at: library.windows(at, *how[:-1]))
    ),
}
LOOPED = {*MOVES, *STEPS, *ELEMENTWISE, "clip"}


def unlooped(program: Lowered) -> str:
    """Why the program cannot be written as loops."""
    for x in program.steps:
        if x.op != "input" and x.op not in LOOPED:
            return f"has no {x.op}: use numpy"
        if x.dtype is not None and (x.dtype.kind not in "fiub" or x.dtype.itemsize > 8 or x.dtype == np.float16):
            return f"has no {x.dtype}: use numpy"
        if x.op == "power" and x.dtype is not None and x.dtype.kind in "iu" and x.args[1].__class__ is not int:
            return "has no powers of integers but those with a constant exponent: use numpy"
    return ""
