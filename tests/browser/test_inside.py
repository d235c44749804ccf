"""The player that a click on a point or on a neuron of a movie opens, with the weights of the frame that is shown."""

import random
import re
from itertools import pairwise

import numpy as np
import pytest

from micrograd import Tensor, Value, nn, viz
from micrograd.functional import cross_entropy
from micrograd.nn import MLP
from micrograd.optim import SGD
from micrograd.viz.values import thickness

POINTS = np.random.default_rng(0).normal(size=(12, 2))
SIDES = np.where(POINTS[:, 0] > 0, 1, -1)
INNER = "document.querySelector('#inside iframe').contentDocument"
READY = f"{INNER}?.querySelectorAll('.card').length"
NUMBERS = f"[...{INNER}.querySelectorAll('.card')].map(e => e.getAttribute('aria-label')).join()"


def hinge(score, y):
    return (1 - y * score).relu()


@pytest.fixture(scope="module")
def trained():
    """A film, and for each frame the weights then."""
    random.seed(3)
    model = MLP(2, [4, 1], activation="tanh")
    film, weights = viz.movie(model, POINTS, SIDES, resolution=12, point_loss=hinge), []
    optimizer = SGD(model.parameters(), lr=0.3)
    for _ in range(5):
        loss = Value(0.0) + sum(hinge(model(x), y) for x, y in zip(POINTS.tolist(), SIDES.tolist(), strict=True))
        optimizer.zero_grad()
        loss.backward()
        film.frame(loss)
        weights.append([p.data for p in model.parameters()])
        optimizer.step()
    return film, model, weights


def click(page, selector, n=0):
    page.run(f"document.querySelectorAll('{selector}')[{n}].dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")


def wait_for(page, value):
    """Until a card, that of the result, has about this value."""
    number = np.asarray(getattr(value, "data", value)).item()
    data = f"[...{NUMBERS}.matchAll(/data ([−.\\d]+)/g)].map(found => found[1].replace('−', '-'))"
    page.wait(f"{data}.some(x => Math.abs(x - {number}) < 1e-3)")


def loss_at(model, weights, n):
    for p, x in zip(model.parameters(), weights, strict=True):
        p.data = x
    return hinge(model(POINTS[n].tolist()), int(SIDES[n])).data


def test_click_on_a_point_opens_its_loss_at_that_step_and_follows_the_movie(page, trained):
    film, model, weights = trained
    page.open(film.page().html)
    page.press("ArrowRight", "ArrowRight")
    for n in (int(np.argmax(SIDES)), int(np.argmin(SIDES)), 7):
        click(page, ".mark[data-n]", n)
        page.wait(READY)
        wait_for(page, loss_at(model, weights[2], n))
    assert page.text("#inside-of") == "Point 8"
    wide, *narrow = page.run(
        "return ['#inside', '.boundary', '.network']"
        ".map(at => document.querySelector(at).closest('.panel').offsetWidth)"
    )
    assert all(wide > 1.8 * width > 400 for width in narrow), "the boundary and the network stay in view"
    page.wait("document.querySelector('#largest').textContent.startsWith('Point 8:')")
    assert lines_shown(page) == [look(g) for g in weight_gradients(model, weights[2], 7)]
    for frame in (3, 4):
        page.press("ArrowRight")
        wait_for(page, loss_at(model, weights[frame], 7))
    page.click("#inside-close")
    assert page.run("return document.querySelector('.loss').checkVisibility()")
    assert page.run("return document.querySelector('#lines').value") == "weights"


def test_frame_with_a_weight_that_is_nan_shows_it_and_the_others_their_numbers(page):
    model = MLP(2, [1])
    film, wanted = viz.movie(model, POINTS, SIDES, resolution=5, point_loss=hinge), []
    for weight in (0.25, float("nan"), -0.5):
        model.layers[0].neurons[0].w[0].data = weight
        film.frame(1.0)
        wanted.append(hinge(model(POINTS[7].tolist()), int(SIDES[7])).data)
    page.open(film.page().html, fragment="frame=0")
    click(page, ".mark[data-n]", 7)
    page.wait(READY)
    wait_for(page, wanted[0])
    page.press("ArrowRight")
    page.wait(f"{NUMBERS}.includes('nan')")
    page.press("ArrowRight")
    wait_for(page, wanted[2])


