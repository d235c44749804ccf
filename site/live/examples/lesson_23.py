# Lesson 23: On to PyTorch
from micrograd import Value

w, b = Value(0.5), Value(-0.3)
out = (w * 2.0 + b).sigmoid()    # the same names as in PyTorch, and the same numbers
