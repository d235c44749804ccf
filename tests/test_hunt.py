"""The hunt: programs drawn by hypothesis, run in every way there is, and held against each other and against PyTorch.

In `make test` each test draws a few, and 40 in `make test-all`; `make hunt SECONDS=3600` draws for as long as it may.
What it finds is shrunk, kept in `.hypothesis/`, tried first the next time, and comes here as an `@example` once it is
mended.
"""

from __future__ import annotations

import functools
import itertools
import operator
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from compile_helpers import unwatched
from hypothesis import HealthCheck, Phase, example, given, reject, settings
from hypothesis import strategies as st
from random_programs import Program, doubled, nodes, programs, torch

from micrograd import (  # fmt: skip
    Tensor,
    Value,
    compile,
    detect_anomaly,
    grad,
    gradient,
    hessian,
    hvp,
    jacobian,
    jvp,
    lazy,
    value_and_grad,
    vjp,
)
from micrograd.optim import SGD

with_torch = pytest.mark.skipif(torch is None, reason="PyTorch, the reference of this test, is not installed")
pytestmark = [  # NumPy's, of what overflows and is left out; and PyTorch's
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning"),
]
EXAMPLES = int(os.environ.get("HUNT_EXAMPLES", "10"))
PHASES = [phase for phase in Phase if phase is not Phase.explain]
hunted = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=PHASES,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)

# ---------------------------------------------------------------------------------------------------------------------
# The first derivative


def after(out: Any, xs: Sequence[Any], **how: Any) -> list[Any]:
    """The leaves' gradients after a backward pass."""
    out.backward(**how)
    return [x.grad for x in xs]


def twice(out: Any, xs: Sequence[Any]) -> list[Any]:
    out.backward(retain_graph=True)
    return [None if g is None else g / 2 for g in after(out, xs)]


def hooked(out: Any, xs: Sequence[Any]) -> list[Any]:
    seen: list[Any] = []
    out.register_hook(seen.append)
    return after(out, xs)


def lazily(f: Callable, xs: Sequence[Any]) -> list[Any]:
    with lazy():
        out = f(*xs)
    return after(out, xs)


def watching(f: Callable, xs: Sequence[Any]) -> list[Any]:
    try:
        with detect_anomaly():
            return after(f(*xs), xs)
    except RuntimeError as error:
        if "produced a nan" in str(error):  # which is what it is for
            reject()
        raise


def run_before(f: Callable, xs: Sequence[Any]) -> Callable:
    """The function, which has traced its program at other numbers."""
    f(*(type(x)(x.data * 0.9, requires_grad=True) for x in xs))
    return f


def plain(xs: Sequence[Any]) -> list[Any]:
    return [x.data for x in xs]


# Each gives the gradients of f at nodes; f(a, b, c) is also called with one node in two places.
FIRST: dict[str, Callable[[Callable, list], list[Any]]] = {
    "twice, retaining": lambda f, xs: twice(f(*xs), xs),
    "with a hook": lambda f, xs: hooked(f(*xs), xs),
    "lazily": lazily,
    "watched for nan": watching,
    "grad": lambda f, xs: grad(f(*xs), xs, allow_unused=True),
    "create_graph": lambda f, xs: grad(f(*xs), xs, create_graph=True, allow_unused=True),
    "gradient": lambda f, xs: gradient(f)(*plain(xs)),
    "value_and_grad": lambda f, xs: value_and_grad(f)(*plain(xs))[1],
    "compiled": lambda f, xs: after(compile(f)(*xs), xs),
    "compiled, twice": lambda f, xs: twice(compile(f)(*xs), xs),
    "compiled, with a hook": lambda f, xs: hooked(compile(f)(*xs), xs),
    "compiled to Python": lambda f, xs: after(compile(f, backend="python")(*xs), xs),
    "compiled to NumPy": lambda f, xs: after(compile(f, backend="numpy")(*xs), xs),
    "compiled, run again": lambda f, xs: after(run_before(compile(f), xs)(*xs), xs),
    "compiled, checked": lambda f, xs: after(compile(f, check=True)(*xs), xs),
    "compiled, closing over": lambda f, xs: after(compile(lambda a: f(a, *xs[1:]))(xs[0]), xs),
    "compiled, of a tree": lambda f, xs: after(compile(lambda t: f(t["a"], *t["b"]))({"a": xs[0], "b": xs[1:]}), xs),
    "compiled, its gradient": lambda f, xs: gradient(compile(f))(*plain(xs)),
    "compiled, the gradient": lambda f, xs: compile(gradient(f))(*plain(xs)),
    "compiled, inside": lambda f, xs: after(compile(f)(*(x * 1 for x in xs)), xs),
}


