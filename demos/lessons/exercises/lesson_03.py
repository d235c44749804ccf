"""The exercises of lesson 3."""

from typing import Any

from check import exercise, kind, near, number, number_exercise


@exercise("3.1")
def _(grads: Any) -> str | None:
    if not isinstance(grads, dict):
        return f'a dict is needed here, such as {{"a": 0, "b": 0, "c": 0, "d": 0}}; found {kind(grads)}'
    wanted = {"d": -4.0, "c": -4.0, "b": -8.0, "a": -12.0}
    hints = {
        "d": "the slope of d**2 is 2 * d",
        "c": "d moves just as far as c, so c gets what d got",
        "b": "c moves a times as far as b; times what c got",
        "a": "c moves b times as far as a; times what c got",
    }
    for name, slope in wanted.items():
        if name not in grads:
            return f"dL/d{name} is missing"
        found = number(grads[name])
        if near(found, -slope):
            return f"dL/d{name}: the size is right, the sign is not; d is -2 here"
        if not near(found, slope):
            return f"dL/d{name} is not {found:.4g}: {hints[name]}"
    return None


number_exercise(
    "3.2",
    6.0,
    {
        5.0: "that is only the path through the product; a is used a second time",
        1.0: "that is only the path straight into the sum; a is in the product too",
    },
    "not {:.4g}: one slope for each of the two paths, then their sum",
)


@exercise("3.3", of=number)
def _(w: float) -> str | None:
    if w == 5:
        return "w is still 5: after backward(), change w.data"
    if near(w, 54.0):
        return "54 is the gradient; move w against it, by a small part of it"
    loss = (3 * w - 6) ** 2
    if w > 5:
        step = "one step against the gradient? (in a loop, each pass adds to w.grad)"
    else:
        step = "the step is too long"
    return None if loss < 81 else f"at {w:.4g} the loss is {loss:.4g}, it was 81: {step}"
