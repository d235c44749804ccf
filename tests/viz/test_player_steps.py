"""The player's page in Node: what each step shows, says aloud and computes; keys, paths, folds, guesses."""

import random
import re
from itertools import pairwise

import numpy as np
import pytest
from drawn_graphs import arrays, attended, crowd, embedded, network, neuron, paths, square

from micrograd import Tensor, Value, functional
from micrograd.nn import MLP
from micrograd.viz import player
from micrograd.viz.values import short, thickness

GRAPHS = {"neuron": neuron, "paths": paths, "network": network, "arrays": arrays}
SHOWN = (  # all that one sees: the phase, the cards, the pills, the panels
    "[...all('#phase, #graph text, #why, #ran').map(e => e.textContent.trim()),"
    " ...all('.card, .wire').map(e => e.getAttribute('class'))]"
)


@pytest.fixture(scope="module")
def folded():
    """The player's page of a network, which opens at its layers."""
    return player(network(), names={}).html


# ------------------------------------------------------------------------------------------------ steps
@pytest.mark.parametrize("name", GRAPHS)
def test_step_back_shows_what_the_step_forward_did(page, name):
    page.open(player(GRAPHS[name]()).html)
    forward = page.at_each_step(SHOWN)
    assert all(before != after for before, after in pairwise(forward))
    assert page.at_each_step(SHOWN, "back") == forward[::-1]


@pytest.mark.parametrize("passed", [False, True], ids=["before backward", "after it"])
def test_page_opens_computed_with_its_gradients(page, passed):
    out = neuron()
    if passed:
        out.backward()
    page.open(player(out, names={}).html)
    assert (page.step, page.text("#phase")) == (12, "Done")
    assert page.spoken("o") == "o, data 0.8813, gradient 1.0000"
    assert page.spoken("x1") == "x1, data 2.0000, gradient −0.6702"
    assert "o follows x1 most: by about −0.67 for each 1, so by −0.0067 for 0.01." in page.text("#why")
    page.click("#play")
    assert page.text("#phase") == "Ready"


MOVING = ".arriving, .filling"


def test_opening_lets_the_gradients_come_in_once_from_the_result_to_the_leaves(page):
    page.open(player(neuron(), names={}).html, calm=False)
    late = page.get("['o', 'n', 'x1 * w1', 'w1'].map(name => parseInt(cardOf(name).style['--late']))")
    assert late == sorted(set(late))
    assert page.count(".filling") == 9
    page.pass_time(5000)
    assert page.count(MOVING) == 0
    page.run("resize()")
    assert page.count(MOVING) == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_step_forward_at_the_last_step_begins_again(page, name):
    page.open(player(GRAPHS[name](), names={}).html)
    last = page.step
    page.click("#next")
    assert (page.step, page.text("#phase")) == (0, "Ready")
    page.press("End", "ArrowRight")
    assert page.step == 0
    page.press("End", "End")
    page.click("#last")
    assert page.step == last


def test_values_appear_forward_and_gradients_backward(page):
    page.open(player(neuron()).html, "step=0")
    assert page.spoken("o") == "o, data not yet, gradient not yet"
    page.press(*["ArrowRight"] * 5)
    assert page.spoken("o") == "o, data 0.8813, gradient not yet"
    page.press("ArrowRight")
    assert page.spoken("o") == "o, data 0.8813, gradient 1.0000"
    page.press("End")
    assert page.spoken("w1") == "w1, data −3.0000, gradient 0.4468"


def test_gradient_with_two_uses_fills_one_at_a_time(page):
    page.open(player(paths()).html, "step=6")
    assert (page.count(".use.on"), page.count(".number.grad.part")) == (2, 2)  # one of two, of a and of b
    assert "1 of 2 uses: " in page.text("#why")
    page.press("ArrowRight")
    assert (page.count(".use.on"), page.count(".number.grad.part")) == (4, 0)
    assert "2 of 2 uses: 16.0000" in page.text("#why")
    assert page.text("#why .aside b") == "16.0000"


def test_active_lines_have_their_pills_where_it_is_crowded(page):
    page.open(player(crowd()).html, "scene=0")
    assert page.count(".wire") > 70
    counts = page.at_each_step("['.wire.forward, .wire.backward', '.pill rect'].map(e => all(e).length)")
    assert all(active == pills for active, pills in counts)


