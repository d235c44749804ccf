"""A program as a graph that can be drawn. It is read from the program's text: a trace is let go once there is one.

    t1 = x * y                  a box t1 = x * y, above the boxes x and y
    np.exp(t1, out=b0)          a box b0 = exp(t1)
    return t1, (y, x)           the roots: what is drawn is all that they were made from

>>> source = "def program(x, y):\\n    t1 = x * y\\n    return t1, (y, x)\\n"
>>> [(root.label, root._op) for root in graph_of(source)]
[('t1', '*'), ('y', ''), ('x', '')]
"""

from __future__ import annotations

import ast
from typing import Any

OPS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**", "USub": "neg"}
OPS |= {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
PLUMBING = {"buffers", "stock"}


class Step:
    """A box of the drawing: an operation of the program, an input or a number."""

    requires_grad = False

    def __init__(self, op: str, operands: tuple[Step, ...] = (), label: str = "", data: Any = ""):
        self._op, self._prev, self.label, self.data = op, operands, label, data

    def __repr__(self) -> str:
        return f"<{self.label or self._op or self.data}>"


def graph_of(source: str) -> list[Step]:
    """The outputs of a program, as nodes that `draw_dot` takes."""
    return _Reader(source).roots


class _Reader:
    """Goes through the text line by line, and knows at each what a name stands for."""

    def __init__(self, source: str):
        self.lines, self.names, self.roots = source.splitlines(), {}, []
        self.unknown = "array" if "np." in source else "number"
        program: Any = ast.parse(source).body[0]
        for argument in program.args.args:
            self.names[argument.arg] = self._leaf(argument.arg)
        self._block(program.body)

    def _block(self, statements: list[Any]) -> None:
        for line in statements:
            if isinstance(line, ast.With):
                self._block(line.body)
            elif isinstance(line, ast.Return) or _name(getattr(line, "targets", [None])[0]) == "answer":
                self.roots = self.roots or self._all(line.value)
            elif _name(getattr(line, "value", line)) not in PLUMBING:
                self._line(line)

    def _line(self, line: Any) -> None:
        """An assignment, a call that writes to its `out`, or a sum in place."""
        shape = self.lines[line.lineno - 1].partition("  # ")[2]
        if isinstance(line, ast.Expr):
            self._written(line.value, shape)
        elif isinstance(line, ast.AugAssign):
            self._enter(_name(line.target), self._of("+", (self._step(line.target), self._step(line.value))), shape)
        elif isinstance(line.targets[0], ast.Tuple):  # what is taken apart: inputs
            for target in line.targets[0].elts:
                self.names[_name(target)] = self._leaf(_name(target))
        elif isinstance(line.targets[0], ast.Subscript):
            before = self._step(line.targets[0].value)
            self._enter(_name(line.targets[0]), self._of("put", (before, self._step(line.value))), shape)
        else:
            self._enter(_name(line.targets[0]), self._step(line.value), shape)

    def _written(self, call: Any, shape: str) -> None:
        if call.func.attr == "copyto":
            self._enter(_name(call.args[0]), self._step(call.args[1]), shape)
        elif call.func.attr == "fill":
            self.names[_name(call.func)] = Step("", data=0.0)
        else:
            (out,) = [word.value for word in call.keywords if word.arg == "out"]
            self._enter(_name(out), self._step(call), shape)
            if self.roots:  # the results stand already: this is an update
                self.roots.append(self.names[_name(out)])

    def _enter(self, name: str, step: Step, shape: str) -> None:
        self.names[name] = Step(step._op, step._prev, name, shape or step.data) if step._op else self._leaf(name)

    def _leaf(self, name: str) -> Step:
        return Step("", label=name, data=self.unknown)

    def _of(self, op: str, operands: tuple[Step, ...]) -> Step:
        return Step(op, operands, data=self.unknown)

    def _step(self, x: Any) -> Step:
        """The box of an expression."""
        if isinstance(x, ast.Name):
            return self.names.setdefault(x.id, self._leaf(x.id))
        if isinstance(x, ast.Constant):
            return Step("", data=x.value)
        if isinstance(x, ast.BinOp):
            return self._of(OPS[type(x.op).__name__], (self._step(x.left), self._step(x.right)))
        if isinstance(x, ast.UnaryOp):
            return self._negative(x)
        if isinstance(x, ast.Compare):
            return self._of(OPS[type(x.ops[0]).__name__], (self._step(x.left), self._step(x.comparators[0])))
        if isinstance(x, ast.IfExp):
            return self._of("where", tuple(map(self._step, (x.test, x.body, x.orelse))))
        if isinstance(x, ast.Call):
            return self._call(x)
        if isinstance(x, ast.Subscript):
            return self._of(f"[{ast.unparse(x.slice)}]", (self._step(x.value),))
        return self._step(x.value) if isinstance(x, ast.Attribute) else Step("", data=ast.unparse(x))

    def _negative(self, x: ast.UnaryOp) -> Step:
        if isinstance(x.operand, ast.Constant):
            return Step("", data=ast.literal_eval(x))
        return self._of("neg", (self._step(x.operand),))

    def _call(self, x: ast.Call) -> Step:
        """A function of NumPy's or of the program's own, or a method, whose settings are not drawn."""
        if not isinstance(x.func, ast.Attribute):
            return self._of(ast.unparse(x.func), tuple(map(self._step, x.args)))
        if _name(x.func) == "np":
            return self._of(x.func.attr, tuple(map(self._step, x.args)))
        inner = self._step(x.func.value)
        return inner if x.func.attr in ("view", "item", "copy", "astype") else self._of(x.func.attr, (inner,))

    def _all(self, x: Any) -> list[Step]:
        """The boxes of what a program gives, in order, each once."""
        if isinstance(x, (ast.Tuple, ast.List)):
            return list(dict.fromkeys(step for part in x.elts for step in self._all(part)))
        if isinstance(x, ast.Dict):
            return self._all(ast.Tuple(x.values))
        return [self._step(x)]


def _name(x: Any) -> str:
    """The name at the root of an expression: b0 in b0[3:4], np in np.add.reduce(x)."""
    while x is not None and not isinstance(x, ast.Name):
        below = getattr(x, "func", None) or getattr(x, "value", None)
        if below is None or isinstance(x, ast.Constant):
            return ""
        x = below
    return "" if x is None else x.id
