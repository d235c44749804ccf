"""The page of code: its size, its own examples, and that it computes what the package does, to the last bit."""

import doctest
import math
import random
import re
import struct

import pytest
from demo_helpers import DEMOS, demo_module
from hypothesis import given
from hypothesis import strategies as st

from micrograd import Value, nn

PATH = DEMOS / "one_page.py"
SOURCE = PATH.read_text(encoding="utf-8")
page = demo_module("one_page")
README = (DEMOS.parent / "README.md").read_text(encoding="utf-8")


def bits(numbers) -> bytes:
    """The numbers as bytes, which tell 0.0 from -0.0."""
    numbers = list(numbers)
    return struct.pack(f"{len(numbers)}d", *numbers)


def test_examples_of_the_page_run():
    assert doctest.testmod(page).failed == 0


def test_one_page_needs_nothing_but_the_standard_library():
    assert re.findall(r"^(?:import|from) (\w+)", SOURCE, re.MULTILINE) == ["math", "random"]


# ---------------------------------------------------------------------------------------------------------------------
# What one writes with it


def test_first_example_of_the_readme_runs_on_it():
    example = re.search(r"^>>> from micrograd import Value\n(.*?)\n\n", README, re.DOTALL | re.MULTILINE)[1]
    test = doctest.DocTestParser().get_doctest(example + "\n", {"Value": page.Value}, "README", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test) == (0, len(test.examples))


def test_one_page_goes_back_by_hand_as_in_the_lectures():
    def visit(node):
        if node not in order:
            for operand in node._prev:
                visit(operand)
            order.append(node)

    order, (a, b) = [], map(page.Value, (-4.0, 2.0))
    root = (a * b + b**3).relu() * a - a / b
    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        node._backward()
    by_hand = a.grad, b.grad
    a.grad = b.grad = 0.0
    root.backward()
    assert (a.grad, b.grad) == by_hand


OPS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if abs(b.data) > 1e-3 else b,
    "2 -": lambda a, b: 2 - a,
    "1 /": lambda a, b: 1 / b if abs(b.data) > 1e-3 else a,
    "neg": lambda a, b: -a,
    "**2": lambda a, b: a**2,
    "**3": lambda a, b: a**3 if abs(a.data) < 1e3 else a,
    "**-1": lambda a, b: a**-1 if abs(a.data) > 1e-3 else a,
    "exp": lambda a, b: a.exp() if abs(a.data) < 5 else a,
    "tanh": lambda a, b: a.tanh(),
    "relu": lambda a, b: a.relu(),
}
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30
)
NUMBERS = st.lists(st.floats(-4, 4), min_size=3, max_size=3)


def program(V, numbers, steps):
    """The leaves, and the last of the steps, each of which computes a number of those before it."""
    leaves = [V(x) for x in numbers]
    found = list(leaves)
    for op, i, j in steps:
        found.append(OPS[op](found[i % len(found)], found[j % len(found)]))
    return leaves, found[-1]


@given(NUMBERS, STEPS)
def test_two_passes_of_any_program_leave_the_bits_that_the_package_leaves(numbers, steps):
    leaves, out = program(page.Value, numbers, steps)
    their_leaves, their_out = program(Value, numbers, steps)
    for _ in range(2):
        out.backward()
        their_out.backward()
        assert bits([out.data, out.grad]) == bits([their_out.data, their_out.grad])
        assert bits(v.grad for v in leaves) == bits(v.grad for v in their_leaves)


def steps_of_training(MLP, activation, steps=3):
    """The losses of the classic's training, and the parameters after it, with their gradients."""
    random.seed(1337)
    model = MLP(2, [4, 4, 1], activation=activation)
    points = [((random.uniform(-1, 1), random.uniform(-1, 1)), (-1) ** i) for i in range(20)]
    for _ in range(steps):
        losses = [(1 + -label * model(point)).relu() for point, label in points]
        loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= 0.5 * p.grad
        yield loss.data
    yield from (x for p in model.parameters() for x in (p.data, p.grad))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_steps_of_training_leave_the_bits_that_the_package_leaves(activation):
    ours = list(steps_of_training(page.MLP, activation))
    assert len(ours) == 3 + 2 * 37
    assert bits(ours) == bits(steps_of_training(nn.MLP, activation))


# ---------------------------------------------------------------------------------------------------------------------
# What a page that people start from should not do


def test_graph_may_be_deep():
    x = y = page.Value(1.0)
    for _ in range(20_000):
        y = y + 1
    y.backward()
    assert x.grad == 1.0


@pytest.mark.parametrize("a", [800.0, -1e300, math.inf])
def test_tanh_far_out_has_no_slope(a):
    x = page.Value(a)
    y = x.tanh()
    y.backward()
    assert (y.data, x.grad) == (math.copysign(1.0, a), 0.0)


def test_relu_lets_a_nan_through():
    x = page.Value(math.nan)
    y = x.relu()
    y.backward()
    assert math.isnan(y.data)
    assert x.grad == 1.0


def test_wrong_number_of_inputs_raises():
    with pytest.raises(ValueError, match=r"shorter|longer"):
        page.Neuron(3)([1.0, 2.0])
