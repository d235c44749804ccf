# Lesson 21: Gradients of gradients
from micrograd import Value
from micrograd import grad

x = Value(1.2)
y = x**3 - 2 * x
(slope,) = grad(y, [x], create_graph=True)
slope    # a graph as well, to be differentiated again
