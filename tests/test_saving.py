"""Files of weights: what goes in comes out, in PyTorch too; what is damaged raises and changes nothing."""

import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from micrograd import nn
from micrograd.saving import load, save
from micrograd.tensor import Tensor


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def network(seed=0, dtype=None):
    rng = np.random.default_rng(seed)
    return nn.Sequential(nn.Linear(3, 4, dtype=dtype, rng=rng), nn.ReLU(), nn.Linear(4, 2, dtype=dtype, rng=rng))


def test_a_network_comes_back_bit_by_bit(path):
    model, twin = network(0), network(1)
    save(model, path)
    state = load(path, into=twin)
    assert set(state) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert all((a == b).all() for a, b in zip(model.parameters(), twin.parameters(), strict=True))


def test_a_network_of_values_comes_back_bit_by_bit(path):
    model, twin = (nn.MLP(3, [4, 1], rng=random.Random(seed)) for seed in (0, 1))
    save(model, path)
    load(path, into=twin)
    assert [p.data for p in model.parameters()] == [p.data for p in twin.parameters()]


def test_running_statistics_are_saved_too(path):
    model, twin = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    model(np.array([[1.0, 2.0], [3.0, 5.0]]))
    save(model, path)
    load(path, into=twin)
    assert twin.running_mean.tolist() == model.running_mean.tolist() == [0.2, 0.35000000000000003]
    assert twin.num_batches_tracked.item() == 1


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
def test_every_dtype_and_shape_comes_back(dtype, shape, path):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    save({"x": array}, path)
    back = load(path)["x"]
    assert back.dtype == np.dtype(dtype).newbyteorder("=")
    assert back.shape == shape
    assert (back == array).all()


def test_arrays_that_are_not_contiguous_come_back_as_they_look(path):
    array = np.arange(12.0).reshape(3, 4)
    state = {"turned": array.T, "every other": array[:, ::2], "backwards": array[::-1], "wide": np.broadcast_to(1.0, 3)}
    save(state, path)
    assert all((load(path)[name] == x).all() for name, x in state.items())


def test_a_state_may_hold_tensors_lists_and_numbers_with_any_names(path):
    save({"t": Tensor([1.0], requires_grad=True) * 2, "l": [1, 2], "n": 3.5, "ü/λ \n": np.ones(1)}, path)
    assert {name: x.tolist() for name, x in load(path).items()} == {"t": [2.0], "l": [1, 2], "n": 3.5, "ü/λ \n": [1.0]}


def test_what_is_loaded_may_be_written_to(path):
    save({"x": np.zeros(2)}, path)
    x = load(path)["x"]
    x += 1
    assert x.tolist() == [1.0, 1.0]
    assert load(path)["x"].tolist() == [0.0, 0.0]