def test_point_is_chosen_by_its_number_without_a_mouse_and_everybody_can_use_it(page, trained):
    page.open(trained[0].page().html, width=390, height=800, dark=True, fragment="frame=0")
    page.run("document.querySelector('#point').focus()")
    page.press("3", "Enter")
    page.wait(READY)
    assert page.count(".mark.chosen") == 1
    assert page.run("return document.querySelector('#frame').value") == "0", "a digit is no key of the film"
    assert not page.run("return document.documentElement.scrollWidth > innerWidth")
    assert page.axe() == []
    assert all("postMessage" in line for line in page.console()), "axe speaks to frames, which have no origin here"
    assert page.run(f"return {INNER}.documentElement.dataset.theme") == "dark"
    page.run("document.querySelector('#inside-close').focus()")
    page.press("Escape")
    assert page.run("return document.querySelector('#inside').hidden")
    assert page.run("return document.activeElement.id") == "point"


def test_neuron_opens_its_own_graph_by_key_too(page, trained):
    film, model, weights = trained
    page.open(film.page().html, fragment="frame=0")
    click(page, ".network .unit", 2)
    page.wait(READY)
    assert "Layer 1, neuron 3, at point 1" in page.text("#inside")
    assert page.run(f"return {INNER}.querySelector('#crumbs').textContent").endswith("#3")
    numbers = page.run(f"return {NUMBERS}").replace("−", "-")
    place = list(model.parameters()).index(model.layers[0].neurons[2].w[1])
    assert any(abs(float(x) - weights[0][place]) < 1e-3 for x in re.findall(r"-?\d+\.\d{4}", numbers))
    page.run("document.querySelectorAll('.network .unit')[1].focus()")
    page.press("Enter")
    page.wait(f"{INNER}.querySelector('#crumbs').textContent.endsWith('#2')")


@pytest.mark.parametrize("kind", ["regions", "curve"])
def test_movies_of_tensors_open_too(page, kind):
    rng = np.random.default_rng(1)
    model = nn.Sequential(
        nn.Linear(2 if kind == "regions" else 1, 5, rng=rng),
        nn.Tanh(),
        nn.Linear(5, 3 if kind == "regions" else 1, rng=rng),
    )
    x = POINTS if kind == "regions" else POINTS[:, :1]
    y = np.arange(12) % 3 if kind == "regions" else POINTS[:, 1]
    loss = cross_entropy if kind == "regions" else lambda out, y: (out - y) ** 2
    film = viz.movie(model, x, y, resolution=12, point_loss=loss)
    film.frame(1.0)
    page.open(film.page().html)
    for n in (4, 5):
        click(page, ".mark[data-n]", n)
        page.wait(READY)
        target = np.array([y[n]]) if kind == "regions" else Tensor(y[n : n + 1, None])
        wait_for(page, loss(model(Tensor(x[n : n + 1])), target))


class Wide(MLP):
    """A model without a graph."""

    def __call__(self, x):
        return np.asarray(x)[..., 0]


def test_point_or_neuron_that_does_not_open_says_why(page):
    film = viz.movie(Wide(2, [3, 1]), POINTS, SIDES, resolution=12)
    film.frame(1.0)
    page.open(film.page().html)
    click(page, ".mark[data-n]", 4)
    said = "return document.querySelector('#inside [role=status]').textContent"
    assert page.run(said).startswith("Point 5 does not open. What the model returned for one point has no graph")
    assert page.run("return document.documentElement.scrollHeight") == 900
    assert page.axe() == []
    page.press("Escape")
    assert page.run("return document.querySelector('#inside').hidden")
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 130))
    page.open(viz.draw_network(model, POINTS).html)
    page.run("document.querySelector('.unit').focus()")
    page.press("Enter")
    said = page.run(said)
    assert said.startswith("Layer 1, neuron 1 does not open. ")
    assert said.endswith("an array of 1,040 numbers is computed by Python alone.")


@pytest.mark.parametrize("tensors", [False, True], ids=["values", "tensors"])
def test_network_that_is_drawn_alone_opens_its_neurons(page, tensors):
    rng = np.random.default_rng(1)
    layers = nn.Sequential(nn.Linear(2, 3, rng=rng), nn.Tanh(), nn.Linear(3, 2, rng=rng))
    model = layers if tensors else MLP(2, [3, 2])
    page.open(viz.draw_network(model, POINTS).html, dark=tensors)
    assert page.axe() == []
    click(page, ".network .unit", 4)
    page.wait(READY)
    assert "Layer 2, neuron 2, at point 1" in page.text("#inside")
    page.run("document.querySelector('#point').focus()")
    page.press("3", "Enter")
    made = model(Tensor(POINTS[2:3])).sum() if tensors else sum(model(POINTS[2].tolist()))
    page.wait(f"{INNER}.querySelector('#crumbs').hidden")
    page.run(f"[...{INNER}.querySelectorAll('#tabs button')].find(tab => tab.textContent === 'operations').click()")
    if not tensors:
        wait_for(page, made)


