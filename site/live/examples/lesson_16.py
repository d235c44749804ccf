# Lesson 16: Pictures
from micrograd import Value

left, right = Value(-1.0), Value(1.0)    # a filter of two weights
a, b, c, d = 0.0, 1.0, 1.0, 0.0    # a row of pixels
edges = [left * a + right * b, left * b + right * c, left * c + right * d]    # the same weights at three places
loss = (edges[0] - 2.0) ** 2 + edges[1] ** 2 + (edges[2] + 2.0) ** 2    # left.grad is the sum over the places
