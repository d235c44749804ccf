"""The exercises of lesson 23."""

from typing import Any

import numpy as np
from check import exercise, function, kind, near, shape, words

from micrograd import Tensor
from micrograd.nn import Linear, Sequential, Tanh


@exercise("23.1", of=shape)
def _(shape: Any) -> str | None:
    if tuple(shape) == (3, 5):
        return "that is (in, out); a row of weights belongs to a neuron, and there are five neurons"
    if len(shape) != 2:
        return f"{len(shape)} axes? The weights are a matrix, with a row for each neuron"
    if tuple(shape) == (5, 4):
        return "the bias is a separate parameter, so it is no column of the weights"
    return None if tuple(shape) == (5, 3) else f"not {tuple(shape)}: how many neurons, and how many inputs has each?"


@exercise("23.2", of=function)
def _(standardised: Any) -> str | None:
    x = np.array([[1.0, 2.0, 6.0], [0.0, -3.0, 1.0]])
    away = x - x.mean(1, keepdims=True)
    wanted = away / x.std(1, keepdims=True, ddof=1)
    try:
        found = standardised(Tensor(x, requires_grad=True))
    except TypeError as error:
        if "dim" not in str(error):
            raise
        return "for arrays micrograd has NumPy's names: axis and keepdims"
    except ValueError:
        return "the means and the array do not fit: keepdims"
    if not isinstance(found, Tensor) or not found.requires_grad:
        return "the result should be a Tensor that remembers how it was made"
    if found.shape != x.shape:
        return f"the result has shape {found.shape}, not {x.shape}: keepdims"
    if np.allclose(found.data, wanted):
        return None
    if np.allclose(found.data, away / x.std(1, keepdims=True)):
        return "nearly: this divides by n, and PyTorch's std by n - 1; see ddof"
    if np.allclose(found.data, (x + x.mean(1, keepdims=True)) / x.std(1, keepdims=True, ddof=1)):
        return "the mean is added; subtract it"
    if np.allclose(found.data, x / x.std(1, keepdims=True, ddof=1)):
        return "the spread is right, and the mean has not been subtracted"
    for ddof in (0, 1):
        if np.allclose(found.data, away / (x.std(0, keepdims=True, ddof=ddof) + 1e-300)):
            return "the mean is that of the row, but the spread goes over the columns; dim=1 in PyTorch is axis=1"
    if np.allclose(found.data.mean(0), 0):
        return "this goes over the columns; dim=1 in PyTorch is axis=1"
    return f"the first row should be {wanted[0].round(3)}, yours is {found.data[0].round(3)}"


@exercise("23.3", of=function)
def _(renamed: Any) -> str | None:
    rng = np.random.default_rng(17)
    state = {
        "hidden.weight": rng.normal(size=(3, 2)),
        "hidden.bias": rng.normal(size=3),
        "out.weight": rng.normal(size=(1, 3)),
        "out.bias": rng.normal(size=1),
    }
    found, model = renamed(dict(state)), Sequential(Linear(2, 3), Tanh(), Linear(3, 1))
    if not isinstance(found, dict):
        return f"a state dict is a dict from names to arrays; found {kind(found)}"
    if "1.weight" in found:
        return "number 1 in the Sequential is the Tanh, which has no weights: the second Linear has another number"
    if set(found) != set(model.state_dict()):
        return f"the Sequential has {sorted(model.state_dict())}, yours {sorted(found)}"
    model.load_state_dict(found)
    x = np.array([[0.5, -1.0]])
    hidden = np.tanh(x @ state["hidden.weight"].T + state["hidden.bias"])
    wanted = (hidden @ state["out.weight"].T + state["out.bias"]).item()
    answer = model(Tensor(x)).item()
    return None if near(answer, wanted) else f"it loads, but answers {answer:.4f} where theirs answers {wanted:.4f}"


