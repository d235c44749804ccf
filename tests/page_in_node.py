"""A player's page in Node: its own script over a document of a few hundred lines, on a clock that the test moves.

What a step shows, says and computes needs no browser; what only a browser shows is tested in tests/browser.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

SERVE = Path(__file__).parent / "node" / "serve.js"


class NodePage:
    """One process of Node for many pages: `open` puts another in the place of the one before."""

    def __init__(self) -> None:
        if not shutil.which("node"):
            pytest.skip("no Node: apt install nodejs")
        self._node = subprocess.Popen(
            ["node", str(SERVE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def _ask(self, **asked: Any) -> Any:
        assert self._node.stdin, "a pipe"
        assert self._node.stdout, "a pipe"
        self._node.stdin.write(json.dumps(asked) + "\n")
        self._node.stdin.flush()
        said = json.loads(self._node.stdout.readline())
        if "failed" in said:
            raise AssertionError(said["failed"])
        return said["value"]

    def close(self) -> None:
        self._node.communicate()

    def open(self, html: str, place: str = "", *, calm: bool = True) -> "NodePage":
        """A page with this fragment in its address; `calm` if its user asked for no motion."""
        self._ask(open=html, hash=f"#{place}" if place else "", calm=calm)
        return self

    def load(self, script: str) -> "NodePage":
        """A script by itself, whose names `run` may use."""
        self._ask(load=script)
        return self

    def run(self, script: str, *given: Any) -> Any:
        """The script's `return`, as plain data; see HELP in serve.js for what it may call."""
        return self._ask(run=script, given=given)

    def get(self, expression: str) -> Any:
        return self.run(f"return {expression}")

    def at_each_step(self, expression: str, button: str = "next") -> list[Any]:
        """The expression at each step, from first to last or, by the button "back", from here to the first."""
        return self.run(f"return atEachStep(() => {expression}, '{button}')")

    def press(self, *keys: str) -> "NodePage":
        """One after another, named as in JavaScript's `event.key`."""
        self.run("for (const key of arguments) press(key)", *keys)
        return self

    def click(self, selector: str) -> "NodePage":
        self.run("query(arguments[0]).click()", selector)
        return self

    def choose(self, name: str) -> None:
        """Click the card with this name."""
        self.run("pressed(cardOf(arguments[0]))", name)

    def focus(self, name: str) -> "NodePage":
        self.run("cardOf(arguments[0]).focus()", name)
        return self

    def drag(self, name: str, by: float) -> None:
        """Drag the card with this name to the right, by so many pixels."""
        self.run(
            "const [name, by] = arguments, card = cardOf(name); pointer('pointerdown', card);"
            "pointer('pointermove', card, by); passTime(40); pointer('pointerup', card)",
            name,
            by,
        )

    def pass_time(self, milliseconds: float) -> None:
        self.run("passTime(arguments[0])", milliseconds)

    def spoken(self, name: str) -> str:
        """What a screen reader says of the card with this name."""
        return self.run("return cardOf(arguments[0]).getAttribute('aria-label')", name)

    def text(self, selector: str) -> str:
        return self.run("return query(arguments[0]).textContent.trim()", selector)

    def texts(self, selector: str) -> list[str]:
        return self.run("return all(arguments[0]).map(e => e.textContent.trim())", selector)

    def count(self, selector: str) -> int:
        return self.run("return all(arguments[0]).length", selector)

    @property
    def step(self) -> int:
        return int(self.get("query('#scrub').value"))
