# Lesson 19: Build a GPT
from micrograd import Value

x = [Value(3.0), Value(-1.0)]    # the vector of a letter
size = ((x[0] * x[0] + x[1] * x[1]) / 2) ** 0.5
normed = [x[0] / size, x[1] / size]    # its mean square is 1
found = 0.5 * normed[0] - 0.2 * normed[1]    # stands for attention
out = x[0] + found    # the residual: a direct path back to x
