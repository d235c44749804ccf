"""What only a browser shows of a movie: sizes, themes, the scrubber, notebooks; frames and keys are in tests/viz."""

import random
from pathlib import Path

import pytest
from drawn_graphs import POINTS, SIDES, filmed_network, turning
from late import nbconvert, nbformat

from micrograd import viz
from micrograd.nn import MLP

NOW = "return Number(document.querySelector('#frame').value)"
GROUND = "return getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(246, 248, 251)", "rgb(15, 20, 28)"


@pytest.fixture(scope="module")
def film():
    return turning()


@pytest.fixture(scope="module")
def wide():
    """The page of a movie with two columns of sixteen neurons."""
    random.seed(1337)
    film = viz.movie(MLP(2, [16, 16, 1]), POINTS, SIDES, resolution=10)
    film.frame(1.0)
    return film.page().html


@pytest.fixture
def movie(page, film):
    return page.open(film.page().html)


def test_the_scrubber_is_dragged_and_its_own_keys_step_once(movie, film):
    movie.click("#frame")  # in the middle
    assert movie.run(NOW) == len(film) // 2
    movie.press("ArrowRight")
    assert movie.run(NOW) == len(film) // 2 + 1


def wait(page, condition):
    return page.run(
        "return new Promise((done, failed) => { const began = performance.now(); (function look() {"
        f"if ({condition}) done(true); else if (performance.now() - began > 8000) done(false);"
        "else setTimeout(look, 20) })() })"
    )


PLAYING = "document.documentElement.classList.contains('playing')"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 1400])
def test_it_fits_and_everybody_can_use_it(page, film, width, dark):
    page.open(film.page().html, width, dark=dark)
    assert page.run(GROUND) == (DARK if dark else LIGHT)
    assert page.run("return document.documentElement.scrollWidth") == width
    assert page.axe() == []
    clipped = page.run(
        "return [...document.querySelectorAll('svg text')].filter(text => {"
        "const a = text.getBoundingClientRect(), b = text.closest('.panel').getBoundingClientRect();"
        "return a.left < b.left || a.right > b.right || a.top < b.top || a.bottom > b.bottom }).length"
    )
    assert clipped == 0


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (1280, 720), (1920, 1080)])
def test_it_fills_the_window(page, film, width, height):
    page.open(film.page().html, width, height)
    low, *columns = page.run(
        "return [...document.querySelectorAll('.bar, .column')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert height - 20 < low <= height
    assert columns == pytest.approx([low - 46, low - 46], abs=2)
    drawn, whole = page.run(
        "const area = e => e.getBoundingClientRect().width * e.getBoundingClientRect().height;"
        "const all = selector => [...document.querySelectorAll(selector)].reduce((sum, e) => sum + area(e), 0);"
        "return [all('.boundary, .loss, .layer, .network'), all('.panels')]"
    )
    assert drawn > 0.55 * whole


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (1280, 720), (390, 844)])
def test_type_in_the_drawings_can_be_read_and_nothing_covers_it(page, wide, width, height):
    page.open(wide, width, height)
    page.run("return new Promise(requestAnimationFrame)")
    small, covered, neuron = page.run(
        "const texts = [...document.querySelectorAll('.panel > svg text:not(.sub)')].filter(e => e.textContent);"
        "const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;"
        "const box = e => e.getBoundingClientRect(), choice = box(document.getElementById('kind'));"
        "return [Math.min(...texts.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)),"
        " texts.filter((e, k) => [choice, ...texts.slice(k + 1).map(box)].some(b => !apart(box(e), b)))"
        ".map(e => e.textContent), box(document.querySelector('.ring:not(.ground)')).width]"
    )
    assert small > 11.4
    assert covered == []
    assert neuron > 13


def test_a_movie_of_one_frame_and_no_weights_is_still_a_page(page):
    film = viz.movie(lambda p: p[:, 0] - 1, POINTS, SIDES, resolution=10)
    film.frame(1.0)
    page.open(film.page().html)
    page.press(" ", "ArrowRight", "End")
    assert page.run(NOW) == 0
    assert page.axe() == []


@pytest.mark.parametrize("title", ["</script><script>console.log(1)</script>", "<img src=x onerror='console.log(1)'>"])
def test_a_hostile_title_does_nothing(page, title):
    film = viz.movie(lambda p: p[:, 0] - 1, POINTS, SIDES, resolution=10, title=title)
    film.frame(1.0)
    page.open(film.page().html)
    assert page.run("return document.title") == title
    page.open(f"<!doctype html>{film._repr_mimebundle_()['text/html']}")


# ------------------------------------------------------------------------------------------------ in a notebook
IN_FRAME = "const doc = document.querySelector('iframe').contentDocument; "


