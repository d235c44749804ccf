"""Graphs that more than one test draws, and what a page holds."""

import base64
import json
import re
import zlib

from micrograd import Tensor, Value


def embedded(page):
    """What the script of a page is passed, unpacked."""
    (packed,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(zlib.decompress(base64.b64decode(packed), -15))


def neuron():
    x1, x2 = Value(2.0, label="x1"), Value(0.5, label="x2")
    w1, w2, b = Value(-3.0, label="w1"), Value(1.0, label="w2"), Value(6.8813735870195432, label="b")
    n = x1 * w1 + x2 * w2 + b
    n.label = "n"
    out = n.tanh()
    out.label = "o"
    return out


def expression(a=-4.0):
    """The graph in the README, with the names that it has there."""
    a, b = Value(a, label="a"), Value(2.0, label="b")
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0 + 10.0 / f
    c.label, d.label, e.label, f.label, g.label = "cdefg"
    return g


def attention():
    """One layer of attention, with Tensors."""
    import numpy as np
    from demo_helpers import demo_module

    gpt, rng = demo_module("microgpt"), np.random.default_rng(0)
    x = Tensor(rng.normal(size=(1, 5, 8)), requires_grad=True, label="x")
    return gpt.TensorBlock(8, 2, rng).attend(gpt.rows_normed(x)).sum()


def gpt():
    """The loss of a tiny GPT, with Tensors."""
    import numpy as np
    from demo_helpers import demo_module

    gpt = demo_module("microgpt")
    return gpt.TensorGPT(16, 4, 1, np.random.default_rng(0)).loss(*gpt.padded(["emma", "olivia"]))
