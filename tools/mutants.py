"""Mutation testing: change the package in one place, run the tests that reach it, and report what none of them notices.

    python tools/mutants.py                                  # 240 places of the whole package
    python tools/mutants.py --only micrograd/nn --count 50 --seed 7

The places are drawn from the syntax tree by a seed. A first run watches which functions each test file calls; it is
kept in `.mutants/`, and so is each result, so that a run that was interrupted goes on. A survivor is tried again once a
test has changed. Everything happens in a scratch copy; the working tree is left alone.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import importlib.util
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".mutants", "out", "peers", "build", "*.egg-info", "__pycache__")
PYTEST = ["-m", "pytest", "-x", "-q", "-p", "no:nbmake", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
MEMORY = 6 << 30  # bytes: a loop that no longer ends may also eat
PATIENCE = 5  # what sleeps takes no processor time, and a loaded machine gives a part of it

# ---------------------------------------------------------------------------------------------------------------------
# What may be changed, and into what

OTHERS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,), ast.FloorDiv: (ast.Div,), ast.Mod: (ast.Mult,), ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,), ast.And: (ast.Or,), ast.Or: (ast.And,), ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot, ast.Eq), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
ALWAYS, NEVER, NOTHING = ast.Constant(True), ast.Constant(False), ast.Pass()


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What may be replaced in or at a node, and by what."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op):
            yield from ((node, altered(node, op=other())) for other in OTHERS.get(type(op), ()))
        case ast.Compare(ops=[ast.Is()]) if re.search(
            r"__class__| is None$", ast.unparse(node)
        ):  # == is the same there
            yield node, altered(node, ops=[ast.IsNot()])
        case ast.Compare(ops=[op, *rest]):
            yield from ((node, altered(node, ops=[other(), *rest])) for other in OTHERS[type(op)])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, ast.Constant(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield from ((test, forced) for forced in (ALWAYS, NEVER))
        case ast.While(test=test):
            yield test, NEVER
        case ast.Return(value=ast.AST()):
            yield node, ast.Return(ast.Constant(None))
        case ast.Call(args=args, keywords=keywords):
            if len(args) > 1:
                yield node, altered(node, args=args[:-1])
            dropped = [one for one in keywords if one.arg != "strict"]
            yield from ((node, altered(node, keywords=[k for k in keywords if k is not one])) for one in dropped)
    match node:
        case ast.Expr(value=ast.Call()) | ast.Delete() | ast.AugAssign() | ast.Raise():
            yield node, NOTHING
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):  # without any other the next line has no name
            yield node, NOTHING


def altered(node: ast.AST, **fields: object) -> ast.AST:
    """The node with other fields."""
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def within(node: ast.AST, function: str = "", prefix: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node that runs, and the qualified name of the function that it runs in; "" when the module is imported.

    Annotations, decorators, f-strings, the texts of errors and what only type checkers read are left out.
    """
    for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    strict = isinstance(node, ast.keyword) and node.arg == "strict"  # a zip that checks what holds
    if for_types or strict or isinstance(node, (ast.arguments, ast.JoinedStr)):
        return
    yield node, function
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        function = prefix + getattr(node, "name", "<lambda>")
        below, prefix = node.body, f"{function}.<locals>."
    elif isinstance(node, ast.ClassDef):
        below, prefix = node.body, f"{prefix}{node.name}."
    else:
        left_out = ("annotation", "exc", "cause")
        below = [child for field, child in ast.iter_fields(node) if field not in left_out]
    for child in flat(below):
        yield from within(child, function, prefix)


def flat(x: object) -> Iterator[ast.AST]:
    """The nodes in lists of lists."""
    if isinstance(x, list):
        for one in x:
            yield from flat(one)
    elif isinstance(x, ast.AST):
        yield x


@dataclass(frozen=True)
class Mutant:
    """A file with one change: `code` for what is between `begin` and `end`, in bytes.

    `path` is the file, from the root; `function` the qualified name of that around the change, "" if there is none.
    """

    path: str
    line: int
    function: str
    source: bytes
    begin: int
    end: int
    code: str

    @property
    def text(self) -> str:
        """The whole file, changed."""
        return (self.source[: self.begin] + self.code.encode() + self.source[self.end :]).decode()


def mutants_of(path: str, source: bytes) -> Iterator[Mutant]:
    """Every mutant of a file."""
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    for node, function in within(ast.parse(source)):
        for old, new in changes(node):
            begin, end = (starts[row - 1] + column for row, column in ends(old))
            code = ast.unparse(new)
            code = f"({code})" if isinstance(new, ast.expr) and not isinstance(new, ast.Constant) else code
            yield Mutant(path, old.lineno, function, source, begin, end, code)


