# Which of three?
from micrograd import Value
from micrograd.functional import cross_entropy

cat, dog, bird = Value(2.0), Value(1.0), Value(0.1)    # scores

loss = cross_entropy([cat, dog, bird], 0)    # it was a cat
