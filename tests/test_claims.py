"""What README.md and CONTRIBUTING.md claim, checked: counts, names, tables, commands, lists."""

import ast
import doctest
import importlib.util
import math
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from proofread import section
from test_layering import PACKAGE, ROOMS

import micrograd
from micrograd import Tensor, Value, functional, nn, optim, viz
from micrograd.nn import layers

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("use", "see", "install", "from_classic")
}
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def block(text):
    """The first block of code."""
    return re.search(r"^```.*?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


def rows(text):
    """The cells of a table, without its head."""
    table = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in table[2:]]


# ---------------------------------------------------------------------------------------------------------------------
# Commands, counts, lists


def test_the_commands_without_make_are_those_of_make():
    commands = (
        block(section(GUIDES["install"], "Without make")).replace("\\", "/").replace(".venv/Scripts/", "").splitlines()
    )
    plain = MAKEFILE.replace("$(BIN)/", "").replace("python -m ruff", "ruff")
    for tool in ("demos/moons.py", "ruff check .", "pyright"):
        assert any(command.endswith(tool) for command in commands)
        assert tool in plain
    extras = re.findall(r"\[(\w+)\]", " ".join(commands))
    assert {*extras} <= {*PROJECT["optional-dependencies"]}


def test_python_is_as_new_as_is_said():
    assert f"Python {PROJECT['requires-python'].removeprefix('>=')} or newer" in README
    assert f"called `{PROJECT['name']}`" in GUIDES["install"]


def test_there_are_as_many_lessons_as_is_said_from_the_first_to_the_last():
    lessons = sorted((ROOT / "demos" / "lessons").glob("*.ipynb"))
    assert len(lessons) == 1 + 25  # the first tests what one knows
    assert README.count("twenty-five lessons") == 1
    assert "00_the_python_that_you_need" in lessons[0].name
    assert "25_kill_the_mutant" in lessons[-1].name


# ---------------------------------------------------------------------------------------------------------------------
# The API by task

SPAN = re.compile(r"`([^`]+)`")


def test_what_the_table_of_the_api_says_to_write_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = Tensor([2.0, 3.0], requires_grad=True)
    model = nn.Linear(2, 1)
    loss = lambda x: (model(x) ** 2).sum()  # noqa: E731
    names = {name: getattr(home, name) for home in (nn, optim, functional, viz, micrograd) for name in dir(home)}
    names |= {"model": model, "loss": loss, "x": x, "t": Tensor(np.eye(2)), "u": x, "f": lambda x: (x * x).sum()}
    names |= {"np": np, "out": Value(1.0, (Value(1.0),)), "state_dict": model.state_dict}
    names |= {"optimizer": optim.SGD(model.parameters(), lr=0.1), "step": 20, "params": [x], "total": lambda flat: flat}
    names |= {"rank": 0, "workers": 2, "path": "run.safetensors"}
    names["load_state_dict"] = lambda: model.load_state_dict(model.state_dict())
    wanted = SPAN.findall(" ".join(row[1] for row in rows(section(GUIDES["use"], "By task"))))
    wanted.remove(".grad")
    assert len(wanted) > 50
    for span in wanted:
        names["y"] = (x * x).sum()
        if ".onnx" in span:
            if importlib.util.find_spec("onnx") is None:
                continue
            names["f"](x)
        code = span.replace("SGD(...)", "SGD(model.parameters(), lr=0.1)")
        code = (
            code.replace("batches(x, y", "batches(x, x.data")
            .replace("[t, u]", "[t, t]")
            .replace("{...}", "{'model': model}")
        )
        code = "y.backward(create_graph=True)" if span == "create_graph=True" else code
        if "onnx" in span and find_spec("onnx") is None:
            continue
        exec(code.replace(":", ": pass") if span.endswith(":") else code, names)
        if span == "f = compile(model)":  # "call it under `no_grad`"
            exec("with no_grad(): f(x.data)", names)


# ---------------------------------------------------------------------------------------------------------------------
# How it differs from the classic: a check for each row of the table


def data():
    assert type(Value(2).data) is float
    for wrong in (True, "2", 2j, None, np.ones(2)):
        with pytest.raises(TypeError):
            Value(wrong)


def a_number_in_an_expression():
    x = Value(2.0)
    y = x * 3
    y.backward()
    _, three = y._prev
    assert (three.requires_grad, three.grad) == (False, 0)


def prev():
    x, y = Value(2.0), Value(3.0)
    assert (y + x)._prev == (y, x)
    assert (x * x)._prev == (x, x)


def one_node_each():
    a, b = Value(1.0), Value(3.0)
    assert ((-a)._prev, (a - b)._prev, (a / b)._prev) == ((a,), (a, b), (a, b))
    assert (Value(5.0) / Value(49.0)).data == 5.0 / 49.0 != 5.0 * 49.0**-1


def a_second_backward():
    x = Value(3.0)
    y = x * x
    z = 2 * y
    z.backward()
    z.backward()
    assert (x.grad, y.grad) == (24.0, 2.0)


def backward_closure():
    x = Value(3.0)
    y = x * x
    assert not any(callable(getattr(y, name, None)) for name in ("_a", "_b", "_x", "_y"))
    y.grad = 1.0
    y._backward()
    assert x.grad == 6.0
    called = []
    y._backward = lambda: called.append(1)
    y.backward()
    assert called == [1]


def a_wrong_input_length():
    with pytest.raises(ValueError, match=r"3.*2|2.*3"):
        nn.Neuron(3)([1.0, 2.0])


