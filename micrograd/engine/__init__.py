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

    data, grad, operands, rules     `node.Node`. In place of closures it stores the row of the op, and the numbers that
                                    the rules need, so that a later change of `data` changes no gradient
    __add__, __mul__                `value.Value`: the operators, with numbers as operands too; and `recording`, how an
                                    op is recorded fast
    lambda g: g * other.data        `ops`, a table with one `Row` (`rows`) per op, written as algebra on g, so that one
                                    line serves numbers, arrays, nodes (higher derivatives) and symbols (`compile`)
    other.data * ...                `floats`, the functions of `math`, returning inf or nan where `math` raises
    visit, order, seen              `walk.search`: iterative, so a chain of a million nodes does not overflow the stack
    for node in reversed(order)     `walk.propagate`: each node's row does its step, `row.backward(node)`
    operand.grad += ...             the steps are in `rows`. Sums go to a separate slot, `_sum`: a second pass adds the
                                    right amount, and after an error or a Ctrl-C every `.grad` is as it was
    backward                        `Value.backward` and `walk.run` (and `modes`: no_grad, enable_grad, for which the
                                    page above has no line); `by_hand` is for a `_backward` that a user writes

**Why no closures?** Python's cyclic garbage collector visits every object that may refer to others, again and again as
their number grows. A training step of 65,818 nodes (two moons, 100 points, 337 parameters) beside this engine's, and
the share of it that the collector takes (CPython 3.11):

    a node                                               tracked objects a node    time of a step    in the collector
    this engine: one object, its operands in slots       1                         1.0               23 %
    the op's function, operands and numbers in tuples    2                         1.2 to 1.3        35 %
    closures that refer to operands alone: no cycle      7                         5.1               67 %
    the classic: closures that refer to their own node   6                         8.2               81 %

So cycles are half of the story. A closure costs that much because it is several objects: the function, a tuple, and
a cell for each variable. What counts is how many objects the collector has to look at.

That is the heart. It is complete by itself, and everything else of the library hangs on five seams. The folder above,
`scalars/`, uses all of them, and `tests/engine/test_alone.py` has an example of each, in a few lines. What hangs on the
seams adds names, and replaces none: what one reads here is what runs.

    what runs instead of an op      an `Interceptor`, of `modes`: a mode that is a subclass of `Intercepting` sets one.
                                    `lazy` defers the op, `compile` computes it on symbols, `strict` looks at it. An
                                    interceptor is also told when a number is read or a node recorded
    what sees a complete gradient   `walk.watchers` is a list of functions (node, gradient) -> gradient. A pass calls
                                    them for each node, before it sends: `register_hook`, `detect_anomaly`. The argument
                                    `receive` of `walk.run` is a function (node, gradient) that a pass calls in place of
                                    writing to `.grad`: gradients of given inputs, transforms
    a row of any operands           a subclass of `Row` with its own `send(node, g, create_graph)`, which returns pairs
                                    (operand, gradient). `node._record(row, operands, values)` makes it the row of a
                                    node: closures that users write, `Function`, released graphs, compiled functions,
                                    ops of arrays
    a kind of node                  a subclass of `Node` with six methods: `_apply` records an op, `_constant` and
                                    `_seed` make a constant and a first gradient, `_rule_arguments` gives the values
                                    that rules compute on, `_cast_gradient` gives their results the node's form, and
                                    `_plus` adds two of these. Value has them last in its class; `Tensor` is the other
                                    kind
    names added from outside        rows that enter `ops.TABLE`, functions of numbers for them that enter `floats`,
                                    methods set on `Value` and `Node`: `sinh`, `show`, `register_hook`, words of other
                                    libraries. `micrograd/__init__.py`, which is above, adds those of `scalars/`

Read `value` first, then `walk`, `rows` and `ops`. `node`, `floats`, `modes` and `locks` explain themselves when one
meets them, and `recording` comes last.
"""

from .value import Value as Value
