"""Sixty wrong engines: each is wrong, a small expression exposes it, no two are alike, and answers are judged."""

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from micrograd import Value

pytestmark = pytest.mark.lessons

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
import wrong_engines as engines  # noqa: E402
from wrong_engines import LINES, RIGHT, TESTS, WRONG, alike, exposes, seen, size, smallest  # noqa: E402

over_all = pytest.mark.parametrize("number", range(60), ids=lambda number: f"{number}_line_{WRONG[number].line}")


@pytest.fixture
def said(monkeypatch, capsys):
    """What check() says of an answer."""
    monkeypatch.syspath_prepend(str(LESSONS))
    from check import check

    def of(name, *answer):
        check(name, answer)
        return capsys.readouterr().out.strip().removeprefix(f"{name}  ")

    return of


# ------------------------------------------------------------------------------------------------ the engines
def test_engines_are_sixty_and_each_changes_one_line_of_the_class():
    assert len(WRONG) == 60
    first = next(number for number, line in enumerate(LINES, 1) if line == "class Value:")
    last = next(number for number, line in enumerate(LINES, 1) if line.startswith("def as_value"))
    for wrong in WRONG:
        assert first < wrong.line < last
        assert wrong.wrong != wrong.right


def test_right_engine_says_what_the_package_says():
    for text, numbers in TESTS:
        assert seen(RIGHT, text, numbers) == seen(engines.engine(), text, numbers)
        assert alike(seen(RIGHT, text, numbers), seen(Value, text, numbers))


@over_all
def test_each_engine_is_wrong_on_a_small_expression_and_on_the_tests(number):
    text, numbers = smallest(WRONG[number])
    assert exposes(WRONG[number], text, numbers)
    assert size(text) <= 3
    assert any(exposes(WRONG[number], *test) for test in TESTS)


def test_engines_differ_in_what_they_say_of_the_tests():
    says = [[seen(engines.engine_of(wrong), *test) for test in TESTS] for wrong in WRONG]
    twins = [
        (i, j)
        for (i, one), (j, other) in combinations(enumerate(says), 2)
        if all(alike(a, b) for a, b in zip(one, other, strict=True))
    ]
    assert twins == []


def test_witness_that_is_found_is_the_smallest():
    """One operation never exposes a rule that forgets g, since 1 arrives there; and no tree exposes the last one."""
    forgets = [wrong for wrong in WRONG if "forgets g" in wrong.says]
    assert len(forgets) == 8
    assert {size(smallest(wrong)[0]) for wrong in forgets} == {2}
    begins = next(wrong for wrong in WRONG if "begins with its value" in wrong.says)
    assert smallest(begins) == ("a", {"a": 2.0})
    early = next(wrong for wrong in WRONG if "too early" in wrong.says)
    assert smallest(early)[0].startswith("c = ")
    assert size(smallest(early)[0]) == 3


def test_name_has_one_engine_however_it_is_written_and_names_spread_over_all():
    assert engines.number_of("Ada Lovelace") == engines.number_of(" ada  lovelace")
    assert engines.number_of(17) == engines.number_of(77) == 17
    assert len({engines.number_of(f"student {number}") for number in range(600)}) == 60


def test_key_names_the_engine_the_line_and_the_expression():
    command = [sys.executable, str(LESSONS / "wrong_engines.py"), "Blaise", "Kurt", "77"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith("Blaise: 29  line  73  a * (a**2)  at a=2\n      return Value(a**n")
    assert "Kurt: 32  line  73  a**2  at a=-2" in done.stdout
    assert "77: 17  line  64  a * b  at a=2, b=3" in done.stdout


def test_comparison_names_what_differs(capsys):
    engines.compare(11, "a * b", a=2, b=5)
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out if line.endswith("differs")] == ["d/da", "d/db", "d/da", "d/db"]
    engines.compare(next(n for n, wrong in enumerate(WRONG) if "one side" in wrong.says), "a.tanh()", a=-800)
    assert "OverflowError" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------ expressions
@pytest.mark.parametrize(
    ("text", "operations"), [("a", 0), ("-a", 1), ("a * -3", 1), ("a.exp()", 1), ("c = -a\nd = c**2\nd", 2)]
)
def test_size_is_the_number_of_operations_that_are_written(text, operations):
    assert size(text) == operations


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a +", "this is not Python"),
        ("", "end with the result"),
        ("c = a * b", "end with the result"),
        ("c += a; c", "a step gives a name to a result, as in 'c = a * b'; found 'c += a'"),
        ("a.__class__", "found 'a.__class__'"),
        ("__import__('os')", "found \"__import__('os')\""),
        ("a.exp(b)", "found 'a.exp(b)'"),
        ("a @ b", "found 'MatMult'"),
        ("'a' * 3", "found \"'a'\""),
        ("a ** b", "the exponent of ** is a plain number here"),
        ("a * z", "z has no number"),
        ("2 + 3", "no input is used in the result"),
        ("a / 0", "the right engine cannot compute this"),
        ("a * 9.0**999", "the right engine cannot compute this"),
    ],
)
def test_text_that_is_no_expression_is_named_and_never_run(text, said):
    with pytest.raises(engines.NoExpression) as caught:
        exposes(WRONG[0], text, {"a": 2.0, "b": 3.0})
    assert said in str(caught.value)


# ------------------------------------------------------------------------------------------------ answers
@over_all
def test_answers_about_each_engine_are_judged(number, said):
    wrong = WRONG[number]
    assert said("25.3", number, *smallest(wrong)) == "✓ right"
    assert said("25.4", number, wrong.line) == "✓ right"
    assert said("25.5", number, wrong.wrong) == "✓ right"
    assert "that is how the line reads in the right engine" in said("25.5", number, wrong.right)
    expected = "✓" if wrong.right in (engines.START, engines.KEEP) else "✗ both engines agree"
    assert said("25.3", number, "a", {"a": 2.0}).startswith(expected)
    others = sorted({other.line for other in WRONG} - {wrong.line})[number % 7 :: 7]  # every line with some engine
    assert all(said("25.4", number, line).startswith("✗ line ") for line in others)
