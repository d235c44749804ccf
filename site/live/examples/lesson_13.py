# Lesson 13: Modules and batches: the digits
from micrograd import Value
from micrograd.functional import mse

w = Value(0.8)
loss = mse([w * x for x in (1.0, 2.0, 3.0)], [1.0, 2.0, 3.0])    # a batch of three
