"""The network view, in movies and alone; movies of more classes, of curves and of nothing but a loss; `watch`."""

import math
import re
import sys
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from drawn_graphs import embedded
from PIL import Image

from micrograd import Tensor, Value, compile, nn, viz
from micrograd.functional import cross_entropy, mse
from micrograd.nn import MLP
from micrograd.optim import SGD, Adam
from micrograd.viz.drawing.data import walk
from micrograd.viz.text import text_width
from micrograd.viz.training import network_svg, panels
from micrograd.viz.training.neurons import network
from micrograd.viz.training.open_player import _graph
from micrograd.viz.training.plots import plot_loss

SVG = "{http://www.w3.org/2000/svg}"
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 2))
SIDES = np.where(POINTS[:, 0] > 0, 1, -1)


def tensors(*widths, activation=nn.Tanh):
    layers = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), activation())]
    return nn.Sequential(*layers[:-1])


# ------------------------------------------------------------------------------------------------ the picture
def spots_and_labels(drawn):
    """Of a picture of a network, its size, and the boxes of its circles and of its labels: middle, half a side."""
    page = ET.fromstring(drawn)
    (panel,) = (part for part in page.iter(f"{SVG}svg") if part.get("class") == "network")
    left, top, wide, high = (float(panel.get(name)) for name in ("x", "y", "width", "height"))
    unit = float(re.search(r"--unit:([\d.]+)", panel.get("style"))[1])

    def at(element):
        x, y = (float(element.get(name).rstrip("%")) / 100 for name in "xy")
        return left + x * wide, top + y * high

    circles = [element for element in panel.iter(f"{SVG}svg") if element.get("class") == "at"]
    spots = [(*at(spot), *2 * [(network_svg.RADIUS + 0.7) * unit]) for spot in circles]
    labels = [(text, *at(text)) for text in panel if text.tag == f"{SVG}text" and text.text]
    labels = [
        (x, y + float(text.get("dy")) - 4, text_width(text.text, 11.5, bold=True) / 2, 8) for text, x, y in labels
    ]
    return (float(page.get("width")), float(page.get("height"))), spots, labels


def outside(drawn):
    """The circles and labels of a picture of a network that do not lie within it whole."""
    (right, bottom), spots, labels = spots_and_labels(drawn)
    return [(x, y, w, h) for x, y, w, h in spots + labels if x < w or y < h or x + w > right or y + h > bottom]


@pytest.mark.parametrize("inputs", [1, 2, 30])
@pytest.mark.parametrize("widths", [[1], [8, 8, 1], [3] * 9, [40, 1], [200, 200, 10]], ids=str)
def test_circles_and_labels_of_a_network_lie_within_its_picture_and_its_circles_apart(inputs, widths):
    model = tensors(inputs, *widths, activation=nn.ReLU)
    drawn = viz.draw_network(model, RNG.normal(size=(9, inputs))).svg
    assert outside(drawn) == []
    _, spots, _ = spots_and_labels(drawn)
    assert min(math.dist(p[:2], q[:2]) for p, q in combinations(spots, 2)) > 2 * (spots[0][2] - 0.7)


# ------------------------------------------------------------------------------------------------ the columns
def test_columns_of_values_have_their_weights_and_answer_as_the_model_does():
    model = MLP(2, [4, 3, 1], activation="tanh")
    layers = network(model, POINTS, POINTS)
    assert [layer.weights.shape for layer in layers] == [(4, 2), (3, 4), (1, 3)]
    assert layers[0].weights.tolist() == [[w.data for w in neuron.w] for neuron in model.layers[0].neurons]
    np.testing.assert_allclose(layers[2].answers[:, 0], [model(p).data for p in POINTS.tolist()])
    hidden = [neuron(POINTS[7].tolist()).data for neuron in model.layers[0].neurons]
    np.testing.assert_allclose(layers[0].answers[7], hidden)


def by_hand(x):
    out = Value(x.data**2, (x,), "square")
    out._backward = lambda: setattr(x, "grad", x.grad + 2 * x.data * out.grad)
    return out


@pytest.mark.parametrize(
    "activation",
    [lambda x: x if x.data > 0 else 0.1 * x, compile(lambda x: x * x), by_hand],
    ids=["branch", "compiled", "closure"],
)
def test_neurons_whose_graph_depends_on_the_point_or_is_not_computed_again_are_asked_at_each(activation):
    model = MLP(2, [4, 1], activation=activation)
    first, last = network(model, POINTS, POINTS)
    hidden = [[neuron(p).data for neuron in model.layers[0].neurons] for p in POINTS.tolist()]
    np.testing.assert_allclose(first.answers, hidden)
    np.testing.assert_allclose(last.answers[:, 0], [model(p).data for p in POINTS.tolist()])


