"""Graphs that more than one test draws, and what a film's page holds."""

import base64
import json
import re
import zlib

from micrograd import Value


def embedded(page):
    """What the script of a film's page is passed, unpacked."""
    found = json.loads(re.search(r'id="film">(.*?)</script>', page, re.DOTALL)[1])
    packed = {name: base64.b64decode(found[name]) for name in ("frames", "inside") if found[name]}
    return found | {name: json.loads(zlib.decompress(data, -15)) for name, data in packed.items()}


def neuron():
    x1, x2 = Value(2.0, label="x1"), Value(0.5, label="x2")
    w1, w2, b = Value(-3.0, label="w1"), Value(1.0, label="w2"), Value(6.8813735870195432, label="b")
    n = x1 * w1 + x2 * w2 + b
    n.label = "n"
    out = n.tanh()
    out.label = "o"
    return out
