"""Find three slopes and an offset from a hundred points: the smallest training with Tensors.

    python demos/linear_regression.py          prints the loss and the result
    python demos/linear_regression.py --help   lists the options

Start reading at `main`, at the bottom.
"""

import argparse
import sys

try:
    import numpy as np

    from micrograd.functional import mse
    from micrograd.nn import Linear
    from micrograd.optim import SGD
except ModuleNotFoundError as error:
    package = str(error.name).partition(".")[0]
    install = "." if package == "micrograd" else package
    sys.exit(f"This demo needs {package}, which is not installed here: pip install {install}")

SAMPLES = 100
SLOPES, OFFSET = np.array([-1.0, 3.0, -2.0]), -3.0  # to be found
EPOCHS, RATE = 101, 3e-4


def make_data(seed):
    """Normally distributed inputs, three per point, and the linear function's value for each point."""
    inputs = np.random.default_rng(seed).standard_normal((SAMPLES, 3))
    return inputs, (inputs @ SLOPES + OFFSET)[:, None]


def train(model, inputs, targets, epochs=EPOCHS):
    """Gradient descent on the sum of squared errors; the history is their mean before each step."""
    optimizer = SGD(model.parameters(), lr=RATE)
    history = []
    for epoch in range(epochs):
        loss = mse(model(inputs), targets, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item() / len(inputs))
        if epoch % 10 == 0:
            print(f"epoch {epoch:3d}   loss {history[-1]:9.5f}")
    return history


def main(arguments=None):
    """Data, model, training, and the result."""
    parser = argparse.ArgumentParser(description="Find three slopes and an offset from a hundred points.")
    parser.add_argument("--seed", type=int, default=0, help="of points and weights (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.seed < 0:
        parser.error(f"--seed must not be below 0, found {options.seed}")

    inputs, targets = make_data(options.seed)
    model = Linear(3, 1, rng=np.random.default_rng(options.seed))
    history = train(model, inputs, targets)
    print(f"The loss, a mean of squares, fell from {history[0]:.1f} to {history[-1]:.5f}.")
    print(f"slopes {np.round(model.weight.tolist()[0], 2)}, to be found were {SLOPES}")
    print(f"offset {model.bias.item():.2f}, to be found was {OFFSET}")
    return history


if __name__ == "__main__":
    main()
