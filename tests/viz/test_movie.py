"""The movie: what it records, how many frames it keeps, the page it makes. tests/browser/test_movie.py plays it."""

import base64
import io
import random
import re
import webbrowser
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from demo_helpers import take_away
from drawn_graphs import embedded
from late import datasets
from PIL import Image

from micrograd import Tensor, Value, compile, nn, viz
from micrograd.functional import hinge
from micrograd.nn import MLP, Neuron
from micrograd.optim import SGD
from micrograd.tensor.randomness import generator
from micrograd.viz.training import panels
from micrograd.viz.training.movie_page import pictures

X, Y = [[0.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.0, 1.5]], [-1, -1, 1, 1]
SVG = "{http://www.w3.org/2000/svg}"


def flat(p):
    """A model that is filmed in no time, for tests of all that is not its boundary."""
    return p[:, 0] - 1


def filmed(losses=(0.9, 0.5, 0.3), model=flat, **options):
    film = viz.movie(model, X, Y, resolution=20, **options)
    for loss in losses:
        film.frame(loss)
    return film


# ------------------------------------------------------------------------------------------------ frames
def test_frame_is_what_the_model_says_at_that_moment_the_highest_row_first():
    slope = Value(1.0)
    film = viz.movie(lambda p: slope * p[0] - 0.5, X, Y, resolution=20)
    film.frame(Value(0.25))
    slope.data = -1.0
    film.frame(Tensor(0.125))
    first, second = film.frames
    np.testing.assert_allclose(first.scores[0], film.xs - 0.5, rtol=1e-6)
    np.testing.assert_allclose(second.scores[-1], -film.xs - 0.5, rtol=1e-6)
    assert [first.loss, second.loss] == film.losses == [0.25, 0.125]
    assert [first.accuracy, second.accuracy] == [1.0, 0.5]
    film.frame(1.0, accuracy=Value(0.125))
    assert film.frames[-1].accuracy == 0.125
    np.testing.assert_allclose(filmed([1.0], lambda p: p[:, 1]).frames[0].scores[:, 0], film.ys[::-1], rtol=1e-6)


class Wrapped:
    def __init__(self, model):
        self.model = model

    def __call__(self, x):
        return self.model(x)

    def parameters(self):
        return self.model.parameters()


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: lambda x: m(x), lambda m: m.forward, Wrapped, compile])
@pytest.mark.parametrize("draw", [lambda m: filmed(model=m), lambda m: viz.plot_decision_boundary(m, X, Y)])
def test_picture_is_of_the_model_in_use_and_leaves_it_and_the_generator_alone(wrap, draw):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 1))
    model[2].eval()
    before, state = model.state_dict(), generator(None).bit_generator.state
    draw(wrap(model))
    assert generator(None).bit_generator.state == state
    assert all((array == before[name]).all() for name, array in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert [module.training for module in model] == [True, True, False, True]
    film = filmed(model=wrap(model))
    model.eval()
    np.testing.assert_array_equal(film.frames[-1].scores, filmed(model=model).frames[-1].scores)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 10, 17, 33, 100])
def test_frames_are_evenly_spaced_but_for_the_last(n):
    film = filmed(range(1, n + 1), max_frames=8)
    steps = [frame.step for frame in film.frames]
    assert (steps[0], steps[-1], len(film.losses)) == (0, n - 1, n)
    assert min(n, 4) <= len(steps) <= 8
    assert len(set(np.diff(steps[:-1]).tolist())) <= 1


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (Neuron(2), ["w", "b"]),
        (nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), ["layer 1", "layer 2"]),
        (MLP(2, [2] * 6 + [1]), [f"layer {i}" for i in range(1, 8)]),
        (MLP(2, [2] * 12 + [1]), ["all 13 layers"]),
        (lambda p: p[:, 0], []),
    ],
)
def test_layers_are_told_apart_by_the_names_of_parameters(model, names):
    assert list(filmed([1.0], model=model).layers) == names


