"""The demos of Tensors: digits and linear regression learn what they say, and leave what they say."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from demo_helpers import check_that_it_names_what_is_missing, demo_module

from micrograd.nn.saving import load

ROOT = Path(__file__).parents[2]
digits, line = demo_module("digits"), demo_module("linear_regression")


def run(name, cwd=None):
    """A demo in a process of its own, piped."""
    command = [sys.executable, str(ROOT / "demos" / f"{name}.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=300)


# ---------------------------------------------------------------------------------------------------------------------
# Digits


def test_with_nothing_said_it_reads_97_of_100_unseen_digits_and_leaves_its_results_in_out(tmp_path):
    done = run("digits", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    right = float(done.stdout.split("Right answers: ")[1].split("%")[0])
    assert right >= 97
    assert "1437 digits to learn from, 360 held out" in done.stdout
    assert "Linear(in_features=64, out_features=128, bias=True)" in done.stdout
    assert "Saved and reloaded, it gives the same answers." in done.stdout
    assert "learning: 100%" in done.stderr
    assert (tmp_path / "out" / "confusion.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_reads_them_with_other_seeds_too(seed, tmp_path, capsys):
    assert digits.main(["--seed", str(seed), "--out", str(tmp_path)]) >= 0.97


def test_with_windows_it_reads_985_of_1000(tmp_path, capsys):
    assert digits.main(["--conv", "--epochs", "16", "--seed", "0", "--out", str(tmp_path)]) >= 0.985
    said = capsys.readouterr().out
    assert "Conv2d(1, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))" in said
    assert "Saved and reloaded, it gives the same answers." in said
    assert set(load(tmp_path / "digits.safetensors")) == {
        f"{i}.{name}" for i in (1, 3, 8) for name in ("weight", "bias")
    }


def test_the_held_out_fifth_has_a_fair_share_of_each_digit_and_is_none_of_the_rest():
    images, unseen, known, held = digits.make_data(seed=0)
    assert len(unseen) == pytest.approx(len(images) / 4, abs=2)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (0, 1)
    assert np.bincount(held).min() >= 34
    assert len(known) + len(held) == 1797


def test_the_same_seed_learns_the_same_network(tmp_path, capsys):
    for name in ("a", "b"):
        digits.main(["--seed", "3", "--epochs", "1", "--out", str(tmp_path / name)])
    a, b = (load(tmp_path / name / "digits.safetensors") for name in ("a", "b"))
    assert set(a) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert all((a[name] == b[name]).all() for name in a)


def test_reloaded_weights_that_differ_would_be_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(digits, "load", lambda path, into: None)
    digits.main(["--epochs", "1", "--out", str(tmp_path)])
    assert "it gives OTHER answers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "0"], "--epochs must be at least 1, found 0"),
        (["--seed", "-1"], "--seed must be from 0 to 4294967295, found -1"),
        (["--epochs", "many"], "invalid int value: 'many'"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(arguments, message, capsys):
    with pytest.raises(SystemExit):
        digits.main(arguments)
    assert message in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_said_before_learning(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(SystemExit, match=r"cannot be left in .*out.* Choose a folder with --out"):
        digits.main(["--out", str(tmp_path / "out")])


# ---------------------------------------------------------------------------------------------------------------------
# Linear regression


def test_the_loss_of_the_line_falls_to_under_a_thousandth(capsys):
    assert line.main([])[-1] < 0.001


@pytest.mark.parametrize("seed", [1337, 0, 1, 2, 3, 4])
def test_the_loss_of_the_line_falls_at_every_epoch_to_under_a_thousandth_of_what_it_was(seed, capsys):
    history = line.main(["--seed", str(seed)])
    assert len(history) == 101
    assert all(later < earlier for earlier, later in pairwise(history))
    assert history[-1] < history[0] / 1000


def test_the_line_that_is_printed_is_the_one_to_be_found():
    done = run("linear_regression")
    assert done.returncode == 0, done.stderr
    assert "offset -2.99, to be found was -3.0" in done.stdout
    assert done.stdout.startswith("epoch   0   loss ")


def test_a_seed_below_zero_is_refused(capsys):
    with pytest.raises(SystemExit):
        line.main(["--seed", "-1"])
    assert "--seed must not be below 0, found -1" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------------------
# Both


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("digits", "matplotlib"), ("digits", "sklearn"), ("digits", "tqdm"), ("digits", "micrograd"),
        ("linear_regression", "numpy"), ("linear_regression", "micrograd"),
    ],
)  # fmt: skip
def test_a_missing_package_is_named_with_the_command_that_installs_it(name, package, monkeypatch, capfd):
    check_that_it_names_what_is_missing(ROOT / "demos" / f"{name}.py", package, monkeypatch, capfd)