def a_deep_graph():
    x = y = Value(1.0)
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    assert x.grad == 1.0


def division_by_zero():
    assert (Value(1.0) / 0.0).data == math.inf == Value(1e300).exp().data
    assert math.isnan((Value(0.0) / 0.0).data)


def an_exception_in_backward():
    x = Value(2.0)
    first = x * x
    bad = Value(1.0, (first,))
    bad._backward = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        (bad + first + x).backward()
    assert (x.grad, first.grad) == (0, 0)


DIFFERENCES = {
    "`data`": data,
    "a number in an expression": a_number_in_an_expression,
    "`_prev`": prev,
    "`-a`, `a - b`, `a / b`": one_node_each,
    "a second `backward()`": a_second_backward,
    "`_backward`": backward_closure,
    "a wrong input length": a_wrong_input_length,
    "a deep graph": a_deep_graph,
    "division by zero, overflow": division_by_zero,
    "an exception in `backward()`": an_exception_in_backward,
}


@pytest.mark.parametrize("row", [row[0] for row in rows(section(GUIDES["from_classic"], "What differs, on purpose"))])
def test_it_differs_from_the_classic_as_the_table_says(row):
    DIFFERENCES[row]()


def test_it_differs_from_pytorch_as_is_said():
    x = Value(3.0)
    y = x * x
    y.backward()
    y.backward()  # the graph is kept
    assert x.requires_grad
    assert y.grad == 1.0
    t = Tensor([1.0], requires_grad=True)
    assert not Tensor([1.0]).requires_grad
    total = (t * t).sum()
    total.backward()
    assert total.grad is None
    assert type(t.grad) is np.ndarray
    with pytest.raises(RuntimeError):
        total.backward()
    with pytest.raises(AttributeError, match="reshape"):
        t.view(1)
    with pytest.raises(TypeError, match="axis"):
        t.sum(dim=0)


# ---------------------------------------------------------------------------------------------------------------------
# Pictures and programs


def test_the_network_that_is_shown_folded_has_as_many_parameters_as_is_said():
    assert f"a network of {len(nn.MLP(2, [16, 16, 1]).parameters())} parameters" in GUIDES["see"]


def test_the_animation_has_no_script_and_the_film_loads_nothing():
    x = Value(2.0)
    assert "<script" not in viz.animate(x * x).svg
    film = viz.movie(nn.MLP(2, [1]), [[0.0, 1.0], [1.0, 0.0]], [-1, 1])
    film.frame(0.5)
    assert not re.search(r"(src|href)=.?(https?:|/|\.)", str(film.page()))


def test_the_film_shows_a_network_that_learns_when_the_page_is_typed_in_order():
    names = {}
    for example in doctest.DocTestParser().get_examples(GUIDES["see"]):
        if "+SKIP" not in example.source:
            exec(example.source, names)
    frames = names["film"].frames
    assert frames[-1].loss < frames[0].loss / 2


def test_the_drawings_and_the_table_of_budgets_are_those_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import refresh

    for path, text in refresh.shown().items():
        assert path.read_text(encoding="utf-8") == text, "run docs/refresh.py"


def test_the_command_line_has_the_options_that_are_named():
    run = lambda *words: subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT).stdout  # noqa: E731
    said = run("-m", "micrograd", "--help")
    assert all(word in said for word in ("-o", "--open", ".svg", ".html", ".dot", ".png", "demo"))
    pytest.importorskip("tqdm")
    said = run("demos/microgpt.py", "--help")
    assert all(word in said for word in ("--engine", "value", "tensor", "compiled", "--player"))


def test_it_is_as_much_faster_than_the_classic_as_was_measured():
    measured = [row for row in rows((ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")) if len(row) > 4]
    eager = [row for row in measured if row[1] == "default" and "classic" in row[3] and "compiled" not in row[0]]
    ratios = [float(re.match(r"\*\*([\d.]+)\*\* times", row[4])[1]) for row in eager if "times" in row[4]]
    assert f"{min(ratios):.0f} to {max(ratios):.0f} times as fast" in README


# ---------------------------------------------------------------------------------------------------------------------
# CONTRIBUTING.md


def test_the_figure_of_the_layers_has_each_room_above_those_that_it_uses():
    floors = block(section(CONTRIBUTING, "How it hangs together")).splitlines()
    names = {name.split(".")[0] for name in ROOMS}
    floor = {name: next(i for i, line in enumerate(floors) if re.search(rf"\b{name}(/|\.py)", line)) for name in names}
    for room, (used, _) in ROOMS.items():
        assert all(floor[room.split(".")[0]] <= floor[other.split(".")[0]] for other in used)


def test_the_examples_of_contributing_are_code_of_the_package_or_could_be():
    examples = re.findall(r"^```python\n(.*?)^```", CONTRIBUTING, re.DOTALL | re.MULTILINE)
    sources = [bare(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    new = [example for example in examples if not any(bare(example) in source for source in sources)]
    assert [example.partition("(")[0] for example in new] == ["class LeakyReLU"]
    exec(new[0], names := {**vars(layers)})
    layer = names["LeakyReLU"](0.5)
    assert (layer([-2.0, 2.0]).tolist(), repr(layer)) == ([-1.0, 2.0], "LeakyReLU(negative_slope=0.5)")


def bare(code):
    """Code without docstrings, comments and blanks, in one form."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return ast.unparse(tree).replace("  ", "")
