"""Drills: an endless series of small graphs, whose numbers the learner works out, and what is wrong with an answer.

A `Session` is a level, a seed and the answers so far. The same three always make the same graphs, so that anybody who
has them can check a score. The graphs are Values, and the engine computes the right answers. Each known mistake gives a
number that no other mistake gives, which identifies the mistake.
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
SHAPES: dict[int, tuple[str, ...]] = {  # of the graphs of a level; a word is a step, and ? is + or *
    1: ("out=a?b",),
    2: ("u=a?b out=u?c", "u=a?b v=u?c out=v?d", "u=a?b v=c?d out=u?v"),
    3: ("u=a?b out=u?a", "u=a?b v=a?c out=u?v", "u=a?b v=u?c out=u?v", "u=a?a out=u?b"),
    4: ("u=a?b out=tanh(u)", "u=a?b v=u?c out=tanh(v)", "u=a?b t=tanh(u) out=t?c", "u=a?b t=tanh(u) out=t?a"),
    5: ("u=x1*w1 v=x2*w2 s=u+v n=s+b out=tanh(n)",),
}
WHOLE, HALVES = (-4, -3, -2, 2, 3, 4, 5), (-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2, 3)
TANH = {0.5: 0.4621, 1.0: 0.7616}  # the inputs of tanh, with either sign, and the outputs
TOLD = "tanh(0.5) = 0.4621, tanh(1) = 0.7616, and tanh(-x) = -tanh(x)"
LARGEST = 60  # of the values and gradients
FAULTS = {  # each known mistake, and the advice above the next graph
    "path": "Add up the contributions of all paths.",
    "chain": "Multiply along the chain.",
    "factor": "By one factor, the derivative of a product is the other factor.",
    "sum": "Addition passes the gradient on unchanged.",
    "tanh": "The local derivative of tanh is 1 - t*t, where t is the output of tanh.",
    "sign": "Mind the signs.",
    "value": "Look at the operation of each step.",
    "data": "A gradient is asked for, not a value.",
}


class Trap(NamedTuple):
    """A wrong answer, the mistake that gives it, and the explanation."""

    number: float
    fault: str
    words: str


class Question(NamedTuple):
    """A number to work out. `quantity` is value, local or gradient; a derivative is of `of` with respect to `by`."""

    quantity: str
    of: str
    by: str
    truth: float
    traps: list[Trap]
    worked: str

    @property
    def name(self) -> str:
        """The number as one writes it: `out`, `du/da (local)`, `dout/da`."""
        derivative = f"d{self.of}/d{self.by}"
        return {"value": self.of, "local": f"{derivative} (local)"}.get(self.quantity, derivative)

    def judge(self, guess: float | None) -> tuple[str, str]:
        """The mistake of an answer, and the explanation; both are empty for a right answer. None is no answer."""
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
    """Whether two answers are the same to somebody who rounds to two digits after the point."""
    return abs(x - y) <= max(0.006, 0.01 * abs(y))


def number_text(x: float) -> str:
    """An integer, or a number with at most four digits after the point; a zero has no sign."""
    return f"{x:z.4f}".rstrip("0").rstrip(".") if x % 1 else f"{x:z.0f}"


def read(text: str) -> float | None:
    """The number that the learner wrote, or None for an empty text.

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
            if self._fits(level):
                self.questions: list[Question] = list(self._questions(level, rng))
                if not aim or aim in {trap.fault for q in self.questions for trap in q.traps}:
                    return

    def _draw(self, level: int, rng: random.Random) -> None:
        shape = rng.choice(SHAPES[level])
        while "?" in shape:
            shape = shape.replace("?", rng.choice("+*"), 1)
        formulas = dict(word.split("=") for word in shape.split())
        names = [name for name in dict.fromkeys(re.findall(r"\b[a-z]\d?\b", shape)) if name not in formulas]
        numbers = rng.sample(WHOLE if level < 4 else HALVES, len(names))
        self.leaves: dict[str, Value] = {name: Value(x, label=name) for name, x in zip(names, numbers, strict=True)}
        self.values: dict[str, Any] = dict(self.leaves)
        self.steps: list[tuple[str, str, list[str]]] = []
        for name, formula in formulas.items():
            self.values[name] = node = eval(formula, {"tanh": Value.tanh}, self.values)
            node.label = name
            self.steps.append((name, node._op, [operand.label for operand in node._prev]))
        self.values["out"].backward()

    def _fits(self, level: int) -> bool:
        """Whether the numbers can be worked out without a machine, and are not only sums."""
        inputs = [self.values[operands[0]].data for _, op, operands in self.steps if op == "tanh"]
        small = all(max(abs(v.data), abs(v.grad)) <= LARGEST for v in self.values.values())
        multiplies = any(op == "*" for _, op, _ in self.steps)
        return small and all(abs(x) in TANH for x in inputs) and (level == 1 or multiplies)

    def _questions(self, level: int, rng: random.Random) -> Iterator[Question]:
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
            trap = Trap(x, "value", f"that goes into tanh: {name} is the tanh of it")
            worked = f"it is tanh({number_text(x)})"
        else:
            wrong, does = (x + y, "multiplies") if op == "*" else (x * y, "adds")
            trap = Trap(wrong, "value", f"{name} {does} {' and '.join(operands)}")
            worked = f"it is {_bracketed(x)} {op} {_bracketed(y)}"
        return _question("value", name, "", truth, worked, [trap])

    def _local(self, name: str, op: str, operands: list[str], by: str) -> Question:
        node = self.values[name]
        out, x = node.data, self.values[by].data
        truth = sum(local for operand, local in node._row.send(node, 1.0) if operand.label == by)
        traps = []
        if op == "tanh":
            worked = f"the local derivative of tanh is 1 - {name}*{name}, where {name} is {number_text(out)}"
            fault, numbers = "tanh", [1 - out, out, out * out]
            traps = [Trap(1 - x * x, fault, f"{worked}, not with what goes in")]
        elif op == "*":
            other = operands[0] if by == operands[-1] else operands[-1]
            worked = f"the derivative of {name} = {op.join(operands)} by {by} is the other factor, {other}"
            fault, numbers = "factor", [x, 1]
        else:
            worked = f"{name} grows by as much as {by} does, so that the local derivative of a sum is 1"
            fault, numbers = "sum", [*(self.values[operand].data for operand in operands), 0]
        traps += [Trap(number, fault, worked) for number in numbers]
        traps.append(Trap(out, "data", f"that is {name} itself"))
        return _question("local", name, by, truth, worked, traps)

    def _gradient(self, leaf: str) -> Question:
        value = self.leaves[leaf]
        paths = list(_paths(self.values["out"], value))
        parts = [math.prod(path) for path in paths]  # of the gradient
        worked = f"it is {' + '.join(' * '.join(map(_bracketed, path)) for path in paths)}"
        many = f"{len(paths)} paths lead from {leaf} to out: they send {' and '.join(map(number_text, parts))}"
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


