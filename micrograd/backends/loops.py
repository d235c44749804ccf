"""A lowered program as loops, in C or in JavaScript: one emitter, and the forms of two languages (see `wording`).

    views       A view is an array of positions. NumPy itself applies `reshape`, `[...]` or `transpose` to it, and the
                result says which elements of the program's array are read, or written to.
    lines       A step only sets elements of an array, or adds to them. A sum adds to one element many times, and so
                does a product of matrices, while `concatenate` sets one region of the array after another.
    loops       A line joins the first loop over its shape that runs after the loops which write what the line reads. If
                an array is read only in the turn that sets the element, it becomes a variable.

>>> from ..compiler.graph import Graph
>>> x = Graph().input("x", (4, 3), np.dtype(float))
>>> print("\\n".join(Loops(Lowered(("x",), (), (np.exp(x.transpose((1, 0))) * 2.0).sum(1))).body()))
for (int i = 0; i < 3; i++) out0[i] = 0.0;
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
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..compiler.lowered import ELEMENTWISE, Lowered, Symbol, axes_of, is_uniform, leaves, library, symbols_in
from .wording import BOOL, DOUBLE, INT, C, dtype_of, limits_of, loop_types

SET, ADDED = "{} = {};".format, "{} += {};".format  # how a line writes; the language has its own form of the second
COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
# A user's name gets a final _, with which no keyword, function or macro of the languages ends, nor a name of our own.
# Letters, with or without a number, stay as they are, except for those that we use.
PLAIN, SHORT = re.compile("[A-Za-z][A-Za-z0-9_]{0,40}"), re.compile("[abd-hp-suvw-zA-HJ-Z][0-9]*")


@dataclass(eq=False)
class Array:
    """An array of the program's own, or one that it is called with. If it is not `stored`, it is a variable."""

    name: str
    origin: np.ndarray  # the positions of its elements: 0, 1, ...
    dtype: Any
    stored: bool
    maker: Any = None  # the step whose result it is
    written: int = -1  # the last loop that writes to it
    by_turns: bool = False  # True if each turn of that loop sets an element, in order
    reads: list[tuple[int, View]] = field(default_factory=list)  # a loop, and what it reads


class View(NamedTuple):
    """The elements of an array at these positions, plus `stride * index` for each index that is read `through` it."""

    array: Array
    at: np.ndarray
    # The stride, the size of the axis (None if the index needs no check), and the index
    through: tuple[tuple[int, int | None, View], ...] = ()

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def moved(self, how: Callable[[np.ndarray], np.ndarray]) -> View:
        """The elements as `how` arranges an array of positions."""
        through = self.through and tuple([(stride, size, index.moved(how)) for stride, size, index in self.through])
        return View(self.array, how(self.at), through)

    def all(self) -> list[View]:
        """This view, and those of the indices."""
        return [self, *(x for *_, index in self.through for x in index.all())]

    def is_regular(self) -> bool:
        """True if the positions are NumPy's view of the origin, so that their strides are those of the elements."""
        return self.at.base is self.array.origin or self.at is self.array.origin

    def is_all(self) -> bool:
        """True if the view has all elements of the array, in order."""
        regular = not self.through and self.at.size == self.array.origin.size and self.is_regular()
        return regular and self.at.flags.c_contiguous


class Line(NamedTuple):
    """A statement of a loop: the result of `form` on the operands, each with its dtype, goes `into` these elements.

    `how` makes the statement from the texts of the element and of the result. The array is filled with `start` before
    the loop.
    """

    form: str
    operands: Sequence[tuple[Any, Any]]
    comment: str
    into: View
    how: Callable[[str, str], str]
    start: Any

    def reads(self) -> list[View]:
        """The views that the line reads."""
        views = [x for operand, _ in self.operands if operand.__class__ is View for x in operand.all()]
        return views + self.into.all()[1:]

    def over(self, shape: tuple[int, ...]) -> Line:
        """The same line in a loop over this shape."""
        spread = lambda x: x.moved(lambda at: at.reshape(shape)) if x.__class__ is View else x  # noqa: E731
        return self._replace(operands=[(spread(x), dtype) for x, dtype in self.operands], into=spread(self.into))