def ends(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """(line, column) of a node's begin and of its end."""
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def is_python(text: str) -> bool:
    try:
        return bool(compile(text, "mutant", "exec"))
    except (SyntaxError, SyntaxWarning):
        return False


def drawn(root: Path, only: list[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants below these paths, by the seed."""
    files = {file for path in only for file in (root / path).rglob("*.py")} | {root / path for path in only}
    sources = {str(file.relative_to(root)): file.read_bytes() for file in files if file.suffix == ".py"}
    every = [mutant for path in sorted(sources) for mutant in mutants_of(path, sources[path])]
    random.Random(seed).shuffle(every)
    return list(islice((mutant for mutant in every if is_python(mutant.text)), count))


# ---------------------------------------------------------------------------------------------------------------------
# Which tests reach what. This file is also the plugin of pytest that watches (`-p mutants`)

called: dict[int, CodeType] = {}


def look(frame: FrameType, event: str, _: object) -> None:
    if event == "call":
        called[id(frame.f_code)] = frame.f_code


def pytest_runtest_call() -> None:
    if "MUTANTS_CALLED" in os.environ:
        threading.setprofile(look)
        sys.setprofile(look)


def pytest_sessionfinish() -> None:
    if "MUTANTS_CALLED" in os.environ:
        sys.setprofile(None)
        names = {f"{os.path.relpath(code.co_filename)}::{code.co_qualname}" for code in called.values()}
        Path(os.environ["MUTANTS_CALLED"]).write_text(json.dumps(sorted(names)), encoding="utf-8")


@dataclass(frozen=True)
class Reach:
    """What a test file calls, as "path::qualified name", and how long it takes; nothing, if it fails as it is."""

    seconds: float
    calls: list[str]


T = TypeVar("T")
R = TypeVar("R")


class Copies:
    """Scratch copies of the working tree, one for each worker."""

    def __init__(self, root: Path, folder: Path, workers: int):
        self.free: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self.workers = workers
        for i in range(workers):
            self.free.put(Path(shutil.copytree(root, folder / str(i), ignore=LEFT_OUT)))

    def each(self, work: Callable[[Path, T], R], items: Iterable[T]) -> Iterator[tuple[T, R]]:
        """(item, work(a copy, item)) for each item, in order."""

        def one(item: T) -> R:
            scratch = self.free.get()
            try:
                return work(scratch, item)
            finally:
                self.free.put(scratch)

        with ThreadPoolExecutor(self.workers) as pool:
            items = list(items)
            yield from zip(items, pool.map(one, items), strict=True)


def reach_of(scratch: Path, file: str, limit: float) -> Reach:
    """Run a test file, watching."""
    seen = scratch / "called.json"
    seen.unlink(missing_ok=True)
    environment = {
        "MUTANTS_CALLED": str(seen),
        "PYTHONPATH": os.pathsep.join([str(scratch), str(Path(__file__).parent)]),
    }
    begin = time.perf_counter()
    passed = run(scratch, [*PYTEST, "-p", "mutants", file], limit, environment)
    calls = json.loads(seen.read_text(encoding="utf-8")) if passed and seen.exists() else []
    return Reach(time.perf_counter() - begin, [name for name in calls if not name.startswith("..")])


def run(scratch: Path, arguments: list[str], limit: float, environment: dict[str, str]) -> bool:
    """Does Python end well with these arguments, in so many seconds of processor time?"""
    import resource  # Unix has it

    def set_limits() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))

    child = subprocess.Popen(
        [sys.executable, *arguments], cwd=scratch, env={**os.environ, "PYTHONPATH": str(scratch), **environment},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=set_limits,
    )  # fmt: skip
    try:
        return child.wait(PATIENCE * limit) in (0, 5)  # 5: nothing was there to fail
    except subprocess.TimeoutExpired:
        return False
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def watched(copies: Copies, root: Path, folders: list[str], limit: float) -> dict[str, Reach]:
    """What each test file below these folders reaches; what has not changed since it was watched is not run again."""
    kept = root / ".mutants" / "reach.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    files = {
        file.relative_to(root).as_posix(): file for folder in folders for file in (root / folder).rglob("test_*.py")
    }
    files = {name: file for name, file in sorted(files.items()) if "browser" not in name}  # these take Chromium
    marks = {name: digest(file.read_bytes()) for name, file in files.items()}
    changed = [name for name in files if known.get(name, {}).get("mark") != marks[name]]
    for name, reach in copies.each(lambda scratch, name: reach_of(scratch, name, limit), changed):
        known[name] = {"mark": marks[name], "seconds": reach.seconds, "calls": reach.calls}
        kept.write_text(json.dumps(known), encoding="utf-8")
        print(f"watched {name}: {reach.seconds:.0f} s, {len(reach.calls)} functions", flush=True)
    return {name: Reach(known[name]["seconds"], known[name]["calls"]) for name in files}


def files_for(mutant: Mutant, reaches: dict[str, Reach], budget: float) -> list[str]:
    """The test files that reach the mutant's function: those named after its file, then the cheapest, in the budget.

    What runs when the module is imported is reached by all that call anything of the module.
    """
    target, module = f"{mutant.path}::{mutant.function}", f"{mutant.path}::"
    reaching = [name for name, reach in reaches.items() if target in reach.calls]
    if not reaching:
        reaching = [name for name, reach in reaches.items() if any(call.startswith(module) for call in reach.calls)]
    reaching.sort(key=lambda name: (Path(mutant.path).stem not in Path(name).name, reaches[name].seconds))
    ends = accumulate(reaches[name].seconds for name in reaching)
    return [name for i, (name, end) in enumerate(zip(reaching, ends, strict=True)) if i == 0 or end <= budget]


# ---------------------------------------------------------------------------------------------------------------------
# Run and report


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def write(path: Path, text: str) -> None:
    """Write a source file; its bytecode goes, for two versions written in one second look alike to Python."""
    path.write_text(text, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def survives(mutant: Mutant, scratch: Path, files: list[str], limit: float) -> bool:
    """Do the tests pass with the mutant in the place of its file?"""
    path = scratch / mutant.path
    original = path.read_text(encoding="utf-8")
    write(path, mutant.text)
    try:
        return not files or run(scratch, [*PYTEST, *files], limit, {})
    finally:
        write(path, original)


def report(mutant: Mutant, files: list[str]) -> str:
    """A survivor's place and its difference."""
    before = mutant.source.decode().splitlines()
    found = difflib.unified_diff(before, mutant.text.splitlines(), lineterm="", n=1)
    head = f"{mutant.path}:{mutant.line} survives {len(files)} test files ({', '.join(files) or 'none reaches it'})"
    return "\n".join([head, *list(found)[3:], ""])


def table(results: list[tuple[Mutant, bool]]) -> str:
    """Caught of all, folder by folder."""
    folders: dict[str, list[bool]] = {}
    for mutant, survived in results:
        for folder in (str(Path(mutant.path).parent), "all"):
            folders.setdefault(folder, []).append(not survived)
    rows = sorted(folders.items(), key=lambda row: (row[0] == "all", row[0]))
    return "\n".join(f"{name:24} {sum(c):4} of {len(c):4} caught, {sum(c) / len(c):6.1%}" for name, c in rows)


def hunt(
    root: Path, only: list[str], folders: list[str], count: int, seed: int, budget: float, workers: int
) -> list[tuple[Mutant, bool]]:
    """Each drawn mutant, and whether it survived; results are kept in `.mutants/` as they come."""
    kept = root / ".mutants"
    kept.mkdir(exist_ok=True)
    log = kept / "results.json"
    known: dict[str, str] = json.loads(log.read_text(encoding="utf-8")) if log.exists() else {}
    results = []
    with tempfile.TemporaryDirectory() as folder:
        copies = Copies(root, Path(folder), workers)
        reaches = watched(copies, root, folders, limit=5 * budget)

        def result(scratch: Path, mutant: Mutant) -> str:
            """ "caught", or the tests that it survived, by which it is known."""
            files = files_for(mutant, reaches, budget)
            mark = digest(mutant.text.encode())
            tests = digest(b"".join((scratch / name).read_bytes() for name in files))
            if known.get(mark) not in ("caught", tests):
                limit = 30 + 5 * sum(reaches[name].seconds for name in files)
                known[mark] = tests if survives(mutant, scratch, files, limit) else "caught"
            return known[mark]

        for mutant, found in copies.each(result, drawn(root, only, count, seed)):
            log.write_text(json.dumps(known.copy()), encoding="utf-8")
            results.append((mutant, found != "caught"))
            print(report(mutant, files_for(mutant, reaches, budget)) if results[-1][1] else ".", end="", flush=True)
    return results


def main(arguments: list[str] | None = None, root: Path = ROOT) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the draw of places (default: %(default)s)")
    parser.add_argument("--count", type=int, default=240, help="how many places (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=["micrograd"], metavar="PATH", help="files or folders")
    parser.add_argument("--budget", type=float, default=180, help="seconds of tests for each place")
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="FOLDER", help="the tests that are run")
    parser.add_argument("--workers", type=int, default=1, help="how many run at a time (default: %(default)s)")
    args = parser.parse_args(arguments)
    found = hunt(root, args.only, args.tests, args.count, args.seed, args.budget, args.workers)
    print("\n" + table(found))


if __name__ == "__main__":
    main()
