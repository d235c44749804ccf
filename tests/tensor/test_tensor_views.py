"""Views and writes in place: random programs against an oracle that works the other way round.

The oracle carries derivatives forward, in memory of their own that is viewed and written as the values are. So what a
write through a view does to its base needs no thought there: it is NumPy's.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from engine_helpers import calls_of
from hypothesis import example, given
from hypothesis import strategies as st
from tensor_helpers import equal, numbers, parameter

from micrograd import Tensor, grad, no_grad
from micrograd.tensor.node import Unusable

START = {"x": np.array([[0.5, -1.0, 0.75], [0.25, 1.25, -0.5]]), "w": np.array([1.5, -0.5, 0.75])}
CONSTANT = np.array([[0.5, 1.5, -0.25], [1.0, 0.75, 0.5]])


class Forward:
    """An array and its derivatives with respect to each number that the program starts from."""

    def __init__(self, value: np.ndarray, slopes: list[np.ndarray]):
        self.value, self.slopes = value, slopes

    def op(self, f: Callable, slope: Callable) -> Forward:
        """A new array."""
        value = f(self.value)
        return Forward(value, [_like(value, slope(self.value) * d) for d in self.slopes])

    def times(self, other: Forward) -> Forward:
        value = self.value * other.value
        pairs = zip(self.slopes, other.slopes, strict=True)
        return Forward(value, [_like(value, d * other.value + self.value * e) for d, e in pairs])

    def view(self, f: Callable) -> Forward:
        return Forward(f(self.value), [f(d) for d in self.slopes])

    def detach(self) -> Forward:
        return Forward(self.value, [_like(self.value, 0.0) for _ in self.slopes])

    def write(self, change: Callable, other: Any, recorded: bool) -> None:
        """Write change(value, other) over the value, and its derivative over the slopes."""
        of_number = not isinstance(other, Forward)
        value, slopes = (other, [0.0] * len(self.slopes)) if of_number else (other.value, other.slopes)
        after, to_self, to_other = change(self.value, value)
        slopes = [to_self * d + to_other * e for d, e in zip(self.slopes, slopes, strict=True)]
        self.value[...] = after
        for d, new in zip(self.slopes, slopes if recorded else [], strict=recorded):
            d[...] = new


def _like(value: np.ndarray, x: Any) -> np.ndarray:
    """x in memory that is laid out as the value's, so that both have the same views."""
    out = np.empty_like(value)
    out[...] = x
    return out


# ---------------------------------------------------------------------------------------------------------------------
# What programs are made of

OPS: list[tuple[Callable, Callable, Callable]] = [  # of Tensors, of numbers, and the slope
    (lambda t: t * 2, lambda a: a * 2, lambda a: 2.0),
    (lambda t: t.sin(), np.sin, np.cos),
    (lambda t: t.sin().exp(), lambda a: np.exp(np.sin(a)), lambda a: np.exp(np.sin(a)) * np.cos(a)),
]
VIEWS: list[Callable] = [
    lambda t: t[0, ...] if isinstance(t, np.ndarray) else t[0],  # of one axis, too, a Tensor gives a view
    lambda t: t[-1:],
    lambda t: t[..., -1],
    lambda t: t[..., :1],
    lambda t: t[None],
    lambda t: t.T,
    lambda t: t.reshape(-1),
    lambda t: t.reshape((*t.shape, 1)),
    lambda t: np.broadcast_to(t, (2, *t.shape)) if isinstance(t, np.ndarray) else t.broadcast_to((2, *t.shape)),
]
IN_PLACE: list[tuple[Callable, Callable]] = [  # with a value and the two slopes
    (lambda t, u: t.__imul__(u), lambda a, b: (a * b, b, a)),
    (lambda t, u: t.__iadd__(u), lambda a, b: (a + b, 1.0, 1.0)),
    (lambda t, u: t.__isub__(u), lambda a, b: (a - b, 1.0, -1.0)),
    (lambda t, u: t.copy_(u), lambda a, b: (0 * a + b, 0.0, 1.0)),
    (lambda t, u: t.__setitem__(slice(0, 1), u[:1] if u.ndim else u), lambda a, b: _first(a, b)),
    (lambda t, u: _multiply_first(t, u), lambda a, b: _first(a, a * b, b, a)),
]


