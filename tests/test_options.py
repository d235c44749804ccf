"""--help: every script that somebody may run says what it is, describes each option, and does nothing else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INNER = {
    "one_page.py",
    "measure.py",
    "check.py",
    "phone.py",
    "gpt.py",
    "front.py",
    "sources.py",
}  # to read, or started by others
SCRIPTS = sorted(
    path
    for folder in ("demos", "demos/lessons", "docs", "tools", "benchmarks", "site", "tests")
    for path in ROOT.joinpath(folder).glob("*.py")
    if path.name not in INNER
    and (folder == "demos" or re.search(r'^if __name__ == "__main__":', path.read_text(encoding="utf-8"), re.MULTILINE))
)
COMMANDS = {path.relative_to(ROOT).as_posix(): ["path", str(path)] for path in SCRIPTS}
COMMANDS["python -m micrograd"] = ["module", "micrograd", "x**2", "x=3"]

PROBE = """
import argparse, json, runpy, sys

def told(parser, *_, **__):
    print(json.dumps([parser.description, {action.dest: action.help for action in parser._actions}]))
    sys.exit()

argparse.ArgumentParser.parse_known_args = told
_, kind, name, *sys.argv[1:] = sys.argv
sys.path.insert(0, name.rpartition("/")[0] or ".")
{"path": runpy.run_path, "module": runpy.run_module}[kind](name, run_name="__main__")
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_help_describes_each_option_and_nothing_runs_before_it(name):
    command = [sys.executable, "-c", PROBE, *COMMANDS[name]]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, cwd=ROOT, timeout=120)
    if missing := re.search(r"needs (\w+), which is not installed|No module named '(\w+)'", done.stderr):
        pytest.skip(f"no {missing[1] or missing[2]}")
    assert done.stderr == ""
    description, options = json.loads(done.stdout)
    assert description
    said = {option: text.replace("(default: %(default)s)", "") for option, text in options.items()}
    assert [option for option, text in said.items() if len(text.split()) < 2] == []
