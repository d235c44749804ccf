"""A compiled function gives what the function gives: its value, its gradients and their gradients, on every back end.

The laws here are over the lists of all ops and over random programs. What was found by hand follows as examples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import ops_list
import pytest
from compile_helpers import BACKENDS, IN_JAX, JAX, LOOPED, C, eager_step, looped, near, same, unwatched
from compiled_functions import FUNCTIONS, A
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from random_programs import Integers, Program, integers, nodes, programs
from tensor_helpers import every_op, leaves, numbers, seed
from tensor_ops_list import OPS, Op

import micrograd
from micrograd import Tensor, Value, grad, gradient, nn, no_grad
from micrograd import functional as F
from micrograd.common import trees
from micrograd.compiler.primitives import OPSET
from micrograd.optim import Adam

ON_ARRAYS = ["numpy", C, JAX]

# ---------------------------------------------------------------------------------------------------------------------
# The lists of ops


def first_order_of_numbers(op: ops_list.Op, call: Any, point: tuple[float, ...]) -> list[float]:
    values = [Value(x) for x in point]
    out = call(*values)
    if out.requires_grad:
        out.backward()
    return [out.data, *(float(v.grad) for v in values)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("op", ops_list.OPS, ids=str)
def test_op_of_values_is_the_same_compiled(op: ops_list.Op, backend: str):
    compiled = micrograd.compile(op.call, backend=backend)
    edges = [point for point, *_ in op.edges]
    for point in [*op.points(3), *edges]:
        with np.errstate(all="ignore"):
            found = first_order_of_numbers(op, compiled, point)
        expected = first_order_of_numbers(op, op.call, point)
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-300, nan_ok=True), point


def first_order(op: Op, call: Callable, operands: list[np.ndarray]) -> list[np.ndarray]:
    inputs = leaves(operands)
    out = call(*inputs)
    if not out.requires_grad:
        return [out.data]
    return [out.detach().data, *numbers(grad(out, inputs, seed(op, out), allow_unused=True), inputs)]


def squared_gradient(op: Op) -> Callable:
    """The sum of the squares of an op's gradients, each element of its result weighted by another number."""

    def square(*inputs: Any) -> Any:
        weighted = lambda *xs: (out := op.call(*xs)) * out * seed(op, out)  # noqa: E731
        gradients = gradient(weighted)(*inputs)
        return sum((g * g).sum() for g in (gradients if isinstance(gradients, tuple) else [gradients]))

    return square


@every_op
def test_op_is_the_same_compiled(op: Op):
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for operands in op.runs(dtype):
            compiled = micrograd.compile(op.call)
            for scale in (1.0, 0.97):  # the second call runs the program of the first
                scaled = [(scale * a).astype(dtype) for a in operands]
                same(first_order(op, compiled, scaled), first_order(op, op.call, scaled), tolerance)
            assert compiled.cache_info()[:2] == (1, 1)


@every_op
def test_second_derivative_of_an_op_is_the_same_compiled_and_made_of_the_list_of_primitives(op: Op):
    runs = sorted((run for run in op.runs() if all(a.size for a in run)), key=lambda run: run[0].ndim)
    for operands in runs if len(op.shapes[0]) > 1 else runs[-1:]:  # what broadcasts has more to get wrong
        f = gradient(micrograd.compile(squared_gradient(op)))
        found, expected = f(*operands), gradient(squared_gradient(op))(*operands)
        same(*(x if isinstance(x, tuple) else [x] for x in (found, expected)), tolerance=1e-11)
        assert {step.op for step in f.lowered.steps} <= {"input", *OPSET}


def run_on(target: str, f: Callable, *inputs: Any) -> list[Any]:
    """The results of f on a back end."""
    if target in ("c", "javascript"):
        return looped(target, f, *inputs)
    return [x.data for x in trees.leaves(micrograd.compile(f, backend=target)(*inputs))]


