"""In a notebook, the last cards that led to the error of an op, with their shapes or numbers, below the error."""

import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from types import TracebackType
from typing import Any

from ...engine.value import Node
from ...scalars.kinds import is_node, node_of
from ..page import bundle, image
from . import svg
from .alt_text import alt_text
from .data import Group, Picture, describe, walk
from .fold import calls_of
from .names import find_names

MOST = 8  # cards
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
OPS = tuple(os.path.join(PACKAGE, room) for room in ("engine", "scalars", "tensor", "autograd", "functional", "nn"))


def listen() -> None:
    """In a notebook, show the cards that led to an error after each cell that raised one."""
    ipython: Any = sys.modules.get("IPython")  # every notebook has imported IPython
    shell = ipython and ipython.get_ipython()
    if hasattr(shell, "kernel"):
        shell.events.register("post_run_cell", lambda result: _tell(result.error_in_exec, shell.user_ns, ipython))


def _tell(error: BaseException | None, variables: dict[str, Any], ipython: Any) -> None:
    picture = None if error is None else led_to(error, variables)
    if picture is not None:
        words = f"What led to the error:\n{alt_text(picture)}"
        markup = f"<p>What led to the error:</p>{image(svg.write(picture), words)}"
        ipython.display.display(bundle(markup, words), raw=True)
    elif hint := meant(error):
        ipython.display.display(bundle(f"<p>{hint}</p>", hint), raw=True)


def meant(error: BaseException | None) -> str:
    """For an attribute that a Value does not have, a similar name. (Python shows its own hint only in a terminal.)"""
    if not (isinstance(error, AttributeError) and isinstance(error.obj, Node)):
        return ""
    similar = get_close_matches(error.name or "", dir(error.obj), 1)
    return f"Did you mean {similar[0]}?" if similar else ""


def led_to(error: BaseException, variables: dict[str, Any]) -> Picture | None:
    """The operands of the op that raised, and the last nodes from which they were computed; None if no op raised."""
    operands = _operands(error.__traceback__)
    if not operands:
        return None
    kept = operands[:MOST]
    for node in kept:  # `kept` grows in this loop, so nodes come before their own operands
        kept += [n for n in dict.fromkeys(node._prev) if n not in kept][: MOST - len(kept)]
    graph = walk(operands)
    members = [i for i, node in enumerate(graph.nodes) if node in kept]
    last, _ = graph.part(members)
    note = f"the last {len(members)} of {len(graph.nodes):,} nodes" if len(members) < len(graph.nodes) else ""
    names = find_names(last, calls_of(last), variables)
    return describe(last, [Group([k]) for k in range(len(members))], note, names.by_id, names.owned)


def _operands(traceback: TracebackType | None) -> list[Node]:
    """The nodes among the variables of the package's innermost function when an op raised."""
    frames = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.startswith(PACKAGE + os.sep):
            frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    if not frames or not frames[-1].f_code.co_filename.startswith(OPS):
        return []
    nodes_of_frames = (_nodes(frame.f_locals.values()) for frame in reversed(frames))
    return next(filter(None, nodes_of_frames), [])


def _nodes(variables: Iterable[Any]) -> list[Node]:
    """The nodes among the variables, and in the lists and tuples among the variables, each once."""
    flat = [y for x in variables for y in (x if type(x) in (list, tuple) else [x])]
    nodes = dict.fromkeys(node_of(x) for x in flat if is_node(x))
    return [node for node in nodes if hasattr(node, "_row")]  # a node without a row is not complete yet
