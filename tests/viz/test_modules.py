"""The modules of pages: what each declares and imports, and how they become one script."""

import re
from collections import Counter

import pytest

from micrograd.viz.modules import IMPORT, modules, one_script, squeezed, tokens
from micrograd.viz.page import asset

PAGES = "playing/view.js", "playing/layer.js", "playing/compare.js", "training/movie.js", "training/network.js"


def declared(source: str) -> list[str]:
    """The names that a module declares at its top.

    >>> declared("export const a = [b, c], d = 1; function e(f) { let g; } const {h} = a;")
    ['a', 'd', 'e', 'h']
    """
    found, depth, kind, before = [], 0, "", ""
    for token in tokens(source):
        is_name = re.fullmatch(r"[A-Za-z_$][\w$]*", token)
        begins = kind and before in ("const", "let", "function", ",") and depth == 0
        pattern = depth == 0 and before in ("const", "let") and token in "[{"
        if is_name and (begins or kind == "pattern"):
            found.append(token)
        opens, closes = token in ("(", "[", "{") or token.endswith("${"), token in (")", "]", "}")
        if token.startswith("}") and token.endswith("${"):
            opens = False
        elif token.startswith("}") and len(token) > 1:
            closes = True
        depth += opens - closes
        if depth == 0 and token in ("const", "let", "function"):
            kind = token
        elif pattern:
            kind = "pattern"
        elif depth == 0 and (token == ";" or kind in ("function", "pattern")):
            kind = ""
        before = token
    return found


@pytest.mark.parametrize("page", PAGES)
def test_no_two_modules_of_a_page_declare_one_name(page):
    """They share a scope once they are joined."""
    names = Counter(name for text in modules(page, asset).values() for name in declared(IMPORT.sub("", text)))
    assert names.total() > 5
    assert {name: n for name, n in names.items() if n > 1} == {}


@pytest.mark.parametrize("page", PAGES)
def test_each_name_that_a_module_imports_is_exported_where_it_says(page):
    texts = modules(page, asset)
    exported = {
        name: {
            word
            for statement in re.findall(r"^export (.*)", text, re.MULTILINE)
            for word in declared(text)
            if word in tokens(statement)
        }
        for name, text in texts.items()
    }
    for name, text in texts.items():
        for names, path in IMPORT.findall(text):
            (home,) = [other for other in texts if other.endswith(path.split("/")[-1])]
            assert set(re.findall(r"[\w$]+", names)) <= exported[home], (name, home)


def test_page_has_all_modules_of_its_folder():
    from importlib.resources import files

    here = {f"playing/{path.name}" for path in (files("micrograd.viz") / "playing").iterdir() if path.suffix == ".js"}
    assert here == {name for page in PAGES for name in modules(page, asset) if name.startswith("playing/")}


def test_modules_run_after_those_that_they_import_and_once_each():
    texts = {
        "a/entry.js": 'import "./first.js";\nimport {b} from "../b.js";\nlog(b);\n',
        "a/first.js": 'import {b} from "../b.js";\nexport const c = b;\n',
        "b.js": 'export const b = "%table%";\n',
    }
    assert [*modules("a/entry.js", texts.__getitem__)] == ["b.js", "a/first.js", "a/entry.js"]
    assert one_script("a/entry.js", texts.__getitem__, table=[1]) == "const b=[1];const c=b;log(b);"


@pytest.mark.parametrize(
    "source",
    [
        "let a=b/c/d;",
        "x=y.replace(/[/\"'`]\\/ /g,'  // no comment ');",
        "f(`a  ${`b  ${{c:1}.c}  // d`}  e`);",
        "return x+ +y- -z;",
        "a?.5:b?.c;",
        'say("/* no  comment */");',
        "const f=async()=>{for(const x of[1,.5e-3])await x in y;};",
    ],
)
def test_squeezed_code_loses_white_space_alone(source):
    spaced = " \n ".join(tokens(source)) if "return" not in source else source
    assert squeezed(spaced + "  // why\n/* or */") == source
