"""Teach a tiny GPT to make up names: in Values, one number a node; in Tensors; or compiled.

    python demos/microgpt.py                        learns in a minute or two, and makes up names
    python demos/microgpt.py --engine value         the same network, one number a node: slower, and all can be seen
    python demos/microgpt.py --player out/gpt.html  leaves a page too, to step through the loss of one name
    python demos/microgpt.py --resume               goes on where it was stopped
    python demos/microgpt.py --help                 all that can be set

Read it from `main` at the bottom upwards.
"""

import argparse
import re
import sys
import time
from copy import deepcopy
from pathlib import Path

try:
    import names
    import numpy as np
    from tqdm import tqdm

    import micrograd
    from micrograd import Value, no_grad
    from micrograd.functional import cross_entropy, softmax
    from micrograd.nn import Embedding, Layer, Linear, Module
    from micrograd.optim import Adam, LambdaLR
    from micrograd.saving import load, save
    from micrograd.viz import player
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    sys.exit(f'This demo needs {package}, which is not installed here: pip install "micrograd-glass[demos]"')


# ------------------------------------------------------------------------------------------------ the data
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the first one is the mark where a name begins and ends
PLACES = 12  # the longest name has eleven letters, and the mark stands before them


def make_data(seed):
    """5,163 first names of the American census of 1990: nine in ten to learn from, and the rest, held out."""
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


def padded(batch):
    """What is read, what should follow, and 1 where it counts, 0 behind the end: each of shape (names, PLACES)."""
    rows, counts = np.zeros((len(batch), PLACES + 1), int), np.zeros((len(batch), PLACES))
    for row, count, name in zip(rows, counts, batch, strict=True):
        row[: len(name) + 2] = tokens(name)
        count[: len(name) + 1] = 1
    return rows[:, :-1], rows[:, 1:], counts


# ------------------------------------------------------------------------------------------------ the model, in Values
class ValueGPT(Module):
    """What comes next? A score for each letter, at each place of a name; the greater, the likelier."""

    def __init__(self, width, heads, layers):
        self.letters = [[Value(0) for _ in range(width)] for _ in LETTERS]
        self.places = [[Value(0) for _ in range(width)] for _ in range(PLACES)]
        self.blocks = [ValueBlock(width, heads) for _ in range(layers)]
        self.out = Layer(width, len(LETTERS), nonlin=False)

    def __call__(self, numbers):
        xs = [add(self.letters[n], self.places[i]) for i, n in enumerate(numbers)]
        for block in self.blocks:
            xs = block(xs)
        return [self.out(normed(x)) for x in xs]

    def loss(self, name):
        """Nats a letter: -log of the probability that each letter was given."""
        numbers = tokens(name)
        return cross_entropy(self(numbers[:-1]), numbers[1:])


class ValueBlock(Module):
    """Each place looks at those up to it, then thinks for itself; what comes of it is added to what was there."""

    def __init__(self, width, heads):
        self.query, self.key, self.value, self.join = (Layer(width, width, nonlin=False) for _ in range(4))
        self.heads = [Head() for _ in range(heads)]
        self.up, self.down = Layer(width, 4 * width), Layer(4 * width, width, nonlin=False)

    def __call__(self, xs):
        xs = [add(x, self.join(seen)) for x, seen in zip(xs, self.attend([normed(x) for x in xs]), strict=True)]
        return [add(x, self.down(self.up(normed(x)))) for x in xs]

    def attend(self, xs):
        """What each place sees: of the places up to it, one part of the vector a head."""
        queries, keys, values = ([self.cut(layer(x)) for x in xs] for layer in (self.query, self.key, self.value))
        for i, query in enumerate(queries):
            parts = zip(query, zip(*keys[: i + 1], strict=True), zip(*values[: i + 1], strict=True), strict=True)
            yield [x for head, part in zip(self.heads, parts, strict=True) for x in head(*part)]

    def cut(self, x):
        """A vector in as many parts as there are heads."""
        size = len(x) // len(self.heads)
        return [x[i : i + size] for i in range(0, len(x), size)]


class Head(Module):
    """Attention: of each value, as large a share as its key is like the query (Vaswani et al., 2017)."""

    def __call__(self, query, keys, values):
        shares = softmax([dot(query, key) / len(query) ** 0.5 for key in keys])
        return [dot(shares, column) for column in zip(*values, strict=True)]


def normed(x):
    """A vector, made as long as has its squares 1 on average (RMSNorm: Zhang and Sennrich, 2019)."""
    scale = (dot(x, x) / len(x) + 1e-5) ** -0.5
    return [a * scale for a in x]


