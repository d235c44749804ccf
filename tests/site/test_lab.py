"""What the live pages ask of Python, asked here: a text and its sliders, a training and its pictures."""

import builtins
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from demo_helpers import demo_module

SITE = Path(__file__).parent.parent.parent / "site"
sys.path.insert(0, str(SITE / "live"))

from lab import cell, go, point, put, run, set_rate, start  # noqa: E402
from lab.cells import names  # noqa: E402
from lab.data import DATA, KINDS  # noqa: E402
from lab.playing import drawn  # noqa: E402
from lab.surface import followed  # noqa: E402
from lab.text import MOST, compiled  # noqa: E402
from lab.training import POINTS, Training  # noqa: E402

README = (SITE / "live" / "examples" / "02_the_readme.py").read_text(encoding="utf-8")
MEANT = ". Did you mean: 'loss'?" * (sys.version_info >= (3, 12))  # before, only the interpreter says it
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in SITE.glob("live/training/*.py")}


def ran(text):
    return json.loads(run(text))


# ------------------------------------------------------------------------------------------------ a text
def test_numbers_of_the_readme():
    answer = ran(README)
    assert answer["error"] is None
    assert answer["root"] == {"name": "g", "data": pytest.approx(24.70408, abs=1e-4)}
    assert [slider["slope"] for slider in answer["sliders"]] == pytest.approx([138.83382, 645.57726], abs=1e-4)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = Value(2.0)", [("x", "2.0")]),
        ("x: Value = Value(-3)", [("x", "-3")]),
        ("x, (y, z) = Value(1), (Value(2), Value(3e-2))", [("x", "1"), ("y", "2"), ("z", "3e-2")]),
        ("ws = [Value(1.5), Value(2.5, label='w')]", [("ws[0]", "1.5"), ("ws[1]", "2.5")]),
        ("x = y = Value(1.0)", [("x", "1.0")]),
        ("é, x = Value(1.0), Value(7.25)  # 😀", [("é", "1.0"), ("x", "7.25")]),
        ("s = '😀'; x = Value(4.5)", [("x", "4.5")]),
        ("x = Value(a)\ny = Value('1')\nz = f(2.0)\nb = Value(True)", []),
        ("def f():\n    x = Value(1.0)", []),
    ],
)
def test_sliders_are_the_numbers_given_to_a_value_and_a_name(text, wanted):
    lines = text.encode("utf-16-le").decode("utf-16-le").splitlines()

    def cut(slider):  # as JavaScript counts
        line = lines[slider["line"] - 1].encode("utf-16-le")
        return line[2 * slider["from"] : 2 * slider["to"]].decode("utf-16-le")

    assert [(slider["name"], cut(slider)) for slider in compiled(text)[1]] == wanted


def test_slope_is_that_of_the_value_the_number_made_even_if_the_name_is_taken_again():
    answer = ran("from micrograd import Value\nx = Value(3.0)\ny = x * x\nx = Value(5.0)\ny\n")
    assert [slider.get("slope") for slider in answer["sliders"]] == [6.0, None]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = 1\nfor i in range(2):\n    x / 0\n", 3, "ZeroDivisionError"),
        ("x = (1\n", 1, "SyntaxError"),
        ("from micrograd import Value\nx = Value('three')\n", 2, "TypeError"),
        ("import sys\nsys.exit('enough')\n", 2, "SystemExit: enough"),
        ("def f():\n    return g()\n\ndef g():\n    raise ValueError\n\nf()\n", 5, "ValueError"),
        ("x = 2\ny = 3x\n", 2, "SyntaxError: invalid decimal literal; a product needs its sign, as in 2*x"),
        ("from micrograd import Value\ny = Value(2.0)(1)\n", 2, "TypeError: 'Value' object is not callable; a product"),
        ("y = 3.0 ^ 2\n", 1, "TypeError: unsupported operand type(s) for ^: 'float' and 'int'; a power is written **"),
        ("loss = 1\nlos\n", 2, f"NameError: name 'los' is not defined{MEANT}"),
        ("y = sin(1)\n", 1, "NameError: name 'sin' is not defined; sin(x) is written x.sin()"),
        ("y = Value(1)\n", 1, "NameError: name 'Value' is not defined; is `from micrograd import Value` missing?"),
        ("y = Adam()\n", 1, "NameError: name 'Adam' is not defined; is `from micrograd.optim import Adam` missing?"),
        ("import numpie", 1, "ModuleNotFoundError: No module named 'numpie'; this page has Python's standard library"),
    ],
)
def test_error_has_its_line(text, line, words):
    error = ran(text)["error"]
    assert error["line"] == line
    assert error["text"].startswith(words)