APART = {"gradient", "value_and_grad", "compiled, its gradient", "compiled, the gradient"}  # each argument has its own


def times(f: Callable, xs: Sequence[Any]) -> Callable:
    """f, of the nodes times the numbers that it is called with: those may come from an array."""
    return lambda numbers: f(*(x * number for x, number in zip(xs, numbers, strict=True)))


def central(f: Callable, xs: Sequence[Any], h: float = 1e-5) -> list[float]:
    """The gradient from values alone."""
    at = plain(xs)
    moved = [[[p + h * s * (i == j) for j, p in enumerate(at)] for s in (1, -1)] for i in range(len(at))]
    return [(f(*map(Value, ahead)).data - f(*map(Value, behind)).data) / (2 * h) for ahead, behind in moved]


def gradient_of_a_batch(f: Callable, xs: Sequence[Any]) -> list[Any]:
    """That of the first of two equal samples."""
    compiled = compile(gradient(lambda x: f(*x)), batch=True, backend="numpy")
    return [part[0] for part in compiled(np.array([plain(xs)] * 2))]


def checked_batch(f: Callable, xs: Sequence[Any]) -> list[Any]:
    return after(compile(times(f, xs), batch=True, check=True)(np.ones((2, 3))).sum() / 2, xs)


def by_an_update(f: Callable, xs: Sequence[Any]) -> list[Any]:
    """What a compiled training step took from each leaf; it is checked beside the function itself."""
    before = [x.data.copy() for x in xs]
    compile(lambda: f(*xs), update=SGD(xs, lr=0.5), check=True)()
    return [(old - x.data) / 0.5 for old, x in zip(before, xs, strict=True)]


OF_NUMBERS: dict[str, Callable[[Callable, list], list[Any]]] = {
    "compiled, taken apart": lambda f, xs: after(compile(times(f, xs), scalars=True)(np.ones(3)), xs),
    "compiled, of a batch": lambda f, xs: after(compile(times(f, xs), batch=True)(np.ones((2, 3))).sum() / 2, xs),
    "compiled, of a batch, checked": checked_batch,
    "compiled, the gradient of a batch": gradient_of_a_batch,
    "numerically": central,
}
OF_ARRAYS = {"compiled, with the update": by_an_update}
APART |= {"numerically", "compiled, the gradient of a batch", *OF_ARRAYS}


def agree(found: Sequence[Any], expected: Sequence[Any], near: float = 1e-9) -> None:
    """Equal to so much of their size, where None is zeros."""
    for a, b in zip(found, expected, strict=True):
        a, b = (np.asarray(0.0 if x is None else x.detach() if hasattr(x, "detach") else x) for x in (a, b))
        a, b = (np.asarray(x.item().data if x.dtype == object else x) for x in (a, b))
        np.testing.assert_allclose(
            *np.broadcast_arrays(a, b), rtol=near, atol=near * max(1.0, np.max(abs(b), initial=0))
        )


EVERY_WAY = [*((Value, way) for way in (*FIRST, *OF_NUMBERS)), *((Tensor, way) for way in (*FIRST, *OF_ARRAYS))]
DOUBLED = {Value: st.just(doubled(Value, "mul")), Tensor: st.just(doubled(Tensor, "__mul__"))}