def test_each_step_is_said_aloud(page):
    page.open(player(neuron()).html)
    said = page.at_each_step("query('#live').textContent")
    assert len(set(said)) == len(said)
    assert said[1] == "Forward 1 of 5. x1 * w1 equals −6.0000."


# ------------------------------------------------------------------------------------------------ what is told
def hooked():
    a = Value(0.5, label="a")
    m = a * 2
    m.label = "m"
    m.register_hook(lambda g: g * 10)
    return m * a


def act(page, *acts):
    """Key by key, or "#button" is clicked, "on name" chooses a card, "at name" gives it the focus."""
    for one in acts:
        what, _, name = one.partition(" ")
        if one.startswith("#"):
            page.click(one)
        elif name:
            (page.choose if what == "on" else page.focus)(name)
        else:
            page.press(one)


def test_rule_is_told_as_one_learns_it_and_the_one_that_ran_stands_behind_it(page):
    page.open(player(neuron(), names={}).html, "step=7")
    assert "1 − o² = 0.2234" in page.text("#why")
    assert page.texts("#ran code") == ["n.grad += g * (1 - o**2)", "g = o.grad", "n.grad += g * sech(n) * sech(n)"]
    assert page.text("#ran summary") == "as computed"


def linear():
    return Value(3.0, label="a") * 2


def doubled(times):
    out = Value(1.0, label="a")
    for _ in range(times):
        out = out + out
    return out


WHY_X1 = ["from the right", "0.2234", "w1 = −3.0000", "−0.6702"]
MOST = (  # of w1.grad = (1 - o²) x1, by hand
    "What would change w1.grad most: x1 by about 2.59 for each 1, then w1 by about −1.57 for each 1."
)
TOLD = {  # a graph, where its page is opened, what is done there, and what a panel tells then
    "a product": (neuron, "step=11", [], "#why", WHY_X1),
    "its rule and its test": (neuron, "step=11", [], "#ran", ["x1.grad += g * w1", "✓ agrees"]),
    "a nudge": (neuron, "step=11", [], "#ran", ["Nudge test: x1 + 0.001 moves o by"]),
    "two uses": (square, "step=3", [], "#why", ["1 of 2 uses: 3.0000", "2 of 2 uses: 6.0000"]),
    "a rule for each use": (square, "step=3", [], "#ran", ["a.grad += g * a a.grad += g * a with"]),
    "a hook": (hooked, "step=4", [], "#why", ["1 of 1 use: a hook made it 5.0000"]),
    "arrays": (lambda: Tensor(np.ones((3, 4)), requires_grad=True).sum(), "step=1", [], "#why", ["sum((3, 4)) → 12"]),
    "no leaf": (
        lambda: Tensor(np.zeros((0, 3)), requires_grad=True).sum(),
        "place=end",
        [],
        "#ran",
        ["No leaf with a gradient is in this view"],
    ),
    "nan": (lambda: Value(np.nan) * 2, "step=99", [], "#graph", ["nan"]),
    "infinity": (lambda: Value(-np.inf) * Value(1.0) - np.inf * Value(-1.0), "step=99", [], "#graph", ["−inf", "inf"]),
    "paths": (paths, "step=99", ["on a"], "#why", ["Why is a.grad 16.0000?", "a → s → L", "sum = 16.0000"]),
    "paths, by Enter": (paths, "step=99", ["at b", "Enter"], "#why", ["Why is b.grad 21.0000?"]),
    "paths, by the space bar": (paths, "place=end", ["at s", " "], "#why", ["Why is s.grad"]),
    "a chosen leaf": (neuron, "", ["on w1"], "#ran", ["w1.grad += g * x1 with g = 0.2234", "✓ agrees", MOST]),
    "what nothing changes": (linear, "", ["on a"], "#ran", ["No small change of a leaf changes a.grad"]),
    "a leaf behind a hook": (hooked, "step=99", ["on a"], "#why", ["A hook gave another gradient to m"]),
    "128 paths": (lambda: doubled(7), "scene=0&step=99", ["on a"], "#why", ["sum = 128.0000"]),
    "256 paths": (lambda: doubled(8), "scene=0&step=99", ["on a"], "#why", ["More than 200 paths"]),
    "a million paths": (lambda: doubled(20), "scene=0&step=99", ["on a"], "#why", ["More than 200 paths"]),
    "a search": (neuron, "", ["/", *"zzz"], "#hits", ["none"]),
}


