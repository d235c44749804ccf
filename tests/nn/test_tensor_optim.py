"""Optimizers of Tensors: PyTorch's steps, and what shares memory with a parameter."""

import copy
import pickle

import numpy as np
import pytest

from micrograd import nn
from micrograd.engine import Value
from micrograd.nn.batches import batches
from micrograd.optim import SGD, Adam, AdamW, clip_grad_norm
from micrograd.tensor import Tensor
from micrograd.tensor.randomness import generator, manual_seed

SETTINGS = [
    (SGD, {"lr": 0.05}),
    (SGD, {"lr": 0.05, "weight_decay": 0.1}),
    (SGD, {"lr": 0.02, "momentum": 0.9}),
    (SGD, {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.1}),
    (SGD, {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    (Adam, {}),
    (Adam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    (Adam, {"lr": 0.1, "weight_decay": 0.1}),
    (AdamW, {"lr": 0.1}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.5}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.0, "betas": (0.0, 0.0)}),
]
START = [np.array([[1.5, -0.7], [0.2, 3.0]]), np.array([0.5, -0.5]), np.array(2.0)]
X = np.array([[0.3, 1.0], [-1.2, 0.4], [2.0, 0.1]])


def loss_of(matrix, vector, scale, x):
    """Something with curvature, in whichever package's arrays; of shapes (2, 2), (2,) and ()."""
    return (((x @ matrix + vector).tanh() * scale - x) ** 2).sum()


def descend(optimizer, params, x, steps=10):
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(*params, x).backward()
        optimizer.step()
    return params


def leaves(dtype=float):
    return [Tensor(a, dtype=dtype, requires_grad=True) for a in START]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_ten_steps_equal_pytorchs(kind, settings):
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(a, requires_grad=True) for a in START]
    descend(getattr(torch.optim, kind.__name__)(theirs, **settings), theirs, torch.from_numpy(X))
    ours = leaves()
    for p, q in zip(descend(kind(ours, **settings), ours, X), theirs, strict=True):
        assert p.detach().data == pytest.approx(q.detach().numpy(), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_arrays_move_as_the_same_numbers_as_values_do(kind, settings):
    array, values = Tensor([1.0, -2.0], requires_grad=True), [Value(1.0), Value(-2.0)]
    first, second = kind([array], **settings), kind(values, **settings)
    for _ in range(5):
        first.zero_grad(), second.zero_grad()
        (array**4).sum().backward(), sum(v**4 for v in values).backward()
        first.step(), second.step()
    assert array.tolist() == pytest.approx([v.data for v in values], rel=1e-13)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_single_precision_stays_single(kind, settings):
    params = leaves(np.float32)
    optimizer = kind(params, **settings)
    descend(optimizer, params, X.astype(np.float32), 3)
    assert {p.dtype for p in params} == {np.dtype(np.float32)}
    kept = [x for state in optimizer.state.values() for x in state.values() if not isinstance(x, int)]
    assert {x.dtype for x in kept} <= {np.dtype(np.float32)}


def test_zero_grad_and_reset_grad_make_grads_none():
    p, q = Tensor([1.0], requires_grad=True), Value(1.0)
    for forget in (SGD([p, q], 0.1).zero_grad, SGD([p, q], 0.1).reset_grad):
        (p * 2).backward(), (q * 2).backward()
        forget()
        assert (p.grad, q.grad, type(q.grad)) == (None, 0, int)


def test_a_parameter_that_no_pass_has_reached_stays_where_it_is():
    p, q = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    optimizer = AdamW([p, q], lr=0.1)
    (p * 2).backward()
    optimizer.step()
    assert p.tolist() != [1.0]
    assert q.tolist() == [1.0]
    assert optimizer.state[q] == {}


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_a_step_is_in_place_so_that_views_and_detached_tensors_follow(kind, settings):
    p = Tensor([[1.0, 2.0]], requires_grad=True)
    turned, same, array = p.T.detach(), p.detach(), p.data
    optimizer = kind([p], **settings)
    (p * p).sum().backward()
    optimizer.step()
    assert p.tolist() != [[1.0, 2.0]]
    assert turned.tolist() == [[p.tolist()[0][0]], [p.tolist()[0][1]]]
    assert same.tolist() == array.tolist() == p.tolist()
    assert p.is_leaf


def test_a_step_while_a_graph_and_a_view_still_need_the_weights_moves_the_view_and_fails_the_next_pass():
    p = Tensor([1.0, 2.0], requires_grad=True)
    view = p[:1].detach()
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    SGD([p], lr=0.25).step()
    assert p.tolist() == [0.5, 1.0]
    assert view.tolist() == [0.5]
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()


def test_a_step_does_not_touch_the_gradient_nor_keep_it():
    p = Tensor([1.0], requires_grad=True)
    optimizer = SGD([p], lr=0.5, momentum=0.9)
    (p * p).backward()
    grad = p.grad
    optimizer.step()
    grad += 100
    p.grad = np.zeros(1)
    optimizer.step()
    assert p.tolist() == pytest.approx([1.0 - 0.5 * 2.0 - 0.5 * 0.9 * 2.0])


def test_gradients_that_are_tensors_are_used_as_arrays():
    p = Tensor([1.0, 2.0], requires_grad=True)
    (p**3).sum().backward(create_graph=True)
    assert clip_grad_norm([p], 1e9) == pytest.approx(np.hypot(3.0, 12.0))
    SGD([p], lr=0.5).step()
    assert p.tolist() == [-0.5, -4.0]
    assert p.is_leaf


@pytest.mark.parametrize("max_norm", [0.5, 5.0, 1000.0])
def test_clipping_equals_pytorchs(max_norm):
    torch = pytest.importorskip("torch")
    theirs, ours = [torch.tensor(a, requires_grad=True) for a in START], leaves()
    loss_of(*theirs, torch.from_numpy(X)).backward()
    loss_of(*ours, X).backward()
    norm = torch.nn.utils.clip_grad_norm_(theirs, max_norm)
    assert clip_grad_norm(ours, max_norm) == pytest.approx(norm.item(), rel=1e-12)
    for p, q in zip(ours, theirs, strict=True):
        assert p.grad == pytest.approx(q.grad.numpy(), rel=1e-12)


def test_clipping_is_over_values_and_tensors_together():
    p, v = Tensor([0.0, 0.0], requires_grad=True), Value(0.0)
    p.grad, v.grad = np.array([3.0, 0.0]), 4.0
    assert clip_grad_norm([p, v], 1.0) == 5.0
    assert [*p.grad, v.grad] == pytest.approx([0.6, 0.0, 0.8], rel=1e-6)


def test_the_norm_of_arrays_does_not_overflow_where_a_square_would():
    p = Tensor(np.zeros(2, np.float32), requires_grad=True)
    p.grad = np.array([3e30, 4e30], np.float32)
    assert clip_grad_norm([p], 1.0) == pytest.approx(5e30)
    assert p.grad == pytest.approx(np.array([0.6, 0.8]), rel=1e-5)
    assert p.grad.dtype == np.float32


def test_clipping_takes_empty_and_zero_gradients_and_does_not_hide_a_nan():
    empty, zero = Tensor(np.zeros((0, 3)), requires_grad=True), Tensor([0.0], requires_grad=True)
    empty.grad, zero.grad = np.zeros((0, 3)), np.zeros(1)
    assert clip_grad_norm([empty, zero], 1.0) == 0.0
    zero.grad = np.array([np.nan])
    assert np.isnan(clip_grad_norm([empty, zero], 1.0))
    assert np.isnan(zero.grad).all()


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_a_restored_optimizer_goes_on_as_if_nothing_had_happened(kind, settings):
    whole, first = leaves(), leaves()
    descend(kind(whole, **settings), whole, X, 6)
    optimizer = kind(first, **settings)
    descend(optimizer, first, X, 3)
    second = copy.deepcopy(first)
    restored = kind(second, lr=99.0, momentum=0.1) if kind is SGD else kind(second, lr=99.0)
    restored.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    descend(restored, second, X, 3)
    assert [p.tolist() for p in second] == [p.tolist() for p in whole]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros(3), r"a mean that has shape \(3,\), not \(2,\)"),
        (np.zeros(2), "a mean that has dtype float64, which does not fit into float32"),
        (np.zeros(2, complex), "a mean that has dtype complex128"),
        ([0.0, 0.0], "a mean that is a list, not an array"),
        (0.5, "a mean that is a float, not an array"),
    ],
)
def test_a_state_of_other_shapes_or_dtypes_is_refused_and_changes_nothing(wrong, message):
    def make():
        p = Tensor([1.0, 2.0], dtype="float32", requires_grad=True)
        optimizer = Adam([p], lr=0.5)
        (p * p).sum().backward()
        optimizer.step()
        return optimizer

    optimizer, state = make(), make().state_dict()
    state["settings"]["lr"], state["state"][0]["mean"] = 0.1, wrong
    before = optimizer.state_dict()
    with pytest.raises(ValueError, match=f"nothing was loaded: parameter 0 has {message}"):
        optimizer.load_state_dict(state)
    assert repr(optimizer.state_dict()) == repr(before)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (lambda: Tensor([1.0], requires_grad=True), TypeError, "found Tensor: put the parameters in a list"),
        (lambda: [Tensor([1.0])], ValueError, "parameter 0 of SGD is a constant"),
        (lambda: [Tensor([1.0], requires_grad=True) * 2], ValueError, r"parameter 0 of SGD is the result of '\*'"),
        (lambda: [nn.Parameter([1.0])] * 2, ValueError, "parameter 1 of SGD is in the list twice"),
        (lambda: [np.ones(2)], TypeError, "parameter 0 of SGD is a ndarray, not a Value or a Tensor"),
    ],
)
def test_what_are_no_parameters_is_refused(params, error, message):
    with pytest.raises(error, match=message):
        SGD(params(), lr=0.1)


