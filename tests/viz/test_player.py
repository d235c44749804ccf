"""The player's page as text: what it holds for whatever graph, how large it is, and what a notebook gets."""

import random
import re
from functools import cache

import numpy as np
import pytest
from drawn_graphs import embedded, network, neuron

from micrograd import Tensor, Value, concatenate, no_grad
from micrograd.functional import cross_entropy
from micrograd.nn import MLP, Dropout, Layer, LayerNorm1d, Linear, ReLU, Sequential
from micrograd.viz import player
from micrograd.viz.drawing.fold import AIM


def data_of(page):
    """The plain data that the page carries."""
    return embedded(page.html)


@cache
def scenes_of(samples):
    """The scenes of a network's loss, as the page carries them; not to be changed."""
    return data_of(player(network(samples)))["scenes"]


def chain(length):
    out = Value(1.0)
    for i in range(length):
        out = out * 1.0 if i % 2 else out + 1.0
    return out


# ------------------------------------------------------------------------------------------------ what it says


def cards_of(root):
    return data_of(player(root, names={}))["scenes"][0]["cards"]


def test_card_without_a_name_is_called_by_its_expression_or_gets_a_number():
    a, b, x, y = Value(2.0, label="a"), Value(3.0, label="b"), Value(0.0), Value(1.0)
    assert [card["name"] for card in cards_of((a + b) * (a * b))] == ["a", "b", "a + b", "a * b", "out"]
    assert [card["name"] for card in cards_of(x * y * Value(2.0))] == ["v1", "v2", "v1 * v2", "v3", "out"]
    t = Tensor([1.0, 2.0], requires_grad=True, label="t")
    assert cards_of(t * np.array([3.0, 4.0]))[1]["title"] == "constant"


def test_without_scripts_the_numbers_remain_as_a_table():
    (table,) = re.findall(r"<noscript>(.*?)</noscript>", player(neuron(), names={}).html)
    assert "<tr><td>w1<td>data -3.0000<td>grad 0.4468" in table
    assert table.count("<tr>") == 10


def test_hook_that_raises_comes_through_and_no_gradient_has_changed():
    a = Value(0.5)
    a.register_hook(lambda g: {}["missing"])
    b = a * a
    with pytest.raises(KeyError, match="missing"):
        player(b)
    assert (a.grad, b.grad) == (0, 0)


def test_without_a_gradient_it_says_why_and_plays_forward():
    with no_grad():
        out = Value(2.0) * 3
    data = data_of(player(out))
    assert "requires a gradient" in data["missing"]
    assert "backward" not in data["scenes"][0]
    t = Tensor([1.0, 2.0], requires_grad=True)
    (y := (t * t).sum()).backward()
    data = data_of(player(y))
    assert [card["released"] for card in data["scenes"][0]["cards"]] == [True]
    assert "retain_graph=True" in data["missing"]


def test_layers_of_arrays_and_their_loss_are_shown():
    model = Sequential(Linear(4, 8), LayerNorm1d(8), ReLU(), Dropout(0.5), Linear(8, 3))
    loss = cross_entropy(model(Tensor(np.ones((5, 4)))), np.array([0, 1, 2, 1, 0]))
    data = data_of(player(loss, max_nodes=5))
    assert [scene["tab"] for scene in data["scenes"][:2]] == ["modules", "operations"]
    assert {"linear", "cross_entropy"} <= {card.get("call") for scene in data["scenes"] for card in scene["cards"]}
    assert isinstance(data["program"], dict)


def test_heat_map_of_a_large_array_stays_small():
    t = Tensor(np.random.default_rng(0).normal(size=(784, 512)), requires_grad=True)
    assert len(cards_of(t.sum())[0]["heats"][0]["cells"]) <= 16 * 24


@pytest.mark.parametrize("root", [Value(1.0), Tensor([1.0, 2.0], requires_grad=True), Tensor(1.0)])
def test_leaf_alone_is_a_graph(root):
    assert len(cards_of(root)) == 1


# ------------------------------------------------------------------------------------------------ how large it gets
def test_small_graph_is_a_small_page():
    assert len(player(neuron()).html.encode()) < 66_500


def test_network_at_one_point_is_a_page_of_less_than_350_kilobytes():
    page = player(network())
    assert data_of(page)["nodes"] > 1_000
    assert len(page.html.encode()) < 350_000


def test_long_chain_is_a_page_of_limited_size():
    out = Value(1.0)
    for i in range(5_000):
        out = out * 1.0 if i % 2 else out + 1.0
    page = player(out)
    assert len(page.html.encode()) < 3_000_000
    assert all(len(scene["cards"]) <= 2 * AIM for scene in data_of(page)["scenes"])


def test_card_with_very_many_lines_has_no_pills_on_them():
    joined = concatenate([Tensor([1.0], requires_grad=True) for _ in range(100)])
    wires = data_of(player(joined.sum(), max_nodes=1_000))["scenes"][0]["wires"]
    assert [len(wires), sum("pill" in wire for wire in wires)] == [101, 1]


