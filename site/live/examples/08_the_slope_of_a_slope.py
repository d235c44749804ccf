# The slope of a slope
from micrograd import Value, grad

x = Value(1.2)
y = x**3 - 2 * x

(slope,) = grad(y, [x], create_graph=True)
print(f"3x² - 2 = {slope.data:.4f}")
slope    # it is a graph too, and can be differentiated again
