"""Plots of a classifier, and the scores that they are drawn from, whatever kind of model gives them."""

import re
import warnings

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from micrograd import Tensor, Value, nn, no_grad, viz
from micrograd.nn import MLP, Neuron
from micrograd.viz.training import panels
from micrograd.viz.training.evaluate import class_scores, grid_scores, leads, one_score, plane, samples
from micrograd.viz.training.plots import class_look

X = [[0.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.0, 1.5]]
Y = [-1, -1, 1, 1]
SPOTS = np.random.default_rng(0).normal(size=(200, 2))


@pytest.fixture
def axes():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


def scores(model, points):
    """One score a point: of two, how far the second leads."""
    return one_score(class_scores(model, points).T)


def network():
    rng = np.random.default_rng(0)
    return nn.Sequential(nn.Linear(2, 8, rng=rng), nn.Tanh(), nn.Linear(8, 1, rng=rng))


# ------------------------------------------------------------------------------------------------ scores
@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "gelu", "leaky_relu", "softplus", "sin"])
def test_network_of_values_says_the_same_of_many_points_as_of_each(activation):
    model = MLP(2, [5, 4, 1], activation=activation)
    each = [model(point).data for point in SPOTS.tolist()]
    np.testing.assert_allclose(scores(model, SPOTS), each, rtol=1e-12)


def test_network_of_values_is_asked_a_few_points_and_not_each():
    asked = []

    class Counting(MLP):
        def __call__(self, x):
            asked.append(x)
            return super().__call__(x)

    scores(Counting(2, [4, 1]), SPOTS)
    assert len(asked) < 20


def test_model_that_branches_on_its_input_is_read_rightly():
    model = MLP(2, [4, 1])

    def branching(x):
        return model(x) if x[0] > 0 else -model(x)

    np.testing.assert_allclose(scores(branching, SPOTS), [branching(p).data for p in SPOTS.tolist()], rtol=1e-12)


def test_network_of_tensors_is_asked_once_for_all():
    model, shapes = network(), []

    def asked(x):
        shapes.append(x.shape)
        return model(x)

    np.testing.assert_allclose(scores(asked, SPOTS), model(Tensor(SPOTS)).data.reshape(-1))
    assert shapes == [(200, 2)]


@pytest.mark.parametrize(
    "model",
    [
        lambda p: p[0] - p[1],
        lambda p: p[:, 0] - p[:, 1],
        lambda p: Value(p[0]) - p[1],
        lambda p: p @ np.array([1.0, -1.0]),
        lambda p: [[0.0, x - y] for x, y in p],
        lambda p: [Value(p[1]), Value(p[0])],
    ],
    ids=["point", "array", "value", "product", "two scores a row", "two scores a point"],
)
def test_any_function_of_a_point_or_of_many_will_do(model):
    np.testing.assert_allclose(scores(model, SPOTS), SPOTS[:, 0] - SPOTS[:, 1], atol=1e-15)


def test_lead_is_over_the_best_of_the_others():
    found = np.random.default_rng(0).integers(0, 3, (4, 50)).astype(float)  # with many ties
    for i, lead in enumerate(leads(found)):
        np.testing.assert_array_equal(lead, found[i] - np.delete(found, i, axis=0).max(axis=0))


def test_mistake_inside_the_model_is_heard():
    def model(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        scores(model, SPOTS)


def test_values_can_be_asked_within_no_grad_and_keep_their_gradients():
    model = Neuron(2)
    model([1.0, 2.0]).backward()
    before = [p.grad for p in model.parameters()]
    with no_grad():
        np.testing.assert_allclose(scores(model, SPOTS[:3]), [model(p).data for p in SPOTS[:3].tolist()])
    assert [p.grad for p in model.parameters()] == before


def test_overflow_is_seen_in_the_scores_and_warns_nobody():
    neuron = Neuron(2, activation=lambda x: (x * 1000).exp() - (x * 1000).exp())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(scores(neuron, SPOTS)).any()


@pytest.mark.parametrize("points", [X, [[0, 0], [1000, 1]], [[1, 1], [1, 1]], [[0, 5], [9, 5]]])
def test_grid_goes_around_all_points_in_increasing_steps_whatever_the_points(points):
    sides = plane(np.array(points, dtype=float), 40)
    assert max(map(len, sides)) == 40
    assert min(map(len, sides)) >= 10
    for side, of_points in zip(sides, np.transpose(points), strict=True):
        assert np.all(np.diff(side) > 0)
        assert side[0] < min(of_points) <= max(of_points) < side[-1]
    assert points != X or np.diff(sides[0])[0] == pytest.approx(np.diff(sides[1])[0], rel=0.05), "squares"


def test_rows_of_a_grid_are_the_ys():
    grid = grid_scores(lambda p: 10 * p[:, 1] + p[:, 0], np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0]))
    assert grid.tolist() == [[[1, 2, 3], [11, 12, 13]]]


@pytest.mark.parametrize("labels", [[-1, 1], [0, 1], [False, True], [[2], [5]], [Value(0), Value(1)], Tensor([0, 1])])
def test_lower_label_is_the_first_class(labels):
    _, classes = samples([[0, 0], [1, 1]], labels)
    assert [mine.tolist() for mine in classes.values()] == [[True, False], [False, True]]


# ------------------------------------------------------------------------------------------------ plots