def value_and_both_derivatives(op: Op, *xs: Any) -> list[Any]:
    weighted = lambda *xs: (out := op.call(*xs)) * seed(op, out)  # noqa: E731
    wanted = [gradient(weighted), gradient(squared_gradient(op))] if all(np.size(x) for x in xs) else []
    found = (d(*xs) for d in wanted)
    return [op.call(*xs), *(g for gs in found for g in (gs if isinstance(gs, tuple) else [gs]))]


TWELVE = [OPS[i : i + 12] for i in range(0, len(OPS), 12)]


@pytest.mark.parametrize("target", [*LOOPED, JAX])
@pytest.mark.parametrize("ops", TWELVE, ids=lambda ops: f"{ops[0]} to {ops[-1]}")
def test_op_is_the_same_on_other_back_ends(ops: list[Op], target: str):
    """For its largest operands and, as loops, for its smallest too, of twelve ops in one program: compilers take most
    of the time.
    """
    inputs: list[Tensor] = []
    calls: list[tuple[Op, slice]] = []
    for op in ops:
        runs = sorted(op.runs(), key=lambda run: sum(a.size for a in run))
        for run in runs[-1:] if target == "jax" else [runs[0], runs[-1]]:
            calls.append((op, slice(len(inputs), len(inputs) + len(run))))
            inputs += map(Tensor, run)
    everything = lambda *xs: [value_and_both_derivatives(op, *xs[where]) for op, where in calls]  # noqa: E731
    found = iter(run_on(target, everything, *inputs))
    for (op, _), expected in zip(calls, everything(*inputs), strict=True):
        same([next(found) for _ in expected], expected, tolerance=1e-10 if target == "jax" else 1e-12, what=str(op))
    assert next(found, None) is None


# ---------------------------------------------------------------------------------------------------------------------
# Random programs; test_hunt has those of NumPy and Python, in many ways


few = settings(max_examples=8, deadline=None, phases=[Phase.generate, Phase.shrink])
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:.*degrees of freedom:UserWarning")


@quiet
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        pytest.param(*target.values, kind, marks=target.marks)
        for target, kind in itertools.product([*LOOPED, JAX], (Value, Tensor))
        if (target, kind) != (JAX, Value)
    ],
)
@few
@given(data=st.data())
def test_random_program_is_the_same_on_other_back_ends(target: str, kind: type, data: st.DataObject):
    program = data.draw(programs(kind))
    call = unwatched(program)
    everything = lambda *xs: [call(*xs), *gradient(call)(*xs)]  # noqa: E731
    same(run_on(target, everything, *nodes(program)), [x.data for x in everything(*nodes(program))], 1e-10)


@quiet
@pytest.mark.parametrize("target", ["numpy", *LOOPED, JAX])
@few
@given(data=st.data())
def test_random_program_of_integers_is_the_same_on_other_back_ends(target: str, data: st.DataObject):
    program: Integers = data.draw(integers(most=2**53 - 1 if target == "javascript" else np.inf))
    with np.errstate(all="ignore"):
        expected = [np.asarray(x) for x in program(*program.leaves)]
    for x, y in zip(run_on(target, unwatched(program), *map(Tensor, program.leaves)), expected, strict=True):
        assert x.dtype.newbyteorder("=") == y.dtype.newbyteorder("=")  # a view, or what is sorted, keeps its order
        assert x.tolist() == y.tolist()


@quiet
@pytest.mark.parametrize("target", ["numpy", C, JAX])
@few
@given(program=programs(Value))
def test_random_program_of_samples_is_the_same_on_every_back_end(target: str, program: Program):
    samples = np.array(program.leaves) * np.linspace(1.0, 1.001, 5)[:, None]

    def found(backend: str) -> list[list[float]]:
        loss = gradient(lambda xs: program(*xs), argnum=0)
        return [np.asarray(part).tolist() for part in micrograd.compile(loss, batch=True, backend=backend)(samples)]

    same(found(target), found("python"), 1e-11)


