"""What a demo refuses in one sentence: a wrong option, a folder that cannot be made, a machine that lacks a package."""

import sys
from functools import cache

import pytest
from demo_helpers import DEMOS, check_that_it_names_what_is_missing, demo_module

if str(DEMOS) not in sys.path:
    sys.path.append(str(DEMOS))  # as for a script: many_workers.py imports the demo beside it
demo = cache(demo_module)

WRONG = [
    ("moons", "--steps 0", "--steps must be at least 1, found 0"),
    ("moons", "--seed -1", "--seed must be from 0 to 4294967295, found -1"),
    ("moons", "--data suns", "invalid choice: 'suns'"),
    ("moons", "--steps many", "invalid int value: 'many'"),
    ("digits", "--epochs 0", "--epochs must be at least 1, found 0"),
    ("digits", "--seed -1", "--seed must be from 0 to 4294967295, found -1"),
    ("digits", "--epochs many", "invalid int value: 'many'"),
    ("linear_regression", "--seed -1", "--seed must not be below 0, found -1"),
    ("microgpt", "--steps 0", "--steps must be above 0, found 0"),
    ("microgpt", "--temperature nan", "--temperature must be above 0, found nan"),
    ("microgpt", "--seed -1", "--seed must be above 0, found -1"),
    ("microgpt", "--width 18", "--width must be 2, 3, 4 ... times --heads, 4; found 18"),
    ("microgpt", "--width 4", "--width must be 2, 3, 4 ... times --heads, 4; found 4"),
    ("microgpt", "--engine steam", "invalid choice: 'steam'"),
    ("microgpt", "--devices 2", "--devices is for --engine jax, found --engine tensor"),
    ("microgpt", "--engine jax --devices 3", "--batch must be a multiple of --devices, found 32 names for 3"),
    ("microgpt", "--resume", "there is no run to resume in "),
    ("many_workers", "--workers 0", "--workers must be above 0, found 0"),
    ("many_workers", "--rate nan", "--rate must be above 0, found nan"),
    ("many_workers", "--shards -1", "--shards must be above 0, found -1"),
    ("many_workers", "--width 30", "--width must be a multiple of --heads, 4; found 30"),
    ("many_workers", "--workers 1 --batch 3 --shards 4", "A batch of 3 names is too small"),
    ("many_workers", "--workers 2 --shards 3", "3 shards cannot be dealt to 2 workers evenly"),
    ("many_workers", "--resume", "there is no run to resume in "),
]


@pytest.mark.parametrize(("name", "words", "message"), WRONG)
def test_wrong_option_is_refused(name, words, message, tmp_path, capsys):
    out = [] if name == "linear_regression" else ["--out", str(tmp_path)]
    with pytest.raises(SystemExit) as stop:
        demo(name).main([*words.split(), *out])
    assert message in f"{stop.value.code} {capsys.readouterr().err}"


@pytest.mark.parametrize(
    ("name", "option"), [("moons", "--out"), ("digits", "--out"), ("microgpt", "--out"), ("microgpt", "--player")]
)
def test_folder_that_cannot_be_made_is_said_before_learning(name, option, tmp_path):
    (tmp_path / "file").write_text("a file")
    with pytest.raises(SystemExit, match=r"(cannot|can) be left in .*file.* Choose (a|another) folder"):
        demo(name).main(["--out", str(tmp_path), option, str(tmp_path / "file" / "page.html")])


PACKAGES = {
    "moons": "matplotlib tqdm micrograd",
    "digits": "matplotlib sklearn tqdm micrograd",
    "linear_regression": "numpy micrograd",
    "microgpt": "names tqdm micrograd",
    "many_workers": "names micrograd",
}


@pytest.mark.parametrize(("name", "package"), [(name, each) for name in PACKAGES for each in PACKAGES[name].split()])
def test_missing_package_is_named_with_the_command_that_installs_it(name, package, monkeypatch, capfd):
    monkeypatch.delitem(sys.modules, "microgpt", raising=False)
    check_that_it_names_what_is_missing(DEMOS / f"{name}.py", package, monkeypatch, capfd)
