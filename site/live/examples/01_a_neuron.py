# A neuron
from micrograd import Value

x1, x2 = Value(2.0), Value(0.0)     # inputs
w1, w2 = Value(-3.0), Value(1.0)    # weights
b = Value(6.88)                     # bias

n = x1 * w1 + x2 * w2 + b
out = n.tanh()
