"""The scalar engine. It needs the standard library alone.

An engine fits on a page. This one is complete, and runs:

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

Here is where each of its parts went, in the order in which the files are best read:

    value         `Node`, as users know it: `Value`, its operators, and how an op is recorded
    ops, rows     `rules`: one row of a table for each op, written as algebra on g. So the same row serves numbers,
                  arrays, nodes (which gives derivatives of derivatives) and symbols (which `compile` reads)
    methods       x.exp(), x.maximum(y), ...: the methods that the table makes
    floats        the functions of `math`, with inf and nan where those raise
    graph         what a node stores, and the gradients that it sends to its operands. A node has its row, and no
                  closure: a closure that refers to its own node is a reference cycle, and Python's garbage collector
                  would take nine tenths of the time
    walk          `backward`: the order without recursion, so that a chain of a million nodes is as good as one of ten;
                  sums that belong to the pass, and reach `.grad` all together or, after an error, not at all
    scalar_walk   the same for plain Values, in half the time
    modes         no_grad, enable_grad, detect_anomaly; and what replaces computing in `lazy` and `compile`
    grad_fn       a graph in PyTorch's words
    rule_text     the rows as text, for pictures and `repr`s; `infix` writes it
    words         what other libraries call it: `view` is `reshape` here
    collector     has Python's garbage collector wait
"""

from .value import Value as Value
