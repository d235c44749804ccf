# Lesson 4: Each operation brings its own way back
from micrograd import Value

def times(a, b):
    out = Value(a.data * b.data, (a, b), "times")

    def send_back():
        a.grad += b.data * out.grad
        b.grad += a.data * out.grad

    out._backward = send_back
    return out

x, y = Value(2.0), Value(-3.0)
z = times(x, y) + x
