"""What the pages show of the package and its settings: `python docs/refresh.py` writes it again; tests compare.

The drawings of a neuron; the table of line budgets, whose source is `tests/test_layering.py`; and the site's address,
whose source is `Site` in pyproject.toml.
"""

import re
import sys
import tomllib
from pathlib import Path

from micrograd import Value, draw_dot, tanh
from micrograd.viz import animate

ROOT = Path(__file__).parent.parent
LIVE = re.compile(r"https?://[^\s()]*/(?=live/\w+\.html)")


def shown() -> dict[Path, str]:
    """The text of each file."""
    numbers = {"x1": 2, "w1": -3, "x2": 0, "w2": 1, "b": 6.88}
    x1, w1, x2, w2, b = (Value(x, label=name) for name, x in numbers.items())
    out = tanh(x1 * w1 + x2 * w2 + b)
    moving = {"animation": animate(out).svg, "animation_phone": animate(out, width=380).svg}
    out.backward()
    docs, page = ROOT / "docs", ROOT / "CONTRIBUTING.md"
    table = re.sub(r"(?<=\n\|---\|---\|\n)(\|.*\n)+", budgets(), page.read_text(encoding="utf-8"))
    drawings = {docs / f"{name}.svg": svg for name, svg in (moving | {"neuron": draw_dot(out).svg()}).items()}
    return drawings | {page: table} | addressed()


def addressed() -> dict[Path, str]:
    """The pages that link to a live page of the site, with its address."""
    site = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Site"]
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
    return {path: LIVE.sub(site, text) for path, text in texts.items() if LIVE.search(text)}


def budgets() -> str:
    """A row for each folder."""
    sys.path.append(str(ROOT / "tests"))
    from test_layering import ROOMS

    return "".join(f"| `{room.replace('.', '/')}` | {budget:,} |\n" for room, (_, budget) in ROOMS.items())


if __name__ == "__main__":
    for path, text in shown().items():
        path.write_text(text, encoding="utf-8")