def test_an_empty_state_is_a_state(path):
    save(nn.ReLU(), path)
    assert load(path, into=nn.ReLU()) == {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pytorch_reads_what_is_saved_and_what_pytorch_saves_is_read(dtype, path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file as torch_load
    from safetensors.torch import save_file as torch_save

    ours = network(dtype=dtype)
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    theirs = theirs.to(getattr(torch, np.dtype(dtype).name))
    save(ours, path)
    theirs.load_state_dict(torch_load(path), strict=True)
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(dtype)
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    assert ours(x).detach().data == pytest.approx(expected, rel=1e-5 if dtype is np.float32 else 1e-12)

    twin = network(1, dtype)
    torch_save(theirs.state_dict(), path)
    load(path, into=twin)
    assert all((a == b).all() for a, b in zip(ours.parameters(), twin.parameters(), strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# What is damaged, or does not fit


def test_a_file_cut_short_anywhere_raises_and_changes_nothing(path):
    model = nn.Linear(2, 1)
    before = model.state_dict()
    save(nn.Linear(2, 1), path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"model.safetensors cannot be read"):
            load(path, into=model)
    assert all((model.state_dict()[name] == x).all() for name, x in before.items())


def test_a_file_with_any_byte_altered_raises_or_gives_the_same(path):
    model = nn.Linear(2, 1)
    save(model, path)
    whole = path.read_bytes()
    state, raised = load(path), 0
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        try:
            found = load(path)
        except ValueError:
            raised += 1
        else:
            assert all((found[name] == x).all() for name, x in state.items())
            assert found.keys() == state.keys()
    assert raised > len(whole) - 20


def test_numbers_that_were_altered_are_told_by_their_hash(path):
    model = nn.Linear(2, 1)
    save(model, path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    before = model.state_dict()
    with pytest.raises(ValueError, match="is damaged: its content is not what its SHA-256 says"):
        load(path, into=model)
    assert (model.state_dict()["weight"] == before["weight"]).all()


def test_a_file_without_a_hash_is_taken_as_it_is(path):
    save_file({"x": np.ones(2)}, path)
    assert load(path)["x"].tolist() == [1.0, 1.0]


def test_the_hash_stands_in_the_metadata(path):
    save({"x": np.ones(2)}, path)
    with safe_open(path, framework="np") as file:
        assert len(file.metadata()["sha256"]) == 64
    assert load_file(path)["x"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"weight": np.zeros((2, 3))}, "bias is missing"),
        ({"weight": np.zeros((2, 3)), "bias": np.zeros(2), "x": np.zeros(1)}, "x is unexpected"),
        ({"weight": np.zeros((3, 2)), "bias": np.zeros(2)}, r"weight has shape \(3, 2\), not \(2, 3\)"),
        ({"weight": np.zeros((2, 3)), "bias": np.zeros(2, bool)}, "bias has dtype bool"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(state, message, path):
    save(state, path)
    linear = nn.Linear(3, 2)
    before = linear.state_dict()
    with pytest.raises(ValueError, match=message):
        load(path, into=linear)
    assert all((linear.state_dict()[name] == x).all() for name, x in before.items())


def test_a_pickle_is_refused_unread(path):
    class Bomb:
        def __reduce__(self):
            return (os.abort, ())

    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match="cannot be read as safetensors"):
        load(path)


def test_numbers_that_numpy_does_not_have_are_refused(path):
    header = b'{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(ValueError, match=r"cannot be read as safetensors.*bfloat16"):
        load(path)


def test_a_missing_file_is_that_and_a_folder_is_that(path):
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(OSError, match=r"irectory|denied"):
        load(path.parent)


# ---------------------------------------------------------------------------------------------------------------------
# The writing itself


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    save({"x": np.zeros(2)}, path)

    def fail(*_):
        raise OSError("the disk is full")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="the disk is full"):
                save({"x": np.ones(2)}, path)
        assert load(path)["x"].tolist() == [0.0, 0.0]
        assert os.listdir(path.parent) == [path.name]


def test_a_save_replaces_the_file_at_once(path, monkeypatch):
    save({"x": np.zeros(2)}, path)
    seen = []
    replace = os.replace
    monkeypatch.setattr(
        os, "replace", lambda a, b: (seen.append((a.parent, load(a), load(b))), replace(a, b))
    )  # fmt: skip
    save({"x": np.ones(2)}, path)
    ((folder, new, old),) = seen
    assert folder == path.resolve().parent
    assert (new["x"].tolist(), old["x"].tolist()) == ([1.0, 1.0], [0.0, 0.0])
    assert os.listdir(path.parent) == [path.name]


def test_a_path_may_be_a_string_relative_or_a_link(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    save({"x": np.ones(1)}, "model.safetensors")
    assert load("model.safetensors")["x"].tolist() == [1.0]
    link = path.with_name("latest")
    try:
        link.symlink_to(path)
    except OSError:
        pytest.skip("no links here")
    save({"x": np.zeros(1)}, link)
    assert link.is_symlink()
    assert load(path)["x"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ([1, 2], TypeError, "takes a module or a dict of arrays by name, found list"),
        ({1: np.ones(1)}, ValueError, "found the name 1"),
        ({"__metadata__": np.ones(1)}, ValueError, "the format's own"),
        ({"x": np.ones(1, complex)}, TypeError, "x has dtype complex128"),
        ({"x": np.array(["a"])}, TypeError, "x has dtype <U1"),
        ({"x": None}, TypeError, "x has dtype object"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_before_anything_is_written(source, error, message, path):
    with pytest.raises(error, match=message):
        save(source, path)
    assert not list(path.parent.iterdir())


def test_only_a_module_can_be_filled(path):
    save({"x": np.ones(1)}, path)
    with pytest.raises(TypeError, match="fills a module, found dict"):
        load(path, into={})


def test_safetensors_is_imported_only_by_who_saves_or_loads():
    code = "import sys, micrograd.saving; sys.exit('safetensors' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)
