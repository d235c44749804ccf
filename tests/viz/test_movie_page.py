"""The movie's page in Node: every frame, keys, play, links, and what the network shows."""

import pytest
from drawn_graphs import filmed_network, turning

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
    return page.open(film.page().html, "frame=0", calm=False)


def now(page):
    return int(page.get("query('#frame').value"))


# ------------------------------------------------------------------------------------------------ a frame
def test_frame_shows_its_own_words_picture_lines_and_bars_whichever_way_it_was_reached(movie, film):
    by_frame, states = panels.histograms(film)["weights"].counts, []
    for i, frame in enumerate(panels.moving(film)):
        states.append(movie.get(STATE))
        view, lines, bars, (*_, says), *_ = states[-1]
        assert says == movie.get("query('#frame').getAttribute('aria-valuetext')") == frame["says"]
        assert lines == frame["lines"]
        assert bars == [path for counts in by_frame[i] for path in panels.bars(counts)]
        assert view.split()[:2] == ["0.5", f"{i * len(film.ys) + 0.5:g}"]
        movie.press("ArrowRight")
    assert [movie.get(STATE)] + [movie.press("ArrowLeft").get(STATE) for _ in range(FRAMES - 1)] == states[::-1]


# ------------------------------------------------------------------------------------------------ to choose one
@pytest.mark.parametrize(
    ("act", "wanted"),
    [
        (lambda page: page.press("End"), FRAMES - 1),
        (lambda page: page.press("End", "ArrowRight"), FRAMES - 1),
        (lambda page: page.press("End", "Home"), 0),
        (lambda page: page.press("Home", "ArrowLeft"), 0),
        (lambda page: page.press(" ", "Home"), 0),
        (lambda page: page.click("#next").click("#next").click("#back"), 1),
        (lambda page: (page.click("#play").pass_time(250), page.click("#play")), 2),
        (lambda page: page.run("location.hash = '#frame=4'; passTime(0)"), 4),
    ],
    ids=["last", "behind it", "first", "before it", "while it plays", "buttons", "play and pause", "link"],
)
def test_keys_buttons_and_links_lead_to_a_frame_and_stop_the_playing(movie, act, wanted):
    act(movie)
    movie.pass_time(1000)
    assert (now(movie), movie.get(PLAYING)) == (wanted, False)


@pytest.mark.parametrize(
    ("place", "frame"), [("frame=5", 5), ("frame=999", FRAMES - 1), ("frame=x", FRAMES - 1), ("", FRAMES - 1)]
)
def test_link_leads_to_a_frame(page, film, place, frame):
    assert now(page.open(film.page().html, place)) == frame


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


def test_space_bar_on_a_button_presses_it_once_and_the_speed_goes_around(movie):
    movie.run("query('#speed').focus()")
    assert movie.press(" ").text("#speed") == "2×"
    assert not movie.get(PLAYING)
    assert [movie.click("#speed").text("#speed") for _ in range(4)] == ["4×", "0.5×", "1×", "2×"]


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


# ------------------------------------------------------------------------------------------------ the network
@pytest.fixture
def network(page):
    return page.open(filmed_network().page().html, "frame=0")


def test_weights_and_answers_move_with_the_frame(network):
    line = (
        "(first => all('.network .w').find(e => e.getAttribute('d').includes(first)).attributes)"
        "(JSON.parse(query('#film').textContent).ends[0])"
    )
    found = [network.press("ArrowRight").get(line) for _ in range(2)]
    assert (found[0]["class"], found[0]["style"]) == ("w below", "--wide:4.9")
    assert found[1]["class"] == "w zero"
    assert network.get("all('.network use').map(e => e.getAttribute('y'))") == ["-24"] * 4


def test_weights_are_shown_where_there_is_nothing_else_to_choose(movie, film):
    assert movie.get("[query('select#quantity'), query('#quantity').textContent]") == [None, "weights"]
    counts = panels.histograms(film)["weights"].counts
    assert movie.get("all('.bars path').map(e => e.getAttribute('d'))")[:2] == list(panels.bars(counts[0][0]))


def test_gradients_are_shown_in_place_of_weights_where_they_are_chosen(network):
    bars = "all('.bars path').map(e => e.getAttribute('d')).join('')"
    before = network.get(bars)
    assert network.get("all('#lines option').map(e => e.textContent)") == ["weights", "gradients", "changes"]
    network.run("query('#quantity').value = 'gradients'; query('#quantity').dispatchEvent(new Event('change'))")
    assert network.get(bars) != before
    network.run("query('#quantity').focus()")
    assert now(network.press("ArrowRight")) == 0, "a choice keeps its own keys"
