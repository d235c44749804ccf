"""Products of arrays by `einsum`, in both of its forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from micrograd import einsum, grad
from micrograd.autograd.check import gradcheck
from micrograd.tensor import Tensor

RNG = np.random.default_rng(0)
A = RNG.uniform(0.2, 2, (2, 3))


def tensor(x):
    return Tensor(x, requires_grad=True)


EINSUMS = [
    ("ij,jk", (2, 3), (3, 4)),
    ("i,i", (3,), (3,)),
    ("ij->", (2, 3)),
    ("ba", (2, 3)),  # alphabetical: transposed
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ii", (3, 3)),
    ("iji,j->ij", (2, 3, 2), (3,)),
    ("iii->i", (2, 2, 2)),
    ("...ij,...jk", (5, 2, 3), (3, 2)),
    ("...ij,...jk->...ik", (4, 1, 2, 3), (5, 3, 2)),
    ("i...,i...->...", (2, 3), (2, 1)),
    ("...", (2, 3)),
    ("...ii->...i", (4, 3, 3)),
    ("i...j->j...", (2, 4, 3)),
    (",i->i", (), (3,)),
    ("->", ()),
    (" i j , j -> i ", (2, 3), (3,)),
    ("i,i->i", (3,), (1,)),  # NumPy broadcasts lengths of 1
    ("i,i->", (1,), (3,)),
    ("Ab,bA->A", (2, 3), (3, 2)),
    ("ij,ij->ij", (0, 3), (0, 3)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: " ".join(map(str, case)))
def test_einsum_is_that_of_numpy_in_both_of_its_forms_and_checked(case):
    subscripts, *shapes = case
    xs = [RNG.uniform(-1, 1, shape) for shape in shapes]
    expected = np.einsum(subscripts, *xs)
    assert einsum(subscripts, *map(Tensor, xs)).shape == expected.shape
    for found in (einsum(subscripts, *map(Tensor, xs)), einsum(subscripts, *xs), einsum(*with_lists(subscripts, xs))):
        assert np.asarray(found) == pytest.approx(expected, abs=1e-13)
    assert gradcheck(lambda *xs: einsum(subscripts, *xs), *xs)


def with_lists(subscripts, xs):
    """The arguments with a list of ints after each operand, in the place of a string."""
    given, arrow, output = subscripts.replace(" ", "").replace("...", ".").partition("->")
    places = sorted(set(subscripts))
    listed = [[... if c == "." else places.index(c) for c in text] for text in (*given.split(","), output)]
    return [part for pair in zip(xs, listed, strict=False) for part in pair] + (listed[-1:] if arrow else [])


@given(st.data())
def test_einsum_with_random_subscripts_is_that_of_numpy_and_pytorch(data):
    letters = "abcd"
    inputs = data.draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=3))
    output = "".join(data.draw(st.permutations(sorted(set("".join(inputs))))))
    output = output[: data.draw(st.integers(0, len(output)))]
    subscripts = f"{','.join(inputs)}->{output}"
    xs = [RNG.uniform(-1, 1, [2 + letters.index(c) % 3 for c in s]) for s in inputs]
    ours = [tensor(x) for x in xs]
    out = einsum(subscripts, *ours)
    assert out.data == pytest.approx(np.einsum(subscripts, *xs), abs=1e-12)
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(x, requires_grad=True) for x in xs]
    w = RNG.uniform(-1, 1, out.shape)
    expected = torch.autograd.grad((torch.einsum(subscripts, *theirs) * torch.tensor(w)).sum(), theirs)
    for found, wanted in zip(grad((out * w).sum(), ours), expected, strict=True):
        assert found == pytest.approx(wanted.numpy(), abs=1e-12)


def test_einsum_keeps_float32_and_shares_no_memory():
    x = Tensor(A, dtype=np.float32)
    assert einsum("ij->ji", x).dtype == np.float32
    for subscripts in ("ij->ij", "ij->ji"):
        y = einsum(subscripts, x)
        y += 1
        assert (x == A.astype(np.float32)).all()


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3)], "Number of einsum subscripts must be equal"),
        ("ijk->i", [(2, 3)], "does not contain the correct number of indices for operand 0"),
        ("ij,jk->ik", [(2, 3), (4, 2)], "Size of label 'j'"),
        ("ij->k", [(2, 3)], "Output character k did not appear in the input"),
        ("ii->i", [(2, 3)], "Size of label 'i'"),
        ("ii->i", [(1, 3)], "found 'ii' for shape (1, 3)"),
        ("i1->i", [(2, 3)], "Character 1 is not a valid symbol"),
        ("i->->i", [(2,)], "->"),
    ],
)
def test_einsum_says_what_is_wrong(subscripts, shapes, message):
    xs = [tensor(np.ones(shape)) for shape in shapes]
    with pytest.raises(ValueError):  # noqa: PT011  NumPy refuses it too
        np.einsum(subscripts, *[np.ones(shape) for shape in shapes])
    with pytest.raises(ValueError) as caught:  # noqa: PT011  compared below
        einsum(subscripts, *xs)
    assert message in str(caught.value)
    assert message.startswith("found") or str(shapes[0]) in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "subscripts", [([0, 52],), ([-1, 1],), ([0, 1], [-53]), ((np.int64(-1), 1), [1]), (np.array([-1, 1]), [1])]
)
def test_einsum_takes_ints_that_numpy_takes(subscripts):
    for function, a in ((np.einsum, A), (einsum, Tensor(A))):
        with pytest.raises(ValueError, match=r"range \[0, 52\)"):
            function(a, *subscripts)


def test_einsum_of_neither_form_or_of_nothing_raises():
    with pytest.raises(TypeError, match="int or Ellipsis"):
        einsum(Tensor(A), Tensor(A))
    with pytest.raises(ValueError, match="einsum needs at least one Tensor"):
        einsum("")
