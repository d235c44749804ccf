"""The player as people use it: every step, keys, clicks, links, themes, widths; in a real browser."""

import random
from itertools import pairwise

import numpy as np
import pytest
from drawn_graphs import neuron

from micrograd import Tensor, Value
from micrograd.nn import MLP
from micrograd.viz import player


def paths():
    a, b = Value(3.0, label="a"), Value(2.0, label="b")
    s, p = a + b, a * b
    s.label, p.label = "s", "p"
    root = s * p
    root.label = "L"
    return root


def network(samples=1, sizes=(16, 16, 1)):
    random.seed(1337)
    model = MLP(2, list(sizes))
    points = [(random.uniform(-1, 2), random.uniform(-1, 1)) for _ in range(samples)]
    loss = sum((1 + -((-1) ** i) * model(point)).relu() for i, point in enumerate(points)) * (1.0 / samples)
    loss.label = "loss"
    return loss


def arrays():
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(5, 3)), label="x")
    w = Tensor(rng.normal(size=(3, 4)), requires_grad=True, label="w")
    b = Tensor(rng.normal(size=4), requires_grad=True, label="b")
    return ((x @ w + b).tanh() ** 2).mean()


def crowd():
    """A graph with more lines than there is room for pills at once."""
    rng = random.Random(3)
    values = [Value(rng.uniform(0.5, 1), label=f"a{i}") for i in range(5)]
    for _ in range(45):
        a, b = rng.choice(values[-12:]), rng.choice(values[-12:])
        values.append(rng.choice([lambda: a * b, lambda: a + b, lambda: a - b])())  # noqa: B023
    return (values[-1] * values[-2]) * (values[-3] * values[-4])


@pytest.fixture(scope="module")
def training_step():
    """The player's page of 65,000 nodes, which takes a while to make."""
    return player(network(100)).html


GRAPHS = {"neuron": neuron, "paths": paths, "network": network, "arrays": arrays}
SHOWN = (  # all that one sees: the phase, the cards, the pills, the panels
    "[...document.querySelectorAll('#phase, #graph text, #why, #ran')].map(e => e.textContent.trim())"
    ".concat([...document.querySelectorAll('.card, .wire')].map(e => e.getAttribute('class')))"
)


def at_each_step(page, expression, button="next"):
    """What this JavaScript expression is at each step, from first to last, or from the one shown to the first."""
    return page.run(
        f"if ('{button}' === 'next') document.getElementById('first').click();"
        "const scrub = document.getElementById('scrub'), found = []; for (;;) {"
        f" found.push({expression}); if (scrub.value === scrub.{'max' if button == 'next' else 'min'}) return found;"
        f" document.getElementById('{button}').click() }}"
    )


def pick(page, selector):
    """Click something in the menu."""
    page.run("document.getElementById('more').open = true")
    page.click(selector)


def text(page, selector):
    return page.run("return document.querySelector(arguments[0]).textContent", selector)


def step(page):
    return int(page.run("return document.getElementById('scrub').value"))


def last(page):
    return int(page.run("return document.getElementById('scrub').max"))


def card(page, name):
    """The element of the card with this name."""
    return page.run(
        "return [...document.querySelectorAll('.card')]"
        ".find(e => e.getAttribute('aria-label').split(',')[0] === arguments[0])",
        name,
    )


def click(page, name):
    """Wherever the card is: it need not be in sight."""
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, name))


# ------------------------------------------------------------------------------------------------ steps
@pytest.mark.parametrize("name", GRAPHS)
def test_every_step_back_shows_what_the_step_forward_did(page, name):
    page.open(player(GRAPHS[name]()).html, reduced_motion=True)
    forward = at_each_step(page, SHOWN)
    assert len(forward) == last(page) + 1
    assert all(before != after for before, after in pairwise(forward))
    assert at_each_step(page, SHOWN, "back") == forward[::-1]


