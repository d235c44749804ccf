# Lesson 14: Too good to be true
from micrograd import Value

w1, w2 = Value(3.0), Value(-2.0)
x1, x2, wanted = 1.0, 1.5, 0.5
decay = 0.1    # 0 leaves the weights large; 1 pulls them towards zero, whatever the error
error = (w1 * x1 + w2 * x2 - wanted) ** 2
loss = error + decay * (w1 ** 2 + w2 ** 2)