# ---------------------------------------------------------------------------------------------------------------------
# Functions of arrays, layers and losses: each is called, and differentiated twice through the call


def results(call: Callable, arrays: Any, parameters: Any = ()) -> list[Any]:
    """What it gives, and both derivatives by its arguments and parameters."""
    xs = [Tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    wanted = [x for x in xs if x.requires_grad] + list(parameters)
    out = call(*xs)
    first = grad((out**3).sum(), wanted, create_graph=True)
    second = grad(sum((g * g).sum() for g in first), wanted, allow_unused=True)
    return [
        out.detach().data,
        *(g.detach().data for g in first),
        *(0.0 if g is None else np.asarray(g) for g in second),
    ]


@pytest.mark.parametrize("backend", ON_ARRAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_arrays_is_the_same_compiled(name: str, backend: str):
    call, arrays = FUNCTIONS[name]
    compiled, parameters = micrograd.compile(call, backend=backend), getattr(call, "parameters", list)()
    for scale in (1.0, 1.25):
        scaled = [a * scale if a.dtype.kind == "f" else a for a in arrays]
        same(results(compiled, scaled, parameters), results(call, scaled, parameters), 1e-11)


@pytest.mark.parametrize("backend", ON_ARRAYS)
@pytest.mark.parametrize(
    "read", [lambda x, i: micrograd.sort(x), lambda x, i: x[i], lambda x, i: x[i, 0]], ids=["sort", "i", "i, 0"]
)
def test_constant_gradient_goes_back_to_places_that_the_program_computes(read: Callable, backend: str):
    slope, x, i = gradient(lambda x, i: (read(x, i) ** 1).sum()), Tensor(A, requires_grad=True), np.array([2, 0, 2])
    np.testing.assert_array_equal(micrograd.compile(slope, backend=backend)(x, i).data, slope(x, i).data)


@pytest.mark.parametrize("target", LOOPED)
def test_first_maximum_of_an_array_without_axes_is_the_number(target: str):
    (op,) = [op for op in OPS if op.name == "first_max"]
    assert looped(target, lambda x: [op.call(x), gradient(op.call)(x)], Tensor(3.0)) == [3.0, 1.0]


@pytest.mark.parametrize("backend", ON_ARRAYS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_network_trains_on_each_back_end_in_its_own_dtype(dtype: type, tolerance: float, backend: str):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 4)).astype(dtype), np.array([0, 2, 1, 1, 0, 2])

    def trained(backend: str | None) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(4, 8, rng=rng), nn.ReLU(), nn.LayerNorm1d(8), nn.Linear(8, 3, rng=rng))
        for p in model.parameters():
            p.data = p.data.astype(dtype)
        loss = lambda x, y: F.cross_entropy(model(x), y)  # noqa: E731
        optimizer = Adam(model.parameters())
        step = micrograd.compile(loss, update=optimizer, backend=backend or "auto")
        losses = [step(x, y).data if backend else eager_step(loss, optimizer, x, y) for _ in range(5)]
        remembered = [state[name] for state in optimizer.state.values() for name in ("mean", "squares")]
        return [*losses, *(p.data for p in model.parameters()), *remembered]

    same(trained(backend), trained(None), tolerance)


# ---------------------------------------------------------------------------------------------------------------------
# Functions of numbers

W = [Value(0.5), Value(-1.5), Value(1.0)]
OF_NUMPY = [np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2.0)]


def losses(x: Any) -> Any:
    scores = [x * p for p in W]
    chosen = F.cross_entropy(scores, 1) + F.logsumexp(scores) + F.mse(scores, [x, 1.0, 2.0])
    return chosen + F.hinge(scores, [1, -1, 1]) + F.bce_with_logits(scores, [0.0, 0.5, 1.0])


def detached(x: Any) -> Any:
    with no_grad():
        still = W[0] * x
    return W[0] * still + (W[0] * W[0]).detach() * x


OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "losses": losses,
    "what is detached": detached,
    "clips": lambda x: sum(micrograd.clip(w, 0, 1) * w + micrograd.clip(w, None, 0.5) for w in W) * x,
    "squares": lambda x: (-x) ** 2 + (0.01 * x) ** 2 + (x / 4) ** 2 + (2 * x) ** 2.0 + (x * 3) * (x * 3) + W[0] * x,
    "a square times its root": lambda x: (-x) ** 2 * (-x) * W[1],
    "numbers of NumPy": lambda x: sum((two + x) * (x - two) / (two / x) + x**two + two**x for two in OF_NUMPY) * W[0],
    "a power by Python's operators": lambda x: x ** W[0] + 2**x + x**3 + x**-1,
}


@pytest.mark.parametrize("batch", [False, True], ids=["a number", "samples"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_function_of_numbers_is_the_same_compiled(name: str, backend: str, batch: bool):
    f = OF_NUMBERS[name]
    compiled = micrograd.compile(f, backend=backend, batch=batch)

    def found(call: Callable, x: Any) -> list[float]:
        out = call(x)
        return [out.item(), *(0.0 if g is None else g for g in grad(out.sum() if batch else out, W, allow_unused=True))]

    def eagerly(x: float) -> list[float]:
        out = f(Value(x, requires_grad=False))
        return [out.data, *(0.0 if g is None else g for g in grad(out, W, allow_unused=True))]

    for x in (2.0, 0.7):
        assert near(found(compiled, np.array([x]) if batch else x), eagerly(x))


@pytest.mark.parametrize(
    "function",
    [lambda a, b: a + (b - 1.0), lambda a, b: a + (b + b), lambda a, b: a * (b / a), lambda a, b: b * (a * b)],
)
def test_program_computes_in_the_order_that_is_written(function: Any):
    compiled = micrograd.compile(function, backend="python")
    for point in ((1e-20, 1.0), (3e-17, 0.1), (1e300, 1e200), (0.1, 0.7)):
        a, b = map(Value, point)
        assert compiled(a, b).data == function(a, b).data


# ---------------------------------------------------------------------------------------------------------------------
# Numbers among arrays


@pytest.mark.parametrize("backend", ON_ARRAYS)
@pytest.mark.parametrize(
    "f",
    [
        lambda w, x: (w**3 * x).sum(),
        lambda w, x: (x - w * w).tanh().mean() / x,
        lambda w, x: w.maximum(x) @ (x**w),
        lambda w, x: np.hypot(x, w).sum() * x,
    ],
)
def test_number_alone_among_the_arguments_meets_the_tensors_that_are_closed_over(f: Callable, backend: str):
    w = Tensor([1.5, 4.0], requires_grad=True)
    compiled = micrograd.compile(lambda x: f(w, x), backend=backend)
    for x in (2.0, 3):
        pairs = [(compiled(x), f(w, x))]
        for _ in range(2):
            pairs.append(tuple(grad(out.sum(), w, create_graph=True)[0] for out in pairs[-1]))
        for found, expected in pairs:
            np.testing.assert_allclose(found.data, expected.data, rtol=1e-12)


@pytest.mark.parametrize(
    "f", [lambda w, x: (w**3 * x * x).sum(), lambda w, x: (x * (w * w * x).sum(keepdims=True)).exp() + x]
)
def test_number_that_is_differentiated_meets_them_too(f: Callable):
    w = Tensor([0.5, 0.4], requires_grad=True)

    def in_every_way(f: Callable) -> list[Any]:
        total = lambda x: f(x).sum()  # noqa: E731
        answers = [gradient(total)(0.3), micrograd.hessian(total)(0.3), micrograd.jvp(f, (0.3,), (1.0,))[1]]
        return [*answers, *(grad(x.sum() if isinstance(x, Tensor) else x, w)[0] for x in answers)]

    eager = lambda x: f(w, x)  # noqa: E731
    for found, expected in zip(in_every_way(micrograd.compile(eager)), in_every_way(eager), strict=True):
        np.testing.assert_allclose(getattr(found, "data", found), getattr(expected, "data", expected), rtol=1e-12)


def test_number_for_each_sample_does_not_meet_a_tensor():
    w = Tensor([1.5, 4.0], requires_grad=True)
    with pytest.raises(TypeError, match="unsupported operand"):
        micrograd.compile(lambda x: (w * x).sum(), batch=True)(np.ones(3))


def test_array_of_nodes_works_inside_a_compiled_function_but_is_no_result():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert micrograd.compile(lambda x, y: (matrix @ np.array([x, y])).sum())(5.0, 6.0).data == 56.0
    for f in (lambda x: matrix * x, lambda x: [np.array([x, x])]):
        with pytest.raises(TypeError, match=r"returns nodes, numbers, arrays, or lists.*found ndarray array"):
            micrograd.compile(f)(2.0)


POINTS = {
    "the argument": lambda x: x,
    "a choice": lambda x: np.where(x > 1.0, x * x, x),
    "a sum": lambda x: x.reshape(1).sum(),
    "no gradient": lambda x: Tensor(2.0) * 1.0 + 0 * x,
    "two": lambda x: (x, x * x),
}


@pytest.mark.parametrize("backend", ["eager", "python", C, JAX])
@pytest.mark.parametrize("name", POINTS)
def test_result_of_shape_0_is_a_number_of_numpy_on_every_back_end(name: str, backend: str):
    f = POINTS[name] if backend == "eager" else micrograd.compile(POINTS[name], backend=backend)
    x = np.array(3.0)
    hvp = lambda f: lambda x: micrograd.hvp(f)(x, np.array(1.0))  # noqa: E731
    jvp = lambda f: lambda x: micrograd.jvp(f, (x,), (np.array(1.0),))  # noqa: E731
    for transform in (gradient, micrograd.value_and_grad, micrograd.jacobian, micrograd.hessian, hvp, jvp):
        found, expected = (list(trees.leaves(transform(g)(x))) for g in (f, POINTS[name]))
        assert {type(part) for part in found} == {np.float64}
        assert found == expected


# ---------------------------------------------------------------------------------------------------------------------
# Integers, infinities, names: what languages and libraries do in ways of their own

INTEGERS = [np.array([-7, -1, 0, 3, 7, 2**31 - 1]), np.array([2, -3, 5, -2, 0, 3])]


@pytest.mark.parametrize("target", LOOPED)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "bool"])
def test_integers_are_exact_as_loops(dtype: str, target: str):
    of_all = [np.add, np.multiply, np.maximum, np.less, np.equal, np.absolute]
    ops = of_all if dtype == "bool" else [*of_all, np.floor_divide, np.remainder]
    operands = [a.astype(dtype) for a in INTEGERS]
    with np.errstate(all="ignore"):
        expected = [op(*operands[: op.nin]) for op in ops]
        expected += [] if dtype == "bool" else [(operands[1] % 6) ** n for n in range(4)]

    def each(*xs: Any) -> list[Any]:
        powers = [] if dtype == "bool" else [(xs[1] % 6) ** n for n in range(4)]
        return [*(op(*xs[: op.nin]) for op in ops), *powers]

    found = looped(target, each, *map(Tensor, operands))
    assert [(x.dtype, x.tolist()) for x in found] == [(x.dtype, x.tolist()) for x in expected]


