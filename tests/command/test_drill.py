"""Drills: every answer is the engine's, every known mistake is recognized, and the next graph asks for it."""

import io
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micrograd.command.drill import FAULTS, LEVELS, Graph, Session, drill, near, number_text, read, shown, written
from micrograd.command.expression import build
from micrograd.command.main import main

levels, seeds = st.sampled_from([*LEVELS]), st.integers(0, 10**6)


def nudged(graph, name, by=1e-6):
    """The value of each step, where a leaf or a step is nudged; each step is computed from the text that is shown."""
    values = {leaf: value.data for leaf, value in graph.leaves.items()}
    values[name] = values.get(name, 0) + by if name in graph.leaves else by
    for step, op, operands in graph.steps:
        extra = values.get(step, 0.0)
        values[step] = extra + build(written(op, operands), {operand: values[operand] for operand in operands}).data
    return values


@given(levels, seeds)
def test_answers_are_what_a_nudge_of_the_shown_steps_gives(level, seed):
    graph = Graph(level, seed, 1)
    for q in graph.questions:
        if q.quantity == "value":
            assert nudged(graph, "out", 0.0)["out"] == pytest.approx(q.truth)
        elif q.quantity == "gradient":
            up, down = (nudged(graph, q.by, h)["out"] for h in (1e-5, -1e-5))
            assert (up - down) / 2e-5 == pytest.approx(q.truth, rel=1e-4, abs=1e-6)
        else:
            step = next(step for step in graph.steps if step[0] == q.of)
            at = {name: graph.values[name].data for name in step[2]}
            up, down = (build(written(*step[1:]), at | {q.by: at[q.by] + h}).data for h in (1e-5, -1e-5))
            assert (up - down) / 2e-5 == pytest.approx(q.truth, rel=1e-4, abs=1e-6)


@given(levels, seeds)
def test_graph_can_be_done_by_hand_and_is_the_same_for_all(level, seed):
    graph, again = Graph(level, seed, 3), Graph(level, seed, 3)
    assert [(q.name, q.truth) for q in graph.questions] == [(q.name, q.truth) for q in again.questions]
    assert {q.quantity for q in graph.questions} == {"value", "local"} | ({"gradient"} if level > 1 else set())
    assert all(abs(q.truth) <= 60 for q in graph.questions)
    if level < 4:
        assert all(q.truth == round(q.truth) for q in graph.questions)


@given(levels, seeds)
def test_each_mistake_is_told_from_the_truth_and_the_next_graph_asks_for_it(level, seed):
    for k, q in enumerate(Graph(level, seed, 1).questions):
        assert q.judge(q.truth) == ("", "")
        for trap in q.traps:
            assert q.judge(trap.number) == (trap.fault, trap.words)
            session = Session(level, seed)
            truths = [other.truth for other in session.graph.questions]
            session.answer([*truths[:k], trap.number, *truths[k + 1 :]])
            assert session.graph.aim == trap.fault
            assert trap.fault in {other.fault for q in session.graph.questions for other in q.traps}
            assert FAULTS[trap.fault] in shown(session)


def gradient_of_a(level, steps):
    """The leaves of the first graph of a level with these steps, and the question of its gradient by a."""
    for seed in range(10_000):
        graph = Graph(level, seed, 1)
        asked = [q for q in graph.questions if q.quantity == "gradient" and q.by == "a"]
        if asked and steps == " ".join(f"{name}={written(op, operands)}" for name, op, operands in graph.steps):
            return *(graph.leaves[name].data for name in "ab"), graph, asked[0]
    raise LookupError(steps)


@pytest.mark.parametrize("x", [-0.0, 0.0 * -16, -1e-9])
def test_zero_is_told_without_a_sign(x):
    assert number_text(x) == "0"


def test_path_that_is_forgotten_is_told():
    a, b, _, q = gradient_of_a(3, "u=a * b out=u * a")
    assert q.truth == 2 * a * b
    fault, words = q.judge(a * b)
    assert fault == "path"
    sent = number_text(a * b)
    assert words == f"2 paths lead from a to out: they send {sent} and {sent}, and these add up"


def test_chain_that_is_not_multiplied_is_told():
    a, b, graph, q = gradient_of_a(4, "u=a * b out=tanh(u)")
    slope = 1 - math.tanh(a * b) ** 2
    assert q.judge(b)[0] == q.judge(slope)[0] == q.judge(b + slope)[0] == "chain"
    assert q.judge(b)[1].startswith("that is the local derivative alone")
    assert q.judge(-b * slope) == ("sign", "the sign is the other one")
    assert next(q for q in graph.questions if q.quantity == "local").judge(1 - (a * b) ** 2)[0] == "tanh"


def test_unknown_mistake_and_no_answer_are_told_how_it_is_worked_out():
    *_, q = gradient_of_a(3, "u=a * b out=u * a")
    assert q.judge(1000.5) == ("other", q.worked)
    assert q.judge(None) == ("none", q.worked)
    session = Session(2, 1)
    session.answer([None] * len(session.graph.questions))
    assert session.graph.aim == ""


def test_score_has_what_is_needed_to_check_it():
    session = Session(1, 7)
    session.answer([q.truth for q in session.graph.questions])
    session.answer([-q.truth if q.quantity == "value" else q.truth for q in session.graph.questions])
    assert session.score() == "Level 1, seed 7: 1 of 2 graphs right, 5 of 6 numbers. Mistakes: sign 1."


@pytest.mark.parametrize(
    ("text", "number"), [("", None), ("  ", None), ("-3", -3), ("\u22122,5", -2.5), ("+1e-1", 0.1), ("0", 0)]
)
def test_answer_is_read_as_people_write_numbers(text, number):
    assert read(text) == number


@pytest.mark.parametrize("text", ["six", "1/2", "nan", "inf", "2 3", "--1"])
def test_answer_that_is_no_number_is_told_what_to_write(text):
    with pytest.raises(ValueError, match="is not a number: write one"):
        read(text)


@given(st.floats(-60, 60))
def test_number_in_text_is_read_as_the_same_answer(x):
    assert near(read(number_text(x)), x)


# ------------------------------------------------------------------------------------------------ at a terminal
def typed(monkeypatch, *lines):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_graph_at_the_terminal(monkeypatch, capsys):
    truths = [q.truth for q in Graph(2, 3, 1).questions]
    typed(monkeypatch, "what", number_text(-truths[0]), *map(number_text, truths[1:]))
    assert drill(["2", "--seed", "3", "--graphs", "1"], "micrograd") == 0
    out = capsys.readouterr().out
    assert "'what' is not a number" in out
    assert f"{number_text(truths[0])}: the sign is the other one" in out
    assert out.count("right") == len(truths) - 1 + 1  # and in the score
    assert out.endswith(
        f"Level 2, seed 3: 0 of 1 graphs right, {len(truths) - 1} of {len(truths)} numbers. Mistakes: sign 1.\n"
    )


@pytest.mark.parametrize("end", [(), ("q",), ("1", "QUIT")])
def test_drill_ends_with_the_input_or_at_q_and_tells_the_score(monkeypatch, capsys, end):
    typed(monkeypatch, *end)
    assert drill(["4", "--seed", "1"], "micrograd") == 0
    out = capsys.readouterr().out
    assert "tanh(0.5) = 0.4621" in out
    assert out.endswith("Level 4, seed 1: 0 of 0 graphs right, 0 of 0 numbers.\n")


def test_drill_is_a_word_of_the_command_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["drill", "9"])
    assert "drill: error: argument level: invalid choice: 9" in capsys.readouterr().err
