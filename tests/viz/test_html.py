"""Templates of HTML: what is put in is text, whatever it says, and nothing else in a page's script sets HTML."""

import re
from importlib.resources import files

import pytest

from micrograd.viz.modules import one_script
from micrograd.viz.page import asset

LABEL = '<img src="x" onerror="a()">&'
SETS_HTML = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write)\b")


@pytest.fixture
def shown(page):
    """The HTML of an element in which an expression was put; `given` is that label."""
    page.load(one_script("html.js", asset))
    script = "const at = document.createElement('p'), given = arguments[0]; put(at, {})"
    read = "return [at.innerHTML, at.textContent]"
    return lambda expression: page.run(f"{script.replace('{}', expression)}; {read}", LABEL)


@pytest.mark.parametrize(
    "expression",
    [
        "given",
        "html`${given}`",
        "html`<b>${html`${given}`}</b>`",
        "[html`${given}`]",
        "html`${[given]}`",
        "joined([given], '')",
        "joined(['', ''], given)",
        "`${given}`",
        "html`${{outerHTML: given, toString: () => given}}`",
    ],
)
def test_text_that_is_put_in_is_text(shown, expression):
    inside, text = shown(expression)
    assert "<img" not in inside
    assert text == LABEL


def test_text_in_an_attribute_does_not_end_it(shown):
    assert shown('html`<b title="${given}">c</b>`')[0].count("<") == 2


def test_template_without_its_tag_shows_its_tags(shown):
    assert shown("`<b>${1}</b>`")[1] == "<b>1</b>"


@pytest.mark.parametrize(
    ("expression", "inside"),
    [
        ("html`<b>${1}</b>`", "<b>1</b>"),
        ("html`${[html`<i>a</i>`, 'b']}`", "<i>a</i>b"),
        ("joined([html`<i>a</i>`, 'b', 'c'], html`<br>`)", "<i>a</i><br>b<br>c"),
        ("html`${undefined}${null}${''}${0}`", "0"),
        ("html`${document.createElement('b')}`", "<b></b>"),
        ("html`<i>a</i>\n      <i>b</i>`", "<i>a</i> <i>b</i>"),
    ],
)
def test_html_lists_and_elements_are_put_in_as_they_are(shown, expression, inside):
    assert shown(expression)[0] == inside


def test_scripts_of_pages_set_html_in_one_place_alone():
    viz = files("micrograd.viz")
    found = [
        f"{path.name}: {place}"
        for folder in (viz, viz / "playing", viz / "training")
        for path in folder.iterdir()
        if path.name.endswith(".js")
        for place in SETS_HTML.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == ["html.js: outerHTML", "html.js: innerHTML"]
