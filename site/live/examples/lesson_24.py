# Lesson 24: Many workers
from micrograd import Value

w = Value(0.5)
half1 = (w * 1.0 - 2.0) ** 2 + (w * 2.0 - 3.0) ** 2    # one worker's share of the batch
half2 = (w * 3.0 - 7.0) ** 2 + (w * 4.0 - 8.0) ** 2    # another's: w.grad is the sum of both
loss = (half1 + half2) / 4