def _multiply_first(t: Tensor, u: Tensor) -> None:
    t[:1] *= u[:1] if u.ndim else u


def _first(a: np.ndarray, b: Any, to_a: Any = 0.0, to_b: Any = 1.0) -> tuple[np.ndarray, Any, Any]:
    chosen = np.zeros_like(a)
    chosen[:1] = 1
    return np.where(chosen, b, a), np.where(chosen, to_a, 1.0), chosen * to_b


Step = tuple[int, int, int, int]  # what to do, with which of its kind, to which Tensor, and with which other
KINDS = ["op", "product", "view", "view", "view", "write", "write", "write", "write a number", "write unseen", "detach"]
KINDS += ["backward", "forget", "replace"]
small = st.integers(0, 11)
programs = st.lists(st.tuples(st.integers(0, len(KINDS) - 1), small, small, small), min_size=3, max_size=14)


class Machine:
    """What runs a program on Tensors, beside the oracle."""

    def __init__(self):
        self.leaves = [Tensor(a, requires_grad=True) for a in START.values()]
        size, at = sum(a.size for a in START.values()), 0
        self.each: list[tuple[Any, Forward]] = []
        for leaf, a in zip(self.leaves, START.values(), strict=True):
            slopes = np.zeros((size, *a.shape))
            slopes.reshape(size, -1)[at : at + a.size] = np.eye(a.size)
            at += a.size
            self.each.append((leaf, Forward(a.copy(), list(slopes))))
        slopes = np.zeros((size, *CONSTANT.shape))
        self.each.append((Tensor(CONSTANT), Forward(CONSTANT.copy(), list(slopes))))

    def run(self, program: list[Step]) -> Iterator[str]:
        """Run it; after each step what came of it: "", or the error."""
        for kind, which, i, j in program:
            try:
                getattr(self, KINDS[kind].replace(" ", "_"))(which, i % len(self.each), j)
                yield ""
            except (RuntimeError, ValueError) as error:
                yield f"{KINDS[kind]}: {error}"

    def op(self, which: int, i: int, _: int) -> None:
        f, value, slope = OPS[which % len(OPS)]
        t, oracle = self.each[i]
        self.each.append((f(t), oracle.op(value, slope)))

    def product(self, _: int, i: int, j: int) -> None:
        (t, a), (u, b) = self.each[i], self.partner(i, j)
        self.each.append((t * u, a.times(b)))

    def view(self, which: int, i: int, _: int) -> None:
        f = VIEWS[which % len(VIEWS)]
        t, oracle = self.each[i]
        if t.ndim and t.ndim < 4 and oracle.value.flags.c_contiguous:  # where a reshape is a view
            self.each.append((f(t), oracle.view(f)))

    def detach(self, _: int, i: int, __: int) -> None:
        t, oracle = self.each[i]
        self.each.append((t.detach(), oracle.detach()))

    def forget(self, _: int, i: int, __: int) -> None:
        if i >= len(self.leaves):
            del self.each[i]

    def replace(self, _: int, i: int, __: int) -> None:
        """Give a Tensor an array of its own; its history stays, and its views keep the memory that it had."""
        t, oracle = self.each[i]
        oracle = Forward(oracle.value + 0.25, [_like(oracle.value, d) for d in oracle.slopes])
        t.data = oracle.value
        self.each[i] = t, oracle

    def write(self, which: int, i: int, j: int) -> None:
        u, b = self.partner(i, j)
        self.change(which, i, u, b, True)

    def write_a_number(self, which: int, i: int, _: int) -> None:
        self.change(which, i, Tensor(0.5), 0.5, True)

    def write_unseen(self, which: int, i: int, j: int) -> None:
        u, b = self.partner(i, j)
        with no_grad():
            self.change(which, i, u, b, False)

    def change(self, which: int, i: int, u: Any, b: Any, recorded: bool) -> None:
        f, value = IN_PLACE[which % len(IN_PLACE)]
        t, oracle = self.each[i]
        if t.ndim:
            before = t._node._data
            f(t, u)
            if not np.shares_memory(t._node._data, before):  # a view that was written to
                apart = Forward(oracle.value.copy(), [d.copy() for d in oracle.slopes])
                b = apart if b is oracle else b
                self.each[i], oracle = (t, apart), apart
            oracle.write(value, b, recorded)

    def partner(self, i: int, j: int) -> tuple[Any, Forward]:
        """A Tensor of the shape of the i-th."""
        shape = self.each[i][1].value.shape
        fitting = [(u, b) for u, b in self.each if b.value.shape == shape]
        return fitting[j % len(fitting)]

    def backward(self, _: int, i: int, __: int) -> None:
        t, oracle = self.each[i]
        if t.requires_grad:
            grads = grad(t.sum(), self.leaves, retain_graph=True, allow_unused=True)
            found = np.concatenate([np.ravel(g) for g in numbers(grads, self.leaves)])
            np.testing.assert_allclose(found, [d.sum() for d in oracle.slopes], rtol=1e-9, atol=1e-9)


