"""Layers of Tensors: what they compute, what they hold, and that PyTorch's do the same."""

import copy
import random

import numpy as np
import pytest

from micrograd import nn
from micrograd.engine import Value
from micrograd.nn import layers
from micrograd.tensor import Tensor
from micrograd.tensor.randomness import manual_seed


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# ---------------------------------------------------------------------------------------------------------------------
# Parameter, and how a module finds what it holds


def test_values_and_tensors_may_stand_in_one_module():
    class Both(nn.Module):
        def __init__(self):
            self.number, self.array = [Value(1.0), Value(2.0)], nn.Parameter([3.0])

    both = Both()
    assert [name for name, _ in both.named_parameters()] == ["number.0", "number.1", "array"]
    both.load_state_dict({"number": [5, 6], "array": [7]})
    assert [both.number[0].data, both.number[1].data, both.array.item()] == [5.0, 6.0, 7.0]
    for p in both.parameters():
        (p * 2).backward()
    both.zero_grad()
    assert [p.grad for p in both.parameters()] == [0, 0, None]


def test_modules_are_listed_outermost_first_and_once():
    inner = nn.ReLU()
    model = nn.Sequential(nn.Sequential(inner, nn.Flatten()), inner)
    assert model.modules() == [model, model[0], inner, model[0][1]]


def test_train_and_eval_reach_every_module_below():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.BatchNorm1d(2)))
    assert model.eval() is model
    assert [m.training for m in model.modules()] == [False] * 4
    assert [m.training for m in model.train().modules()] == [True] * 4


def test_repr_shows_the_tree():
    class Net(nn.Module):
        def __init__(self):
            self.body = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Sequential(nn.Dropout(0.1)))
            self.heads = [nn.Embedding(5, 2), nn.BatchNorm1d(2), nn.MaxPool2d(2), nn.AvgPool2d(3, 1)]
            self.me = self

    assert repr(Net()) == (
        "Net(\n"
        "  (body): Sequential(\n"
        "    (0): Linear(in_features=2, out_features=3, bias=False)\n"
        "    (1): Sequential(\n"
        "      (0): Dropout(p=0.1)\n"
        "    )\n"
        "  )\n"
        "  (heads.0): Embedding(5, 2)\n"
        "  (heads.1): BatchNorm1d(2, eps=1e-05, momentum=0.1)\n"
        "  (heads.2): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1)\n"
        "  (heads.3): AvgPool2d(kernel_size=3, stride=1, padding=0)\n"
        "  (me): (...)\n"
        ")"
    )


def test_every_layer_is_exported():
    public = {name for name, x in vars(layers).items() if isinstance(x, type) and x.__module__ == layers.__name__}
    missing = {name for name in public if not name.startswith("_")} - set(nn.__all__)
    assert not missing, "each needs a line in `__all__` of micrograd/nn/__init__.py, and one in the import above it"


# ---------------------------------------------------------------------------------------------------------------------
# State


def test_state_is_loaded_in_place_so_that_what_shares_the_memory_follows(rng):
    linear = nn.Linear(2, 1, rng=rng)
    same = linear.weight.detach()
    linear.load_state_dict({"weight": [[5.0, 6.0]], "bias": [0.0]})
    assert same.tolist() == [[5.0, 6.0]]
    assert linear.weight.is_leaf


# ---------------------------------------------------------------------------------------------------------------------
# Linear


def test_weights_and_drops_follow_the_seed_of_the_package_or_the_generator_given():
    def drawn(**given):
        return nn.Linear(2, 2, **given).weight.tolist(), nn.Dropout(**given)(np.ones(20)).tolist()

    manual_seed(3)
    first = drawn()
    manual_seed(3)
    assert drawn() == first
    assert drawn(rng=np.random.default_rng(1)) == drawn(rng=np.random.default_rng(1)) != first


def test_dtype_is_kept_from_the_inputs_to_the_gradients():
    model = nn.Sequential(
        nn.Linear(3, 4, dtype=np.float32), nn.BatchNorm1d(4, dtype=np.float32), nn.Dropout(),
        nn.LayerNorm1d(4, dtype=np.float32), nn.GELU(),
    )  # fmt: skip
    out = model(np.ones((2, 3), np.float32))
    assert out.dtype == np.float32
    out.sum().backward()
    assert {p.grad.dtype for p in model.parameters()} == {np.dtype(np.float32)}
    assert model[1].running_mean.dtype == np.float32


