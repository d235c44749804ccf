"""What README.md and CONTRIBUTING.md claim, checked: counts, names, tables, commands, lists."""

import ast
import doctest
import importlib.util
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
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


def test_commands_without_make_are_those_of_make():
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


# ---------------------------------------------------------------------------------------------------------------------
# The API by task

SPAN = re.compile(r"`([^`]+)`")


def test_table_of_the_api_runs(tmp_path, monkeypatch):
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
# How it differs from the classic: the tests of each row of the table

DIFFERENCES = {
    "`data`": ["engine/test_engine.py::test_data_is_a_plain_float", "engine/test_engine.py::test_wrong_input_raises"],
    "a number in an expression": ["engine/test_engine.py::test_number_among_the_operands_is_a_constant"],
    "`_prev`": ["engine/test_engine.py::test_operands_are_kept_in_order_and_repeats_too"],
    "`-a`, `a - b`, `a / b`": [
        "engine/test_ops.py::test_each_op_is_one_node",
        "engine/test_engine.py::test_number_may_stand_on_either_side",
    ],
    "a second `backward()`": [
        "test_promises.py::test_backward_twice_adds_the_right_amount",
        "engine/test_backward.py::test_inner_grads_are_those_of_the_last_pass_alone",
    ],
    "`_backward`": [
        "engine/test_hand_written.py::test_backward_of_one_node_called_by_hand_adds_to_its_operands",
        "engine/test_hand_written.py::test_closure_may_replace_that_of_a_built_in_op",
        "engine/test_memory.py::test_nodes_die_by_reference_count",
    ],
    "a wrong input length": ["nn/test_nn.py::test_wrong_number_of_inputs_names_both_lengths"],
    "a deep graph": ["engine/test_memory.py::test_chain_of_a_million_nodes_works"],
    "division by zero, overflow": ["engine/test_ops.py::test_ops_raise_for_no_input_and_no_gradient"],
    "an exception in `backward()`": ["engine/test_failure.py::test_pass_that_fails_leaves_every_grad_as_it_was"],
}


def test_each_difference_from_the_classic_has_tests():
    table = rows(section(GUIDES["from_classic"], "What differs, on purpose"))
    assert [row[0] for row in table] == [*DIFFERENCES]
    for path, name in (test.split("::") for tests in DIFFERENCES.values() for test in tests):
        assert f"def {name}" in (Path(__file__).parent / path).read_text(encoding="utf-8"), name


# ---------------------------------------------------------------------------------------------------------------------
# Pictures and programs


def test_network_that_is_shown_folded_has_as_many_parameters_as_is_said():
    assert f"a network of {len(nn.MLP(2, [16, 16, 1]).parameters())} parameters" in GUIDES["see"]


def test_animation_has_no_script_and_the_film_loads_nothing():
    x = Value(2.0)
    assert "<script" not in viz.animate(x * x).svg
    film = viz.movie(nn.MLP(2, [1]), [[0.0, 1.0], [1.0, 0.0]], [-1, 1])
    film.frame(0.5)
    assert not re.search(r"(src|href)=.?(https?:|/|\.)", str(film.page()))


def test_film_shows_a_network_that_learns_when_the_page_is_typed_in_order():
    names = {}
    for example in doctest.DocTestParser().get_examples(GUIDES["see"]):
        if "+SKIP" not in example.source:
            exec(example.source, names)
    frames = names["film"].frames
    assert frames[-1].loss < frames[0].loss / 2


def test_drawings_and_the_table_of_budgets_are_those_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import refresh

    for path, text in refresh.shown().items():
        assert path.read_text(encoding="utf-8") == text, "run docs/refresh.py"


def test_speed_beside_the_classic_is_as_was_measured():
    measured = [row for row in rows((ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")) if len(row) > 4]
    eager = [row for row in measured if row[1] == "default" and "classic" in row[3] and "compiled" not in row[0]]
    ratios = [float(re.match(r"\*\*([\d.]+)\*\* times", row[4])[1]) for row in eager if "times" in row[4]]
    assert f"{min(ratios):.0f} to {max(ratios):.0f} times as fast" in README


# ---------------------------------------------------------------------------------------------------------------------
# CONTRIBUTING.md


def test_figure_of_the_layers_has_each_room_above_those_that_it_uses():
    floors = block(section(CONTRIBUTING, "How it hangs together")).splitlines()
    names = {name.split(".")[0] for name in ROOMS}
    floor = {name: next(i for i, line in enumerate(floors) if re.search(rf"\b{name}(/|\.py)", line)) for name in names}
    for room, (used, _) in ROOMS.items():
        assert all(floor[room.split(".")[0]] <= floor[other.split(".")[0]] for other in used)


def test_examples_of_contributing_are_code_of_the_package_or_could_be():
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
