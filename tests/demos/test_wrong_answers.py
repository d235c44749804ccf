"""A typical wrong answer gets a hint at its mistake, and a right answer is right however it is put."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from micrograd import Tensor, Value
from micrograd.nn import Embedding, Linear, Module

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
pytest.importorskip("names")


@pytest.fixture
def said(monkeypatch, capsys):
    """What check() says of an answer."""
    monkeypatch.syspath_prepend(str(LESSONS))
    from check import check

    def of(name, answer):
        check(name, answer)
        return capsys.readouterr().out.strip()

    return of


# ------------------------------------------------------------------------------------------------ mistakes in grading
RIGHT = [
    ("17.1", 3.30),  # as the lesson prints it
    ("17.2", 7.4),
    ("15.3", [1e-50, 117]),  # as the solution says it
    ("1.2", "Down"),
    ("14.4", {"A", "C", "D"}),
    ("15.4", ["C", "d", "E "]),
    ("21.4", 0.1),
    ("6.1", lambda x: (1 + x.exp()).log()),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=[name for name, _ in RIGHT])
def test_what_is_right_is_accepted_as_people_write_it(name, answer, said):
    assert said(name, answer) == f"{name}  ✓ right"


def softplus(x, slope, add=True, knows=True):
    """Softplus with a given slope; with = for +=, or with operands that it does not know."""
    out = Value(math.log(1 + math.exp(x.data)), (x,) if knows else (), "softplus")

    def send_back():
        x.grad = (x.grad if add else 0) + out.grad * slope(x.data)

    out._backward = send_back
    return out


def logistic(x):
    return 1 / (1 + math.exp(-x))


def with_math(x):
    return Value(math.log(1 + math.exp(float(x.data))))


def memorized(images, digits):
    """A model of the data of the lesson, whatever the check gives."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    return reader(images / 16, digits)


def reader(images, digits, epochs=12):
    from micrograd import batches
    from micrograd.functional import cross_entropy
    from micrograd.nn import ReLU, Sequential
    from micrograd.optim import Adam

    rng = np.random.default_rng(0)
    model = Sequential(Linear(64, 128, rng=rng), ReLU(), Linear(128, 10, rng=rng))
    optimizer = Adam(model.parameters(), lr=0.005)
    for _ in range(epochs):
        for x, y in batches(images, digits, size=32, rng=rng):
            loss = cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


class Constant:
    """A model that answers as it should to the four points."""

    def __call__(self, point):
        return Value(0.5)


WRONG = [
    ("5.1", ["a", "b", "d", "e", "f"], "the forward order"),
    ("5.1", ["b", "a", "d", "e", "f"], "the forward order"),
    ("5.1", ["f", "d", "e", "a", "b"], "d is an operand of e too"),
    ("5.1", ["f", "e", "a", "d", "b"], "it must wait for d"),
    ("6.1", lambda x: softplus(x, logistic, add=False), "so write +="),
    ("6.1", with_math, "the graph was cut"),
    ("6.1", lambda x: softplus(x, lambda x: logistic(-x)), "look at the signs"),
    ("6.1", lambda x: softplus(x, logistic, knows=False), "the graph was cut"),
    ("7.3", (Constant(), lambda model: 0.0), "the squared errors for the four points add up to 5"),
    ("7.3", (Constant(), lambda model: 5.0), "its loss is 5"),
    ("13.4", memorized, "which is guessing: is it trained, on the images that build gets?"),
    ("13.4", lambda images, digits: reader(images[:60], digits[:60]), "unseen digits"),
    ("13.4", lambda images, digits: None, "build should return the model"),
    ("14.1", lambda losses, patience: min(losses) - 0.1 + 0.1 if 2.9 in losses else 2, "is a loss"),
    ("15.3", [117, 1e-50], "the other way round"),
    ("15.3", [1e-50, 6.0], "it is multiplied, not added"),
]


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
@pytest.mark.filterwarnings("ignore:no gradient flows")
def test_what_is_wrong_is_told_why(name, answer, hint, said):
    assert hint in said(name, answer)