@pytest.mark.parametrize("what", TOLD)
def test_panels_tell_of(page, what):
    graph, place, acts, panel, wanted = TOLD[what]
    act(page.open(player(graph(), names={}).html, place), *acts)
    assert [text for text in wanted if text not in page.text(panel)] == []
    assert "sum" not in page.text(panel) or what != "a leaf behind a hook"
    assert page.get("query('#play').getAttribute('aria-label')") == "Play"


def test_page_of_a_released_graph_says_so_once(page):
    loss = (Tensor([1.0, 2.0], requires_grad=True) * 2).sum()
    loss.backward()
    page.open(player(loss).html, "place=end")
    panels = [page.text(panel) for panel in ("#why", "#ran", "#rest")]
    assert "".join(panels).count("There is no backward pass to show") == 1
    assert "".join(panels).count("Every gradient is known") == 0


# ------------------------------------------------------------------------------------------------ to go somewhere
def test_buttons_and_keys_go_where_they_say(page):
    page.open(player(neuron()).html)
    went = []
    for one in ("Home", "#next", "#back", "#last", "#first", "End", "ArrowLeft"):
        act(page, one)
        went.append(page.step)
    assert went == [0, 1, 0, 12, 0, 12, 11]


def test_link_leads_to_a_step_and_the_address_follows_the_step(page):
    html = player(neuron()).html
    for place, wanted in {"step=7": 7, "step=0": 0, "step=9999": 12, "nonsense": 12}.items():
        assert page.open(html, place).step == wanted
    assert page.press("Home", "ArrowRight", "ArrowRight").get("location.hash") == "#step=2"
    page.run("location.hash = '#step=5'; passTime(0)")
    assert page.step == 5


def test_space_plays_and_pauses(page):
    page.open(player(neuron()).html).press("Home", " ")
    assert page.get("query('#play').getAttribute('aria-label')") == "Pause"
    page.pass_time(400)
    assert page.step == 1
    page.press(" ")
    page.pass_time(5000)
    assert (page.step, page.get("query('#play').getAttribute('aria-label')")) == (1, "Play")


def test_play_ends_at_the_last_step_sooner_at_four_times_the_speed(page):
    page.open(player(Value(2.0, label="a") * 3).html)
    page.run("query('#speed').click(); query('#speed').click(); query('#play').click()")
    assert page.text("#speed") == "4×"
    page.pass_time(350 / 4 + 2 * 350)
    assert page.text("#phase") != "Done"
    page.pass_time(2 * 350)
    assert page.text("#phase") == "Done"
    assert page.get("query('#play').getAttribute('aria-label')") == "Play"


# ------------------------------------------------------------------------------------------------ paths


def test_cell_of_a_weight_leads_to_its_gradient_and_why_in_one_click(page, folded):
    page.open(folded)
    assert "loss follows w[9] of LinearNeuron(16) most: by about −1.75 for each 1" in page.text("#why")
    page.run("pressed(all('.card').find(e => e.textContent.includes('Layer #3')).querySelectorAll('.cell')[3])")
    assert page.text("#why h2").startswith("Why is w[3].grad ")
    assert page.get("query('.chosen').getAttribute('aria-label')").startswith("w[3], data ")


def test_long_paths_are_told_by_what_differs(page):
    out = Value(0.5, label="a")
    for i in range(12):
        out = out * 1.1 if i != 6 else out.tanh() + out.exp() + out.sin()
        out.label = f"n{i}"
    page.open(player(out).html, "scene=0&step=99").choose("a")
    ways = page.texts("#why .rows > div > :first-child")
    assert len(set(ways)) == len(ways) == 3
    assert min(ways) == "a → … → exp(n5) → v1 → … → n11"


