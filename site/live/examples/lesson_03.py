# Lesson 3: The chain rule, by hand
from micrograd import Value

a, b = Value(2.0), Value(3.0)
c = a * b
d = c - 8
L = d**2
