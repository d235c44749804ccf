"""The fixture `page` itself: what it would miss, every test built on it would miss."""

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


def test_request_of_a_frame_is_seen(page):
    page.open(
        "<iframe srcdoc=\"<script>fetch('https://example.com/c').catch(() => parent.done = 1)</script>\"></iframe>"
    )
    page.wait("window.done")
    assert page.requests() == ["https://example.com/c"]
    assert len(page.console()) == 1


def test_data_urls_of_a_page_are_no_requests(page):
    page.open("<img alt='' src='data:image/svg+xml,<svg xmlns=\"http://www.w3.org/2000/svg\"/>'>")
    page.run("return fetch(URL.createObjectURL(new Blob(['x'])))")
    assert page.requests() == []


@pytest.mark.parametrize("wanted", [True, False])
def test_viewport_colour_scheme_and_motion_are_as_asked(page, wanted):
    page.open("<!doctype html>", 320 if wanted else 1400, 700, dark=wanted, reduced_motion=wanted)
    assert page.run("return [innerWidth, innerHeight]") == [320 if wanted else 1400, 700]
    assert page.run("return matchMedia('(prefers-color-scheme: dark)').matches") == wanted
    assert page.run("return matchMedia('(prefers-reduced-motion: reduce)').matches") == wanted


def test_click_and_keys_arrive_as_a_user_s(page):
    page.open(BUTTON)
    page.click("button")
    page.press("ArrowRight", " ", "Home", "Escape", "+", "Shift+Tab")
    assert page.text("button") == "clicked"
    assert page.run("return keys") == ["ArrowRight", " ", "Home", "Escape", "+^", "Shift^", "Tab^"]


def test_page_leaves_no_storage_to_the_next(page):
    for _ in range(2):
        page.open("<!doctype html>")
        assert page.run("const before = localStorage.a; localStorage.a = 1; return before") is None
        page.close()


def test_axe_finds_nothing_in_a_page_that_is_right_and_names_the_element_that_is_wrong(page):
    assert page.open(BUTTON).axe() == []
    found = page.open(BUTTON.replace("<main>", "<main><img src='data:,'>")).axe()
    assert any(line.startswith('image-alt: <img src="data:,">') for line in found)