def test_paths_of_a_chosen_card_are_lit_until_escape(page):
    page.open(player(paths()).html, "step=99").choose("a")
    assert page.count(".wire.path") == 4
    assert page.press("Escape").count(".wire.path") == 0


# ------------------------------------------------------------------------------------------------ folds
def test_folds_are_entered_by_clicks_and_left_by_escape_and_crumbs(page, folded):
    page.open(folded)
    went = []
    for one in ("on loss", "on Layer #2", "on ReLUNeuron(16) #3", "Escape", "Escape", "on Layer #1", "#crumbs button"):
        act(page, one)
        went.append(page.text("#crumbs").removeprefix("layers"))
    assert went == ["", "›Layer #2", "›Layer #2›ReLUNeuron(16) #3", "›Layer #2", "", "›Layer #1", ""]
    assert page.get("query('#crumbs').hidden")
    assert "data" in page.spoken("Layer #2") or page.spoken("Layer #2").endswith("opens")
    page.choose("Layer #2")
    assert page.count(".card.module") == 16


@pytest.mark.long
def test_training_step_of_65_000_nodes_can_be_gone_through_and_into(page):
    html = player(network(100)).html
    assert embedded(html)["nodes"] > 65_000
    assert len(html) < 730_000
    page.open(html)
    assert page.at_each_step("query('#phase').textContent")[-1] == "Done"
    page.choose("Layer #2")
    assert page.count(".card.module") >= 16
    k = page.get(
        "JSON.parse(query('#story').textContent).scenes.findIndex(at => at.parent === 0 && at.title === 'sum')"
    )
    page.run(f"location.hash = '#scene={k}&step=9'; passTime(0)")
    assert page.text("#phase").startswith("Forward 9")
    assert page.text("#ran code") == "v9 = v8 + …", "one of many that were folded is not told as a number"
    assert "–" not in page.text("#why")


# ------------------------------------------------------------------------------------------------ lines
LOOKS = "all('.wire').map(e => [e.getAttribute('class'), parseFloat(e.firstChild.style.strokeWidth)])"
TAB = "all('#tabs button').find(e => e.textContent === arguments[0]).click()"


def test_line_is_as_wide_as_what_flows_a_dead_one_is_dotted_and_all_are_thin_where_gradients_vanish(page):
    a, b, c = Value(2.0, label="a"), Value(0.0, label="b"), Value(-5.0, label="c")
    page.open(player(a * 3 + a * b + c.relu()).html, "place=end")
    look = dict(zip(page.texts(".wire title"), page.get(LOOKS), strict=True))
    assert look["a → a * 3"][0] == "wire flows above"
    assert look["a → a * b"][0] == look["c → ReLU(c)"][0] == "wire flows dead"
    assert look["a → a * 3"][1] > look["a * 3 → a * 3 + a * b"][1]
    page.open(player(neuron(), names={}).html, "place=end")
    before = page.get(LOOKS)
    after = page.focus("b").press("F2", "9", "Enter").get(LOOKS)
    assert all(thick - thin > 1 for (_, thick), (_, thin) in zip(before, after, strict=True) if thick)


@pytest.mark.parametrize(("view", "least"), [("layers", 3), ("neurons", 10)])
def test_lines_of_folded_boxes_have_width_and_hue_and_follow_a_change(page, view, least):
    def looks(x):
        random.seed(4)
        root = MLP(2, [3, 2, 1], activation="tanh")([Value(x, label="x"), Value(-1.0, label="y")])
        page.open(player(root, names={}).html).run(TAB, view)
        return page.get(LOOKS)

    wanted = looks(2.5)
    flows = [look for look, _ in wanted if "flows" in look]
    assert len(flows) >= least
    assert all(look.endswith(("above", "below", "mixed")) for look in flows)
    assert looks(0.5) != wanted
    assert page.focus("x").press(*"2.5", "Enter").get(LOOKS) == wanted


STRANDS = """all(".wire").map(wire => {
    const drawn = e => e.style.display !== "none" && /px/.test(e.style.strokeWidth);
    const widths = wire.querySelectorAll("path").filter(drawn).map(e => parseFloat(e.style.strokeWidth));
    return [wire.getAttribute("class"), wire.querySelector("title").textContent, ...widths];
})"""


