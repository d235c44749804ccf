"""The order of the lessons: the one table that file names, headings, footers and the lists in README.md agree with.

To move a lesson, move its row, rename its files, and run `python demos/lessons/refresh.py --order`, which writes the
headings and the footers of all lessons and the tables of demos/README.md, and runs nothing.
"""

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- refresh.py writes from here -->", "<!-- to here -->"


@dataclass(frozen=True)
class Lesson:
    """A row of the table."""

    name: str  # of the file, without the number
    title: str
    minutes: int
    needs: str  # the names of the lessons that come before it, as few letters as tell them apart
    teaches: str
    knows: str = ""  # what else one needs, as words
    in_browser: bool = True  # with Pyodide's NumPy

    @property
    def number(self) -> int:
        return LESSONS.index(self)

    @property
    def file(self) -> str:
        return f"{self.number:02}_{self.name}.ipynb"

    @property
    def heading(self) -> str:
        return f"{self.number}. {self.title}"

    @property
    def needed(self) -> list[int]:
        """The numbers of the lessons that it needs."""
        return sorted(named(start).number for start in self.needs.split())

    def head(self) -> str:
        """The two lines that a lesson begins with."""
        lessons = f"lesson{'s' * (len(self.needed) > 1)} {listed(self.needed)}" if self.needed else ""
        needs = f"{lessons}, and {self.knows}" if lessons and self.knows else lessons or self.knows
        return f"# {self.heading}\n\n*{self.minutes} minutes. You need: {needs}.*"

    def foot(self) -> str:
        """The line that a lesson ends with."""
        place = LESSONS.index(self)
        ways = []
        if place:
            ways.append(f"Before: [{LESSONS[place - 1].heading}]({LESSONS[place - 1].file})")
        if self is not LESSONS[-1]:
            ways.append(f"Next: [{LESSONS[place + 1].heading}]({LESSONS[place + 1].file})")
        else:
            ways.append("Next: [a project](../../docs/project.md)")
        return " · ".join(ways)

    def row(self) -> str:
        """Its row in README.md."""
        needs = (
            f"{listed(self.needed)}, {self.knows}" if self.needed and self.knows else listed(self.needed) or self.knows
        )
        return f"| [{self.heading}](lessons/{self.file}) | {self.teaches} | {self.minutes} | {needs} |"


PARTS = {
    "**From a number to a network**": (
        Lesson(
            "the_python_that_you_need",
            "The Python that you need",
            35,
            "",
            "a self-test: lists, functions, classes, short forms; NumPy's arrays, shapes, axes and broadcasting",
            "to have written some Python",
        ),
        Lesson(
            "a_derivative_is_a_nudge",
            "A derivative is a nudge",
            25,
            "",
            "slopes by experiment, a knob to drag, central differences, rounding; the gradient",
            "a little Python (lesson 0 tests yours). No calculus",
        ),
        Lesson(
            "a_number_that_remembers",
            "A number that remembers",
            25,
            "a_der",
            "`Value` and its computational graph; drawing it; a neuron",
        ),
        Lesson(
            "the_chain_rule",
            "The chain rule, by hand",
            30,
            "a_der a_num",
            "ratios multiply along a path, paths add up; backpropagation in the player",
        ),
        Lesson(
            "closures",
            "Each operation brings its own way back",
            45,
            "a_der a_num the_ch",
            "an engine in thirty lines, with closures or with pairs; why `+=`; five slopes to keep",
        ),
        Lesson(
            "the_order",
            "In which order?",
            35,
            "clos",
            "where naive recursion breaks; topological order; the ready queue",
        ),
        Lesson(
            "trust",
            "Can you trust a gradient?",
            30,
            "a_der a_num the_ch clos the_or",
            "`gradcheck`, `zero_grad`, a second `backward()`, `nan`",
        ),
        Lesson(
            "four_points",
            "Four points",
            40,
            "a_num the_ch trust",
            "XOR: loss and gradient descent; what one neuron cannot do; hidden layers, `MLP`; looking inside",
        ),
        Lesson(
            "two_moons",
            "Two moons",
            35,
            "four",
            "the hinge and its margin, L2, the decision boundary; a movie of training",
        ),
        Lesson(
            "one_neuron",
            "One neuron, and what it can do",
            35,
            "a_der the_ch four",
            "linear regression and its exact answer; features and their scale; logistic regression, maximum likelihood",
        ),
        Lesson(
            "which_of_three",
            "Which of the three?",
            40,
            "the_ch four two one",
            "softmax and its large logits, cross-entropy, p − y; three classes",
        ),
        Lesson(
            "the_long_valley",
            "The long valley",
            45,
            "four two which",
            "momentum and Adam by hand; learning rates, initialization, dead neurons and schedules, in pictures",
        ),
        Lesson(
            "from_scalars_to_tensors",
            "From scalars to tensors",
            45,
            "clos the_or four",
            "arrays in the nodes; broadcasting, and what it does backwards; the same network both ways",
            "a little NumPy",
        ),
        Lesson(
            "modules_and_batches",
            "Modules and batches: the digits",
            45,
            "which the_lo from",
            "`Module`, and why it needs no backward; mini-batches; a test set; `train` and `eval`; mistakes; saving",
        ),
    ),
    "**Networks that generalize, see and write**": (
        Lesson(
            "too_good_to_be_true",
            "Too good to be true",
            45,
            "the_lo mod",
            "overfitting, training, validation and test set; early stopping, weight decay, dropout; double descent",
        ),
        Lesson(
            "why_deep_nets_did_not_train",
            "Why deep nets did not train",
            45,
            "the_lo from mod",
            "initialization, vanishing and exploding gradients; BatchNorm and its backward pass by hand; residuals",
        ),
        Lesson(
            "pictures",
            "Pictures",
            45,
            "from mod",
            "convolution as shared weights: a filter by hand, as a matrix, and learnt; a convolutional network",
        ),
        Lesson(
            "letters_as_vectors",
            "Letters as vectors",
            45,
            "which the_lo mod",
            "language models: counting, and a network; embeddings, perplexity, sampling, temperature",
            in_browser=False,
        ),
        Lesson(
            "attention",
            "Attention",
            45,
            "which mod letters",
            "query, key and value by hand; the causal mask; self-attention that is learnt; why it needs positions",
            in_browser=False,
        ),
        Lesson(
            "build_a_gpt",
            "Build a GPT",
            60,
            "why_deep letters atten",
            "a GPT written piece by piece: embeddings, heads, block, training, sampling, each piece checked",
            in_browser=False,
        ),
    ),
    "**Engines**": (
        Lesson(
            "why_it_is_fast",
            "Why it is fast",
            50,
            "clos the_or from",
            "reference cycles and the collector; a tape or a dual graph; a compiler in sixty lines; `compile`",
        ),
        Lesson(
            "gradients_of_gradients",
            "Gradients of gradients",
            55,
            "the_ch four the_lo from",
            "`create_graph`; Taylor series; Newton's method; a Hessian-vector product; forward mode",
        ),
        Lesson(
            "inside_an_engine",
            "Inside an autograd engine",
            55,
            "clos the_or from grad",
            "`requires_grad`, `grad_fn`, versions, hooks, a `Function`; an engine from a table; `lazy`",
        ),
    ),
    "**Beyond one library and one machine**": (
        Lesson(
            "on_to_pytorch",
            "On to PyTorch",
            40,
            "mod build inside",
            "the same model, the same numbers; weights moved, in memory and in files; where the two differ",
            in_browser=False,
        ),
        Lesson(
            "many_workers",
            "Many workers",
            45,
            "the_lo mod build",
            "sums in parts; an all-reduce in 25 lines, and in a ring; the same bits on 1, 2 and 4 workers",
            in_browser=False,
        ),
    ),
    "**A test of what you know**": (
        Lesson(
            "kill_the_mutant",
            "Kill the mutant",
            60,
            "the_ch clos the_or trust",
            "sixty wrong engines, one for each student; the smallest expression that exposes it; which line is wrong",
        ),
    ),
}
LESSONS = [lesson for lessons in PARTS.values() for lesson in lessons]

