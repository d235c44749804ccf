"""What the pages show of the package and its settings: `python docs/refresh.py` writes it again; tests compare.

The drawings of a neuron, and those of lineage.md, which its own examples make; the tables of budgets and of floors,
whose source is `tests/test_layering.py`; and, once pyproject.toml says where the site is published, links to its live
pages.
"""

import argparse
import doctest
import io
import random
import re
import sys
import tomllib
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from micrograd import Value, draw_dot, tanh
from micrograd.nn import MLP
from micrograd.viz import animate, draw_layer

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))
TABLE = re.compile(r"(of code, (?:at most|about) \|\n\|[-|]+\|\n)(\|.*\n)+")  # its head stays
DOOR = re.compile(r"(?<=^## Try it\n\n)(\[Run the example\].*?\n\n)?", re.DOTALL | re.MULTILINE)


def shown() -> dict[Path, str]:
    """The text of each file."""
    numbers = {"x1": 2, "w1": -3, "x2": 0, "w2": 1, "b": 6.88}
    x1, w1, x2, w2, b = (Value(x, label=name) for name, x in numbers.items())
    out = tanh(x1 * w1 + x2 * w2 + b)
    moving = {"animation": animate(out).svg, "animation_phone": animate(out, width=380).svg}
    out.backward()
    still = {"neuron": draw_dot(out).svg(), "layer": layer()}
    docs, page = ROOT / "docs", ROOT / "CONTRIBUTING.md"
    table = TABLE.sub(lambda found: found[1] + budgets(), page.read_text(encoding="utf-8"))
    drawings = {docs / f"{name}.svg": svg for name, svg in (moving | still).items()}
    site = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {}).get("Site")
    readme = ROOT / "README.md"
    text = DOOR.sub(door(site) if site else "", readme.read_text(encoding="utf-8"), count=1)
    pages = {page: table, readme: TABLE.sub(lambda found: found[1] + floors(), text)}
    return drawings | lineage() | pages | {ROOT / "README.zh-CN.md": in_chinese()}


def lineage() -> dict[Path, str]:
    """The drawings of lineage.md: what its examples call `picture`, where a section shows it."""
    text = (ROOT / "docs" / "lineage.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    found = {}
    for part in re.split(r"(?=^!\[)", text, flags=re.MULTILINE):
        if shown := re.match(r"!\[.*\]\((lineage_\d\.svg)\)", part):
            found[ROOT / "docs" / shown[1]] = names["picture"].svg()
        for example in doctest.DocTestParser().get_examples(part):
            with redirect_stdout(io.StringIO()):
                exec(example.source, names)
    return found


def layer() -> str:
    """The second layer of a network at one point, as tables."""
    random.seed(1337)
    model = MLP(2, [16, 16, 1])
    hidden = model.layers[0]([Value(0.4), Value(-0.7)])
    ((model.layers[2](model.layers[1](hidden)) - 1) ** 2).backward()
    return draw_layer(model.layers[1], hidden).svg


def door(site: str) -> str:
    """What the README says of the site, once it has an address."""
    playground = f"{site}live/playground.html#example=The%20graph%20of%20the%20README"
    return f"[Run the example]({playground}) or\n[train a network]({site}live/training.html) in your browser.\n\n"


def budgets() -> str:
    """A row for each folder, and one for its JavaScript."""
    from test_layering import JAVASCRIPT, ROOMS

    rows = {f"`{room}`": budget for room, (_, budget) in ROOMS.items()}
    rows |= {f"JavaScript of `{room}`": budget for room, budget in JAVASCRIPT.items()}
    return "".join(f"| {room.replace('.', '/')} | {budget:,} |\n" for room, budget in rows.items())


def floors() -> str:
    """A row for each floor: what it adds, its lines of code, and those of it and the floors below."""
    from test_layering import FLOORS, ONE_PAGE, lines_of

    page = "numbers that remember, `backward()`, neurons: the whole idea"
    rows, total = [f"| [one page](demos/one_page.py) | {page} | | {ONE_PAGE} |\n"], 0
    for name, door, rooms, adds in FLOORS:
        if lines := lines_of(rooms):
            total += lines
            rows.append(f"| [{name}]({door}) | {adds} | {about(lines)} | {about(total)} |\n")
    return "".join(rows)


def in_chinese() -> str:
    """The README in Chinese, with the numbers of the table of floors; a row is known by its link."""
    text = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    numbers = dict(re.findall(r"\]\(([^)]+)\) \|[^|]*(\|[\d, ]*\|[\d, ]*\|)$", floors(), re.MULTILINE))
    row = re.compile(r"(\]\(([^)]+)\) \|[^|]*)\|[\d, ]*\|[\d, ]*\|$", re.MULTILINE)
    return row.sub(lambda found: found[1] + numbers[found[2]], text)


def about(lines: int) -> str:
    """A number of lines, rounded to two digits, so that the table stays right while a line comes or goes."""
    return f"{float(f'{lines:.1e}'):,.0f}"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path, text in shown().items():
        path.write_text(text, encoding="utf-8")
