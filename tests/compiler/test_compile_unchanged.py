"""Numbers that some calls found unchanged are read once more, when somebody changes or looks at one of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from compile_helpers import C

from micrograd import Value, compile, grad
from micrograd.compiler.offload import PATIENCE, AwayValue
from micrograd.optim import SGD

N = 100
SQUARES = sum(i * i for i in range(1, N + 1))
BACKENDS = ["numpy", C]


class Line:
    """The sum of the squares of some numbers times x, and its program, which was called until it has the numbers."""

    def __init__(self, backend: str):
        self.w = [Value(float(i)) for i in range(1, N + 1)]
        self.f: Any = compile(self.eager, backend=backend)
        for _ in range(PATIENCE + 2):
            self.f(2.0)

    def eager(self, x: Any) -> Any:
        return sum((w * x) ** 2 for w in self.w)


@pytest.fixture(params=BACKENDS)
def line(request: Any) -> Line:
    return Line(request.param)


def test_program_fetches_the_numbers_that_some_calls_found_unchanged(line: Line):
    assert {*map(type, line.w)} == {AwayValue}
    assert line.f(3.0).data == 9.0 * SQUARES  # and it goes on from there
    assert line.w[1].data == 2.0
    assert {*map(type, line.w)} == {Value}


CHANGES: dict[str, Callable[[Line], Any]] = {
    "data": lambda line: setattr(line.w[0], "data", 5.0),
    "the same number, and another": lambda line: [setattr(line.w[i], "data", x) for i, x in ((0, 1), (3, 9))],
    "a step": lambda line: SGD(line.w[:2], 0.5).step(),
    "a compiled step": lambda line: compile(line.eager, update=SGD(line.w, 0.01), backend="numpy")(2.0),
    "nan": lambda line: setattr(line.w[3], "data", float("nan")),
    "another thread": lambda line: ThreadPoolExecutor().submit(setattr, line.w[2], "data", -1.0).result(),
    "replaced": lambda line: line.w.__setitem__(0, Value(7.0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_is_seen_by_the_next_call(line: Line, change: str):
    line.w[0].grad = line.w[1].grad = 0.5
    CHANGES[change](line)
    for _ in range(2 * PATIENCE):
        assert line.f(2.0).data == pytest.approx(line.eager(2.0).data, nan_ok=True)
    for _ in range(2 * PATIENCE):
        assert line.f(2.0).data == pytest.approx(sum((w.data * 2.0) ** 2 for w in line.w), nan_ok=True)


def test_gradients_are_added_as_before_whatever_is_there(line: Line):
    for before in ([0, 0], [0, 0.5], [1.0, 2.0], [-0.0, 0]):
        for w, g in zip(line.w, before * (N // 2), strict=True):
            w.grad = g
        line.f(2.0).backward()
        assert [w.grad for w in line.w] == [before[i % 2] + 8.0 * (i + 1) for i in range(N)]
    assert {*map(type, line.w)} == {AwayValue}  # a gradient is not where the number is


@pytest.mark.parametrize("look", [lambda line: line.w[0].data, lambda line: [line.f(2.0) for _ in range(2 * PATIENCE)]])
def test_second_order_of_a_call_holds_wherever_its_numbers_are_now(line: Line, look: Callable[[Line], Any]):
    line.w[0].data  # the numbers of the call are the Values' own, or fetched; so are those of now
    for loss in (line.f(2.0), [line.f(2.0) for _ in range(2 * PATIENCE)][-1]):
        look(line)
        (slope,) = grad(loss, line.w[1:2], create_graph=True)
        assert grad(slope, line.w[1]) == (8.0,)


def test_number_that_is_frozen_after_the_call_gets_what_it_gets_in_an_eager_graph(line: Line):
    loss, eager = line.f(2.0), line.eager(2.0)
    line.w[1].requires_grad = False
    loss.backward()
    found = [w.grad for w in line.w]
    for w in line.w:
        w.grad = 0
    eager.backward()
    assert found == [w.grad for w in line.w]
    assert line.f(2.0).data == 4.0 * SQUARES


def test_second_order_of_a_call_raises_after_one_of_its_numbers_has_changed(line: Line):
    loss = line.f(2.0)
    line.w[0].data = 1.5
    with pytest.raises(RuntimeError, match="changed since"):
        grad(loss, [line.w[0]], create_graph=True)


def test_functions_that_share_numbers_find_them_in_each_others_hands(line: Line):
    other = compile(lambda: sum(w * w for w in line.w), backend="numpy")
    for i in range(3 * PATIENCE):
        assert (line.f(2.0).data, other().data) == (4.0 * other().data, SQUARES + 8.0 * (i > 20))
        if i == 20:
            line.w[0].data = 3.0


def test_numbers_that_are_away_are_pickled_and_drawn_as_they_are(line: Line):
    assert [w.data for w in pickle.loads(pickle.dumps(line.w[:3]))] == [1.0, 2.0, 3.0]
    line.f(2.0)
    assert repr(line.w[2]) == "Value(data=3.0, grad=0)"


def test_numbers_that_change_with_each_call_stay_where_they_are(line: Line):
    for i in range(3 * PATIENCE):
        line.w[0].data = float(i)
        assert line.f(2.0).data == 4.0 * (i * i + SQUARES - 1)
        assert {*map(type, line.w)} == {Value}
