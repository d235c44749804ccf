# Lesson 0: The Python that you need
from micrograd import Value

prices = [Value(3.0), Value(5.0), Value(10.0)]
counts = [2, 0, 1]
total = sum(price * count for price, count in zip(prices, counts, strict=True))
