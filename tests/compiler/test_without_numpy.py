"""Values need no NumPy: compiled functions, transforms, gradcheck, seeds, batches, where it cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent
from typing import Any

import pytest

HIDDEN = """import io, json, sys; sys.modules["numpy"] = None
from contextlib import redirect_stdout
import micrograd
from micrograd import Value, batches, compile, functional, gradcheck, gradient, hessian, manual_seed, nn, optim
from micrograd import value_and_grad
def said(code):
    names = {**globals()}
    with redirect_stdout(io.StringIO()) as out:
        try:
            exec(code, names)
        except Exception as error:
            print(repr(error))
    return out.getvalue().strip()
"""


SAME = {
    "all names": """
        everything = {}
        exec("from micrograd import *", everything)
        print("Value" in everything and "Tensor" not in everything and "draw_dot" in dir(micrograd))""",
    "where Python raises": """
        f = value_and_grad(compile(lambda x: x.log() + 1 / x))
        print(f(0.0)[0] != f(0.0)[0] and f(1.0) == (1.0, 0.0))""",
    "a network": """
        manual_seed(1)
        model = nn.MLP(2, [4, 1])
        xs, ys = [[0.1, 0.2], [0.3, -0.4], [-0.5, 0.6]], [1.0, -1.0, 1.0]
        loss = compile(lambda xs, ys: functional.mse([model(x) for x in xs], ys))
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        for _ in range(60):
            for x, y in batches(xs, ys, size=2):
                optimizer.zero_grad()
                loss(x, y).backward()
                optimizer.step()
        print(loss(xs, ys).data < 0.05 and loss.cache_info().misses == 3)""",
    "a whole training step": """
        w = Value(2.0)
        adam = optim.Adam([w], lr=0.1)
        step = compile(lambda x: (w * x - 1.0) ** 2, update=adam, check=True)
        print(step(1.0).data == 1.0 and abs(w.data - 1.9) < 1e-8 and adam.state[w]["steps"] == 1)""",
    "transforms": """
        f = lambda x, y: x * x * y
        each = [gradient(g)(2.0, 3.0) == (12.0, 4.0) for g in (f, compile(f))]
        each += [hessian(g)(2.0, 3.0) == ((6.0, 4.0), (4.0, 0.0)) for g in (f, compile(f))]
        print(all(each) and value_and_grad(f)(2.0, 3.0) == (12.0, (12.0, 4.0)) and gradcheck(f, 2.0, 3.0, order=2))""",
    "a check": """
        k = [3.0]
        f = compile(lambda x: k[0] * x, check=True)
        f(1.0)
        k[0] = 2.0
        try:
            f(1.0)
        except RuntimeError as error:
            print("the function itself" in str(error) and "multiply(" in str(f.lowered))""",
    "draws": """
        import random
        try:
            compile(lambda x: x * random.random())(1.0)
        except RuntimeError as error:
            print("random numbers" in str(error))""",
}


MISSING = ["micrograd.Tensor", "micrograd.zeros(2)", "compile(abs, batch=True)"]


@pytest.fixture(scope="module")
def said() -> Any:
    """What each code prints in one process in which NumPy cannot be imported."""
    codes = {name: dedent(code) for name, code in SAME.items()} | {use: use for use in MISSING}
    script = f"{HIDDEN}print(json.dumps({{name: said(code) for name, code in {codes!r}.items()}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", SAME)
def test_values_need_no_numpy(name: str, said: Any):
    assert said[name] == "True"


@pytest.mark.parametrize("use", MISSING)
def test_arrays_say_that_numpy_is_missing(use: str, said: Any):
    assert "ModuleNotFoundError" in said[use]
    assert "numpy" in said[use].lower()