def test_prints_are_kept_but_not_a_flood_of_them():
    answer = ran("print('a' * 30_000)\nprint('end')\n1 + 1\n")
    assert answer["out"].endswith("end\n2\n")
    assert len(answer["out"]) == MOST


def test_without_a_value_there_is_a_hint():
    assert ran("x = 3")["hint"].startswith("No Value was made")


def test_function_of_plain_numbers_leaves_a_value_alone_and_a_hint():
    with pytest.warns(UserWarning, match="no gradient flows"):
        answer = ran("import math\nfrom micrograd import Value\nx = Value(2.0)\ny = math.sin(x)\n")
    assert "x.sin() a Value" in answer["hint"]
    assert answer["root"]["name"] == "x"


def test_texts_know_nothing_of_each_other():
    ran("secret = 1")
    assert ran("secret")["error"]["text"].startswith("NameError")


@pytest.mark.parametrize("path", sorted(SITE.glob("live/examples/*.py")), ids=lambda path: path.stem)
def test_every_example_runs_and_draws(path):
    title, _, code = path.read_text(encoding="utf-8").partition("\n")
    assert title.startswith("# ")
    answer = ran(code)
    assert answer["error"] is None
    assert answer["story"]["scenes"]
    assert answer["sliders"]


def test_wrong_way_back_is_found_by_what_the_example_prints():
    answer = ran((SITE / "live" / "examples" / "07_a_wrong_backward.py").read_text(encoding="utf-8"))
    assert re.findall(r"\d\.\d+", answer["out"]) == ["4.500", "3.000"]


def test_every_lesson_has_an_example_by_its_name():
    for lesson in SITE.parent.glob("demos/lessons/*.ipynb"):
        number = int(lesson.name[:2])
        title = f"# {number}. ", f"# Lesson {number}: "
        heading = "".join(json.loads(lesson.read_text(encoding="utf-8"))["cells"][0]["source"]).partition("\n")[0]
        example = SITE / "live" / "examples" / f"lesson_{number:02}.py"
        assert example.read_text(encoding="utf-8").partition("\n")[0] == heading.replace(*title)


# ------------------------------------------------------------------------------------------------ a training
def begun(data, text=None, noise=0.1):
    about = json.loads(start(text or TEXTS[KINDS[data]], data, noise, 1))
    assert "error" not in about, about
    return about


@pytest.mark.parametrize("data", DATA)
def test_every_data_set_is_learnt_by_the_text_for_it(data):
    about = begun(data)
    first = json.loads(go(0, 20, 1))["losses"][0]
    losses = json.loads(go(10_000, 20, 40))["losses"]
    assert len(about["points"]) == POINTS
    assert sum(losses[-10:]) / 10 < 0.9 * first


def test_trained_network_goes_on_where_it_was():
    begun("moons")
    trained = json.loads(go(10_000, 20, 30))
    begun("moons")
    assert json.loads(put(json.dumps(trained["p"]), trained["steps"])) == {"out": ""}
    one = json.loads(go(0, POINTS, 1))
    assert one["steps"] == 31
    assert one["losses"][0] < 0.5
    assert "error" in json.loads(put("[1.0]", 1))


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "tanh", "sigmoid", "softplus", "sin"])
def test_page_can_follow_a_network_of_each_activation(activation):
    about = begun("moons", TEXTS["sign"].replace("tanh", activation))
    frame = json.loads(go(0, 20, 3))
    found = about["surface"]
    assert found is not None
    assert frame["grid"] is None
    from lab.training import training

    x = about["points"][5][0]
    assert followed(found, x, frame["p"])[0] == pytest.approx(training.model(x).data)


def test_page_knows_which_parameters_are_weights_and_which_are_biases():
    about = begun("moons")
    from lab.training import training

    parameters, layers = list(training.model.parameters()), training.model.layers
    assert [[parameters[i] for i in layer] for layer in about["biases"]] == [
        [neuron.b for neuron in layer.neurons] for layer in layers
    ]
    assert [[[parameters[i] for i in wires] for wires in layer] for layer in about["wires"]] == [
        [list(neuron.w) for neuron in layer.neurons] for layer in layers
    ]


