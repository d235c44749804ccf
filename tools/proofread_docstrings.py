"""Proofread the docstrings of all public names: `python tools/proofread_docstrings.py`, which `make lint` runs.

Prints what a docstring lacks: a first line, what a function takes, returns and raises, an example, when one would use
it, and sentences rather than telegrams.
"""

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import micrograd
from micrograd import compiler, functional, nn, optim, viz

KNOWN = ("micrograd.tensor.functions", "micrograd.tensor.creation")  # NumPy's names, of which everybody knows the use
MARKS = {"colons": (r":(?![^\W_]|//)", 5), "semicolons": (";", 3)}  # at most, in 1,000 words of all docstrings together


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


def parameters(found: Any) -> list[str]:
    """The names of what a function takes."""
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


def of_a_name(name: str, found: Any) -> Iterator[str]:
    """What a docstring lacks."""
    doc = inspect.getdoc(found) or ""
    if not re.match(r"(?!(?:This|Returns|Gives|Makes|Gets|Sets|Computes)\b)\S[^?\n]+[.:](\n\n|$)", doc):
        yield f"the first line is {doc.partition(chr(10))[0]!r}: a noun phrase or an imperative, and a full stop"
    heads = re.findall(r"^(\*?\*?\w[^:]*):", section(doc, "Args"), re.MULTILINE)
    said = {word.lstrip("*") for head in heads for word in head.split(", ")}
    takes = {name for name in parameters(found) if name in said or name != "_misspelt"}
    if said != takes:
        yield f"Args lacks {takes - said}, and has {said - takes}, which it does not take"
    if takes and returns(found) and not section(doc, "Returns"):
        yield "it returns something, and has no Returns"
    if missing := [error for error in raised(found) if error not in section(doc, "Raises")]:
        yield f"Raises lacks {missing}"
    if "." not in name and ">>> " not in doc:
        yield "it has no example"
    known = "." in name or found.__module__.startswith(KNOWN)
    if not known and "Use it" not in re.split(r"\n(?:Args|Returns|Raises):|>>> ", doc)[0]:
        yield "it does not say soon when one would use it, in a sentence that begins with Use it"


def plain(doc: str) -> str:
    """The words of a docstring, without its examples, the titles of its sections, and the names and code in it."""
    doc = re.sub(r"^ *>>> .*\n(?: *\S.*\n?)*", "", doc, flags=re.MULTILINE)
    doc = re.sub(r"^(?:Args|Returns|Raises|Yields):$", "", doc, flags=re.MULTILINE)
    doc = re.sub(r"^(\s+)\*{0,2}[\w.]+(?:, \*{0,2}\w+)*: ", r"\1", doc, flags=re.MULTILINE)
    return re.sub(r"`+[^`]*`+", "code", doc)


def telegrams(docs: dict[str, str]) -> Iterator[str]:
    """Which marks the docstrings have too many of, together or one of them."""
    docs = {name: plain(doc) for name, doc in docs.items()}
    words = sum(len(doc.split()) for doc in docs.values())
    for what, (mark, most) in MARKS.items():
        found = {name: len(re.findall(mark, doc)) for name, doc in docs.items() if re.search(mark, doc)}
        if sum(found.values()) > most * words / 1000 or max(found.values(), default=0) > 2:
            yield f"too many {what}: {found}"


def faults() -> Iterator[str]:
    """All that there are."""
    names = dict(public())
    for name, found in names.items():
        yield from (f"{name}: {fault}" for fault in of_a_name(name, found))
    yield from telegrams({name: inspect.getdoc(found) or "" for name, found in names.items()})


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    sys.exit("\n".join(faults()) or 0)
