# Used twice
from micrograd import Value

a = Value(3.0)
b = a * a    # two ways lead from a to b
c = b + a    # and here a third: what arrives at a is added up
c
