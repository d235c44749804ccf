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

The package splits it into these files, in reading order:

    value         `Node` as users see it: `Value`, its operators, and how an op is recorded
    ops, rows     `rules`: a table with one row per op, written as algebra on g, so that the same row serves numbers,
                  arrays, nodes (higher derivatives) and symbols (`compile`)
    methods       x.exp(), x.maximum(y), ...: methods generated from the table
    floats        the functions of `math`, returning inf or nan where `math` raises
    graph         what a node stores, and the gradients it sends to its operands. A node stores its row and no
                  closure: a closure over its own node is a reference cycle, and collecting those cycles would take
                  nine tenths of the time
    walk          `backward`: an iterative topological sort, so a chain of a million nodes does not overflow the stack;
                  gradients are summed within the pass and committed to `.grad` all at once, or not at all on an error
    scalar_walk   the same for graphs of plain Values, twice as fast
    modes         no_grad, enable_grad, detect_anomaly; and the hook by which `lazy` and `compile` intercept ops
    grad_fn       the graph through PyTorch's interface
    words         names from other libraries, for error messages: `view` is `reshape` here
    collector     a context manager that pauses the garbage collector
"""

from .value import Value as Value