def test_model_that_the_page_cannot_follow_is_asked_itself():
    text = TEXTS["sign"] + "\nnet = model\nclass Odd:\n    parameters = net.parameters\n"
    text += "    def __call__(self, x):\n        return net(x) if x[0] > 0 else -net(x)\nmodel = Odd()\n"
    about = begun("moons", text)
    assert (about["surface"], about["wires"], about["biases"]) == (None, None, None)
    assert len(json.loads(go(0, 20, 1))["grid"]) == 21 * 21


WITHOUT_NUMPY = """
import json, sys
sys.modules["numpy"] = None
from lab import go, start
about = json.loads(start(sys.stdin.read(), "moons", 0.1, 1))
print(json.dumps([about["mode"], json.loads(go(10_000, 20, 40))["losses"]]))
"""


def test_text_that_compiles_its_loss_as_the_page_tells_is_said_to_and_learns_without_numpy():
    page = (SITE / "live" / "training.html").read_text(encoding="utf-8")
    told = re.search(r"compile the loss.*?<pre.*?>(.*?)</pre>", page, re.DOTALL)[1]
    text = (
        TEXTS["sign"]
        .replace("def step", f"{told}\n\ndef step")
        .replace("hinge(scores, answers)", "loss_of(points, answers)")
    )
    path = os.pathsep.join([str(SITE / "live"), str(SITE.parent)])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMPY], input=text, capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": path}, check=True,
    )  # fmt: skip
    mode, losses = json.loads(done.stdout)
    assert mode == "compiled"
    assert sum(losses[-10:]) / 10 < 0.9 * losses[0]


@pytest.mark.parametrize("name", ["model", "optimizer", "step"])
def test_text_without_what_the_page_calls_says_so(name):
    answer = json.loads(start(TEXTS["sign"] + f"\ndel {name}\n", "moons", 0.1, 1))
    assert f"the page needs your {name!r}" in answer["error"]["text"]
    assert "nothing to train" in json.loads(go(0, 20, 1))["error"]["text"]


@pytest.mark.parametrize(("data", "n", "inputs"), [("moons", 2, 3), ("a curve", 1, 2)])
def test_model_of_another_shape_has_its_line_and_says_that_the_page_called_it(data, n, inputs):
    text = re.sub(r"MLP\(\d", f"MLP({inputs}", TEXTS[KINDS[data]])
    error = json.loads(start(text, data, 0.1, 1))["error"]
    assert text.splitlines()[error["line"] - 1].startswith("model = MLP(")
    assert error["text"].startswith(f"ValueError: a neuron with {inputs} weights needs {inputs} inputs, and found {n}")
    assert error["text"].endswith(f"(the page called model with the coordinates of a point, a list of length {n})")


def test_looking_at_a_point_changes_nothing():
    text = TEXTS["sign"].replace("SGD(model.parameters(), lr=0.3)", "SGD(model.parameters(), lr=0.3, momentum=0.9)")
    states = []
    for looks in (False, True):
        begun("moons", text)
        go(10_000, 20, 3)
        if looks:
            answer = json.loads(point(7))
            assert answer["story"]["nodes"] > 200
            assert answer["loss"] >= 0
        states.append(json.loads(go(10_000, 20, 3))["p"])
    assert states[0] == states[1]


def test_rate_can_be_changed_while_it_trains():
    begun("moons")
    assert json.loads(set_rate(0.0)) == {"out": ""}
    before = json.loads(go(0, 20, 1))
    assert before["rate"] == 0.0
    assert json.loads(go(10_000, 20, 3))["p"] == before["p"]


