# Lesson 17: Letters as vectors
from micrograd import Value
from micrograd.functional import cross_entropy

a = [Value(0.5), Value(-1.0)]    # the vector of the letter a
weights = [[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]]    # of three letters that may come next
logits = [w1 * a[0] + w2 * a[1] for w1, w2 in weights]
loss = cross_entropy(logits, 1)    # the second one came: where does the vector of a go?
