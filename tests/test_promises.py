"""What the library promises, in the README's order, each promise in a few lines.

Begin here to learn what micrograd does. The folders beside this file test each promise in depth.
"""

import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import micrograd
from micrograd import Function, Tensor, Value, functional, nn, optim, viz

ROOT = Path(__file__).parents[1]


# ---- Try it: numbers that remember
def test_value_keeps_what_it_was_computed_from():
    a, b = Value(2.0), Value(-3.0)
    c = a * b
    assert c.data == -6.0
    assert (set(c._prev), c._op) == ({a, b}, "*")


def test_backward_gives_each_leaf_the_derivative_of_the_root():
    x = Value(0.5)
    (x.tanh() * x + 3).backward()
    assert x.grad == pytest.approx(math.tanh(0.5) + 0.5 * (1 - math.tanh(0.5) ** 2))


def test_backward_adds_up_where_a_node_is_used_twice():
    x = Value(3.0)
    (x * x + x).backward()
    assert x.grad == 7.0


def test_backward_follows_a_graph_of_a_hundred_thousand_nodes():
    y = x = Value(1.0)
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad == 1.0


def test_classic_code_runs_unchanged():
    from micrograd.engine import Value
    from micrograd.nn import MLP

    random.seed(1337)
    model = MLP(3, [4, 4, 1])
    loss = (model([2.0, 3.0, -1.0]) - 1.0) ** 2
    model.zero_grad()
    loss.backward()
    assert len(model.parameters()) == 41
    assert isinstance(model.parameters()[0], Value)
    for p in model.parameters():
        p.data -= 0.01 * p.grad
    assert ((model([2.0, 3.0, -1.0]) - 1.0) ** 2).data < loss.data


def test_engine_needs_the_standard_library_alone():
    program = "import sys, micrograd.engine; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# ---- See it
def test_draw_dot_needs_no_program():
    assert "<svg" in viz.draw_dot(Value(2.0, label="a") * 3).svg()


def test_player_is_one_page_that_asks_no_other_host(tmp_path):
    viz.player(Value(2.0, label="a") * 3).save(tmp_path / "graph.html")
    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert "<script src" not in page
    assert 'href="http' not in page


def test_movie_records_a_training_run(tmp_path):
    random.seed(0)
    model, X, y = nn.MLP(2, [3, 1]), [[0.0, 1.0], [1.0, 0.0]], [1, -1]
    movie = viz.movie(model, X, y)
    movie.frame(1.0)
    movie.save(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size > 10_000


# ---- Train it
def test_network_of_values_and_network_of_tensors_give_the_same_gradients():
    random.seed(0)
    scalars = nn.MLP(2, [3, 1])
    hidden, out = scalars.layers
    w = [Tensor([[p.data for p in n.w] for n in layer.neurons], requires_grad=True) for layer in (hidden, out)]
    b = [Tensor([n.b.data for n in layer.neurons], requires_grad=True) for layer in (hidden, out)]
    (scalars([0.5, -1.0]) ** 2).backward()
    arrays = ((Tensor([0.5, -1.0]) @ w[0].T + b[0]).relu() @ w[1].T + b[1]) ** 2
    arrays.sum().backward()
    assert np.allclose(w[0].grad, [[p.grad for p in n.w] for n in hidden.neurons])
    assert np.allclose(b[1].grad, [n.b.grad for n in out.neurons])


def test_tensor_sums_the_gradient_of_what_was_broadcast():
    row = Tensor([1.0, 2.0], requires_grad=True)
    (Tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]) * row).sum().backward()
    assert row.grad.tolist() == [6.0, 6.0]


def test_tensor_takes_numpys_functions():
    x = Tensor([1.0, 4.0], requires_grad=True)
    np.concatenate([np.sqrt(x), x]).sum().backward()
    assert x.grad.tolist() == [1.5, 1.25]


# ---- Use it: gradients
def test_gradient_gives_the_derivative_of_a_function():
    assert micrograd.gradient(lambda x: x**3)(2.0) == pytest.approx(12.0)


def test_gradient_nests():
    assert micrograd.gradient(micrograd.gradient(lambda x: x**3))(2.0) == pytest.approx(12.0)


def test_hessian_is_the_matrix_of_second_derivatives():
    found = micrograd.hessian(lambda v: v[0] ** 2 * v[1])(np.array([2.0, 3.0]))
    assert np.allclose(found, [[6.0, 4.0], [4.0, 0.0]])


def test_jacobian_has_a_row_for_each_result():
    assert np.allclose(micrograd.jacobian(lambda v: v * v)(np.array([1.0, 2.0])), [[2.0, 0.0], [0.0, 4.0]])


def test_jvp_gives_value_and_directional_derivative():
    value, tangent = micrograd.jvp(lambda x: x * x, (3.0,), (1.0,))
    assert (value, tangent) == (9.0, 6.0)


def test_no_grad_records_nothing():
    with micrograd.no_grad():
        y = Value(2.0) * 3
    assert y._prev == ()


