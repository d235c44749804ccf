"""Drills: small graphs without an end, whose numbers somebody works out; a wrong number is told what is wrong with it.

A `Session` is a level, a seed and what was answered so far. The same three always make the same graphs, so that anybody
who has them can check a score. The graphs are Values, and the answers are those of the engine. A known mistake gives a
number that no other mistake gives, by which it is recognized.
"""

import argparse
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ..engine.value import Value
from ..viz import infix

LEVELS = {
    1: "one operation",
    2: "a chain of + and *",
    3: "a number that is used twice",
    4: "tanh in the chain",
    5: "a neuron",
}
SHAPES: dict[int, tuple[str, ...]] = {  # of the graphs of a level, a step a word; ? is + or *
    1: ("out=a?b",),
    2: ("u=a?b out=u?c", "u=a?b v=u?c out=v?d", "u=a?b v=c?d out=u?v"),
    3: ("u=a?b out=u?a", "u=a?b v=a?c out=u?v", "u=a?b v=u?c out=u?v", "u=a?a out=u?b"),
    4: ("u=a?b out=tanh(u)", "u=a?b v=u?c out=tanh(v)", "u=a?b t=tanh(u) out=t?c", "u=a?b t=tanh(u) out=t?a"),
    5: ("u=x1*w1 v=x2*w2 s=u+v n=s+b out=tanh(n)",),
}
WHOLE, HALVES = (-4, -3, -2, 2, 3, 4, 5), (-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2, 3)
TANH = {0.5: 0.4621, 1.0: 0.7616}  # the numbers that go into tanh, with either sign
TOLD = "tanh(0.5) = 0.4621, tanh(1) = 0.7616, and tanh(-x) = -tanh(x)"
LARGEST = 60  # of the values and gradients
FAULTS = {  # each known mistake, and what the graph after it says
    "path": "Count the paths: each sends a part.",
    "chain": "Multiply along the chain.",
    "factor": "By one factor, the derivative of a product is the other factor.",
    "sum": "A sum passes on what comes.",
    "tanh": "The local derivative of tanh is 1 - t*t, where t is what tanh gave.",
    "sign": "Mind the signs.",
    "value": "Look at what each step does.",
    "data": "A gradient is asked for, not a value.",
}


class Trap(NamedTuple):
    """A wrong answer, the mistake that gives it, and what is said of it."""

    number: float
    fault: str
    words: str


class Question(NamedTuple):
    """A number to work out. `kind` is value, local or gradient, and `by` what the derivative is taken by."""

    kind: str
    of: str
    by: str
    truth: float
    traps: list[Trap]
    worked: str

    @property
    def name(self) -> str:
        """How the number is written: `out`, `du/da (local)`, `dout/da`."""
        derivative = f"d{self.of}/d{self.by}"
        return {"value": self.of, "local": f"{derivative} (local)"}.get(self.kind, derivative)

    def judge(self, guess: float | None) -> tuple[str, str]:
        """The mistake of an answer, and what is said of it: two empty texts for a right one. None is no answer."""
        if guess is None:
            return "none", self.worked
        if near(guess, self.truth):
            return "", ""
        for trap in self.traps:
            if near(guess, trap.number):
                return trap.fault, trap.words
        close = abs(guess - self.truth) < 0.06 and self.truth % 1
        return "other", "two digits after the point are needed" if close else self.worked


def near(x: float, y: float) -> bool:
    """Whether two answers are the same for somebody who rounds to two digits after the point."""
    return abs(x - y) <= max(0.006, 0.01 * abs(y))


def told(x: float) -> str:
    """A number in text: whole, or with at most four digits after the point; a zero has no sign."""
    return f"{x:z.4f}".rstrip("0").rstrip(".") if x % 1 else f"{x:z.0f}"


def read(text: str) -> float | None:
    """The number that somebody wrote, or None for an empty text.

    >>> read(" \u22120,5 "), read("")
    (-0.5, None)
    """
    plain = text.strip().replace("\u2212", "-").replace(",", ".")
    try:
        number = float(plain) if plain else None
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise ValueError(f"{text.strip()!r} is not a number: write one, such as -0.5, or nothing to be shown it")
    return number