def test_frame_has_the_weights_of_each_layer_and_of_many_a_part():
    model = MLP(2, [4, 1])
    first, last = filmed([1.0], model=model).frames[0].states["weights"]
    assert (len(first), last.tolist()) == (12, pytest.approx([p.data for p in model.layers[1].parameters()]))
    model = nn.Sequential(nn.Linear(2, 6000), nn.Linear(6000, 1))
    assert [len(w) <= 4000 for w in filmed([1.0], model=model).frames[0].states["weights"]] == [True, True]


def test_movie_without_a_frame_says_what_to_do():
    film = filmed([])
    assert repr(film) == "<Movie without a frame yet>"
    assert len(film) == 0
    assert film  # so that `if film:` asks whether there is one
    assert film._repr_mimebundle_() == {"text/plain": "<Movie without a frame yet>"}


# ------------------------------------------------------------------------------------------------ the page
def test_page_holds_every_frame_in_numbers_and_words_and_every_weight_in_a_bar():
    data = embedded(filmed(model=MLP(2, [4, 3, 1], activation=lambda x: x * 0)).page().html)
    assert data["frames"][1]["says"] == "Step 1 of 2: loss 0.5000, 50\u202f% right."
    assert [frame["loss"] for frame in data["frames"]] == ["0.9000", "0.5000", "0.3000"]
    assert [len(frame["lines"]) for frame in data["frames"]] == [3, 3, 3]
    *_, by_frame = data["histograms"]["weights"]
    assert [[sum(bars) for bars in layers] for layers in by_frame] == [[12, 15, 4]] * 3


