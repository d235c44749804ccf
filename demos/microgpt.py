"""Teach a tiny GPT to make up names, one number a node.

    python demos/microgpt.py --steps 20       learns a little, and makes up names

Read it from `main` at the bottom upwards.
"""

import argparse
import sys

try:
    import names
    import numpy as np
    from tqdm import tqdm

    from micrograd import Value, no_grad
    from micrograd.functional import cross_entropy, softmax
    from micrograd.nn import Layer, Module
    from micrograd.optim import Adam, LambdaLR
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    sys.exit(f'This demo needs {package}, which is not installed here: pip install "micrograd-glass[demos]"')


# ------------------------------------------------------------------------------------------------ the data
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the first one is the mark where a name begins and ends


def make_data(seed):
    """5,163 first names of the census of 1990, in two lists: nine in ten to learn from, one held out."""
    found = set()
    for which in ("first:female", "first:male"):
        with open(names.FILES[which], encoding="ascii") as lines:
            found |= {line.split()[0].lower() for line in lines}
    shuffled = np.random.default_rng(seed).permutation(sorted(found)).tolist()
    held_out = len(shuffled) // 10
    return shuffled[held_out:], shuffled[:held_out]


def tokens(name):
    """The name as numbers, between two marks."""
    return [0, *map(LETTERS.index, name), 0]


# ------------------------------------------------------------------------------------------------ the model, in Values
def dot(a, b):
    """The sum of the products."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def normed(x):
    """A vector at the length that makes the mean of its squares 1 (RMSNorm: Zhang and Sennrich, 2019)."""
    scale = (dot(x, x) / len(x) + 1e-5) ** -0.5
    return [a * scale for a in x]


class Head(Module):
    """Attention: of the values, each by the share that its key has with the query (Vaswani et al., 2017)."""

    def __call__(self, query, keys, values):
        shares = softmax([dot(query, key) / len(query) ** 0.5 for key in keys])
        return [dot(shares, column) for column in zip(*values, strict=True)]


class ValueBlock(Module):
    """Every place looks at those before it, then thinks for itself; what it finds is added to what it was."""

    def __init__(self, width, heads):
        self.query, self.key, self.value, self.out = (Layer(width, width, nonlin=False) for _ in range(4))
        self.heads = [Head() for _ in range(heads)]
        self.up, self.down = Layer(width, 4 * width), Layer(4 * width, width, nonlin=False)

    def __call__(self, xs):
        xs = [add(x, self.out(seen)) for x, seen in zip(xs, self.attend(list(map(normed, xs))), strict=True)]
        return [add(x, self.down(self.up(normed(x)))) for x in xs]

    def attend(self, xs):
        """What each place sees of the places up to it."""
        queries, keys, values = ([self.cut(layer(x)) for x in xs] for layer in (self.query, self.key, self.value))
        for i, query in enumerate(queries):
            seen = [
                head(query[h], [key[h] for key in keys[: i + 1]], [value[h] for value in values[: i + 1]])
                for h, head in enumerate(self.heads)
            ]
            yield sum(seen, [])

    def cut(self, x):
        """A vector in as many parts as there are heads."""
        size = len(x) // len(self.heads)
        return [x[i : i + size] for i in range(0, len(x), size)]


def add(a, b):
    """The sum of two vectors."""
    return [x + y for x, y in zip(a, b, strict=True)]


class ValueGPT(Module):
    """What comes next? A number for each letter, at each place of a name; the greater, the likelier."""

    def __init__(self, width, heads, layers, length):
        draw = np.random.default_rng(0).standard_normal
        self.letters = [[Value(x) for x in row] for row in draw((len(LETTERS), width)).tolist()]
        self.places = [[Value(x) for x in row] for row in draw((length, width)).tolist()]
        self.blocks = [ValueBlock(width, heads) for _ in range(layers)]
        self.out = Layer(width, len(LETTERS), nonlin=False)

    def __call__(self, numbers):
        xs = [add(self.letters[n], self.places[i]) for i, n in enumerate(numbers)]
        for block in self.blocks:
            xs = block(xs)
        return [self.out(normed(x)) for x in xs]


def main():
    learn, held = make_data(0)
    print(len(learn), len(held), max(map(len, learn)))
    model = ValueGPT(16, 4, 1, 16)
    for p in model.parameters():
        p.data *= 0.2
    optimizer = Adam(model.parameters(), lr=0.01)
    steps = int(sys.argv[1])
    schedule = LambdaLR(optimizer, lambda step: 1 - step / steps)
    bar = tqdm(range(steps))
    for step in bar:
        numbers = tokens(learn[step])
        loss = cross_entropy(model(numbers[:-1]), numbers[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        bar.set_postfix(loss=loss.data)


if __name__ == "__main__":
    main()