# ------------------------------------------------------------------------------------------------ a graph
class Graph:
    """A graph of a level: its `leaves` and `steps` by name, and the questions about it.

    A step is (name, op, names of the operands). With an `aim`, one of FAULTS, the graph has a question at which that
    mistake can be made.
    """

    def __init__(self, level: int, seed: int, number: int, aim: str = ""):
        rng = random.Random(f"{level} {seed} {number}")
        self.aim = aim
        while True:
            self._draw(level, rng)
            self.questions: list[Question] = list(self._asked(level, rng)) if self._fits(level) else []
            if self.questions and (not aim or aim in {trap.fault for q in self.questions for trap in q.traps}):
                return

    def _draw(self, level: int, rng: random.Random) -> None:
        shape = rng.choice(SHAPES[level])
        while "?" in shape:
            shape = shape.replace("?", rng.choice("+*"), 1)
        made = dict(word.split("=") for word in shape.split())
        names = [name for name in dict.fromkeys(re.findall(r"\b[a-z]\d?\b", shape)) if name not in made]
        numbers = rng.sample(WHOLE if level < 4 else HALVES, len(names))
        self.leaves: dict[str, Value] = {name: Value(x, label=name) for name, x in zip(names, numbers, strict=True)}
        self.values: dict[str, Any] = dict(self.leaves)
        for name, text in made.items():
            self.values[name] = eval(text, {"tanh": Value.tanh}, self.values)
            self.values[name].label = name
        nodes = [self.values[name] for name in made]
        self.steps: list[tuple[str, str, list[str]]] = [
            (node.label, node._op, [operand.label for operand in node._prev]) for node in nodes
        ]
        self.values["out"].backward()

    def _fits(self, level: int) -> bool:
        """Whether it can be done without a machine, and has something to do."""
        into = [self.values[operands[0]].data for _, op, operands in self.steps if op == "tanh"]
        small = all(max(abs(v.data), abs(v.grad)) <= LARGEST for v in self.values.values())
        return small and all(abs(x) in TANH for x in into) and (level == 1 or any(op == "*" for _, op, _ in self.steps))

    def _asked(self, level: int, rng: random.Random) -> Iterator[Question]:
        name, op, operands = self.steps[-1]
        yield self._value(name, op, operands)
        local = next((step for step in self.steps if step[1] == "tanh"), self.steps[-1])
        for operand in dict.fromkeys(local[2] if level == 1 else local[2][:1]):
            yield self._local(*local, operand)
        if level > 1:
            chosen = set(rng.sample([*self.leaves], min(3, len(self.leaves))))
            yield from (self._gradient(leaf) for leaf in self.leaves if leaf in chosen)

    def _value(self, name: str, op: str, operands: list[str]) -> Question:
        x, y = (self.values[operand].data for operand in (operands[0], operands[-1]))
        truth = self.values[name].data
        if op == "tanh":
            wrong = [Trap(x, "value", f"that goes into tanh: {name} is the tanh of it")]
            return _question("value", name, "", truth, f"it is tanh({told(x)})", wrong)
        other, does = (x + y, "multiplies") if op == "*" else (x * y, "adds")
        wrong = [Trap(other, "value", f"{name} {does} {' and '.join(operands)}")]
        return _question("value", name, "", truth, f"it is {_bracketed(x)} {op} {_bracketed(y)}", wrong)

    def _local(self, name: str, op: str, operands: list[str], by: str) -> Question:
        out, x = self.values[name].data, self.values[by].data
        truth = sum(part for operand, part in _sent(self.values[name]) if operand.label == by)
        first: list[Trap] = []
        if op == "tanh":
            worked = f"the local derivative of tanh is 1 - {name}*{name}, where {name} is {told(out)}"
            fault, numbers = "tanh", [1 - out, out, out * out]
            first = [Trap(1 - x * x, fault, f"{worked}, not with what goes in")]
        elif op == "*":
            other = operands[0] if by == operands[-1] else operands[-1]
            worked = f"the derivative of {name} = {op.join(operands)} by {by} is the other factor, {other}"
            fault, numbers = "factor", [x, 1]
        else:
            worked = f"{name} grows by as much as {by} does, so that the local derivative of a sum is 1"
            fault, numbers = "sum", [*(self.values[operand].data for operand in operands), 0]
        wrong = [*first, *(Trap(number, fault, worked) for number in numbers)]
        return _question("local", name, by, truth, worked, [*wrong, Trap(out, "data", f"that is {name} itself")])

    def _gradient(self, leaf: str) -> Question:
        value = self.leaves[leaf]
        paths = list(_paths(self.values["out"], value))
        parts = [math.prod(path) for path in paths]
        worked = f"it is {' + '.join(' * '.join(map(_bracketed, path)) for path in paths)}"
        many = f"{len(paths)} paths lead from {leaf} to out: they send {' and '.join(map(told, parts))}"
        local, right = sum(path[-1] for path in paths), sum(math.prod(path[:-1]) for path in paths)
        some = [sum(few) for size in range(1, len(parts)) for few in combinations(parts, size)]
        less = [
            sum(parts) - part + math.prod(path[:k] + path[k + 1 :])
            for path, part in zip(paths, parts, strict=True)
            for k in range(len(path))
        ]
        factor = [right * value.data] if len(paths) == 1 and paths[0][-1] != 1 else []
        wrong = [
            ("path", some, f"{many}, and these add up"),
            ("path", [math.prod(parts)] * (len(paths) > 1), f"{many}; these are added, not multiplied"),
            (
                "chain",
                [local],
                f"that is the local derivative alone: multiply it by what comes from the right; {worked}",
            ),
            (
                "chain",
                [right],
                f"that is what comes from the right alone: multiply it by the local derivative; {worked}",
            ),
            ("chain", [sum(map(sum, paths))], f"along a path all is multiplied, not added; {worked}"),
            ("chain", less, f"a factor of the chain is missing; {worked}"),
            ("factor", factor, f"by {leaf}, a product gives the other factor; {worked}"),
            ("data", [value.data], f"that is {leaf} itself, not the gradient; {worked}"),
        ]
        traps = [Trap(number, fault, words) for fault, numbers, words in wrong for number in numbers]
        return _question("gradient", "out", leaf, value.grad, worked, traps)


