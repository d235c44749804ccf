"""What the GPT page trains, in Node: the exported step, its list of words, and what it says of a beginning."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SITE = Path(__file__).parent.parent.parent / "site"
pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="no Node: apt install nodejs")


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The folder of gpt.js and read.js, as the site is built."""
    folder = tmp_path_factory.mktemp("gpt")
    command = [sys.executable, str(SITE / "gpt.py"), str(folder)]
    subprocess.run(command, check=True, timeout=300, env={"PYTHONPATH": str(SITE.parent)})
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def in_node(modules, script):
    """What a function body returns; `names` is a model that has begun with six words."""
    (modules / "main.js").write_text(
        f"""import * as own from {json.dumps((SITE / "live" / "names.js").as_uri())};
        import * as learner from "./gpt.js";
        import * as reader from "./read.js";
        import {{readFileSync}} from "fs";
        const settings = JSON.parse(readFileSync("gpt.json"));
        const names = new own.Names(learner, reader, settings);
        const mean = list => list.reduce((a, b) => a + b) / list.length;
        names.begin(["anna", "hannah", "nina", "ian", "naomi", "mia"]);
        console.log(JSON.stringify((() => {{ {script} }})()));"""
    )
    done = subprocess.run(["node", "main.js"], cwd=modules, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_names_are_learned_and_training_begins_again_as_it_was(modules):
    first, last, made, again = in_node(
        modules,
        "const first = names.go(200), made = names.make(20, .5), last = names.go(100);"
        "names.begin(['anna', 'hannah', 'nina', 'ian', 'naomi', 'mia']);"
        "return [first, mean(last), names.go(0).concat(made), names.go(200)];",
    )
    assert first[0] == pytest.approx(3.4, abs=0.4)  # log 30, of a model that knows nothing
    assert last < 1
    assert sum(word["known"] for word in made) > 10
    assert again == first


def test_probabilities_after_a_beginning_are_numpys(modules):
    """The chances at a temperature, and the shares of each head, which do not look ahead."""
    found = in_node(modules, "names.go(20); return [names.look('han', 2), learner.state(), settings.letters];")
    look, state, letters = found
    sys.path.insert(0, str(SITE))
    import gpt
    import numpy as np

    from micrograd import no_grad

    model = gpt.GPT(np.random.default_rng(0))
    for k, p in enumerate(model.parameters()):
        p.data = np.array(state[f"p{k}"])
    numbers = np.zeros((1, gpt.PLACES), int)
    numbers[0, 1:4] = [letters.index(letter) for letter in "han"]
    with no_grad():
        scores, shares = model(numbers)
        wanted = (scores[0, 3] / 2).softmax().numpy()
    assert look["chances"] == pytest.approx(wanted.tolist(), rel=1e-9)
    assert np.array(look["heads"]) == pytest.approx(shares.numpy()[0, :, :4, :4], rel=1e-9)
    assert np.triu(np.array(look["heads"]), 1).max() == 0


def test_temperature_near_0_draws_the_likeliest_letter_and_one_word_again_and_again(modules):
    cold, hot = in_node(modules, "names.go(60); return [names.make(12, .05, 'na'), names.make(30, 2)];")
    assert len({word["text"] for word in cold}) == 1
    assert cold[0]["text"].startswith("na")
    assert len({word["text"] for word in hot}) > 15
    assert all(len(word["text"]) < 16 for word in hot)


def test_words_are_read_from_lines_and_commas_and_others_are_named(modules):
    found = in_node(
        modules, "return own.wordsOf(' Zoë,  Saint-Malo\\n\\nl’été\\nR2D2, mia\\nabcdefghijklmnop\\n, \\n', settings);"
    )
    assert found["words"] == ["zoe", "saint-malo", "l'ete", "mia"]
    assert [bad["line"] for bad in found["bad"]] == [4, 5]
    assert "has the letter 2" in found["bad"][0]["why"]
    assert "more than 15 letters" in found["bad"][1]["why"]


def test_our_names_can_all_be_learnt(modules):
    text = (SITE / "live" / "names.txt").read_text(encoding="utf-8")
    found = in_node(modules, f"return own.wordsOf({json.dumps(text.replace(' ', ','))}, settings);")
    assert found["bad"] == []
    assert len(set(found["words"])) == len(found["words"]) > 300


def test_map_of_letters_shows_the_two_directions_in_which_they_differ_most(modules):
    import numpy as np

    vectors, places, again = in_node(
        modules,
        "names.go(50); const first = names.map(); names.go(1);"
        "return [learner.state().p0, first.places, names.map().places];",
    )
    vectors, places = np.array(vectors), np.array(places)
    centred = vectors - vectors.mean(0)
    assert np.sum(places**2) == pytest.approx(np.sum(np.linalg.svd(centred)[1][:2] ** 2), rel=0.02)
    assert abs(np.sum(places[:, 0] * places[:, 1])) < 0.05 * np.sum(places**2)
    assert np.abs(np.array(again) - places).max() < 0.2  # it does not turn over


def test_letter_that_is_moved_lies_there_and_other_names_come(modules):
    before, after, made, others = in_node(
        modules,
        "names.go(60); const {places, axes, vectors} = names.map(), made = names.make(20, .1, 'h');"
        "const moved = vectors[1].map((x, i) => x + 2 * axes[0][i] - axes[1][i]);"
        "names.put('a', moved); return [places[1], names.map().places[1], made, names.make(20, .1, 'h')];",
    )
    assert after == pytest.approx([before[0] + 2, before[1] - 1], abs=1e-9)
    assert made != others


def test_leaves_of_a_letters_loss_give_that_loss(modules):
    """The graph that the player shows, in Python, with the numbers that the page sends to it."""
    found = in_node(
        modules, "names.go(40); return [names.leaves('han', 'n'), names.look('han').chances, settings.leaves];"
    )
    leaves, chances, kinds = found
    sys.path.insert(0, str(SITE))
    import gpt
    import numpy as np

    model = gpt.GPT(np.random.default_rng(0))
    _, given = model.letter()
    parameters = list(model.parameters())
    for kind, leaf in zip(kinds, leaves, strict=True):
        if kind is not None:
            tensor = given[kind] if isinstance(kind, str) else parameters[kind]
            numbers = [-np.inf if x is None else x for x in leaf]  # JSON has no infinity
            tensor.data = np.array(numbers).reshape(tensor.shape)
    again, _ = model.letter(given)
    assert again.data == pytest.approx(-np.log(chances[gpt.LETTERS.index("n")]), rel=1e-9)
