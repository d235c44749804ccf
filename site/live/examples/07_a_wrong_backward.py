# A wrong way back
from micrograd import Value

def square(a):
    out = Value(a.data**2, [a], "square")

    def _backward():
        a.grad += 3 * a.data * out.grad    # should be 2: the player's check finds it

    out._backward = _backward
    return out

x = Value(1.5)
y = square(x) + 1