@dataclass(eq=False)
class Loop:
    """The lines over one shape. A loop that is `ordered` keeps the order of its axes."""

    shape: tuple[int, ...]
    ordered: bool = False
    lines: list[Line] = field(default_factory=list)


class Loops:
    """The loops of a program: `body` has their statements, and `arrays` declares the arrays that they need.

    The caller declares `inputs`, `constants`, `outputs` and `news`, the new values of numbers, which the statements use
    by their names. `checks` has the error message of each index that is checked, by number.
    """

    def __init__(self, program: Lowered, language: Any = None):
        self.program = program
        self.language: Any = language or C()
        self.loops: list[Loop] = []
        self.views: dict[Symbol, View] = {}
        self.all_arrays: list[Array] = []
        self.origins: dict[int, np.ndarray] = {}
        self.constants: dict[Any, tuple[Array, np.ndarray]] = {}
        self.checks: list[str] = []
        self.checked: bool = False
        self.first: int = 0  # the first loop that a new line may join
        self.news: dict[Symbol, Array] = {}
        self.uses: Counter[Symbol] = Counter(
            symbols_in([*(x.args for x in program.steps), program.outputs, program.updates])
        )
        self.inputs: dict[Symbol, Array] = {}
        self.outputs: dict[Symbol, Any] = dict.fromkeys(symbols_in(program.outputs))
        for x in program.steps:
            self.views[x] = self._input(x) if x.op == "input" else self._step(x)
        news = [(x, self._operand(new, x.shape or ())) for x, new in program.updates]
        inputs = {*self.inputs.values()}  # an update writes to these, so a new value that is read there is copied first
        news = [(x, self._copied(new) if isinstance(new, View) and new.array in inputs else new) for x, new in news]
        for i, x in enumerate(self.outputs):
            array = self._alone(self.views[x]).array
            self.outputs[x], array.name, array.stored = array, f"out{i}", True
        if self.checked or (self.language.stops and any(map(_is_wide, program.steps))):
            self.first = len(self.loops)  # updates begin after all checks
        for x, new in news:
            target, word = self.views[x], "update"
            if x.shape is None:
                target, word = self._array((), DOUBLE, f"new{len(self.news)}"), "new"
                self.news[x] = target.array
            self._put(target, [new], word)

    # ---- arrays and operands

    def _array(self, shape: tuple[int, ...], dtype: Any, name: str = "") -> View:
        """A new array. An array with a name is stored; another array only if a line needs that."""
        size = math.prod(shape)
        if size not in self.origins:
            self.origins[size] = np.arange(size)
        self.all_arrays.append(Array(name or f"c{len(self.all_arrays) + 1}", self.origins[size], dtype, bool(name)))
        return View(self.all_arrays[-1], self.origins[size].reshape(shape))

    def _input(self, x: Symbol) -> View:
        name = x.args[0] if PLAIN.fullmatch(x.args[0]) else f"input{len(self.inputs)}"
        name += "_" * (not SHORT.fullmatch(name))
        while name in [array.name for array in self.inputs.values()]:
            name += "_"
        view = self._array((math.prod(x.shape or ()),), x.dtype or DOUBLE, name)
        self.inputs[x], view.array.stored = view.array, x.shape is not None
        return view.moved(lambda at: at.reshape(x.shape or (), order=self.language.order(x)))

    def _constant(self, x: np.ndarray, dtype: Any = None) -> View:
        x = np.ascontiguousarray(x, dtype).reshape(x.shape)
        key = x.shape, x.dtype, x.tobytes()
        if key not in self.constants:
            self.constants[key] = self._array(x.shape, x.dtype, f"k{len(self.constants) + 1}").array, x
        array, _ = self.constants[key]
        return View(array, array.origin.reshape(x.shape))

    def _whole(self, x: Any) -> View:
        """A view of an operand that may be a number or a constant."""
        if x.__class__ is Symbol or x.__class__ is View:
            return self.views[x] if x.__class__ is Symbol else x
        if np.size(x) > 1 and is_uniform(x):
            return self._constant(x.flat[:1]).moved(lambda at: np.broadcast_to(at, x.shape))
        return self._constant(np.asarray(x))

    def _operand(self, x: Any, shape: tuple[int, ...]) -> Any:
        """A view of this shape; or a number, also for an array of equal numbers."""
        if x.__class__ is np.ndarray and x.size and is_uniform(x):
            return x.flat[0]
        if x.__class__ not in (Symbol, np.ndarray, View):
            return x
        view = self._whole(x)
        return view if view.at.shape == shape else view.moved(lambda at: np.broadcast_to(at, shape))

    def _copied(self, x: View, dtype: Any = None) -> View:
        """A view of a new array with these elements."""
        self._put(out := self._array(x.at.shape, dtype or x.dtype), [x], "copy")
        return out

    def _plain(self, x: View) -> View:
        """The view, or a copy of its elements if their positions are not evenly spaced."""
        return self._copied(x) if x.through or _strides(x)[2] is not None else x

    def _alone(self, x: View) -> View:
        """The view if it has the whole result of a step, which is no output yet; else a copy."""
        is_free = x.array.maker is not None and x.array not in self.outputs.values()
        return x if is_free and x.is_all() and x.at.size != 1 else self._copied(x)

    # ---- lines and loops

    def _put(
        self,
        into: View,
        operands: Sequence[Any],
        comment: Any,
        form: str = "{}",
        how: Callable[[str, str], str] = SET,
        start: Any = None,
    ) -> None:
        """Put a line in the first loop over its shape that is late enough. The comment names a step, or is a word."""
        shape = tuple(n for n in into.at.shape if n != 1)
        pairs = [x if x.__class__ is tuple else (x, into.dtype) for x in operands]
        word, shown = (comment.op, comment.shape) if comment.__class__ is Symbol else (comment, shape)
        line = Line(form, pairs, f"{word.lstrip('.')} {shown or ''}".rstrip(), into, how, start).over(shape)
        array, reads = line.into.array, line.reads()
        after = [x.array.written + (not self._is_of_turn(x, shape)) for x in reads]
        before = [i + (self.loops[i].shape != shape or not np.array_equal(x.at, line.into.at)) for i, x in array.reads]
        first = max(self.first, array.written + 1, *after, *before)
        here = next((i for i in range(first, len(self.loops)) if self.loops[i].shape == shape), len(self.loops))
        if here == len(self.loops):
            self.loops.append(Loop(shape))
        for x in reads:
            x.array.reads.append((here, x))
            x.array.stored |= x.array.origin.size != 1 and x.array.written != here
        may_set_twice = how == SET and (bool(line.into.through) or not line.into.is_regular())
        self.loops[here].ordered |= may_set_twice or any(x.array is array for x in reads)
        self.loops[here].lines.append(line)
        array.stored |= array.written >= 0 or bool(into.through)
        array.written, array.by_turns = here, how == SET and line.into.is_all()

    def _is_of_turn(self, x: View, shape: tuple[int, ...]) -> bool:
        """True if the array is set by a loop over this shape, of which each turn sets the element that it reads."""
        return x.array.by_turns and self.loops[x.array.written].shape == shape and x.is_all()

    # ---- steps

    def _step(self, x: Symbol) -> View:
        how = MOVES.get(x.op) or STEPS.get(x.op)
        view = how(self, x, *x.args, **dict(x.named)) if how else self._elementwise(x, x.op, *x.args)
        if x.op not in MOVES:
            view.array.name = self.program.names[x] if view.array.maker is None else view.array.name
            view.array.maker = x
        return view

    def _elementwise(self, x: Symbol, op: str, *args: Any) -> View:
        args = comparable(*args) if op in COMPARISONS else args
        *dtypes, dtype = loop_types(op, tuple(map(dtype_of, args)))
        out = self._array(x.shape or (), dtype if x.dtype is None else x.dtype)
        operands = [self._operand(a, out.at.shape) for a in args]
        self._put(out, [*zip(operands, dtypes, strict=True)], x, self.language.form(op, dtypes))
        return out

    def _clipped(self, x: Symbol, a: Any, low: Any, high: Any) -> View:
        for op, limit in (("maximum", low), ("minimum", high)):
            a = a if limit is None else self._elementwise(x, op, a, limit)
        return a if a.__class__ is View else self._copied(self._operand(a, x.shape or ()), x.dtype)

    def _reduced(self, x: Symbol, a: Any, axis: Any, op: str) -> View:
        """The sum, maximum or minimum of the elements along axes."""
        kept = [d for d in range(a.ndim) if d not in axes_of(a, axis)]
        if op == "add":
            return self._product(x, [range(a.ndim)], kept, a)
        form = self.language.form(op, [x.dtype])
        how = lambda so_far, element: f"{so_far} = {form.format(so_far, element)};"  # noqa: E731
        return self._product(x, [range(a.ndim)], kept, a, how=how, start=limits_of(x.dtype)[op == "minimum"])

    def _mean(self, x: Symbol, a: Any, axis: Any = None, keepdims: bool = False) -> View:
        n = math.prod(a.shape[i] for i in axes_of(a, axis))
        return self._elementwise(x, "divide", self._reduced(x, a, axis, "add"), n)

    def _product(
        self, x: Symbol, letters: Any, output: Sequence[Any], *operands: Any, how: Any = ADDED, start: Any = 0
    ) -> View:
        """A sum of products, over the axes that are not in the output. Axes with the same letter are one axis.

        A plain sum has one operand. With another `how`, this is a maximum or a minimum.
        """
        order = [*dict.fromkeys([*output, *chain.from_iterable(letters)])]

        def spread(at: np.ndarray, axes: Sequence[Any]) -> np.ndarray:
            """The positions with an axis for each letter; where a letter is there twice, those of the diagonal."""
            own = [letter for letter in order if letter in axes]
            at = np.einsum(at, [*map(order.index, axes)], [*map(order.index, own)])
            return at[tuple(slice(None) if letter in own else None for letter in order)]

        views = [self._whole(a) for a in operands]
        if len(views) > 1 or len({*letters[0]}) < len(letters[0]):
            views = [*map(self._plain, views)]
        views = [view.moved(partial(spread, axes=axes)) for view, axes in zip(views, letters, strict=True)]
        shape = np.broadcast_shapes(*(view.at.shape for view in views))
        if len(views) > 1:
            views = [self._side_by_side(view, len(output) - 1, shape) for view in views]
        pairs = [(view.moved(lambda at: np.broadcast_to(at, shape)), x.dtype) for view in views]
        wide = x.size == 1 and x.dtype == np.float32  # a single number is added up in double precision
        out = self._array(x.shape, DOUBLE if wide else x.dtype)
        into = out.moved(lambda at: np.broadcast_to(spread(at.reshape(shape[: len(output)]), output), shape))
        if math.prod(shape) == x.size:  # nothing to sum
            how, start = SET, None
        self._put(into, pairs, x, self.language.product(x.dtype, len(views)), how, start)
        return self._copied(out, x.dtype) if wide else out

    def _side_by_side(self, x: View, inner: int, shape: tuple[int, ...]) -> View:
        """The operand, or a copy in which the elements that the innermost loop reads are side by side."""
        if inner < 0 or shape[inner] < 4 or _strides(x)[1][inner] in (0, 1) or math.prod(shape) < 4 * x.at.size:
            return x
        return self._copied(x.moved(lambda at: np.moveaxis(at, inner, -1))).moved(lambda at: np.moveaxis(at, -1, inner))

    def _indexed(self, x: View, index: Any) -> View:
        """x[index]. If the index has Symbols, elements are read through these.

        In place of each Symbol, NumPy applies an array that numbers the Symbol's elements. The positions along that
        axis carry the same numbers, as multiples of a scale above all positions, and these are taken out again below.
        """
        parts = [*index] if index.__class__ is tuple else [index]
        if not symbols_in(parts):
            return x.moved(lambda at: at[index])
        x, self.checked = self._plain(x), True
        at, strides, axis, scale = x.at, _strides(x)[1], 0, max(x.array.origin.size, 1)
        read = []
        for k, part in enumerate(parts):
            if part.__class__ is Symbol:
                n = math.prod(part.shape)
                first = at.take([0], axis) if at.shape[axis] else at.sum(axis, keepdims=True)  # 0 for an empty axis
                at = first + scale * np.arange(n).reshape(-1, *[1] * (at.ndim - axis - 1))
                read.append((scale, strides[axis], x.at.shape[axis], self.views[part]))
                parts[k], scale = np.arange(n).reshape(part.shape), scale * max(n, 1)
            axis = at.ndim - sum(map(_axes, parts[k + 1 :])) if part is ... else axis + _axes(part)
        at, through = at[tuple(parts)], []
        for scale, stride, size, view in reversed(read):
            which, at = np.divmod(at, scale)
            through.insert(0, (stride, size, view.moved(lambda at, which=which: at.reshape(-1)[which])))
        return View(x.array, at, tuple(through))

    def _placed(self, x: Symbol, a: Any, target: Callable[[View], View]) -> View:
        """a, added to zeros at the elements that `target` takes."""
        into = target(out := self._array(x.shape, x.dtype))
        self._put(into, [self._operand(a, into.at.shape)], x, how=ADDED, start=0)
        return out

    def _changed(self, x: Symbol, old: Any, index: Any, a: Any, how: Any) -> View:
        """A copy of an array in which a is added, or set, at the index. If nothing else reads the array, it changes."""
        out = self._whole(old)
        if out.array.maker is not old or self.uses[old] > 1 or old in self.outputs:
            out = self._copied(out.moved(lambda at: np.broadcast_to(at, x.shape)), x.dtype)
        into = self._indexed(out, index)
        self._put(into, [self._operand(a, into.at.shape)], x, how=how)
        return out

    def _sorted(self, x: Symbol, a: Any, axis: int = -1, *_: Any) -> View:
        """The elements of each row, read through the row's order."""
        rows = self._rows(a, axis)
        first = np.broadcast_to(rows.at[..., :1], rows.at.shape)
        ordered = View(rows.array, first, ((1, None, self._order(x, rows)),))
        return self._copied(ordered.moved(lambda at: np.moveaxis(at, -1, axis)))

    def _order(self, x: Symbol, a: Any, axis: int = -1, *_: Any) -> View:
        """The order of the elements of each row, which one call finds."""
        rows = self._rows(a, axis)
        n = rows.at.shape[-1]
        order, merged = self._array(rows.at.shape, INT), self._array((n,), INT)
        rows.array.stored = order.array.stored = merged.array.stored = True
        first = lambda at: at[..., :1]  # noqa: E731
        how = partial(self.language.sorted, rows.dtype, n, merged.array.name)
        self._put(order.moved(first), [(rows.moved(first), rows.dtype)], x, how=how)
        return order.moved(lambda at: np.moveaxis(at, -1, axis))

    def _rows(self, a: Any, axis: int) -> View:
        """The elements with this axis last, and in memory in that order."""
        rows = self._whole(a).moved(lambda at: np.moveaxis(at, axis, -1))
        return rows if rows.is_all() else self._copied(rows)

    def _joined(self, x: Symbol, parts: Any, axis: int = 0) -> View:
        out, ends = self._array(x.shape, x.dtype), np.cumsum([part.shape[axis] for part in parts])
        for part, at in zip(parts, np.split(out.at, ends[:-1], axis), strict=True):
            self._put(View(out.array, at), [self._operand(part, at.shape)], x)
        return out

    def _cumulated(self, x: Symbol, a: Any, axis: int) -> View:
        out = self._copied(self._whole(a), x.dtype)
        at = np.moveaxis(np.atleast_1d(out.at), axis, 0)
        self._put(View(out.array, at[1:]), [View(out.array, at[:-1])], x, how=ADDED)
        return out

    # ---- text

    def body(self) -> list[str]:
        """The statements."""
        texts = [[*self._text(loop)] for loop in self.loops]
        if self.checked:
            texts.insert(self.first, [*self.language.stop])
        return [*chain.from_iterable(texts)]

    def arrays(self) -> list[str]:
        """The declarations of the arrays that the statements alone use."""
        known = {*self.inputs.values(), *self.outputs.values(), *self.news.values()}
        known |= {array for array, _ in self.constants.values()}
        own = [x for x in self.all_arrays if x.stored and x not in known]
        return [self.language.array.format(**self.language.of(x)) for x in own]

    def _text(self, loop: Loop) -> Iterator[str]:
        """A loop over each axis, or over several axes at once, if they are one in the memory of every array."""
        yield from (self._started(line) for line in loop.lines if line.start is not None)
        if 0 in loop.shape:
            return
        views = (x for line in loop.lines for x in (line.into, *line.reads()) if x.array.stored)
        places = {id(x): self._address(x) for x in views}
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
        brace = len(loop.lines) > 1 and bool(axes)
        for i, (d, n) in enumerate(axes):
            yield "    " * i + self.language.loop.format(names[d], n) + " {" * (brace and i == len(axes) - 1)
        for line in loop.lines:
            yield "    " * len(axes) + self._line(line, places, names)
        if brace:
            yield "    " * (len(axes) - 1) + "}"

    def _started(self, line: Line) -> str:
        """The statement that fills an array, or introduces a variable."""
        array, language = line.into.array, self.language
        form = language.filled if array.stored else language.variable
        return form.format(text=language.number(line.start, array.dtype), **language.of(array))

    def _line(self, line: Line, places: Any, names: Any) -> str:
        array = line.into.array
        text = line.form.format(*(self._element(x, dtype, places, names) for x, dtype in line.operands))
        text = text if line.form == "{}" else self.language.rounded(text, array.dtype)
        if array.stored or line.start is not None:
            place = self._written(line.into, places, names)
            text = self.language.added(place, text, array.dtype) if line.how is ADDED else line.how(place, text)
        else:
            text = self.language.constant.format(text=text, **self.language.of(array))
        return f"{text}  // {line.comment}"

    def _element(self, x: Any, dtype: Any, places: Any, names: Any) -> str:
        """The text of an operand, as this dtype."""
        if x.__class__ is View:
            text = self._written(x, places, names)
            return text if x.dtype == dtype else self.language.cast(text, dtype)
        text = self.language.number(x, dtype)
        return f"({text})" if text[0] == "-" else text

    def _written(self, x: View, places: Any, names: Any) -> str:
        """The text of the element that is read or written to, or of a variable."""
        if not x.array.stored:
            return x.array.name
        offset, (strides, _), *tables = places[id(x)]
        terms = [*([str(offset)] if offset else []), *_terms(strides, names)]
        terms += [f"{name}[{_sum_of(_terms(inner, names))}]" for inner, name in tables]
        for stride, size, index in x.through:
            inner = self._element(index, INT, places, names)
            if size is not None:
                self.checks.append(f"found the index {{}}, which is out of bounds for an axis of {size} elements")
                inner = f"within({inner}, {size}, {len(self.checks)})"
            terms.append(inner if stride == 1 else f"{stride} * {inner}")
        return f"{x.array.name}[{_sum_of(terms)}]"

    def _address(self, x: View) -> tuple[Any, ...]:
        """An offset, then pairs of strides and the name of the table that they index, "" for the array itself."""
        offset, strides, table = _strides(x)
        if table is None:
            return offset, (strides, "")
        inner = [math.prod(table.shape[d + 1 :]) if n > 1 else 0 for d, n in enumerate(table.shape)]
        return offset, (strides, ""), (inner, self._constant(table.reshape(-1), np.dtype(np.int32)).array.name)


