# Lesson 11: The long valley
from micrograd import Value

x, y = Value(3.0), Value(1.0)
height = 0.1 * x**2 + 5 * y**2    # a long valley: flat one way, steep the other
