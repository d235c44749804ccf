"""What only a browser shows of a movie: sizes, themes, the scrubber, notebooks; frames and keys are in tests/viz."""

import random

import pytest
from drawn_graphs import POINTS, SIDES, filmed_network, turning

from micrograd import viz
from micrograd.nn import MLP


@pytest.fixture(scope="module")
def film():
    return turning()


@pytest.fixture(scope="module")
def wide():
    """The page of a movie with two columns of sixteen neurons."""
    film = viz.movie(MLP(2, [16, 16, 1], rng=random.Random(1337)), POINTS, SIDES, resolution=10)
    film.frame(1.0)
    return film.page().html


def test_scrubber_is_dragged_and_its_own_keys_step_once(page, film):
    now = "return Number(document.querySelector('#frame').value)"
    page.open(film.page().html).click("#frame")  # in the middle
    assert page.run(now) == len(film) // 2
    page.press("ArrowRight")
    assert page.run(now) == len(film) // 2 + 1


@pytest.mark.parametrize(("width", "dark"), [(320, True), (1400, False)])
@pytest.mark.parametrize("make", [turning, filmed_network])
def test_movie_fits_and_is_accessible(page, make, width, dark):
    page.open(make().page().html, width, dark=dark)
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(15, 20, 28)" if dark else "rgb(246, 248, 251)")
    assert page.run("return document.documentElement.scrollWidth") == width
    assert page.axe() == []
    clipped = page.run(
        "return [...document.querySelectorAll('svg text')].filter(text => {"
        "const a = text.getBoundingClientRect(), b = text.closest('.panel').getBoundingClientRect();"
        "return a.left < b.left || a.right > b.right || a.top < b.top || a.bottom > b.bottom }).length"
    )
    assert clipped == 0


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_movie_fills_the_window(page, film, width, height):
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
        "const box = e => e.getBoundingClientRect(), choice = box(document.getElementById('quantity'));"
        "return [Math.min(...texts.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)),"
        " texts.filter((e, k) => [choice, ...texts.slice(k + 1).map(box)].some(b => !apart(box(e), b)))"
        ".map(e => e.textContent), box(document.querySelector('.ring:not(.ground)')).width]"
    )
    assert small > 11.4
    assert covered == []
    assert neuron > 13


def test_movie_in_a_notebook_takes_the_place_of_its_picture_is_as_high_as_it_needs_and_survives_a_reload(page, film):
    frame = "document.querySelector('iframe')"
    doc = f"{frame}.contentDocument"
    page.open(f"<!doctype html><body>{film._repr_mimebundle_()['text/html']}")
    page.wait(f"{frame}.dataset.frame")
    assert not page.run("return document.querySelector('img').checkVisibility()")
    page.wait(f"Math.abs({frame}.clientHeight - {doc}.querySelector('main').offsetHeight) < 2")
    page.run(f"const track = {doc}.querySelector('#frame'); track.value = 5; track.dispatchEvent(new Event('input'))")
    page.run(f"{frame}.srcdoc = {frame}.srcdoc")
    page.wait(f"{doc}.querySelector('#says')?.textContent.startsWith('Step 5')")


def test_play_is_within_three_tabs_and_the_network_is_one_stop_whose_neurons_grow_and_say_their_names(page):
    network = page.open(filmed_network().page().html)
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
    assert network.run("return document.documentElement.classList.contains('playing')") is False
    grown, said = network.run(
        "const unit = document.querySelector('.unit'), size = () => unit.getBoundingClientRect().width;"
        "const before = size(); unit.style.transition = 'none'; unit.focus();"
        "return [size() > 2 * before, unit.querySelector('title').textContent]"
    )
    assert grown
    assert said == "Layer 1, neuron 1"