# ---- networks, losses, training
def test_losses_take_values_and_tensors():
    logits, labels = [[2.0, 0.0, -1.0]], [0]
    of_values = functional.cross_entropy([[Value(x) for x in logits[0]]], labels)
    assert of_values.data == pytest.approx(functional.cross_entropy(Tensor(logits), labels).item())


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
def test_optimizers_find_a_minimum(kind):
    x = Value(3.0)
    optimizer = kind([x], lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        ((x - 1) ** 2).backward()
        optimizer.step()
    assert x.data == pytest.approx(1.0, abs=0.05)


# ---- speed
def test_compile_gives_the_numbers_of_the_function():
    random.seed(0)
    model = nn.MLP(2, [4, 1])
    loss = lambda x: (model(x) - 1) ** 2  # noqa: E731
    eager = loss([0.5, -0.5])
    eager.backward()
    wanted = [p.grad for p in model.parameters()]
    model.zero_grad()
    compiled = micrograd.compile(loss)([0.5, -0.5])
    compiled.backward()
    assert compiled.data == pytest.approx(eager.data)
    assert [p.grad for p in model.parameters()] == pytest.approx(wanted)


def test_compile_reads_parameters_anew():
    w = Value(2.0)
    f = micrograd.compile(lambda x: w * x)
    assert f(3.0).data == 6.0
    w.data = 5.0
    assert f(3.0).data == 15.0


def test_compile_refuses_what_it_would_freeze():
    f = micrograd.compile(lambda x: x * 2 if x > 0 else x)
    with pytest.raises(RuntimeError, match="where"):
        f(Value(1.0))


def test_compile_with_update_is_a_training_step():
    w = Value(3.0)
    step = micrograd.compile(lambda: (w - 1) ** 2, update=optim.SGD([w], lr=0.25))
    assert [step().data for _ in range(2)] == [4.0, 1.0]
    assert w.data == 1.5


# ---- mistakes found
def test_gradcheck_finds_a_wrong_derivative():
    def square(x):
        out = Value(x.data**2, (x,), "square")
        out._backward = lambda: setattr(x, "grad", x.grad + out.grad * x.data)  # the factor 2 is missing
        return out

    with pytest.raises(AssertionError):
        micrograd.gradcheck(square, 3.0)


def test_detect_anomaly_names_the_operation_that_gave_nan():
    x = Value(0.0)
    with pytest.raises(RuntimeError, match="nan"), micrograd.detect_anomaly():
        (x * x.log()).backward()


def test_strict_warns_when_gradients_add_up_over_steps():
    x = Value(1.0)
    optimizer = optim.SGD([x], lr=0.1)

    @micrograd.strict()
    def train():
        for _ in range(2):
            (x * x).backward()
            optimizer.step()

    with pytest.warns(UserWarning, match="zero_grad"):
        train()


def test_shapes_that_do_not_fit_say_what_to_write():
    with pytest.raises(ValueError, match=r"did you mean a @ b\.T"):
        Tensor(np.ones((2, 3))) @ Tensor(np.ones((2, 3)))


def test_backward_twice_adds_the_right_amount():
    x = Value(3.0)
    y = x * x
    y.backward()
    y.backward()
    assert x.grad == 12.0


# ---- an operation of yours
def test_backward_closure_makes_an_operation():
    x = Value(3.0)
    out = Value(x.data**3, (x,), "cube")

    def _backward():
        x.grad += 3 * x.data**2 * out.grad

    out._backward = _backward
    (out * 2).backward()
    assert x.grad == 54.0


def test_function_makes_an_operation_on_arrays():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = Tensor([1.0, 2.0], requires_grad=True)
    Cube.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


# ---- files
def test_save_and_load_restore_a_model(tmp_path):
    first, second = nn.Sequential(nn.Linear(2, 1)), nn.Sequential(nn.Linear(2, 1))
    nn.saving.save(first, tmp_path / "model.safetensors")
    nn.saving.load(tmp_path / "model.safetensors", into=second)
    x = Tensor([[1.0, 2.0]])
    assert first(x).data.tolist() == second(x).data.tolist()


# ---- How it differs
def test_data_is_a_float_and_a_plain_number_has_no_gradient():
    x = Value(2)
    y = x + 1
    assert type(x.data) is float
    assert len([node for node in y._prev if node.requires_grad]) == 1


def test_value_requires_a_gradient_and_a_tensor_is_asked():
    assert Value(1.0).requires_grad
    assert not Tensor([1.0]).requires_grad


# ---- Read it
def test_one_page_and_the_package_agree_to_the_last_bit():
    page = {"__name__": "page"}
    exec((ROOT / "demos" / "one_page.py").read_text(encoding="utf-8"), page)
    grads = []
    for kind in (Value, page["Value"]):
        x, w = kind(0.7), kind(-1.3)
        ((x * w + 2) ** 3 / (x - w)).backward()
        grads.append((x.grad, w.grad))
    assert grads[0] == grads[1]
