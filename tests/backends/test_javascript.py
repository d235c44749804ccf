"""A compiled function as a module of JavaScript, run by Node. For each op, see test_equal."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compile_helpers import in_node, plain, same
from compiled_functions import LABELLED, words
from demo_helpers import demo_module

import micrograd
from micrograd import Tensor, Value, nn, no_grad
from micrograd import functional as F
from micrograd.nn.saving import save
from micrograd.optim import SGD, Adam

needs_node = pytest.mark.in_node
STEPS = 100


def losses_of(step: Any, given: list[dict[str, Any]]) -> Any:
    """The losses of a step in Node, and its state after them."""
    return in_node(step, f"(x => [x.map(step), state()])({json.dumps(given)})")


def moons() -> tuple[Any, list[Any], list[dict[str, Any]]]:
    """A step on the moons: the network in Values, whose hundred points are arguments."""
    model, rng = nn.MLP(2, [16, 16, 1], rng=random.Random(0)), np.random.default_rng(0)
    points = rng.normal(size=(100, 2))
    labels = np.where(points[:, 0] * points[:, 1] > 0, 1.0, -1.0)
    loss = lambda points, labels: F.hinge([model(x) for x in points], list(labels))  # noqa: E731
    step = micrograd.compile(loss, scalars=True, update=Adam(model.parameters(), lr=0.01), backend="numpy")
    return step, model.parameters(), [{"points": points, "labels": labels}] * STEPS


def names() -> tuple[Any, list[Any], list[dict[str, Any]]]:
    """A step of the tiny GPT of Tensors."""
    gpt, rng = demo_module("microgpt"), np.random.default_rng(0)
    model = gpt.TensorGPT(16, 4, 1, rng)
    step = micrograd.compile(model.loss, update=Adam(model.parameters(), lr=0.01))
    texts = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(STEPS)]
    batches = [dict(zip(("numbers", "targets", "counts"), gpt.padded([text]), strict=True)) for text in texts]
    return step, list(model.parameters()), batches


@needs_node
@pytest.mark.parametrize("work", [moons, names])
def test_hundred_steps_of_adam_are_those_of_numpy(work: Any):
    step, params, batches = work()
    step(*batches[0].values())
    losses, state = losses_of(step, [{name: plain(x) for name, x in batch.items()} for batch in batches])
    same(losses, [step(*batch.values()).data for batch in batches], 1e-10)
    found = [np.sort(state["p"])] if "p" in state else [state[f"p{i}"] for i in range(len(params))]
    held = [np.sort([p.data for p in params])] if "p" in state else [p.data for p in params]
    same(found, held, 1e-10)  # the order of Values is the program's choice


def test_tiny_gpt_fits_into_60_kb_beside_its_weights():
    step, _, batches = names()
    step(*batches[0].values())
    text = step.to_js().decode()
    weights = sum(len(x) for x in re.findall(r'decoded\("([^"]*)"', text[text.index("const stored") :]))
    assert len(text) - weights < 60_000


# ---- what goes in and comes out


def called(f: Any, *args: Any) -> Any:
    """f, called so that it has a program."""
    f(*args)
    return f


W = Tensor(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), requires_grad=True)


@needs_node
def test_arguments_and_results_keep_their_structure():
    def f(pair: Any, scale: Any, named: Any) -> Any:
        x, y = pair
        return {
            "sum": (x + y) * scale,
            "all": [x @ W, (named["a b"] * 2).sum(), "text", None, 2.5, True],
            "__proto__": y[0],
        }

    args = ((np.ones((2, 3)), np.arange(3.0)), 0.5, {"a b": np.array([1, 2])})
    g = called(micrograd.compile(f), *args)
    given = {"pair": [[[1, 1, 1], [1, 1, 1]], [0, 1, 2]], "scale": 0.5, "named": {"a b": [1, 2]}}
    found = in_node(g, f"(x => [x, Object.keys(x)])(step({json.dumps(given)}))")
    assert found[1] == ["sum", "all", "__proto__"]
    assert found[0]["sum"] == [[0.5, 1.0, 1.5]] * 2
    assert found[0]["all"] == [[[9.0, 12.0]] * 2, 6, "text", None, 2.5, True]


@needs_node
def test_array_may_be_flat_or_typed():
    f = called(micrograd.compile(lambda x: x.sum(1)), np.ones((2, 3)))
    for x in ("[[1, 2, 3], [4, 5, 6]]", "[1, 2, 3, 4, 5, 6]", "Int8Array.of(1, 2, 3, 4, 5, 6)"):
        assert in_node(f, f"step({{x: {x}}})") == [6, 15]


@needs_node
def test_typed_arrays_are_returned_if_asked_for_and_read_as_they_are():
    f = called(micrograd.compile(lambda x: (x, x * 2.0, x.sum())), np.ones((2, 3)))
    given = "Float64Array.of(1, 2, 3, 4, 5, 6)"
    told = "x => [x.constructor.name, [...x]]"
    found = in_node(f, f"(x => (([a, b, c]) => [...[a, b].map({told}), c, a === x])(step({{x}}, true)))({given})")
    assert found == [["Float64Array", [1, 2, 3, 4, 5, 6]], ["Float64Array", [2, 4, 6, 8, 10, 12]], 21, False]
    assert in_node(f, f"[0, 1].map(() => ({{x: {given}}})).map(step)[1][0]") == [[1, 2, 3], [4, 5, 6]]


@needs_node
def test_arguments_in_columns_and_samples_are_read_by_rows():
    by_columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    f = called(micrograd.compile(lambda x: x.exp().sum(0)), by_columns)
    same([in_node(f, f"step({{x: {by_columns.tolist()}}})")], [np.exp(by_columns).sum(0)])
    w = Value(2.0)
    g = called(micrograd.compile(lambda x: (x[0] * w + x[1]).tanh(), batch=True), by_columns.T)
    same([in_node(g, f"step({{x: {by_columns.T.tolist()}}})")], [np.tanh(by_columns[0] * 2 + by_columns[1])])


@needs_node
def test_state_is_saved_as_json_and_loaded():
    x = Tensor(np.array([[1.0, 2.0]]), requires_grad=True)
    step = called(micrograd.compile(lambda y: ((x - y) ** 2).sum(), update=SGD([x], lr=0.1, momentum=0.9)), np.zeros(2))
    script = """(() => {
        const text = JSON.stringify(state()), y = [1, 1];
        const first = [step({y}), step({y})];
        load(JSON.parse(text));
        const second = [step({y}), step({y})];
        load({lr: 0});
        step({y});
        const third = [step({y}), step({y})];
        return [first, second, third, Object.keys(state())];
    })()"""
    first, second, third, names = in_node(step, script)
    assert first == second
    assert third[0] == third[1]
    assert names == ["p0", "lr", "s0_velocity"]


BAD = {
    "step()": "TypeError: x is missing",
    "step({x: [[1, 2, 3]], y: [0, 1]})": r"RangeError: x needs an array of shape \[2,3\], found \[1,3\]",
    "step({x: [1, 2], y: [0, 1]})": r"RangeError: x needs an array of shape \[2,3\], found \[2\]",
    "step({x: [1, 2, 3, 4, 5, 'six'], y: [0, 1]})": "TypeError: x needs numbers, found six",
    "step({x: [1, 2, 3, 4, 5, null], y: [0, 1]})": "TypeError: x needs numbers, found null",
    "step({x: [1, 2, 3, 4, 5, 6], y: [0, 0.5]})": "TypeError: y needs integers of its dtype, found 0.5",
    "step({x: [1, 2, 3, 4, 5, 6], y: [0, 3]})": "RangeError: found the index 3, which is out of bounds",
    "load({p1: [1]})": "TypeError: there is no p1 here",
    "load({p0: [1]})": r"RangeError: p0 needs an array of shape \[3,2\], found \[1\]",
    "load({lr: '1'})": "TypeError: lr needs numbers, found 1",
}

RAGGED = {  # what is given for an array of this shape
    "[[1, 2], [3, 4, 5], [6]]": (3, 2),
    "[[1, 2, 3], [4, 5, 6], []]": (3, 2),
    "[[1, 2], 3, 4, [5, 6]]": (3, 2),
    "[1, 2, [3, 4], [5, 6]]": (3, 2),
    "[[1, 2, 3], [4, 5, 6]]": (3, 2),
    "[[[1], [2]], [[3], [4]], [[5], [6]]]": (3, 2),
    "[[1, 2], [3, 4], [5, [6]]]": (3, 2),
    "[[1, 2], [3, 4], [5, 6], []]": (3, 2),
    "[1, [2, 3], 4]": (4,),
    "[[1], [2], [3], [4]]": (4,),
    "[[[1, 2], [3]], [[4, 5], [6, 7, 8]]]": (2, 2, 2),
    "[[], [], []]": (2, 0),
}


@needs_node
@pytest.mark.parametrize("given", RAGGED)
def test_lists_that_are_no_array_of_the_shape_are_refused(given: str):
    """Their numbers were taken in a row."""
    f = micrograd.compile(lambda x: x * 2)
    f(np.ones(RAGGED[given]))
    shape = ",".join(map(str, RAGGED[given]))
    message = in_node(f, thrown(f"step({{x: {given}}})", "String(error)"))
    assert message.startswith(f"RangeError: x needs an array of shape [{shape}], found ")
    assert f"found [{shape}]" not in message


SHAPED = {"[1, 2, 3, 4, 5, 6]": (3, 2), "[[1, 2], [3, 4], [5, 6]]": (3, 2), "[[], []]": (2, 0), "[]": (0, 3), "3": ()}


@needs_node
@pytest.mark.parametrize("given", SHAPED)
def test_lists_of_the_shape_are_taken(given: str):
    f = micrograd.compile(lambda x: x * 2)
    f(np.ones(SHAPED[given]))
    expected = np.array(json.loads(given), float).reshape(SHAPED[given]) * 2
    assert in_node(f, f"step({{x: {given}}})") == expected.tolist()


@needs_node
def test_bad_input_is_a_clear_error_and_changes_nothing():
    w = Tensor(W.data.copy(), requires_grad=True)
    step = micrograd.compile(lambda x, y: ((x @ w) * w[y]).sum(), update=SGD([w], lr=0.1))
    step(np.ones((2, 3)), np.array([0, 1]))
    calls = ", ".join(thrown(call, "String(error)") for call in BAD)
    before, *found, after = in_node(step, f"[JSON.stringify(state()), {calls}, JSON.stringify(state())]")
    for message, wanted in zip(found, BAD.values(), strict=True):
        assert re.match(wanted, message)
    assert before == after


@needs_node
def test_texts_of_the_users_are_strings_of_ascii_and_labels_are_left_out():
    x, text = Value(2.0, label="*/ alert(1) //"), "</script><!-- \u2028 \"'` ${1} \\ \n*/"
    f = called(micrograd.compile(lambda d: {text: d[text] * x, "t": text}), {text: 1.0})
    module = f.to_js().decode()
    assert module.isascii()
    assert not {found for found in ("</script", "<!--", "alert") if found in module}
    given = json.dumps({"d": {text: 3.0}}).replace("<", "\\u003c")
    assert in_node(f, f"step({given})") == {text: 6.0, "t": text}


@needs_node
@pytest.mark.parametrize("what", LABELLED)
def test_labels_are_checked_as_in_python(what: str):
    f, right, wrong = LABELLED[what]
    step = called(micrograd.compile(f), right)
    found, message = in_node(step, f"[step({{y: {plain(right)}}}), {thrown(f'step({{y: {plain(wrong)}}})')}]")
    same([found], [f(Tensor(right)).data])
    own = what in ("an index", "an index among others", "a row of the identity", "take_along_axis")  # NumPy's words
    assert (
        "out of bounds" in message
        if own
        else message == re.sub(r"\.0:", ":", words(f, Tensor(wrong)).split(": ", 1)[1])
    )


@needs_node
@pytest.mark.parametrize("backend", ["python", "numpy"])
def test_labels_that_are_numbers_and_those_of_samples_are_checked(backend: str):
    scores = [Value(0.5), Value(-0.3)]
    step = called(micrograd.compile(lambda y: F.hinge(scores, y), scalars=True, backend=backend), np.array([1.0, -1.0]))
    assert in_node(step, thrown("step({y: [1, 0]})")).startswith("targets[1] is 0: a hinge loss takes -1 or 1")
    batch = called(micrograd.compile(lambda y: F.hinge(scores, y), batch=True, backend=backend), np.ones((3, 2)))
    assert in_node(batch, thrown("step({y: [[1, 1], [1, 5], [1, 1]]})")).startswith("targets[1] is 5: a hinge")
    one = called(micrograd.compile(lambda y: F.cross_entropy(W[0] * 1, y)), np.array(1))
    assert "with 2 classes it must be from 0 to 1" in in_node(one, thrown("step({y: 2})"))


def thrown(call: str, said: str = "error.message") -> str:
    """What the Error that a call throws says."""
    return f'(() => {{ try {{ {call}; return "nothing"; }} catch (error) {{ return {said}; }} }})()'


# ---- files


@needs_node
def test_saved_module_is_imported(tmp_path: Path):
    f = called(micrograd.compile(lambda x: x @ W), np.ones(3))
    with no_grad():
        f(np.ones(3))
    for name in ("model.js", "model.mjs"):
        save(f, tmp_path / name)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    script = 'import {step} from "./model.js"; import * as all from "./model.mjs";'
    script += "console.log(step({x: [1, 0, 1]}), Object.keys(all))"
    (tmp_path / "main.mjs").write_text(script)
    done = subprocess.run(["node", "main.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[ 6, 8 ] [ 'load', 'state', 'step' ]\n"


DENO = shutil.which("deno") or shutil.which("deno", path=Path(sys.executable).parent)  # of PATH, or installed by pip


@pytest.mark.skipif(not DENO, reason="no Deno")
def test_deno_runs_a_module(tmp_path: Path):
    save(called(micrograd.compile(lambda x: x @ W), np.ones(3)), tmp_path / "model.js")
    (tmp_path / "main.js").write_text(
        'import {step} from "./model.js"; console.log(JSON.stringify(step({x: [1, 0, 1]})))'
    )
    done = subprocess.run([str(DENO), "run", "--no-remote", "main.js"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[6,8]\n", done.stderr


def test_program_that_cannot_be_saved_as_a_module_says_why(tmp_path: Path):
    p, label, large = Tensor(np.ones(2), requires_grad=True), Value(0.5), np.arange(10) + 2**60 + 1
    own_step = micrograd.compile(lambda x: (p * x).sum(), update=SGD([p], lr=0.1, reduce=lambda flat: flat))
    trained_label = micrograd.compile(
        lambda x: F.bce_with_logits([label * x], [label]), update=SGD([label], lr=0.1), backend="numpy"
    )
    refused: list[tuple[Any, Any, type[Exception], str]] = [
        (own_step, np.ones(2), TypeError, "its optimizer takes its own step"),
        (trained_label, 2.0, RuntimeError, "labels that are trained"),
        (micrograd.compile(lambda x: x + large), np.ones(10, int), RuntimeError, r"beyond 2\*\*53"),
    ]
    for f, x, kind, message in refused:
        with pytest.raises(kind, match=message):
            save(called(f, x), tmp_path / "f.js")
    with pytest.raises(TypeError, match="dtype"):
        save(called(micrograd.compile(lambda x: x * 2), 1.0), tmp_path / "f.js", dtype="float32")
    assert not [*tmp_path.iterdir()]
