"""The movie's page in Node: every frame, keys, play, links, and what the network shows."""

import pytest
from drawn_graphs import POINTS, SIDES, filmed_network, turning

from micrograd import viz
from micrograd.viz.training import panels

FRAMES = 7
STATE = """[
  query('.shades').getAttribute('viewBox'),
  all('.boundary > .line').map(e => e.getAttribute('d')),
  all('.bars path').map(e => e.getAttribute('d')),
  ['right', 'loss', 'step', 'says'].map(id => query('#' + id).textContent),
  ['cx', 'cy'].map(name => query('.dot').getAttribute(name)),
  query('.so-far').getAttribute('width')]"""
PLAYING = "document.documentElement.classList.contains('playing')"


@pytest.fixture(scope="module")
def film():
    return turning(FRAMES)


@pytest.fixture
def movie(page, film):
    return page.open(film.page().html, calm=False)


def now(page):
    return int(page.get("query('#frame').value"))


# ------------------------------------------------------------------------------------------------ a frame
def test_frame_shows_its_own_words_picture_lines_and_bars(movie, film):
    by_frame = panels.histograms(film)["weights"].counts
    for i, frame in enumerate(panels.moving(film)):
        view, lines, bars, (*_, says), *_ = movie.get(STATE)
        assert says == movie.get("query('#frame').getAttribute('aria-valuetext')") == frame["says"]
        assert lines == frame["lines"]
        assert bars == [path for counts in by_frame[i] for path in panels.bars(counts)]
        assert view.split()[:2] == ["0.5", f"{i * len(film.ys) + 0.5:g}"]
        movie.press("ArrowRight")
    assert now(movie) == FRAMES - 1


def test_frame_is_the_same_whichever_way_it_was_reached(movie):
    forward = [movie.get(STATE)] + [movie.press("ArrowRight").get(STATE) for _ in range(FRAMES - 1)]
    assert len(set(map(str, forward))) == FRAMES
    assert [movie.get(STATE)] + [movie.press("ArrowLeft").get(STATE) for _ in range(FRAMES - 1)] == forward[::-1]


# ------------------------------------------------------------------------------------------------ to choose one
@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        (["End"], FRAMES - 1),
        (["End", "ArrowRight"], FRAMES - 1),
        (["End", "Home"], 0),
        (["Home", "ArrowLeft"], 0),
        ([" ", "Home"], 0),
    ],
)
def test_key_leads_to_a_frame_and_stops_the_playing(movie, keys, wanted):
    movie.press(*keys)
    movie.pass_time(1000)
    assert (now(movie), movie.get(PLAYING)) == (wanted, False)


def test_step_buttons_step(movie):
    movie.click("#next").click("#next").click("#back")
    assert now(movie) == 1


@pytest.mark.parametrize(("place", "frame"), [("frame=5", 5), ("frame=999", FRAMES - 1), ("frame=x", 0), ("", 0)])
def test_link_leads_to_a_frame(page, film, place, frame):
    assert now(page.open(film.page().html, place)) == frame


def test_link_within_the_page_leads_to_a_frame(movie):
    movie.run("location.hash = '#frame=4'; passTime(0)")
    assert now(movie) == 4


# ------------------------------------------------------------------------------------------------ to play
def test_space_plays_to_the_end_and_from_there_again(movie):
    movie.press(" ")
    said = "[query('#play').getAttribute('aria-label'), query('#says').getAttribute('aria-live')]"
    assert movie.get(said) == ["Pause", "off"]
    movie.pass_time(400)
    assert 0 < now(movie) < FRAMES - 1
    movie.pass_time(1000)
    assert (now(movie), movie.get(PLAYING)) == (FRAMES - 1, False)
    assert movie.get(said) == ["Play", "polite"]
    movie.press(" ")
    assert now(movie) == 0


def test_play_button_stops_where_the_movie_is(movie):
    movie.click("#play").pass_time(250)
    stopped = now(movie.click("#play"))
    movie.pass_time(1000)
    assert now(movie) == stopped > 0


def test_space_bar_on_a_button_presses_it_once(movie):
    movie.run("query('#speed').focus()")
    movie.press(" ")
    assert movie.text("#speed") == "2×"
    assert not movie.get(PLAYING)


def test_speed_goes_around(movie):
    assert [movie.text("#speed")] + [movie.click("#speed").text("#speed") for _ in range(4)] == [
        *("1×", "2×", "4×", "0.5×", "1×")
    ]


@pytest.mark.parametrize(("calm", "presses", "frames"), [(False, 0, 5), (False, 2, 7), (True, 0, 0), (True, 2, 3)])
def test_movie_takes_a_tenth_of_a_second_a_frame_six_of_them_where_less_motion_was_asked_for(
    page, film, calm, presses, frames
):
    page.open(film.page().html, calm=calm)
    assert not page.get(PLAYING)
    for _ in range(presses):
        page.click("#speed")
    page.press(" ").pass_time(550)
    assert now(page) == min(frames, FRAMES - 1)


def test_movie_of_one_frame_stays_there(page):
    film = viz.movie(lambda p: p[:, 0] - 1, POINTS, SIDES, resolution=10)
    film.frame(1.0)
    page.open(film.page().html).press(" ", "ArrowRight", "End")
    assert now(page) == 0


# ------------------------------------------------------------------------------------------------ the network
@pytest.fixture
def network(page):
    return page.open(filmed_network().page().html)


def test_weights_move_with_the_frame_in_width_and_hue(network):
    line = (
        "(first => all('.network .w').find(e => e.getAttribute('d').includes(first)).attributes)"
        "(JSON.parse(query('#film').textContent).ends[0])"
    )
    found = [network.press("ArrowRight").get(line) for _ in range(2)]
    assert (found[0]["class"], found[0]["style"]) == ("w below", "--wide:4.9")
    assert found[1]["class"] == "w zero"


def test_answers_of_the_neurons_move_with_the_frame(network):
    assert network.press("End").get("all('.network use').map(e => e.getAttribute('y'))") == ["-24"] * 4


def test_gradients_are_shown_in_place_of_weights_where_they_are_chosen(network):
    bars = "all('.bars path').map(e => e.getAttribute('d')).join('')"
    before = network.get(bars)
    network.run("query('#kind').value = 'gradients'; query('#kind').dispatchEvent(new Event('change'))")
    assert network.get(bars) != before
    network.run("query('#kind').focus()")
    assert now(network.press("ArrowRight")) == 0, "a choice keeps its own keys"