@pytest.mark.parametrize("passed", [False, True], ids=["before backward", "after it"])
def test_a_page_opens_computed_with_its_gradients(page, passed):
    out = neuron()
    if passed:
        out.backward()
    page.open(player(out, names={}).html)
    assert (step(page), text(page, "#phase")) == (12, "Done")
    assert [card(page, name).get_attribute("aria-label") for name in ("o", "x1")] == [
        "o, data 0.8813, gradient 1.0000",
        "x1, data 2.0000, gradient −0.6702",
    ]
    assert "x1 moves o most: by about −0.67 for each 1, so by −0.0067 for 0.01." in text(page, "#why")
    page.click("#play")
    assert text(page, "#phase") == "Ready"


def test_the_gradients_of_a_page_come_in_once_from_the_result_to_the_leaves(page):
    page.open(player(neuron(), names={}).html)
    late = page.wait(
        "document.querySelector('.arriving') && ['o', 'n', 'x1 * w1', 'w1'].map(name => [...document.querySelectorAll("
        "'.card')].find(e => e.getAttribute('aria-label').split(',')[0] === name).style.getPropertyValue('--late'))"
    )
    late = [int(text.removesuffix("ms")) for text in late]
    assert late == sorted(set(late))
    assert page.run("return document.querySelectorAll('.filling').length") == 9
    page.wait("!document.querySelector('.arriving, .filling')")
    page.resize(1200)
    page.run("return new Promise(done => setTimeout(done, 300))")
    assert not page.run("return document.querySelector('.arriving, .filling')")
    page.open(player(neuron(), names={}).html, fragment="step=12")
    assert not page.run("return document.querySelector('.arriving, .filling')")


def test_a_step_ends_the_motion_of_the_opening(page):
    page.open(player(neuron(), names={}).html)
    page.wait("document.querySelector('.arriving')")
    page.press("ArrowLeft")
    assert not page.run("return document.querySelector('.arriving, .filling')")


def test_values_appear_forward_and_gradients_backward(page):
    page.open(player(neuron()).html, reduced_motion=True, fragment="step=0")
    assert "data 0.8814" not in card(page, "o").get_attribute("aria-label")
    assert card(page, "o").get_attribute("aria-label") == "o, data not yet, gradient not yet"
    for _ in range(5):
        page.press("ArrowRight")
    assert card(page, "o").get_attribute("aria-label") == "o, data 0.8813, gradient not yet"
    page.press("ArrowRight")
    assert card(page, "o").get_attribute("aria-label") == "o, data 0.8813, gradient 1.0000"
    page.press("End")
    assert card(page, "w1").get_attribute("aria-label") == "w1, data −3.0000, gradient 0.4468"


def test_the_why_panel_multiplies_what_arrives_with_the_local_derivative(page):
    page.open(player(neuron()).html, fragment="step=11")
    why = text(page, "#why")
    assert "from the right" in why
    assert "0.2234" in why
    assert "w1 = −3.0000" in why
    assert "−0.6702" in why
    assert "x1.grad += g * w1" in text(page, "#ran")
    assert "✓ agrees" in text(page, "#ran")


def test_two_uses_in_one_step_are_counted_one_by_one(page):
    a = Value(3.0, label="a")
    page.open(player(a * a).html, fragment="step=3")
    assert page.run("return [...document.querySelectorAll('#why .aside')].map(e => e.textContent)") == [
        "1 of 2 uses: 3.0000",
        "2 of 2 uses: 6.0000",
    ]
    assert text(page, "#ran").count("a.grad += g * a") == 2


def test_where_it_is_crowded_the_step_that_runs_has_its_pills(page):
    page.open(player(crowd()).html, reduced_motion=True, fragment="scene=0")
    assert page.run("return document.querySelectorAll('.wire').length") > 70
    counts = "['.wire.forward, .wire.backward', '.pill rect'].map(e => document.querySelectorAll(e).length)"
    assert all(active == pills for active, pills in at_each_step(page, counts))


def test_a_number_lands_with_its_pulse(page):
    page.open(player(neuron()).html, fragment="step=6")
    early = page.run(
        "document.getElementById('next').click();"
        "return document.querySelectorAll('.pulse').length && arguments[0].getAttribute('aria-label')",
        card(page, "n"),
    )
    assert "gradient not yet" in early
    page.wait("!document.querySelector('.pulse')")
    assert "gradient 0.2234" in card(page, "n").get_attribute("aria-label")
    assert page.run("return document.querySelector('.pill.backward').textContent") == "1.00 × 0.22= 0.22"