@pytest.mark.parametrize("filmed", [False, True], ids=["drawn", "filmed"])
def test_neurons_of_a_long_column_are_so_small_at_once_that_they_lie_apart(page, filmed):
    model = MLP(2, [16, 1])
    film = viz.movie(model, POINTS, SIDES, resolution=4)
    film.frame(1.0)
    page.open(film.page().html if filmed else viz.draw_network(model, POINTS).html)
    boxes = page.run(
        "return [...document.querySelectorAll('.network .unit > .ring')].map(e => e.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == 17
    assert all(upper["bottom"] < lower["top"] for upper, lower in pairwise(boxes[:16]))


APART = """
const inner = document.querySelector('#inside iframe').contentDocument;
const lines = [...inner.querySelectorAll('.wire path:not(.tip, .hit)')];
const points = lines.flatMap(line => {
  const long = line.getTotalLength();
  return Array.from({length: 201}, (_, k) => line.getPointAtLength(long * k / 200));
});
return [...inner.querySelectorAll('.pill text')].map(text => {
  const {x, y, width, height} = text.getBBox(), off = (at, from, size) => Math.max(from - at, at - from - size, 0);
  return Math.min(...points.map(at => Math.hypot(off(at.x, x, width), off(at.y, y, height))));
});
"""


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_labels_stand_beside_their_lines_in_a_graph_that_opens_in_any_window(page, trained, size):
    page.open(trained[0].page().html, *size)
    click(page, ".mark[data-n]", 3)
    page.wait(f"{INNER}?.querySelectorAll('.pill text').length")
    apart = page.run(APART)
    assert apart
    assert max(apart) < 8


# ------------------------------------------------------------------------------------------------ on the network
def choose_lines(page, what):
    page.run(
        "const lines = document.querySelector('#lines'); lines.value = arguments[0];"
        "lines.dispatchEvent(new Event('change'))",
        what,
    )


LINES = (  # the sign and the width of each, in the order of the weights
    "[...document.querySelectorAll('.network .lines .w')].map(e => [e.classList[1], parseFloat(e.style.strokeWidth)])"
)


def lines_shown(page):
    return page.run(f"return {LINES}")


def look(g):
    return ["above" if g > 0 else "below" if g < 0 else "zero", round(thickness(g), 1) if g else 0.4]


def weight_gradients(model, weights, n):
    """The gradients of a point's loss, without those of the biases, which no line shows."""
    for p, x in zip(model.parameters(), weights, strict=True):
        p.data = x
    model.zero_grad()
    hinge(model(POINTS[n].tolist()), int(SIDES[n])).backward()
    return [w.grad for layer in model.layers for neuron in layer.neurons for w in neuron.w]


def test_lines_show_what_a_step_changes(page, trained):
    film, model, weights = trained
    page.open(film.page().html, reduced_motion=True, fragment="frame=0")
    choose_lines(page, "changes")
    page.wait("document.querySelector('#largest').textContent")
    on_lines = {w for layer in model.layers for neuron in layer.neurons for w in neuron.w}
    at = [k for k, p in enumerate(model.parameters()) if p in on_lines]
    signs = [sign for sign, _ in lines_shown(page)]
    assert signs == [look(weights[1][k] - weights[0][k])[0] for k in at]
    page.press("End")
    page.wait("document.querySelector('#largest').textContent === 'Nothing changes after the last frame.'")
    choose_lines(page, "weights")
    page.wait("document.querySelector('#flow').hidden")


def test_gradients_run_to_the_left_unless_less_motion_was_asked_for(page, trained):
    for reduced_motion in (True, False):
        page.open(trained[0].page().html, reduced_motion=reduced_motion)
        choose_lines(page, "gradients")
        page.wait("document.querySelector('.lines.flows .w')")
        late = page.run(
            "return [...document.querySelectorAll('.lines .w')].map(e => [getComputedStyle(e).animationName,"
            "parseFloat(getComputedStyle(e).animationDelay)])"
        )
        assert {name for name, _ in late} == {"none" if reduced_motion else "back"}
    assert late[0][1] > late[-1][1] == 0  # the last layer first