@pytest.mark.parametrize(("kind", "way"), EVERY_WAY)
@hunted
@given(data=st.data(), one_in_two_places=st.booleans())
def test_gradient_is_the_same_in_every_way(kind: type, way: str, data: st.DataObject, one_in_two_places: bool):
    program = data.draw(programs(kind) | DOUBLED[kind])
    expected_at, found_at = nodes(program), nodes(program)
    if one_in_two_places and way not in APART:
        expected_at[2], found_at[2] = expected_at[0], found_at[0]
    found = {**FIRST, **OF_NUMBERS, **OF_ARRAYS}[way](unwatched(program), found_at)
    agree(found, after(program(*expected_at), expected_at), 1e-4 if way == "numerically" else 1e-9)


def directions(program: Program) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.uniform(-1, 1, a.shape) for a in program.leaves]


def along(gradients: Sequence[Any], vs: Sequence[np.ndarray]) -> Any:
    """Gradients times a direction each, added up; those that are None left out."""
    return sum(
        (g * v).sum() if hasattr(g, "sum") else g * float(v)
        for g, v in zip(gradients, vs, strict=True)
        if g is not None
    )


def both_orders_in_torch(program: Program) -> tuple[list[Any], list[Any]]:
    xs = [torch.tensor(a, requires_grad=True) for a in program.leaves]
    first = torch.autograd.grad(program.in_torch(*xs), xs, create_graph=True, allow_unused=True)
    total = along(first, list(map(torch.tensor, directions(program)))) + sum(0 * x.sum() for x in xs)
    return list(first), list(torch.autograd.grad(total, xs, allow_unused=True))


def second_by_grad(program: Callable, xs: list[Any], vs: list[Any]) -> list[Any]:
    first = grad(program(*xs), xs, create_graph=True, allow_unused=True)
    total = along(first, vs)
    return grad(total, xs, allow_unused=True) if getattr(total, "requires_grad", False) else [None] * 3


def gradient_of_gradient(f: Callable, vs: list[Any]) -> Callable:
    return gradient(lambda *p: along(gradient(f)(*p), vs))


SECOND: dict[str, Callable[[Callable, list[Any], list[Any]], Sequence[Any]]] = {
    "grad of grad": second_by_grad,
    "hvp": lambda f, xs, vs: hvp(f)(*plain(xs), vs),
    "hvp, compiled": lambda f, xs, vs: hvp(compile(f))(*plain(xs), vs),
    "gradient of gradient": lambda f, xs, vs: gradient_of_gradient(f, vs)(*plain(xs)),
    **{
        f"gradient of gradient, to {backend}": lambda f, xs, vs, backend=backend: compile(
            gradient_of_gradient(f, vs), backend=backend
        )(*plain(xs))
        for backend in ("python", "numpy")
    },
}


@pytest.mark.parametrize("kind", [Value, Tensor])
@pytest.mark.parametrize("way", SECOND)
@hunted
@given(data=st.data())
def test_second_derivative_is_the_same_in_every_way(way: str, kind: type, data: st.DataObject):
    program = data.draw(programs(kind))
    vs = [float(v) if kind is Value else v for v in directions(program)]
    agree(SECOND[way](unwatched(program), nodes(program), vs), second_by_grad(program, nodes(program), vs))


@with_torch
@pytest.mark.parametrize("kind", [Value, Tensor])
@hunted
@given(data=st.data())
def test_both_derivatives_are_pytorchs(kind: type, data: st.DataObject):
    program = data.draw(programs(kind))
    first, second = both_orders_in_torch(program)
    agree(grad(program(*(xs := nodes(program))), xs, allow_unused=True), first)
    agree(second_by_grad(program, xs, [float(v) if kind is Value else v for v in directions(program)]), second)


