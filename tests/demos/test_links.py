"""Every link of every lesson is followed, in a Jupyter that is started as `make lessons` starts it."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

pytestmark = pytest.mark.lessons

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "demos" / "lessons"
MAKES = re.search(r"^\t\$\(BIN\)/jupyter lab (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def prose(path):
    """The text of all cells of a notebook that are no code."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def links():
    """Each link of a lesson that leads to a file, with the heading that it leads to, if any."""
    for path in sorted(LESSONS.glob("*.ipynb")):
        for link in re.findall(r"\]\(((?!https?:)[^)\s]+)\)", prose(path)):
            yield path.name, *link.partition("#")[::2]


def anchors(path):
    """The places of a page that a link can name, as code hosts make them from headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory):
    """A Jupyter with the options that make gives it, but without a browser; gives its port."""
    pytest.importorskip("jupyter_server")
    options = shlex.split(MAKES[1].replace("$(CURDIR)", str(ROOT)).replace("$(ARGS)", ""))
    options = [option for option in options if option.startswith("--")]
    home = tmp_path_factory.mktemp("jupyter")
    names = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    env = {**os.environ, **{name: str(home / name.lower()) for name in names}}
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={port}", *options]
    open_to_all = ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", "--ServerApp.password="]
    server = subprocess.Popen(
        [*command, *open_to_all],
        cwd=LESSONS,  # which is its root if make names no other
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 120
        while server.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=2).close()
                break
            except OSError:
                time.sleep(0.2)
        yield port
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def answer(port, path):
    """The status with which the server answers for a file that is asked for from its own page."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", f"/files/{quote(path)}", headers={"Referer": f"http://127.0.0.1:{port}/lab"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_jupyter_has_the_file_that_each_link_of_each_lesson_leads_to(jupyter):
    wanted = {}
    for lesson, file, _ in links():
        wanted.setdefault(os.path.normpath(f"demos/lessons/{file or lesson}"), set()).add(lesson)
    assert len(wanted) > 40
    assert {path: lessons for path, lessons in wanted.items() if answer(jupyter, path) != 200} == {}


def test_heading_that_a_link_of_a_lesson_names_is_there():
    named = [(lesson, file, anchor) for lesson, file, anchor in links() if anchor]
    missing = [place for place in named if place[2] not in anchors((LESSONS / place[1]).resolve())]
    assert missing == []