def test_a_gradient_with_two_uses_fills_one_at_a_time(page):
    page.open(player(paths()).html, fragment="step=6", reduced_motion=True)
    assert page.run("return document.querySelectorAll('.use.on').length") == 2  # one of two, of a and of b
    assert "1 of 2 uses: " in text(page, "#why")
    assert page.run("return document.querySelectorAll('.number.grad.part').length") == 2
    page.press("ArrowRight")
    assert page.run("return document.querySelectorAll('.use.on').length") == 4
    assert page.run("return document.querySelectorAll('.number.grad.part').length") == 0
    assert "2 of 2 uses: 16.0000" in text(page, "#why")
    assert page.run("return document.querySelector('#why .aside b').textContent") == "16.0000"


def test_what_python_ran_has_the_brackets_that_it_needs(page):
    a, b = Value(3.0, label="a"), Value(2.0, label="b")
    page.open(player((a + b) * (a * b) - (b - (-(a + b))) ** 2).html, reduced_motion=True)
    lines = "[...document.querySelectorAll('#ran code')].map(e => e.textContent)"
    ran = {line for step in at_each_step(page, lines) for line in step}
    assert {"-(a + b)", "(a + b).grad += g * (a * b)"} <= ran
    assert {line for line in ran if line.startswith("out = ")} == {"out = (a + b) * (a * b) - (b - -(a + b))**2"}


def test_an_unnamed_result_is_not_called_out(page):
    a = Value(3.0, label="a")
    page.open(player((a * 2).tanh()).html, fragment="step=1")
    assert text(page, "#ran code") == "a * 2"


def test_a_gradient_that_a_hook_gave_is_told_as_that(page):
    a = Value(0.5, label="a")
    m = a * 2
    m.label = "m"
    m.register_hook(lambda g: g * 10)
    page.open(player(m * a).html, fragment="step=4")
    assert "1 of 1 use: a hook made it 5.0000" in text(page, "#why")
    page.press("End")
    click(page, "a")
    assert "A hook gave another gradient to m" in text(page, "#why")
    assert "sum" not in text(page, "#why")


def test_operands_that_are_arrays_are_told_by_their_shapes(page):
    t = Tensor(np.ones((3, 4)), requires_grad=True, label="t")
    page.open(player(t.sum()).html, fragment="step=1")
    assert "sum((3, 4)) → 12.0000" in text(page, "#why")


def test_the_track_and_the_buttons_go_where_they_say(page):
    page.open(player(neuron()).html)
    page.click("#last")
    assert (step(page), text(page, "#phase")) == (12, "Done")
    page.click("#first")
    assert (step(page), text(page, "#phase")) == (0, "Ready")
    page.click("#next")
    assert text(page, "#phase") == "Forward 1 of 5"
    page.click("#back")
    assert step(page) == 0
    page.click("#track")  # in the middle
    assert text(page, "#phase") == "Backward begins"
    assert page.run("return document.querySelectorAll('#marks circle.mark').length") == 6
    assert page.run("return document.querySelectorAll('#marks rect.mark').length") == 7


def test_home_end_and_space(page):
    page.open(player(neuron()).html)
    page.press("End")
    assert step(page) == last(page)
    page.press("Home")
    assert step(page) == 0
    page.press(" ")
    assert page.run("return document.getElementById('play').getAttribute('aria-label')") == "Pause"
    page.wait("document.getElementById('scrub').value > 0")
    page.press(" ")
    assert page.run("return document.getElementById('play').getAttribute('aria-label')") == "Play"


def test_it_plays_to_the_end_and_stops(page):
    page.open(player(Value(2.0, label="a") * 3).html)
    pick(page, "#speed")
    pick(page, "#speed")
    assert text(page, "#speed") == "4×"
    page.click("#play")
    page.wait("document.getElementById('phase').textContent === 'Done'")
    page.wait("document.getElementById('play').getAttribute('aria-label') === 'Play'")


@pytest.mark.parametrize(("fragment", "wanted"), [("step=7", 7), ("step=0", 0), ("step=9999", 12), ("nonsense", 12)])
def test_a_link_leads_to_a_step(page, fragment, wanted):
    page.open(player(neuron()).html, fragment=fragment)
    assert step(page) == wanted