# ---------------------------------------------------------------------------------------------------------------------
# Mini-batches


def test_batches_are_every_sample_once_in_step_and_shuffled():
    x, y = np.arange(10), np.arange(10) * 2
    parts = list(batches(x, y, size=4, rng=np.random.default_rng(0)))
    assert [len(a) for a, _ in parts] == [4, 4, 2]
    assert all((b == 2 * a).all() for a, b in parts)
    order = [int(i) for a, _ in parts for i in a]
    assert sorted(order) == [*range(10)] != order


def test_batches_follow_the_generator_and_the_seed_of_the_package():
    def order(**kwargs):
        return [x.tolist() for (x,) in batches(np.arange(20), size=7, **kwargs)]

    a, b = (order(rng=np.random.default_rng(4)) for _ in range(2))
    manual_seed(1)
    first = order()
    assert order() != first
    manual_seed(1)
    assert order() == first
    assert a == b != first
    assert generator() is generator()


def test_batches_of_tensors_are_tensors():
    ((x, y),) = batches(Tensor([[1.0], [2.0]], requires_grad=True), ["a", "b"], size=10)
    assert x.requires_grad
    assert set(y) == {"a", "b"}


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_the_shares_of_all_workers_make_up_each_batch(workers):
    samples = np.arange(23)

    def of(share):
        return list(batches(samples, samples * 2, size=10, rng=np.random.default_rng(0), share=share))

    for whole, *parts in zip(of((0, 1)), *(of((rank, workers)) for rank in range(workers)), strict=True):
        for i in (0, 1):
            assert np.concatenate([part[i] for part in parts]).tolist() == whole[i].tolist()
        sizes = [len(part[0]) for part in parts]
        assert max(sizes) - min(sizes) <= 1
        assert {part.whole for part in parts} == {len(whole[0])}


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: batches(size=2), ValueError, "needs at least one array"),
        (lambda: batches([1, 2], [1], size=2), ValueError, "the arrays have 2, 1 samples"),
        (lambda: batches([1, 2], size=0), ValueError, "at least 1; found 0"),
        (lambda: batches([1, 2], size=1.5), ValueError, "found 1.5"),
        (lambda: batches(np.array(1.0), size=1), ValueError, "samples along its first axis"),
        (lambda: batches([1, 2], size=1, rng=7), TypeError, "rng must be a NumPy Generator"),
        (
            lambda: batches([1, 2], size=1, share=(2, 2)),
            ValueError,
            r"there is no share \(2, 2\): workers are",
        ),
        (lambda: batches([1, 2], size=1, share=(-1, 2)), ValueError, "numbered from 0"),
        (lambda: batches([1, 2], size=1, share=(0, 0)), ValueError, "numbered from 0"),
        (lambda: batches([1, 2], size=1, share=(0.0, 2)), TypeError, "share= takes"),
        (lambda: batches([1, 2], size=1, share=2), TypeError, "the number of workers.*, found 2"),
        (lambda: batches([1, 2], size=1, share=None), TypeError, "share= takes"),
    ],
)
def test_wrong_batches_are_refused_at_the_call(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()
