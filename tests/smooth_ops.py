"""The ops of random scalar programs: each on Values, on numbers, and its slopes as learnt at school."""

import math


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu_slope(x: float) -> float:
    k, c = math.sqrt(2 / math.pi), 0.044715
    t = math.tanh(k * (x + c * x**3))
    return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * c * x * x)


def step(x: float) -> float:
    return 1.0 if x > 0 else 0.0


# name: (on Values, on numbers, the slopes). The arguments are tamed where an op would overflow or leave its domain.
UNARY = {
    "neg": (lambda a: -a, lambda a: -a, lambda a: -1.0),
    "abs": (abs, abs, lambda a: math.copysign(1.0, a)),
    "exp": (lambda a: a.exp(), math.exp, math.exp),
    "log": (lambda a: a.log(), math.log, lambda a: 1 / a),
    "log1p": (lambda a: a.log1p(), math.log1p, lambda a: 1 / (1 + a)),
    "sqrt": (lambda a: a.sqrt(), math.sqrt, lambda a: 0.5 / math.sqrt(a)),
    "sin": (lambda a: a.sin(), math.sin, math.cos),
    "cos": (lambda a: a.cos(), math.cos, lambda a: -math.sin(a)),
    "tanh": (lambda a: a.tanh(), math.tanh, lambda a: 1 / math.cosh(a) ** 2),
    "sigmoid": (lambda a: a.sigmoid(), logistic, lambda a: logistic(a) * logistic(-a)),
    "softplus": (lambda a: a.softplus(), lambda a: math.log1p(math.exp(a)), logistic),
    "gelu": (
        lambda a: a.gelu(),
        lambda a: a / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))),
        gelu_slope,
    ),
    "relu": (lambda a: a.relu(), lambda a: max(a, 0.0), step),
    "leaky_relu": (lambda a: a.leaky_relu(0.1), lambda a: max(a, 0.1 * a), lambda a: 0.1 + 0.9 * step(a)),
    "square": (lambda a: a**2, lambda a: a * a, lambda a: 2 * a),
    "cube": (lambda a: a**3, lambda a: a * a * a, lambda a: 3 * a * a),
    "inverse": (lambda a: a**-1, lambda a: 1 / a, lambda a: -1 / (a * a)),
    "plus_number": (lambda a: 1.5 + a, lambda a: 1.5 + a, lambda a: 1.0),
    "minus_number": (lambda a: a - 1.5, lambda a: a - 1.5, lambda a: 1.0),
    "number_minus": (lambda a: 1.5 - a, lambda a: 1.5 - a, lambda a: -1.0),
    "times_number": (lambda a: a * -2.5, lambda a: a * -2.5, lambda a: -2.5),
    "number_over": (lambda a: 2.5 / a, lambda a: 2.5 / a, lambda a: -2.5 / (a * a)),
    "number_to": (lambda a: 1.5**a, lambda a: 1.5**a, lambda a: 1.5**a * math.log(1.5)),
}
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b: a + b, lambda a, b: (1.0, 1.0)),
    "sub": (lambda a, b: a - b, lambda a, b: a - b, lambda a, b: (1.0, -1.0)),
    "mul": (lambda a, b: a * b, lambda a, b: a * b, lambda a, b: (b, a)),
    "div": (lambda a, b: a / b, lambda a, b: a / b, lambda a, b: (1 / b, -a / (b * b))),
    "pow": (
        lambda a, b: a**b,
        lambda a, b: a**b,
        lambda a, b: (b * a ** (b - 1), a**b * math.log(a)),
    ),
    "maximum": (lambda a, b: a.maximum(b), max, lambda a, b: (step(a - b), step(b - a))),
    "minimum": (lambda a, b: a.minimum(b), min, lambda a, b: (step(b - a), step(a - b))),
}


def allowed(name: str, xs: list[float]) -> bool:
    """Is the op smooth, defined and of a moderate size here?"""
    a = xs[0]
    if name in ("log", "sqrt", "pow"):
        return 0.1 < a < 5 and (name != "pow" or abs(xs[1]) < 3)
    if name == "log1p":
        return a > -0.9
    if name in ("inverse", "number_over", "div"):
        return abs(xs[-1]) > 0.1
    if name in ("abs", "relu", "leaky_relu"):
        return abs(a) > 1e-6
    if name in ("maximum", "minimum"):
        return abs(a - xs[1]) > 1e-6
    return abs(a) < 5