def dot(a, b):
    """The sum of the products."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def add(a, b):
    """The sum of two vectors."""
    return [x + y for x, y in zip(a, b, strict=True)]


# ------------------------------------------------------------------------------------------------ the model, in Tensors
class TensorGPT(Module):
    """The same for many names at once: (names, places) numbers in, (names, places, letters) scores out."""

    def __init__(self, width, heads, layers, rng):
        self.letters, self.places = Embedding(len(LETTERS), width, rng=rng), Embedding(PLACES, width, rng=rng)
        for table in (self.letters, self.places):
            table.weight.data *= 0.3  # next to what the blocks add, draws of size 1 would drown the rest for long
        self.blocks = [TensorBlock(width, heads, rng) for _ in range(layers)]
        self.out = Linear(width, len(LETTERS), rng=rng)

    def __call__(self, numbers):
        x = self.letters(numbers) + self.places(np.arange(numbers.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out(rows_normed(x))

    def loss(self, numbers, targets, counts):
        """Nats a letter, of all letters that count."""
        return (cross_entropy(self(numbers), targets, "none") * counts).sum() / counts.sum()


class TensorBlock(Module):
    """Attention and two layers, as above; the heads have an axis of their own."""

    def __init__(self, width, heads, rng):
        self.query, self.key, self.value, self.join = (Linear(width, width, rng=rng) for _ in range(4))
        self.heads = heads
        self.up, self.down = Linear(width, 4 * width, rng=rng), Linear(4 * width, width, rng=rng)

    def __call__(self, x):
        x = x + self.join(self.attend(rows_normed(x)))
        return x + self.down(self.up(rows_normed(x)).relu())

    def attend(self, x):
        """What each place sees: scores of shape (names, heads, places, places), minus infinity for what lies ahead."""
        n, places, width = x.shape
        apart = (n, places, self.heads, width // self.heads)
        q, k, v = (layer(x).reshape(apart).swapaxes(1, 2) for layer in (self.query, self.key, self.value))
        ahead = np.triu(np.full((places, places), -np.inf), 1)
        shares = (q @ k.swapaxes(2, 3) / apart[-1] ** 0.5 + ahead).softmax()
        return (shares @ v).swapaxes(1, 2).reshape(x.shape)


def rows_normed(x):
    """`normed`, of each vector on the last axis."""
    return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5


# ------------------------------------------------------------------------------------------------ from one to the other
def arrays(model, numbers=None):
    """The parameters by name, as a TensorGPT has them; or other numbers of theirs, such as their gradients."""
    if numbers is not None:
        model = deepcopy(model)
        for p, x in zip(model.parameters(), numbers, strict=True):
            p.data = x
    if isinstance(model, TensorGPT):
        return model.state_dict()
    rows = {}
    for name, row in model.state_dict().items():
        rows.setdefault(array_name(name), []).append(row)
    return {name: np.array(row) for name, row in rows.items()}


def fill(model, state):
    """Give the parameters of either kind of model the numbers of such arrays."""
    if isinstance(model, ValueGPT):
        rows = {name: iter(array) for name, array in state.items()}
        state = {name: next(rows[array_name(name)]) for name in model.state_dict()}
    model.load_state_dict(state)
    return model


def array_name(name):
    """`blocks.0.up.neurons.5.w`, a row of a ValueGPT, is one of `blocks.0.up.weight`."""
    name = re.sub(r"\.neurons\.\d+\.b$", ".bias", name)
    return re.sub(r"(\.neurons)?\.\d+(\.w)?$", ".weight", name)


def in_values(model):
    """A TensorGPT as a ValueGPT."""
    return fill(ValueGPT(len(model.letters.weight.T), model.blocks[0].heads, len(model.blocks)), arrays(model))


# ------------------------------------------------------------------------------------------------ the three engines
# Each makes of a TensorGPT a model to train, and a function that gives the loss of a batch, and leaves its gradients.
def value_engine(model):
    """One number a node, and one name a graph: that of a whole batch would have millions of nodes."""
    model = in_values(model)

    def learn(batch):
        total, letters = 0.0, sum(len(name) + 1 for name in batch)
        for name in batch:
            loss = model.loss(name) * ((len(name) + 1) / letters)
            loss.backward()
            total += loss.data
        return total

    return model, learn


def tensor_engine(model, made=lambda loss: loss):
    """One array a node, and a batch a graph."""
    losses = made(model.loss)

    def learn(batch):
        loss = losses(*padded(batch))
        loss.backward()
        return loss.item()

    return model, learn


def compiled_engine(model):
    """The same, traced once; from then on no graph is made."""
    return tensor_engine(model, micrograd.compile)


ENGINES = {"value": value_engine, "tensor": tensor_engine, "compiled": compiled_engine}


# ------------------------------------------------------------------------------------------------ the learning
PAUSE = 10  # seconds between two savings


def train(learn, optimizer, data, options, start, keep):
    """From step `start` on, in ever smaller steps down to none; `keep(step)` is called now and then, and at the end."""
    schedule = LambdaLR(optimizer, lambda t: 1 - (start + t) / options.steps)
    seen, mean, begin, kept = 0, None, time.perf_counter(), time.perf_counter()
    often = 0.1 if sys.stderr.isatty() else 5  # seconds: a log wants few lines
    steps = range(start, options.steps)
    with tqdm(steps, desc="learning", unit="step", initial=start, total=options.steps, mininterval=often) as bar:
        for step in bar:
            rng = np.random.default_rng([options.seed, step])  # so a run that is resumed draws the same names
            batch = rng.choice(data, options.batch).tolist()
            optimizer.zero_grad()
            loss = learn(batch)  # forward and backward
            optimizer.step()
            schedule.step()
            mean = loss if mean is None else 0.98 * mean + 0.02 * loss
            seen += sum(len(name) + 1 for name in batch)
            now = time.perf_counter()
            bar.set_postfix({"tokens/s": f"{seen / (now - begin):,.0f}", "loss": f"{mean:.3f}"}, refresh=False)
            if now - kept >= PAUSE or step + 1 == options.steps:
                keep(step + 1)
                kept = now


def keep_in(path, model, optimizer, options):
    """A function that saves a run: the weights, what Adam remembers of each, the step, and how it all was set."""

    def keep(step):
        state = arrays(model)
        for what in ("mean", "squares"):
            remembered = arrays(model, [optimizer.state[p][what] for p in optimizer.params])
            state |= {f"{what}.{name}": array for name, array in remembered.items()}
        settings = {name: getattr(options, name) for name in RUN}
        save(state | {f"run.{name}": np.array(x) for name, x in (settings | {"step": step}).items()}, path)

    return keep


def recall(state, model, optimizer):
    """Go back to where a saved run was, whichever engine it ran on; the answer is the step."""
    step, weights = state["run.step"].item(), arrays(model)
    for what in ("mean", "squares"):
        twin = fill(deepcopy(model), {name: state[f"{what}.{name}"] for name in weights})
        for p, q in zip(optimizer.params, twin.parameters(), strict=True):
            optimizer.state[p] |= {what: q.data, "steps": step}
    fill(model, {name: state[name] for name in weights})
    return step


# ------------------------------------------------------------------------------------------------ the exam
def bigram_loss(data, unseen):
    """Nats a letter of the unseen names, if each letter only knows the one before it: a table of counts."""
    counts = np.full((len(LETTERS), len(LETTERS)), 0.1)  # a little for pairs that never came
    for name in data:
        numbers = tokens(name)
        np.add.at(counts, (numbers[:-1], numbers[1:]), 1)
    before, after, counted = padded(unseen)
    losses = -np.log(counts / counts.sum(1, keepdims=True))[before, after]
    return (losses * counted).sum() / counted.sum()


def make_up(model, temperature, rng):
    """A name, letter by letter: each is drawn by its probability; the colder, the likelier the likeliest."""
    numbers = [0]
    while len(numbers) <= PLACES:
        scores = model(np.array([numbers])).numpy()[0, -1] / temperature
        shares = np.exp(scores - scores.max())
        numbers.append(rng.choice(len(LETTERS), p=shares / shares.sum()))
        if numbers[-1] == 0:
            break
    return "".join(LETTERS[n] for n in numbers if n).capitalize()


def compare(model, batch):
    """Are the three the same, and how fast is each? Losses and gradients of four names, and tokens a second."""
    found, speeds = {}, {}
    for engine, make in ENGINES.items():
        trained, learn = make(deepcopy(model))
        trained.zero_grad()
        found[engine] = {"loss": learn(batch[:4])} | arrays(trained, [p.grad for p in trained.parameters()])
        speeds[engine] = speed(learn, batch[:4] if engine == "value" else batch)
    apart = max(np.abs(x - found["value"][name]).max() for other in found.values() for name, x in other.items())
    print(f"Loss and gradients of {', '.join(batch[:4])}: the three engines differ by {apart:.0e} at most.")
    print("Tokens a second: " + ", ".join(f"{name} {x:,.0f} (x{x / speeds['value']:.4g})" for name, x in speeds.items()))
    return apart


def speed(learn, batch):
    """Tokens a second, forward and backward; the best of some."""
    seconds = []
    while len(seconds) < 2 or (sum(seconds) < 0.5 and len(seconds) < 100):
        begin = time.perf_counter()
        learn(batch)
        seconds.append(time.perf_counter() - begin)
    return sum(len(name) + 1 for name in batch) / min(seconds)


# ------------------------------------------------------------------------------------------------ the whole
def main(arguments=None):
    """Data, model, learning; then the exam, some names, and the three engines side by side."""
    options, state = parse(arguments)
    data, unseen = make_data(options.seed)
    model = TensorGPT(options.width, options.heads, options.layers, np.random.default_rng(options.seed))
    trained, learn = ENGINES[options.engine](model)
    optimizer = Adam(trained.parameters(), lr=options.rate, betas=(0.9, 0.99))
    start = recall(state, trained, optimizer) if state else 0
    weights = sum(array.size for array in arrays(model).values())
    print(f"{len(data):,} names to learn from, {len(unseen)} held out, {weights:,} weights; step {start} to come.")
    path = options.out / "microgpt.safetensors"
    try:
        train(learn, optimizer, data, options, start, keep_in(path, trained, optimizer, options))
    except KeyboardInterrupt:
        sys.exit(f"Stopped. What was saved last is in {path}; --resume goes on from there.")
    model = fill(model, arrays(trained))
    with no_grad():
        loss, simple = model.loss(*padded(unseen)).item(), bigram_loss(data, unseen)
        made = [make_up(model, options.temperature, np.random.default_rng([options.seed, i])) for i in range(20)]
    print(f"Nats a letter of the unseen names: {loss:.3f}; a bigram has {simple:.3f}, {simple - loss:.3f} more.")
    print(f"Made up, with a star if it was in the lesson: {', '.join(name + '*' * (name.lower() in data) for name in made)}")
    compare(model, data[: options.batch])
    if options.player:
        player(in_values(model).loss(min(unseen, key=len))).save(options.player)
    return simple - loss


# ------------------------------------------------------------------------------------------------ the command line
RUN = {
    "seed": (1337, "of data, weights and order"),
    "width": (16, "numbers a letter"),
    "heads": (4, "heads of attention"),
    "layers": (1, "blocks"),
    "batch": (32, "names a step"),
    "steps": (5000, "how many steps to take"),
    "rate": (0.01, "of learning, at the start"),
}  # what makes a run what it is: with these it can be resumed
IN_VALUES = {"batch": 4, "steps": 300}  # some minutes as well


def parse(arguments):
    """The options of the command line; and of a run that is resumed, what was saved."""
    parser = argparse.ArgumentParser(description="Teach a tiny GPT to make up names.")
    parser.add_argument("--engine", choices=ENGINES, default="tensor", help="what computes (default: %(default)s)")
    for name, (default, text) in RUN.items():
        value = f", in Values {IN_VALUES[name]}" if name in IN_VALUES else ""
        parser.add_argument(f"--{name}", type=type(default), help=f"{text} (default: {default}{value})")
    parser.add_argument("--temperature", type=float, default=0.7, help="of made-up names (default: %(default)s)")
    parser.add_argument("--player", type=Path, metavar="FILE", help="leave a page to step through one name's loss")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where to leave results (default: %(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on with the run that is saved there")
    options = parser.parse_args(arguments)
    state = saved(parser, options.out / "microgpt.safetensors") if options.resume else {}
    for name, (default, _) in RUN.items():
        given = getattr(options, name)
        usual = IN_VALUES.get(name, default) if options.engine == "value" else default
        known = state[f"run.{name}"].item() if state else usual
        if state and given not in (None, known):
            parser.error(f"the saved run has --{name} {known}, found {given}: leave it out, or begin anew")
        setattr(options, name, known if given is None else given)
    check(parser, options)
    return options, state


def saved(parser, path):
    """The arrays of a run, from its file."""
    try:
        state = load(path)
    except (OSError, ValueError) as error:
        parser.error(f"there is no run to resume: {error}")
    if "run.step" not in state:
        parser.error(f"there is no run to resume: {path} holds something else")
    return state


def check(parser, options):
    """Numbers that can be, and folders that can be written to; before anything is learnt."""
    for name in ("heads", "layers", "batch", "steps"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, found {getattr(options, name)}")
    if options.width < 2 or options.width % options.heads:
        parser.error(f"--width must be a multiple of --heads, {options.heads}, and at least 2; found {options.width}")
    if options.seed < 0:
        parser.error(f"--seed must not be below 0, found {options.seed}")
    for name in ("rate", "temperature"):
        if not 0 < getattr(options, name) < np.inf:
            parser.error(f"--{name} must be above 0, found {getattr(options, name)}")
    for folder in (options.out, *([options.player.parent] if options.player else [])):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            sys.exit(f"Nothing can be left in {folder}: {error.strerror}. Choose another folder.")


if __name__ == "__main__":
    main()