def test_layers_from_neurons_and_back_keep_every_bit_and_draw_no_number(rng):
    linear = nn.Linear(3, 2, rng=rng)
    before, drawn = random.getstate(), copy.deepcopy(rng.bit_generator.state)
    layer = linear.to_neurons(nonlin=True, activation="tanh")
    twin = nn.Linear.from_neurons(layer)
    assert (random.getstate(), rng.bit_generator.state) == (before, drawn)
    assert (twin.weight == linear.weight).all()
    assert (twin.bias == linear.bias).all()
    assert [v.data for v in layer([1.0, 2.0, 3.0])] == pytest.approx(twin([1.0, 2.0, 3.0]).tanh().tolist(), rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Normalisation; tests/nn/test_convolution.py compares each layer with PyTorch's


def test_running_statistics_are_pytorchs_after_several_batches_and_used_in_eval(rng):
    torch = pytest.importorskip("torch")
    ours, theirs = nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).double()
    for n in (5, 2, 9):
        x = rng.standard_normal((n, 3)) * 2 + 1
        ours(x), theirs(torch.from_numpy(x))
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        assert getattr(ours, name).data == pytest.approx(getattr(theirs, name).numpy(), rel=1e-12)
    x = rng.standard_normal((1, 3))
    expected = theirs.eval()(torch.from_numpy(x)).detach().numpy()
    (twin := nn.BatchNorm1d(3)).load_state_dict(ours.state_dict())
    for layer in (ours, twin):
        assert layer.eval()(x).detach().data == pytest.approx(expected, rel=1e-12)
        assert layer.num_batches_tracked.item() == 3


# ---------------------------------------------------------------------------------------------------------------------
# Dropout, Embedding, Flatten


def test_dropout_drops_its_part_and_keeps_the_mean(rng):
    out = nn.Dropout(0.25, rng=rng)(np.ones((100, 100))).data
    assert set(np.unique(out)) == {0.0, 1 / 0.75}
    assert (out == 0).mean() == pytest.approx(0.25, abs=0.02)


def test_dropout_of_nothing_in_use_and_of_everything():
    x = Tensor(np.ones(4))
    assert nn.Dropout().eval()(x) is x
    assert nn.Dropout(0.0)(x) is x
    assert nn.Dropout(1.0)(x).tolist() == [0.0] * 4


@pytest.mark.parametrize("p", [0.3, 1.0])
def test_dropout_makes_floats_of_integers(p, rng):
    out = nn.Dropout(p, rng=rng)(np.arange(1, 9))
    assert out.dtype == float
    assert set(out.tolist()) <= {0.0, *(np.arange(1, 9) / 0.7)}


def test_embedding_adds_up_the_gradients_of_what_is_looked_up_twice(rng):
    table = nn.Embedding(4, 2, rng=rng)
    out = table([[1, 2], [1, 1]])
    assert out.shape == (2, 2, 2)
    out.sum().backward()
    assert table.weight.grad.tolist() == [[0.0, 0.0], [3.0, 3.0], [1.0, 1.0], [0.0, 0.0]]
    assert (table(Tensor([2])) == table.weight[2]).all()


# ---------------------------------------------------------------------------------------------------------------------
# Wrong inputs


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: nn.Parameter([1, 2]), RuntimeError, "int64"),
        (lambda: nn.Linear(0, 1), ValueError, "in_features must be at least 1, found 0"),
        (lambda: nn.Linear(1, 2.5), TypeError, "out_features must be a whole number"),
        (lambda: nn.Linear(1, 1, rng=3), TypeError, "rng must be a NumPy Generator"),
        (lambda: nn.Linear(3, 1)(np.ones((3, 2))), ValueError, r"Linear\(.*3 features .* found shape \(3, 2\)"),
        (lambda: nn.Linear(3, 1)(1.0), ValueError, r"found shape \(\)"),
        (lambda: nn.LayerNorm1d(3)(np.ones((3, 1))), ValueError, r"LayerNorm1d\(3.* 3 features .* shape \(3, 1\)"),
        (lambda: nn.BatchNorm1d(3)(np.ones((3, 1))), ValueError, r"shape \(n, 3\) or \(n, 3, length\), found \(3, 1\)"),
        (lambda: nn.BatchNorm1d(3)(np.ones((1, 3))), ValueError, "each feature has 1 values"),
        (lambda: nn.Dropout(1.5), ValueError, "from 0 to 1; found 1.5"),
        (lambda: nn.Dropout(rng=5), TypeError, "rng must be a NumPy Generator"),
        (
            lambda: nn.Embedding(4, 2)([4]),
            IndexError,
            r"indices\[0\] is 4: with 4 embeddings it must be from 0 to 3, since indices count from 0",
        ),
        (lambda: nn.Embedding(4, 2)([-1]), IndexError, r"indices\[0\] is -1"),
        (lambda: nn.Embedding(4, 2)([0.5]), TypeError, "looked up by integers, found dtype float64"),
        (lambda: nn.Sequential(nn.ReLU(), "tanh"), TypeError, "layer 1 must be a module or a function, found str"),
        (lambda: nn.Sequential([nn.ReLU()]), TypeError, "layer 0 must be a module or a function, found list"),
    ],
)
def test_wrong_uses_are_told_what_is_wrong(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()