# ------------------------------------------------------------------------------------------------ the new lessons
def vectors(letters, places, numbers):
    return letters(numbers) + places(np.arange(numbers.shape[1]))


def apart(x, heads):
    names, places, width = x.shape
    return x.reshape((names, places, heads, width // heads)).swapaxes(1, 2)


def together(x):
    names, heads, places, size = x.shape
    return x.swapaxes(1, 2).reshape((names, places, heads * size))


def normed(x):
    return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5


def attention(mask=True, root="head", joined=True, used=True):
    """The class, as it should be or with a mistake in it."""

    class Attention(Module):
        def __init__(self, width, heads, rng):
            self.heads = heads
            self.query, self.key, self.value, self.join = (Linear(width, width, rng=rng) for _ in range(4))

        def shares(self, x):
            q, k = apart(self.query(x), self.heads), apart(self.key(x), self.heads)
            scores = q @ k.swapaxes(-1, -2) / {"head": q.shape[-1], "width": x.shape[-1], "none": 1}[root] ** 0.5
            return (scores + (np.triu(np.full(scores.shape[-2:], -np.inf), 1) if mask else 0)).softmax()

        def forward(self, x):
            seen = together(self.shares(x) @ apart(self.value(x), self.heads)) if used else x
            return self.join(seen) if joined else seen

    return Attention


def block(forward):
    class Block(Module):
        def __init__(self, width, heads, rng):
            self.attention = attention()(width, heads, rng)
            self.up, self.down = Linear(width, 4 * width, rng=rng), Linear(4 * width, width, rng=rng)

        def forward(self, x):
            return forward(x, self.attention, lambda x: self.down(self.up(x).relu()))

    return Block


def right_block(x, attend, process):
    x = x + attend(normed(x))
    return x + process(normed(x))


def gpt(places=True, blocks=slice(None), last=normed):
    class GPT(Module):
        def __init__(self, width, heads, count, rng):
            self.letters, self.places = Embedding(27, width, rng=rng), Embedding(12, width, rng=rng)
            self.blocks = [block(right_block)(width, heads, rng) for _ in range(count)]
            self.out = Linear(width, 27, rng=rng)

        def forward(self, numbers):
            x = vectors(self.letters, self.places, numbers) if places else self.letters(numbers)
            for one in self.blocks[blocks]:
                x = one(x)
            return self.out(last(x))

    return GPT


def writer(place=-1, stop=True, draw=True, warm=lambda logits, t: logits / t, longest=11):
    def make_up(model, temperature, rng):
        numbers = [0]
        while len(numbers) == 1 or ((numbers[-1] or not stop) and len(numbers) <= longest):
            logits = warm(model(np.array([numbers])).data[0, place], temperature)
            p = np.exp(logits - logits.max())
            numbers.append(int(rng.choice(27, p=p / p.sum()) if draw else p.argmax()))
        return "".join(chr(96 + number) if number else "." * (not stop) for number in numbers[1:])

    return make_up


def memory(scaled=True, copies=True, looks="before"):
    class Memory:
        def __init__(self):
            self.keys, self.values = [], []

        def step(self, q, k, v):
            self.keys.append(k.copy() if copies else k)
            self.values.append(v.copy() if copies else v)
            if looks == "nothing":
                return v
            keys, values = np.stack(self.keys, axis=1), np.stack(self.values, axis=1)
            scores = (keys @ q[:, :, None])[:, :, 0] / (np.sqrt(q.shape[1]) if scaled else 1)
            p = np.exp(scores * (looks != "mean"))
            return ((p / p.sum(1, keepdims=True))[:, None] @ values)[:, 0]

    return Memory


def by_hand(q, k, v, g, root=True, transposed=True, masked=True):
    size = np.sqrt(q.shape[1]) if root else q.shape[1] ** 0.25
    scores = q @ k.T / np.sqrt(q.shape[1]) + np.triu(np.full((len(q), len(q)), -np.inf), 1)
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    of_p = g @ v.T
    of_scores = p * (of_p - (of_p * p).sum(1, keepdims=True))
    return of_scores @ k / size, of_scores.T @ q / size, (p.T if transposed else p) @ g


def gradients(E, W1, b1, W2, b2, contexts, targets, mean=True, added=True, sign=1, upto=5):
    n = len(contexts)
    x = E[contexts].reshape(n, -1)
    hidden = np.tanh(x @ W1 + b1)
    p = np.exp(hidden @ W2 + b2)
    p /= p.sum(1, keepdims=True)
    loss = -np.log(p[range(n), targets]).mean()
    p[range(n), targets] -= 1
    p *= sign / (n if mean else 1)
    of_sums = p @ W2.T * (1 - hidden**2)
    of_E, of_x = np.zeros_like(E), (of_sums @ W1.T).reshape(*contexts.shape, -1)
    if added:
        np.add.at(of_E, contexts, of_x)
    else:
        of_E[contexts] += of_x
    found = {"b2": p.sum(0), "W2": hidden.T @ p, "b1": of_sums.sum(0), "W1": x.T @ of_sums, "E": of_E}
    return {"loss": loss} | dict([*found.items()][:upto])


def fitted(standard=True, guard=True, flipped=False, hard=False, logit=False):
    """A logistic regression in NumPy, with a mistake in it."""

    def fit(rows, kinds):
        X, y = np.array(rows), np.array(kinds)
        center, scale = (X.mean(0), X.std(0)) if standard else (0.0, np.ones(X.shape[1]))
        if not guard and not all(scale):
            return 1 / 0
        scale = np.where(scale == 0, 1, scale)
        Z, w, b = (X - center) / scale, np.zeros(X.shape[1]), 0.0
        for _ in range(300):
            p = 1 / (1 + np.exp(-np.clip(Z @ w + b, -30, 30)))
            w, b = w - Z.T @ (p - y) / len(y), b - (p - y).mean()

        def predict(row):
            z = float(np.clip((np.array(row) - center) / scale @ w + b, -30, 30))
            p = 1 / (1 + math.exp(-z))
            return z if logit else 1 - p if flipped else float(p > 0.5) if hard else p

        return predict

    return fit


def mean(numbers):
    return sum(numbers) / len(numbers)


def deviation(numbers, less=0):
    return (sum((x - mean(numbers)) ** 2 for x in numbers) / (len(numbers) - less)) ** 0.5


def shares_of(scores):
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


LAST = {
    "9.5": fitted(),
    "17.5": gradients,
    "18.5": by_hand,
    "19.1": vectors,
    "19.2": (apart, together),
    "19.3": attention(),
    "19.4": normed,
    "19.5": block(right_block),
    "19.6": gpt(),
    "19.7": writer(),
    "19.8": memory(),
}


@pytest.mark.parametrize("name", LAST)
def test_another_right_answer_is_right_too(name, said):
    assert said(name, LAST[name]) == f"{name}  ✓ right"


HINTS = [
    ("9.1", 2.0, "the median"),
    ("9.1", 9, "their sum"),
    ("9.1", 3.5, "halfway"),
    ("9.1", 4.2, "where is it 0?"),
    ("9.2", lambda column, like: [(x - mean(column)) / deviation(column) for x in column], "of the new column"),
    ("9.2", lambda column, like: [(x - mean(like)) / deviation(like) ** 2 for x in column], "divides by the variance"),
    ("9.2", lambda column, like: [(x - mean(like)) / deviation(like, 1) for x in column], "divides by n - 1"),
    ("9.2", lambda column, like: [x / deviation(like) for x in column], "subtract the mean"),
    ("9.2", lambda column, like: [x - mean(like) for x in column], "the mean is right"),
    ("9.2", lambda column, like: [(x - 1) / 4 for x in column], "range from 0 to 1"),
    ("9.2", lambda column, like: None, "is a `return` missing?"),
    ("9.3", 2.0, "that is the logit"),
    ("9.3", math.tanh(2), "that is tanh"),
    ("9.3", 7.389, "the odds"),
    ("9.3", 0.1192, "the sign in the exponent"),
    ("9.3", 0.731, "without the bias"),
    ("9.4", lambda w, b, x, kind: [p := logistic(w * x + b) - kind, p], "x times as far"),
    ("9.4", lambda w, b, x, kind: [p := kind - logistic(w * x + b), p][:0] or [p * x, p], "the sign"),
    ("9.4", lambda w, b, x, kind: [(p := logistic(w * x + b) - kind), p * x], "exchanged"),
    (
        "9.4",
        lambda w, b, x, kind: [0.0, (p := logistic(w * x + b)) * (1 - p) * (p - kind)],
        "the slope of the squared error",
    ),
    ("9.5", fitted(guard=False), "fit divides by 0"),
    ("9.5", fitted(standard=False), "with standardized features?"),
    ("9.5", fitted(flipped=True), "learnt the opposite"),
    ("9.5", fitted(hard=True), "it only says 0 or 1"),
    ("9.5", fitted(logit=True), "a logit?"),
    ("9.5", lambda rows, kinds: lambda row: mean(kinds), "to everyone: does it look at the row"),
    ("9.5", lambda rows, kinds: None, "fit should return a function"),
    ("17.1", 1 / 27, "the probability itself"),
    ("17.1", math.log2(27), "in bits"),
    ("17.1", 4.75, "in bits"),
    ("17.1", -3.30, "not negative"),
    ("17.1", 27, "that is the perplexity"),
    ("17.2", 2, "the loss itself"),
    ("17.2", 4, "right for bits"),
    ("17.2", 0.135, "the probability of a typical letter"),
    ("17.3", 8, "each of the 100 hidden neurons"),
    ("17.3", 216, "the same table for all places"),
    ("17.3", 900, "the biases stay"),
    ("17.3", 4800, "how much of it is new?"),
    ("17.4", lambda p, u: int(np.argmax(p)), "nothing is left to chance"),
    ("17.4", lambda p, u: int((np.cumsum(p) <= u).sum()) + 1, "one too far"),
    ("17.4", lambda p, u: int(u * 4), "index 1 has the probability 0"),
    ("17.4", lambda p, u: None, "is a `return` missing?"),
    ("17.5", lambda **given: gradients(**given, upto=1), "right so far: loss, b2. 'W2' is next"),
    ("17.5", lambda **given: gradients(**given, mean=False), "b2 is 4 times too large"),
    ("17.5", lambda **given: gradients(**given, sign=-1), "the wrong sign"),
    ("17.5", lambda **given: gradients(**given, added=False), "np.add.at adds all of them"),
    ("17.5", lambda **given: 1.0, "return a dict"),
    ("18.1", 64, "that is the variance"),
    ("18.1", 1, "of one product"),
    ("18.1", 0.125, "what the scores are multiplied by"),
    ("18.2", [10.0, 2.0], "should that one score most?"),
    ("18.2", [0.0, -0.3], "a share of"),
    ("18.2", 3.0, "a query has two numbers"),
    ("18.3", shares_of, "what lies ahead gets a share"),
    ("18.3", lambda scores: np.tril(shares_of(scores)), "mask first, then take the softmax"),
    ("18.3", lambda scores: scores * np.nan, "there is nan in it"),
    ("18.4", lambda values: values, "listens to itself alone"),
    ("18.4", lambda values: np.tile(values.mean(0), (3, 1)), "also of those that lie ahead"),
    ("18.4", lambda values: np.cumsum(values, 0), "that is a sum"),
    ("18.4", lambda values: values.mean(0), "yours have the shape (2,)"),
    ("18.5", lambda q, k, v, g: (0 * q, 0 * k, by_hand(q, k, v, g)[2]), "v is right. the gradient of q is still 0"),
    ("18.5", lambda q, k, v, g: by_hand(q, k, v, g, transposed=False), "the shares must be transposed for v"),
    ("18.5", lambda q, k, v, g: (2 * by_hand(q, k, v, g)[0], *by_hand(q, k, v, g)[1:]), "where is the root"),
    ("18.5", lambda q, k, v, g: q, "return three gradients"),
    ("19.1", lambda letters, places, numbers: letters(numbers), "the places are not"),
    ("19.1", lambda letters, places, numbers: letters(numbers) + places(numbers % 12), "its rows are places"),
    ("19.1", lambda letters, places, numbers: letters(numbers) * places(np.arange(5)), "added, not multiplied"),
    ("19.1", lambda letters, places, numbers: letters(numbers) + places(np.arange(1, 6)), "number 0"),
    ("19.2", (lambda x, heads: x.reshape((3, heads, 5, 4)), together), "with the letters mixed up"),
    ("19.2", (lambda x, heads: x.reshape((3, 5, heads, 4)), together), "swap the places and the heads"),
    ("19.2", (apart, lambda x: x.reshape((3, 5, 8))), "together must swap the axes back"),
    ("19.3", attention(mask=False), "add the causal mask"),
    ("19.3", attention(root="none"), "the size of a head, here of 4"),
    ("19.3", attention(root="width"), "the root of the whole width"),
    ("19.3", attention(joined=False), "`join` mixes it"),
    ("19.3", attention(used=False), "forward does not use them"),
    ("19.4", lambda x: x / ((x * x).mean() + 1e-5) ** 0.5, "one mean for all"),
    ("19.4", lambda x: x / ((x * x).mean(-1, keepdims=True) + 1e-5), "divide by the root"),
    ("19.4", lambda x: x / ((x * x).sum(-1, keepdims=True) + 1e-5) ** 0.5, "that is the length"),
    (
        "19.4",
        lambda x: (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5) ** 0.5,
        "that is LayerNorm",
    ),
    ("19.4", lambda x: Tensor(x.data / (x.data**2).mean(-1, keepdims=True) ** 0.5), "a vector of zeros"),
    ("19.5", block(lambda x, attend, process: process(attend(x))), "nothing is added and nothing normed"),
    ("19.5", block(lambda x, attend, process: (y := x + attend(x)) + process(y)), "each of the two gets normed(x)"),
    ("19.5", block(lambda x, attend, process: (y := x + attend(normed(x))) + process(y)), "the second norm is missing"),
    ("19.5", block(lambda x, attend, process: process(normed(x + attend(normed(x))))), "the MLP adds its result"),
    ("19.5", block(lambda x, attend, process: x + attend(normed(x)) + process(normed(x))), "yours gets the first x"),
    ("19.6", gpt(places=False), "the places are not added"),
    ("19.6", gpt(last=lambda x: x), "the last norm is missing"),
    ("19.6", gpt(blocks=slice(0, 0), last=lambda x: x), "the blocks are not used"),
    ("19.6", gpt(blocks=slice(0, 1)), "only the first of the blocks"),
    ("19.7", writer(place=0), "take the logits of the last place"),
    ("19.7", writer(draw=False), "the same name each time"),
    ("19.7", writer(longest=30), "after 11 letters at the latest"),
    ("19.7", writer(warm=lambda logits, t: logits if t > 1 else logits / t), "divide the logits by the temperature"),
    ("19.7", lambda model, temperature, rng: None, "return the name, a string"),
    ("19.8", memory(looks="nothing"), "nothing is remembered"),
    ("19.8", memory(scaled=False), "divide the scores by the root"),
    ("19.8", memory(copies=False), "keep copies"),
    ("19.8", memory(looks="mean"), "the plain mean"),
]


@pytest.mark.parametrize(("name", "answer", "hint"), HINTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_typical_wrong_answer_gets_its_hint(name, answer, hint, said):
    assert hint in said(name, answer)


@pytest.mark.parametrize("lesson", [9, 17, 18, 19])
def test_each_exercise_has_three_hints_for_three_mistakes(lesson):
    import importlib

    from check import EXERCISES

    importlib.import_module(f"exercises.lesson_{lesson:02}")
    for name in (name for name in EXERCISES if name.startswith(f"{lesson}.")):
        assert len({hint for known, _, hint in HINTS if known == name}) >= 3, name
