# Lesson 12: From scalars to tensors
from micrograd import Value

x = [Value(1.0), Value(2.0)]
w = [Value(0.5), Value(-1.0)]
out = sum(a * b for a, b in zip(x, w))    # what x @ w does, number by number
