"""What the GPT page trains: a tiny GPT's training step as a module of JavaScript, and one that shows how it reads."""

import base64
import json
import re
import sys
from pathlib import Path

import numpy as np

from micrograd import Tensor, compile, no_grad, save
from micrograd.functional import cross_entropy
from micrograd.nn import Embedding, Linear, Module, ReLU, Sequential
from micrograd.optim import Adam
from micrograd.viz import player
from micrograd.viz.drawing.data import walk

LETTERS = ".abcdefghijklmnopqrstuvwxyz '-"  # the first one marks where a name begins and ends
PLACES, BATCH = 16, 2  # the most letters of a name, with the mark before them; and names in a step
WIDTH, HEADS = 16, 4
RATE = 0.015


class Norm(Module):
    """Each vector, scaled so that its mean square is 1 (RMSNorm, Zhang and Sennrich, 2019)."""

    def forward(self, x: Tensor) -> Tensor:
        """Of the same shape."""
        return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5


class Heads(Module):
    """Each head by itself: what it finds, and what share of each letter it takes."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, ahead: np.ndarray | Tensor) -> tuple[Tensor, Tensor]:
        """`ahead` is -inf where a letter may not look, else 0."""
        size = WIDTH // HEADS
        apart = [x.reshape((*x.shape[:-1], HEADS, size)).swapaxes(-3, -2) for x in (q, k, v)]
        shares = (apart[0] @ apart[1].swapaxes(-2, -1) / size**0.5 + ahead).softmax()
        return (shares @ apart[2]).swapaxes(-3, -2).reshape(q.shape), shares


class Attention(Module):
    """What each of some letters takes from those that are seen."""

    def __init__(self, rng: np.random.Generator):
        self.query, self.key, self.value, self.join = (Linear(WIDTH, WIDTH, rng=rng) for _ in range(4))
        self.norm, self.heads = Norm(), Heads()

    def forward(self, x: Tensor, seen: Tensor, ahead: np.ndarray | Tensor) -> tuple[Tensor, Tensor]:
        """What is found, and the shares of the heads."""
        level = self.norm(seen)
        found, shares = self.heads(self.query(self.norm(x)), self.key(level), self.value(level), ahead)
        return self.join(found), shares


class Layers(Sequential):
    """Two layers, of each letter by itself."""


class Scores(Sequential):
    """How well each letter would go on."""


class GPT(Module):
    """(names, places) numbers in, (names, places, letters) scores out, and what share each head gives to each place."""

    def __init__(self, rng: np.random.Generator):
        self.letters, self.places = Embedding(len(LETTERS), WIDTH, rng=rng), Embedding(PLACES, WIDTH, rng=rng)
        for table in (self.letters, self.places):
            table.weight.data *= 0.3  # embeddings of size 1 would drown what the block adds
        self.attention = Attention(rng)
        self.layers = Layers(Norm(), Linear(WIDTH, 4 * WIDTH, rng=rng), ReLU(), Linear(4 * WIDTH, WIDTH, rng=rng))
        self.scores = Scores(Norm(), Linear(WIDTH, len(LETTERS), rng=rng))

    def forward(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """No letter looks ahead."""
        x = self.letters(numbers) + self.places(np.arange(PLACES))
        return self.block(x, x, np.triu(np.full((PLACES, PLACES), -np.inf), 1))

    def block(self, x: Tensor, seen: Tensor, ahead: np.ndarray | Tensor) -> tuple[Tensor, Tensor]:
        """Attention, then two layers; each adds its result to its input."""
        found, shares = self.attention(x, seen, ahead)
        x = x + found
        return self.scores(x + self.layers(x)), shares

    def loss(self, numbers: np.ndarray, targets: np.ndarray, counts: np.ndarray) -> Tensor:
        """Nats per letter, over the letters that count."""
        return (cross_entropy(self(numbers)[0], targets, "none") * counts).sum() / counts.sum()

    def letter(self, given: dict[str, Tensor] | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of one letter, and the arrays that say which: all of them are numbers that a page can change."""
        given = (
            given
            or {
                "name": Tensor(
                    np.ones((PLACES, WIDTH)), requires_grad=True, label="name"
                ),  # the vectors of its letters
                "place": Tensor(np.eye(PLACES)[:1], label="place"),  # where the last one is
                "ahead": Tensor(np.zeros((1, PLACES)), label="ahead"),
                "wanted": Tensor(np.eye(len(LETTERS))[:1], label="wanted"),
            }
        )
        last = given["place"] @ given["name"]
        scores, _ = self.block(last, given["name"], given["ahead"])
        loss = -(scores.log_softmax() * given["wanted"]).sum()
        last.label, scores.label, loss.label = "last", "scores", "loss"
        return loss, given


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
    blanked(folder / "gpt.js", "s")  # Adam remembers nothing
    blanked(folder / "read.js", "p")  # the page takes them from gpt.js
    told = {"letters": LETTERS, "places": PLACES, "batch": BATCH, "heads": HEADS, "rate": RATE}
    told["parameters"] = sum(p.size for p in model.parameters())
    told["leaves"] = pictured(model, folder)
    (folder / "gpt.json").write_text(json.dumps(told), encoding="utf-8")


def blanked(path: Path, kind: str) -> None:
    """Rewrite a module so that what it stores under names that begin like this is zeros, which need no room."""

    def zeros(found: re.Match[str]) -> str:
        numbers = len(base64.b64decode(found[2])) // 8 if found[2] else 1
        return f"{found[1]}new Float64Array({numbers})"

    numbers = rf'^( +{kind}\d+\w*: {{array: )(?:decoded\("([^"]*)", Float64Array\)|Float64Array\.of\([^)]*\))'
    path.write_text(re.sub(numbers, zeros, path.read_text(encoding="utf-8"), flags=re.MULTILINE), encoding="utf-8")


def pictured(model: GPT, folder: Path) -> list[int | str | None]:
    """Write letter.html, the player of a letter's loss; for each leaf, which parameter or array of `given` it is."""
    loss, given = model.letter()
    loss.backward(retain_graph=True)
    player(loss).save(folder / "letter.html")
    graph, known = walk(loss), {id(tensor.data): name for name, tensor in given.items()}
    known |= {id(p.data): k for k, p in enumerate(model.parameters())}
    return [known.get(id(n.data)) for n, below in zip(graph.nodes, graph.operands, strict=True) if not below]


if __name__ == "__main__":
    written(Path(sys.argv[1]))
