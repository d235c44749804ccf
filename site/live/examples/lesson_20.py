# Lesson 20: Why it is fast
from micrograd import Value

x, y = Value(0.5), Value(2.0)
out = (x * y).exp() + x    # compile() makes a program of four lines of it
