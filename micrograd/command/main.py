"""`python -m micrograd`: compute an expression with its gradients, drill, run a demo, print the page, or grade."""

import argparse
import ast
import os
import re
import runpy
import shutil
import sys
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from textwrap import fill

from .. import viz
from ..engine.value import Value
from ..viz.drawing.data import walk
from ..viz.text import clean
from .drill import drill
from .expression import CONSTANTS, FUNCTIONS, assignments, build
from .report import pointed, table

PROGRAM = "python -m micrograd"
USAGE = """\
%(prog)s "EXPRESSION" [NAME=NUMBER ...] [-o FILE] [--open]
       %(prog)s demo [NAME [ARGUMENT ...]]
       %(prog)s drill [LEVEL] [--seed SEED] [--graphs N]
       %(prog)s page
       %(prog)s grade FOLDER
       %(prog)s"""
DESCRIPTION = """\
Compute an expression, and the gradient of its value with respect to every number in it.

  %(prog)s "tanh(x1*w1 + x2*w2 + b)" x1=2 w1=-3 x2=0 w2=1 b=6.88
  %(prog)s "x**2 + sin(pi*x)" x=1/2 -o graph.html --open
  %(prog)s demo moons

`drill` asks for the numbers of small graphs, and says what is wrong with a wrong one.
`page` prints micrograd on one page of code. `grade` writes the points of a folder of
notebooks of the course as a table. Without a word, a neuron is shown."""
EPILOG = f"""\
in an expression:
  + - * / // % ** and brackets; names, for the numbers that follow; {", ".join(filter(str.isascii, CONSTANTS))}
{fill(", ".join(sorted(FUNCTIONS)), 78, initial_indent="  ", subsequent_indent="  ")}
  Keep it in quotes: the shell has its own ideas about * and ( ).

in the table:
  gradient            how fast the result changes when this number does
  local derivatives   how fast the number on the left changes with each of its operands
  Each use of a number sends it (gradient on the left) * (local derivative); what is sent is added up.

The exit code is 0, 2 if the command line is not understood, or 1 if it could not be carried out."""
FORMATS = (".html", ".svg", ".dot", ".png")
NEURON = ("tanh(x1*w1 + x2*w2 + b)", "x1=2", "w1=-3", "x2=0", "w2=1", "b=6.88", "--open")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    commands = {"demo": demo, "drill": partial(drill, program=PROGRAM), "grade": grade, "page": page}
    try:
        if words and words[0] in commands:
            code = commands[words[0]](words[1:])
        else:
            code = calculate(words or NEURON)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