@pytest.mark.parametrize("make", [lambda: tensors(2, 5, 1), lambda: MLP(2, [5, 1], activation="tanh")])
def test_frozen_layer_is_drawn_as_any_other_and_computed_at_each_point(make):
    model, twin = make(), make()
    twin.load_state_dict(model.state_dict())
    for p in (model[0] if isinstance(model, nn.Sequential) else model.layers[0]).parameters():
        p.requires_grad = False
    for found, wanted in zip(network(model, POINTS, POINTS), network(twin, POINTS, POINTS), strict=True):
        np.testing.assert_array_equal(found.answers, wanted.answers)
    root, columns_of = _graph(model, POINTS[0], 1, 2, None)
    assert columns_of.keys() & {*walk(root).nodes}  # or the page would show one point's numbers for all


def test_columns_of_tensors_answer_after_their_activation():
    model = tensors(2, 5, 3)
    first, last = network(model, POINTS, POINTS)
    np.testing.assert_allclose(first.weights, model[0].weight.data)
    np.testing.assert_allclose(first.answers, model[1](model[0](Tensor(POINTS))).data)
    np.testing.assert_allclose(last.answers, model(Tensor(POINTS)).data)


@pytest.mark.parametrize("model", [lambda p: p[:, 0], MLP(3, [2, 1]), nn.Sequential(nn.Tanh())])
def test_model_that_is_no_chain_of_neurons_has_no_columns(model):
    assert network(model, POINTS, POINTS) == []


def test_neuron_that_answers_0_at_every_point_is_dead():
    model = MLP(2, [3, 1])
    for neuron in model.layers[0].neurons[:2]:
        neuron.b.data = -100.0
    layers = network(model, POINTS, POINTS)
    assert layers[0].dead.tolist() == [True, True, False]
    assert network_svg.dead_text(layers[0]) == "2 dead"


def test_line_is_as_wide_as_its_weight_and_has_the_hue_of_its_sign():
    looks, wide = zip(*[network_svg.LOOKS[letter] for letter in "AMJS?"], strict=True)
    assert looks == ("below", "above", "zero", "above", "unknown")
    assert wide[0] == wide[3] > wide[1] > wide[2]
    model = MLP(2, [1])
    model.layers[0].neurons[0].w[0].data = float("nan")
    assert network_svg.codes(network(model, POINTS, POINTS), [1.0])[0] == "?"


# ------------------------------------------------------------------------------------------------ a picture


@pytest.mark.parametrize("kind", [Value, Tensor])
def test_bias_of_a_neuron_is_a_dot_with_its_sign_whose_area_is_its_part_of_the_largest_weight(kind):
    biases = [0.5, -0.125, 0.0, -7.0]
    model = MLP(2, [4]) if kind is Value else tensors(2, 4)
    if kind is Value:
        for neuron, bias in zip(model.layers[0].neurons, biases, strict=True):
            neuron.b.data, neuron.w[0].data, neuron.w[1].data = bias, 2.0, -1.0
    else:
        model.load_state_dict({"0.weight": np.tile([2.0, -1.0], (4, 1)), "0.bias": np.array(biases)})
    svg = viz.draw_network(model, POINTS).svg
    dots = re.findall(r'class="bias (\w+)"[^>]* r="([\d.]+)"', svg)
    looks, sizes = zip(*dots, strict=True)
    assert looks == ("above", "below", "below")  # none for 0
    largest = float(sizes[2])  # a bias beyond the largest weight
    parts = [(float(size) / largest) ** 2 for size in sizes]
    assert parts == pytest.approx([0.25, 0.0625, 1], rel=0.1)
    assert "neuron 2: weights 2, \u22121; bias \u22120.125<" in svg


def test_neuron_says_its_weights_in_a_still_and_not_in_a_movie_in_which_they_change():
    model = MLP(2, [2, 1])
    film = viz.movie(model, POINTS, SIDES, resolution=10)
    for k in range(2):
        model.layers[0].neurons[0].w[0].data = 0.25 + k
        film.frame(1.0)
    page, still = film.page().html, film.still(1)
    assert "<title>Layer 1, neuron 1</title>" in page
    assert "neuron 1: weights" not in page
    assert "neuron 1: weights 1.25, " in still