# ---------------------------------------------------------------------------------------------------------------------
# Transforms inside of one another: polynomials, whose derivatives are known


class Polynomial(dict):
    """Coefficients by exponents: {(1, 2): 3.0} is 3 * x0 * x1**2. It runs the same lines as a number."""

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial({key: self.get(key, 0.0) + other.get(key, 0.0) for key in {*self, *other}})

    def __mul__(self, other: Polynomial) -> Polynomial:
        out = Polynomial()
        for (p, a), (q, b) in itertools.product(self.items(), other.items()):
            key = tuple(map(operator.add, p, q))
            out[key] = out.get(key, 0.0) + a * b
        return out

    def slope(self, i: int) -> Polynomial:
        """The derivative with respect to x_i."""
        lower = {(*p[:i], p[i] - 1, *p[i + 1 :]): a * p[i] for p, a in self.items() if p[i]}
        return Polynomial(lower)

    def at(self, i: int, x: Polynomial) -> Polynomial:
        """With x in the place of x_i."""
        out = Polynomial()
        for p, a in self.items():
            term = Polynomial({(*p[:i], 0, *p[i + 1 :]): a})
            out += functools.reduce(operator.mul, [x] * p[i], term)
        return out


VARIABLES = 5  # the outermost, and one for each depth


def constant(x: float) -> Polynomial:
    return Polynomial({(0,) * VARIABLES: x})


def variable(i: int) -> Polynomial:
    return Polynomial({tuple(int(i == j) for j in range(VARIABLES)): 1.0})


def line(y: Any) -> Any:
    """An array of one element as a line of one, whatever shape a transform has given it; a number as it is."""
    return y.reshape(1) if getattr(y, "ndim", 0) else y


def of_compiled(take: Callable) -> Callable:
    return lambda f, x: take(compile(f), x)


# Each differentiates a function of one number at a point; and what that is for a polynomial p in x_i.
TRANSFORMS: dict[str, tuple[Callable[[Callable, Any], Any], Callable[[Polynomial, int], Polynomial]]] = {
    "gradient": (lambda f, x: gradient(f)(x), lambda p, i: p.slope(i)),
    "value_and_grad": (lambda f, x: operator.mul(*value_and_grad(f)(x)), lambda p, i: p * p.slope(i)),
    "vjp": (lambda f, x: vjp(f, x)[1](0 * x + 2.0), lambda p, i: constant(2.0) * p.slope(i)),
    "jacobian": (lambda f, x: line(jacobian(f)(x)), lambda p, i: p.slope(i)),
    "hessian": (lambda f, x: line(hessian(f)(x)), lambda p, i: p.slope(i).slope(i)),
    "hvp": (lambda f, x: hvp(f)(x, 0 * x + 3.0), lambda p, i: constant(3.0) * p.slope(i).slope(i)),
    "jvp": (lambda f, x: jvp(f, (x,), (0 * x + 4.0,))[1], lambda p, i: constant(4.0) * p.slope(i)),
    "aux": (lambda f, x: gradient(lambda y: (y, f(y)), has_aux=True)(x)[1], lambda p, i: p),
}
TRANSFORMS |= {f"{name}, compiled": (of_compiled(take), what) for name, (take, what) in TRANSFORMS.items()}


class Nest(NamedTuple):
    """An expression: "x" and a variable's number, "1" and a number, "+" or "*" and two, or a transform of a body."""

    op: str
    parts: tuple[Any, ...]

    def ours(self, xs: tuple[Any, ...], number: Callable[[float], Any]) -> Any:
        """Its value, where xs are the variables so far."""
        if self.op in TRANSFORMS:
            body, point = self.parts
            return TRANSFORMS[self.op][0](lambda x: body.ours((*xs, x), number), point.ours(xs, number))
        return self._plainly(xs, lambda part: part.ours(xs, number), number)

    def exactly(self, xs: tuple[Polynomial, ...]) -> Polynomial:
        """The same, as a polynomial of the variables so far."""
        if self.op in TRANSFORMS:
            body, point = self.parts
            inside = TRANSFORMS[self.op][1](body.exactly((*xs, variable(len(xs)))), len(xs))
            return inside.at(len(xs), point.exactly(xs))
        return self._plainly(xs, lambda part: part.exactly(xs), constant)

    def _plainly(self, xs: tuple[Any, ...], of: Callable, number: Callable) -> Any:
        if self.op == "x":
            return xs[self.parts[0] % len(xs)]
        if self.op == "1":
            return number(self.parts[0])
        return (operator.add if self.op == "+" else operator.mul)(*map(of, self.parts))