# ------------------------------------------------------------------------------------------------ the cells of a lesson
@pytest.fixture(autouse=True)
def no_figure_open():
    """A cell shows the figures that are open, and a test of another file may have left one."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def lesson_begun(monkeypatch):
    """No name is known."""
    for name in [*names.keys() - {"__name__"}]:
        monkeypatch.delitem(names, name)


@pytest.mark.usefixtures("lesson_begun")
def test_cells_share_their_names():
    assert json.loads(cell("x = 3\nprint('hello')\nx + 1")) == {"html": "<pre>4</pre>", "error": None, "out": "hello\n"}
    assert json.loads(cell("x < 5"))["html"] == "<pre>True</pre>"
    assert json.loads(cell("\nx / 0"))["error"]["line"] == 2
    assert json.loads(cell("y"))["error"]["text"].startswith("NameError")


def test_line_for_notebooks_alone_is_passed_over():
    assert json.loads(cell("if False:\n    %pip install something\n7 % 4"))["html"] == "<pre>3</pre>"
    assert json.loads(cell("7 % 4;"))["html"] == ""


WHOLE = """
import json, sys
from lab import cell, notebook
notebook()
for part in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if part["cell_type"] == "code":
        answer = json.loads(cell("".join(part["source"])))
        wanted = sum("image/png" in output.get("data", {}) for output in part["outputs"])
        assert answer["error"] is None, answer
        assert answer["html"].count("data:image/png") == wanted, part["source"]
"""


def test_lesson_runs_whole_with_its_pictures_where_the_site_has_numpy():
    for module in ("matplotlib", "sklearn", "PIL"):
        pytest.importorskip(module)
    (path,) = (SITE.parent / "demos" / "lessons").glob("10_*.ipynb")
    found = os.pathsep.join(map(str, (SITE / "live", path.parent, SITE.parent)))
    done = subprocess.run(
        [sys.executable, "-c", WHOLE, path], env={**os.environ, "PYTHONPATH": found}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("lesson_begun")
def test_exercise_that_nobody_has_tried_says_your_turn(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE.parent / "demos" / "lessons"))
    cell("from check import check")
    assert json.loads(cell('check("5.1", [])\n'))["out"] == "5.1  your turn\n"
    assert json.loads(cell('check("5.1", ["f"])\n'))["out"].startswith("5.1  ✗")


CHAIN = """
class Link:
    def __init__(self, number, below):
        self.number, self.below = number, below
    def __del__(self):
        freed.append(self.number)

chain = None
for number in range(4):
    chain = Link(number, (chain,))
"""


@pytest.mark.usefixtures("lesson_begun")
def test_chain_that_a_cell_drops_is_freed_when_the_cell_has_run():
    """Freed at once, in one nested call a link, a long one would end Python in a browser."""
    freed = names["freed"] = []
    assert json.loads(cell(CHAIN + "depth = chain.number"))["error"] is None
    cell("depth")
    assert freed == []
    cell("chain = None\nassert freed == [], 'it is still held'")
    assert freed == [3, 2, 1, 0]


def test_chain_of_the_playground_is_freed_when_its_text_has_run(monkeypatch):
    freed = []
    monkeypatch.setattr(builtins, "freed", freed, raising=False)
    assert drawn(CHAIN + "1 / 0")[0]["error"]["text"].startswith("ZeroDivisionError")
    drawn("x = 1")
    assert freed == [3, 2, 1, 0]


@pytest.mark.parametrize("data", ["moons", "three classes", "a curve"])
def test_graph_of_a_point_has_the_numbers_of_its_loss_and_changes_nothing(data):
    trained = Training(TEXTS[KINDS[data]], data, 0.1, 1)
    one = trained.go(0, 20, 1, 3)["one"]
    parameters = list(trained.model.parameters())
    before = [p.data for p in parameters]
    assert (one["k"], one["loss"]) == (3, pytest.approx(trained.loss_of(3).data))
    assert [len(layer) for layer in one["said"]] == [len(layer.neurons) for layer in trained.model.layers]
    trained.optimizer.step = lambda: None
    trained.names["step"]([trained.points[3]])
    assert one["slopes"] == pytest.approx([p.grad for p in parameters])
    assert [p.data for p in parameters] == before


@pytest.mark.parametrize("made", ["site", "demo"])
def test_the_upper_moon_is_minus_1_everywhere_as_in_scikit_learn(made):
    if made == "site":
        points, labels = zip(*DATA["moons"](60, 0.0, random.Random(0)), strict=True)
    else:
        points, labels = demo_module("moons").make_data("moons", 0)
    heights = {side: [y for (_, y), label in zip(points, labels, strict=True) if label == side] for side in (-1, 1)}
    assert len(heights[-1]) == len(heights[1])
    assert sum(heights[-1]) > sum(heights[1])
    assert max(heights[-1]) > max(heights[1])