def classifier():
    """The loss of cross-entropy: the gradient of its scores always sums to 0, but for rounding."""
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(6, 2)), label="x")
    w1, w2 = (Tensor(rng.normal(size=size), requires_grad=True) for size in ((2, 8), (8, 3)))
    w1.label, w2.label = "w1", "w2"
    h = (x @ w1).relu()
    scores = h @ w2
    h.label, scores.label = "h", "scores"
    return functional.cross_entropy(scores, [0, 1, 2, 0, 1, 2]), w1, w2


def test_line_of_an_array_has_a_strand_for_each_sign_as_wide_as_its_numbers(page):
    loss, w1, w2 = classifier()
    loss.backward(retain_graph=True)
    page.open(player(loss, names={}).html)
    found = {title: (look, *widths) for look, title, *widths in page.get(STRANDS)}
    for node, line in ((w2, "w2 → scores"), (w1, "w1 → ")):
        (shown,) = [found[title] for title in found if title.startswith(line)]
        signs = [float((part**2).sum() ** 0.5) for part in (node.grad[node.grad > 0], node.grad[node.grad < 0])]
        assert shown == ("wire flows mixed", *[pytest.approx(thickness(size), abs=0.06) for size in signs])


def test_line_of_an_array_of_one_sign_has_its_colour_whatever_was_rounded(page):
    for sign, look in ((1, "above"), (-1, "below")):
        x = Tensor(np.array([1.0, -1e-17, 3.0]) * sign, requires_grad=True, label="x")
        page.open(player((x**2).sum(), names={}).html)
        assert [shown for shown, title, *_ in page.get(STRANDS) if title.startswith("x → ")] == [f"wire flows {look}"]


def test_line_has_its_local_derivative_and_one_into_a_folded_box_that_of_one_end_by_the_other(page):
    page.open(player(Value(2.0, label="a") * Value(-3.0, label="b"), names={}).html)
    assert page.texts(".pill") == ["× −3.00", "× 2.00"]
    random.seed(1)
    out = MLP(2, [2, 1], activation="tanh")([Value(0.5, label="a"), Value(-1.0, label="b")])
    page.open(player(out, names={}, max_nodes=5).html).run(TAB, "neurons")
    factors = page.texts(".pill")
    assert [factor for factor in factors if factor and re.fullmatch(r"× −?\d+\.\d+", factor) is None] == []
    assert "× 1.00" not in factors
    assert page.count(".wire.flows") == page.count(".pill") == 6


@pytest.mark.parametrize("name", ["neuron", "paths"])
def test_line_has_no_number_where_it_multiplies_by_one(page, name):
    page.open(player(GRAPHS[name](), names={}).html)
    locals_ = [
        wire["local"] for scene in embedded(player(GRAPHS[name](), names={}).html)["scenes"] for wire in scene["wires"]
    ]
    shown = page.texts(".pill")
    assert [bool(text) for text in shown] == [short(local) != "1.00" for local in locals_]
    assert shown.count("") == locals_.count(1.0) > 0
    assert page.count(".pill rect") == 0  # a box is for what travels


def test_paths_of_a_chosen_card_keep_the_sign_and_the_size_of_their_lines(page):
    page.open(player(paths(), names={}).html)
    before = {line: (look, widths) for look, line, *widths in page.get(STRANDS)}
    page.choose("s")
    after = {line: (look, widths) for look, line, *widths in page.get(STRANDS)}
    assert after["s → L"] == (f"{before['s → L'][0]} path", before["s → L"][1])
    assert after["a → p"] == (f"{before['a → p'][0]} off", before["a → p"][1])
    page.choose("s")
    assert page.count(".off") == 0


def test_mouse_on_a_card_shows_its_paths_and_on_a_line_its_product(page):
    page.open(player(paths(), names={}).html)
    over = "({}).dispatchEvent(new PointerEvent('pointerover', {{bubbles: true, pointerType: 'mouse'}}))"
    page.run(over.format("cardOf('p')"))
    assert page.count(".wire:not(.off)") == 1
    page.run(over.format("query('.wire .hit')"))
    assert (page.count(".off"), page.texts("#hint text")) == (0, ["6.00 × 1.00", "= 6.00"])