SHORTCUTS = {
    "To a GPT in seven lessons, if you know derivatives and NumPy": "four which from mod letters atten build",
    "You have seen the micrograd lecture": "the_or trust two the_lo from mod",
    "One evening": "a_der a_num the_ch four",
    "The engine only": "a_der a_num the_ch clos the_or trust from why_it inside kill",
    "Training in practice": "four two one which the_lo from mod too",
}


def named(start: str) -> Lesson:
    """The lesson whose name begins like this."""
    (lesson,) = (lesson for lesson in LESSONS if lesson.name.startswith(start))
    return lesson


def listed(numbers: list[int]) -> str:
    """Numbers as one writes them: 4, or 1 to 3, or 2, 3 and 6."""
    if len(numbers) > 2 and numbers == [*range(numbers[0], numbers[-1] + 1)]:
        return f"{numbers[0]} to {numbers[-1]}"
    return " and ".join(filter(None, (", ".join(map(str, numbers[:-1])), *map(str, numbers[-1:]))))


def tables() -> str:
    """The lists of demos/README.md: all lessons by part, and the shortcuts."""
    parts = []
    for heading, lessons in PARTS.items():
        hours, minutes = divmod(sum(lesson.minutes for lesson in lessons), 60)
        rows = "\n".join(lesson.row() for lesson in lessons)
        table = f"| lesson | what it teaches | minutes | you need |\n|---|---|---|---|\n{rows}"
        parts.append(f"{heading} ({hours} h {minutes:02} min):\n\n{table}")
    ways = []
    for way, starts in SHORTCUTS.items():
        lessons = [named(start) for start in starts.split()]
        links = ", ".join(f"[{lesson.number}](lessons/{lesson.file})" for lesson in lessons)
        ways.append(f"| {way} | {links} | {sum(lesson.minutes for lesson in lessons)} |")
    shortcuts = "\n".join(["| shortcut | lessons | minutes |", "|---|---|---|", *ways])
    return "\n\n".join([*parts, "**Shortcuts**, for those who want one thing first:", shortcuts])


def with_tables(readme: str) -> str:
    """The text of README.md with the tables of today."""
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{rest.partition(END)[2]}"


def with_head(lesson: Lesson, text: str) -> str:
    """The first cell of a lesson, with the number, the title, the minutes and what one needs of the table."""
    return re.sub(r"\A# .*\n\n\*\d+ minutes\. [^*]*\*", lesson.head().replace("\\", r"\\"), text)


def with_foot(lesson: Lesson, text: str) -> str:
    """The last cell of a lesson, with the lessons before and after it."""
    return re.sub(r"\n\n(Before: .*|Next: .*)\Z", "", text.rstrip()) + f"\n\n{lesson.foot()}"
