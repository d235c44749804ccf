"""Templates of HTML: what is put in is text, whatever it says, and nothing else in a page's script sets HTML."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from micrograd.viz.modules import one_script, tokens
from micrograd.viz.page import asset

ROOT = Path(__file__).parents[2]
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


SCRIPTS = sorted([*ROOT.glob("micrograd/viz/**/*.js"), *ROOT.glob("site/live/*.js")])


def test_scripts_of_pages_set_html_in_one_place_alone_but_for_what_a_cell_of_a_notebook_displays():
    found = [f"{path.name}: {place}" for path in SCRIPTS for place in SETS_HTML.findall(path.read_text("utf-8"))]
    assert found == ["html.js: outerHTML", "html.js: innerHTML", "cells.js: insertAdjacentHTML"]


class Balance(HTMLParser):
    """What is opened and not closed, or the other way around."""

    def __init__(self):
        super().__init__()
        self.open, self.odd = [], []

    def handle_starttag(self, tag, _):
        self.open += [] if tag in ("input", "br") else [tag]

    def handle_startendtag(self, tag, _):
        pass

    def handle_endtag(self, tag):
        if self.open[-1:] == [tag]:
            self.open.pop()
        else:
            self.odd.append(tag)


def templates(source):
    """The text of each HTML template of a module, "0" in the place of each expression."""
    found, around, before = [], [], ""
    for token in tokens(source):
        if token.startswith("`"):
            around.append([before == "html", ""])
        if token.startswith("`") or (token.startswith("}") and len(token) > 1):
            around[-1][1] += token.strip("`{}$") + "0"
            if token.endswith("`"):
                is_html, text = around.pop()
                found += [text] if is_html else []
        before = token
    return found


def test_each_template_closes_what_it_opens():
    """A template is put together by its own parts: a tag that another one closes would end where a formatter likes."""
    unequal, count = [], 0
    for file in SCRIPTS:
        for text in templates(file.read_text(encoding="utf-8")):
            balance = Balance()
            balance.feed(text)
            unequal += [(file.name, text)] if balance.open or balance.odd else []
            count += 1
    assert unequal == []
    assert count > 60
