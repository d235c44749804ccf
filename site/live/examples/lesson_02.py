# Lesson 2: A number that remembers
from micrograd import Value

x1, x2 = Value(2.0), Value(0.0)
w1, w2 = Value(-3.0), Value(1.0)
b = Value(6.88)
out = (x1 * w1 + x2 * w2 + b).tanh()
