# A tiny network
import random
from micrograd import Value
from micrograd.nn import MLP

random.seed(3)
x, y = Value(0.5), Value(-1.0)
model = MLP(2, [3, 1], activation="tanh")

loss = (model([x, y]) - 1) ** 2