def test_the_address_follows_the_step_and_the_step_the_address(page):
    page.open(player(neuron()).html)
    page.press("Home", "ArrowRight", "ArrowRight")
    assert page.run("return location.hash") == "#step=2"
    page.run("location.hash = '#step=5'")
    page.wait("document.getElementById('scrub').value === '5'")


def test_each_step_is_said_aloud(page):
    page.open(player(neuron()).html)
    said = at_each_step(page, "document.getElementById('live').textContent")
    assert len(set(said)) == len(said)
    assert said[1] == "Forward 1 of 5. x1 * w1 equals −6.0000."
    assert page.run("return document.getElementById('live').getAttribute('aria-live')") == "polite"


# ------------------------------------------------------------------------------------------------ paths
def test_a_click_lights_the_paths_and_sums_their_products(page):
    page.open(player(paths()).html, fragment="step=99")
    click(page, "a")
    assert page.run("return document.querySelectorAll('.wire.path').length") == 4
    why = text(page, "#why")
    assert "Why is a.grad 16.0000?" in why
    assert "a → s → L" in why
    assert "sum = 16.0000" in why
    page.press("Escape")
    assert page.run("return document.querySelectorAll('.wire.path').length") == 0


def test_a_chosen_leaf_has_its_rule_its_test_and_what_would_change_it_most(page):
    page.open(player(neuron(), names={}).html, reduced_motion=True)
    click(page, "w1")
    said = text(page, "#ran")
    assert "The rule that ran: w1.grad += g * x1 with g = 0.2234, the gradient of x1 × w1." in said
    assert "✓ agrees" in said
    o, x1, w1 = np.tanh(6.8813735870195432 - 5.5), 2.0, -3.0
    by_x1, by_w1 = (1 - o * o) * (1 - 2 * o * w1 * x1), -2 * o * (1 - o * o) * x1 * x1
    wanted = f"x1 by about {by_x1:.2f} for each 1, then w1 by about {by_w1:.2f} for each 1.".replace("-", "−")
    assert f"What would change w1.grad most: {wanted}" in said
    assert page.axe() == []


def test_where_the_result_is_linear_in_a_leaf_nothing_changes_its_gradient(page):
    page.open(player(Value(3.0, label="a") * 2, names={}).html, reduced_motion=True)
    click(page, "a")
    assert "No small change of a leaf changes a.grad" in text(page, "#ran")


