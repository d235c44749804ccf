"""The exercises of lesson 3."""

from typing import Any

from check import exercise, near


@exercise("3.1")
def _(grads: Any) -> str | None:
    wanted = {"d": -4.0, "c": -4.0, "b": -8.0, "a": -12.0}
    for name, number in wanted.items():
        if name not in grads:
            return f"dL/d{name} is missing"
        if not near(grads[name], number):
            return (
                f"dL/d{name} is not {float(grads[name]):.4g}: what arrives from the right, times the local derivative"
            )
    return None


@exercise("3.2")
def _(grad: Any) -> str | None:
    if near(grad, 5.0):
        return "that is the way through the product alone; a is used a second time"
    return None if near(grad, 6.0) else f"{float(grad):.4g} is not it: one product for each path, then their sum"


@exercise("3.3")
def _(w: Any) -> str | None:
    loss = (3 * float(w) - 6) ** 2
    return None if loss < 81 else f"the loss was 81 and is now {loss:.4g}: go against the gradient, and less far"
