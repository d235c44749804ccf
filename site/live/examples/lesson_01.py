# Lesson 1: A derivative is a nudge
from micrograd import Value

x = Value(3.0)
y = x**2    # its slope is 2x: drag x, and look