def test_the_cell_of_a_weight_leads_to_its_gradient_and_why_in_one_click(page):
    page.open(player(network(), names={}).html, reduced_motion=True)
    assert "w[9] of LinearNeuron(16) moves loss most: by about −1.75 for each 1" in text(page, "#why")
    cell = "[...document.querySelectorAll('.card')][{}].querySelectorAll('.cell')[{}]"
    layer = page.run(
        "return [...document.querySelectorAll('.card')].findIndex(e => e.textContent.includes('Layer #3'))"
    )
    page.run(f"{cell.format(layer, 3)}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert text(page, "#why h2").startswith("Why is w[3].grad ")
    assert page.run("return document.querySelector('.chosen').getAttribute('aria-label')").startswith("w[3], data ")


def test_paths_that_are_long_are_told_by_what_differs(page):
    out = Value(0.5, label="a")
    for i in range(12):
        out = out * 1.1 if i != 6 else out.tanh() + out.exp() + out.sin()
        out.label = f"n{i}"
    page.open(player(out).html, fragment="scene=0&step=99")
    click(page, "a")
    ways = page.run("return [...document.querySelectorAll('#why .rows > div > :first-child')].map(e => e.textContent)")
    assert len(set(ways)) == len(ways) == 3
    assert min(ways) == "a → … → exp(n5) → tanh(n5) + exp(n5) → … → n11"


def test_enter_chooses_the_card_that_has_the_focus(page):
    page.open(player(paths()).html, fragment="step=99")
    page.run("arguments[0].focus()", card(page, "b"))
    page.press("Enter")
    assert "Why is b.grad 21.0000?" in text(page, "#why")


def test_a_graph_with_very_many_paths_does_not_hang(page):
    a = Value(1.0, label="a")
    out = a
    for _ in range(20):
        out = out + out
    page.open(player(out).html, fragment="step=99")
    click(page, "a")
    assert "More than 200 paths" in text(page, "#why")


# ------------------------------------------------------------------------------------------------ folds
def test_one_goes_in_by_clicks_and_out_by_escape(page):
    page.open(player(network()).html, reduced_motion=True)
    assert text(page, "#tabs [aria-pressed=true]") == "layers"
    click(page, "Layer #2")
    assert text(page, "#crumbs") == "layers›Layer #2"
    assert page.run("return document.querySelectorAll('.card.module').length") == 16
    click(page, "ReLUNeuron(16) #3")
    assert text(page, "#crumbs") == "layers›Layer #2›ReLUNeuron(16) #3"
    assert card(page, "w[15]") is not None
    page.press("Escape")
    assert text(page, "#crumbs") == "layers›Layer #2"
    page.press("Escape")
    assert page.run("return document.getElementById('crumbs').hidden")
    assert card(page, "Layer #2") is not None


def test_views_of_the_whole_are_tabs(page):
    page.open(player(network()).html)
    page.run("[...document.querySelectorAll('#tabs button')].find(e => e.textContent === 'neurons').click()")
    assert page.run("return document.querySelectorAll('.card.module').length") == 33
    assert page.run("return location.hash").startswith("#scene=")


def test_a_way_back_is_a_click_too(page):
    page.open(player(network()).html)
    click(page, "Layer #1")
    page.click("#crumbs button")
    assert card(page, "Layer #2") is not None


def test_a_link_leads_into_a_fold(page):
    page.open(player(network()).html, fragment="scene=2&step=3")
    assert step(page) == 3
    assert text(page, "#crumbs") != ""


def test_one_of_many_that_were_folded_is_not_told_as_a_number(page, training_step):
    page.open(training_step)
    scenes = page.run("return JSON.parse(document.getElementById('story').textContent).scenes")
    k = next(k for k, scene in enumerate(scenes) if scene.get("parent") == 0 and scene["title"] == "sum")
    page.run(f"location.hash = '#scene={k}&step=9'")
    page.wait("document.getElementById('phase').textContent.startsWith('Forward 9')")
    assert text(page, "#ran code") == "v9 = v8 + …"
    assert "–" not in text(page, "#why")


def test_65_000_nodes_can_be_gone_through_and_into(page, training_step):
    page.open(training_step, reduced_motion=True)
    assert at_each_step(page, "document.getElementById('phase').textContent")[-1] == "Done"
    click(page, "Layer #2")
    assert page.run("return document.querySelectorAll('.card.module').length") >= 16


# ------------------------------------------------------------------------------------------------ guess first
def guess(page, *given):
    """Type guesses for the gradients that are asked, and what the panel says of them."""
    page.run(
        "const form = document.querySelector('#why form');"
        "arguments[0].forEach((text, k) => { form.querySelectorAll('input')[k].value = text }); form.requestSubmit()",
        given,
    )
    return page.run("return [...document.querySelectorAll('#why > p')].map(e => e.textContent)")


def test_a_gradient_is_asked_before_it_is_shown(page):
    page.open(player(neuron(), names={}, ask=True).html, reduced_motion=True)
    assert text(page, "#phase") == "Backward begins"
    page.press("ArrowRight")
    assert page.run("return document.activeElement.matches('#why input')"), "a guess is typed at once"
    assert text(page, "#why h2").startswith("Guess first: what goes back through")
    asked = page.run("return [...document.querySelectorAll('.asked, .pill.backward')].map(e => e.textContent)")
    assert asked == ["?", "?"]
    assert "gradient not yet" in card(page, "n").get_attribute("aria-label")
    assert text(page, "#live") == "Backward 1 of 5. Guess the gradient of n."
    assert page.axe() == []
    page.press("0", ".", "2", "2", "Enter")
    assert "gradient 0.2234" in card(page, "n").get_attribute("aria-label")
    assert text(page, "#why > p") == "✓ n: 0.2234, as you guessed."
    assert page.run("return location.hash") == "#step=7&ask=1"
    page.press("End")
    assert "1 of 1 gradient guessed right." in text(page, "#why")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("-9", "the sign is the other one"),
        ("3", "that is what comes from the right: it is to be multiplied by the local derivative, 3.0000"),
        ("2", "that is its data, not its gradient"),
        ("6", "the two are multiplied, not added"),
        ("7.5", "it is 3.0000 × 3.0000"),
    ],
)
def test_a_wrong_guess_names_what_went_wrong(page, given, said):
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    page.open(player((a * b) * 3, names={}, ask=True).html, fragment="step=5&ask=1", reduced_motion=True)
    assert guess(page, given, "6")[0].endswith(f"and it is 9.0000: {said}.")


