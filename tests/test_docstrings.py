"""The docstring of every public name: what it takes, returns and raises, and an example that runs."""

import ast
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import micrograd
from micrograd import compiler, functional, nn, optim, viz
from micrograd.tensor import Tensor, functions


def public() -> Iterator[tuple[str, Any]]:
    """Each public function and class, and their methods, under one name each."""
    for module in (micrograd, nn, optim, functional, viz, compiler):
        for name in dir(module):
            found = getattr(module, name)
            if name[0] != "_" and not inspect.ismodule(found) and found.__module__.startswith(module.__name__):
                yield name, found
                yield from methods(found) if inspect.isclass(found) else ()


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Those that the package defines; an override needs no docstring, and `forward` is the call of a layer."""
    for name, found in inspect.getmembers(cls):
        first = [base for base in cls.__mro__ if name in vars(base)][-1]
        method = inspect.isfunction(found) or inspect.ismethod(found) or isinstance(found, property)
        documented = name[0] != "_" and not (name == "forward" and issubclass(cls, nn.Module))
        if method and documented and first.__module__.startswith("micrograd"):
            yield f"{first.__name__}.{name}", getattr(first, name)


PUBLIC = dict(public())


def parameters(found: Any) -> list[str]:
    return [] if isinstance(found, property) else [p for p in inspect.signature(found).parameters if p != "self"]


def returns(found: Any) -> bool:
    """True for a function that returns something; a property is what its first line says."""
    plain = inspect.isclass(found) or isinstance(found, property)
    return not plain and inspect.signature(found).return_annotation not in (None, "None")


def raised(found: Any) -> set[str]:
    """The names of the exceptions in `raise X(...)`, of a class those of its `__init__`."""
    made = vars(found).get("__init__", property()) if inspect.isclass(found) else found
    if isinstance(made, property) or made.__name__ == "<lambda>" or made.__code__.co_name == "<lambda>":
        return set()
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(made)))))
    calls = [node.exc.func for node in nodes if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name) and call.id.endswith("Error")}


def section(doc: str, title: str) -> str:
    """The indented lines below `title:`."""
    found = re.search(rf"^{title}:\n((?:[ \t]+.*\n?|\n(?=[ \t]))+)", doc, re.MULTILINE)
    return textwrap.dedent(found[1]) if found else ""


def faults(name: str, found: Any) -> Iterator[str]:
    doc = inspect.getdoc(found) or ""
    if not re.match(r"(?!(?:This|Returns|Gives|Makes|Gets|Sets|Computes)\b)\S[^?\n]+[.:](\n\n|$)", doc):
        yield f"the first line is {doc.partition(chr(10))[0]!r}: a noun phrase or an imperative, and a full stop"
    heads = re.findall(r"^(\*?\*?\w[^:]*):", section(doc, "Args"), re.MULTILINE)
    said, takes = {word.lstrip("*") for head in heads for word in head.split(", ")}, set(parameters(found))
    if said != takes:
        yield f"Args lacks {takes - said}, and has {said - takes}, which it does not take"
    if takes and returns(found) and not section(doc, "Returns"):
        yield "it returns something, and has no Returns"
    if missing := [error for error in raised(found) if error not in section(doc, "Raises")]:
        yield f"Raises lacks {missing}"
    if "." not in name and ">>> " not in doc:
        yield "it has no example"


@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_says_what_a_user_needs(name):
    assert list(faults(name, PUBLIC[name])) == []


# ---------------------------------------------------------------------------------------------------------------------
# What a reader needs first: when one uses it; and sentences rather than telegrams

COLONS, SEMICOLONS = 5, 3  # at most, in 1,000 words of all public docstrings together


def plain(doc: str) -> str:
    """The words of a docstring, without its examples, the titles of its sections, and the names and code in it."""
    doc = re.sub(r"^ *>>> .*\n(?: *\S.*\n?)*", "", doc, flags=re.MULTILINE)
    doc = re.sub(r"^(?:Args|Returns|Raises|Yields):$", "", doc, flags=re.MULTILINE)
    doc = re.sub(r"^(\s+)\*{0,2}[\w.]+(?:, \*{0,2}\w+)*: ", r"\1", doc, flags=re.MULTILINE)
    return re.sub(r"`+[^`]*`+", "code", doc)


def test_docstrings_are_written_in_sentences():
    docs = {name: plain(inspect.getdoc(found) or "") for name, found in PUBLIC.items()}
    words = sum(len(doc.split()) for doc in docs.values())
    for mark, most in ((r":(?![^\W_]|//)", COLONS), (";", SEMICOLONS)):
        found = {name: len(re.findall(mark, doc)) for name, doc in docs.items() if re.search(mark, doc)}
        assert sum(found.values()) <= most * words / 1000, found
        assert max(found.values(), default=0) <= 2, found


def test_a_telegram_in_a_docstring_is_counted_and_its_sections_are_not():
    doc = (
        'Fast: a thing; another.\n\nArgs:\n    x, y: a number; 0 is none.\n\n>>> f(x)\n{"a: b; c": 1}\n\nSee `a: b`.\n'
    )
    assert " ".join(plain(doc).split()) == "Fast: a thing; another. a number; 0 is none. See code."


KNOWN = ("micrograd.tensor.functions", "micrograd.tensor.creation")  # of NumPy's names, which need no such sentence
USED = [name for name, found in PUBLIC.items() if "." not in name and not found.__module__.startswith(KNOWN)]


@pytest.mark.parametrize("name", USED)
def test_a_docstring_says_soon_when_one_would_use_it(name):
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert "Use it" in re.split(r"\n(?:Args|Returns|Raises):|>>> ", doc)[0]


@pytest.mark.parametrize("name", functions.FUNCTIONS)
def test_the_example_of_a_function_made_from_a_table_is_right(name):
    """The others are in the files, where pytest finds them."""
    names = {**vars(functions), "Tensor": Tensor}
    [example] = doctest.DocTestFinder(recurse=False).find(functions.FUNCTIONS[name], name, globs=names)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed == 0
