"""Teach a tiny GPT to make up names: in Values, one number a node; in Tensors; or compiled.

    python demos/microgpt.py                        trains for a minute or two, and makes up names
    python demos/microgpt.py --resume               continues a stopped run
    python demos/microgpt.py --player out/gpt.html  also writes a page that steps through the loss of one name
    python demos/microgpt.py --engine value --steps 300 --batch 4   the same network, one number a node: slower
    python demos/microgpt.py --engine jax           compiled, and run by JAX: on a GPU, if it finds one
    python demos/microgpt.py --engine compiled --backend c   as loops in C
    python demos/microgpt.py --engine jax --devices 4   on four, each with a quarter of every batch
    python demos/microgpt.py --help                 lists the options

Start reading at `main`, at the bottom.
"""

import argparse
import re
import sys
from copy import deepcopy
from functools import partial
from itertools import chain
from pathlib import Path
from timeit import repeat

try:
    import names
    import numpy as np
    from tqdm import tqdm

    import micrograd
    from micrograd import Value, load, no_grad, save
    from micrograd.functional import cross_entropy, softmax
    from micrograd.nn import Embedding, Layer, Linear, Module
    from micrograd.optim import Adam, LambdaLR
    from micrograd.viz import player
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    install = "." if package == "micrograd" else package
    sys.exit(f"This demo needs {package}, which is not installed here: pip install {install}")


# ------------------------------------------------------------------------------------------------ the data
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the first one marks where a name begins and ends
PLACES = 12  # the longest name has eleven letters, and the mark comes before them


def make_data(seed):
    """5,163 first names from the US census of 1990: nine in ten to learn from, the rest held out."""
    found = set()
    for which in ("first:female", "first:male"):
        lines = Path(names.FILES[which]).read_text(encoding="ascii").splitlines()
        found |= {line.split()[0].lower() for line in lines}
    shuffled = np.random.default_rng(seed).permutation(sorted(found)).tolist()
    held_out = len(shuffled) // 10
    return shuffled[held_out:], shuffled[:held_out]


def tokens(name):
    """The name as numbers, between two marks."""
    return [0, *map(LETTERS.index, name), 0]


def padded(batch):
    """Inputs, targets, and 1 where a letter counts, 0 after the end: each of shape (names, PLACES)."""
    rows, counts = np.zeros((len(batch), PLACES + 1), int), np.zeros((len(batch), PLACES))
    for row, count, name in zip(rows, counts, batch, strict=True):
        row[: len(name) + 2] = tokens(name)
        count[: len(name) + 1] = 1
    return rows[:, :-1], rows[:, 1:], counts


# ------------------------------------------------------------------------------------------------ the model, in Values
class ValueGPT(Module):
    """A score for each possible next letter, at each place of a name: the higher, the likelier."""

    def __init__(self, width, heads, layers):
        self.letters = [[Value(0) for _ in range(width)] for _ in LETTERS]
        self.places = [[Value(0) for _ in range(width)] for _ in range(PLACES)]
        self.blocks = [ValueBlock(width, heads) for _ in range(layers)]
        self.norm, self.out = RMSNorm(), Layer(width, len(LETTERS), nonlin=False)

    def __call__(self, numbers):
        xs = [add(self.letters[n], self.places[i]) for i, n in enumerate(numbers)]
        for block in self.blocks:
            xs = block(xs)
        return [self.out(self.norm(x)) for x in xs]

    def loss(self, name):
        """Nats per letter: -log of the probability that the model gave each letter."""
        numbers = tokens(name)
        return cross_entropy(self(numbers[:-1]), numbers[1:])