def test_network_whose_weights_are_all_0_is_drawn_with_lines_of_0():
    model = MLP(2, [1])
    for p in model.parameters():
        p.data = 0.0
    assert 'class="w zero"' in viz.draw_network(model, POINTS).svg


def test_network_is_saved_as_a_png_of_its_lines_and_circles(tmp_path):
    drawn = viz.draw_network(MLP(2, [3, 1]), POINTS)
    assert "var(" not in drawn.svg, "rasterisers lack variables of style sheets"
    with Image.open(drawn.save(tmp_path / "net.png")) as image:
        assert image.size == (1000, 1328)  # twice the SVG, for sharp text
        colours = {colour for _, colour in image.convert("RGB").getcolors(2**24)}
    assert {(0xF6, 0xF8, 0xFB), (0xFF, 0xFF, 0xFF), (0x5A, 0x67, 0x7D)} <= colours  # the ground, the panel, the rings


def test_network_in_a_function_is_drawn_and_its_page_says_why_it_does_not_open():
    model = MLP(2, [3, 1])
    drawn = viz.draw_network(lambda point: model(point), POINTS)
    assert drawn.svg.count("Layer 1, neuron") >= 3
    assert embedded(drawn.html)["closed"] == "The model has no parameters."


# ------------------------------------------------------------------------------------------------ movies
def trained(film, model, loss_of, optimizer, steps=3):
    for _ in range(steps):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        film.frame(loss)
        optimizer.step()
    return film


def test_movie_of_any_number_of_classes_has_a_region_for_each():
    labels = np.arange(40) % 9
    model = tensors(2, 4, 9)
    film = viz.movie(model, POINTS, labels, resolution=20)
    trained(film, model, lambda m: cross_entropy(m(Tensor(POINTS)), labels), SGD(model.parameters(), lr=0.1))
    assert film.task == "regions"
    assert film.frames[0].scores.shape[0] == 9
    right = (model(Tensor(POINTS)).data.argmax(axis=1) == labels).mean()
    film.frame(1.0)
    assert film.frames[-1].accuracy == pytest.approx(right)
    assert "class 8" in film.page().html
    ET.fromstring(film.still())


def test_movie_of_numbers_is_of_the_curve():
    x = np.linspace(-1, 1, 30)
    film = viz.movie(lambda p: 2 * p[:, 0], x[:, None], 2 * x + 0.5, resolution=20)
    film.frame(0.25)
    assert film.task == "curve"
    np.testing.assert_allclose(film.frames[0].scores, 2 * film.xs)
    assert film.frames[0].accuracy == pytest.approx(0.5)  # the root mean square error
    assert "off by 0.5000" in embedded(film.page().html)["frames"][0]["says"]
    assert len(panels.boundary_paths(film, film.frames[0])) == 1
    ET.fromstring(film.still())


def test_movie_without_points_is_of_the_loss_and_the_weights():
    model = tensors(5, 3, 1)
    film = viz.movie(model)
    film.frame(1.0)
    film.frame(0.5)
    assert 'class="boundary"' not in film.page().html
    assert film.page().html.count('class="layer"') == 2
    ET.fromstring(film.still())


def test_each_kind_of_movie_makes_a_gif(tmp_path):
    x = np.linspace(-1, 1, 10)
    curve, regions = viz.movie(lambda p: p[:, 0], x, x), viz.movie(tensors(2, 3), POINTS, np.arange(40) % 3)
    for film in (curve, regions, viz.movie(MLP(2, [1]))):
        film.frame(1.0)
        film.gif(tmp_path / "film.gif", width=160)
        assert (tmp_path / "film.gif").stat().st_size > 1000


def test_movie_shows_the_norm_of_each_layer_s_gradient_and_nothing_where_a_frame_has_none():
    model = MLP(2, [3, 1], activation="tanh")
    film = viz.movie(model, POINTS, SIDES, resolution=10)
    film.frame(1.0)
    sum(model(p) for p in POINTS[:3].tolist()).backward()
    film.frame(1.0)
    before, after = (frame["notes"] for frame in embedded(film.page().html)["frames"])
    assert before == ["", ""]
    norm = sum(p.grad**2 for p in model.layers[0].parameters()) ** 0.5
    assert after[0] == f"gradient {norm:.4f}"