# ------------------------------------------------------------------------------------------------ guess first
def guess(page, *given):
    """Type guesses for the gradients that are asked, and what the panel says of them."""
    page.run(
        "const form = query('#why form');"
        "[...arguments].forEach((text, k) => { form.querySelectorAll('input')[k].value = text }); form.requestSubmit()",
        *given,
    )
    return page.texts("#why > p")


def test_gradient_is_asked_before_it_is_shown(page):
    page.open(player(neuron(), names={}, ask=True).html)
    assert page.text("#phase") == "Backward begins"
    page.press("ArrowRight")
    assert page.get("document.activeElement.matches('#why input')"), "a guess is typed at once"
    assert page.text("#why h2").startswith("Guess first: what goes back through")
    assert page.texts(".asked, .pill.backward") == ["?", "?"], "of the card and of the line"
    assert "gradient not yet" in page.spoken("n")
    assert page.text("#live") == "Backward 1 of 5. Guess the gradient of n."
    page.press("0", ".", "2", "2", "Enter")
    assert "gradient 0.2234" in page.spoken("n")
    assert page.text("#why > p") == "✓ n: 0.2234, as you guessed."
    assert page.get("location.hash") == "#step=7&ask=1"
    page.press("End")
    assert "1 of 1 gradient guessed right." in page.text("#why")


def triple():
    return Value(2.0, label="a") * Value(3.0, label="b") * 3


@pytest.mark.parametrize(
    ("graph", "step", "given", "said"),
    [
        (triple, 5, "-9", "and it is 9.0000: the sign is the other one."),
        (triple, 5, "3", "that is what comes from the right: it is to be multiplied by the local derivative, 3.0000."),
        (triple, 5, "2", "that is its data, not its gradient."),
        (triple, 5, "6", "the two are multiplied, not added."),
        (triple, 5, "7.5", "it is 3.0000 × 3.0000."),
        (square, 3, "3", "it is used 2 times here, and each use sends a part."),
    ],
)
def test_wrong_guess_names_what_went_wrong(page, graph, step, given, said):
    page.open(player(graph(), names={}, ask=True).html, f"step={step}&ask=1")
    assert guess(page, given, *["6"] * (graph is triple))[0].endswith(said)


def test_wrong_guess_names_a_path_that_was_forgotten(page):
    page.open(player(paths(), names={}).html, "step=6&ask=1")
    assert page.count("#why form label") == 2
    page.press("ArrowRight")
    assert page.text("#why .aside").startswith("so far ")
    assert "the path before it sent " in guess(page, "6", "6")[0]


@pytest.mark.parametrize("given", ["", "abc", "1e400", "nan"])
def test_guess_that_is_no_number_is_not_counted(page, given):
    page.open(player(neuron(), names={}).html, "step=7&ask=1")
    guess(page, given)
    assert "is not a number: guess one" in page.text("#said")
    assert page.get("query('#why input').getAttribute('aria-invalid')") == "true"
    page.click("#why .tell")
    assert page.text("#why > p") == "n: 0.2234"
    page.press("End")
    assert "0 of 1 gradient guessed right." in page.text("#why")


def test_switch_in_the_menu_begins_and_ends_the_guesses(page):
    page.open(player(neuron(), names={}).html).click("#ask")
    assert page.text("#phase") == "Backward begins"
    page.click("#play")
    page.pass_time(5000)
    assert page.count("#why form") == 1
    assert page.get("query('#play').getAttribute('aria-label')") == "Play", "it waits for the guess"
    page.click("#ask")
    assert page.text("#phase") == "Done"
    assert "ask" not in page.get("location.hash")


# ------------------------------------------------------------------------------------------------ search
def test_search_goes_through_all_scenes(page, folded):
    page.open(folded).press("/", *"w[15]")
    hits = page.text("#hits")
    assert " of " in hits
    assert page.get("query('.card.found').getAttribute('aria-label')").startswith("w[15]")
    assert page.text("#crumbs") != ""
    page.press("Enter")
    assert page.text("#hits") != hits
    page.press("Escape")
    assert "w[15]" in page.get("document.activeElement.getAttribute('aria-label')")


