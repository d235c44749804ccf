"""Teach a small network of Tensors to read handwritten digits, and see which ones it confuses.

    python demos/digits.py                    trains in seconds; writes a picture and the weights to out/
    python demos/digits.py --epochs 5         a shorter run
    python demos/digits.py --conv             a convolutional network
    python demos/digits.py --help             lists the options

Start reading at `main`, at the bottom.
"""

import argparse
import sys
from pathlib import Path

try:
    import numpy as np
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from tqdm import tqdm

    from micrograd import batches, load, no_grad, save
    from micrograd.functional import cross_entropy
    from micrograd.nn import Conv2d, Dropout, Flatten, Linear, MaxPool2d, ReLU, Sequential
    from micrograd.optim import AdamW, CosineAnnealingLR
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    install = {"micrograd": ".", "sklearn": "scikit-learn"}.get(package, package)
    sys.exit(f"This demo needs {package}, which is not installed here: pip install {install}")


# ------------------------------------------------------------------------------------------------ the data
def make_data(seed):
    """1,797 digits of 8x8 pixels between 0 and 1, and their labels; a fifth is held out as the test set."""
    images, digits = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    return train_test_split(images, digits, test_size=0.2, stratify=digits, random_state=seed)


def make_model(rng):
    """64 pixels in, 128 features in between, 10 scores out: one for each digit."""
    return Sequential(Linear(64, 128, dtype=np.float32, rng=rng), ReLU(), Linear(128, 10, dtype=np.float32, rng=rng))


def make_conv(rng):
    """Two layers of 3x3 filters, max pooling over 2x2, and 10 scores."""
    settings = {"dtype": np.float32, "rng": rng}
    return Sequential(
        lambda images: images.reshape(-1, 1, 8, 8),  # images of one channel
        Conv2d(1, 16, 3, padding=1, **settings),
        ReLU(),
        Conv2d(16, 32, 3, padding=1, **settings),
        ReLU(),
        MaxPool2d(2),
        Flatten(),
        Dropout(0.25, rng=rng),
        Linear(32 * 4 * 4, 10, **settings),
    )


# ------------------------------------------------------------------------------------------------ the learning
def train(model, images, digits, epochs, rng):
    """Train for some epochs on batches of 32, with a falling rate. The history is the mean loss of each epoch."""
    optimizer = AdamW(model.parameters(), lr=0.005)
    schedule = CosineAnnealingLR(optimizer, T_max=epochs)
    history = []
    often = 0.1 if sys.stderr.isatty() else 5  # seconds; a log should be short
    with tqdm(range(epochs), desc="learning", unit="epoch", mininterval=often) as bar:
        for _ in bar:
            losses = []
            for x, y in batches(images, digits, size=32, rng=rng):
                loss = cross_entropy(model(x), y)  # forward
                optimizer.zero_grad()
                loss.backward()  # backward: the gradient of every parameter
                optimizer.step()  # a step against the gradient
                losses.append(loss.item())
            schedule.step()
            history.append(sum(losses) / len(losses))
            bar.set_postfix(loss=f"{history[-1]:.4f}", refresh=False)
    return history


def answers(model, images):
    """The model's answer for each image: the digit with the highest score."""
    with no_grad():
        return model.eval()(images).argmax(1)


# ------------------------------------------------------------------------------------------------ the picture
def draw_confusion(digits, guesses, path):
    """The confusion matrix as a picture; a perfect network would leave everything off the diagonal white."""
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (digits, guesses), 1)
    axes = Figure(figsize=(6, 6), layout="constrained").subplots()
    axes.imshow(np.sqrt(counts), cmap="Blues")  # the root, so that a single mistake is visible
    for digit, guess in np.argwhere(counts):
        dark = counts[digit, guess] > counts.max() / 3
        axes.text(guess, digit, counts[digit, guess], ha="center", va="center", color="white" if dark else "black")
    right = np.trace(counts) / counts.sum()
    axes.set(title=f"{right:.1%} read right", xlabel="what it was taken for", ylabel="what it was")
    axes.set(xticks=range(10), yticks=range(10))
    axes.figure.savefig(path, dpi=150)


# ------------------------------------------------------------------------------------------------ the whole
def main(arguments=None):
    """Data, network, training, test; then the weights are saved and loaded again."""
    options = parse(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"The results cannot be left in {options.out}: {error.strerror}. Choose a folder with --out.")

    images, unseen, digits, unseen_digits = make_data(options.seed)
    rng = np.random.default_rng(options.seed)
    make = make_conv if options.conv else make_model
    model = make(rng)
    print(f"{len(images)} digits to learn from, {len(unseen)} held out, and this network:\n{model}")
    history = train(model, images, digits, options.epochs, rng)
    guesses = answers(model, unseen)
    right = (guesses == unseen_digits).mean()
    print(f"Right answers: {right:.1%} of the unseen digits; the loss went from {history[0]:.3f} to {history[-1]:.4f}.")
    finish(model, make, unseen, unseen_digits, guesses, options.out)
    return right


def finish(model, make, unseen, unseen_digits, guesses, out):
    """Write the picture and the weights, and check that a new network with these weights gives the same answers."""
    draw_confusion(unseen_digits, guesses, out / "confusion.png")
    save(model, out / "digits.safetensors")
    reloaded = make(np.random.default_rng())
    load(out / "digits.safetensors", into=reloaded)
    same = (answers(reloaded, unseen) == guesses).all()
    print(f"Saved and reloaded, it gives {'the same' if same else 'OTHER'} answers.")
    print(f"Have a look, in {out.resolve()}:")
    print("  confusion.png        which digits it confuses")
    print("  digits.safetensors   what it has learnt")


def parse(arguments):
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Teach a small network of Tensors to read handwritten digits.")
    parser.add_argument("--conv", action="store_true", help="a convolutional network: half a minute, 99%% right")
    parser.add_argument("--epochs", type=int, default=30, help="how often to see all digits (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1337, help="of weights and order (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where to leave results (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.epochs < 1:
        parser.error(f"--epochs must be at least 1, found {options.epochs}")
    if not 0 <= options.seed < 2**32:
        parser.error(f"--seed must be from 0 to {2**32 - 1}, found {options.seed}")
    return options


if __name__ == "__main__":
    main()
