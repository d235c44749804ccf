"""The demos of Tensors: digits and linear regression learn what they say, and leave what they say."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from demo_helpers import DEMOS, demo_module

from micrograd.nn.saving import load

pytestmark = pytest.mark.long

line = demo_module("linear_regression")


@pytest.fixture(scope="module")
def digits():
    """For the first test that needs it, since scikit-learn takes seconds to import, and every worker collects."""
    return demo_module("digits")


# ---------------------------------------------------------------------------------------------------------------------
# Digits


@pytest.mark.usefixtures("digits")
def test_digits_reads_97_of_100_unseen_digits_and_leaves_its_results_in_out(tmp_path):
    command, env = [sys.executable, str(DEMOS / "digits.py")], {**os.environ, "PYTHONPATH": str(DEMOS.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    right = float(done.stdout.split("Right answers: ")[1].split("%")[0])
    assert right >= 97
    assert "1437 digits to learn from, 360 held out" in done.stdout
    assert "Linear(in_features=64, out_features=128, bias=True)" in done.stdout
    assert "Saved and reloaded, it gives the same answers." in done.stdout
    assert "learning: 100%" in done.stderr
    assert (tmp_path / "out" / "confusion.png").read_bytes().startswith(b"\x89PNG")


def test_digits_with_windows_reads_985_of_1000(digits, tmp_path, capsys):
    assert digits.main(["--conv", "--epochs", "16", "--seed", "0", "--out", str(tmp_path)]) >= 0.985
    said = capsys.readouterr().out
    assert "Conv2d(1, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))" in said
    assert "Saved and reloaded, it gives the same answers." in said
    assert set(load(tmp_path / "digits.safetensors")) == {
        f"{i}.{name}" for i in (1, 3, 8) for name in ("weight", "bias")
    }


def test_held_out_fifth_has_a_fair_share_of_each_digit_and_is_none_of_the_rest(digits):
    images, unseen, known, held = digits.make_data(seed=0)
    assert len(unseen) == pytest.approx(len(images) / 4, abs=2)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (0, 1)
    assert np.bincount(held).min() >= 34
    assert len(known) + len(held) == 1797


def test_reloaded_weights_that_differ_would_be_said(digits, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(digits, "load", lambda path, into: None)
    digits.main(["--epochs", "1", "--out", str(tmp_path)])
    assert "it gives OTHER answers" in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------------------------
# Linear regression


@pytest.mark.parametrize("seed", [1337, 0])
def test_loss_of_the_line_falls_at_every_epoch_to_under_a_thousandth_of_what_it_was(seed, capsys):
    history = line.main(["--seed", str(seed)])
    assert "offset -2.9" in capsys.readouterr().out
    assert len(history) == 101
    assert all(later < earlier for earlier, later in pairwise(history))
    assert history[-1] < history[0] / 1000
