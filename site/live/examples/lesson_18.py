# Lesson 18: Attention
from micrograd import Value
from micrograd import softmax

query, key1, key2 = Value(1.0), Value(2.0), Value(-1.0)
value1, value2 = 10.0, -10.0
weight1, weight2 = softmax([query * key1, query * key2])
answer = weight1 * value1 + weight2 * value2
