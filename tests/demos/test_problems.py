"""Lesson 0, and the problems of older lessons: a solution with a mistake put into it gets the hint at that mistake."""

import ast
import math
import re
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from micrograd import Function, Tensor, Value

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))


@pytest.fixture
def said(monkeypatch, capsys):
    """What check() says of an answer."""
    monkeypatch.syspath_prepend(str(LESSONS))
    from check import check

    def of(name, answer):
        check(name, answer)
        return capsys.readouterr().out.strip()

    return of


USES = {"4.4": ["Number"], "12.5": ["sum_to", "Array"], "20.5": ["Symbol", "topological", "derive", "write"]}


def solution(name):
    """The code of the cell that asks, without its check, and that of the solution."""
    [path] = LESSONS.glob(f"{int(name.partition('.')[0]):02}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    [place] = [i for i, cell in enumerate(cells) if cell.cell_type == "code" and f'check("{name}"' in cell.source]
    asked = re.sub(r"^check\(.*", "", cells[place].source, flags=re.MULTILINE)
    return asked + "\n" + re.search(r"```python\n(.*?)```", cells[place + 1].source, re.DOTALL)[1]


def definitions(name, *wanted):
    """Classes and functions that a lesson defines before its exercises, as code."""
    [path] = LESSONS.glob(f"{int(name.partition('.')[0]):02}_*.ipynb")
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    code = [re.sub(r"^%.*", "", cell.source, flags=re.MULTILINE) for cell in cells]
    nodes = [node for cell in code for node in ast.parse(cell).body]
    found = {node.name: ast.unparse(node) for node in reversed(nodes) if getattr(node, "name", None) in wanted}
    return "\n".join(found[each] for each in wanted)


def answer(name, old, new):
    """The answer of the solution in which one piece of code is another."""
    code, found = solution(name), []
    assert old in code, f"the solution of {name} has no {old!r}"
    before, _, after = code.rpartition(old)
    names = {
        "check": lambda _, given: found.append(given),
        "math": math,
        "np": np,
        "Value": Value,
        "Tensor": Tensor,
        "Function": Function,
    }
    exec(definitions(name, *USES.get(name, ())) + "\n" + before + new + after, names)
    return found[-1]


WRONG = [
    ("0.1", "sum(x * y for x, y in zip(xs, ys, strict=True))", "sum(xs) * sum(ys)", "the product of the sums"),
    ("0.1", ", strict=True", "", "lists of lengths 3 and 2 give a number"),
    (
        "0.1",
        "sum(x * y for x, y in zip(xs, ys, strict=True))",
        "xs[-1] * ys[-1] if xs else 0",
        "the last product alone",
    ),
    ("0.1", "sum(x * y for x, y in zip(xs, ys, strict=True))", "None", "is a `return` missing?"),
    ("0.2", "lambda x: f(x + h)", "f(h)", "shifted returns a function"),
    ("0.2", "f(x + h)", "f(x) + h", "the h belongs inside the brackets"),
    ("0.2", "f(x + h)", "f(x - h)", "the h is added"),
    ("0.3", "return Point(self.x + other.x, self.y + other.y)", "return self", "one of the two points itself"),
    ("0.3", "return Point(", "self.x += other.x; return Point(", "has changed"),
    ("0.3", "self.y + other.y)", "self.y * other.y)", "yours is (4, 8)"),
    ("0.3", "return Point(self.x + other.x, self.y + other.y)", "return self.x + other.x, 6", "found the tuple (4, 6)"),
    ("0.4", "axis=0", "", "the mean of all numbers"),
    ("0.4", "axis=0", "axis=1, keepdims=True", "the mean of each row"),
    ("0.4", "return table - ", "table -= table.mean(axis=0); return table - ", "the argument has changed"),
    ("0.4", "table - table.mean(axis=0)", "table.mean(axis=0)", "yours has (3,)"),
    ("0.5", "(5,), (5,)", "(5, 3), (5,)", "the inner length, 3, vanishes"),
    ("0.5", "(5,), (5,), (3, 3)", "(5,), (3,), (3, 3)", "axis 1 is the one of length 3"),
    ("0.5", "(3, 3)]", "(3,)]", "whole rows are picked"),
    ("0.5", "[(5, 3), (5,), (5,), (3, 3)]", "5", "answer with a list of four tuples"),
    ("0.6", "head, *lines = [", "head, *lines = [(0, 'k,a,b')] + [", "that is no number"),
    ("0.6", " if line.strip()]", "]", "do blank lines count?"),
    ("0.6", "np.array(table).mean(axis=0).tolist()", "table[-1]", "the numbers of one row"),
    ("0.6", ".mean(axis=0)", ".sum(axis=0)", "those are the sums"),
    ("0.6", ".mean(axis=0)", ".mean(axis=1)", "those are the means of the rows"),
    ("0.6", '[cell.strip() for cell in line.split(",")]', 'line.split(",")', "strip the spaces"),
    ("0.6", "if len(cells) != columns - 1:", "if False:", "raise a ValueError"),
    ("0.6", "enumerate(text.splitlines(), 1)", "enumerate(text.splitlines())", "blank lines counted"),
    ("0.6", "return {kind: np", "return [kind for kind in rows] or {kind: np", "a dict from kinds to lists"),
    ("8.5", "of_w[0] -= kind * x / len(points)", "of_w[0] += kind * x / len(points)", "w and b should be"),
    (
        "8.5",
        "learning_rate * of_w[0], w[1] - learning_rate * of_w[1]]\n        b -=",
        "learning_rate * of_w[0], w[1] - learning_rate * of_w[1]]\n        b +=",
        "w and b should be",
    ),
    ("8.5", "2 * l2 * w[0], 2 * l2 * w[1]", "l2 * w[0], l2 * w[1]", "the slope of w**2 is 2 * w"),
    ("8.5", "2 * l2 * w[1]], 0.0", "2 * l2 * w[1]], 2 * l2 * b", "the bias got L2, too"),
    ("8.5", "< 1\n", "< 0\n", "all points are within the margin"),
    ("8.5", "if pushes(x, y, kind):", "if True:", "points beyond the margin push, too"),
    ("8.5", "[2 * l2 * w[0], 2 * l2 * w[1]]", "[0.0, 0.0]", "the L2 term is missing"),
    ("8.5", "if pushes(x, y, kind)]", "if not pushes(x, y, kind)]", "that do *not* push"),
    ("20.5", 'if symbol.text == "{} * {}" and any(ones):', "if False:", "a product with 1.0 is still there"),
    ("20.5", "operands[0] if ones[1] else operands[1]", "operands[1]", "x * 1.0 is no longer 0.5"),
    ("20.5", 'symbol.text == "{} * {}" and any(ones)', "any(ones)", "1.0 + x is no longer"),
    (
        "20.5",
        "known[key] = symbol if not operands else Symbol(",
        "known[key] = Symbol(",
        "the input is another object now",
    ),
    ("20.5", "key = (symbol.text, *operands)", "key = (symbol.text, symbol)", "two symbols compute the same"),
    (
        "23.5",
        'buffer = momentum * state["buffer"] + (1 - dampening) * g if "buffer" in state else g',
        'buffer = momentum * state.get("buffer", 0.0) + (1 - dampening) * g',
        "it was dampened, as if it had begun at 0",
    ),
    ("23.5", "(1 - dampening) * g", "g", "1 - dampening is missing"),
    ("23.5", "g + momentum * buffer if nesterov else buffer", "buffer", "with nesterov, g is added"),
    ("23.5", "gradient + weight_decay * parameter", "gradient", "there is no weight decay"),
    ("23.5", "return parameter - lr * g", "return parameter + lr * g", "uphill"),
    ("23.5", 'state["buffer"] = buffer', "pass", "is the buffer kept in state"),
    (
        "23.5",
        "g = gradient + weight_decay * parameter",
        "g = gradient; g += weight_decay * parameter",
        "has changed an argument",
    ),
    ("24.5", "np.sort(np.argsort(-np.abs(whole))[:k])", "np.argsort(-np.abs(whole))[:k]", "in rising order"),
    ("24.5", "-np.abs(whole)", "-whole", "may be negative"),
    ("24.5", "-np.abs(whole)", "-np.abs(gradient)", "add what was left first"),
    ("24.5", "    rest[places] = 0.0\n", "", "would be sent again"),
    (
        "24.5",
        "return places, whole[places], rest",
        "return places, gradient[places], rest",
        "the numbers are those of the gradient",
    ),
    ("24.5", "whole = gradient + left", "left += gradient; whole = left", "an argument has changed"),
    ("24.5", "whole[places] += numbers", "whole[places] = numbers", "the last one replaces the others"),
    ("1.5", "x - step * s", "x + step * s", "no lower than at the start"),
    ("1.5", "range(1500)", "range(20_000)", "the machine may run 20,000 times"),
    ("1.5", "range(1500)", "range(3)", "take more steps"),
    ("1.5", "return place", "return place[0]", "return a list with 1"),
    ("1.5", "if height < now:", "if True:", "the numbers explode"),
    ("2.4", "node.label or str(node.data)", "node.label", "a constant has no label"),
    ("2.4", "if not node._prev:", "if node.label or not node._prev:", "the sum has a label, but it is no leaf"),
    ("2.4", "({parts[0]} {node._op} {parts[1]})", "{parts[0]} {node._op} {parts[1]}", "brackets around each operation"),
    (
        "2.4",
        "{parts[0]} {node._op} {parts[1]}",
        "{parts[1]} {node._op} {parts[0]}",
        "the order of the operands matters",
    ),
    ("22.5", "(ctx.beta * x).softmax()", "x.softmax()", "right for beta = 1 alone"),
    ("22.5", "g * (ctx.beta * x)", "(ctx.beta * x)", "multiply by g"),
    ("22.5", "top = x.max()", "top = 0.0", "take out the largest before exp"),
    ("22.5", "g * (ctx.beta * x).softmax()", "g * Tensor((ctx.beta * x).softmax().data)", "the second order is wrong"),
    ("3.4", "+= product", "= product", "a is reached by two paths"),
    ("3.4", "value_of(right, values)))\n", "value_of(left, values)))\n", "passes on the *other* side's number"),
    ("3.4", "return found", "return None", "a dict with a slope"),
    (
        "4.4",
        "operand.grad += out.grad * slope",
        "operand.grad = out.grad * slope",
        "write += where the gradient arrives",
    ),
    ("4.4", "other if isinstance(other, Full) else Full(other)", "other", "-a does not work yet"),
    ("4.4", "n * self.data ** (n - 1)", "self.data ** (n - 1)", "in a / b, the gradient of b is"),
    ("4.4", "(e - 1.0) / (e + 1.0)", "e / (e + 1.0)", "a.tanh() is"),
    ("7.4", "2 * (out - kind)", "(out - kind)", "the slope of a square has a factor of 2"),
    ("7.4", "2 * (out - kind)", "2 * (kind - out)", "the sign, which is the answer minus the kind"),
    ("7.4", " * (1 - answer * answer)", "", "the slope of tanh"),
    ("7.4", "of_output[i] += ", "of_output[i] = ", "add up over the points"),
    ("12.5", "g - np.exp(logs) * g.sum(1, keepdims=True)", "g", "each score also moves the sum of its row"),
    ("12.5", "a.grad += g - np.exp", "a.grad = g - np.exp", "write +="),
    ("12.5", "a.data - a.data.max(1, keepdims=True)", "a.data", "subtract the largest of each row first"),
    ("12.5", "a.grad[rows, places] += g", "a.grad += g[:, None]", "pick sends its gradient to every column"),
    (
        "14.5",
        "build(setting, images[learn], digits[learn])",
        "build(setting, images, digits)",
        "that were learnt: split before",
    ),
    ("14.5", "digits[learn])", "digits[choose])", "could not be broadcast"),
    ("14.5", "rng.permutation(len(images))", "np.arange(len(images))", "draw with rng who goes where"),
    ("14.5", "accuracy(model, choose)", "accuracy(model, end)", "two parts are left"),
    ("14.5", "max(scores, key=scores.get)", "min(scores, key=scores.get)", "is right most often, not"),
    ("5.4", "if waiting:", "if False:", "raise a ValueError"),
    ("5.4", 'raise ValueError(f"{task!r} waits', "raise ValueError(f\"'end' waits", "which only waits for the circle"),
    ("5.4", 'raise ValueError(f"{task!r} waits', 'raise ValueError(f"it waits', "name a task of the circle"),
    ("5.4", "len(set(before))", "len(before)", "trying it raised StopIteration"),
    ("5.4", "return found", "return [task for each in found for task in each]", "a list of sets"),
    ("5.4", "return found", "return [{task} for each in found for task in each]", "can a task begin earlier?"),
    ("6.4", "range(61)", "range(1)", "got away"),
    ("6.4", "1e-4 * max(abs(x.grad), abs(nudged)) + 1e-12", "1e-6", "'huge' is innocent; its numbers are large"),
    ("6.4", "1e-4 * max(abs(x.grad), abs(nudged)) + 1e-12", "1e-3", "'huge' is innocent"),
    ("6.4", "+ 1e-12:", "+ 1e-3:", "'small' got away: its slopes are tiny"),
    ("6.4", "0.05 * (-1) ** step", "0.05", "'bend' got away: look at negative numbers too"),
    ("6.4", "return found", "return 5", "a set of names"),
    ("10.5", "-= 0.5 * slope", "+= 0.5 * slope", "does each step go against p - y?"),
    ("10.5", "- max(scores)", "", "OverflowError"),
    ("10.5", "part / sum(parts)", "part", "sum to 1; yours sum to"),
    ("10.5", "    return probabilities\n", "    return weights\n", "fit returns a function"),
    ("11.5", 'state["squares"] ** 0.5', "1.0", "after one step that is gradient descent"),
    ("11.5", 'state.get("squares", 0.0)', "0.0", "is `squares` kept in `state`?"),
    ("11.5", "self.keep * state", "0.9 * state", "with keep=0.5, step 1 is right"),
    ("11.5", ", keep=0.9):", "):\n        keep = 0.9", "must work: write an __init__ that passes keep on"),
    ("13.5", "if i != number", "", "both learnt and tested"),
    ("13.5", "np.random.default_rng(0).permutation(len(images))", "np.arange(len(images))", "shuffle first"),
    ("13.5", "digits[others]", "digits[np.sort(others)]", "no longer belong together"),
    ("13.5", "return found", "return found[:1]", "you built 5 and returned 1"),
    ("13.5", "return found", "return [1.0] * parts", "the accuracies should be"),
    (
        "15.5",
        "g_normed - g_normed.mean(1, keepdims=True) - normed * (g_normed * normed).mean(1, keepdims=True)",
        "g_normed",
        "both depend on x",
    ),
    ("15.5", "(g * normed).sum(0)", "(g * x).sum(0)", "multiplies the *normalized* x"),
    ("15.5", "g.sum(0)\n", "0 * g.sum(0)\n", "the gradient of bias is still 0"),
    ("15.5", "g.sum(0)\n", "g\n", "the gradient of bias has the shape (4, 6)"),
    (
        "16.6",
        "np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))",
        'np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), "wrap")',
        "on the other side",
    ),
    ("16.6", "size=(2, n))", "size=(2, 1)).repeat(n, 1)", "all images are moved alike"),
    (
        "16.6",
        "rng.integers(0, 3, size=(2, n))",
        "np.ones((2, n), int) * rng.integers(0, 3, size=n)",
        "draw rows and columns separately",
    ),
    ("16.6", "rng.integers(0, 3", "np.random.default_rng().integers(0, 3", "draw with rng alone"),
    ("21.5", "range(len(b))", "range(1)", "one product is too few"),
    ("21.5", "size / before * d", "before / size * d", "is the ratio new r @ r over old?"),
    ("21.5", "d = r + size / before * d", "d = r", "with 2 numbers the residual"),
    ("21.5", "Hd = times(d)", "Hd = times(times(d)) * 0 + times(d)", "keep times(d) in a variable"),
]
NAMES = sorted({name for name, *_ in WRONG}, key=lambda name: [*map(int, name.split("."))])


@pytest.mark.parametrize(("name", "old", "new", "hint"), WRONG)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_mistake_in_a_solution_is_named(name, old, new, hint, said):
    assert hint in said(name, answer(name, old, new))


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_itself_is_right_and_three_mistakes_are_known(name, said):
    assert said(name, answer(name, "check(", "check(")) == f"{name}  ✓ right"
    assert len({hint for known, _, _, hint in WRONG if known == name}) >= 3
