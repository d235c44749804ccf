"""States and copies of networks, of Values and of Tensors: they are the same and separate, or refused whole."""

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from micrograd import nn
from micrograd.tensor import Tensor


def of_tensors(seed: int, dtype: Any = float) -> nn.Module:
    rng = np.random.default_rng(seed)
    return nn.Sequential(nn.Linear(3, 4, dtype=dtype, rng=rng), nn.Tanh(), nn.Linear(4, 2, dtype=dtype, rng=rng))


NETWORKS: dict[str, Callable[[int], Any]] = {
    "Values": lambda seed: nn.MLP(3, [4, 2], activation="tanh", rng=random.Random(seed)),
    "Tensors": of_tensors,
}
over_networks = pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
X = [0.3, -0.4, 0.5]


def outputs(model: Any) -> list[float]:
    out = model(X) if isinstance(model, nn.MLP) else model([X])
    return out.tolist()[0] if isinstance(out, Tensor) else [y.data for y in out]


def grads(model: Any) -> list[Any]:
    return [np.asarray(p.grad).tolist() for p in model.parameters()]


@over_networks
def test_state_loads_into_a_twin_whose_parameters_stay_the_same_objects(make: Callable):
    model, twin = make(0), make(1)
    kept = twin.parameters()
    assert outputs(twin) != outputs(model)
    twin.load_state_dict(model.state_dict())
    assert outputs(twin) == outputs(model)
    assert all(now is then for now, then in zip(twin.parameters(), kept, strict=True))
    assert [type(p.data) for p in twin.parameters()] == [type(p.data) for p in model.parameters()]


@over_networks
def test_state_is_a_copy(make: Callable):
    model = make(0)
    before = outputs(model)
    for array in model.state_dict().values():
        array[...] = 99.0
    assert outputs(model) == before


COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda model: pickle.loads(pickle.dumps(model))}


@over_networks
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copy_of_a_network_that_was_called_is_the_same_and_shares_nothing(make: Callable, copied: Callable):
    model = make(0)
    sum(model(X) if isinstance(model, nn.MLP) else model([X]).sum(1)).backward()
    twin = copied(model)
    before, slopes = outputs(model), grads(model)
    assert (outputs(twin), grads(twin)) == (before, slopes)
    assert [type(p) for p in twin.parameters()] == [type(p) for p in model.parameters()]
    for p in twin.parameters():
        p.data += 1.0
    assert outputs(twin) != before
    assert (outputs(model), grads(model)) == (before, slopes)


STATES: dict[str, tuple[Callable[[dict, str], Any], str]] = {  # what is changed in a state, and what is said of it
    "none for a parameter": (lambda state, name: state.pop(name), "{} is missing"),
    "one more": (lambda state, name: state.update(extra=np.zeros(1)), "extra is unexpected"),
    "another shape": (lambda state, name: state.update({name: np.zeros((7, 7))}), r"{} has shape \(7, 7\), not"),
    "complex numbers": (lambda state, name: state.update({name: state[name] * 1j}), "{} has dtype complex128, not"),
    "texts": (lambda state, name: state.update({name: ["a", "b"]}), "{} has dtype <U1"),
    "bools": (lambda state, name: state.update({name: state[name] > 0}), "{} has dtype bool"),
    "ragged": (lambda state, name: state.update({name: [[1.0], [2.0, 3.0]]}), "{} is no array of numbers"),
    "None": (lambda state, name: state.update({name: None}), "{} has dtype object"),
}


@over_networks
@pytest.mark.parametrize(("change", "problem"), STATES.values(), ids=STATES)
def test_state_that_does_not_fit_changes_nothing(make: Callable, change: Callable, problem: str):
    model, state = make(0), make(1).state_dict()
    before, last = outputs(model), [*state][-1]
    change(state, last)
    with pytest.raises(ValueError, match=f"(?s)nothing was loaded.*{problem.format(last)}"):
        model.load_state_dict(state)
    assert outputs(model) == before


def test_state_that_does_not_fit_is_told_with_every_problem():
    with pytest.raises(ValueError, match="nothing was loaded") as caught:
        nn.Neuron(2).load_state_dict({"w": [1.0, 2.0, 3.0], "bias": 0.0, "nonlin": True})
    for problem in ("b is missing", "bias is unexpected", "nonlin is unexpected", r"w has shape (3,), not (2,)"):
        assert problem in str(caught.value)


def test_state_of_more_digits_is_refused_and_one_of_plain_numbers_taken():
    linear = nn.Linear(3, 2, dtype=np.float32)
    with pytest.raises(ValueError, match="weight has dtype float64, which does not fit into float32 without loss"):
        linear.load_state_dict({"weight": np.zeros((2, 3)), "bias": [1.0, 1.0]})
    linear.load_state_dict({"weight": np.ones((2, 3), np.float32), "bias": [1.0, 1.0]})
    assert linear.weight.detach().data.sum() == 6
    assert linear.weight.dtype == np.float32
