"""What the tests of `compile` share."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from math import isclose
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, grad
from micrograd.common import trees

HAS_BACKENDS = find_spec("micrograd.backends") is not None
NEEDS_BACKENDS = pytest.mark.skipif(not HAS_BACKENDS, reason="the folder micrograd/backends was taken away")

# In `make test-all`, and where a back end was touched; conftest.py knows what each needs
IN_C, IN_NODE, IN_JAX = pytest.mark.in_c, pytest.mark.in_node, pytest.mark.in_jax
C = pytest.param("c", marks=IN_C)
JAVASCRIPT = pytest.param("javascript", marks=IN_NODE)
JAX = pytest.param("jax", marks=IN_JAX)
LOOPED = [C, JAVASCRIPT]  # what programs are written in as loops
BACKENDS = ["python", "numpy", C]  # of numbers


def unwatched(f: Callable) -> Callable:
    """f, in what guards do not look into: each compilation would watch all of the tables of ops that it leads to."""
    return lru_cache(maxsize=0)(f)


def near(a: Any, b: Any, tolerance: float = 1e-12) -> bool:
    """Are two trees of numbers the same, to 1e-12 of their size?"""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def same(found: Any, expected: Any, tolerance: float = 1e-12, what: str = "") -> None:
    """Equal to 1e-12 of the greatest element: sums may be taken in another order."""
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        np.testing.assert_allclose(a, b, tolerance, tolerance * max(abs(b).max(initial=0), 1), err_msg=what)


def eager_step(loss: Callable, optimizer: Any, *args: Any) -> Any:
    """A step of training without a program, and its loss."""
    optimizer.zero_grad()
    out = loss(*(Tensor(x) if isinstance(x, np.ndarray) else x for x in args))
    out.backward()
    optimizer.step()
    return out.data


def with_gradients(f: Callable, params: list[Any], *args: Any, **named: Any) -> list[Any]:
    """The number that f gives, and its gradients."""
    out = f(*args, **named)
    return [out.item(), *(0.0 if g is None else g for g in grad(out, params, allow_unused=True))]


def looped(target: str, f: Callable, *inputs: Any) -> list[np.ndarray]:
    """The results of f, run as loops: by the C back end, or as a module by Node."""
    if target == "c":
        return [x.data for x in trees.leaves(micrograd.compile(f, backend="c")(*inputs))]
    compiled = micrograd.compile(f)
    like = [np.asarray(x.data) for x in trees.leaves(compiled(*inputs))]
    given = dict(zip(compiled.names, map(plain, inputs), strict=False)) if compiled.names else {}
    given |= {f"x{i}": plain(x) for i, x in enumerate(inputs) if i >= len(compiled.names)}
    found = in_node(compiled, f"[step({json.dumps(given)})].flat(Infinity)")
    parts = np.split(np.array(found), np.cumsum([x.size for x in like])[:-1])
    return [part.astype(x.dtype).reshape(x.shape) for part, x in zip(parts, like, strict=True)]


def plain(x: Any) -> Any:
    """A node or an array as nested lists."""
    return np.asarray(x.data if isinstance(x, (Value, Tensor)) else x).tolist()


def in_node(f: Any, expression: str) -> Any:
    """What an expression is in the module of a compiled function; floats as they are, nan and inf too."""
    code = f"""{f.to_js().decode()}
const isPlain = x => typeof x !== "number" || (Number.isFinite(x) && !Object.is(x, -0));
const exact = (_, x) => isPlain(x) ? x : {{special: Object.is(x, -0) ? "-0" : String(x)}};
console.log(JSON.stringify({expression}, exact));
"""
    done = subprocess.run(["node", "--input-type=module"], input=code, capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout, object_hook=lambda x: float(x["special"]) if "special" in x else x)