# ------------------------------------------------------------------------------------------------ cells
@pytest.fixture
def neurons(page):
    random.seed(1)
    page.open(player(MLP(2, [3, 1])([Value(1.0), Value(-2.0)])).html)
    page.run(TAB, "neurons")
    return page.press("End")


OVER = "pointer('pointerover', all('%s')[%d])"


def test_line_lights_the_cell_of_its_weight_and_the_cell_the_line(neurons):
    neurons.run(OVER % (".wire .hit", 4))
    assert (neurons.count(".cell.lit"), neurons.count(".wire.lit")) == (2, 1), "its weight, and the gradient of that"
    title = neurons.text(".wire.lit title")
    cell = neurons.get("all('.cell').findIndex(cell => cell.matches('.lit'))")
    neurons.run(OVER % ("#scroll", 0))
    assert neurons.count(".lit") == 0
    neurons.run(OVER % (".cell", cell))
    assert neurons.text(".wire.lit title") == title
    said = neurons.get(f"all('.cell')[{cell}].parentElement.firstChild.textContent")
    assert said.startswith("weights, row 1, column ")
    assert said.rpartition(": ")[2] == title.rpartition("weight ")[2]


def test_cells_are_read_with_the_keys(neurons):
    neurons.run("query('.card.module').focus()")
    heard = [neurons.press(key).text("#live") for key in ("]", "]", "[")]
    assert heard[0].startswith("weights, row 1, column 1: ")
    assert heard[1].startswith("weights, row 1, column 2: ")
    assert heard[2] == heard[0]
    assert neurons.count(".cell.lit") == 2


def test_group_says_the_range_of_its_gradients_and_it_follows_a_step_of_descent(neurons):
    before = neurons.texts(".card.module .range")
    assert any(" to " in said for said in before)
    assert neurons.click("#descend").texts(".card.module .range") != before


# ------------------------------------------------------------------------------------------------ grids
def test_attention_with_letters_opens_by_itself_and_closes_with_a_step(page):
    page.open(attended("charlie")[1])
    assert page.texts(".grid .letter") == [*"charlie" * 2]
    page.press("Home")
    assert page.count(".grid") == 0
    page.open(player(linear()).html).choose("a")
    assert page.count(".grid") == 0, "a number has none"


def test_row_of_a_grid_says_and_draws_what_it_looks_at(page):
    a, html = attended()
    page.open(html).choose("attention")
    page.run("query('.grid').focus()")
    page.press("ArrowDown", "ArrowDown")
    wanted = ", ".join(f"{letter} {x:.2f}" for letter, x in zip("anna", a.data[1], strict=True))
    assert page.text("#live") == f"n: {wanted}"
    arcs = page.get("all('.grid .arcs')[0].children.map(e => parseFloat(e.attributes.style.split(':')[1]))")
    assert arcs == [pytest.approx(4 * x / a.data.max(), abs=0.051) for x in a.data[1]]
    page.run("pointer('pointerover', query('.grid').querySelectorAll('.cell')[12])")
    assert page.get("query('.grid').dataset.row") == "3"


# ------------------------------------------------------------------------------------------------ messages
def graph(a=2.0, more=False):
    x, y = Value(a, label="a"), Value(-3.0, label="b")
    out = x * y + x
    return out.tanh() if more else out


def tell(page, message):
    page.run("postMessage(arguments[0]); passTime(0)", message)
    return page


def test_story_of_the_same_shape_keeps_the_step(page):
    page.open(player(graph()).html, "step=3")
    tell(page, {"micrograd": "story", "story": player(graph(7.0)).story()})
    assert page.text(".card .data") == "7.0000"
    assert page.step == 3


@pytest.mark.parametrize("story", [None, "text", {}, {"title": "t", "root": ["t"], "scenes": []}])
def test_story_that_is_none_is_refused_aloud_and_changes_nothing(page, story):
    page.open(player(graph()).html)
    page.run("window.said = []; console = {error: text => said.push(text)}")
    tell(page, {"micrograd": "story", "story": story}).press("Home", "ArrowRight")
    assert (page.text("#title"), page.text("#phase")) == ("a × b + a", "Forward 1 of 2")
    (said,) = page.get("said")
    assert "a page sends the object that player(value).story() returns" in said
