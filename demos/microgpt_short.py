"""A tiny GPT that learns first names and makes up new ones: all of it, in one file without options.

    pip install names
    python demos/microgpt_short.py

Read it from top to bottom. `microgpt.py` is the same model with options, in three engines.
"""

import argparse

import names
import numpy as np

from micrograd import compile, no_grad
from micrograd.functional import cross_entropy, softmax
from micrograd.nn import Embedding, Linear, Module
from micrograd.optim import Adam, LambdaLR

if __name__ == "__main__":  # --help says what this is; there are no options
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()

SEED, STEPS, BATCH, RATE = 1337, 3000, 32, 0.01
WIDTH, HEADS, LAYERS = 16, 4, 1  # numbers per letter, heads, blocks
rng = np.random.default_rng(SEED)

# ---- 1. The data: 5,163 first names, one in ten of which the model never sees
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the first one marks where a name begins and ends
PLACES = 12  # the longest name has eleven letters, and the mark comes before them

found = set()
for which in ("first:female", "first:male"):
    with open(names.FILES[which], encoding="ascii") as lines:
        found |= {line.split()[0].lower() for line in lines}
shuffled = rng.permutation(sorted(found)).tolist()
unseen, seen = shuffled[: len(found) // 10], shuffled[len(found) // 10 :]


def numbered(batch):
    """The letters that are read, those that follow, and 1 where a letter counts: three arrays (names, PLACES).

    For "al": read . a l, and tell a l . instead. What lies behind the end is 0, and does not count.
    """
    rows, counts = np.zeros((len(batch), PLACES + 1), int), np.zeros((len(batch), PLACES))
    for row, count, name in zip(rows, counts, batch, strict=True):
        row[1 : len(name) + 1] = [LETTERS.index(letter) for letter in name]
        count[: len(name) + 1] = 1
    return rows[:, :-1], rows[:, 1:], counts


# ---- 2. The model: a vector of WIDTH numbers for each letter, to which the blocks add what comes before it
def normed(x):
    """Each vector, scaled so that its mean square is 1 (RMSNorm, Zhang and Sennrich, 2019)."""
    return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5


class Attention(Module):
    """Each letter adds up the values of the letters so far, weighted by how well their keys fit its query."""

    def __init__(self):
        self.query, self.key, self.value, self.join = (Linear(WIDTH, WIDTH, rng=rng) for _ in range(4))

    def forward(self, x):
        count, places, width = x.shape
        heads = (count, places, HEADS, width // HEADS)  # each head looks at a part of the vector
        q, k, v = (layer(x).reshape(heads).swapaxes(1, 2) for layer in (self.query, self.key, self.value))
        fit = q @ k.swapaxes(2, 3) / (width // HEADS) ** 0.5  # (names, HEADS, places, places)
        ahead = np.triu(np.full((places, places), -np.inf), 1)  # no letter may look ahead
        said = (fit + ahead).softmax() @ v
        return self.join(said.swapaxes(1, 2).reshape(x.shape))


class Block(Module):
    """First look back, then process: each adds its result to its input."""

    def __init__(self):
        self.attention = Attention()
        self.up, self.down = Linear(WIDTH, 4 * WIDTH, rng=rng), Linear(4 * WIDTH, WIDTH, rng=rng)

    def forward(self, x):
        x = x + self.attention(normed(x))
        return x + self.down(self.up(normed(x)).relu())


class GPT(Module):
    """(names, places) numbers in, (names, places, letters) scores out: the higher, the likelier that letter is next."""

    def __init__(self):
        self.letters, self.places = Embedding(len(LETTERS), WIDTH, rng=rng), Embedding(PLACES, WIDTH, rng=rng)
        for table in (self.letters, self.places):
            table.weight.data *= 0.3  # embeddings of size 1 would drown what the blocks add
        self.blocks = [Block() for _ in range(LAYERS)]
        self.out = Linear(WIDTH, len(LETTERS), rng=rng)

    def forward(self, numbers):
        x = self.letters(numbers) + self.places(np.arange(numbers.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out(normed(x))


model = GPT()
print(f"{len(seen)} names to learn from, {len(unseen)} held out; {sum(p.size for p in model.parameters())} weights")


# ---- 3. The training: a loss, its gradients, and a step against them
@compile
def loss_of(read, follows, counts):
    """Nats per letter: -log of the probability that the model gave each letter, averaged over those that count."""
    return (cross_entropy(model(read), follows, "none") * counts).sum() / counts.sum()


optimizer = Adam(model.parameters(), lr=RATE, betas=(0.9, 0.99))
schedule = LambdaLR(optimizer, lambda step: 1 - step / STEPS)  # down to 0
mean = None
for step in range(STEPS):
    loss = loss_of(*numbered(rng.choice(seen, BATCH).tolist()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
    if (step + 1) % (STEPS // 10) == 0:
        print(f"step {step + 1:5}: {mean:.3f} nats per letter")

# ---- 4. The test: names that it has never seen, compared with a table of which letter follows which
counts = np.full((len(LETTERS), len(LETTERS)), 0.1)  # a little for pairs that never occurred
read, follows, known = numbered(seen)
np.add.at(counts, (read[known > 0], follows[known > 0]), 1)
pairs = -np.log(counts / counts.sum(1, keepdims=True))
read, follows, known = numbered(unseen)
bigram = np.average(pairs[read, follows], weights=known)
with no_grad():
    nats = loss_of(read, follows, known).item()
print(f"On unseen names: {nats:.3f} nats per letter (a table of letter pairs: {bigram:.3f})")


# ---- 5. The names that it makes up, a letter at a time, each drawn by its probability
@no_grad()
def make_up(temperature=0.7):
    """A name; the lower the temperature, the more often the likeliest letter is drawn."""
    numbers = [0]
    while len(numbers) == 1 or (numbers[-1] and len(numbers) <= PLACES):
        shares = softmax(model(np.array([numbers]))[0, -1] / temperature)
        numbers.append(rng.choice(len(LETTERS), p=shares.numpy()))
    return "".join(LETTERS[number] for number in numbers if number)


made = [make_up() for _ in range(20)]
stars = ", ".join(name.capitalize() + "*" * (name in seen) for name in made)
print(f"Made up, with a star where it is a name to learn from:\n  {stars}")
