"""The docstring of every public name, as tools/proofread_docstrings.py reads it, and the examples made from a table."""

import doctest

import proofread_docstrings
import pytest

from micrograd.tensor import Tensor, functions


def test_docstrings_have_no_fault():
    assert list(proofread_docstrings.faults()) == []


@pytest.mark.parametrize("name", functions.FUNCTIONS)
def test_example_of_a_function_made_from_a_table_is_right(name):
    names = {**vars(functions), "Tensor": Tensor}
    [example] = doctest.DocTestFinder(recurse=False).find(functions.FUNCTIONS[name], name, globs=names)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed == 0
