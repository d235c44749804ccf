# Lesson 10: Which of the three?
from micrograd import Value
from micrograd.functional import cross_entropy

cat, dog, bird = Value(2.0), Value(1.0), Value(0.1)
loss = cross_entropy([cat, dog, bird], 0)    # the slopes are p - y
