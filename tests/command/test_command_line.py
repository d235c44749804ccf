"""The command line: what it prints, writes and refuses, as somebody at a terminal sees it."""

import ast
import math
import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micrograd.command.expression import FUNCTIONS, assignments, build
from micrograd.command.main import main
from micrograd.command.report import pointed, table
from micrograd.scalars import ops

ROOT = Path(__file__).parents[2]
NEURON = ["tanh(x1*w1 + x2*w2 + b)", "x1=2", "w1=-3", "x2=0", "w2=1", "b=6.88"]


@pytest.fixture
def micrograd(capsys, monkeypatch):
    """Run the command line here; gives (exit code, stdout, stderr)."""
    monkeypatch.setattr(sys, "argv", ["micrograd"])  # a demo is run with others, and from its own folder
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(*words):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return run


def computed(text, **numbers):
    """The root of an expression after its backward pass."""
    out = build(text, numbers)
    out.backward()
    return out


# ------------------------------------------------------------------------------------------------ what it prints
def test_table_is_that_of_the_guide_and_needs_neither_numpy_nor_graphviz():
    """Letter by letter, from the line that the guide has."""
    section = (ROOT / "docs" / "use.md").read_text(encoding="utf-8").partition("## From the command line")[2]
    line, shown = [block.partition("\n")[2] for block in section.split("```")[1:4:2]]
    code = "import sys; sys.modules['numpy'] = sys.modules['graphviz'] = None; from micrograd.command.main import main"
    command = [sys.executable, "-c", f"{code}; sys.exit(main({shlex.split(line)[3:]!r}))"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.stdout, done.stderr) == (shown, "")


def test_narrow_terminal_gets_the_derivatives_below_each_other():
    out = computed("x*y", x=2.0, y=3.0)
    assert max(map(len, table(out, width=50).splitlines())) <= 50 < max(map(len, table(out).splitlines()))
    assert [line.split()[-3] for line in table(out, width=50).splitlines()[-2:]] == ["dout/dx", "dout/dy"]


def test_table_on_a_terminal_has_a_real_minus_sign_and_partial_derivatives():
    out = computed("-x", x=2.0)
    assert "dout/dx = −1.0000" in table(out, typographic=True)
    assert table(out).isascii()


def test_wide_letters_keep_the_columns_aligned():
    _, first, second, _ = table(computed("重*x", 重=2.0, x=3.0)).splitlines()
    assert len(second) - len(first) == 1  # 重 is one letter, two columns wide


def test_step_is_called_by_its_expression_and_a_long_one_by_a_name_that_the_user_did_not_give():
    out = computed("v1*out*2 + 1234567*(v1 + out)", v1=1.0, out=2.0)
    titles = [line[:19].strip() for line in table(out).splitlines()[1:]]
    assert titles == ["v1", "out", "v1*out", "v1*out*2", "v1 + out", "1.23457e+06*(v1 + o", "v2"]


def test_expression_of_numbers_has_a_value_and_no_table(micrograd):
    assert micrograd("1/3 + 0*pi") == (0, "1/3 + 0*pi = 0.3333333333333333\n", "")


@pytest.mark.skipif(sys.getfilesystemencoding() == "ascii", reason="no locale with such letters")
def test_table_is_ascii_where_letters_are_lacking():
    command = [sys.executable, "-m", "micrograd", "θ*2", "θ=3"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "?*2 = 6.0")


def test_reader_who_stops_early_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "micrograd", *NEURON]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, timeout=60)
    os.close(writer)
    assert done.stderr == b""