def test_a_forgotten_path_and_a_use_that_was_forgotten_are_named(page):
    page.open(player(paths(), names={}).html, fragment="step=6&ask=1", reduced_motion=True)
    assert page.run("return document.querySelectorAll('#why form label').length") == 2
    page.press("ArrowRight")
    assert text(page, "#why .aside").startswith("so far ")
    first, _ = guess(page, "6", "6")
    assert "the path before it sent " in first
    a = Value(3.0, label="a")
    page.open(player(a * a, names={}).html, fragment="step=3&ask=1", reduced_motion=True)
    assert guess(page, "3")[0].endswith("it is used 2 times here, and each use sends a part.")


@pytest.mark.parametrize("given", ["", "abc", "1e400", "nan"])
def test_a_guess_that_is_no_number_is_not_counted(page, given):
    page.open(player(neuron(), names={}).html, fragment="step=7&ask=1", reduced_motion=True)
    guess(page, given)
    assert "is not a number: guess one" in text(page, "#said")
    assert page.run("return document.querySelector('#why input').getAttribute('aria-invalid')") == "true"
    page.click("#why .tell")
    assert text(page, "#why > p") == "n: 0.2234"
    page.press("End")
    assert "0 of 1 gradient guessed right." in text(page, "#why")


def test_the_switch_in_the_menu_asks_and_ends_it(page):
    page.open(player(neuron(), names={}).html, reduced_motion=True)
    pick(page, "#ask")
    assert text(page, "#phase") == "Backward begins"
    page.click("#play")
    page.wait("document.querySelector('#why form')")
    page.wait("document.getElementById('play').getAttribute('aria-label') === 'Play'")
    pick(page, "#ask")
    assert text(page, "#phase") == "Done"
    assert "ask" not in page.run("return location.hash")


# ------------------------------------------------------------------------------------------------ looks
@pytest.mark.parametrize("width", [480, 1400])
def test_the_result_is_in_sight_when_the_page_opens(page, width):
    page.open(player(network()).html, width)
    assert page.run(
        "const a = arguments[0].getBoundingClientRect(),"
        " b = document.getElementById('scroll').getBoundingClientRect(); return a.right <= b.right && a.left >= b.left"
        " && a.top >= b.top && a.bottom <= b.bottom",
        card(page, "loss"),
    )


def long_names():
    a, b = Value(3.0, label="the weight of the first"), Value(2.0, label="what comes from outside")
    return (a * b + a * a).tanh() * a


LOOK = """(() => {
    const [svg, why, app, bar] = ['graph', 'why', 'app', 'bar'].map(id => document.getElementById(id));
    const texts = [...svg.querySelectorAll('text')], card = document.querySelector('.card.forward, .card.backward');
    const [a, b] = [card ?? svg, document.getElementById('scroll')].map(e => e.getBoundingClientRect());
    const scale = svg.clientWidth / svg.viewBox.baseVal.width;
    return {
        scale, type: scale * Math.min(...texts.map(e => parseFloat(getComputedStyle(e).fontSize))),
        seen: a.right > b.left && a.left < b.right && a.bottom > b.top && a.top < b.bottom,
        fits: document.documentElement.scrollWidth <= innerWidth && why.scrollWidth <= why.clientWidth,
        place: [bar.offsetTop, app.offsetHeight],
    } })()"""


