"""The scalar engine. It depends on the standard library only.

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

    data, grad, operands, rules     `graph.Node`. In place of closures it stores the row of the op and the numbers that
                                    the rules need. A closure over its own node is a reference cycle, and collecting
                                    those cycles would take nine tenths of the time; and a later change of `data` must
                                    not change a gradient
    __add__, __mul__                `value.Value`: the operators, and how an op is recorded; numbers as operands
    lambda g: g * other.data        `ops`, a table with one `Row` (`rows`) per op, written as algebra on g, so that one
                                    line serves numbers, arrays, nodes (higher derivatives) and symbols (`compile`)
    visit, order, seen              `walk.topological`: iterative, so a chain of a million nodes does not overflow the
                                    stack; `walk.towards` visits only what leads to given inputs
    rule(node.grad)                 `graph.contributions`; a gradient reaches hooks first, and closures that users write
    operand.grad += ...             `walk.propagate` sums in a dict, `walk.commit` writes the sums: all at once, or none
                                    after an error or a Ctrl-C. A second pass adds the right amount
    backward                        `walk.backward` and `walk.grad`, from several roots; `scalar_walk` does the same for
                                    graphs of plain Values, twice as fast

What it has no line for:

    methods      x.exp(), x.maximum(y), ...: methods made from the table
    floats       the functions of `math`, returning inf or nan where `math` raises
    modes        no_grad, enable_grad, detect_anomaly; and the hook by which `lazy` and `compile` intercept ops
    grad_fn      the graph through PyTorch's interface
    words        names from other libraries, for error messages: `view` is `reshape` here
    trees        nested lists, tuples and dicts, mapped and flattened
    collector    a context manager that pauses the garbage collector

Read `value` first, then `ops`, `graph` and `walk`: they are the engine.
"""

from .value import Value as Value