def test_boundary_and_both_margins_are_lines_where_the_score_says(axes):
    assert viz.plot_decision_boundary(lambda p: 2 * p[:, 0] - 3, X, Y, axes) is axes
    contours = [c for c in axes.collections if hasattr(c, "levels") and len(c.levels) == 1]
    assert [c.levels[0] for c in contours] == [-1, 0, 1]
    lines = [c.get_paths()[0].vertices[:, 0] for c in contours]
    for x, line in zip((1.0, 1.5, 2.0), lines, strict=True):
        np.testing.assert_allclose(line, x)
    assert len({str(c.get_linestyle()) for c in contours}) == 2


def test_classes_are_circles_and_triangles_above_every_line(axes):
    viz.plot_decision_boundary(MLP(2, [3, 1]), X, Y, axes)
    points = [c for c in axes.collections if type(c).__name__ == "PathCollection"]
    np.testing.assert_array_equal(points[0].get_offsets(), X[:2])
    np.testing.assert_array_equal(points[1].get_offsets(), X[2:])
    corners = [len(c.get_paths()[0].vertices) for c in points]
    assert corners[0] > 10
    assert corners[1] == 4  # and back to the first
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["class -1", "class 1", "boundary: score 0", "margins: score -1 and 1"]
    lines = [thing for thing in axes.collections if thing not in points]
    assert max(line.zorder for line in lines) < min(point.zorder for point in points)


@pytest.mark.parametrize("count", [3, 4, 9])
def test_class_of_many_has_its_region_its_points_and_a_line_around_it(count, axes):
    angles = 2 * np.pi * np.arange(count) / count
    corners = 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    viz.plot_decision_boundary(lambda p: p @ corners.T, corners.tolist(), [*range(count)], axes)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[:count] == [f"class {i}" for i in range(count)]
    assert names[count:] == ["boundary: the best two scores are equal", "margins: the best one leads by 1"]
    points = [c for c in axes.collections if type(c).__name__ == "PathCollection"]
    shades = [c for c in axes.collections if hasattr(c, "levels") and len(c.levels) > 1]
    lines = [c for c in axes.collections if hasattr(c, "levels") and c.levels[0] == 0 and len(c.levels) == 1]
    assert len(points) == len(shades) == len(lines) == count
    for i, (mine, shade, line) in enumerate(zip(points, shades, lines, strict=True)):
        np.testing.assert_array_equal(mine.get_offsets(), corners[i : i + 1])
        around = [any(path.contains_point(corner) for path in shade.get_paths()) for corner in corners]
        assert around == [corner == i for corner in range(count)]
        apart = line.get_paths()[0].vertices @ (corners - corners[i]).T
        np.testing.assert_allclose(np.delete(apart, i, axis=1).max(axis=1), 0, atol=0.05)  # two scores are equal


def test_classes_look_different_however_many():
    assert len({class_look(i, 40) for i in range(40)}) == 40
    film = viz.movie(lambda p: np.eye(12)[np.arange(len(p)) % 12], np.eye(12)[:, :2], np.arange(12), resolution=2)
    film.frame(1.0)
    looks = {re.sub('transform="[^"]*"', "", panels.mark(film, i, 0, 0)) for i in range(12)}
    assert len(looks) == 12


def test_levels_of_another_scale_are_drawn_and_named(axes):
    viz.plot_decision_boundary(lambda p: 1 / (1 + np.exp(-p[:, 0])), X, Y, axes, levels=(0.25, 0.5, 0.75))
    assert "boundary: score 0.5" in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("model", [lambda p: 0 * p[:, 0], lambda p: np.nan * p[:, 0], lambda p: np.inf + p[:, 0]])
def test_model_without_a_boundary_is_drawn_without_one(model, axes):
    with np.errstate(all="ignore"):
        viz.plot_decision_boundary(model, X, Y, axes, legend=False)
    assert axes.get_legend() is None
    assert not [c for c in axes.collections if hasattr(c, "levels") and len(c.levels) == 1]


def test_loss_is_a_curve_of_numbers_or_values(axes):
    assert viz.plot_loss([3, Value(2.0), Tensor(1.5)], axes) is axes
    assert axes.get_lines()[0].get_ydata().tolist() == [3, 2, 1.5]
    assert axes.get_yscale() == "linear"


@pytest.mark.parametrize(
    ("losses", "log", "scale"),
    [
        ([10, 0.1], None, "log"),
        ([10, 0.1], False, "linear"),
        ([2, 1], True, "log"),
        ([1, 0], None, "linear"),
        ([1, float("nan")], None, "linear"),
    ],
)
def test_scale_of_the_loss_suits_it_or_is_as_asked(losses, log, scale, axes):
    assert viz.plot_loss(losses, axes, log=log).get_yscale() == scale


def test_accuracy_is_in_percent_on_a_scale_of_its_own(axes):
    viz.plot_loss([2, 1], axes, accuracy=[0.5, 1])
    _, other = axes.figure.axes
    assert other.get_lines()[0].get_ydata().tolist() == [50, 100]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["loss", "right answers"]


def test_without_axes_there_is_a_new_figure():
    first, second = viz.plot_loss([1, 2]), viz.plot_decision_boundary(MLP(2, [1]), X, Y)
    assert first.figure is not second.figure
    assert plt.get_fignums() == [1, 2]
