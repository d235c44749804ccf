"""A compiled step as a module of JavaScript, in Chromium: training in a page gives what NumPy gives."""

import json
import random
from pathlib import Path

import numpy as np

from micrograd import compile, nn
from micrograd.functional import hinge
from micrograd.optim import Adam

from .chromium import Page


def test_page_trains_a_network_as_numpy_does(page: Page, tmp_path: Path) -> None:
    model, rng = nn.MLP(2, [8, 1], rng=random.Random(0)), np.random.default_rng(0)
    points = rng.normal(size=(20, 2))
    labels = np.where(points[:, 0] * points[:, 1] > 0, 1.0, -1.0)
    loss = lambda points, labels: hinge([model(x) for x in points], list(labels))  # noqa: E731
    step = compile(loss, scalars=True, update=Adam(model.parameters(), lr=0.01))
    step(points, labels)
    given = json.dumps({"points": points.tolist(), "labels": labels.tolist()})
    page.open(f"""<!doctype html><title>A module</title><script type="module">
{step.to_js().decode()}
window.losses = Array.from({{length: 100}}, () => step({given}));
</script>""")
    losses = page.wait("window.losses")
    np.testing.assert_allclose(losses, [step(points, labels).data for _ in range(100)], rtol=1e-10)
