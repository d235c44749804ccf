"""A player saved as a moving picture, and drawings as PNG."""

import os
import pathlib
import re

import pytest
from demo_helpers import take_away
from drawn_graphs import neuron, square, turning

from micrograd import Value, draw_dot, viz
from micrograd.viz import animate, player

image = pytest.importorskip("PIL.Image")
pytest.importorskip("resvg_py")


def frames(path):
    with image.open(path) as film:
        for k in range(film.n_frames):
            film.seek(k)
            yield film.convert("RGB").tobytes(), film.info["duration"]


def test_gif_has_a_picture_for_each_step_and_rests_at_the_last(tmp_path):
    path = player(neuron()).save(tmp_path / "neuron.gif", seconds=0.5)
    shown = list(frames(path))
    assert len(shown) == 13
    assert len({pixels for pixels, _ in shown}) == 13
    assert [duration for _, duration in shown] == [500] * 12 + [1500]


GIF = "a GIF needs resvg-py and pillow, which are"
PIP, PLOT = "pip install resvg-py", "pip install matplotlib"


@pytest.mark.parametrize(
    ("save", "name", "missing", "what", "install"),
    [
        (lambda path: player(square()).save(path), "a.gif", "PIL", GIF, f"{PIP} pillow"),
        (lambda path: player(square()).save(path), "a.gif", "resvg_py", GIF, f"{PIP} pillow"),
        (lambda path: turning(2).gif(path), "a.gif", "resvg_py", GIF, f"{PIP} pillow"),
        (lambda path: player(square()).save(path), "a.mp4", "resvg_py", "a video needs resvg-py, which is", PIP),
        (lambda path: draw_dot(square()).save(path), "x.png", "resvg_py", "a PNG needs resvg-py, which is", PIP),
        (lambda path: viz.plot_loss([1, 2]), "", "matplotlib", "this picture needs matplotlib, which is", PLOT),
        (lambda path: viz.torch(), "", "torch", "viz.torch needs torch, which is", "pip install torch"),
    ],
    ids=["GIF", "GIF without resvg", "movie", "video", "PNG", "plot", "PyTorch"],
)
def test_without_a_package_one_sentence_says_what_to_install(tmp_path, monkeypatch, save, name, missing, what, install):
    take_away(missing, monkeypatch)
    with pytest.raises(ModuleNotFoundError, match=f"^{what} not installed here: {install}$"):
        save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_video_without_ffmpeg_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="needs the program ffmpeg"):
        player(square()).save(tmp_path / "a.mp4")


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
@pytest.mark.parametrize("fails", [False, True])
def test_video_gets_every_picture_and_says_why_it_could_not_be_written(tmp_path, monkeypatch, fails):
    """A stand-in for ffmpeg, which counts the bytes that it is given."""
    program = tmp_path / "ffmpeg"
    said = "echo no such codec >&2; exit 1" if fails else 'cat > "$last"'
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given\nfor last; do :; done\n{said}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    made = player(square())
    if fails:
        with pytest.raises(RuntimeError, match=r"could not write a\.mp4: no such codec"):
            made.save(tmp_path / "a.mp4")
        return
    path = made.save(tmp_path / "a.mp4", seconds=0.5)
    assert "-framerate 2 " in (tmp_path / "given").read_text()
    assert path.read_bytes().count(b"\x89PNG\r\n") == 5 + 2


def test_long_label_does_not_take_the_operands_away():
    a, b = Value(2.0, label="the weight of the first input"), Value(3.0, label="what comes from outside of it all")
    out = a * b
    out.label = "o"
    assert re.search("Forward: o = the we.{1,5}put \u00d7 what c.{1,5}all", animate(out).svg)


def test_drawing_is_saved_as_a_png_without_graphviz(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = draw_dot(neuron()).save(tmp_path / "deep" / "x.png")
    with image.open(path) as picture:
        assert picture.size == tuple(
            2 * round(float(x)) for x in re.search(r'width="(\S+)" height="(\S+)"', draw_dot(neuron()).svg()).groups()
        )
        assert len(picture.convert("RGB").getcolors(1_000_000)) > 50  # it is no empty sheet
    assert draw_dot(neuron()).save(tmp_path / "x.svg") == str(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == draw_dot(neuron()).svg()
    assert "digraph" in pathlib.Path(draw_dot(neuron()).save(tmp_path / "x.gv")).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["a.html", "a.gif", "a.svg"])
def test_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch, name):
    def half(*_, **__):
        raise OSError("no space left")

    path = tmp_path / name
    picture = animate(neuron()) if name == "a.svg" else player(square())
    picture.save(path)
    path.chmod(0o600)
    before, mode = path.read_bytes(), path.stat().st_mode
    picture.save(path)
    assert path.stat().st_mode == mode
    monkeypatch.setattr("os.replace", half)
    with pytest.raises(OSError, match="no space left"):
        picture.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
