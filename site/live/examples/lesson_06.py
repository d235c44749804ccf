# Lesson 6: Can you trust a gradient?
from micrograd import Value

x, y = Value(1.5), Value(-0.5)
out = (x * y).exp() / (x - y)    # the player checks each slope by a nudge