ALLOWED = "leaf that requires a gradient|read-only|changed in place|make the view again|on a view of this Tensor"


OP, VIEW, WRITE, REPLACE = map(KINDS.index, ("op", "view", "write a number", "replace"))


@given(programs)
@example([(OP, 0, 0, 0), (VIEW, 1, 3, 0), (VIEW, 1, 4, 0), (REPLACE, 0, 4, 0), (WRITE, 0, 3, 0)])
@example([(OP, 0, 0, 0), (VIEW, 1, 3, 0), (REPLACE, 0, 3, 0), (WRITE, 0, 4, 0), (WRITE, 0, 3, 0)])
def test_views_and_writes_give_the_values_and_gradients_of_forward_mode(program: list[Step]):
    machine = Machine()
    with np.errstate(all="ignore"):
        for error in [*machine.run(program), *machine.run([(KINDS.index("backward"), 0, i, 0) for i in range(20)])]:
            assert not error or any(words in error for words in ALLOWED.split("|")), error
            for t, oracle in machine.each:
                if not isinstance(t._node, Unusable):
                    np.testing.assert_array_equal(t._node._data, oracle.value)


# ---------------------------------------------------------------------------------------------------------------------
# What random programs do not reach


@pytest.mark.parametrize("change", [lambda v: v.__iadd__(5), lambda v: v.zero_(), lambda v: v[:1].__imul__(2)])
@pytest.mark.parametrize("requires_grad", [True, False], ids=["set later", "frozen later"])
def test_view_of_a_leaf_that_does_or_did_require_a_gradient_refuses(change: Callable, requires_grad: bool):
    x = Tensor([1.0, 2.0], requires_grad=not requires_grad)
    view = x[:1]
    x.requires_grad_(requires_grad)
    with pytest.raises(RuntimeError, match="view of a leaf that requires a gradient"):
        change(view)
    equal(x, [1, 2])
    with no_grad():
        change(view)
    assert x.data[0] != 1


def test_view_that_was_made_a_leaf_stays_one():
    buffer, w = Tensor([1.0, 2.0]), parameter(3)
    leaf = buffer[:1].requires_grad_()
    buffer *= w
    equal(leaf, [3])
    (leaf * 2).sum().backward()
    equal(leaf.grad, [2])
    assert w.grad is None


# ---------------------------------------------------------------------------------------------------------------------
# Where a history is involved: x[i] += y is recorded, a view alone is not written through

WRITTEN_ALONE: dict[str, Callable[[Tensor], Any]] = {
    "+=": lambda v: v.__iadd__(1),
    "copy_": lambda v: v.copy_(7),
    "zero_": Tensor.zero_,
    "[...] =": lambda v: v.__setitem__(..., 0),
    "+= a parameter": lambda v: v.__iadd__(parameter(5)),
}
USES: dict[str, Callable[[Tensor], Any]] = {
    "data": lambda x: x.data,
    "grad": lambda x: x.grad,
    "backward": lambda x: x.backward([1.0, 1.0]),
    "another item": lambda x: x.__setitem__(1, 5.0),
    "write": lambda x: x.__iadd__(1),
    "requires_grad": lambda x: x.requires_grad,
    "pickle": pickle.dumps,
    "set data": lambda x: setattr(x, "data", [1.0, 2.0]),
    "numpy": np.sum,
}


