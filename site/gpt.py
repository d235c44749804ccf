"""What the GPT page trains: a tiny GPT's training step as a module of JavaScript, and one that shows how it reads."""

import json
import sys
from pathlib import Path

import numpy as np

from micrograd import Tensor, compile, no_grad, save
from micrograd.functional import cross_entropy
from micrograd.nn import Embedding, Linear, Module
from micrograd.optim import Adam

LETTERS = ".abcdefghijklmnopqrstuvwxyz '-"  # the first one marks where a name begins and ends
PLACES, BATCH = 16, 2  # the most letters of a name, with the mark before them; and names in a step
WIDTH, HEADS = 16, 4
RATE = 0.015


class GPT(Module):
    """(names, places) numbers in, (names, places, letters) scores out, and what share each head gives to each place."""

    def __init__(self, rng: np.random.Generator):
        self.letters, self.places = Embedding(len(LETTERS), WIDTH, rng=rng), Embedding(PLACES, WIDTH, rng=rng)
        for table in (self.letters, self.places):
            table.weight.data *= 0.3  # embeddings of size 1 would drown what the block adds
        self.query, self.key, self.value, self.join = (Linear(WIDTH, WIDTH, rng=rng) for _ in range(4))
        self.up, self.down = Linear(WIDTH, 4 * WIDTH, rng=rng), Linear(4 * WIDTH, WIDTH, rng=rng)
        self.out = Linear(WIDTH, len(LETTERS), rng=rng)

    def forward(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """One block: attention, then two layers; each adds its result to its input."""
        x = self.letters(numbers) + self.places(np.arange(PLACES))
        heads = (len(numbers), PLACES, HEADS, WIDTH // HEADS)
        level = normed(x)
        q, k, v = (layer(level).reshape(heads).swapaxes(1, 2) for layer in (self.query, self.key, self.value))
        ahead = np.triu(np.full((PLACES, PLACES), -np.inf), 1)  # no letter may look ahead
        shares = (q @ k.swapaxes(2, 3) / (WIDTH // HEADS) ** 0.5 + ahead).softmax()
        x = x + self.join((shares @ v).swapaxes(1, 2).reshape(x.shape))
        x = x + self.down(self.up(normed(x)).relu())
        return self.out(normed(x)), shares

    def loss(self, numbers: np.ndarray, targets: np.ndarray, counts: np.ndarray) -> Tensor:
        """Nats per letter, over the letters that count."""
        return (cross_entropy(self(numbers)[0], targets, "none") * counts).sum() / counts.sum()


def normed(x: Tensor) -> Tensor:
    """Each vector, scaled so that its mean square is 1 (RMSNorm, Zhang and Sennrich, 2019)."""
    return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5


def written(folder: Path) -> None:
    """Write gpt.js, read.js and gpt.json; the model has not learnt anything."""
    model = GPT(np.random.default_rng(1))
    step = compile(model.loss, update=Adam(model.parameters(), lr=RATE, betas=(0.9, 0.99)))
    before = [p.data.copy() for p in model.parameters()]
    blank = np.zeros((BATCH, PLACES), int)
    step(blank, blank, np.ones((BATCH, PLACES)))
    for p, data in zip(model.parameters(), before, strict=True):
        p.data = data
    save(step, folder / "gpt.js")
    read = compile(lambda numbers: [*model(numbers)])
    with no_grad():
        read(blank[:1])
    save(read, folder / "read.js")
    told = {"letters": LETTERS, "places": PLACES, "batch": BATCH, "heads": HEADS, "rate": RATE}
    told["parameters"] = sum(p.size for p in model.parameters())
    (folder / "gpt.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    written(Path(sys.argv[1]))
