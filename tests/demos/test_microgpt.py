"""The GPT demo: its engines, one model; it learns, goes on where it was stopped, and makes names up."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from demo_helpers import demo_module
from drawn_graphs import embedded

from micrograd import no_grad
from micrograd.nn.saving import load, save

ROOT = Path(__file__).parents[2]
gpt = demo_module("microgpt")

ENGINES = [pytest.param(name, marks=pytest.mark.in_jax) if name == "jax" else name for name in gpt.ENGINES]
TINY = ["--width", "4", "--heads", "2", "--batch", "2"]


def model(width=8, heads=2, layers=2, seed=0):
    return gpt.TensorGPT(width, heads, layers, np.random.default_rng(seed))


def run(folder, *arguments):
    """A run in this process without what comes after the learning and takes long, and what it saved."""
    with patch.object(gpt, "compare"), patch.object(gpt, "make_up", return_value="ada"):
        gpt.main([*TINY, "--out", str(folder), *arguments])
    return load(folder / gpt.FILE)


# ---------------------------------------------------------------------------------------------------------------------
# The data


def test_names_fit_and_are_read_as_their_letters_and_a_tenth_is_held_out():
    learn, unseen = gpt.make_data(seed=1)
    assert (len(learn), len(unseen)) == (4647, 516)
    assert len({*learn, *unseen}) == 5163
    for name in learn + unseen:
        numbers = gpt.tokens(name)
        assert len(numbers) - 1 <= gpt.PLACES
        assert "".join(gpt.LETTERS[n] for n in numbers) == f".{name}."


# ---------------------------------------------------------------------------------------------------------------------
# Its engines


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize(("width", "heads", "layers"), [(8, 2, 2), (6, 1, 1), (6, 3, 1)])
def test_all_engines_give_one_loss_and_one_gradient(width, heads, layers, engine):
    found = []
    for name in ("value", engine):
        trained, learn = gpt.ENGINES[name](model(width, heads, layers))
        short, long = learn(["al"]), learn(["christopher"])
        assert learn(["al", "christopher"]) == pytest.approx((3 * short + 12 * long) / 15)  # a mean over letters
        loss = learn(["al", "zoe", "christopher"])
        found.append({"loss": loss} | gpt.arrays(trained, [p.grad for p in trained.parameters()]))
    expected, other = found
    assert list(other) == list(expected)
    for name, x in other.items():
        np.testing.assert_allclose(x, expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_scores_at_a_place_know_nothing_of_what_follows():
    tensors = model()
    values, _ = gpt.value_engine(tensors)
    with no_grad():
        long = tensors(np.array([gpt.tokens("anna")[:-1]])).numpy()[0]
        short = tensors(np.array([gpt.tokens("an")[:-1]])).numpy()[0]
        scores = np.array([[float(x) for x in row] for row in values(gpt.tokens("anna")[:-1])])
    np.testing.assert_allclose(long[:3], short, rtol=1e-12)
    np.testing.assert_allclose(scores, long, rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Learning, and going on


@pytest.mark.long
def test_microgpt_beats_a_bigram_by_15_hundredths_of_a_nat_in_250_steps_and_says_so(tmp_path, capsys):
    assert gpt.main(["--engine", "compiled", "--steps", "250", "--out", str(tmp_path)]) >= 0.15
    out = capsys.readouterr()
    loss, bigram = map(float, re.findall(r"(?:names: |pairs: )(\d\.\d+)", out.out))
    assert 1.8 < loss <= bigram - 0.15
    assert re.search(r"value \d+ \(x 1\), tensor [\d,]+ \(x [\d,]+\), compiled [\d,]+ \(x [\d,]+\)", out.out)
    assert float(re.search(r"differ by (\S+) at most", out.out)[1]) < 1e-9
    assert re.search(r"learning: 100%.*tokens/s=[\d,]+, loss=[\d.]+", out.err)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_run_that_was_stopped_ends_with_the_bits_of_one_that_was_not(engine, tmp_path, monkeypatch):
    settings = ["--engine", engine, "--steps", "5"]
    whole = run(tmp_path / "whole", *settings)
    stopped_at(3, monkeypatch)
    with pytest.raises(SystemExit, match=r"saved every 2 steps: --resume goes on"):
        run(tmp_path / "parts", *settings)
    monkeypatch.undo()
    assert load(tmp_path / "parts" / gpt.FILE)["run.step"] == 2
    again = run(tmp_path / "parts", "--engine", engine, "--resume")
    assert list(whole) == list(again)
    assert all((whole[name] == again[name]).all() for name in whole)


@pytest.mark.parametrize("engine", ENGINES[2:])
def test_whole_step_as_one_program_learns_what_adam_does_after_it(engine, tmp_path):
    one, other = (run(tmp_path / name, "--engine", name, "--steps", "8") for name in ("tensor", engine))
    assert all(np.allclose(one[name], other[name], rtol=1e-8, atol=1e-11) for name in one)


@pytest.mark.long
@pytest.mark.in_jax
def test_two_devices_learn_what_one_does(tmp_path):
    flags = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    words = [*TINY, "--engine", "jax", "--steps", "4"]
    command = [sys.executable, str(ROOT / "demos" / "microgpt.py"), *words, "--devices", "2", "--out", str(tmp_path)]
    subprocess.run(command, env=flags, check=True, capture_output=True, timeout=300)
    two, one = load(tmp_path / gpt.FILE), run(tmp_path / "one", "--engine", "jax", "--steps", "4")
    assert all(np.allclose(one[name], two[name], rtol=1e-9, atol=1e-12) for name in one)


def stopped_at(step, monkeypatch):
    """Have Ctrl-C pressed in that step, and the run saved every two."""
    make, calls = gpt.learner, []

    def learner_with_a_stop(model, options):
        trained, optimizer, learn_from = make(model, options)

        def learn_or_stop(batch):
            calls.append(batch)
            if len(calls) == step + 1:
                raise KeyboardInterrupt
            return learn_from(batch)

        return trained, optimizer, learn_or_stop

    monkeypatch.setattr(gpt, "learner", learner_with_a_stop)
    monkeypatch.setattr(gpt, "OFTEN", 2)


# ---------------------------------------------------------------------------------------------------------------------
# The exam


def test_bigram_is_the_share_that_a_pair_of_letters_had():
    data, unseen = ["ab", "ac"], ["ab"]
    shares = [2.1 / 4.7, 1.1 / 4.7, 1.1 / 3.7]  # of .a, ab and b. with a tenth for each of the 27 pairs
    assert gpt.bigram_loss(data, unseen) == pytest.approx(-np.log(shares).mean())


def test_temperature_near_zero_makes_up_the_likeliest_name():
    cold = {gpt.make_up(model(), 1e-6, np.random.default_rng(seed)) for seed in range(3)}
    warm = {gpt.make_up(model(), 1.0, np.random.default_rng(seed)) for seed in range(10)}
    assert len(cold) == 1
    assert len(warm) > 5
    assert max(map(len, warm | cold)) <= gpt.PLACES


def test_player_folds_the_loss_of_a_name_by_block_head_and_neuron(tmp_path):
    page = tmp_path / "pages" / "gpt.html"
    run(tmp_path, "--steps", "1", "--player", str(page))
    text = json.dumps(embedded(page.read_text(encoding="utf-8")), separators=(",", ":"))
    assert all(f'"{name}' in text for name in ("ValueBlock", "Head #2", "LinearNeuron(4) #1", "loss"))


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be


def test_file_that_holds_something_else_is_no_run(tmp_path, capsys):
    save({"weight": np.zeros(3)}, tmp_path / gpt.FILE)
    with pytest.raises(SystemExit):
        gpt.main(["--resume", "--out", str(tmp_path)])
    assert "there is no run to resume" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------------------
# The one to be read


def test_one_without_options_is_short_and_the_same_model(capsys):
    source = (ROOT / "demos" / "microgpt_short.py").read_text(encoding="utf-8")
    lines = len(source.splitlines())
    assert lines <= 200
    assert all(
        f"{lines} lines" in (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "demos/README.md")
    )
    short = {"__name__": "microgpt_short"}
    exec(source.replace("STEPS, BATCH, RATE = 1337, 3000, 32", "STEPS, BATCH, RATE = 1337, 60, 8"), short)
    out = capsys.readouterr().out
    losses = [float(x) for x in re.findall(r"step +\d+: (\d\.\d+) nats", out)]
    assert len(losses) == 10
    assert losses[-1] < losses[0] - 0.2
    assert re.search(r"On unseen names: \d\.\d{3} nats per letter \(a table of letter pairs: \d\.\d{3}\)", out)
    assert len(re.findall(r"[A-Z][a-z]*", out.partition("learn from:\n")[2])) == 20
    long = gpt.TensorGPT(short["WIDTH"], short["HEADS"], short["LAYERS"], np.random.default_rng(0))
    long.load_state_dict({name.replace("attention.", ""): x for name, x in short["model"].state_dict().items()})
    batch = ["ada", "christopher"]
    with no_grad():
        losses = [short["loss_of"](*short["numbered"](batch)).item(), long.loss(*gpt.padded(batch)).item()]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