SUBNORMAL = {2: 1e-4, 4: 1e-37, 8: 0.0}  # which XLA flushes to 0, by the size of the float


def of_integers(a: Any, b: Any) -> list[Any]:
    """What promotes integers and bools, or may wrap."""
    names = "exp log log1p sqrt sin tanh arctan sigmoid softplus floor ceil abs sign"
    names += " sum mean max min var std softmax logsumexp sort"
    found = [*(getattr(a, name)() for name in names.split()), a.cumsum(0)]
    found += [a + b, a * b, a / b, a // b, a % b, a**0.5, a * 2.5, a * 3, a @ b.T, a.clip(1.5, 50.0), a < b, a == b]
    found += [f(a, b) for f in (micrograd.maximum, micrograd.hypot, micrograd.arctan2, micrograd.logaddexp)]
    return [*found, micrograd.concatenate([a, b]), micrograd.where(a > b, a, b), micrograd.einsum("ij,kj->ik", a, b)]


@IN_JAX
@pytest.mark.parametrize("other", [None, np.float32], ids=["alike", "with float32"])
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u4", "u8", "?"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_are_promoted_by_jax_as_by_numpy(dtype: str, other: Any):
    a, b = np.array([[1, 2, 100], [4, 5, 90]]).astype(dtype), np.array([[2, 0, 3], [1, 7, 2]]).astype(other or dtype)

    def each(a: Any, b: Any) -> list[Any]:
        return of_integers(a, b) if dtype != "?" else [a.exp(), a.sum(), a.mean(), a.cumsum(0), a * 2.5, a / b, a + 1]

    f = micrograd.compile(each, backend="jax")
    for found, expected in zip(f(a, b), each(Tensor(a), Tensor(b)), strict=True):
        found, expected = (np.asarray(x.data if isinstance(x, Tensor) else x) for x in (found, expected))
        assert found.dtype == (expected.dtype if expected.dtype != bool else found.dtype)
        coarse = min(np.sqrt(a + b).dtype.itemsize, np.sqrt(a).dtype.itemsize, np.dtype(other or "f8").itemsize)
        tolerance = {2: 4e-3, 4: 1e-6, 8: 1e-14}[coarse]  # of float16, float32 and float64, also if intermediate
        np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=tolerance, atol=SUBNORMAL[coarse])


