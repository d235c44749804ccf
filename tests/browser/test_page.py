"""The fixture `page` itself: every test built on it would miss what it misses."""

import pytest

BUTTON = """<!doctype html><html lang="en"><title>t</title><main><h1>t</h1>
<button onclick="this.textContent = 'clicked'">press</button><input aria-label="i"></main>
<script>addEventListener('keydown', e => (window.keys ||= []).push(e.key + (e.shiftKey ? '^' : '')))</script>"""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("nothing.here", "nothing is not defined"),
        *[(f"console.{level}('oh')", "oh") for level in ("log", "warn", "error")],
    ],
)
def test_errors_and_what_a_script_logs_are_on_the_console(page, script, said):
    page.open(f"<script>{script}</script>")
    (line,) = page.console()
    assert said in line


def test_request_to_another_place_is_seen(page):
    page.open("<img src='https://example.com/a.png' alt=''><link rel=stylesheet href='http://example.com/b.css'>")
    assert page.requests() == ["https://example.com/a.png", "http://example.com/b.css"]
    assert len(page.console()) == 2  # they failed, and the browser says so


def test_axe_finds_nothing_in_a_page_that_is_right_and_names_the_element_that_is_wrong(page):
    assert page.open(BUTTON).axe() == []
    found = page.open(BUTTON.replace("<main>", "<main><img src='data:,'>")).axe()
    assert any(line.startswith('image-alt: <img src="data:,">') for line in found)
