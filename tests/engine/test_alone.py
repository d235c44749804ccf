"""The engine alone: its folder as a package of another name, which finds nothing else of the library."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import micrograd
import micrograd.engine

IMPORTS = """
import math
from engine_alone import Value, floats, modes, ops, rows, walk
from engine_alone.node import NOTHING, Node, fill_slots
from engine_alone.recording import method_of

def grad(output, x):
    found = {}
    walk.run([output], [output._seed(None, True)], True, found.__setitem__)
    return found[x]
"""
PROGRAMS = {
    "Values": """
x = Value(-4.0)
z = 2 * x + 2 + x
q = z.relu() + z * x
h = (z * z).relu()
y = h + q + q * x
y.backward()
assert (y.data, x.grad) == (-20.0, 46.0)

x = Value(2.0)
g = grad(x**4, x)
h = grad(g, x)
assert (g.data, h.data, grad(h, x).data, x.grad) == (32.0, 48.0, 48.0, 0)
with modes.no_grad():
    assert not (x * 2).requires_grad

assert Value(2.0, label="a").label == "a"
try:
    Value(2.0, requires_grad=False).backward()
except RuntimeError as error:
    assert "is a constant" in str(error)
else:
    raise AssertionError

x = Value(0.0)
(x**-1).backward()
assert x.grad == -math.inf and x.log().data == -math.inf and Value(1000.0).exp().data == math.inf
assert math.isnan((Value(-8.0) ** 0.5).data) and (1.0 / x).data == math.inf
""",
    "the scheme": """
a, b = Value(2.0), Value(-3.0)
c = a * b + 1
assert c._op == "+" and c._prev[0]._prev == (a, b) and c._prev[1].data == 1.0 and a._prev == ()
c.grad = 1.0
for node in (c, c._prev[0]):
    node._backward()
assert (a.grad, b.grad) == (-3.0, 2.0)

out = Value(a.data**2, (a,), "squared")
def backward():
    a.grad += 2 * a.data * out.grad
out._backward = backward
a.grad = 0.0
(out * 10).backward()
assert (out._op, out._prev, a.grad) == ("squared", (a,), 40.0)

a.data, a.requires_grad = 5.0, False
assert (a * b).backward() is None and (a.grad, b.grad) == (40.0, 7.0)
""",
    "a watcher sees and replaces complete gradients": """
x = Value(3.0)
y = x * x
walk.watchers.append(lambda node, g: g * 10 if node is y else g)
(y + y).backward()
assert (y.grad, x.grad) == (20.0, 120.0)
""",
    "a row of any operands": """
class Dot(rows.Row):
    def send(self, node, g, create_graph=False):
        a, b, c, d = node._operands
        return [(a, g * c.data), (b, g * d.data), (c, g * a.data), (d, g * b.data)]
xs = [Value(2.0), Value(3.0), Value(4.0), Value(5.0)]
dot = Value(23.0)
dot._record(Dot("dot", None), (*xs,), None)
(dot * 2 + xs[0]).backward()
assert [x.grad for x in xs] == [9.0, 10.0, 4.0, 6.0]
""",
    "an op that runs elsewhere": """
class Counting(modes.Interceptor):
    def __call__(self, row, operands):
        seen.append(row.name)
        return super().__call__(row, operands)
class counting(modes.Intercepting):
    value = Counting()
seen, x = [], Value(2.0)
with counting():
    y = x * x + 1
assert seen == ["*", "+"] and y.data == 5.0
""",
    "another kind of node": """
class Complex(Node):
    def __init__(self, data):
        fill_slots(self, data, rows.LEAF)
    def _apply(self, row, operands):
        values = [x._data if isinstance(x, Complex) else x for x in operands]
        out = self._constant(row.forward(*values))
        out._record(row, [x if isinstance(x, Complex) else NOTHING for x in operands], values)
        return out
    def _constant(self, data):
        return fill_slots(object.__new__(Complex), data)
    def _seed(self, gradient, create_graph):
        return 1 + 0j if gradient is None else gradient
    def _rule_arguments(self, create_graph):
        return self._x, self._y
    def _cast_gradient(self, part):
        return complex(part)
    def _plus(self, total, part, taken=None, /):
        return total + part
z = Complex(1 + 2j)
w = ops.mul(ops.mul(z, z), ops.add(3, z))
walk.run([w], [w._seed(None, False)])
assert (w._data, z.grad) == (z._data**3 + 3 * z._data**2, 3 * z._data**2 + 6 * z._data)
""",
    "names from outside": """
floats.sinh = math.sinh
sinh = ops.function("sinh", lambda g, out, a: g * (1 + out * out) ** 0.5)
assert ops.TABLE["sinh"] is sinh
Value.sinh, Node.double = method_of(sinh), lambda self: self + self
x = Value(0.5)
x.sinh().double().backward()
assert math.isclose(x.grad, 2 * math.cosh(0.5))
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_engine_alone_runs(program: str, monkeypatch: pytest.MonkeyPatch):
    spec = spec_from_file_location(
        "engine_alone", micrograd.engine.__file__, submodule_search_locations=[*micrograd.engine.__path__]
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "micrograd"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "engine_alone", engine := module_from_spec(spec))
    spec.loader.exec_module(engine)
    try:
        exec(IMPORTS + program, {})
    finally:
        for name in [name for name in sys.modules if name.startswith("engine_alone.")]:
            del sys.modules[name]


WHAT_IS_REPLACED = """
import importlib, pkgutil, sys, types
package = types.ModuleType("micrograd")  # without its own __init__, which would load more than the engine
package.__path__ = [sys.argv[1]]
sys.modules["micrograd"] = package
def load(folder):
    for found in pkgutil.walk_packages([f"{sys.argv[1]}/{folder}"], f"micrograd.{folder}."):
        importlib.import_module(found.name)
load("engine")
read = {
    (module.__name__, name, key): (x, key, member)
    for module in [*sys.modules.values()] if module.__name__.startswith("micrograd.engine.")
    for name, x in vars(module).items() if isinstance(x, type) and x.__module__ == module.__name__
    for key, member in vars(x).items()
}
assert len(read) > 100
for folder in ("scalars", "autograd", "nn", "optim", "functional"):
    load(folder)
    importlib.import_module(f"micrograd.{folder}")
print(*[where for where, (x, key, member) in read.items() if vars(x).get(key) is not member], sep="\\n")
"""


def test_what_one_reads_in_the_engine_is_what_runs_once_all_is_imported():
    folder = Path(micrograd.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", WHAT_IS_REPLACED, str(folder)], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.stdout) == ("", "\n")