# ---------------------------------------------------------------------------------------------------------------------
# Functions of views and Symbols, and the tables of the steps that are not elementwise


def _strides(x: View) -> tuple[int, list[int], np.ndarray | None]:
    """An offset, strides, and a table of positions along the axes whose elements are not evenly spaced, or None."""
    at = x.at
    if not at.size:
        return 0, [0] * at.ndim, None
    if x.is_regular():
        strides = [s // at.itemsize if n > 1 else 0 for n, s in zip(at.shape, at.strides, strict=True)]
        return int(at[(0,) * at.ndim]), strides, None
    strides = [0] * at.ndim
    for d in range(at.ndim):
        head = at.take([0, 1], d, mode="clip")
        step = head.take([1], d) - head.take([0], d)
        if (step == step.flat[0]).all() and (at.strides[d] == 0 or (np.diff(at, axis=d) == step.flat[0]).all()):
            strides[d], at = int(step.flat[0]), at.take([0], d)
    return (int(at.flat[0]), strides, None) if at.size == 1 else (0, strides, at)


def _terms(strides: Sequence[int], names: Any) -> list[str]:
    """The products of loop variables and strides."""
    pairs = ((names[d], stride) for d, stride in enumerate(strides) if stride and d in names)
    return [name if stride == 1 else f"{stride} * {name}" for name, stride in sorted(pairs)]


def _sum_of(terms: Sequence[str]) -> str:
    return " + ".join(terms).replace("+ -", "- ") or "0"


def _axes(part: Any) -> int:
    """The number of axes that a part of an index takes."""
    return 0 if part is None or part is ... else part.ndim if getattr(part, "dtype", None) == BOOL else 1


def _is_wide(x: Symbol) -> bool:
    """True if the Symbol is an array of integers of 64 bits that the program computes."""
    return x.op != "input" and x.dtype is not None and x.dtype.kind in "iu" and x.dtype.itemsize == 8


def comparable(a: Any, b: Any) -> tuple[Any, Any]:
    """The operands of a comparison. An int that the dtype of the other operand cannot represent becomes infinite."""

    def beside(x: Any, other: Any) -> Any:
        dtype = getattr(other, "dtype", None)  # None for a number
        if x.__class__ is not int or dtype is None or dtype.kind not in "iu":
            return x
        low, high = limits_of(dtype)
        return x if low <= x <= high else math.copysign(math.inf, x)

    return beside(a, b), beside(b, a)


def _along(a: Any, index: Any, axis: int) -> tuple[Any, ...]:
    """The index of `take_along_axis` as one in brackets."""
    parts: list[Any] = [*np.indices(a.shape, sparse=True)]
    parts[axis] = index
    return tuple(parts)


def _matmul(self: Loops, x: Symbol, a: Any, b: Any, *_: Any) -> View:
    left = [*range(-a.ndim, -2), *["n"] * (a.ndim > 1), "k"]
    right = [*range(-b.ndim, -2), "k", *["m"] * (b.ndim > 1)]
    output = [*range(-max(a.ndim, b.ndim), -2), *left[-2:-1], *right[-1:] * (b.ndim > 1)]
    return self._product(x, (left, right), output, a, b)


MOVES: dict[str, Callable[..., View]] = {  # steps that only rearrange positions
    "getitem": lambda self, x, a, index: self._indexed(self._whole(a), index),
    "take": lambda self, x, a, index, axis: self._indexed(self._whole(a), (*[slice(None)] * axis, index)),
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
    ".sum": lambda self, x, a, axis=None, keepdims=False: self._reduced(x, a, axis, "add"),
    ".max": lambda self, x, a, axis=None, keepdims=False: self._reduced(x, a, axis, "maximum"),
    ".min": lambda self, x, a, axis=None, keepdims=False: self._reduced(x, a, axis, "minimum"),
    ".mean": Loops._mean,
    ".cumsum": Loops._cumulated,
    ".astype": lambda self, x, a, *_, **__: self._copied(self._operand(a, x.shape), x.dtype),
    "clip": Loops._clipped,
    "matmul": _matmul,
    "matmul_like": _matmul,
    "dot": _matmul,
    "einsum_of": Loops._product,
    "concatenate": Loops._joined,
    "sort": Loops._sorted,
    "argsort": Loops._order,
    "accumulate": lambda self, x, total, a, index: self._changed(x, total, index, a, ADDED),
    "setitem": lambda self, x, old, index, a: self._changed(x, old, index, a, SET),
    "scatter": lambda self, x, a, index, _: self._placed(x, a, lambda out: self._indexed(out, index)),
    "scatter_along_axis": lambda self, x, a, index, axis, _: self._placed(
        x, a, lambda out: self._indexed(out, _along(x, index, axis))
    ),
    "placed": lambda self, x, a, plan, _: self._placed(x, a, lambda out: self._indexed(out, plan[0])),
    "windows_back": lambda self, x, a, *how: self._placed(
        x, a, lambda out: out.moved(lambda at: library.windows(at, *how[:-1]))
    ),
}
LOOPED = {*MOVES, *STEPS, *ELEMENTWISE}
DTYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}


def unlooped(program: Lowered) -> str:
    """Why the program cannot be written as loops; "" if it can."""
    for x in program.steps:
        if x.op != "input" and x.op not in LOOPED:
            return f"has no {x.op}: use numpy"
        dtypes = {getattr(part, "dtype", None) or DOUBLE for part in leaves([x, *x.args])}
        if unknown := [dtype for dtype in dtypes if dtype.name not in DTYPES]:
            return f"has no {unknown[0]}: use numpy"
        if x.op == "power" and x.dtype is not None and x.dtype.kind in "iu" and x.args[1].__class__ is not int:
            return "has no powers of integers but those with a constant exponent: use numpy"
    return ""
