"""--help: every script that somebody may run says what it is, describes each option, and does nothing else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INNER = "one_page.py", "measure.py", "check.py", "phone.py", "gpt.py", "front.py", "sources.py"  # not for users
STARTED = '\nif __name__ == "__main__":'
SCRIPTS = sorted(
    path
    for folder in ("demos", "demos/lessons", "docs", "tools", "benchmarks", "site", "tests")
    for path in ROOT.joinpath(folder).glob("*.py")
    if path.name not in INNER and (folder == "demos" or STARTED in path.read_text(encoding="utf-8"))
)
COMMANDS = {path.relative_to(ROOT).as_posix(): ["path", str(path)] for path in SCRIPTS}
COMMANDS["python -m micrograd"] = ["module", "micrograd", "x**2", "x=3"]

PROBE = """
import argparse, io, json, runpy, sys
from contextlib import redirect_stderr

def told(parser, *_, **__):
    said.append([parser.description, {action.dest: action.help for action in parser._actions}])
    sys.exit()

argparse.ArgumentParser.parse_known_args = told
path, found = list(sys.path), {}
for name, (kind, script, *words) in json.loads(sys.argv[1]).items():
    said, modules, error = [], set(sys.modules), io.StringIO()
    sys.argv, sys.path[:] = [script, *words], [script.rpartition("/")[0] or ".", *path]
    try:
        with redirect_stderr(error):
            {"path": runpy.run_path, "module": runpy.run_module}[kind](script, run_name="__main__")
    except SystemExit as stop:
        error.write(str(stop.code or ""))
    except ModuleNotFoundError as missing:
        error.write(str(missing))
    found[name] = [error.getvalue(), said]
    for other in {*sys.modules} - modules:  # another script has modules of these names
        if str(getattr(sys.modules[other], "__file__", None)).startswith(sys.path[0]):
            del sys.modules[other]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def said():
    """What each script says in one process: what it wrote to stderr, and what it told of its options."""
    command = [sys.executable, "-c", PROBE, json.dumps(COMMANDS)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_describes_each_option_and_nothing_runs_before_it(name, said):
    error, told = said[name]
    if missing := re.search(r"needs (\w+), which is not installed|No module named '(\w+)'", error):
        pytest.skip(f"no {missing[1] or missing[2]}")
    assert error == ""
    [(description, options)] = told
    assert description
    texts = {option: text.replace("(default: %(default)s)", "") for option, text in options.items()}
    assert [option for option, text in texts.items() if len(text.split()) < 2] == []
