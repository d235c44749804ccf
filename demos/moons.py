"""Teach a small network of scalars to tell two moons apart, and look at what it has learnt.

    python demos/moons.py                    trains in seconds; writes pictures, a movie and a player to out/
    python demos/moons.py --data spiral      something harder
    python demos/moons.py --help             lists the options

Start reading at `main`, at the bottom.
"""

import argparse
import random
import sys
from pathlib import Path

try:
    import numpy as np
    from matplotlib.figure import Figure
    from tqdm import tqdm

    from micrograd import Value, draw_dot
    from micrograd.functional import hinge
    from micrograd.nn import MLP
    from micrograd.optim import SGD, LambdaLR
    from micrograd.viz import draw_network, movie, player, plot_decision_boundary, plot_loss
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    install = {"micrograd": "."}.get(package, package)
    sys.exit(f"This demo needs {package}, which is not installed here: pip install {install}")

# ------------------------------------------------------------------------------------------------ the data
SAMPLES = 100


def moons():
    """Two interlocking half circles: the points of `make_moons` of scikit-learn, which would take longer to install."""
    along = np.linspace(0, np.pi, SAMPLES // 2)
    return mixed([np.cos(along), np.sin(along)], [1 - np.cos(along), 1 - np.sin(along) - 0.5])


def circles():
    """A ring around a disc."""
    along = np.linspace(0, 2 * np.pi, SAMPLES // 2, endpoint=False)
    ring = np.array([np.cos(along), np.sin(along)])
    return mixed(ring, 0.4 * ring)


def mixed(first, second):
    """The points of two classes, given by their coordinates, in random order and with noise."""
    order = np.random.permutation(SAMPLES)
    points = np.concatenate([first, second], axis=1).T[order]
    return points + np.random.normal(0, 0.1, points.shape), np.repeat([0, 1], SAMPLES // 2)[order]


def xor():
    """Four quarters of a square; opposite quarters are of one class."""
    points = np.random.uniform(-1, 1, (SAMPLES, 2))
    points += 0.1 * np.sign(points)  # a gap along the axes
    return points, (points[:, 0] * points[:, 1] > 0).astype(int)


def spiral():
    """Two arms that wind around each other, one and a quarter turns."""
    along = np.sqrt(np.linspace(0.05, 1, SAMPLES // 2))
    arms = []
    for start in (0, np.pi):
        angle = start + 1.25 * 2 * np.pi * along
        arms.append(1.5 * along * np.array([np.cos(angle), np.sin(angle)]))
    points = np.concatenate(arms, axis=1).T + np.random.normal(0, 0.05, (SAMPLES, 2))
    return points, np.repeat([0, 1], SAMPLES // 2)


DATA = {make.__name__: make for make in (moons, circles, xor, spiral)}


def make_data(name, seed):
    """Points, and -1 or 1 for each. A seed determines the points, and the network made after them."""
    np.random.seed(seed)
    random.seed(seed)
    points, classes = DATA[name]()
    return points.tolist(), (2 * classes - 1).tolist()


# ------------------------------------------------------------------------------------------------ the learning
def total_loss(model, points, labels):
    """The loss as a Value, and a score for each point, whose sign is the answer."""
    inputs = [list(map(Value, point)) for point in points]
    scores = list(map(model, inputs))
    small_weights = 1e-4 * sum(p * p for p in model.parameters())
    return hinge(scores, labels) + small_weights, scores


def accuracy(scores, labels):
    """The fraction of points whose score has the right sign."""
    return sum((score > 0) == (label > 0) for score, label in zip(scores, labels, strict=True)) / len(labels)


def train(model, points, labels, steps, film=None):
    """Gradient descent with a falling rate. The history is (loss, accuracy) at each step."""
    optimizer = SGD(model.parameters(), lr=1.0)
    schedule = LambdaLR(optimizer, lambda step: 1.0 - 0.9 * step / steps)
    history = []
    often = 0.1 if sys.stderr.isatty() else 5  # seconds; a log should be short
    with tqdm(range(steps), desc="learning", unit="step", mininterval=often) as bar:
        for _ in bar:
            loss, scores = total_loss(model, points, labels)  # forward: a graph of some 65,000 nodes
            history.append((loss.data, accuracy(scores, labels)))
            optimizer.zero_grad()
            loss.backward()  # backward: the gradient of every parameter
            if film:
                film.frame(*history[-1])
            optimizer.step()  # a step against the gradient
            schedule.step()
            bar.set_postfix(loss=f"{loss.data:.4f}", accuracy=f"{history[-1][1]:.0%}", refresh=False)
    return history


# ------------------------------------------------------------------------------------------------ the pictures
def draw_boundary(model, points, labels, path):
    """The score at every point of the plane: its sign is the answer, unsure within the margins."""
    axes = Figure(figsize=(7, 6), layout="constrained").subplots()
    plot_decision_boundary(model, points, labels, axes).set(title="What the network thinks")
    axes.figure.savefig(path, dpi=150, bbox_inches="tight")


def draw_history(history, path):
    """The loss and the accuracy, step by step."""
    losses, accuracies = zip(*history, strict=True)
    axes = Figure(figsize=(7, 4.5), layout="constrained").subplots()
    plot_loss(losses, axes, accuracy=accuracies).set(title="How it learnt")
    axes.figure.savefig(path, dpi=150)


def draw_neuron(model, point, path):
    """The graph of the neuron that the point excites most, with the gradients of its output."""
    neuron = max(model.layers[0].neurons, key=lambda neuron: neuron(point))
    neuron.zero_grad()
    result = neuron([Value(x, label=name) for x, name in zip(point, ("x1", "x2"), strict=True)])
    result.backward()
    path.write_text(draw_dot(result).svg(), encoding="utf-8")
    return result


# ------------------------------------------------------------------------------------------------ the whole
def main(arguments=None):
    """Data, network, training, pictures, movie."""
    options = parse(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"The pictures cannot be left in {options.out}: {error.strerror}. Choose a folder with --out.")

    points, labels = make_data(options.data, options.seed)
    model = MLP(2, [16, 16, 1])
    print(f"{len(points)} points of {options.data}, and a network of {len(model.parameters())} parameters.")
    wrongest = min(range(len(points)), key=lambda i: labels[i] * model(points[i]))
    draw_network(model, points).save(options.out / "network.svg")
    print(f"A first picture, of what each neuron answers before it learns: {options.out / 'network.svg'}", flush=True)
    film = movie(
        model, points, labels, title=f"A network of {len(model.parameters())} parameters learns {options.data}"
    )
    history = train(model, points, labels, options.steps, film)
    loss, scores = total_loss(model, points, labels)
    model.zero_grad()  # the last gradients belong to the weights before the last step
    film.frame(loss, accuracy(scores, labels))
    print(
        f"Right answers: {accuracy(scores, labels):.0%} of the points; "
        f"the loss went from {history[0][0]:.3f} to {loss.data:.3f}."
    )
    film.save(options.out / "moons.html")
    draw_all(model, points, labels, points[wrongest], history, options.out)
    print("And for the browser:")
    print(f"  {(options.out / 'moons.html').resolve().as_uri()}   a movie: watch it learn")
    print(f"  {(options.out / 'neuron.html').resolve().as_uri()}  a player: step through one neuron, and back")


def draw_all(model, points, labels, point, history, out):
    """Pictures of what it has learnt, and how."""
    draw_boundary(model, points, labels, out / "boundary.png")
    draw_history(history, out / "loss.png")
    neuron = draw_neuron(model, point, out / "neuron.svg")
    player(neuron).save(out / "neuron.html")
    print(f"Have a look, in {out.resolve()}:")
    print("  boundary.png   its answer at every point of the plane")
    print("  loss.png       how it got there")
    print("  neuron.svg     one of its neurons as a graph: numbers, and the gradients of the neuron's output")
    print("  network.svg    where it began: its weights, and what its neurons answered before they learnt anything")


def parse(arguments):
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Teach a small network of scalars to tell two moons apart.")
    parser.add_argument("--data", choices=DATA, default="moons", help="what to learn (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=100, help="how many steps to take (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1337, help="of points and weights (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where to leave pictures (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error(f"--steps must be at least 1, found {options.steps}")
    if not 0 <= options.seed < 2**32:
        parser.error(f"--seed must be from 0 to {2**32 - 1}, found {options.seed}")
    return options


if __name__ == "__main__":
    main()
