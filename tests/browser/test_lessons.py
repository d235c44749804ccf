"""What the lessons tell the reader to press in the player, pressed in the player that the lesson shows."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains

from .test_player import at_each_step

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
BUTTONS = ["First step", "Step back", "Play", "Step forward", "Last step"]
TOLD = {1: 1, 3: 2, 4: 1, 5: 1, 7: 1, 12: 2, 18: 1}  # how many players a lesson tells the reader to use
TRAINED = (7, 18)  # of these, what trains and draws is left out


@cache
def cells(lesson):
    (path,) = LESSONS.glob(f"{lesson:02}_*.ipynb")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell | {"source": "".join(cell["source"])} for cell in notebook["cells"]]


def text(lesson):
    """All prose of a lesson, with its line breaks as spaces."""
    return " ".join(" ".join(cell["source"].split()) for cell in cells(lesson) if cell["cell_type"] == "markdown")


def defines(node):
    """Whether a statement imports or defines something, without training or drawing."""
    if isinstance(node, ast.Assign):
        return all(isinstance(part, (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp)) for part in [node.value])
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.ClassDef)) and "pictures" not in ast.unparse(node)


@cache
def shown(lesson):
    """The players that a lesson shows, in order, each as a page: the cells above run, but those that train for long."""
    space, players = {"__name__": "__main__"}, []
    for cell in cells(lesson):
        if cell["cell_type"] != "code" or "hide-input" in cell["metadata"].get("tags", []):
            continue
        nodes = ast.parse(re.sub(r"^%.*", "", cell["source"], flags=re.MULTILINE)).body
        shows = isinstance(nodes[-1], ast.Expr) and ".show(" in ast.unparse(nodes[-1])
        for node in nodes[:-1] if shows else nodes:
            if shows or lesson not in TRAINED or defines(node):
                exec(compile(ast.Module([node], []), f"lesson {lesson}", "exec"), space)
        if shows:
            players.append(eval(ast.unparse(nodes[-1]), space).html)
        if len(players) == TOLD[lesson]:
            return players
    raise LookupError(f"lesson {lesson} shows {len(players)} players")


@pytest.fixture(autouse=True)
def beside_the_lessons(monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    monkeypatch.chdir(LESSONS)
    np.random.seed(0)


# ------------------------------------------------------------------------------------------------ what is told
@pytest.mark.parametrize("lesson", TOLD)
def test_button_that_a_lesson_names_is_where_the_lesson_says(page, lesson):
    page.open(shown(lesson)[0])
    labels = page.run("return [...document.querySelectorAll('#bar > button')].map(e => e.ariaLabel)")
    assert labels == BUTTONS
    places = dict(zip(("first", "second", "third", "fourth", "fifth"), map(str.lower, labels), strict=True))
    for name, place in re.findall(r"\*([a-z]+ [a-z]+)\*, the (\w+) button", text(lesson)):
        assert places[place] == name
    assert "last step*, the fifth" not in text(lesson), "the player opens there, so the button changes nothing"


@pytest.mark.parametrize("lesson", TOLD)
def test_player_opens_at_its_end_and_the_first_button_and_step_forward_show_the_whole_pass(page, lesson):
    for player in shown(lesson):
        page.open(player, reduced_motion=True)
        end = int(page.run("return document.getElementById('scrub').max"))
        assert page.text("#phase") == "Done"
        page.click("#first")
        assert page.text("#phase") == "Ready"
        page.click("#next")  # as a hand does it; a script goes on from the first
        assert page.run("return document.getElementById('scrub').value") == "1"
        said = at_each_step(page, "[+scrub.value, document.getElementById('why').textContent.trim()]")
        assert page.text("#phase") == "Done"
        assert [place for place, _ in said] == [*range(end + 1)]
        panels = [panel for _, panel in said]
        assert all(panels[1:])
        assert len({*panels}) > end // 2  # each press has something new to say


def test_step_forward_at_the_last_step_begins_again_as_lesson_3_says(page):
    assert "At the last step, *step forward* begins again." in text(3)
    page.open(shown(3)[0], reduced_motion=True)
    page.click("#next")
    assert int(page.run("return document.getElementById('scrub').value")) <= 1


# ------------------------------------------------------------------------------------------------ one by one
def cards(page):
    """The data and the gradient on each card that has a name, as they are written."""
    return page.run("return [...document.querySelectorAll('.card')].map(e => e.ariaLabel)")


def steps_until(page, button, words):
    """Press a button until the panel has these words; gives how often."""
    for count in range(1, 60):
        page.click(button)
        if words in page.text("#panels"):
            return count
    raise AssertionError(f"no step says {words!r}")


def press(page, selector, name):
    """Click with the mouse on the element that has this name."""
    elements = page.driver.find_elements("css selector", selector)
    next(element for element in elements if name in (element.get_attribute("aria-label") or element.text)).click()


def open_in_frame(page, player, width):
    """As a notebook shows it."""
    source = player.replace("&", "&amp;").replace('"', "&quot;")
    page.open(
        f'<!doctype html><html lang="en"><title>n</title><iframe style="width:100%" srcdoc="{source}"></iframe>', width
    )
    page.driver.switch_to.frame(0)
    page.wait("document.querySelectorAll('.card').length")


def test_knobs_of_lesson_1_turn_as_it_says(page):
    page.open(shown(1)[0], reduced_motion=True)
    before = cards(page)
    assert any(label.startswith("a,") and "−3" in label for label in before), before
    number = "[...document.querySelectorAll('.card')].find(e => e.ariaLabel.startsWith('a,')).querySelector('.number')"
    page.run(f"{number}.dispatchEvent(new MouseEvent('dblclick', {{bubbles: true}}))")
    page.wait("!document.getElementById('number').hidden")
    page.run("const n = document.getElementById('number'); n.value = '3'; n.focus()")
    page.press("Enter")
    dial = next(label for label in cards(page) if label.startswith("dial,"))
    assert "1.0000" in dial  # 3 times -3 and 10: the dial moved -3 times as far as the knob


def test_lesson_3_shows_the_product_of_the_chain_rule_and_nudges_a_leaf(page):
    page.open(shown(3)[0], reduced_motion=True)
    page.click("#first")
    steps_until(page, "#next", "local derivative")
    assert "from the right" in page.text("#why")
    steps_until(page, "#next", "Nudge test: a")


SLANTED = "[...document.querySelectorAll('.number.grad')].some(e => getComputedStyle(e).fontStyle === 'italic')"


def test_lesson_3_shows_the_first_of_two_contributions_in_italics(page):
    page.open(shown(3)[1], reduced_motion=True)
    page.click("#first")
    for _ in range(10):
        page.click("#next")
        if page.run(f"return {SLANTED}"):
            return
    raise AssertionError("no gradient is shown as incomplete")


def test_step_back_of_lesson_4_finds_the_closure_that_was_written_by_hand(page):
    page.open(shown(4)[0], reduced_motion=True)
    assert steps_until(page, "#back", "written by hand") == 1


def test_head_of_lesson_18_opens_at_a_click_and_shows_what_it_says(page):
    page.open(shown(18)[0], reduced_motion=True)
    head = "[...document.querySelectorAll('.card')].find(e => e.ariaLabel.startsWith('Head,'))"
    page.run(f"{head}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    page.wait("!document.getElementById('crumbs').hidden")
    page.click("#first")
    found = ""
    while page.text("#phase") != "Done":
        page.press("ArrowRight")
        found += page.text("#phase") + page.text("#panels")
    assert "Backward begins" in found
    inside = " ".join(page.run("return [...document.querySelectorAll('.card')].map(e => e.ariaLabel)"))
    for words in ("transpose(", "constant, shape (3, 3)", "softmax(", "seen"):  # the constant is the mask
        assert words in inside, words
    for words in ("@ transpose(", "/ 2"):  # of cards that have a short name
        assert words in found, words


def test_player_of_lesson_7_does_what_the_lesson_says_in_the_frame_of_a_notebook(page):
    told = "Choose *layers* to see one card for each layer.", "Press *Show the neurons*, and then click a neuron"
    assert [words for words in told if words not in text(7)] == []
    open_in_frame(page, shown(7)[0], 900)
    press(page, "#tabs button", "layers")
    assert [label.split(",")[0] for label in cards(page)][:2] == ["Layer #2", "Layer #1"]
    press(page, ".card", "Layer #1")
    assert page.count("#table [data-way=forward] [data-right]") == 4  # a row for each neuron
    press(page, ".tabler", "Show the neurons")
    press(page, ".card", "TanhNeuron(2) #1")
    assert page.text("#crumbs") == "layers›Layer #1›TanhNeuron(2) #1"
    assert page.count(".card") > 3


@pytest.mark.parametrize("width", [700, 1000])
def test_tables_of_lesson_12_are_where_the_lesson_says_in_the_frame_of_a_notebook(page, width):
    (named,) = re.findall(r"The layer opens as two tables. Move over the cells of the table \*(.+?)\*.", text(12))
    open_in_frame(page, shown(12)[1], width)
    press(page, "#tabs button", "modules")
    press(page, ".card", "Linear #1")
    table = next(e for e in page.driver.find_elements("css selector", "#table figure") if e.text.startswith(named))
    told = set()
    for cell in table.find_elements("css selector", "[data-cell]"):
        ActionChains(page.driver, 20).move_to_element(cell).perform()
        told.add(page.text("#told-backward"))
    assert len(told) == 12
    slider = page.driver.find_element("id", "sample")
    ActionChains(page.driver, 20).move_to_element_with_offset(
        slider, slider.size["width"] // 2 - 3, 0
    ).click().perform()
    assert page.text(".samples output") == "3 of 3"


def test_movie_of_lesson_8_plays_and_goes_step_by_step_with_the_arrow_keys(page):
    assert "Press play, and then go through the movie once more with the arrow keys, step by step." in text(8)
    outputs = [output.get("data", {}) for cell in cells(8) for output in cell.get("outputs", [])]
    (html,) = ("".join(data["text/html"]) for data in outputs if "movie of a" in str(data.get("text/html", "")))
    page.open(f"<!doctype html><html lang=en><title>n</title><body>{html}")
    inner = "document.querySelector('iframe').contentDocument"
    step = f"+{inner}.querySelector('input[type=range]').value"
    page.wait(f"!!{inner}?.getElementById('play')")
    page.run(f"{inner}.getElementById('play').click()")
    page.wait(f"{step} > 0")
    page.run(f"{inner}.getElementById('play').click()")
    places = []
    for key in ("Home", "ArrowRight", "ArrowRight"):
        page.run(f"{inner}.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")
        places.append(page.run(f"return {step}"))
    assert places == [0, 1, 2]