def _question(quantity: str, of: str, by: str, truth: float, worked: str, traps: list[Trap]) -> Question:
    """A question with those traps whose numbers differ from the truth and from each other."""
    distinct: list[Trap] = []
    numbers = [truth]
    for trap in [Trap(-truth, "sign", "the sign is the other one"), *traps]:
        if not any(near(trap.number, number) for number in numbers):
            distinct.append(trap)
            numbers.append(trap.number)
    return Question(quantity, of, by, truth, distinct, worked)


def _paths(node: Any, leaf: Any) -> Iterator[tuple[float, ...]]:
    """The local derivatives along each path from a node down to a leaf."""
    if node is leaf:
        yield ()
    for operand, local in node._row.send(node, 1.0):
        yield from ((local, *rest) for rest in _paths(operand, leaf))


def _bracketed(x: float) -> str:
    return f"({number_text(x)})" if x < 0 else number_text(x)


# ------------------------------------------------------------------------------------------------ a session
class Session:
    """The graphs of a level and a seed, one after the other, and how they were answered."""

    def __init__(self, level: int, seed: int):
        self.level: int = level
        self.seed: int = seed
        self.done: list[list[str]] = []  # for each graph, the mistake at each number, which is empty for a right answer
        self.graph: Graph = Graph(level, seed, 1)

    def answer(self, guesses: Sequence[float | None]) -> list[tuple[str, str]]:
        """Judge the answers to the questions of `graph`, and go on to the next graph, which aims at a mistake."""
        judged = [question.judge(guess) for question, guess in zip(self.graph.questions, guesses, strict=True)]
        self.done.append([fault for fault, _ in judged])
        aim = next((fault for fault in FAULTS if fault in self.done[-1]), "")
        self.graph = Graph(self.level, self.seed, len(self.done) + 1, aim)
        return judged

    def score(self) -> str:
        """The score in words, which the learner can show to a teacher."""
        graphs = sum(not any(faults) for faults in self.done)
        numbers = [fault for faults in self.done for fault in faults]
        counts = Counter(fault for fault in numbers if fault in FAULTS)
        mistakes = ", ".join(f"{fault} {count}" for fault, count in counts.most_common())
        return (
            f"Level {self.level}, seed {self.seed}: {graphs} of {len(self.done)} graphs right, "
            f"{numbers.count('')} of {len(numbers)} numbers." + f" Mistakes: {mistakes}." * bool(mistakes)
        )


# ------------------------------------------------------------------------------------------------ at a terminal
def drill(words: Sequence[str], program: str) -> int:
    """Ask at the terminal until the input ends or `--graphs` are done, then print the score."""
    levels = "; ".join(f"{level}: {name}" for level, name in LEVELS.items())
    parser = argparse.ArgumentParser(f"{program} drill", description="Work out the numbers of small graphs.")
    parser.add_argument("level", nargs="?", type=int, default=1, choices=LEVELS, help=levels)
    parser.add_argument("--seed", type=int, default=random.randrange(1000), help="of the graphs; the score has it")
    parser.add_argument("--graphs", type=int, default=0, metavar="N", help="stop after so many; else at Ctrl+D or q")
    options = parser.parse_args(words)
    session = Session(options.level, options.seed)
    print("A local derivative is that of one operation alone. An empty line shows the answer, and q ends.")
    if options.level > 3:
        print(f"{TOLD}.")
    try:
        while not options.graphs or len(session.done) < options.graphs:
            print(f"\n{shown(session)}")
            session.answer([_ask(question) for question in session.graph.questions])
    except (EOFError, KeyboardInterrupt):
        print()
    print(session.score())
    return 0


def shown(session: Session) -> str:
    """The current graph, in lines."""
    graph = session.graph
    leaves = ", ".join(f"{name} = {number_text(leaf.data)}" for name, leaf in graph.leaves.items())
    lines = [f"{name} = {written(op, operands)}" for name, op, operands in graph.steps]
    aim = f" {FAULTS[graph.aim]}" if graph.aim else ""
    return "\n  ".join([f"Graph {len(session.done) + 1} of level {session.level}.{aim}", leaves, *lines])


def written(op: str, operands: Sequence[str]) -> str:
    """The formula of a step, in Python's syntax."""
    return infix.written(op, [infix.name(operand) for operand in operands])[0]


def _ask(question: Question) -> float | None:
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
        print(f"  {number_text(question.truth)}: {words}" if fault else "  right")
        return guess
