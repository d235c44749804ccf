# Lesson 25: Kill the mutant
from micrograd import Value

a, b = Value(3.0), Value(3.0)    # make them differ, and a mistake that swaps them shows
c = a * b                        # a gets b, and b gets a
d = c + a                        # a is used twice: its two parts must add up
e = d * c                        # so is c, which must wait for both
