"""Drawings, players and movies where notebooks go: exported to HTML and LaTeX, and in JupyterLab, trusted or not."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from late import nbconvert, nbformat, signing

from micrograd import Value, draw_dot
from micrograd.viz import movie, player

from .test_player import READY


def square():
    a = Value(3.0, label="a")
    out = a * a
    out.label = "out"
    return out


def filmed():
    film = movie(lambda p: p[:, 0] - p[:, 1], [[0.0, 1.0], [1.0, 0.0]], [-1, 1], resolution=10, title="A line")
    film.frame(0.5)
    return film


WORDS = "out = a * a: data 9.0000"
OUTPUTS = {
    "player": (lambda: player(square()), WORDS),
    "drawing": (lambda: draw_dot(square()), WORDS),
    "movie": (filmed, "A line: a movie of a decision boundary, 1 frame"),
}


def notebook(*outputs):
    """A notebook whose one cell showed these."""
    bundles = [output._repr_mimebundle_() for output in outputs]
    shown = [nbformat().v4.new_output("display_data", data=bundle) for bundle in bundles]
    return nbformat().v4.new_notebook(cells=[nbformat().v4.new_code_cell("show()", outputs=shown)])


@pytest.mark.parametrize("kind", OUTPUTS)
def test_latex_gets_words_and_needs_no_inkscape(kind, monkeypatch):
    monkeypatch.setenv("PATH", "")
    make, words = OUTPUTS[kind]
    source, _ = nbconvert().LatexExporter().from_notebook_node(notebook(make()))
    assert words in source.replace("\\", "").replace("{}", "")


# ------------------------------------------------------------------------------------------------ JupyterLab
@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a free port, with all that it keeps in a temporary folder; gives its address, and where that is."""
    home = tmp_path_factory.mktemp("lab")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    names = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    env = {**os.environ, **{name: str(home / name.lower()) for name in names}}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    options = [
        "--ServerApp.ip=127.0.0.1",
        "--IdentityProvider.token=",
        "--ServerApp.password=",
        "--ServerApp.port_retries=0",
    ]
    server = subprocess.Popen(
        [*command, *options, f"--ServerApp.root_dir={home}"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(port, server)
        yield address, home, env
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # its kernels too: there is nothing to save, and asking takes long
        server.wait()


def _wait_for(port, server, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
            return
        except OSError:
            if time.monotonic() > end or server.poll() is not None:
                raise
            time.sleep(0.2)


def open_in_lab(page, lab, name, *outputs, trusted):
    address, home, env = lab
    path = home / f"{name}.ipynb"
    path.write_text(json.dumps(notebook(*outputs)), encoding="utf-8")
    if trusted:
        notary = signing().NotebookNotary(data_dir=env["JUPYTER_DATA_DIR"])
        notary.sign(nbformat().read(path, as_version=4))  # `jupyter trust`
    page.resize(1400)
    page.emulate()
    page.driver.get(f"{address}/doc/tree/{path.name}?reset")
    page.wait("document.querySelector('.jp-OutputArea-output img')", 60)


def only_the_server(page, lab):
    """The notebook's page asked its own server, and nobody else."""
    page.driver.get("about:blank")  # it saves its workspace whenever it likes: no request may come after these
    page.console()  # what JupyterLab has to say
    return [url for url in page.requests() if urlsplit(url).netloc != urlsplit(lab[0]).netloc]


def test_trusted_player_plays_in_jupyterlab(page, lab):
    open_in_lab(page, lab, "trusted", player(square()), player(square()), trusted=True)
    page.wait("document.querySelectorAll('.jp-OutputArea iframe').length === 2", 20)
    page.wait(READY, 20)
    assert page.run("return document.querySelector('.jp-OutputArea img').offsetHeight") == 0
    page.run("document.querySelector('.jp-OutputArea iframe').contentDocument.getElementById('first').click()")
    phases = "map(f => f.contentDocument.getElementById('phase').textContent)"
    steps = page.run(f"return [...document.querySelectorAll('.jp-OutputArea iframe')].{phases}")
    assert steps == ["Ready", "Done"]
    assert only_the_server(page, lab) == []


def test_untrusted_player_drawing_and_movie_are_pictures_in_jupyterlab(page, lab):
    open_in_lab(page, lab, "untrusted", player(square()), draw_dot(square()), filmed(), trusted=False)
    pictures = "[...document.querySelectorAll('.jp-OutputArea img')]"
    page.wait(f"{pictures}.length === 3 && {pictures}.every(e => e.complete)", 20)
    assert page.run(f"return {pictures}[0].alt").startswith("Computation graph: 2 nodes")
    wide = page.run(f"return {pictures}.map(e => e.offsetHeight > 50 && e.naturalWidth)")
    assert [width > least for width, least in zip(wide, (50, 50, 500), strict=True)] == [True] * 3
    assert page.count(".jp-OutputArea iframe") == 0
    assert only_the_server(page, lab) == []


TRAINING = """
from micrograd.nn import MLP
from micrograd.viz import watch
film = watch(MLP(2, [4, 1]), [[0.0, 1.0], [1.0, 0.0]], [-1, 1], every=0)
for step in range(5):
    film.frame(1 / (step + 1))
"""


def test_training_is_watched_in_one_cell_and_is_a_movie_afterwards():
    nbclient, new = pytest.importorskip("nbclient"), nbformat().v4
    cells = [new.new_code_cell(source) for source in (TRAINING, "film")]
    seen = []

    class Client(nbclient.NotebookClient):
        def process_message(self, message, cell, cell_index):
            if message["msg_type"] in ("display_data", "update_display_data"):
                seen.append(message["content"]["data"]["text/plain"])
            return super().process_message(message, cell, cell_index)

    Client(made := new.new_notebook(cells=cells), kernel_name="python3").execute()
    assert seen[-1] == "step 4, loss 0.2"
    assert len(seen) >= 5
    watched, shown = [cell.outputs for cell in made.cells]
    assert [output.output_type for output in watched] == ["display_data"]
    assert "5 frames" in shown[0].data["text/plain"]
