"""The demo: that it learns what it says, from the classic numbers on, and leaves its pictures."""

import random
import re
import xml.etree.ElementTree as ET
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from demo_helpers import demo_module
from drawn_graphs import embedded
from late import datasets

from micrograd import Value, compile
from micrograd.nn import MLP
from micrograd.viz.training.record import Movie

DEMO = Path(__file__).parents[2] / "demos" / "moons.py"
PICTURES = ["boundary.png", "loss.png", "moons.html", "network.svg", "neuron.html", "neuron.svg"]


demo = demo_module("moons")


def classic_data():
    """The lines of the classic notebook."""
    np.random.seed(1337)
    random.seed(1337)
    X, y = datasets().make_moons(n_samples=100, noise=0.1)
    y = y * 2 - 1
    return X, y, MLP(2, [16, 16, 1])


def classic_loss(X, y, model):
    inputs = [list(map(Value, xrow)) for xrow in X]
    scores = list(map(model, inputs))
    losses = [(1 + -yi * scorei).relu() for yi, scorei in zip(y, scores, strict=True)]
    data_loss = sum(losses) * (1.0 / len(losses))
    alpha = 1e-4
    reg_loss = alpha * sum(p * p for p in model.parameters())
    return data_loss + reg_loss


def test_learning_goes_the_way_of_the_classic_loop():
    points, labels = demo.make_data("moons", seed=1337)
    first = demo.MLP(2, [16, 16, 1])
    loss, scores = demo.total_loss(first, points, labels)
    assert loss.data == pytest.approx(0.8958441028683222, rel=1e-14)  # which everybody knows from the classic notebook
    assert demo.accuracy(scores, labels) == 0.5
    history = demo.train(first, points[:20], labels[:20], steps=5)

    X, y, model = classic_data()
    losses = []
    for k in range(5):
        total_loss = classic_loss(X[:20], y[:20], model)
        model.zero_grad()
        total_loss.backward()
        learning_rate = 1.0 - 0.9 * k / 5
        for p in model.parameters():
            p.data -= learning_rate * p.grad
        losses.append(total_loss.data)
    assert [loss for loss, _ in history] == pytest.approx(losses, rel=1e-9)


@pytest.mark.parametrize(
    ("made", "theirs", "more"), [(demo.moons, "make_moons", {}), (demo.circles, "make_circles", {"factor": 0.4})]
)
def test_points_are_scikit_learns_in_every_bit(made, theirs, more):
    np.random.seed(1337)
    points, classes = made()
    np.random.seed(1337)
    expected, expected_classes = getattr(datasets(), theirs)(n_samples=100, noise=0.1, **more)
    assert points.tolist() == expected.tolist()
    assert classes.tolist() == expected_classes.tolist()


@pytest.mark.parametrize("name", ["moons", "circles", "xor", "spiral"])
def test_data_are_a_hundred_points_in_two_equal_classes_and_follow_the_seed(name):
    points, labels = demo.make_data(name, seed=3)
    assert np.shape(points) == (100, 2)
    assert set(labels) == {-1, 1}
    assert 35 <= labels.count(1) <= 65
    assert demo.make_data(name, seed=3) == (points, labels)
    assert demo.make_data(name, seed=4)[0] != points


def test_moons_are_learned_wholly_and_pictures_left_in_out(tmp_path, monkeypatch, capsys):
    """Its loss is compiled here, and the movie has one frame of twenty: the same numbers in an eighth of the time."""
    graphs, eager, frame, steps = {}, demo.total_loss, Movie.frame, count()
    monkeypatch.setattr(Movie, "frame", lambda film, *said: None if next(steps) % 20 else frame(film, *said))

    def compiled(model, points, labels):
        graphs[model] = graphs.get(model) or compile(lambda: eager(model, points, labels))
        return graphs[model]()

    monkeypatch.setattr(demo, "total_loss", compiled)
    monkeypatch.chdir(tmp_path)
    demo.main([])
    said = capsys.readouterr()
    assert "Right answers: 100% of the points" in said.out
    assert re.search(r"learning: 100%.* accuracy=100%, loss=0\.0\d+", said.err)
    for name in PICTURES:
        assert name in said.out
        assert (tmp_path / "out" / name).stat().st_size > 1000


def test_network_that_has_learnt_little_leaves_its_pictures_and_their_addresses_too(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    demo.main(["--data", "spiral", "--steps", "3", "--seed", "0", "--out", str(out)])
    assert sorted(path.name for path in out.iterdir()) == PICTURES
    for path in out.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert ET.parse(out / "network.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert {"x1", "x2", "w[0]", "w[1]", "b", "result"} <= {*ET.parse(out / "neuron.svg").getroot().itertext()}
    said = capsys.readouterr().out
    assert str(out.resolve()) in said
    assert f"  {(out / 'moons.html').resolve().as_uri()}   a movie" in said
    assert f"  {(out / 'neuron.html').resolve().as_uri()}  a player" in said
    page = (out / "moons.html").read_text(encoding="utf-8")
    assert [frame["says"].split(":")[0] for frame in embedded(page)["frames"]] == [f"Step {i} of 3" for i in range(4)]