@pytest.mark.parametrize("write", WRITTEN_ALONE.values(), ids=WRITTEN_ALONE)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_x_raises_after_a_view_of_it_was_written_to_alone(use: Callable, write: Callable):
    x = parameter(1, 2) * 1
    memory, view = x._node._data, x[:1]
    write(view)
    equal(memory, [1, 2])
    with pytest.raises(RuntimeError, match=r"on a view of this Tensor.*: write x\[i\] = \.\.\. or x\[i\] \+= \.\.\."):
        use(x)


def test_constant_raises_after_a_parameter_was_written_to_a_view_of_it_alone():
    x = Tensor([1.0, 2.0])
    view = x[:1]
    view += parameter(5)
    with pytest.raises(RuntimeError, match="on a view of this Tensor"):
        x.sum()


@pytest.mark.parametrize(
    "index", [0, -1, (0,), slice(0, 1), slice(None), ..., (..., 1), None, [0, 1], [True, False, True]]
)
def test_item_in_place_is_recorded(index: Any):
    x, w = parameter(1, 2, 3), Tensor(5.0, requires_grad=True)
    array, slopes = x.data.copy(), np.ones(3)
    y = x * 1
    y[index] *= w
    y[index] += 1
    array[index], slopes[index] = array[index] * 5 + 1, 5
    equal(y, array)
    y.sum().backward()
    equal(x.grad, slopes)
    equal(w.grad, x.data[index].sum())


def test_item_in_place_of_a_constant_gives_it_a_history():
    x, buffer = parameter(1, 2), Tensor(np.zeros((2, 2)))
    for i in range(2):
        buffer[i] += x * (i + 1)
    equal(buffer, [[1, 2], [2, 4]])
    (buffer.T[0] * np.array([1.0, 10.0])).sum().backward()
    equal(x.grad, [21, 0])


def test_item_written_back_makes_x_usable_again():
    x = parameter(1, 2) * 1
    view = x[0]
    view += 5
    for index, other in ((1, view), (slice(0, 1), view), (0, view * 1), ([0], view)):
        with pytest.raises(RuntimeError, match="on a view of this Tensor"):
            x[index] = other
    x[0] = view
    equal(x, [6, 2])


def test_item_of_an_item_is_written_back_twice_or_with_the_whole_index():
    leaf = parameter([1, 2], [3, 4])
    x = leaf * 1
    x[0, 1] *= 5
    row = x[0]
    row[0] *= 7
    with pytest.raises(RuntimeError, match="on a view of this Tensor"):
        x.sum()
    x[0] = row
    x.sum().backward()
    equal(leaf.grad, [[7, 5], [1, 1]])


@pytest.mark.parametrize("base", [lambda: parameter(1, 2, 3) * 1, lambda: Tensor([1.0, 2.0, 3.0])])
def test_views_raise_after_a_recorded_write_to_the_base(base: Callable):
    y = base()
    views, detached = [y[:2], y[:2][1:], y.T], y.detach()
    y *= parameter(3, 3, 3)
    for view in views:
        with pytest.raises(RuntimeError, match="make the view again"):
            view.sum()
    equal(detached, [3, 6, 9])


def test_view_from_inside_no_grad_shows_what_is_written_and_is_not_written_through_outside():
    y = parameter(1, 2) * 1
    with no_grad():
        view = y[:1]
        view *= 3
    y *= 2
    equal(view, [6])
    view *= 2
    assert not view.requires_grad
    with pytest.raises(RuntimeError, match="on a view of this Tensor"):
        y.sum()


def test_writing_many_items_takes_linear_time():
    def writes(n: int) -> Callable:
        base = parameter(*range(n)) * 1
        others = [base.detach() for _ in range(10)]

        def run() -> None:
            for i in range(n):
                base[i] *= 2

        return lambda: (run(), others)

    few, many = calls_of(writes(50)), calls_of(writes(200))
    assert many < 5 * few
