"""The exercises of lesson 0."""

import re
from typing import Any

import numpy as np
from check import exercise, function, functions, kind, near, number


@exercise("0.1", of=function)
def _(dot: Any) -> str | None:
    for xs, ys, wanted in (([1, 2], [3, 4], 11), ([2.0, -1.0, 5.0], [1.0, 4.0, 0.5], 0.5), ([], [], 0)):
        found = number(dot(list(xs), list(ys)))
        if near(found, wanted):
            continue
        if near(found, sum(xs) * sum(ys)):
            return f"for {xs} and {ys} that is the product of the sums; what is needed is the sum of the products"
        if xs and near(found, xs[-1] * ys[-1]):
            return "that is the last product alone: is the `return` inside the loop, or is = written for +=?"
        if near(found, sum(xs) + sum(ys)):
            return "that adds all the numbers; the two numbers of a pair are multiplied, and then the products added"
        if xs and near(found, xs[0] * ys[0]):
            return "that is the first product alone: does the `return` stand inside the loop?"
        return f"dot({xs}, {ys}) is {wanted:g}, yours is {found:g}"
    try:
        dot([1, 2, 3], [1, 2])
    except Exception:
        return None
    return "lists of lengths 3 and 2 give a number: zip(xs, ys, strict=True) raises an error"


@exercise("0.2", of=function)
def _(shifted: Any) -> str | None:
    found = shifted(lambda x: x * x, 2.0)
    if not callable(found):
        return f"shifted returns a function, which is called with x later; found {kind(found)}"
    for x in (3.0, -2.0):
        value, wanted = number(found(x)), (x + 2) ** 2
        if near(value, wanted):
            continue
        for wrong, why in (
            (x * x + 2, "that is f(x) + h: the h belongs inside the brackets"),
            (x * x * 2, "that is f(x) * h: the h is added to x before f is called"),
            (x * x, "that is f itself: add h to x before you call f"),
            (x + 2, "that is x + h, and f has not been called"),
            (4, "that is f(h), whatever x is: the function that you return takes x, and calls f with x + h"),
            ((x - 2) ** 2, "that is f(x - h): the h is added"),
        ):
            if near(value, wrong):
                return why
        return f"shifted(f, 2)(3) is f(5), so for the square it is 25; at {x:g} yours is {value:g}, not {wanted:g}"
    first, second = shifted(float, 1.0), shifted(float, 10.0)
    return None if (first(0), second(0)) == (1.0, 10.0) else "two functions share their h: let each remember its own"


@exercise("0.3", of=function)
def _(point: Any) -> str | None:
    a, b = point(1, 2), point(3, 4)
    found = a + b
    if not (hasattr(found, "x") and hasattr(found, "y")):
        return f"a sum of points is a point, with x and y; found {kind(found)}"
    if (a.x, a.y, b.x, b.y) != (1, 2, 3, 4):
        return "one of the two points has changed: return a new Point, and leave self and other as they are"
    if found is a or found is b:
        return "that is one of the two points itself: return Point(..., ...)"
    return None if (found.x, found.y) == (4, 6) else f"(1, 2) + (3, 4) is (4, 6), yours is ({found.x}, {found.y})"


@exercise("0.4", of=functions(3))
def _(given: Any) -> str | None:
    euro, dollar, kinds = given
    coin, money = type("Coin", (euro,), {}), euro.__mro__[1]
    for amounts, wanted in (
        ([euro(100), dollar(200), euro(300)], {"euro", "dollar"}),
        ([dollar(5), dollar(7)], {"dollar"}),
        ([money(1)], {"other"}),
        ([coin(50)], {"euro"}),
        (["no money", dollar(1)], {"other", "dollar"}),
        ([], set()),
    ):
        found = kinds(list(amounts))
        if isinstance(found, list | tuple) and set(found) == wanted:
            return f"that is a {type(found).__name__}, which may have a word twice; a set is written with {{ and }}"
        if isinstance(found, dict):
            return "found a dict, since {} is an empty dict; the empty set is set()"
        if not isinstance(found, set | frozenset):
            return f"a set of words is needed here; found {kind(found)}"
        if found == wanted:
            continue
        if wanted == {"euro"}:
            return "a subclass of Euro counts as euro: isinstance(amount, Euro) asks that, and type(amount) does not"
        if wanted == {"other"}:
            return f"an amount that is neither Euro nor Dollar is 'other'; yours gives {sorted(map(str, found))}"
        names = [type(amount).__name__ for amount in amounts]
        return f"for amounts of the classes {names} the set is {sorted(wanted)}; yours is {sorted(map(str, found))}"
    return None