@pytest.mark.parametrize("width", [480, 1400])
@pytest.mark.parametrize("graph", [*GRAPHS.values(), long_names])
def test_at_every_step_it_can_be_read_the_step_is_in_sight_and_the_page_does_not_jump(page, graph, width):
    page.open(player(graph()).html, width, reduced_motion=True)
    looks = at_each_step(page, LOOK)
    assert all(0.846 <= look["scale"] <= 1.601 and look["type"] >= 10.99 for look in looks)
    assert [look["seen"] and look["fits"] for look in looks] == [True] * len(looks)
    assert all(look["place"] == looks[1]["place"] for look in looks[1:])
    page.run("document.querySelector('.card').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert page.run(f"return {LOOK}.fits")


@pytest.mark.parametrize("name", GRAPHS)
def test_no_pill_covers_another_and_no_text_leaves_its_card(page, name):
    page.open(player(GRAPHS[name]()).html, fragment="step=9999")
    overlaps = page.run(
        "const boxes = [...document.querySelectorAll('.pill rect')].map(e => e.getBBox());"
        "return boxes.filter((a, i) => boxes.some((b, k) => k > i && a.x < b.x + b.width && b.x < a.x + a.width"
        " && a.y < b.y + b.height && b.y < a.y + a.height)).length"
    )
    assert overlaps == 0
    outside = page.run(
        "return [...document.querySelectorAll('.card')].flatMap(card => {"
        "  const body = card.querySelector('.body').getBBox();"
        "  return [...card.querySelectorAll(':scope > text')].filter(t => { const b = t.getBBox();"
        "    return b.x < body.x - 1 || b.x + b.width > body.x + body.width + 6; }).map(t => t.textContent); })"
    )
    assert outside == []


def by_hand():
    """A backward of one's own, whose second use of an operand sends nothing that is known."""
    a, b = Value(0.2, label="a"), Value(-0.3, label="b")
    s = a * b + a
    square = Value(s.data * s.data, (s, s), "square")

    def backward():
        s.grad += 2 * s.data * square.grad

    square._backward = backward
    return square + b * a


@pytest.mark.parametrize("width", [600, 1280])
def test_no_pill_of_a_step_covers_the_number_of_another(page, width):
    page.open(player(by_hand(), names={}).html, width, 700, reduced_motion=True)
    boxes = "[...document.querySelectorAll('.pill rect')].map(e => e.getBoundingClientRect())"
    apart = (
        f"(boxes => boxes.every((a, i) => boxes.every((b, k) => k <= i || a.left >= b.right || b.left >= a.right"
        f" || a.top >= b.bottom || b.top >= a.bottom)))({boxes}) || document.getElementById('phase').textContent"
    )
    assert at_each_step(page, "[...document.querySelectorAll('.pill.backward')].length > 1").count(True) > 1
    assert {*at_each_step(page, apart)} == {True}


def busy():
    """Numbers that are long, and used often."""
    a, b = Value(-123456.789, label="a"), Value(3e-12, label="b")
    return a * b + a * 1e-9 + (a * 2 - b) / 3 + b * a + a


@pytest.mark.parametrize("graph", [busy, paths, neuron])
def test_no_number_runs_into_its_key_or_its_dots_and_no_pill_is_wide(page, graph):
    page.open(player(graph()).html, reduced_motion=True)
    found = at_each_step(
        page,
        "[[...document.querySelectorAll('.card')].flatMap(card => [...card.querySelectorAll('.number')]"
        ".filter(n => [...card.querySelectorAll('.key, .use')].some(e => { const a = n.getBBox(), b = e.getBBox();"
        "  return a.x < b.x + b.width + 2 && a.y < b.y + b.height && b.y < a.y + a.height; }))"
        ".map(n => n.textContent)),"
        " Math.max(0, ...[...document.querySelectorAll('.pill rect')].map(e => +e.getAttribute('width')))]",
    )
    assert [touching for touching, _ in found if touching] == []
    assert max(wide for _, wide in found) < 120


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_everybody_can_use_it(page, name, dark):
    page.open(player(GRAPHS[name]()).html, dark=dark, reduced_motion=True)
    for place in (0, 4, 9999):
        page.run("location.hash = `step=${arguments[0]}`; return new Promise(requestAnimationFrame)", place)
        assert step(page) == min(place, last(page))
        assert page.axe() == []


def test_it_follows_the_system_s_colours(page):
    page.open(player(neuron()).html, dark=True)
    dark = page.run("return getComputedStyle(document.body).backgroundColor")
    page.emulate(dark=False)
    page.wait("document.documentElement.dataset.theme === 'light'")
    assert page.run("return getComputedStyle(document.body).backgroundColor") != dark


def test_nothing_moves_for_those_who_asked_for_that(page):
    page.open(player(neuron()).html, reduced_motion=True)
    assert not page.run("return document.querySelector('.arriving, .filling')")
    page.press("Home", "ArrowRight")
    assert page.run("return document.querySelectorAll('.pulse').length") == 0
    page.emulate(reduced_motion=False)
    page.press("ArrowRight")
    assert page.run("return document.querySelectorAll('.pulse').length") == 2


@pytest.mark.parametrize(
    "label", ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a & b \"'", "{0}"]
)
def test_hostile_labels_do_nothing(page, label):
    a = Value(2.0, label=label)
    page.open(player(a * a + 1).html)
    assert not any(at_each_step(page, "document.querySelectorAll('img').length"))
    assert text(page, ".card .title").startswith(label[:9])