# ------------------------------------------------------------------------------------------------ what may be written
NUMBERS = st.floats(-1e3, 1e3).map(abs).map(repr)
EXPRESSIONS = st.recursive(
    st.one_of(NUMBERS, st.sampled_from("xyz")),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["**2", "**3", "**-1", " + -1 * 2 ** 0.5"])).map(lambda t: f"({t[0]}{t[1]})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS, st.tuples(*[st.floats(-10, 10)] * 3))
def test_random_expression_is_worth_what_python_says(text, point):
    numbers = dict(zip("xyz", point, strict=True))
    try:
        expected = eval(text, {}, numbers)
    except ArithmeticError:
        expected = None  # IEEE's inf or nan here: a division by zero, or an overflow
    found = build(text, numbers).data
    assert expected is None or found == expected or (math.isnan(expected) and math.isnan(found))


TOKENS = [*"x2+-*/()[]{},.:=#@^'\\é重 ", "**", "1e3", "sin", "maximum", "if", "else", "lambda", "not"]


@given(st.text(max_size=30) | st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
def test_any_text_is_an_expression_or_refused_in_one_line(text):
    try:
        build(text, {"x": 1.0})
    except SyntaxError as caught:
        error = caught
    else:
        return
    assert len(error.msg.splitlines()) == 1
    assert 1 <= error.offset <= len(error.text) + 1


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function_gives_a_node_that_a_gradient_flows_through(name):
    binary = name == "pow" or (name in ops.PUBLIC and ops.PUBLIC[name].to_b is not None)
    assert computed(f"{name}({'x, 2' if binary else 'x'})", x=0.5)._prev[0].label == "x"


@pytest.mark.parametrize(
    ("text", "numbers", "worth"),
    [
        ("1_000 + 0x10 + 1e3 + .5 + 5.", {}, 2021.5),
        ("x % y + 7 // 2", {"x": 7.5, "y": 2.0}, 4.5),
        ("1e400", {}, math.inf),
        ("1" + "0" * 400, {}, math.inf),
        ("9**9**9**9", {}, math.inf),
        ("e*pi*π", {}, math.e * math.pi * math.pi),
        ("e", {"e": 2.0}, 2.0),
        ("sin(sin)", {"sin": 1.0}, math.sin(1.0)),
        ("x−y×2", {"x": -3.0, "y": 1.0}, -5.0),  # the signs that drawings show
        ("θ*𝑥", {"θ": 2.0, "x": 4.0}, 8.0),  # Python reads the mathematical x as an x
        ("+".join(["x"] * 900), {"x": 2.0}, 1800.0),
    ],
    ids=lambda text: str(text)[:30],
)
def test_numbers_names_and_signs_are_read_as_in_python_and_in_drawings(text, numbers, worth):
    assert build(text, numbers).data == worth


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000 + "x" + ")" * 10_000, "+".join(["1"] * 200_000), "-" * 100_000 + "x", "2**" * 100_000 + "2",
     "sin(" * 10_000 + "x" + ")" * 10_000, "1" * 5000],
    ids=["brackets", "sums", "minuses", "powers", "calls", "digits"],
)  # fmt: skip
def test_expression_too_deep_for_the_parser_is_refused_in_one_line(text):
    with pytest.raises(SyntaxError) as caught:
        build(text, {"x": 1.0})
    assert len(caught.value.msg.splitlines()) == 1


def test_value_is_a_number_or_an_expression_of_numbers():
    expected = {"x": -10.0, "y": math.pi / 2, "z": -math.inf, "w": -3.0}
    assert assignments(["x=-1_0", "y=pi/2", "z=-inf", "w=−3"]) == expected


