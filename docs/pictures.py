"""The README's drawings of one neuron: `python docs/pictures.py` writes them again; a test compares."""

from pathlib import Path

from micrograd import Value, draw_dot, tanh
from micrograd.viz import animate

HERE = Path(__file__).parent


def pictures() -> dict[Path, str]:
    """The text of each, as SVG."""
    numbers = {"x1": 2, "w1": -3, "x2": 0, "w2": 1, "b": 6.88}
    x1, w1, x2, w2, b = (Value(x, label=name) for name, x in numbers.items())
    out = tanh(x1 * w1 + x2 * w2 + b)
    moving = animate(out).svg
    out.backward()
    return {HERE / "animation.svg": moving, HERE / "neuron.svg": draw_dot(out).svg()}


if __name__ == "__main__":
    for path, text in pictures().items():
        path.write_text(text, encoding="utf-8")