@pytest.mark.parametrize("x", ["nan", "inf", "-inf"])
def test_what_is_not_finite_is_said_plainly(page, x):
    page.open(player(Value(float(x), label="a") * 2).html, fragment="step=99")
    assert x.replace("-", "−") in text(page, "#graph")


# ------------------------------------------------------------------------------------------------ notebooks
def notebook(*roots, ground="#fff"):
    """A page around outputs, as a trusted notebook has them."""
    outputs = "".join(f"<section>{player(root)._repr_mimebundle_()['text/html']}</section>" for root in roots)
    return f"<!doctype html><html lang=en><title>n</title><body style='background:{ground};margin:0'>{outputs}"


def in_frame(page, script, k=0):
    return page.run(f"const inner = document.querySelectorAll('iframe')[{k}].contentDocument; {script}")


READY = "[...document.querySelectorAll('iframe')].every(f => f.contentDocument.querySelector('.card'))"


def test_in_a_notebook_the_picture_gives_way_to_the_player(page):
    page.open(notebook(neuron()))
    page.wait(READY)
    assert page.run("return document.querySelector('img').offsetHeight") == 0
    page.wait("document.querySelector('iframe').offsetHeight > 300")


def test_where_scripts_are_taken_away_the_picture_stays(page):
    html = notebook(neuron()).replace("<iframe", "<iframe sandbox")  # as an untrusted notebook's viewer does
    page.open(html)
    assert page.run("return document.querySelector('img').offsetHeight") > 100
    assert page.run("return document.querySelector('iframe').offsetHeight") == 0
    page.console()  # that the script was blocked is said there


def test_several_outputs_share_nothing(page):
    page.open(notebook(neuron(), paths()))
    page.wait(READY)
    in_frame(page, "inner.getElementById('first').click()", 1)
    assert in_frame(page, "return inner.getElementById('scrub').value", 0) == "12"
    assert in_frame(page, "return inner.getElementById('scrub').value", 1) == "0"


def test_a_frame_that_is_loaded_anew_keeps_its_place(page):
    page.open(notebook(neuron()))
    page.wait(READY)
    in_frame(page, "inner.getElementById('back').click()")
    page.run("const f = document.querySelector('iframe'); f.contentDocument.body.dataset.old = 1; f.srcdoc = f.srcdoc")
    page.wait(f"!document.querySelector('iframe').contentDocument.body?.dataset.old && {READY}")
    assert in_frame(page, "return inner.getElementById('scrub').value") == "11"


@pytest.mark.parametrize(("ground", "theme"), [("#111", "dark"), ("#fff", "light"), ("rgb(30, 30, 46)", "dark")])
def test_in_a_notebook_it_takes_the_notebook_s_colours(page, ground, theme):
    page.open(notebook(neuron(), ground=ground), dark=theme == "light")  # the system says otherwise
    page.wait(READY)
    assert in_frame(page, "return inner.documentElement.dataset.theme") == theme
