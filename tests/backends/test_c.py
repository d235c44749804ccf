"""The C back end: its source, its cache of libraries, and what it says when it cannot."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from compile_helpers import IN_C, same

import micrograd
from micrograd import Value, nn
from micrograd.backends import c, libraries
from micrograd.compiler.graph import Graph
from micrograd.compiler.lowered import Lowered, Read


@IN_C
def test_source_in_c_names_each_step_and_its_shape():
    f = micrograd.compile(lambda x: (x.exp() * 2).sum(), backend="c")
    f(np.ones((2, 3)))
    assert "= exp(x[i]);  // exp (2, 3)" in f.source


@IN_C
def test_small_network_of_values_is_loops_and_a_formula_is_lines():
    model, points = nn.MLP(2, [4, 1], rng=random.Random(0)), np.random.default_rng(0).normal(size=(10, 2))
    loss = lambda points: sum(model(x) ** 2 for x in points)  # noqa: E731
    f = micrograd.compile(loss, scalars=True, backend="c")
    same([f(points).data], [loss(points.tolist()).data])
    assert len(f.source) < 10_000
    g = micrograd.compile(lambda x: x * x + x, backend="c")
    g(2.0)
    assert "for (" not in g.source


@IN_C
def test_programs_that_differ_in_the_numbers_of_constants_have_one_source():
    """And so one library; equal constants are one."""
    x, numbers = np.ones(20), np.arange(20.0)
    f = micrograd.compile(lambda x: [x * numbers, x + numbers.copy()], backend="c")
    g = micrograd.compile(lambda x: [x * (numbers + 1), x + (numbers + 1)], backend="c")
    same([y.data for y in f(x)], [x * numbers, x + numbers])
    same([y.data for y in g(x)], [x * (numbers + 1), x + (numbers + 1)])
    assert f.source == g.source
    assert "k2" not in f.source


@IN_C
def test_arrays_may_lie_elsewhere_in_each_call_and_in_any_order():
    f = micrograd.compile(lambda x: (x * 2.0).sum(0), backend="c")
    x = np.arange(24.0).reshape(4, 6)
    for part in (x, x[:, ::-1], x.copy(), x[::-1], np.asfortranarray(x), x, np.stack([x, x], 2)[..., 0]):
        np.testing.assert_array_equal(f(part).data, (part * 2.0).sum(0))


@IN_C
def test_element_that_is_set_more_than_once_is_the_last_in_the_order_of_the_index():
    """A loop over the axes in the order of the memory would set them in another one."""
    graph = Graph()
    a, b = (graph.input(name, shape, np.dtype(float)) for name, shape in (("a", (3,)), ("b", (9, 7))))
    index = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    program = Lowered(("a", "b"), (Read("a", "a"), Read("b", "b")), [graph.make("setitem", (a, index, b.T[:3, :3]))])
    given = np.zeros(3), np.arange(63.0).reshape(9, 7)
    np.testing.assert_array_equal(c.compile(program)(*given), program.run(*given))


# ---------------------------------------------------------------------------------------------------------------------
# Compilers, and the cache


def test_without_a_compiler_c_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(libraries, "_find_compiler", lambda *_: [])
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(RuntimeError, match=r"apt install.*xcode-select.*pip install ziglang.*default .* needs none"):
        micrograd.compile(lambda x: x * x, backend="c")(Value(2.0))


def test_wrong_cc_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no-such-compiler"):
        micrograd.compile(lambda x: x * x, backend="c")(Value(2.0))


@IN_C
def test_compiler_that_fails_shows_its_first_line_and_the_source(cache: Path):
    with pytest.raises(RuntimeError, match=r"(?s)failed: .*error.*The source is (\S+\.c)") as caught:
        libraries.compiled("this is no C;", ("-O0",))
    assert Path(str(caught.value).split("The source is ")[1]).read_text() == "this is no C;"


def test_compiler_of_the_package_ziglang_is_found_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(libraries.shutil, "which", lambda _: None)
    monkeypatch.delenv("CC", raising=False)
    libraries._find_compiler.cache_clear()
    try:
        assert libraries.compiler() == [sys.executable, "-m", "ziglang", "cc"]
    finally:
        libraries._find_compiler.cache_clear()


@IN_C
def test_float16_is_refused_by_name():
    f = micrograd.compile(lambda x: x * 2, backend="c")
    with pytest.raises(RuntimeError, match=r"backend='c' has no float16: use numpy"):
        f(np.ones(3, np.float16))


@IN_C
def test_labels_and_names_do_not_reach_the_text_of_c():
    x = Value(2.0, label='"); system("true"); //')
    f = micrograd.compile(eval("lambda système, int_: x * système + int_", {"x": x}), backend="c")
    assert f(3.0, 1.0).data == 7.0
    assert f.source.isascii()
    assert "system" not in f.source


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "micrograd"


SOURCE = "#include <stdint.h>\nint64_t program(void **at) { return 7; }\n"


@IN_C
def test_library_is_compiled_once_for_its_source_and_flags(cache: Path):
    assert libraries.cached(SOURCE, ("-O0",)) is None
    assert libraries.compiled(SOURCE, ("-O0",)).program() == 7
    assert libraries.cached(SOURCE, ("-O0",)).program() == 7
    assert libraries.cached(SOURCE, ("-O1",)) is None
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


@IN_C
def test_cache_that_others_may_write_to_is_not_used(cache: Path):
    cache.mkdir()
    cache.chmod(0o777)
    assert libraries.compiled(SOURCE, ("-O0",)).program() == 7
    assert not [*cache.iterdir()]


@IN_C
def test_cache_that_cannot_be_written_gives_way_to_a_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert libraries.compiled(SOURCE, ("-O0",)).program() == 7


@IN_C
def test_library_that_is_damaged_is_compiled_again_from_the_source_as_it_was(cache: Path):
    libraries.compiled(SOURCE, ("-O0",))
    (source,), (library,) = cache.glob("*.c"), cache.glob("*.so")
    half = library.read_bytes()[:100]
    library.unlink()  # this process has the file in memory, and would die at its end if it were cut
    library.write_bytes(half)
    source.write_text(SOURCE.replace("7", "8"))
    assert libraries.cached(SOURCE, ("-O0",)) is None
    assert libraries.compiled(SOURCE, ("-O0",)).program() == 7
    assert source.read_text() == SOURCE


@IN_C
def test_processes_that_compile_one_program_at_once_each_have_the_whole(cache: Path):
    script = f"""if True:
        from micrograd.backends import libraries
        for i in range(3):
            source = {SOURCE!r} + f"// {{i}}"
            library = libraries.cached(source, ("-O0",)) or libraries.compiled(source, ("-O0",))
            assert library.program() == 7
    """
    running = [subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for _ in range(4)]
    assert [(process.communicate()[1].decode(), process.returncode) for process in running] == [("", 0)] * 4
    assert len([*cache.glob("*.so")]) == 3
    assert not [*cache.glob("making-*")]


@IN_C
def test_cache_is_bounded(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(libraries, "MOST", 2)
    for i in range(4):
        libraries.compiled(SOURCE + f"// {i}\n", ("-O0",))
        os.utime(max(cache.glob("*.so"), key=lambda p: p.stat().st_mtime), (i, i))
    assert len([*cache.glob("*.so")]) <= 2


@IN_C
def test_program_that_is_called_often_is_compiled_again_for_speed(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MICROGRAD_CFLAGS", raising=False)
    f = micrograd.compile(lambda x: (x * x).sum(), backend="c")
    found = [f(np.arange(4.0)).item()]
    library = f.program.code.library
    first = library.call
    found += [f(np.arange(4.0)).item() for _ in range(c.CALLS)]
    for _ in range(600):
        if library.call is not first:
            break
        time.sleep(0.1)
    assert library.call is not first
    assert {*found, f(np.arange(4.0)).item()} == {14.0}
