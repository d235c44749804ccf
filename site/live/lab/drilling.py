"""`drill`: the graph that the drills page asks for, and what was right so far, by the rules of the package."""

import json
from typing import Any

from micrograd.command.drill import FAULTS, LEVELS, TOLD, Session, number_text, read, written


def drill(level: int, seed: int, answers: str) -> str:
    """JSON of a session after these answers: a list of texts for each graph, as JSON; or of the `error` of the last."""
    return json.dumps(drilled(level, seed, json.loads(answers)))


def drilled(level: int, seed: int, answers: list[list[str]]) -> dict[str, Any]:
    """The session's `score`, its `graph`, and of each graph that was answered how it was judged (`done`).

    What is no number is an `error`, with the `place` of the question among those of the last graph.
    """
    session = Session(level, seed)
    done = []
    for texts in answers:
        graph, guesses = session.graph, []
        for place, _ in enumerate(graph.questions):
            try:
                guesses.append(read(texts[place] if place < len(texts) else ""))
            except ValueError as error:
                return {"error": str(error), "place": place}
        judged = session.answer(guesses)
        done.append(
            shown(level, session, graph, len(done) + 1)
            | {
                "judged": [
                    {
                        "name": q.name,
                        "guess": None if guess is None else number_text(guess),
                        "truth": number_text(q.truth),
                    }
                    | {"fault": fault, "words": words}
                    for q, guess, (fault, words) in zip(graph.questions, guesses, judged, strict=True)
                ]
            }
        )
    return {
        "score": session.score(),
        "right": sum(not any(faults) for faults in session.done),
        "graph": shown(level, session, session.graph, len(done) + 1),
        "done": done,
    }


def shown(level: int, session: Session, graph: Any, number: int) -> dict[str, Any]:
    """What the page draws of a graph, and asks about it."""
    return {
        "number": number,
        "level": LEVELS[session.level],
        "aim": FAULTS.get(graph.aim, ""),
        "given": TOLD if level > 3 else "",
        "leaves": {name: number_text(value.data) for name, value in graph.leaves.items()},
        "steps": [
            {"name": name, "op": op, "operands": operands, "text": written(op, operands)}
            for name, op, operands in graph.steps
        ],
        "questions": [q.name for q in graph.questions],
    }
