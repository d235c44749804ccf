# A dead neuron
from micrograd import Value

x = Value(1.0)
w, b = Value(0.5), Value(-2.0)    # drag b up: at -0.5 the neuron comes to life

out = (w * x + b).relu()
