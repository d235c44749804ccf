"""What the drills page asks of Python: a session after its answers, as the command line has it."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "site" / "live"))

from lab import drill

from micrograd.command.drill import LEVELS, Session, number_text


def test_page_has_the_graphs_and_the_words_of_the_command_line():
    for level in LEVELS:
        session, answers = Session(level, 4), []
        for k in range(4):
            guesses = [q.truth if k % 2 else (q.traps[-1].number if q.traps else 777) for q in session.graph.questions]
            answers.append([number_text(guess) for guess in guesses])
            judged = session.answer(guesses)
            found = json.loads(drill(level, 4, json.dumps(answers)))
            assert [(one["fault"], one["words"]) for one in found["done"][-1]["judged"]] == judged
            assert found["score"] == session.score()
            assert found["graph"]["questions"] == [q.name for q in session.graph.questions]


def test_text_that_is_no_number_has_its_place_and_a_missing_one_is_shown_the_answer():
    assert json.loads(drill(1, 1, '[["1", "2/3", "1"]]')) == {
        "error": "'2/3' is not a number: write one, such as -0.5, or nothing to be shown it",
        "place": 1,
    }
    found = json.loads(drill(1, 1, "[[]]"))
    assert [one["fault"] for one in found["done"][0]["judged"]] == ["none"] * 3


def test_answer_is_not_in_what_the_page_is_given():
    graph = json.loads(drill(3, 1, "[]"))["graph"]
    assert graph.keys() == {"number", "level", "aim", "given", "leaves", "steps", "questions"}
