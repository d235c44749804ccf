# Lesson 7: Four points
from micrograd import Value

x, y, wanted = 1.0, 0.0, 1.0
w1, w2, b = Value(0.4), Value(-0.7), Value(0.1)
loss = ((w1 * x + w2 * y + b).tanh() - wanted) ** 2
