"""The heart: a scalar engine, complete by itself. It depends on the standard library only.

A complete reverse-mode engine fits on a page:

>>> class Node:
...     def __init__(self, data, operands=(), rules=()):
...         self.data, self.grad, self.operands, self.rules = data, 0.0, operands, rules
...
...     def __add__(self, other):
...         return Node(self.data + other.data, (self, other), (lambda g: g, lambda g: g))
...
...     def __mul__(self, other):
...         return Node(self.data * other.data, (self, other), (lambda g: g * other.data, lambda g: g * self.data))
...
...     def backward(self):
...         order, seen = [], set()
...
...         def visit(node):
...             if node not in seen:
...                 seen.add(node)
...                 for operand in node.operands:
...                     visit(operand)
...                 order.append(node)
...
...         visit(self)
...         self.grad = 1.0
...         for node in reversed(order):
...             for operand, rule in zip(node.operands, node.rules):
...                 operand.grad += rule(node.grad)
>>> a, b = Node(2.0), Node(-3.0)
>>> (a * b + a).backward()
>>> a.grad, b.grad
(-2.0, 2.0)

Every line of it is still there. Where it went, and why it grew:

    data, grad, operands, rules     `value.Node`. In place of closures it stores the row of the op and the numbers that
                                    the rules need. A closure over its own node is a reference cycle, and collecting
                                    those cycles would take nine tenths of the time; and a later change of `data` must
                                    not change a gradient
    __add__, __mul__                `value.Value`: the operators, and how an op is recorded; numbers as operands
    lambda g: g * other.data        `ops`, a table with one `Row` (`rows`) per op, written as algebra on g, so that one
                                    line serves numbers, arrays, nodes (higher derivatives) and symbols (`compile`)
    other.data * ...                `floats`, the functions of `math`, returning inf or nan where `math` raises
    visit, order, seen              `walk.search`: iterative, so a chain of a million nodes does not overflow the stack
    rule(node.grad)                 `walk.propagate`, with `row.send` for all but plain numbers
    operand.grad += ...             sums in a separate slot, `_sum`. A second pass adds the right amount; and after
                                    an error or a Ctrl-C every `.grad` is as it was
    backward                        `walk.run`, one pass for all: for `Value.backward` and for `walk.grad`, from several
                                    roots (and `modes`: no_grad, enable_grad, for which the page above has no line)

That is the heart. It is complete by itself, and everything else of the library hangs on five seams. The folder above,
`scalars/`, uses all of them, and `tests/engine/test_alone.py` has an example of each, in a few lines.

    what runs instead of an op      `modes.intercept` holds a function (row, operands) -> node, or None. A subclass of
                                    `Mode` sets it, with `variable = intercept`: `lazy` defers the op, `compile`
                                    computes it on symbols, `strict` looks at it
    what sees a complete gradient   `walk.watchers` is a list of functions (node, gradient) -> gradient. A pass calls
                                    them for each node, before it sends: `register_hook`, `detect_anomaly`. The argument
                                    `receive` of `walk.run` is a function (node, gradient) that a pass calls in place of
                                    writing to `.grad`: gradients of given inputs, transforms
    a row of any operands           a subclass of `Row` with its own `send(node, g, create_graph)`, which returns pairs
                                    (operand, gradient). `node._record(row, operands, values)` makes it the row of a
                                    node, with the tuple of operands in `_x` and the values in `_y`: closures that users
                                    write (`_backward`), `Function`, released graphs, compiled functions, ops of arrays
    a kind of node                  a subclass of `Node` with six methods: `_apply` records an op, `_constant` and
                                    `_seed` make a constant and a first gradient, `_used` gives the values that rules
                                    compute on, `_fit` gives their results the node's form, and `_plus` adds two of
                                    these. Value has them last in its class; `Tensor` is the other kind
    names attached from outside     rows that enter `ops.TABLE`, a library of functions for them in `rows.LIBRARIES`,
                                    methods set on `Value` and `Node`: `sinh`, `show`, `register_hook`, words of other
                                    libraries. `micrograd/__init__.py`, which is above, attaches those of `scalars/`

Read `value` first, then `rows`, `ops` and `walk`; `floats`, `locks` and `modes` when they are met.
"""

from .value import Value as Value
