# Lesson 5: In which order?
from micrograd import Value

a = Value(3.0)
b = a * 2
c = b + a     # b must wait until all that is made of it has spoken
d = c * b
