"""Slides in a window of 1280 by 720 pixels: nothing is cut off, and a result needs a press of its own."""

import sys
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
import handout  # noqa: E402

PATHS = sorted(LESSONS.glob("[0-9]*.ipynb"))
LOOKS = """  // one after another, by the key: what is seen of each
  const done = arguments[0], looks = [];
  const go = async () => {
    for (const step of document.querySelectorAll('.step')) {
      await Promise.all([...step.querySelectorAll('img')].map(e => e.decode()));
      dispatchEvent(new Event('resize'));
      const pre = step.querySelector('pre');
      const boxes = [...step.querySelectorAll(':not(details *)')].map(e => e.getBoundingClientRect());
      const inside = boxes.filter(b => b.width && b.height);
      looks.push({kind: step.className, hidden: step.hidden, type: parseFloat(getComputedStyle(pre ?? step).fontSize),
        over: [step.scrollWidth - 1280, step.scrollHeight - 720, Math.max(0, ...inside.map(b => b.bottom)) - 720,
          Math.max(0, ...inside.map(b => b.right)) - 1280]});
      dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));
    }
  };
  go().then(() => done(looks), error => done(String(error)));
"""


@pytest.fixture
def open_slides(page, tmp_path):
    def opened(path):
        pytest.importorskip("nbconvert", reason="nbconvert, which makes the slides, is not installed")
        cells = handout.slides(handout.cells_of(path))
        handout.write_slides(cells, tmp_path / "slides.html")
        text = (tmp_path / "slides.html").read_text(encoding="utf-8").replace(handout.MATHJAX, "")  # no connection here
        (tmp_path / "slides.html").write_text(text, encoding="utf-8")
        return page.open(tmp_path / "slides.html", 1280, 720)

    return opened


@pytest.mark.parametrize("path", PATHS, ids=[path.stem[:2] for path in PATHS])
def test_no_slide_overflows_and_type_is_readable(open_slides, path):
    page = open_slides(path)
    looks = page.driver.execute_async_script(LOOKS)
    cut = [
        (place + 1, look)
        for place, look in enumerate(looks)
        if look["hidden"] or max(look["over"]) > 1 or look["type"] < 12
    ]
    assert cut == []
    assert len(looks) > 10
    page.console()  # what players say there, if anything, is tested elsewhere
    page.requests()


def test_keys_go_on_and_back_and_show_the_notes(open_slides):
    page = open_slides(PATHS[5])
    shown = "return [...document.querySelectorAll('.step')].findIndex(e => !e.hidden)"
    page.press("ArrowRight", " ", "ArrowLeft")
    assert page.run(shown) == 1
    notes = "return [...document.querySelectorAll('aside')].filter(e => !e.hidden).length"
    page.press("Home")
    assert page.run(notes) == 0
    page.press("s")
    assert page.run(notes) == 1
