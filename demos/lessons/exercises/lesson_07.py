"""The exercises of lesson 7."""

from typing import Any

from check import exercise, functions, number, number_exercise

number_exercise(
    "7.1",
    32,
    {
        25: "those are the weights; each neuron has a bias too",
    },
    "not {:g}: five neurons with 3 + 1 numbers, then two with how many?",
    tolerance=0,
)


number_exercise(
    "7.2",
    0.05,
    {
        0.5: "a step this large overshoots, further each time: look at the losses",
        0.01: "it is getting there, but a hundred steps of that size are not enough; run all three",
    },
    "one of 0.01, 0.05 and 0.5; found {:g}",
    tolerance=0,
)


@exercise("7.3", of=functions(2))
def _(given: Any) -> str | None:
    model, loss_of = given
    loss = number(loss_of(model))
    return None if loss < 1e-4 else f"its loss is {loss:.4g}; more steps, more neurons, or another rate?"