# ------------------------------------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("x^2", "x^2", "written **"),
        ("x + y", "y", "y has no value: write a number, or add y=1.0"),
        ("é*é + x", "é", "é has no value"),
        ("x + xs", "xs", "did you mean x?"),
        ("sin()", "sin()", "takes 1 operand, found 0"),
        ("maximum(x)", "maximum(x)", "takes 2 operands, found 1"),
        ("leaky_relu(x, 1, 2)", "leaky_relu(x, 1, 2)", "takes 1 or 2 operands, found 3"),
        ("max(x, 2)", "max(x, 2)", "did you mean maximum?"),
        ("x(2)", "x(2)", "a product needs its sign"),
        ("2(x)", "2(x)", "a product needs its sign"),
        ("2x", "2", "a product needs its sign"),
        ("2 x", "x", "a product needs its sign"),
        ("x +", "", "a sign a number on both sides"),
        ("(x", "(", "never closed"),
        ("", "", "empty"),
        ("y = x", "=", "no '='"),
        ("x == 2", "x == 2", "comparison"),
        ("x, 2", "x, 2", "only real numbers"),
        ("x.tanh()", "x.tanh()", "such as tanh(x)"),
        ("leaky_relu(x, slope=1)", "leaky_relu(x, slope=1)", "only real numbers"),
        ("leaky_relu(x, x)", "leaky_relu(x, x)", "slope of leaky_relu is a plain number"),
        ("relu(*x)", "*x", "only real numbers"),
        ("lambda*x", "", "invalid syntax"),
        ("'x'", "'x'", "only real numbers"),
        ("True", "True", "only real numbers"),
        ("2j", "2j", "only real numbers"),
        ("(lambda: x)()", "(lambda: x)()", "only real numbers"),  # nothing is ever run as Python
        ("__import__('os')", "__import__('os')", "no function __import__"),
        ("x²", "²", "invalid character"),
    ],
)
def test_mistake_in_an_expression_is_pointed_at(text, at, said):
    with pytest.raises(SyntaxError) as caught:
        build(text, {"x": 1.0})
    error = caught.value
    assert said in error.msg
    assert error.text[error.offset - 1 : error.end_offset - 1] == at


@pytest.mark.parametrize(
    ("words", "column", "said"),
    [
        ("x", 1, "write name=number"),
        ("x=", 1, "write name=number"),
        ("=2", 1, "cannot be a name"),
        ("2=2", 1, "cannot be a name"),
        ("lambda=2", 1, "cannot be a name"),
        ("x=two", 1, "two has no value: write a number"),
        ("x=2*(3", 3, "never closed"),
        ("x=1 y=2 x=3", 1, "x is set twice"),
    ],
)
def test_mistake_in_a_number_is_pointed_at(words, column, said):
    with pytest.raises(SyntaxError, match=said) as caught:
        assignments(words.split())
    assert caught.value.offset == column


def test_mistake_is_shown_with_a_caret_below_it(micrograd):
    code, out, err = micrograd("tanh(x*w + b)", "x=1", "b=2")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "  tanh(x*w + b)",
        "         ^",
        "python -m micrograd: column 8: w has no value: write a number, or add w=1.0",
    ]


def test_long_expression_is_shown_around_its_mistake():
    line, carets = pointed("1 + " * 500 + "y" + " + 1" * 500, 2000, 2001, 60).splitlines()
    assert len(line) <= 60
    assert line[carets.index("^")] == "y"


def test_number_that_is_not_used_is_named(micrograd):
    code, out, err = micrograd("x*2", "x=1", "y=2", "z=3")
    assert (code, err) == (0, "note: the expression does not use y, z\n")
    assert "x*2 = 2.0" in out


@pytest.mark.parametrize("text", ["-x", "-x**2", "--x", "-h*0 - x", "-o**0 * x"])
def test_expression_may_begin_with_a_minus_sign(micrograd, text):
    code, out, _ = micrograd(text, "x=-2", "h=1", "o=1")
    assert code == 0
    assert float(out.splitlines()[0].split(" = ")[1]) == eval(text, {}, {"x": -2, "h": 1, "o": 1})


@pytest.mark.parametrize("words", [("x", "x=1", "--opne"), ("x", "x=1", "-o", "x.pdf"), ("x", "x=1", "-o")])
def test_wrong_use_exits_with_2_and_says_how_to(micrograd, words):
    code, out, err = micrograd(*words)
    assert (code, out) == (2, "")
    assert err.startswith("usage: python -m micrograd")


def test_help_names_every_function_in_letters_that_any_terminal_has(micrograd):
    code, out, err = micrograd("--help")
    assert (code, err) == (0, "")
    assert out.isascii()
    assert all(f" {name}" in out for name in (*FUNCTIONS, "-o", "--open", ".svg", ".html", ".dot", ".png", "demo"))