@pytest.fixture
def notebook(page, film):
    def show(ground, **how):
        output = film._repr_mimebundle_()["text/html"]
        page.open(f"<!doctype html><body style='background:{ground}'><div>{output}</div>", **how)
        assert wait(page, "document.querySelector('iframe').dataset.frame")
        return page

    return show


def test_in_a_notebook_the_page_takes_the_picture_s_place(notebook):
    page = notebook("#fff")
    assert not page.run("return document.querySelector('img').checkVisibility()")


@pytest.mark.parametrize(("ground", "expected"), [("#111", DARK), ("white", LIGHT)])
@pytest.mark.parametrize("system_is_dark", [False, True])
def test_in_a_notebook_the_theme_is_that_of_the_page_around(notebook, ground, expected, system_is_dark):
    page = notebook(ground, dark=system_is_dark)
    assert page.run(IN_FRAME + "return getComputedStyle(doc.body).backgroundColor") == expected


def test_in_a_notebook_the_frame_is_as_high_as_the_page(notebook):
    page = notebook("#fff")
    assert wait(
        page,
        "Math.abs(document.querySelector('iframe').clientHeight"
        " - document.querySelector('iframe').contentDocument.querySelector('main').offsetHeight) < 2",
    )


def test_in_a_notebook_the_frame_survives_a_reload(notebook):
    page = notebook("#fff")
    page.run(
        IN_FRAME + "const track = doc.querySelector('#frame'); track.value = 5; track.dispatchEvent(new Event('input'))"
    )
    page.run("const frame = document.querySelector('iframe'); frame.srcdoc = frame.srcdoc")
    assert wait(
        page,
        "document.querySelector('iframe').contentDocument.querySelector('#says')?.textContent.startsWith('Step 5')",
    )


def test_without_scripts_there_is_the_picture(page, film):
    """What sanitizers leave of the output: the picture, at its full size."""
    output = film._repr_mimebundle_()["text/html"].partition("<iframe")[0]
    page.open(f"<!doctype html>{output}")
    assert page.run("return document.querySelector('img').naturalWidth") > 1000


def test_the_picture_of_a_frame_is_seen_by_itself(page, film, tmp_path: Path):
    path = tmp_path / "still.svg"
    path.write_text(film.still(), encoding="utf-8")
    page.open(path)
    assert page.run("return document.documentElement.tagName") == "svg"


# ------------------------------------------------------------------------------------------------ exported
@pytest.fixture(scope="module")
def exported(film):
    """A notebook whose cells show the movie twice."""
    shown = nbformat().v4.new_output("display_data", data=film._repr_mimebundle_())
    return nbformat().v4.new_notebook(cells=[nbformat().v4.new_code_cell("film", outputs=[shown, shown])])


def test_an_exported_notebook_plays(page, exported):
    html, _ = nbconvert().HTMLExporter(template_name="basic").from_notebook_node(exported)
    page.open(f"<!doctype html>{html}")
    assert wait(page, "[...document.querySelectorAll('iframe')].filter(f => f.dataset.frame).length == 2")
    assert page.run("return [...document.querySelectorAll('img')].every(i => !i.checkVisibility())")


def test_a_notebook_exported_to_latex_has_the_words(exported):
    latex, _ = nbconvert().LatexExporter().from_notebook_node(exported)
    assert latex.count("A line that turns: a movie of a decision boundary, 7 frames") == 2


# ------------------------------------------------------------------------------------------------ the network
@pytest.fixture
def network(page):
    return page.open(filmed_network().page().html)


def test_play_is_within_three_tabs_and_the_network_is_one_stop(network):
    stops = []
    for _ in range(8):
        network.press("Tab")
        stops.append(network.run("const at = document.activeElement; return at.dataset.name ?? at.id"))
    assert "play" in stops[:3]
    assert [at for at in stops if at.startswith("Layer")] == ["Layer 1, neuron 1"]
    network.run("document.querySelector('.unit').focus()")
    network.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp")
    assert network.run("return document.activeElement.dataset.name") == "Layer 1, neuron 3"
    network.press(" ")
    assert network.run(f"return {PLAYING}") is False


def test_a_neuron_grows_when_it_is_focused_and_says_its_weights(network):
    found = network.run(
        "const unit = document.querySelector('.unit'), size = () => unit.getBoundingClientRect().width;"
        "const before = size(); unit.style.transition = 'none'; unit.focus();"
        "return [size() > 2 * before, unit.querySelector('title').textContent]"
    )
    assert found[0]
    assert found[1].startswith("Layer 1, neuron 1: weights ")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 1400])
def test_the_network_fits_and_everybody_can_use_it(page, network, width, dark):
    page.resize(width)
    page.emulate(dark=dark)
    assert page.run("return document.documentElement.scrollWidth") == width
    assert page.axe() == []
