"""The exercises of lesson 5."""

import re
from time import perf_counter
from typing import Any

from check import exercise, function, kind, number_exercise, words


@exercise("5.1", of=words)
def _(names: Any) -> str | None:
    wanted = ["f", "e", "d", "a", "b"]
    if sorted(names) != sorted(wanted):
        return f"name each of a, b, d, e and f once; found {names}"
    if isinstance(names, set | frozenset):
        return "a set has no order, so give a list, ['f', ...]"
    names = list(names)
    place = {name: names.index(name) for name in names}
    if place["d"] < place["e"] < place["f"]:  # as in ["a", "b", "d", "e", "f"]
        return "that is the forward order; the backward pass begins at f"
    if place["f"] != 0:
        return f"{names[0]} cannot be first, because every gradient comes from f"
    if place["d"] < place["e"]:
        return "d is an operand of e too, so it must wait for e"
    if early := next((name for name in "ab" if place[name] < place["d"]), None):
        return f"{early} is an operand of d, so it must wait for d"
    if names == ["f", "e", "d", "b", "a"]:
        return "a and b are ready at the same time, and then a comes first"
    if names != wanted:
        return f"the order is not {names}; f is first, and which nodes have all contributions after d has sent?"
    return None


number_exercise(
    "5.2",
    3.0,
    {
        5.0: "that would be right, but the repaired function finds something else; run it",
        4.0: "that is what b should send in all; here b sends once, before d has sent its part to b",
        2.0: "that is what b sends to a on its only visit; d uses a as well",
        1.0: "that is what d sends to a; b has sent something before",
        6.0: "that is more than the right 5, and this repair can only lose parts",
    },
    "it does not find {:.4g}; which node sends before its second contribution has arrived?",
)


number_exercise(
    "5.3",
    2**20,
    {
        21: "that is how many numbers there are; the question is how often the first one is visited",
        40: "the visits are not two for each doubling: each doubling doubles those of the one before",
        400: "20 * 20? Each doubling doubles the visits, so they are 2 * 2 * 2 ...",
        2**19: "that is for nineteen doublings; after one doubling there are already two visits",
        2**21: "that is for twenty-one doublings; after one doubling there are two visits, not four",
        2**20 - 1: "nearly: with one doubling there are 2 visits, not 1",
        20: "each number is used twice, and the function follows both uses, so each doubling doubles the visits",
    },
    "it is not {:.7g}; try 3 doublings, and then 4",
    tolerance=0,
)


@exercise("5.4", of=function)
def _(rounds: Any) -> str | None:
    cases = (
        ({"a": []}, [{"a"}]),
        ({"c": ["b"], "b": ["a"], "a": []}, [{"a"}, {"b"}, {"c"}]),
        ({"L": ["d", "e"], "e": ["a", "d"], "d": ["a", "b"], "a": [], "b": []}, [{"a", "b"}, {"d"}, {"e"}, {"L"}]),
        ({"square": ["x", "x"], "x": []}, [{"x"}, {"square"}]),
        ({"a": [], "b": [], "c": ["a"]}, [{"a", "b"}, {"c"}]),
    )
    for needs, wanted in cases:
        found = rounds({task: list(before) for task, before in needs.items()})
        if not isinstance(found, list) or not all(isinstance(each, set) for each in found):
            return f"a list of sets is needed here; found {kind(found)}"
        if found == wanted:
            continue
        when = {task: number for number, each in enumerate(found) for task in each}
        for task, before in needs.items():
            if task not in when:
                return f"for {needs}, {task!r} is in no set" + " (it needs one task twice)" * (task == "square")
            for other in before:
                if when.get(other, 99) >= when[task]:
                    return f"for {needs}, {task!r} must come after {other!r}"
        return f"for {needs}, the sets are {wanted}, yours are {found}: can a task begin earlier?"
    circle = {"serve": ["bake"], "knead": ["cool", "salt"], "bake": ["knead"], "cool": ["bake"], "salt": []}
    try:
        found = rounds(circle)
    except ValueError as error:
        named = {task for task in circle if re.search(rf"\b{task}\b", str(error))}
        around = {"knead", "bake", "cool"}
        if not named:
            return f"name a task of the circle, such as 'bake'; the message is {str(error)!r:.60}"
        if named - around:
            return f"the message names {sorted(named - around)}, which is not in the circle of knead, bake and cool"
    else:
        return f"knead waits for cool, cool for bake, and bake for knead: raise a ValueError; found {found!r:.60}"
    many = {i: [i - 1] if i else [] for i in range(20_000)}
    start = perf_counter()
    if len(rounds(many)) != 20_000:
        return "a chain of 20,000 tasks has 20,000 sets"
    took = perf_counter() - start
    return None if took < 5 else f"20,000 tasks took {took:.0f} s: count down what each task waits for, as in 5.3"