# ------------------------------------------------------------------------------------------------ what it writes
def test_output_is_drawing_source_or_player_and_open_shows_those_that_a_browser_can(micrograd, tmp_path, monkeypatch):
    svg, dot, html = (tmp_path / name for name in ("a neuron.SVG", "neuron.dot", "neuron.html"))
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda url: shown.append(url) or True)
    code, out, _ = micrograd(*NEURON, "-o", str(svg), f"-o{dot}", "-o", str(html), "--open")
    assert code == 0
    assert out.splitlines()[-3:] == [f"wrote {path}" for path in (svg, dot, html)]
    assert shown == [svg.as_uri(), html.as_uri()]
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert dot.read_text(encoding="utf-8").startswith("digraph {")
    assert all(label in dot.read_text(encoding="utf-8") for label in ("w1", "out", "grad 0.5010"))
    assert html.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_output_is_a_png_where_the_package_is_and_else_says_how_to_get_it(micrograd, tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    if find_spec("resvg_py"):
        assert micrograd("x*2", "x=1", "-o", str(path))[0] == 0
        assert path.read_bytes().startswith(b"\x89PNG")
        path.unlink()
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    code, _, err = micrograd("x*2", "x=1", "-o", str(path))
    assert code == 1
    assert "pip install resvg-py" in err
    assert not path.exists()


def test_place_that_cannot_be_written_to_is_named(micrograd, tmp_path):
    code, _, err = micrograd("x*2", "x=1", "-o", str(tmp_path / "nowhere" / "x.html"))
    assert code == 1
    assert "nowhere" in err
    assert len(err.splitlines()) == 1


def test_machine_without_a_browser_says_so(micrograd, tmp_path, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    code, _, err = micrograd("x*2", "x=1", "-o", str(tmp_path / "x.svg"), "--open")
    assert (code, err) == (1, "python -m micrograd: no program was found that shows it: open the file yourself\n")


def test_command_line_without_a_word_shows_the_neuron_of_the_readme(micrograd, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda url, *_: shown.append(url) or True)
    code, out, _ = micrograd()
    assert (code, len(shown)) == (0, 1)
    assert out == micrograd(*NEURON)[1]


# ------------------------------------------------------------------------------------------------ demos, page, grading
DEMOS = sorted(path.stem for path in (ROOT / "demos").glob("*.py") if path.stem != "one_page")


@pytest.mark.parametrize(
    ("seed", "code", "said"), [("7", 0, "to be found was -3.0"), ("-1", 2, "--seed must not be below 0, found -1")]
)
def test_demo_gets_the_rest_of_the_line_and_keeps_its_exit_code(micrograd, seed, code, said):
    found, out, err = micrograd("demo", "linear_regression", "--seed", seed)
    assert found == code
    assert said in out + err


def test_demos_are_listed_with_what_they_show(micrograd):
    code, out, _ = micrograd("demo")
    assert code == 0
    listed = {words[0]: words[1:] for words in map(str.split, out.splitlines()[2:])}
    assert sorted(listed) == DEMOS
    for name in DEMOS:
        tree = ast.parse((ROOT / "demos" / f"{name}.py").read_text(encoding="utf-8"))
        assert " ".join(listed[name]) == ast.get_docstring(tree).splitlines()[0]


def test_unknown_demo_is_answered_with_those_there_are(micrograd):
    code, out, err = micrograd("demo", "moon")
    assert (code, out) == (2, "")
    assert err == f"python -m micrograd: there is no demo 'moon'; there are {', '.join(DEMOS)}\n"


@pytest.mark.parametrize("words", [("demo", "moons"), ("page",), ("grade", "in")])
def test_demo_says_where_there_are_none(micrograd, monkeypatch, tmp_path, words):
    monkeypatch.setattr("micrograd.command.main.FOLDERS", (tmp_path,))
    code, out, err = micrograd(*words)
    assert (code, out) == (1, "")
    assert f"is in none of {tmp_path}: run this in a checkout" in err


def test_page_is_printed_as_it_stands(micrograd):
    text = (ROOT / "demos" / "one_page.py").read_text(encoding="utf-8")
    assert micrograd("page") == (0, text, "")


def test_folder_is_graded_by_the_course(micrograd, tmp_path):
    code, _, err = micrograd("grade", str(tmp_path / "nowhere"))
    assert code == 2
    assert err.endswith("nowhere is not a folder: name one that holds the notebooks\n")