@exercise("23.4", of=words)
def _(lines: Any) -> str | None:
    at = {}
    for word in ("model(", ".mean(", "zero_grad", "backward", "step"):
        if (found := [i for i, line in enumerate(lines) if word in line]) == []:
            return f"the line with {word} is missing"
        at[word] = found[0]
    if len(lines) != 5:
        return f"five lines, each once; found {len(lines)}"
    if at["model("] > at[".mean("]:
        return "the loss needs the answer: which line computes it?"
    if at["backward"] < at[".mean("]:
        return "backward() goes back from the loss, so the loss must be there"
    if at["step"] < at["backward"]:
        return "step() uses the gradients, so backward() must have left them"
    if at["backward"] < at["zero_grad"] < at["step"]:
        return "between backward() and step(), zero_grad() throws away the new gradients"
    if at["step"] < at["zero_grad"]:
        return None
    return None if at["zero_grad"] < at["backward"] else "the old gradients must go before the new ones come"


@exercise("23.5", of=function)
def _(step: Any) -> str | None:
    settings: list[dict[str, Any]] = [
        {},
        {"weight_decay": 0.1},
        {"momentum": 0.9},
        {"momentum": 0.9, "weight_decay": 0.1},
        {"momentum": 0.9, "dampening": 0.5},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.5, "dampening": 0.2, "weight_decay": 0.1},
        {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
    ]
    for setting in settings:
        said = f"with {', '.join(f'{name}={x}' for name, x in setting.items()) or 'lr alone'}, step"
        found, state = np.array([1.0, -2.0, 0.5]), {}
        runs = {why: (found.copy(), {}, other) for why, other in {"": {}, **_OTHERWISE}.items()}
        for count in range(1, 6):
            given, gradient = found.copy(), _slope(found)
            found = step(found, gradient, state, 0.1, **setting)
            if not isinstance(found, np.ndarray) or found.shape != (3,):
                return f"{said} {count} should return the new parameter, an array; found {kind(found)}"
            if not np.array_equal(gradient, _slope(given)):
                return (
                    f"{said} {count} has changed an argument: `g += ...` writes into the array, `g = g + ...` does not"
                )
            for why, (place, kept, other) in runs.items():
                runs[why] = (_sgd(place, _slope(place), kept, 0.1, **setting, **other), kept, other)
            if np.allclose(found, runs[""][0]):
                continue
            known = (why for why, (place, _, _) in runs.items() if why and np.allclose(found, place))
            wanted = f"the parameter should be {runs[''][0].round(4)}, and is {found.round(4)}"
            return f"{said} {count}: {next(known, wanted)}"
    return None


_OTHERWISE: dict[str, dict[str, Any]] = {
    "the step goes uphill: subtract lr * g": {"sign": -1},
    "there is no weight decay": {"decays": False},
    "the weight decay goes into the gradient, before the momentum": {"late": True},
    "with nesterov, g is added to momentum times the buffer": {"looks_ahead": False},
    "there is no momentum: is the buffer kept in state, and used?": {"remembers": False},
    "the buffer begins as g itself; it was dampened, as if it had begun at 0": {"begins": False},
    "1 - dampening is missing, or it is dampening that is multiplied": {"dampens": False},
}


def _slope(place: np.ndarray) -> np.ndarray:
    return np.array([1.0, 3.0, -2.0]) * place + 0.1


def _sgd(
    parameter: np.ndarray,
    g: np.ndarray,
    state: dict[str, np.ndarray],
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    sign: int = 1,
    decays: bool = True,
    late: bool = False,
    remembers: bool = True,
    begins: bool = True,
    dampens: bool = True,
    looks_ahead: bool = True,
) -> np.ndarray:
    """PyTorch's SGD, as it should be or with a mistake in it."""
    decay = weight_decay * parameter * decays
    g = g if late else g + decay
    if momentum and remembers:
        rest = 1 - dampening if dampens else 1
        first = g if begins else (1 - dampening) * g
        state["buffer"] = momentum * state["buffer"] + rest * g if state else first
        g = g + momentum * state["buffer"] if nesterov and looks_ahead else state["buffer"]
    return parameter - sign * lr * (g + decay if late else g)