@pytest.mark.parametrize("of_arrays", [False, True], ids=["Values", "Tensors"])
def test_movie_of_a_compiled_step_is_silent_about_gradients_that_no_frame_has(of_arrays):
    """A step that is compiled with `update=` leaves none."""
    model = tensors(2, 3, 1) if of_arrays else MLP(2, [3, 1])
    film = viz.movie(model, POINTS, SIDES, resolution=10)
    losses = [lambda: sum((model(p) - 1.0) ** 2 for p in POINTS[:3].tolist()), lambda: (model(POINTS) ** 2).mean()]
    step = compile(losses[of_arrays], update=SGD(model.parameters(), lr=0.1))
    for _ in range(2):
        film.frame(step())
    page = film.page().html
    data = embedded(page)
    assert [frame["notes"] for frame in data["frames"]] == [["", ""]] * 2
    assert list(data["histograms"]) == ["weights"]
    assert '<span id="quantity">weights</span>' in page
    assert '<select id="quantity"' not in page
    assert "gradient" not in film.still()


def test_state_of_the_optimizer_can_be_chosen():
    model = tensors(2, 3, 1)
    optimizer = Adam(model.parameters(), lr=0.1)
    film = viz.movie(model, POINTS, SIDES, resolution=10, optimizer=optimizer)
    targets = Tensor(SIDES.reshape(-1, 1).astype(float))
    trained(film, model, lambda m: mse(m(Tensor(POINTS)), targets), optimizer)
    data = embedded(film.page().html)
    remembered = [name for name, x in next(iter(optimizer.state.values())).items() if isinstance(x, np.ndarray)]
    assert list(data["histograms"]) == ["weights", "gradients", *remembered]
    for name in remembered:
        assert sum(data["histograms"][name][2][-1][0]) == 9
        assert f"<option>{name}</option>" in film.page().html


def test_nan_is_marked_on_the_plane_and_on_the_loss():
    film = viz.movie(lambda p: np.where(p[:, 0] > 0, np.nan, 1.0), POINTS, SIDES, resolution=10)
    film.frame(float("nan"))
    shades = panels.shades(film, film.frames[0].scores)
    assert set(shades[:, -1].tolist()) == {63}  # the colour of nan
    assert 'class="odd"' in film.page().html
    film = viz.movie(lambda p: np.where(p[:, :1] > 0, np.nan, np.eye(3)[:1]), POINTS, np.arange(40) % 3, resolution=10)
    film.frame(1.0)
    shades = panels.shades(film, film.frames[0].scores)
    assert (shades[:, -1] == len(panels.REGIONS) - 1).all()
    assert (shades[:, 0] != len(panels.REGIONS) - 1).all()
    _, crosses = plot_loss([1.0, float("inf"), 0.5]).lines
    assert crosses.get_xdata().tolist() == [1]


# ------------------------------------------------------------------------------------------------ live
class Cell:
    """A display of a notebook."""

    def __init__(self):
        self.shown = []

    def update(self, data, raw):
        assert raw
        self.shown.append(data)


def test_watch_updates_one_cell_a_few_times_a_second_and_is_a_movie_afterwards(monkeypatch):
    cell = Cell()
    now = iter(np.arange(0.0, 100.0, 0.05))
    monkeypatch.setattr("micrograd.viz.training.record._new_cell", lambda text: cell)
    monkeypatch.setattr("micrograd.viz.training.record.time", SimpleNamespace(monotonic=lambda: next(now)))
    film = viz.watch(MLP(2, [2, 1]), POINTS, SIDES, resolution=10, every=0.2)
    for _ in range(20):
        film.frame(0.5)
    assert 3 <= len(cell.shown) < 10
    assert cell.shown[0]["text/html"].startswith("<img ")
    assert cell.shown[0]["text/plain"] == "step 0, loss 0.5"
    assert len(film) == 20
    assert film.page().html.count("</script>") == 2


def test_watch_outside_of_a_notebook_shows_nothing_and_records(capsys):
    film = viz.watch(MLP(2, [2, 1]), POINTS, SIDES, resolution=10)
    film.frame(Value(0.5))
    assert (film._cell, capsys.readouterr().out) == (None, "")
    assert repr(film) == "<Watch of 1 frames, steps 0 to 0>"


def test_watch_works_without_ipython(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    viz.watch(MLP(2, [2, 1]), POINTS, SIDES, resolution=10).frame(1.0)
