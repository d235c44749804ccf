"""The exercises of lesson 5."""

from typing import Any

from check import exercise, number_exercise, words


@exercise("5.1", of=words)
def _(names: Any) -> str | None:
    wanted = ["f", "e", "d", "a", "b"]
    if sorted(names) != sorted(wanted):
        return f"each of a, b, d, e, f once; found {names}"
    if isinstance(names, set | frozenset):
        return "a set has no order: give a list, ['f', ...]"
    names = list(names)
    if names == wanted[::-1]:
        return "that is the forward order; the way back begins at f"
    if names.index("d") < names.index("e"):
        return "d is an operand of e too, so it must wait for e"
    if names == ["f", "e", "d", "b", "a"]:
        return "a and b are ready at once, and then a comes first"
    return None if names == wanted else f"not {names}: f is first; which nodes have all their parts after d has sent?"


number_exercise(
    "5.2",
    3.0,
    {
        5.0: "that would be right; this walk finds something else: run it",
    },
    "it does not find {:.4g}: which node sends before its second part has arrived?",
)


number_exercise(
    "5.3",
    2**20,
    {
        20: "each number is used twice, and the walk goes both ways: twice as many visits at each step",
    },
    "not {:.7g}: try it with 3 doublings, then with 4",
    tolerance=0,
)