# ------------------------------------------------------------------------------------------------ an expression
def calculate(words: Sequence[str]) -> int:
    """Print the table of an expression, then handle `-o` and `--open`."""
    options = parse(words)
    try:
        numbers = assignments(options.numbers)
        out = build(options.expression, numbers)
    except SyntaxError as error:
        return _point_at(error)
    if spare := numbers.keys() - {node.label for node in walk(out).nodes}:
        print(f"note: the expression does not use {', '.join(sorted(spare))}", file=sys.stderr)
    if out.requires_grad:
        out.backward()
    print(_result(options.expression.strip(), out))
    try:
        for path in options.output:
            picture = viz.player(out) if path.suffix.lower() == ".html" else viz.draw_dot(out)
            picture.save(path)
            print(f"wrote {path}")
        return _show(out, options.output) if options.open else 0
    except (ImportError, OSError, RuntimeError) as error:
        return _fail(str(error), 1)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line of an expression."""
    parser = argparse.ArgumentParser(
        PROGRAM, USAGE, DESCRIPTION, EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("expression", metavar="EXPRESSION", help="what to compute, as Python writes it")
    parser.add_argument("numbers", nargs="*", metavar="NAME=NUMBER", help="one for each name: x=2 y=-1e-3 z=pi/2")
    drawing = ".html: a player that steps through it; .svg .dot .png: a drawing (.png needs the package resvg-py)"
    parser.add_argument("-o", "--output", metavar="FILE", type=_writable, action="append", default=[], help=drawing)
    parser.add_argument("--open", action="store_true", help="show the pictures written; the player, if none was")
    return parser.parse_intermixed_args([_shielded(word) for word in words])


def _shielded(word: str) -> str:
    """Prefix an expression that begins with a minus sign by a space, so that argparse sees no option."""
    is_option = re.fullmatch(r"-[ho]|-o.*\.\w+|--|--[a-z]{2,}(=.*)?", word)
    return f" {word}" if word.startswith("-") and not is_option else word


def _writable(name: str) -> Path:
    if not name.lower().endswith(FORMATS):
        raise argparse.ArgumentTypeError(f"{name!r} must end in one of {', '.join(FORMATS)}")
    return Path(name)


def _result(expression: str, out: Value) -> str:
    """The value and the table, with typographic signs on a terminal that has them, and in ASCII in a pipe."""
    value = f"{clean(expression)} = {out.data!r}"
    if not out.requires_grad:
        return value
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    typographic = terminal and (sys.stdout.encoding or "").lower().startswith("utf")
    return f"{value}\n\n{table(out, typographic=typographic, width=width)}"


def _show(out: Value, paths: Sequence[Path]) -> int:
    pictures = [path for path in paths if path.suffix.lower() != ".dot"]
    if not pictures:
        viz.player(out).open()
    opened = [webbrowser.open(path.resolve().as_uri()) for path in pictures]
    return 0 if all(opened) else _fail("no program was found that shows it: open the file yourself", 1)


# ------------------------------------------------------------------------------------------------ a demo
PACKAGE = Path(__file__).parent.parent
FOLDERS = (PACKAGE / "demos", PACKAGE.parent / "demos")  # in an installed package (see setup.py), in a checkout
PAGE = "one_page.py"


def demo(words: Sequence[str]) -> int:
    """Run the demo that the first word names, with the other words as its arguments; without words, list the demos."""
    paths = sorted(_demo_file(PAGE).parent.glob("*.py"))
    scripts = {path.stem: path for path in paths if path.stem.isidentifier() and path.name != PAGE}
    if not words or words[0] in ("-h", "--help"):
        print(f"{PROGRAM} demo NAME runs one of these; its own options follow, --help among them.\n")
        for name, path in scripts.items():
            print(f"  {name:18} {_first_line(path)}")
        return 0
    if words[0] not in scripts:
        return _fail(f"there is no demo {words[0]!r}; there are {', '.join(scripts)}", 2)
    return _run(scripts[words[0]], words[1:])


def grade(words: Sequence[str]) -> int:
    """Grade the notebooks in the folder that the first word names; see demos/lessons/grade.py."""
    return _run(_demo_file("lessons/grade.py"), words)


def page(words: Sequence[str]) -> int:
    """Print micrograd on one page of code."""
    if words:
        return _fail(f"`page` takes no other words, found {' '.join(words)!r}", 2)
    print(_demo_file(PAGE).read_text(encoding="utf-8").rstrip())
    return 0


def _demo_file(name: str) -> Path:
    """The path of a file of the demos. Without this file, the process ends."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            return folder / name
    sys.exit(_fail(f"{name} is in none of {', '.join(map(str, FOLDERS))}: run this in a checkout", 1))


def _run(script: Path, words: Sequence[str]) -> int:
    sys.argv[1:] = words
    sys.path.insert(0, str(script.parent))  # as `python SCRIPT` would
    runpy.run_path(str(script), run_name="__main__")
    return 0


def _first_line(script: Path) -> str:
    return (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").partition("\n")[0]


# ------------------------------------------------------------------------------------------------ mistakes
def _point_at(error: SyntaxError) -> int:
    start, end = (error.offset or 1) - 1, (error.end_offset or 2) - 1
    print(pointed(error.text or "", start, end, shutil.get_terminal_size().columns), file=sys.stderr)
    return _fail(f"column {start + 1}: {error.msg}", 2)


def _fail(message: str, code: int) -> int:
    print(f"{PROGRAM}: {clean(message)}", file=sys.stderr)
    return code