@exercise("0.5", of=function)
def _(centered: Any) -> str | None:
    table = np.array([[1.0, 10.0, 5.0], [3.0, 30.0, 5.0]])
    given = table.copy()
    found = np.asarray(centered(table))
    if not np.array_equal(table, given):
        return "the argument has changed: `table -= ...` writes into it, `table - ...` makes a new array"
    if found.shape != (2, 3):
        return f"the result has the shape of the table, (2, 3); yours has {found.shape}"
    if np.allclose(found, given - given.mean(0)):
        return None
    if np.allclose(found, given - given.mean()):
        return "that subtracts the mean of all numbers; axis=0 gives one mean for each column"
    if np.allclose(found, given - given.mean(1, keepdims=True)):
        return "that subtracts the mean of each row; a column goes along axis 0"
    if np.allclose(found, given.mean(0) - given):
        return "the other way round: from each number its column's mean is subtracted"
    if np.allclose(found, given - given.sum(0)):
        return "that subtracts the sum of the column; the mean is the sum, divided by how many there are"
    if np.allclose(found, given / given.mean(0)):
        return "that divides by the mean of the column, which should be subtracted"
    return f"the columns should have the mean 0; yours have {found.mean(0).round(2).tolist()}"


@exercise("0.6")
def _(shapes: Any) -> str | None:
    if not isinstance(shapes, list | tuple) or len(shapes) != 4 or not all(isinstance(x, tuple | list) for x in shapes):
        return f"answer with a list of four tuples, such as [(5, 3), (5,), (5,), (5,)]; found {kind(shapes)}"
    reasons = {
        "a + b": ((5, 3), "b is stretched to the shape of a"),
        "a @ b": ((5,), "the inner length, 3, vanishes: one number for each row"),
        "a.sum(axis=1)": ((5,), "axis 1 is the one of length 3, and it vanishes"),
        "a[a[:, 0] > 9]": ((3, 3), "whole rows are picked, three of them"),
    }
    for (what, (wanted, why)), found in zip(reasons.items(), shapes, strict=True):
        if tuple(found) != wanted:
            return f"{what} does not have the shape {tuple(found)}: {why}"
    return None


@exercise("0.7", of=function)
def _(means_of: Any) -> str | None:
    moths = "kind, length, width\nmoth, 2, 3\nbee, 1, 1.5\nmoth, 4, 1\n"
    one = {"moth": [3.0, 2.0], "bee": [1.0, 1.5]}
    cases = (
        (moths, one),
        ("\n\nkind,x\n\n a ,1\na, 3\n   \nb,-0.5", {"a": [2.0], "b": [-0.5]}),
        ("kind,x,y,z\nc,1,2,3", {"c": [1.0, 2.0, 3.0]}),
    )
    for text, wanted in cases:
        try:
            found = means_of(text)
        except ValueError as error:
            if "could not convert" in str(error):
                return f"a cell that is no number was read as one: {error}; is it the first line, or a blank one?"
            return f"{text!r} is a good table, and you raise {str(error)!r:.60}: do blank lines count?"
        if not isinstance(found, dict):
            return f"a dict from kinds to lists is needed here; found {kind(found)}"
        if "kind" in found:
            return "the first line names the columns; it is no row"
        if len(found) < len(wanted):
            return f"the kinds of {text!r} are {[*wanted]}, yours are {[*found]}"
        if strange := [key for key in found if key != key.strip() or not key]:
            return f"{strange[0]!r} is no kind: strip the spaces, and leave out blank lines"
        for name, numbers in wanted.items():
            have = list(found.get(name, []))
            if len(have) == len(numbers) and all(map(near, have, numbers)):
                continue
            if text == moths and have in ([4.0, 1.0], [2.0, 3.0]):
                return (
                    f"those are the numbers of one row of {name}s; keep all of them, and take the mean of each column"
                )
            if text == moths and have == [6.0, 4.0]:
                return "those are the sums; a mean is divided by how many rows there are"
            if text == moths and have == [2.5, 2.5]:
                return "those are the means of the rows; a column goes along axis 0"
            return f"for {text!r} the means of {name!r} are {numbers}, yours are {found.get(name)}"
    for bad, number_of in (("kind,x\na,1\n\nb,1,2\n", 4), ("kind,x,y\na,1,2\na,3", 3)):
        try:
            found = means_of(bad)
        except ValueError as error:
            if not re.search(rf"\b{number_of}\b", str(error)):
                return f"line {number_of} of {bad!r} is wrong, blank lines counted; your message is {str(error)!r:.60}"
        else:
            return f"line {number_of} of {bad!r} has another number of cells: raise a ValueError; found {found}"
    return None
