"""`run`: what the playground shows of a text that somebody writes."""

import ast
import json
import time
from typing import Any

from micrograd import Value, grad
from micrograd.viz import player
from micrograd.viz.playing.player_page import Player

from .chains import held, release
from .text import FILE, Tail, compiled, executed, plain, running, told

MOST_NODES = 150  # a larger graph opens folded: it is drawn at each key
HINT = "No Value was made, so there is nothing to draw. Write, say: x = Value(3.0) and below it y = x**2."
ALONE = "No Value was computed from it yet. Write, say: y = x**2. (math.sin(x) is a plain number, x.sin() a Value.)"


def run(source: str) -> str:
    """What `drawn` answers to a text, as JSON."""
    return json.dumps(drawn(source)[0])


def drawn(source: str) -> tuple[dict[str, Any], Player | None]:
    """Run a text in names of its own, and draw its last expression, or else the Value that was computed last.

    Returns:
        An answer, and the player. The answer has `sliders` with the slope of the result by each; `root`, its name and
        number; `story`, for a player; `out`, what was printed; `error` with its line, or a `hint`; and in milliseconds
        how long it `ran` and `drew`.
    """
    printed, page = Tail(), None
    answer: dict[str, Any] = {"sliders": [], "error": None}
    began = time.perf_counter()
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        tree, answer["sliders"] = compiled(source)
        with running(printed), held():
            root, leaves = _root(tree, printed, names)
            answer["ran"] = 1e3 * (time.perf_counter() - began)
            answer["hint"] = HINT if root is None else "" if root._prev else ALONE
            if root is not None:
                _slopes(root, leaves, answer["sliders"])
                began = time.perf_counter()
                page = player(root, max_nodes=MOST_NODES, names=names)
                answer["story"] = page.story()
                answer["root"] = {"name": answer["story"]["root"][0], "data": plain(root)}
                answer["drew"] = 1e3 * (time.perf_counter() - began)
    except BaseException as error:  # also SystemExit and KeyboardInterrupt: the text is wrong, and the page goes on
        answer["error"] = told(error)
    answer["out"] = printed.text
    names.clear()
    release()
    return answer, page


def _root(tree: ast.Module, printed: Tail, names: dict[str, Any]) -> tuple[Value | None, dict[int, Value]]:
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    leaves = executed(tree, names)
    shown = eval(compile(last, FILE, "eval"), names) if last else None
    if shown is not None and not isinstance(shown, Value):
        printed.write(f"{shown!r}\n")
    return shown if isinstance(shown, Value) else _named_last(tree, names), leaves


def _named_last(tree: ast.Module, names: dict[str, Any]) -> Value | None:
    """What was computed comes before what was only written down."""
    stored = [
        names[node.id]
        for statement in reversed(tree.body)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and isinstance(names.get(node.id), Value)
    ]
    return next((value for value in stored if value._prev), stored[0] if stored else None)


def _slopes(root: Value, leaves: dict[int, Value], sliders: list[dict[str, Any]]) -> None:
    """To each slider the derivative of the root by its Value; none where the root does not depend on it."""
    known = {k: leaf for k, leaf in leaves.items() if isinstance(leaf, Value) and leaf.requires_grad}
    if known and root.requires_grad:
        for k, slope in zip(known, grad(root, list(known.values()), allow_unused=True), strict=True):
            sliders[k]["slope"] = plain(slope)