def test_strip_has_a_picture_a_frame_transparent_at_the_boundary():
    film = filmed(model=lambda p: 3 * (p[:, 0] - p[:, 0].mean()))
    uri = re.search(r'<image [^>]*href="data:image/png;base64,([^"]*)"', film.page().html)[1]
    image = Image.open(io.BytesIO(base64.b64decode(uri)))
    columns, rows = len(film.xs), len(film.ys)
    assert image.size == (columns, 3 * rows)
    opaque = np.asarray(image.convert("RGBA"))[:, :, 3]
    assert opaque[:, columns // 2].max() < 60 < 160 < opaque[:, 0].min()


def test_points_are_drawn_in_part_where_they_are_very_many_and_all_are_judged():
    points = np.random.default_rng(0).normal(size=(3000, 2))
    film = viz.movie(lambda p: p[:, 0], points, points[:, 0] > 0, resolution=10)
    film.frame(1.0)
    assert len(panels.marks(film)) == 1000
    assert film.frames[0].accuracy == 1.0


@pytest.mark.long
def test_sixty_one_frames_of_the_moons_take_less_than_300_kb():
    """A short training on few points, for time; the size is that of pictures, lines, and the player."""
    points, labels = datasets().make_moons(100, noise=0.1, random_state=1)
    signs = 2 * labels - 1
    model = MLP(2, [16, 16, 1], rng=random.Random(0))  # of six seeds the second largest page
    film = viz.movie(model, points, signs)
    step = compile(lambda x, y: hinge([model(p) for p in x], y), scalars=True, update=SGD(model.parameters(), lr=0.2))
    for i in range(61):
        film.frame(step(points[i % 5 :: 5], signs[i % 5 :: 5]))
    assert len(film) == 61
    assert len(film.page().html.encode()) < 300_000
    assert film.frames[-1].accuracy > 0.85


def test_save_writes_the_page_and_open_shows_it(tmp_path, monkeypatch):
    film, shown = filmed(), []
    monkeypatch.setattr(webbrowser, "open", lambda address: shown.append(address) or True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    film.save(tmp_path / "film.html")
    opened = film.open()
    assert shown == [opened.as_uri()]
    assert (
        (tmp_path / "film.html").read_text(encoding="utf-8") == opened.read_text(encoding="utf-8") == film.page().html
    )


# ------------------------------------------------------------------------------------------------ a GIF
def test_gif_shows_each_frame_for_as_long_as_asked_and_begins_anew(tmp_path):
    filmed(model=MLP(2, [3, 1])).gif(tmp_path / "film.gif", seconds=0.25, width=200)
    with Image.open(tmp_path / "film.gif") as image:
        assert image.format == "GIF"
        assert image.width == 200
        assert image.info["loop"] == 0
        times = []
        for i in range(image.n_frames):
            image.seek(i)
            times.append(image.info["duration"])
    assert times == [250, 250, 2250]


def test_gif_shows_orange_below_zero_and_blue_above_it(tmp_path):
    filmed([1.0], model=lambda p: 9 * (p[:, 0] - 1.5)).gif(tmp_path / "film.gif", width=200)
    with Image.open(tmp_path / "film.gif") as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    blue, orange = (np.argwhere(pixels[:, :, i] > pixels[:, :, 2 - i] + 50)[:, 1].mean() for i in (2, 0))
    assert orange < 100 < blue  # of 200 columns


@pytest.mark.parametrize("width", [200, 700])
def test_gif_is_as_wide_as_asked_and_shows_the_panels_of_the_page(tmp_path, width):
    film = filmed()
    shown = [ET.fromstring(svg) for svg in pictures(film, width)]
    assert [float(svg.get("width")) for svg in shown] == [width] * 3
    for svg in shown:
        assert [text.text for text in svg.iter(f"{SVG}text") if text.get("class") == "heading"] == [
            "Decision boundary",
            "Loss",
        ]


@pytest.mark.parametrize("package", ["PIL", "matplotlib"])
def test_movie_needs_neither_matplotlib_nor_pillow(package, monkeypatch):
    take_away(package, monkeypatch)
    film = filmed()
    assert len(film.page().html) > 1000
    assert len(film._repr_mimebundle_()) == 2


# ------------------------------------------------------------------------------------------------ odd numbers
@pytest.mark.parametrize(
    "losses",
    [
        *([float("nan")] * 2, [1.0, float("inf"), 0.5], [0.0, 0.0], [-3.0, -1.0], [1e-9, 1e9], [5.0]),
        *([1.0, 1e308], [1e308, float("inf")], [0.0, 1e308], [-1e308, 0.0], [0.0, 5e-324], [5e-324] * 2),
    ],
)
def test_curve_and_dot_stand_on_their_panel_whatever_the_losses(losses):
    film = filmed(losses)
    for frame in embedded(film.page().html)["frames"]:
        x, y = frame["at"]
        assert 0 <= x <= 100
        assert 0 <= y <= 100
    for numbers in re.findall(r'<path class="curve later" d="([^"]*)"', film.page().html):
        assert "nan" not in numbers
        assert "inf" not in numbers


@pytest.mark.parametrize("weight", [1e300, -1e300])
def test_weights_beyond_a_float32_are_filmed(weight):
    model = MLP(2, [2, 1])
    model.layers[0].neurons[0].w[0].data = weight
    assert filmed([1.0], model=model).page().html  # warnings are errors


def test_model_that_says_nan_or_infinity_is_filmed(tmp_path):
    with np.errstate(all="ignore"):
        film = filmed(model=lambda p: np.log(p[:, 0] - 1) / 0.0)
    film.page().html
    film.still()
    film.gif(tmp_path / "film.gif")


def test_weights_that_are_no_numbers_are_left_out():
    model = MLP(2, [1])
    model.layers[0].neurons[0].b.data = float("nan")
    *_, [[bars]] = embedded(filmed([1.0], model=model).page().html)["histograms"]["weights"]
    assert sum(bars) == 2
    assert "1 nan or inf" in filmed([1.0], model=model).page().html


def test_long_curve_is_drawn_through_its_extremes():
    losses = np.sin(np.arange(5000.0)) + 2
    losses[1234] = 9.0
    film = viz.movie(lambda p: p[:, 0], X, Y, resolution=5, max_frames=2)
    film.losses = losses.tolist()
    path = panels.Curve(film).path(1000, 1000)
    heights = [float(y) for y in re.findall(r" ([\d.]+)", path)]
    assert len(heights) <= 800
    assert min(heights) == 0


@pytest.mark.parametrize("losses", [[3, 1], [1000, 0.001], [1e-9, 2e-9], [0.99, 1.0], [-5, 5]])
def test_scale_has_a_few_ticks_at_round_numbers(losses):
    ticks = panels.Curve(filmed(losses)).ticks()
    assert 2 <= len(ticks) <= 6
    assert all(0 <= height <= 100 for height, _ in ticks)
    assert all(len(text) <= 6 for _, text in ticks)
