# Lesson 22: Inside an autograd engine
from micrograd import Value

x = Value(2.0)
y = x * x
y.register_hook(lambda g: g / 2)    # half of what arrives goes on
z = 3 * y
