"""A beginner's mistakes: each gets the sentence that helps."""

import pydoc

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, backward, functional, grad, nn, no_grad
from micrograd.common import words

ONE_HOT = "these look one-hot, so pass targets.argmax(axis=-1)"
NO_VALUE = "nothing to differentiate: no Value in this computation has requires_grad=True"
NO_TENSOR = "nothing to differentiate: no Tensor in this computation has requires_grad=True"


def frozen(x):
    with no_grad():
        return x * 2


def twice():
    loss = (Tensor([1.0], requires_grad=True) * 2).sum()
    loss.backward()
    loss.backward()


ONE_SAMPLE = "takes one sample of 3 numbers, found shape"
X = Tensor(np.ones((2, 3)))
MISTAKES = {
    "a batch": (lambda: nn.MLP(3, [4, 1])(np.ones((5, 3))), f"MLP {ONE_SAMPLE} (5, 3): write ["),
    "a batch of one": (lambda: nn.MLP(3, [1])(np.ones((1, 3))), f"MLP {ONE_SAMPLE} (1, 3): write ["),
    "a list of lists": (lambda: nn.MLP(3, [1])([[1, 2, 3]] * 5), f"MLP {ONE_SAMPLE} (5, 3): write ["),
    "a batch as a Tensor": (lambda: nn.MLP(3, [1])(Tensor(np.ones((5, 3)))), f"MLP {ONE_SAMPLE} (5, 3)"),
    "a batch for a Neuron": (lambda: nn.Neuron(3)(np.ones((5, 3))), f"Neuron {ONE_SAMPLE} (5, 3)"),
    "a list among numbers": (lambda: nn.MLP(3, [1])([Value(1.0), [2.0], 3.0]), "input 1 is a list"),
    "a text among numbers": (lambda: nn.MLP(3, [1])([1.0, "a", 2.0]), "input 1 is a str"),
    "Linear": (lambda: nn.Sequential(nn.Linear, nn.ReLU()), "layer 0 is the class Linear: write Linear(...)"),
    "to": (lambda: nn.Linear(2, 1).to("cuda"), "'Linear' object has no attribute 'to': there is no device here"),
    "cuda": (lambda: nn.MLP(2, [1]).cuda(), "'MLP' object has no attribute 'cuda': there is no device here"),
    "+ a text": (lambda: Value(3.0) + "1", "write float('1')"),
    "a text *": (lambda: "1" * Value(3.0), "write float('1')"),
    "** a text": (lambda: Value(3.0) ** "2", "'**' takes Values and numbers, found the str '2': write float('2')"),
    "a constant Value": (lambda: Value(1.0, requires_grad=False).backward(), NO_VALUE),
    "inside no_grad": (lambda: grad(frozen(Value(1.0)), Value(1.0)), NO_VALUE),
    "a constant Tensor": (lambda: Tensor(1.0).backward(), NO_TENSOR),
    "one constant": (
        lambda: backward([Value(1.0), Value(2.0, requires_grad=False)]),
        "a root requires no gradient: ",
    ),
    "backward twice": (twice, "in a training loop, compute the loss again in each step"),
    "one-hot": (lambda: functional.cross_entropy(X, np.eye(3)[:2]), ONE_HOT),
    "one-hot for nll": (lambda: functional.nll(X[0], np.eye(3)[0]), ONE_HOT),
    "a one-hot list": (lambda: functional.cross_entropy([[Value(1.0)] * 3], [[0, 1, 0]]), "pass the place of its 1"),
    "labels from 1": (lambda: functional.cross_entropy(X, [1, 3]), "to 2, since targets count from 0"),
    "a label from 1": (lambda: functional.cross_entropy([Value(1.0)] * 3, 3), "to 2, since targets count from 0"),
}


MISTAKES |= {  # names that are nearly right
    "backwards": (lambda: Value(1.0).backwards(), "a Value has no attribute 'backwards': the word here is backward"),
    "backwards of a Tensor": (lambda: X.backwards(), "a Tensor has no attribute 'backwards': the word here is back"),
    "a Tensor's method": (lambda: X.softmx(), "a Tensor has no attribute 'softmx': did you mean softmax?"),
    "a Tensor's attribute": (lambda: X.shap, "a Tensor has no attribute 'shap': did you mean shape?"),
    "another library's word": (lambda: X.view(2), "a Tensor has no attribute 'view': the word here is reshape"),
    "evel": (lambda: nn.Linear(2, 1).evel(), "'Linear' object has no attribute 'evel': did you mean eval?"),
    "zerograd": (lambda: nn.MLP(2, [1]).zerograd(), "'MLP' object has no attribute 'zerograd': did you mean zero_grad"),
    "a parameter": (lambda: nn.Linear(2, 1).wieght, "has no attribute 'wieght': did you mean weight?"),
    "an attribute of its own": (lambda: nn.Sequential(nn.ReLU()).layesr, "did you mean layers?"),
    "a subclass": (
        lambda: nn.Parameter([1.0]).detatch(),
        "a Parameter has no attribute 'detatch': did you mean detach",
    ),
}


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_answered_with_what_to_do(mistake, message):
    with pytest.raises((TypeError, ValueError, RuntimeError, IndexError, AttributeError)) as found:
        mistake()
    assert message in str(found.value)


@pytest.mark.parametrize("x", [X, nn.Linear(2, 1), Value(1.0)], ids=lambda x: type(x).__name__)
def test_name_that_is_like_no_other_has_no_hint_and_is_still_missing(x):
    assert not hasattr(x, "quux")
    assert not hasattr(x, "_quux")
    with pytest.raises(AttributeError) as found:
        _ = x.quux
    assert "mean" not in str(found.value)


@pytest.mark.parametrize("name", sorted(words.NAMES))
@pytest.mark.parametrize("made", [lambda: Value(2.0), lambda: Tensor([2.0])])
def test_word_of_another_library_names_what_this_kind_has_and_may_be_an_attribute(made, name: str):
    x = made()
    with pytest.raises(AttributeError) as caught:
        getattr(x, name)
    meant = str(caught.value).rpartition("the word here is ")[2]
    if meant.isidentifier():
        assert hasattr(x, meant) or hasattr(micrograd, meant)
    if isinstance(x, Value):
        setattr(x, name, 0.5)
        assert getattr(x, name) == 0.5
        assert getattr(x * 1, name, None) is None
        assert not hasattr(Value, name)


def test_help_of_a_value_lists_no_words_of_other_libraries():
    assert {"unsqueeze", "permute", "is_cuda"}.isdisjoint(pydoc.render_doc(Value).split())
