"""The exercises of lesson 3."""

from typing import Any

from check import exercise, function, kind, near, number, number_exercise


@exercise("3.1")
def _(grads: Any) -> str | None:
    if not isinstance(grads, dict):
        return f'a dict is needed here, such as {{"a": 0, "b": 0, "c": 0, "d": 0}}; found {kind(grads)}'
    wanted = {"d": -4.0, "c": -4.0, "b": -8.0, "a": -12.0}
    hints = {
        "d": "the slope of d**2 is 2 * d",
        "c": "d moves just as far as c, so c gets what d got",
        "b": "c moves a times as far as b; multiply that by what c got",
        "a": "c moves b times as far as a; multiply that by what c got",
    }
    for name, slope in wanted.items():
        if name not in grads:
            return f"dL/d{name} is missing"
        found = number(grads[name])
        if name == "d" and near(found, -2.0):
            return "that is d itself; the slope of d**2 is 2 * d"
        if near(found, -slope):
            return f"the size of dL/d{name} is right, but its sign is not; d is -2 here"
        if not near(found, slope):
            return f"dL/d{name} is not {found:.4g}: {hints[name]}"
    return None


number_exercise(
    "3.2",
    6.0,
    {
        5.0: "that is only the path through the product; a is used a second time",
        1.0: "that is only the path straight into the sum; a is in the product too",
        2.0: "that is dL/db, which is a; the question is dL/da",
        7.0: "the two slopes of the product and of the sum are 5 and 1; 2 belongs to b",
        10.0: "that is the number a * b, and not a slope: a product moves b times as far as a",
        12.0: "that is L itself; the question is how fast it moves when a does",
    },
    "it is not {:.4g}; find the slope along each of the two paths, and add the two",
)


@exercise("3.3", of=number)
def _(w: float) -> str | None:
    if w == 5:
        return "w is still 5; change w.data after backward()"
    if near(w, 54.0):
        return "54 is the gradient; move w against it, by a small part of it"
    loss = (3 * w - 6) ** 2
    if w > 5:
        step = "one step against the gradient? (in a loop, each pass adds to w.grad)"
    else:
        step = "the step is too long"
    return None if loss < 81 else f"at {w:.4g} the loss is {loss:.4g}, and it was 81: {step}"


@exercise("3.4", of=function)
def _(slopes: Any) -> str | None:
    values = {"a": 2.0, "b": 3.0, "c": -1.0}
    product = ("*", "a", "b")
    for expression, wanted in (
        ("a", (1, 0, 0)),
        (("+", "a", "b"), (1, 1, 0)),
        (product, (3, 2, 0)),
        (("*", product, "c"), (-3, -2, 6)),
        (("+", "a", "a"), (2, 0, 0)),
        (("*", "a", "a"), (4, 0, 0)),
        (("*", ("+", product, "a"), ("+", "b", 5.0)), (32, 24, 0)),
        (("*", ("*", 2.0, "c"), ("*", "c", "c")), (0, 0, 6)),
    ):
        try:
            found = slopes(expression, dict(values))
        except KeyError as error:
            return f"{error} is looked up before it is there: begin with a slope of 0 for each name"
        except TypeError as error:
            return f"for {expression}: {error}; a plain number is an expression too, and has no parts"
        if not isinstance(found, dict) or found.keys() != values.keys():
            return f"a dict with a slope for a, b and c is needed here; found {kind(found)}"
        for name, slope in zip(values, wanted, strict=True):
            if near(found[name], slope):
                continue
            if expression == "a" and near(found[name], values[name]):
                return f"for the expression 'a' that is the number itself; its slope for {name} is {slope:g}"
            hint = "write the expression as paths from the top to each name"
            if expression in (("+", "a", "a"), ("*", "a", "a")):
                hint = "a is reached by two paths, and they add up"
            elif expression == ("+", "a", "b"):
                hint = "a sum passes on what arrives as it is, times 1"
            elif expression == product or (near(found[name], 1.0) and slope):
                hint = "a product passes on the *other* side's number"
            return f"the slope of {expression} for {name} is {slope:g}, yours is {number(found[name]):g}: {hint}"
    return None
