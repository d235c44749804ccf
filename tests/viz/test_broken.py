"""In a notebook, an error that an op raised is followed by the last cards that led to it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from micrograd import Tensor, Value
from micrograd.nn import Linear, Sequential
from micrograd.viz.drawing import broken
from micrograd.viz.drawing.alt_text import title


def raised(function):
    with pytest.raises(Exception) as caught:  # noqa: PT011  # any error of an op
        function()
    return caught.value


def shown(function, **names):
    picture = broken.led_to(raised(function), names)
    return picture and [(title(box), dict(box.rows).get("shape") or dict(box.rows)["data"]) for box in picture.boxes]


def test_operands_and_what_made_them_are_shown_with_their_shapes():
    x, w = Tensor(np.ones((3, 4)), requires_grad=True), Tensor(np.ones((5, 2)))
    h = x.tanh()
    found = shown(lambda: h @ w, x=x, w=w, h=h)
    assert found == [("x", "(3, 4) float64"), ("h = tanh(x)", "(3, 4) float64"), ("w", "(5, 2) float64")]


def test_layer_that_does_not_fit_shows_what_came_into_it():
    model, x = Sequential(Linear(4, 8), Linear(7, 2)), Tensor(np.ones((3, 4)))
    assert shown(lambda: model(x), model=model, x=x)[-1] == ("v1 = linear(x, 0.weight, 0.bias)", "(3, 8) float64")


def test_scalars_are_shown_with_their_numbers():
    a = Value(2.0)
    assert shown(lambda: (a * 3) + "1", a=a)[-1] == ("n2 = a * 3", "6.0000")


def test_backward_written_by_hand_that_raises_shows_its_node():
    a = Value(2.0, label="a")
    out = Value(4.0, (a,), "square")

    def backward():
        a.grad += missing  # noqa: F821

    out._backward = backward
    assert shown(lambda: (out * 2).backward())[-1] == ("n1 = square(a)", "4.0000")


def test_long_history_shows_its_last_cards():
    x = Value(1.0)
    for _ in range(20):
        x = x.tanh()
    picture = broken.led_to(raised(lambda: x + "1"), {})
    assert len(picture.boxes) == broken.MOST
    assert picture.note == "the last 8 of 21 nodes"


@pytest.mark.parametrize("function", [lambda: 1 / 0, lambda: Value("x"), lambda: Value(1.0).show(height=-1)])
def test_error_that_no_op_raised_gets_no_picture(function):
    assert broken.led_to(raised(function), {}) is None


def test_outside_of_a_notebook_nothing_listens(monkeypatch):
    for shell in (None, SimpleNamespace(events=None)):  # python, and IPython in a terminal: there is no kernel
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        broken.listen()
    monkeypatch.delitem(sys.modules, "IPython")
    broken.listen()


def test_picture_in_a_notebook_comes_below_the_error():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = ["from micrograd import Value\na = Value(2.0)", "b = a * 3\nb + 'x'", "1 / 0"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(notebook, allow_errors=True, kernel_name="python3").execute()
    _, broke, divided = [cell.outputs for cell in notebook.cells]
    assert [output.output_type for output in broke] == ["error", "display_data"]
    assert "b = a * 3: data 6.0000" in broke[1].data["text/plain"]
    assert broke[1].data["text/html"].count("<img") == 1
    assert [output.output_type for output in divided] == ["error"]


def test_attribute_of_a_value_that_is_misspelt_is_answered_with_the_right_one():
    assert broken.meant(raised(lambda: Value(1.0).rellu())) == "Did you mean relu?"
    for other in (None, raised(lambda: Value(1.0).quux), raised(lambda: "text".splitt()), raised(lambda: 1 / 0)):
        assert broken.meant(other) == ""
