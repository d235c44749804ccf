# A step downhill
from micrograd import Value

x, target = 1.5, 4.0
w, b = Value(0.6), Value(0.2)

loss = (w * x + b - target) ** 2
loss.backward()
print(f"the loss is {loss.data:.4f}")

for p in (w, b):
    p.data -= 0.1 * p.grad    # against the slope

after = (w * x + b - target) ** 2
print(f"and after one step {after.data:.4f}")
