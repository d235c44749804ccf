"""A slow drawing says what it does, and leaves nothing behind."""

import io

import pytest

from micrograd.nn import MLP
from micrograd.viz import player, progress


class Cell:
    def __init__(self):
        self.said = []

    def update(self, bundle, raw):
        self.said.append(bundle["text/plain"])


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)


def deep():
    model = MLP(2, [4, 4, 1])
    return sum(model([x, 1.0]) for x in range(4))


def test_a_notebook_s_cell_follows_and_is_empty_at_the_end(monkeypatch, impatient):
    cell = Cell()
    monkeypatch.setattr(progress, "new_cell", lambda text: cell)
    player(deep())
    assert "nodes: the backward pass" in cell.said[0]
    assert sum("nodes: view " in said for said in cell.said) > 3
    assert cell.said[-1] == ""


def test_a_terminal_s_line_is_written_over_and_cleared(monkeypatch, impatient):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    player(deep())
    said = terminal.getvalue().split("\r")
    assert any("nodes: view " in line for line in said)
    assert (said[-1], said[-2].strip()) == ("", "")
    assert "\n" not in terminal.getvalue()
    assert len(said[-2]) >= len(said[-3].rstrip())


def test_a_file_gets_nothing_and_a_quick_drawing_says_nothing(monkeypatch, capsys):
    player(deep())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    player(deep())
    assert capsys.readouterr().err == ""


def test_the_line_is_cleared_after_an_error(monkeypatch, impatient):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    def fails():
        with progress.progress() as say:
            say("half of it")
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert terminal.getvalue().endswith("\r          \r")