class ValueBlock(Module):
    """Attention over the places so far, then two layers of neurons; each adds its result to its input."""

    def __init__(self, width, heads):
        self.norm, self.heads = RMSNorm(), [Head(width, width // heads) for _ in range(heads)]
        self.join = Layer(width, width, nonlin=False)
        self.up, self.down = Layer(width, 4 * width), Layer(4 * width, width, nonlin=False)

    def __call__(self, xs):
        level = [self.norm(x) for x in xs]
        heads = [head(level) for head in self.heads]
        xs = [add(x, self.join(list(chain(*seen)))) for x, *seen in zip(xs, *heads, strict=True)]
        return [add(x, self.down(self.up(self.norm(x)))) for x in xs]


class Head(Module):
    """Attention: a mean of the places so far, weighted by how well key and query fit (Vaswani, 2017)."""

    def __init__(self, width, size):
        self.query, self.key, self.value = (Layer(width, size, nonlin=False) for _ in range(3))

    def __call__(self, xs):
        queries, keys, values = ([layer(x) for x in xs] for layer in (self.query, self.key, self.value))
        seen = []
        for i, query in enumerate(queries):
            shares = softmax([dot(query, key) / len(query) ** 0.5 for key in keys[: i + 1]])
            seen.append([dot(shares, column) for column in zip(*values[: i + 1], strict=True)])
        return seen


class RMSNorm(Module):
    """A vector, scaled so that its mean square is 1: RMSNorm (Zhang and Sennrich, 2019)."""

    def __call__(self, x):
        scale = (dot(x, x) / len(x) + 1e-5) ** -0.5
        return [a * scale for a in x]


def add(a, b):
    """The sum of two vectors."""
    return [x + y for x, y in zip(a, b, strict=True)]


def dot(a, b):
    """The dot product: how alike two vectors are."""
    return sum(x * y for x, y in zip(a, b, strict=True))


# ------------------------------------------------------------------------------------------------ the model, in Tensors
class TensorGPT(Module):
    """The same for many names at once: (names, places) numbers in, (names, places, letters) scores out."""

    def __init__(self, width, heads, layers, rng):
        self.letters, self.places = Embedding(len(LETTERS), width, rng=rng), Embedding(PLACES, width, rng=rng)
        for table in (self.letters, self.places):
            table.weight.data *= 0.3  # embeddings of size 1 would drown what the blocks add
        self.blocks = [TensorBlock(width, heads, rng) for _ in range(layers)]
        self.out = Linear(width, len(LETTERS), rng=rng)

    def __call__(self, numbers):
        x = self.letters(numbers) + self.places(np.arange(numbers.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out(rows_normed(x))

    def loss(self, numbers, targets, counts):
        """Nats per letter, over the letters that count."""
        return (cross_entropy(self(numbers), targets, "none") * counts).sum() / counts.sum()


class TensorBlock(Module):
    """Attention and two layers, as above; the heads have a separate axis."""

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
    """RMSNorm, of each vector on the last axis."""
    return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5


# ------------------------------------------------------------------------------------------------ from one to the other
def arrays(model, numbers=None):
    """The parameters of either model by name, as Tensors; or another attribute, such as their gradients."""
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
    """The model, of either kind, with its parameters set to these arrays."""
    if isinstance(model, ValueGPT):
        rows = {name: iter(array) for name, array in state.items()}
        state = {name: next(rows[array_name(name)]) for name in model.state_dict()}
    model.load_state_dict(state)
    return model


def array_name(name):
    """`blocks.0.heads.1.key.neurons.2.w`, of a ValueGPT, is a row of `blocks.0.key.weight`, of a TensorGPT."""
    name = re.sub(r"\.(heads|neurons)\.\d+", "", name)
    return re.sub(r"\.b$", ".bias", re.sub(r"\.(w|\d+)$", ".weight", name))


# ------------------------------------------------------------------------------------------------ the three engines
# Each returns a model to train, and a function that returns the loss of a batch of names and sets its gradients.
def value_engine(model):
    """One number per node, and a graph for each name: that of a whole batch would have millions of nodes."""
    twin = fill(ValueGPT(len(model.out.weight.T), model.blocks[0].heads, len(model.blocks)), arrays(model))

    def learn(batch):
        total, letters = 0.0, sum(len(name) + 1 for name in batch)
        for name in batch:
            loss = twin.loss(name) * ((len(name) + 1) / letters)
            loss.backward()
            total += loss.data
        return total

    return twin, learn


def tensor_engine(model, made=lambda function: function):
    """One array per node, and a graph for each batch."""
    loss_of = made(model.loss)

    def learn(batch):
        loss = loss_of(*padded(batch))
        loss.backward()
        return loss.item()

    return model, learn


def compiled_engine(model, backend="auto"):
    """The loss and its gradients as one program."""
    return tensor_engine(model, partial(micrograd.compile, backend=backend))


THREE = {"value": value_engine, "tensor": tensor_engine, "compiled": compiled_engine}
ENGINES = {**THREE, "jax": partial(compiled_engine, backend="jax")}  # that program, on a GPU if there is one
BACKENDS = {"compiled": "auto", "jax": "jax"}  # where Adam is part of the program


def learner(model, options):
    """A model to train, its optimizer, and a training step: a function from a batch of names to its loss."""
    trained, learn = ENGINES[options.engine](model)
    optimizer = Adam(trained.parameters(), lr=options.rate, betas=(0.9, 0.99))
    if backend := BACKENDS.get(options.engine):
        backend = options.backend if options.engine == "compiled" else backend
        devices = jax_devices(options.devices)
        program = micrograd.compile(model.loss, update=optimizer, backend=backend, devices=devices)
        return trained, optimizer, lambda batch: program(*padded(batch)).item()

    def step(batch):
        optimizer.zero_grad()
        loss = learn(batch)  # forward and backward
        optimizer.step()
        return loss

    return trained, optimizer, step


def jax_devices(count):
    """The first devices that JAX finds, or None for one alone."""
    if count == 1:
        return None
    import jax

    found = jax.devices()
    if len(found) < count:
        flag = f"XLA_FLAGS=--xla_force_host_platform_device_count={count}"
        sys.exit(f"--devices {count} needs as many, found {len(found)}: take fewer, or try it on a CPU with {flag}")
    return found[:count]


# ------------------------------------------------------------------------------------------------ the learning
def train(learn_from, optimizer, data, options, start, keep):
    """Train from step `start` on, with a rate that falls to 0; `keep(step)` saves now and then, and at the end."""
    schedule = LambdaLR(optimizer, lambda t: 1 - (start + t) / options.steps)
    seen, mean = 0, None
    often = 0.1 if sys.stderr.isatty() else 5  # seconds; a log should be short
    steps = range(start, options.steps)
    with tqdm(steps, "learning", options.steps, unit="step", initial=start, mininterval=often) as bar:
        for step in bar:
            rng = np.random.default_rng([options.seed, step])  # a resumed run draws the same names
            batch = rng.choice(data, options.batch).tolist()
            loss = learn_from(batch)
            schedule.step()
            mean = 0.98 * mean + 0.02 * loss if mean else loss
            seen += sum(len(name) + 1 for name in batch)
            speed = f"{seen / bar.format_dict['elapsed']:,.0f}"
            bar.set_postfix({"tokens/s": speed, "loss": f"{mean:.3f}"}, refresh=False)
            if (step + 1) % OFTEN == 0 or step + 1 == options.steps:
                keep(step + 1)


def save_run(model, optimizer, options, step):
    """The weights, the state of Adam, the settings, and the step."""
    state = arrays(model)
    for what in ("mean", "squares"):
        remembered = arrays(model, [optimizer.state[p][what] for p in optimizer.params])
        state |= {f"{what}.{name}": array for name, array in remembered.items()}
    settings = {name: getattr(options, name) for name in RUN} | {"step": step}
    save(state | {f"run.{name}": np.array(x) for name, x in settings.items()}, options.out / FILE)


def resume(state, model, optimizer):
    """Restore a saved run, whichever engine it used; returns its step."""
    step, weights = state["run.step"].item(), arrays(model)
    for what in ("mean", "squares"):
        twin = fill(deepcopy(model), {name: state[f"{what}.{name}"] for name in weights})
        for p, q in zip(optimizer.params, twin.parameters(), strict=True):
            optimizer.state[p] |= {what: q.data, "steps": step}
    fill(model, {name: state[name] for name in weights})
    return step


# ------------------------------------------------------------------------------------------------ the exam
def bigram_loss(data, unseen):
    """Nats per letter of the unseen names for a bigram: a table of counts of pairs."""
    counts = np.full((len(LETTERS), len(LETTERS)), 0.1)  # a little for pairs that never occurred
    for name in data:
        numbers = tokens(name)
        np.add.at(counts, (numbers[:-1], numbers[1:]), 1)
    before, after, counted = padded(unseen)
    losses = -np.log(counts / counts.sum(1, keepdims=True))[before, after]
    return np.average(losses, weights=counted)


@no_grad()
def make_up(model, temperature, rng):
    """A name, each letter drawn by its probability; the lower the temperature, the more often the likeliest."""
    numbers = [0]
    while len(numbers) == 1 or (numbers[-1] and len(numbers) <= PLACES):
        shares = softmax(model(np.array([numbers]))[0, -1] / temperature)
        numbers.append(rng.choice(len(LETTERS), p=shares.numpy()))
    return "".join(LETTERS[n] for n in numbers if n)


def compare(model, batch):
    """Compare the loss and the gradients of the three engines on a batch, and their speed in tokens per second."""
    found, speeds = [], {}
    for name, engine in THREE.items():
        trained, learn = engine(deepcopy(model))
        trained.zero_grad()
        found.append([learn(batch), *arrays(trained, [p.grad for p in trained.parameters()]).values()])
        seconds = min(repeat(lambda learn=learn: learn(batch), number=1, repeat=3))
        speeds[name] = sum(len(name) + 1 for name in batch) / seconds
    apart = max(np.abs(a - b).max() for other in found for a, b in zip(found[0], other, strict=True))
    print(f"Loss and gradients of {', '.join(batch)}: the three engines differ by {apart:.0e} at most.")
    ratios = (f"{name} {tokens:,.0f} (x {tokens / speeds['value']:,.0f})" for name, tokens in speeds.items())
    print(f"Tokens a second, learning from these: {', '.join(ratios)}")


# ------------------------------------------------------------------------------------------------ the whole
def main(arguments=None):
    """Data, model, training; then the test, some names, and the three engines side by side."""
    options, state = parse(arguments)
    data, unseen = make_data(options.seed)
    rng = np.random.default_rng(options.seed)
    model = TensorGPT(options.width, options.heads, options.layers, rng)
    print(f"{len(data)} names to learn, {len(unseen)} held out; {sum(p.size for p in model.parameters())} weights")
    trained, optimizer, learn_from = learner(model, options)
    start = resume(state, trained, optimizer) if state else 0
    try:
        train(learn_from, optimizer, data, options, start, lambda step: save_run(trained, optimizer, options, step))
    except KeyboardInterrupt:
        sys.exit(f"Stopped. The run was saved every {OFTEN} steps: --resume goes on from there.")
    fill(model, arrays(trained))
    nats, bigram = model.loss(*padded(unseen)).item(), bigram_loss(data, unseen)
    made = [make_up(model, options.temperature, rng) for _ in range(20)]
    print(f"On unseen names: {nats:.3f} nats per letter (a table of letter pairs: {bigram:.3f}, {bigram - nats:+.3f})")
    stars = ", ".join(name.capitalize() + "*" * (name in data) for name in made)
    print(f"Made up, with a star where it is a name to learn from:\n  {stars}")
    compare(model, data[:4])
    if options.player:
        twin, _ = value_engine(model)
        loss = twin.loss(min(unseen, key=len))
        loss.label = "loss"
        player(loss).save(options.player)  # boxes: a block, the heads in it, their neurons
    return bigram - nats


FILE, OFTEN = "microgpt.safetensors", 50  # steps between saves
RUN = {"seed": 1337, "width": 16, "heads": 4, "layers": 1, "batch": 32, "steps": 5000, "rate": 0.01}  # saved with it
MEANING = {
    "seed": "of the split of the data, the weights and the batches",
    "width": "how many numbers stand for a letter",
    "heads": "how many heads of attention share the width",
    "layers": "how many blocks follow each other",
    "batch": "how many names a step sees",
    "steps": "how many steps to take",
    "rate": "the learning rate of the first step, which falls to nearly 0",
}


def parse(arguments):
    """The options of the command line; a resumed run keeps its settings, and what was saved of it is returned."""
    parser = argparse.ArgumentParser(description="Teach a tiny GPT to make up names.")
    parser.add_argument("--engine", choices=ENGINES, default="tensor", help="what computes (default: %(default)s)")
    for name, default in RUN.items():
        parser.add_argument(
            f"--{name}", type=type(default), default=default, help=f"{MEANING[name]} (default: %(default)s)"
        )
    choices = ["auto", "c"]
    parser.add_argument("--backend", choices=choices, default="auto", help="of compiled (default: %(default)s)")
    parser.add_argument("--devices", type=int, default=1, help="of JAX, to share each batch (default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=0.7, help="of made-up names (default: %(default)s)")
    parser.add_argument("--player", type=Path, metavar="FILE", help="leave a page to step through one name's loss")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where to leave results (default: %(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on with the run that is saved there, as it was set")
    options, state = parser.parse_args(arguments), {}
    try:
        if options.resume:
            state = load(options.out / FILE)
            vars(options).update({name: state[f"run.{name}"].item() for name in RUN})
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"there is no run to resume in {options.out}: {error}")
    check(parser, options)
    return options, state


def check(parser, options):
    """Check numbers and folders before training."""
    for name in (*RUN, "temperature"):
        if not (getattr(options, name) > 0 or (name, options.seed) == ("seed", 0)):
            parser.error(f"--{name} must be above 0, found {getattr(options, name)}")
    if options.devices != 1 and options.engine != "jax":
        parser.error(f"--devices is for --engine jax, found --engine {options.engine}")
    if options.backend != "auto" and options.engine != "compiled":
        parser.error(f"--backend is for --engine compiled, found --engine {options.engine}")
    if options.devices < 1 or options.batch % options.devices:
        parser.error(f"--batch must be a multiple of --devices, found {options.batch} names for {options.devices}")
    if options.width % options.heads or options.width == options.heads:
        parser.error(f"--width must be 2, 3, 4 ... times --heads, {options.heads}; found {options.width}")
    for folder in (options.out, *([options.player.parent] if options.player else [])):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            sys.exit(f"Nothing can be left in {folder}: {error.strerror}. Choose another folder.")


if __name__ == "__main__":
    main()
