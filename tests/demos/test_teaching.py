"""What a teacher relies on: an inventory with its key, licences, machines."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from micrograd import Value

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
import course  # noqa: E402

INVENTORY = (ROOT / "docs" / "inventory.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------ the inventory
def answers():
    """The text of the right answer to each question, by its number."""
    key = dict(re.findall(r"^\| (\d+) \| ([A-D]) \|", INVENTORY, re.MULTILINE))
    questions = re.split(r"^\*\*(\d+)\.\*\*", INVENTORY.partition("## Key")[0], flags=re.MULTILINE)[1:]
    asked = dict(zip(questions[::2], questions[1::2], strict=True))
    assert [*asked] == [*key] == [str(number) for number in range(1, 11)]
    options = {number: dict(re.findall(r"^- \(([A-D])\) (.*)", text, re.MULTILINE)) for number, text in asked.items()}
    assert all([*found] == ["A", "B", "C", "D"] for found in options.values())
    return {int(number): options[number][letter] for number, letter in key.items()}


def test_key_of_the_inventory_is_what_the_library_computes():
    right = answers()
    x = Value(3.0)
    (x * x).backward()
    assert float(right[1]) == pytest.approx(0.01 * x.grad)
    a, b = Value(5.0), Value(7.0)
    for number, y in ((2, a * -2 * 4), (3, a * 2 + a), (4, a * b)):
        a.grad = 0.0
        y.backward()
        assert float(right[number]) == a.grad
    assert float(right[9]) == pytest.approx(-Value(0.25).log().data, abs=0.01)


def test_key_says_a_lesson_and_what_wrong_answers_show():
    rows = re.findall(r"^\| \d+ \| ([A-D]) \| .* \| \[(\d+)\]\((.*?)\) \| (.+) \|$", INVENTORY, re.MULTILINE)
    assert len(rows) == 10
    for letter, number, path, shows in rows:
        assert path.endswith(course.LESSONS[int(number)].file)
        assert not re.match(rf"{letter}\b", shows)


# ------------------------------------------------------------------------------------------------ machines
def test_lock_file_has_every_package_of_the_lessons_with_its_hash():
    text = (LESSONS / "requirements.txt").read_text(encoding="utf-8")
    assert not re.search("https?:", text)
    entries = re.split(r"\n(?=\S)", text.strip())
    locked = {re.match(r"([\w.-]+)==\S+", entry)[1] for entry in entries}
    assert all("--hash=sha256:" in entry for entry in entries)
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = {*PROJECT["project"]["dependencies"], *extras["demo"], *extras["demos"]}
    names = {re.match(r"[\w-]+", word)[0] for word in wanted} - {PROJECT["project"]["name"]}
    assert names <= locked


def test_binder_gets_what_is_locked_then_this_checkout_and_a_python_that_is_new_enough():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    packages = re.search(r"- pip:\n(( +- .*\n)+)", text)[1]
    assert packages.split() == ["-", "-r", "demos/lessons/requirements.txt"]
    assert "pip install --no-deps ." in (ROOT / "postBuild").read_text(encoding="utf-8")
    assert os.name == "nt" or os.access(ROOT / "postBuild", os.X_OK)
    given, least = re.search(r"python=3\.(\d+)\n", text)[1], PROJECT["project"]["requires-python"].removeprefix(">=3.")
    assert int(given) >= int(least)


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no checkout of git")
def test_archive_for_colab_has_what_a_lesson_begins_with(tmp_path):
    text = (ROOT / "demos" / "README.md").read_text(encoding="utf-8")
    made = re.search(r"`git (archive --prefix=course/) -o (course\.zip) HEAD`", text)
    unpacked, folder = re.search(r"^!unzip -q -o (\S+)\n%cd (\S+)$", text, re.MULTILINE).groups()
    assert unpacked == made[2]
    archive = ["git", *made[1].split(), "-o", str(tmp_path / made[2]), "HEAD"]
    subprocess.run(archive, cwd=ROOT, check=True, timeout=60)
    shutil.unpack_archive(tmp_path / made[2], tmp_path)
    code = "from check import check; check('1.2', 'down'); import micrograd; print(micrograd.__file__)"
    env = {"PYTHONPATH": str(tmp_path / "course")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / folder, env=env, capture_output=True, encoding="utf-8", timeout=60
    )
    assert done.stdout.startswith("1.2  ✓ right"), done.stderr
    assert str(tmp_path) in done.stdout


# ------------------------------------------------------------------------------------------------ licences, conduct
def test_licence_of_texts_is_said_where_people_look():
    text = (ROOT / "LICENSE-docs").read_text(encoding="utf-8")
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in text
    assert "LICENSE-docs" in PROJECT["project"]["license-files"]
    for page in ("README.md", "CONTRIBUTING.md", "docs/teach.md"):
        assert "CC BY 4.0" in (ROOT / page).read_text(encoding="utf-8"), page
    assert "CC BY" not in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_contact_is_a_setting_that_the_code_of_conduct_names():
    conduct = (ROOT / "CODE_OF_CONDUCT.md").read_text(encoding="utf-8")
    assert "`contact`" in conduct
    assert "`[tool.micrograd]`" in conduct
    contact = PROJECT["tool"]["micrograd"]["contact"]
    assert contact == "" or re.search(r"@|https://", contact)
    assert not re.search(r"\S@\S", conduct)
