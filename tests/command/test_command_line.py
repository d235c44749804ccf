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
from interrupts import ctrl_c as ctrl_c

from micrograd import viz
from micrograd.command.expression import FUNCTIONS, assignments, build
from micrograd.command.main import main
from micrograd.command.report import pointed, table
from micrograd.engine import Value
from micrograd.scalars import ops

ROOT = Path(__file__).parents[2]
NEURON = ["tanh(x1*w1 + x2*w2 + b)", "x1=2", "w1=-3", "x2=0", "w2=1", "b=6.88"]


@pytest.fixture
def micrograd(capsys):
    """Run the command line here; gives (exit code, stdout, stderr)."""

    def run(*words):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return run


def process(*words, **environment):
    """Run it in a process of its own, piped."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-m", "micrograd", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, encoding="utf-8")


def refused(text, numbers=None):
    """The message of an expression that is refused, and the part of it that is pointed at."""
    with pytest.raises(SyntaxError) as caught:
        build(text, numbers or {})
    error = caught.value
    assert "\n" not in error.msg
    return error.msg, error.text[error.offset - 1 : error.end_offset - 1]


# ------------------------------------------------------------------------------------------------ what it prints
def test_table_has_the_value_the_gradients_and_the_local_derivatives(micrograd):
    code, out, err = micrograd(*NEURON)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "tanh(x1*w1 + x2*w2 + b) = 0.7064193203972353"
    cells = [line.split() for line in out.splitlines()[3:]]
    assert cells[1] == ["w1", "-3.0000", "1.0019"]
    assert cells[5] == ["x1*w1", "-6.0000", "0.5010", "d/dx1", "=", "-3.0000", "d/dw1", "=", "2.0000"]
    assert out.splitlines()[-1].startswith(
        "out               = tanh(x1*w1 + x2*w2 + b)   0.7064    1.0000  dout/d(x1*w1"
    )


def test_table_is_that_of_the_guide():
    """Letter by letter, from the line that the guide has."""
    section = (ROOT / "docs" / "use.md").read_text(encoding="utf-8").partition("## From the command line")[2]
    line, shown = [block.partition("\n")[2] for block in section.split("```")[1:4:2]]
    assert process(*shlex.split(line)[3:]).stdout == shown


def test_local_derivative_is_what_the_engine_passes_on():
    x = Value(0.5, label="x")
    (y := ops.gelu(x)).backward()
    assert f"{x.grad:.4f}" == table(y).splitlines()[-1].split()[-1]


def test_operand_used_twice_has_a_derivative_for_each_use():
    x = Value(3.0, label="x")
    (y := x - x).backward()
    assert [cell for cell in table(y).splitlines()[-1].split() if "0000" in cell][-2:] == ["1.0000", "-1.0000"]


def test_numbers_end_below_the_names_of_their_columns():
    out = build("x*yy - 1e-9/x + 3", {"x": -1234.5, "yy": 1e12})
    out.backward()
    head, *rows = table(out).splitlines()
    for name in ("value", "gradient"):
        end = head.index(name) + len(name)
        assert all(row[end - 1].isdigit() and row[end : end + 1] in ("", " ") for row in rows)


def test_narrow_terminal_gets_the_derivatives_below_each_other():
    out = build("x*y", {"x": 2.0, "y": 3.0})
    out.backward()
    assert max(map(len, table(out, width=50).splitlines())) <= 50 < max(map(len, table(out).splitlines()))
    assert [line.split()[-3] for line in table(out, width=50).splitlines()[-2:]] == ["dout/dx", "dout/dy"]


def test_on_a_terminal_it_has_a_real_minus_sign_and_partial_derivatives():
    out = build("-x", {"x": 2.0})
    out.backward()
    assert "∂out/∂x = −1.0000" in table(out, typographic=True)
    assert table(out).isascii()


def test_wide_letters_keep_the_columns_aligned():
    out = build("重*x", {"重": 2.0, "x": 3.0})
    out.backward()
    _, first, second, _ = table(out).splitlines()
    assert len(second) - len(first) == 1  # 重 is one letter, two columns wide


def test_expression_of_numbers_has_a_value_and_no_table(micrograd):
    assert micrograd("1/3 + 0*pi") == (0, "1/3 + 0*pi = 0.3333333333333333\n", "")


def test_table_is_ascii_where_letters_are_lacking():
    if sys.getfilesystemencoding() == "ascii":
        pytest.skip("no locale with such letters")
    done = process("θ*2", "θ=3", PYTHONIOENCODING="ascii")
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
    out = build(f"{name}({'x, 2' if binary else 'x'})", {"x": 0.5})
    out.backward()
    assert out._prev[0].label == "x"


def test_remainder_is_written_as_in_python_and_sends_a_gradient():
    out = build("x % y + 7 // 2", {"x": 7.5, "y": 2.0})
    out.backward()
    assert out.data == 4.5
    x, y = out._prev[0]._prev
    assert (x.grad, y.grad) == (1.0, -3.0)


def test_numbers_are_written_as_in_python():
    assert build("1_000 + 0x10 + 1e3 + .5 + 5.", {}).data == 2021.5


def test_numbers_too_large_are_infinite_as_everywhere():
    assert build("1e400", {}).data == build("1" + "0" * 400, {}).data == build("9**9**9**9", {}).data == math.inf


def test_constant_is_known_and_gives_way_to_a_number_of_that_name():
    assert [build(name, {}).data for name in ("e", "pi", "π")] == [math.e, math.pi, math.pi]
    assert build("e", {"e": 2.0}).data == 2.0


def test_number_may_have_the_name_of_a_function():
    assert build("sin(sin)", {"sin": 1.0}).data == math.sin(1.0)


def test_step_is_called_by_its_expression_and_a_long_one_by_a_name_that_the_user_did_not_give():
    out = build("v1*out*2 + 1234567*(v1 + out)", {"v1": 1.0, "out": 2.0})
    out.backward()
    titles = [line[:19].strip() for line in table(out).splitlines()[1:]]
    assert titles == ["v1", "out", "v1*out", "v1*out*2", "v1 + out", "1.23457e+06*(v1 + o", "v2"]


def test_signs_that_drawings_show_are_read_as_well():
    assert build("x−y×2", {"x": -3.0, "y": 1.0}).data == -5.0
    assert assignments(["x=−3"]) == {"x": -3.0}


def test_names_are_those_of_python_in_any_script():
    out = build("θ*𝑥", assignments(["θ=2", "𝑥=4"]))  # Python reads the mathematical x as an x
    assert [leaf.label for leaf in out._prev] == ["θ", "x"]


def test_long_expression_is_as_good_as_a_short_one():
    out = build("+".join(["x"] * 900), {"x": 2.0})
    out.backward()
    assert next(iter(viz.trace(out)[0])).grad == 900


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000 + "x" + ")" * 10_000, "+".join(["1"] * 200_000), "-" * 100_000 + "x", "2**" * 100_000 + "2",
     "sin(" * 10_000 + "x" + ")" * 10_000, "1" * 5000],
    ids=["brackets", "sums", "minuses", "powers", "calls", "digits"],
)  # fmt: skip
def test_expression_too_deep_for_the_parser_is_refused_in_one_line(text):
    assert refused(text, {"x": 1.0})[0]


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
        ("x)", ")", "unmatched"),
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
        ("x if x else 2", "x if x else 2", "only real numbers"),
        ("__import__('os')", "__import__('os')", "no function __import__"),
        ("x²", "²", "invalid character"),
    ],
)
def test_mistake_in_an_expression_is_pointed_at(text, at, said):
    message, marked = refused(text, {"x": 1.0})
    assert said in message
    assert marked == at


def test_expression_never_runs_code(tmp_path):
    target = tmp_path / "made"
    for attack in (f"open('{target}', 'w')", f"(lambda: open('{target}', 'w'))()", f"[*map(open, ['{target}'])]"):
        refused(attack)
    assert not target.exists()


@pytest.mark.parametrize(
    ("word", "column", "said"),
    [
        ("x", 1, "write name=number"),
        ("x=", 1, "write name=number"),
        ("=2", 1, "cannot be a name"),
        ("2=2", 1, "cannot be a name"),
        ("lambda=2", 1, "cannot be a name"),
        ("x=two", 1, "two has no value: write a number"),
        ("x=1 + 1,5", 1, "only real numbers"),
        ("x=2*(3", 3, "never closed"),
    ],
)
def test_mistake_in_a_number_is_pointed_at(word, column, said):
    with pytest.raises(SyntaxError, match=r"^[^\n]+$") as caught:
        assignments([word])
    assert said in caught.value.msg
    assert caught.value.text in (word, word.partition("=")[2])
    assert caught.value.offset == column


def test_name_is_given_once():
    with pytest.raises(SyntaxError, match="x is set twice"):
        assignments(["x=1", "y=2", "x=3"])


def test_value_is_a_number_or_an_expression_of_numbers():
    assert assignments(["x=-1_0", "y=pi/2", "z=-inf"]) == {"x": -10.0, "y": math.pi / 2, "z": -math.inf}


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


def test_help_can_be_read_on_any_terminal():
    done = process("--help", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")


def test_help_names_every_function(micrograd):
    code, out, _ = micrograd("--help")
    assert code == 0
    assert all(f" {name}" in out for name in (*FUNCTIONS, "-o", "--open", ".svg", ".html", ".dot", ".png", "demo"))


# ------------------------------------------------------------------------------------------------ what it writes
def test_output_is_the_drawing_or_its_source(micrograd, tmp_path):
    svg, dot = tmp_path / "neuron.SVG", tmp_path / "neuron.dot"
    code, out, _ = micrograd(*NEURON, "-o", str(svg), f"-o{dot}")
    assert code == 0
    assert out.splitlines()[-2:] == [f"wrote {svg}", f"wrote {dot}"]
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert dot.read_text(encoding="utf-8").startswith("digraph {")
    assert all(label in dot.read_text(encoding="utf-8") for label in ("w1", "out", "grad 0.5010"))


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


def test_open_shows_what_was_written(micrograd, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda url: shown.append(url) or True)
    path = tmp_path / "x y.svg"
    assert micrograd("x*2", "x=1", "-o", str(path), "--open")[0] == 0
    assert shown == [path.as_uri()]


def test_machine_without_a_browser_says_so(micrograd, tmp_path, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    code, _, err = micrograd("x*2", "x=1", "-o", str(tmp_path / "x.svg"), "--open")
    assert (code, err) == (1, "python -m micrograd: no program was found that shows it: open the file yourself\n")


def test_output_is_the_player(micrograd, tmp_path):
    path = tmp_path / "neuron.html"
    assert micrograd(*NEURON, "-o", str(path))[0] == 0
    assert path.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_without_a_word_it_shows_the_neuron_of_the_readme(micrograd, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda url, *_: shown.append(url) or True)
    code, out, _ = micrograd()
    assert (code, len(shown)) == (0, 1)
    assert out == micrograd(*NEURON)[1]


# ------------------------------------------------------------------------------------------------ demos
DEMOS = sorted(path.stem for path in (ROOT / "demos").glob("*.py") if path.stem != "one_page")


@pytest.mark.parametrize(
    ("seed", "code", "said"), [("7", 0, "to be found was -3.0"), ("-1", 2, "--seed must not be below 0, found -1")]
)
def test_demo_gets_the_rest_of_the_line_and_keeps_its_exit_code(seed, code, said):
    done = process("demo", "linear_regression", "--seed", seed)
    assert done.returncode == code
    assert said in done.stdout + done.stderr


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
    monkeypatch.setattr("micrograd.command.main.PLACES", (tmp_path,))
    code, out, err = micrograd(*words)
    assert (code, out) == (1, "")
    assert f"is in none of {tmp_path}: run this in a checkout" in err


# ------------------------------------------------------------------------------------------------ the page of code
def test_page_is_printed_as_it_stands(micrograd):
    text = (ROOT / "demos" / "one_page.py").read_text(encoding="utf-8")
    assert micrograd("page") == (0, text, "")


# ------------------------------------------------------------------------------------------------ grading
def test_folder_of_notebooks_is_graded_by_the_course(tmp_path):
    done = process("grade", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert done.stderr.endswith("nowhere is not a folder: name one that holds the notebooks\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.txt").touch()
    done = process("grade", str(tmp_path / "in"), "-o", str(tmp_path / "points.csv"))
    assert (done.returncode, done.stderr) == (0, "")
    assert 'ada,ada.txt,0,,"this is no notebook' in (tmp_path / "points.csv").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------ what it loads
def test_table_needs_no_numpy_and_no_graphviz():
    code = "import sys; sys.modules['numpy'] = sys.modules['graphviz'] = None; from micrograd.command.main import main"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; sys.exit(main({NEURON!r}))"], cwd=ROOT, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