@IN_JAX
def test_large_integers_do_not_pass_through_floats_by_jax():
    a = np.array([2**62 + 1, 2**61 + 1, 3])
    sums = lambda x: [x.cumsum(0), x.sum(), x * 3, x.max(), x // 2, x.mean()]  # noqa: E731
    for found, expected in zip(micrograd.compile(sums, backend="jax")(a), sums(Tensor(a)), strict=True):
        assert (found.dtype, found.data.tolist()) == (expected.dtype, expected.data.tolist())


@pytest.mark.parametrize("target", LOOPED)
def test_loops_have_infinities_and_nan_as_numpy_has(target: str):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1.0])
    f = lambda x: [x * 2.0, 1.0 / x, x.exp(), x.log(), x.sqrt(), x.relu(), x.maximum(0.5), x.max(), x % 2.0]  # noqa: E731
    g = lambda x: [*f(x), 1.0**x, (-1.0) ** x, x**0, x.sign(), x.floor(), (x * 0.5).round(), x // 2.0]  # noqa: E731
    with np.errstate(all="ignore"):
        for a, b in zip(looped(target, g, x), g(Tensor(x)), strict=True):
            np.testing.assert_array_equal(a, b.data)


NAMES = {  # those that a program or its language has itself
    "of loops": lambda double, exp, unix, i, t1, NAN, é: double * exp + unix / i - t1 * é + NAN,
    "of Python": lambda leaves, exp, t1, abs, inf, p, np: W[0] * leaves + (exp * t1 * 0.1).exp() * abs + inf / p + np,
    "of NumPy": lambda stock, buffers, answer, k1, x_0, x, np: stock * buffers + answer * k1 - x_0 * x * W[1] + np,
}


@pytest.mark.parametrize("target", ["python", "numpy", *LOOPED])
@pytest.mark.parametrize("name", NAMES)
def test_arguments_may_have_names_that_programs_use(name: str, target: str):
    numbers = [Value(x) for x in (2.0, 3.0, 4.0, 8.0, 5.0, 1.0, 6.0)]
    same(run_on(target, NAMES[name], *numbers), [NAMES[name](*numbers).data])
