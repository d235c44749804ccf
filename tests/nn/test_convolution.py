"""Convolution and pooling: PyTorch's numbers and gradients, to the second order, and compiled."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from micrograd import compile, grad, nn
from micrograd import functional as F
from micrograd.tensor import Tensor

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")  # PyTorch's

CALLS = {
    "conv": (lambda f, x, w, b: f.conv2d(x, w, b), (2, 3, 6, 5), (4, 3, 3, 2)),
    "conv without a bias": (lambda f, x, w, b: f.conv2d(x, w), (2, 3, 6, 5), (4, 3, 3, 2)),
    "conv of one number": (lambda f, x, w, b: f.conv2d(x, w, b), (2, 3, 4, 4), (4, 3, 1, 1)),
    "conv of one picture": (lambda f, x, w, b: f.conv2d(x, w, b), (3, 6, 5), (4, 3, 3, 2)),
    "stride": (lambda f, x, w, b: f.conv2d(x, w, b, stride=2), (2, 3, 7, 6), (4, 3, 3, 2)),
    "two strides": (lambda f, x, w, b: f.conv2d(x, w, b, stride=(3, 1)), (2, 3, 7, 6), (4, 3, 2, 2)),
    "padding": (lambda f, x, w, b: f.conv2d(x, w, b, padding=(2, 1)), (2, 3, 4, 3), (4, 3, 3, 2)),
    "dilation": (lambda f, x, w, b: f.conv2d(x, w, b, dilation=(2, 3)), (2, 3, 7, 7), (4, 3, 3, 2)),
    "groups": (lambda f, x, w, b: f.conv2d(x, w, b, groups=2), (2, 6, 5, 4), (4, 3, 3, 2)),
    "each channel by itself": (lambda f, x, w, b: f.conv2d(x, w, b, groups=4), (2, 4, 5, 4), (4, 1, 3, 2)),
    "all at once": (
        lambda f, x, w, b: f.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        (2, 6, 5, 4),
        (4, 3, 3, 2),
    ),
    "same": (lambda f, x, w, b: f.conv2d(x, w, b, padding="same", dilation=(1, 3)), (2, 3, 6, 5), (4, 3, 3, 4)),
    "valid": (lambda f, x, w, b: f.conv2d(x, w, b, padding="valid"), (2, 3, 6, 5), (4, 3, 3, 2)),
    "max": (lambda f, x, w, b: f.max_pool2d(x, 2), (2, 3, 6, 5), ()),
    "max, windows that overlap": (lambda f, x, w, b: f.max_pool2d(x, (3, 2), stride=1), (2, 3, 6, 5), ()),
    "max, padded": (lambda f, x, w, b: f.max_pool2d(x, 3, padding=1, dilation=2), (2, 3, 6, 7), ()),
    "mean": (lambda f, x, w, b: f.avg_pool2d(x, 2), (2, 3, 6, 5), ()),
    "mean, padded": (lambda f, x, w, b: f.avg_pool2d(x, (2, 4), stride=(1, 3), padding=(1, 2)), (2, 3, 6, 5), ()),
}


def arguments(shape, weight_shape, dtype=float):
    rng = np.random.default_rng(len(shape) + sum(shape))
    filters = weight_shape[:1]
    return [rng.standard_normal(s).astype(dtype) for s in (shape, weight_shape or 1, filters or 1)]


@pytest.mark.parametrize(("call", "shape", "weight_shape"), CALLS.values(), ids=CALLS)
def test_values_and_derivatives_of_two_orders_are_pytorchs(call, shape, weight_shape):
    torch = pytest.importorskip("torch")
    given = arguments(shape, weight_shape)
    ours, theirs = [Tensor(a, requires_grad=True) for a in given], [torch.tensor(a, requires_grad=True) for a in given]
    out, expected = call(F, *ours), call(torch.nn.functional, *theirs)
    weights = np.cos(np.arange(out.size)).reshape(out.shape)
    first, second = (out**3 * weights).sum(), (expected**3 * torch.from_numpy(weights)).sum()
    close = {"rel": 1e-12, "abs": 1e-12}
    assert out.detach().numpy() == pytest.approx(expected.detach().numpy(), **close)
    for _ in range(2):
        gs = grad(first, ours, create_graph=True, allow_unused=True)
        hs = torch.autograd.grad(second, theirs, create_graph=True, allow_unused=True)
        assert [g is None for g in gs] == [h is None for h in hs]
        gs, hs = ([g for g in found if g is not None] for found in (gs, hs))
        for g, h in zip(gs, hs, strict=True):
            assert g.detach().numpy() == pytest.approx(h.detach().numpy(), **close)
        first, second = sum((g * g).sum() for g in gs), sum((h * h).sum() for h in hs)


@pytest.mark.parametrize(("call", "shape", "weight_shape"), CALLS.values(), ids=CALLS)
def test_compiled_it_is_what_it_is_eagerly_and_so_is_its_gradient(call, shape, weight_shape):
    given = [Tensor(a, requires_grad=True) for a in arguments(shape, weight_shape)]

    def f(x, w, b):
        y = (call(F, x.tanh(), w, b) * 2).exp().sum() + (w**4).sum() + (b**4).sum()
        return y + sum((g * g).sum() for g in grad(y, (x, w, b), create_graph=True))

    compiled = compile(f)
    for _ in range(2):  # the second call finds the buffers of the first
        assert compiled(*given).item() == pytest.approx(f(*given).item(), rel=1e-12)
    for g, h in zip(grad(compiled(*given), given), grad(f(*given), given), strict=True):
        assert g == pytest.approx(h, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize(("call", "shape", "weight_shape"), CALLS.values(), ids=CALLS)
def test_single_precision_stays_single(call, shape, weight_shape):
    given = [Tensor(a, requires_grad=True) for a in arguments(shape, weight_shape, np.float32)]
    out = call(F, *given)
    out.sum().backward()
    assert {out.dtype, given[0].grad.dtype} == {np.dtype(np.float32)}


def test_first_of_those_that_tie_gets_the_gradient_as_in_pytorch():
    torch = pytest.importorskip("torch")
    x = np.array([[[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]])
    ours, theirs = Tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    F.max_pool2d(ours, 2, stride=1).sum().backward()
    torch.nn.functional.max_pool2d(theirs, 2, stride=1).sum().backward()
    assert ours.grad.tolist() == theirs.grad.tolist()


# ---- windows


def test_write_to_a_picture_that_windows_look_at_is_told():
    x = Tensor(np.ones((1, 3, 3)), requires_grad=True) * 1
    loss = (F.avg_pool2d(x, 2) ** 2).sum() + (x * x).sum()
    x.detach()[:] = 5.0
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()


# ---- layers

LAYERS = {
    "ReLU": (lambda t: t.ReLU(), (4, 3)),
    "Tanh": (lambda t: t.Tanh(), (4, 3)),
    "Sigmoid": (lambda t: t.Sigmoid(), (4, 3)),
    "GELU": (lambda t: t.GELU(), (4, 3)),
    "Flatten": (lambda t: t.Flatten(), (4, 3, 2)),
    "Linear": (lambda t: t.Linear(3, 2), (4, 3)),
    "Linear without a bias": (lambda t: t.Linear(3, 2, bias=False), (2, 4, 3)),
    "LayerNorm1d": (lambda t: t.LayerNorm1d(3), (4, 3)),
    "LayerNorm1d of two axes": (lambda t: t.LayerNorm1d(3), (2, 4, 3)),
    "BatchNorm1d": (lambda t: t.BatchNorm1d(3), (4, 3)),
    "BatchNorm1d of sequences": (lambda t: t.BatchNorm1d(3), (4, 3, 2)),
    "BatchNorm1d with everything": (lambda t: t.BatchNorm1d(3, 0.1, 0.4), (4, 3)),
    "BatchNorm1d in use": (lambda t: t.BatchNorm1d(3).eval(), (1, 3)),
    "Conv2d": (lambda t: t.Conv2d(3, 4, 3), (2, 3, 6, 5)),
    "Conv2d with everything": (
        lambda t: t.Conv2d(4, 6, (3, 2), stride=2, padding=(1, 2), dilation=2, groups=2, bias=False),
        (2, 4, 6, 5),
    ),
    "Conv2d that keeps the size": (lambda t: t.Conv2d(1, 2, 4, padding="same"), (2, 1, 6, 5)),
    "MaxPool2d": (lambda t: t.MaxPool2d(2), (2, 3, 6, 5)),
    "MaxPool2d with everything": (lambda t: t.MaxPool2d((3, 2), stride=1, padding=(1, 0), dilation=2), (2, 3, 6, 5)),
    "AvgPool2d": (lambda t: t.AvgPool2d((3, 2), stride=2, padding=1), (2, 3, 6, 5)),
    "RMSNorm": (lambda t: t.RMSNorm(5), (2, 3, 5)),
    "RMSNorm of two axes": (lambda t: t.RMSNorm((3, 5), eps=0.1, elementwise_affine=False), (2, 3, 5)),
    "network": (
        lambda t: t.Sequential(t.Conv2d(1, 3, 3, padding=1), t.ReLU(), t.MaxPool2d(2), t.Flatten(), t.Linear(27, 2)),
        (4, 1, 6, 6),
    ),
}


SHORTER = {"Flatten", "GELU", "LayerNorm1d", "BatchNorm1d", "MaxPool2d", "AvgPool2d", "Sequential"}  # than PyTorch's


@pytest.mark.parametrize(("make", "shape"), LAYERS.values(), ids=LAYERS)
def test_layer_is_that_of_pytorch_with_the_same_names_shapes_and_repr(make, shape):
    torch = pytest.importorskip("torch")
    words = {"LayerNorm1d": torch.nn.LayerNorm, "GELU": partial(torch.nn.GELU, approximate="tanh")}
    ours, theirs = make(nn), make(SimpleNamespace(**(vars(torch.nn) | words))).double()
    state = {name: x.shape for name, x in ours.state_dict().items()}
    assert state == {name: tuple(x.shape) for name, x in theirs.state_dict().items()}
    rng = np.random.default_rng(0)
    for p in ours.parameters():
        p.data = rng.standard_normal(p.shape)
    theirs.load_state_dict({name: torch.from_numpy(np.asarray(x)) for name, x in ours.state_dict().items()})
    (ours := make(nn)).load_state_dict(theirs.state_dict())
    x = rng.standard_normal(shape)
    a, b = Tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    (ours(a) ** 2).sum().backward(), (theirs(b) ** 2).sum().backward()
    pairs = zip([a, *ours.parameters()], [b, *theirs.parameters()], strict=True)
    assert ours(a).detach().numpy() == pytest.approx(theirs(b).detach().numpy(), rel=1e-12, abs=1e-12)
    for p, q in pairs:
        assert p.grad == pytest.approx(q.grad.numpy(), rel=1e-12, abs=1e-12)
    if type(ours).__name__ not in SHORTER:
        assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [(lambda rng: nn.Conv2d(4, 500, 3, groups=2, rng=rng), 18), (lambda rng: nn.Linear(16, 999, rng=rng), 16)],
)
def test_initial_weights_fill_pytorchs_bounds(make, inputs):
    for p in make(np.random.default_rng(0)).parameters():
        drawn = p.detach().numpy() * np.sqrt(inputs)
        assert 0.99 < abs(drawn).max() <= 1
        assert abs(drawn.mean()) < 0.1


X = np.ones((1, 2, 4, 4))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: F.conv2d(np.ones((4, 4)), np.ones((1, 1, 2, 2))), r"an image needs .* this one has shape \(4, 4\)"),
        (lambda: F.conv2d(X, np.ones((1, 2, 2))), r"found a weight of shape \(1, 2, 2\)"),
        (lambda: F.conv2d(X, np.ones((1, 3, 2, 2))), "found 2 channels, .* the weight is for 3 channels"),
        (lambda: F.conv2d(X, np.ones((3, 1, 2, 2)), groups=2), "3 filters are shared among the groups"),
        (
            lambda: F.conv2d(X, np.ones((1, 2, 5, 2))),
            r"window of \(5, 2\) does not fit into .* image of \(4, 4\)",
        ),
        (lambda: F.conv2d(X, np.ones((1, 2, 2, 2)), stride=0), "stride is a whole number, .* at least 1; found 0"),
        (lambda: F.conv2d(X, np.ones((1, 2, 2, 2)), stride=1.5), "stride is a whole number"),
        (lambda: F.conv2d(X, np.ones((1, 2, 2, 2)), padding=-1), "padding is a whole number, .* at least 0"),
        (lambda: F.conv2d(X, np.ones((1, 2, 2, 2)), padding="full"), "padding is a whole number"),
        (lambda: F.conv2d(X, np.ones((1, 2, 2, 2)), padding="same", stride=2), "is for stride 1"),
        (lambda: F.max_pool2d(X, 2, padding=2), r"the padding \(2, 2\) is more than half of the windows \(2, 2\)"),
        (lambda: F.avg_pool2d(X, (2, 2, 2)), "kernel_size is a whole number, or one for each axis"),
        (lambda: nn.Conv2d(3, 4, 2, groups=2), "2 groups"),
        (lambda: nn.Conv2d(3, 4, 0), "kernel_size is a whole number"),
        (lambda: nn.RMSNorm(3)(np.ones((3, 2))), r"RMSNorm\(.* shape ends with \(3,\), found \(3, 2\)"),
    ],
)
def test_wrong_uses_are_told_what_is_wrong(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_pooling_finds_a_nan_and_sends_it_the_gradient_as_pytorch_does(share):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for size, stride, padding in ((2, 2, 0), (3, 1, 1), (3, 2, 0), (2, 1, 1)):
        x = rng.integers(0, 4, (2, 2, 6, 6)).astype(float)  # with ties
        x[rng.random(x.shape) < share] = np.nan
        ours, theirs = Tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        out = F.max_pool2d(ours, size, stride, padding)
        wanted = torch.nn.functional.max_pool2d(theirs, size, stride, padding)
        g = rng.normal(size=out.shape)
        out.backward(g)
        wanted.backward(torch.tensor(g))
        np.testing.assert_array_equal(out.data, wanted.detach().numpy())
        np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), atol=1e-12)