def _question(kind: str, of: str, by: str, truth: float, worked: str, traps: list[Trap]) -> Question:
    """A question with those traps that can be told from the truth and from each other."""
    known: list[Trap] = []
    for trap in [Trap(-truth, "sign", "the sign is the other one"), *traps]:
        if not any(near(trap.number, other) for other in (truth, *(trap.number for trap in known))):
            known.append(trap)
    return Question(kind, of, by, truth, known, worked)


def _sent(node: Any) -> list[tuple[Any, float]]:
    """The operands of a node, each with its local derivative."""
    return list(node._row.send(node, 1.0))


def _paths(node: Any, leaf: Any) -> Iterator[tuple[float, ...]]:
    """The local derivatives along each path from a node down to a leaf."""
    if node is leaf:
        yield ()
    elif node._prev:
        yield from ((local, *rest) for operand, local in _sent(node) for rest in _paths(operand, leaf))


def _bracketed(x: float) -> str:
    return f"({told(x)})" if x < 0 else told(x)


# ------------------------------------------------------------------------------------------------ a session
class Session:
    """The graphs of a level and a seed, one after the other, and how they were answered."""

    def __init__(self, level: int, seed: int):
        self.level: int = level
        self.seed: int = seed
        self.done: list[list[str]] = []  # the mistake of each number of each graph; empty where it was right
        self.graph: Graph = Graph(level, seed, 1)

    def answer(self, guesses: Sequence[float | None]) -> list[tuple[str, str]]:
        """Judge the answers to the questions of `graph`, and go on to the next one, which asks for what was wrong."""
        judged = [question.judge(guess) for question, guess in zip(self.graph.questions, guesses, strict=True)]
        self.done.append([fault for fault, _ in judged])
        aim = next((fault for fault in FAULTS if fault in self.done[-1]), "")
        self.graph = Graph(self.level, self.seed, len(self.done) + 1, aim)
        return judged

    def score(self) -> str:
        """What somebody can show to a teacher."""
        numbers = [fault for faults in self.done for fault in faults]
        missed = Counter(fault for fault in numbers if fault in FAULTS)
        told = ", ".join(f"{fault} {count}" for fault, count in missed.most_common())
        return (
            f"Level {self.level}, seed {self.seed}: {sum(not any(faults) for faults in self.done)} of {len(self.done)} "
            f"graphs right, {numbers.count('')} of {len(numbers)} numbers." + f" Mistakes: {told}." * bool(told)
        )


# ------------------------------------------------------------------------------------------------ at a terminal
def drill(words: Sequence[str], program: str) -> int:
    """Ask at the terminal until the input ends, or as many graphs as were wanted; then tell the score."""
    levels = "; ".join(f"{level}: {name}" for level, name in LEVELS.items())
    parser = argparse.ArgumentParser(f"{program} drill", description="Work out the numbers of small graphs.")
    parser.add_argument("level", nargs="?", type=int, default=1, choices=LEVELS, help=levels)
    parser.add_argument("--seed", type=int, default=random.randrange(1000), help="of the graphs; the score has it")
    parser.add_argument("--graphs", type=int, default=0, metavar="N", help="stop after so many; else at Ctrl+D or q")
    asked = parser.parse_args(words)
    session = Session(asked.level, asked.seed)
    print("A local derivative is that of one operation alone. An empty line shows the answer, and q ends.")
    if asked.level > 3:
        print(f"{TOLD}.")
    try:
        while not asked.graphs or len(session.done) < asked.graphs:
            print(f"\n{shown(session)}")
            session.answer([_answered(question) for question in session.graph.questions])
    except (EOFError, KeyboardInterrupt):
        print()
    print(session.score())
    return 0


def shown(session: Session) -> str:
    """The graph that is asked for now, in lines."""
    graph = session.graph
    leaves = ", ".join(f"{name} = {told(leaf.data)}" for name, leaf in graph.leaves.items())
    lines = [f"{name} = {written(op, operands)}" for name, op, operands in graph.steps]
    aim = f" {FAULTS[graph.aim]}" if graph.aim else ""
    return "\n  ".join([f"Graph {len(session.done) + 1} of level {session.level}.{aim}", leaves, *lines])


def written(op: str, operands: Sequence[str]) -> str:
    """What a step computes, as Python writes it."""
    return infix.written(op, [infix.name(operand) for operand in operands])[0]


def _answered(question: Question) -> float | None:
    while True:
        text = input(f"{question.name} = ")
        if text.strip().lower() in ("q", "quit", "exit"):
            raise EOFError
        try:
            guess = read(text)
        except ValueError as error:
            print(f"  {error}")
            continue
        fault, words = question.judge(guess)
        print(f"  {'right' if not fault else f'{told(question.truth)}: {words}'}")
        return guess
