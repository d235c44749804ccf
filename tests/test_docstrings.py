"""The docstring of every public name: tools/proofread_docstrings.py reads them all, and here planted faults too."""

import doctest

import proofread_docstrings
import pytest

from micrograd.tensor import Tensor, functions


def test_no_docstring_has_a_fault():
    assert list(proofread_docstrings.faults()) == []


def wrong(x: float, y: float) -> float:
    """Returns a sum.

    Args:
        x: a number.
    """
    if y < 0:
        raise ValueError("negative")
    return x + y


def test_each_fault_of_a_docstring_is_found():
    found = list(proofread_docstrings.of_a_name("wrong", wrong))
    starts = ["the first line is", "Args lacks {'y'}", "it returns", "Raises lacks ['ValueError']", "it has no example"]
    assert all(any(fault.startswith(start) for fault in found) for start in starts)
    assert len(found) == len(starts) + 1  # nor when one would use it


def test_telegram_in_a_docstring_is_counted_and_its_sections_are_not():
    doc = (
        'Fast: a thing; another.\n\nArgs:\n    x, y: a number; 0 is none.\n\n>>> f(x)\n{"a: b; c": 1}\n\nSee `a: b`.\n'
    )
    assert " ".join(proofread_docstrings.plain(doc).split()) == "Fast: a thing; another. a number; 0 is none. See code."
    assert [fault.split(":")[0] for fault in proofread_docstrings.telegrams({"f": doc})] == [
        "too many colons",
        "too many semicolons",
    ]


@pytest.mark.parametrize("name", functions.FUNCTIONS)
def test_example_of_a_function_made_from_a_table_is_right(name):
    """The others are in the files, where pytest finds them."""
    names = {**vars(functions), "Tensor": Tensor}
    [example] = doctest.DocTestFinder(recurse=False).find(functions.FUNCTIONS[name], name, globs=names)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed == 0
