"""The exercises of lesson 7."""

from typing import Any

from check import exercise, functions, number


@exercise("7.1", of=number)
def _(count: float) -> str | None:
    if count == 25:
        return "those are the weights; each neuron has a bias too"
    return None if count == 32 else f"not {count:g}: five neurons with 3 + 1 numbers, then two with how many?"


@exercise("7.2", of=number)
def _(rate: float) -> str | None:
    if rate == 0.5:
        return "so large a step overshoots, further each time: look at the losses on the way"
    if rate == 0.01:
        return "it is on its way, and a hundred steps of that size are not enough; run all three"
    return None if rate == 0.05 else f"one of 0.01, 0.05 and 0.5; found {rate:g}"


@exercise("7.3", of=functions(2))
def _(given: Any) -> str | None:
    model, loss_of = given
    loss = number(loss_of(model))
    return None if loss < 1e-4 else f"its loss is {loss:.4g}; more steps, more neurons, or another rate?"
