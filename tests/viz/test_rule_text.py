"""Rules as text: what a reader is told is the row that ran."""

import numpy as np
import pytest
from ops_list import OPS

from micrograd import Tensor, Value, concatenate, einsum
from micrograd.engine.rows import Row
from micrograd.scalars import ops
from micrograd.viz.playing.recompute import tree
from micrograd.viz.playing.textbook import TEXTBOOK
from micrograd.viz.recorder import Term
from micrograd.viz.rule_text import formula, rule_texts


def texts(node):
    return rule_texts(getattr(node, "_node", node))


def computed(text, node):
    """The text, evaluated as Python on the numbers that it names."""
    operands = [f"({n.data!r})" for n in node._prev]
    written = text.format(*operands, out=f"({node.data!r})")
    return float(eval(written, {**ops.TABLE, "g": 1.0, "abs": abs}))


@pytest.mark.parametrize("op", [op for op in OPS if ":number" not in op.name and ":zero" not in op.name], ids=str)
def test_text_of_a_rule_computes_the_derivative(op):
    for point in op.points(5):
        node = op.call(*[Value(x) for x in point])
        if not node._row:
            continue  # +a is a itself
        wanted = [part for _, part in node._row.send(node, 1.0)]
        for text, part in zip(texts(node), wanted, strict=True):
            assert computed(text.local, node) == pytest.approx(part, rel=1e-3, abs=1e-3)  # it shows four digits
            assert computed(text.part, node) == pytest.approx(part, rel=1e-3, abs=1e-3)


LEARNT = [op for op in OPS if op.call(*[Value(x) for x in op.points(1)[0]])._op in TEXTBOOK and ":zero" not in op.name]


@pytest.mark.parametrize("op", LEARNT, ids=str)
def test_textbook_says_the_derivative_that_the_rule_computes(op):
    for point in op.points(50):
        node = op.call(*[Value(x) for x in point])
        wanted = dict(node._row.send(node, 1.0))
        for operand, text in zip(node._prev, TEXTBOOK[node._op].split("; "), strict=True):
            if operand in wanted:  # a constant gets nothing
                assert computed(text, node) == pytest.approx(wanted[operand], rel=1e-9, abs=1e-12)


def test_textbook_has_only_ops_that_exist_and_no_form_that_the_rule_has_too():
    nodes = {node._op: node for op in LEARNT for node in [op.call(*[Value(x) for x in op.points(1)[0]])]}
    assert nodes.keys() == TEXTBOOK.keys()
    for op, node in nodes.items():
        assert TEXTBOOK[op].split("; ") != [text.local for text in texts(node)]


@pytest.mark.parametrize("name", sorted(ops.TABLE))
def test_every_row_of_the_table_has_a_text(name):
    row = ops.TABLE[name]
    node = row(*[Value(0.5)] * (1 if row.to_b is None else 2))
    assert all(text is not None and text.local and text.part for text in texts(node))


def test_text_changes_with_the_row():
    row = Row("*", lambda a, b: a * b, lambda g, a, b: g * b * b, lambda g, a, b: g * a)
    first, second = texts(row(Value(2.0), Value(3.0)))
    assert (first.local, second.local) == ("{1} * {1}", "{0}")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda a, b: a * b, "{1}"),
        (lambda a, b: a - b, "1"),
        (lambda a, b: a / b, "1 / {1}"),
        (lambda a, b: a**3, "3 * {0}**2"),
        (lambda a, b: a**2, "2 * {0}"),
        (lambda a, b: a**-1, "-{0}**-2"),
        (lambda a, b: a.exp(), "{out}"),
        (lambda a, b: a.tanh(), "sech({0}) * sech({0})"),
        (lambda a, b: a.relu(), "1 if {out} > 0 else 0"),
        (lambda a, b: a.maximum(b), "{0} > {1}"),
    ],
)
def test_text_reads_as_one_writes_it(value, text):
    assert texts(value(Value(2.0), Value(3.0)))[0].local == text


@pytest.fixture
def matrices():
    return Tensor(np.ones((4, 2)), requires_grad=True), Tensor(np.ones((2, 3)), requires_grad=True)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda a, b: a @ b, ["g @ {1}.T", "{0}.T @ g"]),
        (lambda a, b: a + b[:, 0], ["g", "sum_to(g, (2,))"]),
        (lambda a, b: a.sum(), ["broadcast_to(g, (4, 2))"]),
        (lambda a, b: a.T, ["g.T"]),
        (lambda a, b: a.reshape(8), ["reshape(g, (4, 2))"]),
        (lambda a, b: a[1], ["scatter(g)"]),
        (lambda a, b: a.softmax(axis=1), ["{out} * (g - (g * {out}).sum(axis=1, keepdims=True))"]),
        (lambda a, b: concatenate([a, a]), ["g[...]"] * 2),
        (lambda a, b: einsum("ij,jk->ik", a, b), [None, None]),
    ],
)
def test_rules_of_arrays_read_as_in_a_textbook_but_those_that_need_real_arrays(matrices, make, wanted):
    assert [text and text.part for text in texts(make(*matrices))] == wanted


def test_hand_written_closure_has_no_text_and_a_factor_of_1_and_a_term_of_0_are_left_out():
    a = Value(1.0)
    out = Value(2.0, (a,), "mine")
    out._backward = lambda: None
    assert texts(out) == [None]
    assert formula(1 * Term("a") + 0)[0] == formula(Term("a"))[0]


def test_function_of_arrays_is_recorded_under_its_own_name():
    """In what a page computes again."""
    x = Term("0", like=np.ones(2))
    assert [tree(f(x)) for f in (np.trunc, np.exp)] == [["trunc", "0"], ["exp", "0"]]
    assert [tree(f(x, x))[0] for f in (np.add, np.divide, np.power, np.matmul)] == ["+", "/", "power", "@"]
