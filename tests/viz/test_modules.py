"""The modules of pages: how they become one script, and what is refused."""

from importlib.resources import files

import pytest

from micrograd.viz.modules import modules, one_script, squeezed, tokens
from micrograd.viz.page import asset

PAGES = "playing/main.js", "playing/layer.js", "playing/compare.js", "training/movie.js", "training/network.js"


def joined(**texts):
    """The script that begins in entry.js, of these modules by name."""
    return one_script("entry.js", {f"{name}.js": text for name, text in texts.items()}.__getitem__)


def test_pages_have_all_modules_of_their_folders():
    viz = files("micrograd.viz")
    here = {f"{name}/{path.name}" for name in ("playing", "training") for path in (viz / name).iterdir()}
    used = {file for page in PAGES for file in modules(page, asset)}
    assert {file for file in here if file.endswith(".js")} == used - {"html.js", "numbers.js", "page.js"}


# ------------------------------------------------------------------------------------------------ what is joined
def test_modules_run_after_those_that_they_import_and_once_each():
    texts = {
        "a/entry.js": 'import "./first.js";\nimport {b} from "../b.js";\nlog(b);\n',
        "a/first.js": 'import {b} from "../b.js";\nexport const c = b;\n',
        "b.js": 'export const b = "%table%";\n',
    }
    assert [*modules("a/entry.js", texts.__getitem__)] == ["b.js", "a/first.js", "a/entry.js"]
    assert one_script("a/entry.js", texts.__getitem__, table=[1]) == "const b=[1];const c=b;log(b);"


def test_modules_that_import_each_other_run_once_in_the_order_of_a_browser():
    script = joined(
        entry='import {a} from "./a.js";\na();\n',
        a='import {b} from "./b.js";\nexport function a() {\n  b();\n}\n',
        b='import {a} from "./a.js";\nexport const b = () => a;\n',
    )
    assert script == "const b=()=>a;function a(){b();}a();"


def test_names_are_imported_over_several_lines_and_exported_in_each_form():
    script = joined(
        entry='import {\n  a,\n  b,\n  c,\n  d,\n  e,\n  f,\n} from "./a.js";\nlog(a, b, c, d, e, f);\n',
        a="export let a;\nexport const {b, c} = a;\nexport const [d] = b;\nexport async function e() {}\n"
        "export class f {}\n",
    )
    assert script.endswith("async function e(){}class f{}log(a,b,c,d,e,f);")


# ------------------------------------------------------------------------------------------------ what is refused
def test_name_that_two_modules_declare_is_refused():
    """They share a scope, in which the name would be one thing for both."""
    two = {"entry": 'import "./a.js";\nimport "./b.js";\n', "a": "export const x = 1;\n"}
    for other in ("export const x = 2;\n", "const {y, x} = z;\n", "let x;\n", "function x() {}\n"):
        with pytest.raises(ValueError, match=r"a\.js and b\.js share a scope, and both declare x: rename one"):
            joined(**two, b=other)


@pytest.mark.parametrize("home", ["const b = 1;", "export const c = 1;", "log(() => {\n  const b = 1;\n});"])
def test_import_of_a_name_that_is_not_exported_is_refused(home):
    with pytest.raises(ValueError, match=r"entry\.js imports b, which a\.js does not export"):
        joined(entry='import {b} from "./a.js";\n', a=f"{home}\n")


def test_module_that_is_not_there_is_refused_by_name():
    with pytest.raises(FileNotFoundError, match=r"gone\.js"):
        one_script("gone.js", asset)


@pytest.mark.parametrize(
    "statement",
    [
        'import * as all from "./a.js";',
        'import one from "./a.js";',
        'import {one} from "elsewhere";',
        "import {one} from './a.js';",
        "export default 1;",
        "export {one};",
        'export * from "./a.js";',
        "export let one, two;",
        "let one, two;",
        "const {one: two} = three;",
        "const one = 1,\n  two = 2;",
    ],
)
def test_statement_of_another_form_is_refused_with_its_module(statement):
    with pytest.raises(ValueError, match=r"^entry\.js has .*forms that"):
        joined(entry=f"{statement}\n", a="export const one = 1;\n")


# ------------------------------------------------------------------------------------------------ white space
@pytest.mark.parametrize(
    "source",
    [
        "let a=b/c/d;",
        "x=y.replace(/[/\"'`]\\/ /g,'  // no comment ');",
        "f(`a  ${`b  ${{c:1}.c}  // d`}  e`);",
        "return x+ +y- -z;",
        "i++ /2/3;x[0]/2/3;`a`/2/3;",
        "a?.5:b?.c;",
        'say("/* no  comment */");',
        "const f=async()=>{for(const x of[1,.5e-3])await x in y;};",
    ],
)
def test_squeezed_code_loses_white_space_alone(source):
    spaced = " \n ".join(tokens(source)) if "return" not in source else source
    assert squeezed(spaced + "  // why\n/* or */") == source.replace("++ /", "++/")


@pytest.mark.parametrize("source", ["say(`a", "say(`a ${b} c", "x = /a"])
def test_text_without_an_end_is_refused(source):
    with pytest.raises(ValueError, match="has no end"):
        tokens(source)
