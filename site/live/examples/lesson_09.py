# Lesson 9: One neuron, and what it can do
from micrograd import Value

w, b = Value(2.0), Value(-1.0)
x, kind = 1.5, 0    # kind is 1 or 0
logit = w * x + b
p = logit.sigmoid()    # the probability of kind 1
loss = -(1 - p).log() if kind == 0 else -p.log()    # logit.grad is p - kind
