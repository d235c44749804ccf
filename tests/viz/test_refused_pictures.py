"""What cannot be shown is refused in words, whichever picture is asked for, and leaves no file."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from micrograd import Tensor, Value, viz
from micrograd.nn import MLP
from micrograd.viz.playing.animation import MAX_NODES, MOST_BOXES

X, Y = [[0.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.0, 1.5]], [-1, -1, 1, 1]
ONE, BOTH, DOUBLED = Value(1.0), [Value(1.0), Value(2.0)], Value(2.0, label="a") * 3
ROWS = Tensor(np.ones((4, 3)), requires_grad=True)


def refused(case, folder):
    """Raises what this row of a table says."""
    show, error, words = case
    with pytest.raises(error, match=words):
        show(folder)
    assert not list(folder.iterdir())


# ------------------------------------------------------------------------------------------------ graphs
def chain(length):
    out = a = Value(1.0)
    for _ in range(length):
        out = out.tanh() * a
    return out


GRAPHS = [
    (lambda _: viz.draw_dot(3.0), TypeError, r"float.*Value\(3\.0\)"),
    (lambda _: viz.trace(None), TypeError, "NoneType"),
    (lambda _: viz.draw_dot([Value(1.0), 2]), TypeError, r"int.*Value\(2\)"),
    (lambda _: viz.draw_dot([]), ValueError, "empty"),
    (lambda _: viz.draw_dot(ONE, rankdir="left"), ValueError, "rankdir"),
    (lambda _: viz.draw_dot(ONE, max_nodes=0), ValueError, "max_nodes"),
    (lambda _: viz.player(BOTH), TypeError, "one root"),
    (lambda _: viz.player("x"), TypeError, "found str"),
    (lambda _: viz.player(DOUBLED, height=0), ValueError, "a frame needs a positive number of pixels"),
    (lambda _: viz.player(DOUBLED, height=True), ValueError, "a frame needs a positive number of pixels"),
    (lambda _: viz.player(DOUBLED, height=float("nan")), ValueError, "a frame needs a positive number of pixels"),
    (lambda _: viz.player(ROWS.sum(), names={ROWS: "emma!"}), ValueError, "one letter for each place of an axis"),
    (lambda _: viz.player(ROWS.sum(), names={ROWS: 4}), ValueError, "one letter for each place of an axis"),
    (lambda at: viz.player(DOUBLED).save(at / "a.PDF"), ValueError, r"^a\.PDF is a name for .*: let it end in .html$"),
    (lambda at: viz.player(DOUBLED).save(at / "a.png"), ValueError, r"^a\.png is a name for .*: let it end in .html$"),
    (lambda at: viz.player(DOUBLED).save(at / "a.gif", seconds=0), ValueError, "it must be above 0"),
    (lambda at: viz.player(DOUBLED).save(at / "a.gif", seconds=float("nan")), ValueError, "it must be above 0"),
    (
        lambda at: viz.player(chain(MOST_BOXES), max_nodes=1000).save(at / "a.gif"),
        ValueError,
        "a GIF shows at most 60: save a page",
    ),
    (
        lambda _: viz.animate(chain(MAX_NODES // 2)),
        ValueError,
        r"has 41 nodes; an animation is for at most 40: draw_dot\(root\) draws more",
    ),
    (lambda _: viz.animate(3.0), TypeError, "wrap it first"),
    (lambda _: viz.animate(BOTH), TypeError, "one root"),
    (lambda _: viz.animate(ONE, seconds=0), ValueError, "seconds is 0"),
    (lambda _: viz.animate(ONE, width=0), ValueError, "width is 0; it must be above 0"),
    (lambda _: viz.compare(3.0, ONE), TypeError, "only a Value or a Tensor"),
    (lambda _: viz.compare(DOUBLED, Value(2.0, requires_grad=False)), ValueError, "no gradients to compare"),
    (lambda _: viz.compare(BOTH, ONE), TypeError, "one root"),
]


@pytest.mark.parametrize("case", GRAPHS, ids=[words for *_, words in GRAPHS])
def test_graph_that_cannot_be_shown_is_refused(case, tmp_path):
    refused(case, tmp_path)


# ------------------------------------------------------------------------------------------------ trainings
def movie(y=Y, model=None, **options):
    return viz.movie(MLP(2, [1]) if model is None else model, X, y, **options)


def filmed():
    film = movie(resolution=8)
    film.frame(1.0)
    return film


def boundary(outputs, labels, points=X):
    viz.plot_decision_boundary(MLP(2, [outputs]), points, labels, Figure().subplots())


TRAININGS = [
    (lambda _: movie(max_frames=1), ValueError, "max_frames is 1; a movie needs at least 2"),
    (lambda _: movie(resolution=1), ValueError, "resolution is 1"),
    (lambda _: movie(levels=(1, 0, -1)), ValueError, "levels are"),
    (lambda _: movie().page(), ValueError, "call its frame"),
    (lambda _: viz.movie(MLP(1, [1]), [], []), ValueError, "y holds nothing; a curve needs points"),
    (lambda _: viz.movie(MLP(1, [1]), [[0.0]], [np.inf]), ValueError, r"y holds nan or inf, first y\[0\] = inf"),
    (lambda _: viz.movie(MLP(1, [1]), [[0.0], [np.nan]], [1, 2]), ValueError, r"X holds nan .* first X\[1\] = nan"),
    (
        lambda _: movie([1, -1, np.nan, 1]),
        ValueError,
        r"y holds nan or inf, first y\[2\] = nan; every point needs a cl",
    ),
    (lambda _: boundary(1, [1, -np.inf, 1, -1]), ValueError, r"y holds nan or inf, first y\[1\] = -inf"),
    (
        lambda _: viz.draw_network(MLP(2, [1]), [[0, 1], [np.nan, 1]]),
        ValueError,
        r"X holds .* X\[1, 0\] = nan; neurons",
    ),
    (lambda _: viz.draw_network(MLP(1, [1]), [0, np.inf]), ValueError, r"first X\[1, 0\] = inf"),
    (lambda _: viz.watch(MLP(2, [1]), [[0, np.nan], [1, 1]], [-1, 1]), ValueError, r"first X\[0, 1\] = nan"),
    (lambda _: movie(model=lambda point: "high").frame(1.0), TypeError, "the model returned 'high'"),
    (lambda at: filmed().gif(at / "a.gif", seconds=-1.0), ValueError, "both must be above 0"),
    (lambda at: filmed().gif(at / "a.gif", width=float("nan")), ValueError, "both must be above 0"),
    (lambda at: filmed().gif(at / "a.png"), ValueError, r"a\.png is no name for a moving picture: let it end in \.gif"),
    (lambda _: viz.draw_network(lambda p: p, X), ValueError, "no columns of neurons for points of 2 .*draw_dot"),
    (lambda _: viz.draw_network(MLP(2, [1]), np.zeros((2, 2, 2))), ValueError, r"X has shape \(2, 2, 2\)"),
    (lambda _: boundary(1, [1], [[1, 2, 3]]), ValueError, r"X has shape \(1, 3\); a plane needs points of two numbers"),
    (lambda _: boundary(1, [], []), ValueError, r"shape \(0,\)"),
    (lambda _: boundary(1, [1]), ValueError, "X has 4 points and y 1 labels"),
    (lambda _: boundary(1, [1] * 4), ValueError, "y holds 1 kind of labels; a boundary is between two or more"),
    (lambda _: boundary(1, [0, 1], [[0, 0], [1, float("nan")]]), ValueError, "X holds nan or inf"),
    (lambda _: boundary(1, [0, 1, 2, 0]), ValueError, "the labels 0, 1, 2 and the model returns 1 score a point"),
    (lambda _: boundary(2, [0, 1, 2, 0]), ValueError, "the model returns 2 scores a point"),
    (lambda _: boundary(3, [0, 1, 3, 0]), ValueError, "labels are the indices of classes, from 0"),
    (lambda _: boundary(3, [0, 0.5, 1, 0]), ValueError, "the labels 0, 0.5, 1"),
    (lambda _: boundary(3, Y), ValueError, "the labels -1, 1"),
    (lambda _: viz.plot_loss([]), ValueError, "there are no losses to plot"),
    (lambda _: viz.plot_loss([2, 1], accuracy=[1]), ValueError, "2 losses and 1 accuracies"),
]


@pytest.mark.parametrize("case", TRAININGS, ids=[words for *_, words in TRAININGS])
def test_training_that_cannot_be_shown_is_refused(case, tmp_path):
    refused(case, tmp_path)


@pytest.mark.parametrize(
    ("loss", "labels", "error", "words"),
    [
        ("x", Y, TypeError, "one number, found str"),
        ([1.0], Y, TypeError, "one number, found list"),
        (1.0, [0, 1, 2, 1], ValueError, "y holds the labels 0, 1, 2 and the model returns 1 score"),
    ],
)
def test_frame_that_cannot_be_made_is_refused_and_not_kept(loss, labels, error, words):
    film = movie(labels)
    with pytest.raises(error, match=words):
        film.frame(loss)
    assert (len(film), film.losses) == (0, [])