# ------------------------------------------------------------------------------------------------ folding
def test_network_opens_at_its_layers_which_lead_to_neurons_and_these_to_operations():
    scenes = scenes_of(1)
    assert scenes[0]["tab"] == "layers"
    layers = [card for card in scenes[0]["cards"] if card["kind"] == "module"]
    assert [card["heats"][0]["name"] for card in layers] == ["weights"] * 3
    neurons = [card for card in scenes[layers[1]["opens"]]["cards"] if card["kind"] == "module"]
    assert len(neurons) == 16
    operations = scenes[neurons[0]["opens"]]["cards"]
    assert {card["op"] for card in operations if "op" in card} == {"×", "Σ", "ReLU"}
    assert {"w[0]", "w[15]", "b", "x0", "x15"} <= {card["name"] for card in operations}
    total = next(card for scene in scenes for card in scene["cards"] if card.get("op") == "Σ" and "opens" in card)
    assert {card["op"] for card in scenes[total["opens"]]["cards"] if "op" in card} == {"+"}


@pytest.mark.parametrize("samples", [1, 5])
def test_every_scene_can_be_taken_in_and_every_card_has_a_name_and_opens_a_scene(samples):
    scenes = scenes_of(samples)
    assert max(len(scene["cards"]) for scene in scenes) <= 2 * AIM
    assert all(card["name"] for scene in scenes for card in scene["cards"])
    assert all(0 < card["opens"] < len(scenes) for scene in scenes for card in scene["cards"] if "opens" in card)


def test_samples_that_went_the_same_way_are_shown_once():
    scenes = scenes_of(5)
    assert all(card["times"] == 5 for card in scenes[0]["cards"] if card["kind"] == "module")
    notes = [scene["note"] for scene in scenes if "note" in scene]
    assert notes
    assert all(re.match(r"call \d of 5", note) for note in notes)


def test_very_many_inputs_of_a_layer_are_one_card():
    second = next(scene for scene in scenes_of(5) if scene["title"] == "Layer #2")
    assert [(card["name"], card["times"]) for card in second["cards"] if card.get("outside")] == [("ReLU", 80)]


def test_layers_that_are_called_on_their_own_results_run_in_the_order_of_their_first_call():
    random.seed(0)
    model, x = MLP(1, [3, 1]), Value(0.5)
    for _ in range(6):
        x = model([x])
    first = data_of(player(x))["scenes"][0]
    names = [first["cards"][i]["name"] for i in first["forward"]]
    assert names == ["Layer #1", "Layer #2"]


def test_module_of_many_calls_does_not_show_the_result_of_one():
    random.seed(0)
    layer, x = Layer(2, 2), [Value(0.5), Value(0.1)]
    for _ in range(12):
        x = layer(x)
    data = data_of(player(x[0] + x[1]))
    modules = [card for card in data["scenes"][0]["cards"] if card["kind"] == "module"]
    keys = [[text for kind, _, _, text in data["looks"][card["look"]] if kind == "key"] for card in modules]
    assert [card["times"] for card in modules] == [12, 12]
    assert keys == [["63 nodes", "weights", "gradients"]] * 2
    assert not any("data" in card or "grad" in card for card in modules)


def test_gradients_of_a_scene_add_up():
    """What a node is sent within the whole graph is its gradient."""
    scene = data_of(player(neuron()))["scenes"][0]
    for i, card in enumerate(scene["cards"][:-1]):
        parts = [wire["part"] for wire in scene["wires"] if wire["ends"][0] == i]
        assert sum(parts) == pytest.approx(card["grad"])


# ------------------------------------------------------------------------------------------------ notebooks and files


def test_machine_without_a_browser_is_told_where_the_file_is(monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    with pytest.raises(RuntimeError, match=r"open .*index\.html yourself"):
        player(neuron()).open()


def test_one_result_of_a_module_sends_numbers_along_its_line():
    scene = scenes_of(1)[0]
    (last,) = [i for i, card in enumerate(scene["cards"]) if card["name"] == "Layer #3"]
    (wire,) = [wire for wire in scene["wires"] if wire["ends"][0] == last and "local" in wire]
    assert wire["local"] == -1.0
    assert wire["part"] == scene["cards"][last]["grad"]


# ------------------------------------------------------------------------------------------------ gradients of groups
def test_gradients_of_repetitions_are_a_bar_from_the_smallest_to_the_largest():
    xs = [Value(float(k)) for k in range(-3, 60)]
    loss = sum(((x * 2.0).relu() for x in xs), Value(0.0))
    cards = [card for scene in player(loss, max_nodes=20).data["scenes"] for card in scene["cards"]]
    found = next(card for card in cards if card.get("times") == 63 and card.get("op") == "\u00d7")
    (heat,) = found["heats"]
    assert heat["name"] == "gradients"
    assert heat["cells"] == "JJ" + "S" * 22
    assert (heat["range"], heat["zeros"]) == ("0.0000 to 1.0000", "4 of 63 are 0")


def test_call_with_the_largest_gradients_that_are_numbers_is_shown_of_many():
    model = MLP(2, [2, 1])
    loss = sum((model([1.0, 2.0]) * k for k in (float("nan"), 1.0, 5.0)), Value(0.0))
    notes = [scene["note"] for scene in data_of(player(loss, max_nodes=5))["scenes"] if "note" in scene]
    assert notes[0] == "call 3 of 3: the one with the largest gradients"
