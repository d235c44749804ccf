# Lesson 8: Two moons
from micrograd import Value

score = Value(0.3)
label = 1
loss = (1 - label * score).relu()    # no slope any more from a score of 1 on
