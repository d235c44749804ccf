"""The table of lessons, from which their heads, feet and links are written."""

from proofread_course import course


def test_lesson_that_moves_takes_its_number_its_neighbours_and_its_needs_with_it(monkeypatch):
    zeroth, first, second, third, *rest = course.LESSONS
    monkeypatch.setattr(course, "LESSONS", [zeroth, first, third, second, *rest])
    assert third.file == "02_the_chain_rule.ipynb"
    assert zeroth.foot() == "Next: [1. A derivative is a nudge](01_a_derivative_is_a_nudge.ipynb)"
    assert first.foot().partition(" · ")[2] == "Next: [2. The chain rule, by hand](02_the_chain_rule.ipynb)"
    assert course.with_foot(second, "words\n\nBefore: [x](y) · Next: [z](w)").startswith(
        "words\n\nBefore: [2. The chain"
    )
    assert third.head() == "# 2. The chain rule, by hand\n\n*30 minutes. You need: lessons 1 and 3.*"
    assert course.with_head(third, "# 3. Old\n\n*1 minutes. You need: x.*\n\nmore") == f"{third.head()}\n\nmore"
