"""One picture of each kind, as it was when somebody last looked at it. After a change that is meant, look again, then

python tests/viz/test_golden.py

writes them anew. Style sheets and bitmaps are left out: a change of a colour changes no file here.
"""

import json
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # where this is run as a script
from drawn_graphs import arrays, crowd, expression, neuron, turning

from micrograd import Value, draw_dot, viz
from micrograd.nn import MLP

GOLDEN = Path(__file__).parent / "golden"


def odd():
    """A rule by hand, a hook, a node that is used often, a dead branch, and numbers that are not finite."""
    a, dead = Value(-1234.5, label="a", requires_grad=False), Value(float("inf"), label="∂ <b>")
    s = a * dead + dead
    s.register_hook(lambda g: g + 1)
    square = Value(s.data * s.data, (s, s), "square")
    square._backward = lambda: None
    return square + sum([dead * 1e-9] * 6) + dead.relu() * 0


def shared():
    """Three roots over one leaf, whose gradient is a node, and which is named by a number; a label that is None."""
    a, b = Value(3.0), Value(1e300)
    a.label, b.label = 7, None
    (a * a * a).backward(create_graph=True)
    return [Value(1.0, (a, b), 'a|b{"<\\>'), a * 2.0, a]


def passed(out):
    out.backward()
    return out


def small(activation="tanh"):
    random.seed(1)
    return MLP(2, [3, 2, 1], activation=activation)


def folded():
    return small()([Value(0.5, label="x"), Value(-1.0, label="y")])


PICTURES = {
    "expression.svg": lambda: draw_dot(expression()).svg(),
    "expression.dot": lambda: draw_dot(expression()).source,
    "odd.dot": lambda: draw_dot(odd(), rankdir="TB").source,
    "shared.dot": lambda: draw_dot(shared(), names={}).source,
    "arrays.dot": lambda: draw_dot(arrays()).source,
    "downward.svg": lambda: draw_dot(passed(neuron()), rankdir="TB").svg(),
    "odd.svg": lambda: draw_dot(odd()).svg(),
    "crowd.svg": lambda: draw_dot(crowd()).svg(),
    "folded.svg": lambda: draw_dot(folded(), max_nodes=5).svg(),
    "arrays.svg": lambda: draw_dot(arrays()).svg(),
    "loop.svg": lambda: viz.animate(neuron()).svg,
    "network.svg": lambda: viz.draw_network(small(), np.random.default_rng(0).normal(size=(9, 2))).svg,
    "movie.svg": lambda: turning(3).still(1),
    "odd.json": lambda: viz.player(odd(), names={}).story(),
    "arrays.json": lambda: viz.player(arrays(), names={}).story(),
    "folded.json": lambda: viz.player(folded(), max_nodes=5, names={}).story(),
}


def written(made):
    """A picture, or a page's data, as text of short lines: numbers to six digits, which no machine changes."""
    text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False, separators=(",", ": "))
    text = re.sub(r"<style>.*?</style>|data:image/png;base64,[^\"]*", "…", text, flags=re.DOTALL)
    text = re.sub(r"-?\d+\.\d{6,}(e-?\d+)?", lambda number: f"{float(number[0]):.6g}", text)
    return text.replace("><", ">\n<").replace("},{", "},\n{").replace('],"', '],\n"').rstrip() + "\n"


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_the_one_that_was_looked_at(name):
    found, wanted = written(PICTURES[name]()), (GOLDEN / name).read_text(encoding="utf-8")
    assert found.splitlines() == wanted.splitlines(), f"if that is meant, look at it, then: python {__file__}"


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, make in PICTURES.items():
        (GOLDEN / name).write_text(written(make()), encoding="utf-8")
