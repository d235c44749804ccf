# Lesson 15: Why deep nets did not train
from micrograd import Value

x, w = Value(1.0), Value(0.5)    # w = 0.5: hardly any gradient reaches x; w = 3: the layers are saturated
h1 = (w * x).tanh()
h2 = (w * h1).tanh()    # now write h1 + (w * h1).tanh(), and so on below: the gradient gets through
h3 = (w * h2).tanh()
h4 = (w * h3).tanh()
loss = (h4 - 1) ** 2
