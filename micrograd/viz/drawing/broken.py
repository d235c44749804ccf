"""In a notebook, below an error that an op raised: the last cards that led to it, with their shapes or numbers."""

import os
import sys
from collections.abc import Iterator
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
    """After each cell of the notebook that runs this, if any, show what led to its error."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has imported it
    shell = ipython and ipython.get_ipython()
    if hasattr(shell, "kernel"):
        shell.events.register("post_run_cell", lambda result: _tell(result.error_in_exec, shell.user_ns, ipython))


def _tell(error: BaseException | None, variables: dict[str, Any], ipython: Any) -> None:
    if error is not None and (picture := led_to(error, variables)) is not None:
        words = f"What led to the error:\n{alt_text(picture)}"
        shown = f"<p>What led to the error:</p>{image(svg.write(picture), words)}"
        ipython.display.display(bundle(shown, words), raw=True)
    elif hint := meant(error):
        ipython.display.display(bundle(f"<p>{hint}</p>", hint), raw=True)


def meant(error: BaseException | None) -> str:
    """For a Value's attribute that does not exist: the name that is like it. (Python's own hint is for a terminal.)"""
    x = getattr(error, "obj", None)
    if not (isinstance(error, AttributeError) and isinstance(x, Node)):
        return ""
    close = get_close_matches(error.name or "", dir(x), 1)
    return f"Did you mean {close[0]}?" if close else ""


def led_to(error: BaseException, variables: dict[str, Any]) -> Picture | None:
    """The operands of the op that raised, and what they were computed from: the last few. None if no op did."""
    operands = _operands(error.__traceback__)
    if not operands:
        return None
    kept = operands[:MOST]
    for node in kept:  # it grows: operands before their operands
        kept += [n for n in dict.fromkeys(node._prev) if n not in kept][: MOST - len(kept)]
    whole = walk(operands)
    inside = [i for i, node in enumerate(whole.nodes) if node in kept]
    part, _ = whole.part(inside)
    left = len(whole.nodes) - len(inside)
    note = f"the last {len(inside)} of {len(whole.nodes):,} nodes" if left else ""
    names = find_names(part, calls_of(part), variables)
    return describe(part, [Group([k]) for k in range(len(inside))], note, names.by_id, names.owned)


def _operands(traceback: TracebackType | None) -> list[Node]:
    """The nodes that the innermost function of the package held when an op raised."""
    frames = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.startswith(PACKAGE + os.sep):
            frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    if not frames or not frames[-1].f_code.co_filename.startswith(OPS):
        return []
    found = ([*_nodes(frame.f_locals.values())] for frame in reversed(frames))
    return next(filter(None, found), [])


def _nodes(held: Any) -> Iterator[Node]:
    """The nodes among these, and in the lists and tuples among them, each once."""
    flat = [y for x in held for y in (x if type(x) in (list, tuple) else [x])]
    yield from dict.fromkeys(node_of(x) for x in flat if is_node(x) and hasattr(node_of(x), "_row"))  # complete