X, Y, Z = (Nest("x", (i,)) for i in range(3))
TWO = Nest("1", (2.0,))
CONSTANT = Nest("value_and_grad", (Y, X))  # an inner function that does not use its argument


def nests(depth: int) -> st.SearchStrategy[Nest]:
    """Expressions with transforms to this depth."""
    leaf = st.builds(Nest, st.just("x"), st.tuples(st.integers(0, 3))) | st.builds(
        Nest, st.just("1"), st.tuples(st.sampled_from([1.0, 2.0, -1.5]))
    )
    plainly = st.recursive(
        leaf, lambda inner: st.builds(Nest, st.sampled_from("+**"), st.tuples(inner, inner)), max_leaves=3
    )
    if not depth:
        return plainly
    inner = nests(depth - 1)
    nested = st.builds(Nest, st.sampled_from(list(TRANSFORMS)), st.tuples(inner, leaf))
    return st.builds(Nest, st.sampled_from("+*"), st.tuples(nested, plainly)) | nested


def through_grad(x: Any) -> Callable[[Callable], tuple[Any, Any]]:
    """What a function gives for a node, and its derivative there."""

    def found(f: Callable) -> tuple[Any, Any]:
        at = type(x)(x.data, requires_grad=True)
        out = f(at)
        slope = grad(out, at)[0] if getattr(out, "requires_grad", False) else 0.0
        return getattr(out, "data", out), slope

    return found


def array(x: float) -> np.ndarray:
    return np.array([x])


FORMS: dict[str, tuple[Callable[[float], Any], Callable[[Callable], tuple[Any, Any]]]] = {
    "numbers": (float, lambda f: (f(1.25), gradient(f)(1.25))),
    "Values": (float, through_grad(Value(1.25))),
    "compiled": (float, lambda f: value_and_grad(compile(f))(1.25)),
    "arrays": (array, lambda f: (f(array(1.25)), gradient(f)(array(1.25)))),
    "Tensors": (array, through_grad(Tensor([1.25]))),
    "Tensors, compiled": (array, lambda f: through_grad(Tensor([1.25]))(compile(f))),
}


@pytest.mark.parametrize("form", FORMS)
@hunted
@given(nest=nests(3))
@example(nest=Nest("*", (X, Nest("gradient", (Nest("*", (X, Y)), TWO)))))  # what the inner function closes over counts
@example(nest=Nest("gradient", (Nest("gradient", (Nest("*", (Y, Nest("*", (Z, Z)))), TWO)), X)))
@example(nest=Nest("hvp", (Nest("*", (X, Nest("*", (Y, Nest("*", (Y, Y)))))), TWO)))
@example(nest=Nest("gradient", (Nest("value_and_grad", (Nest("*", (X, Z)), Y)), TWO)))
@example(nest=Nest("gradient", (Nest("value_and_grad, compiled", (Nest("+", (CONSTANT, Nest("*", (X, Z)))), X)), X)))
def test_transforms_nest(form: str, nest: Nest):
    exact = nest.exactly((variable(0),))
    expected = [p.at(0, constant(1.25)).get((0,) * VARIABLES, 0.0) for p in (exact, exact.slope(0))]
    number, both = FORMS[form]
    agree(both(lambda x: nest.ours((x,), number)), expected)
