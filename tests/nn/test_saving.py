"""Files of weights: what goes in comes out, in PyTorch too; what is damaged raises and changes nothing."""

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from micrograd import Value, nn
from micrograd.nn.saving import load, save
from micrograd.optim import SGD, Adam, AdamW, CosineAnnealingLR, StepLR
from micrograd.tensor import Tensor


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def network(seed=0, dtype=None):
    rng = np.random.default_rng(seed)
    return nn.Sequential(nn.Linear(3, 4, dtype=dtype, rng=rng), nn.ReLU(), nn.Linear(4, 2, dtype=dtype, rng=rng))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
def test_every_dtype_and_shape_comes_back(dtype, shape, path):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    save({"x": array}, path)
    back = load(path)["x"]
    assert back.dtype == np.dtype(dtype).newbyteorder("=")
    assert back.shape == shape
    assert (back == array).all()


def test_state_of_any_kinds_layout_and_names_comes_back_as_arrays_of_its_own(path):
    grid = np.arange(12.0).reshape(3, 4)
    state = {
        "turned": grid.T, "backwards": grid[::-1, ::2], "wide": np.broadcast_to(1.0, 3), "ü/λ \n": [1, 2], "n": 3.5,
        "t": Tensor([1.0], requires_grad=True) * 2, "v": Value(1.0) * 3,
    }  # fmt: skip
    save(state, path)
    found = load(path)
    assert (found.pop("t").tolist(), found.pop("v").tolist()) == ([2.0], 3.0)
    assert all((x == state[name]).all() for name, x in found.items())
    assert len(found) == 5
    found["wide"] += 1  # may be written to
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
# Optimizers and schedules, in one file with the network

TRAININGS = {
    "SGD": lambda params: SGD(params, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda params: Adam(params, lr=0.1, betas=(0.8, 0.9)),
    "AdamW": lambda params: AdamW(params, lr=0.1),
}


class Scaled(nn.Sequential):
    """With a parameter of no axes, of which an optimizer remembers what is of none either."""

    def __init__(self, *layers):
        super().__init__(*layers)
        self.scale = nn.Parameter(0.5)

    def forward(self, x):
        return super().forward(x) * self.scale


def training(make, values, seed):
    """A network of Values or of Tensors, with its optimizer and schedule; and a function that takes one step."""
    model = nn.MLP(3, [2], rng=random.Random(seed)) if values else Scaled(*network(seed))
    optimizer = TRAININGS[make](model.parameters())
    schedule = CosineAnnealingLR(optimizer, T_max=20, eta_min=np.float64(0.001))
    run = {"model": model, "optimizer": optimizer, "schedule": schedule}

    def step(number):
        x = np.random.default_rng([7, number]).standard_normal((4, 3))
        optimizer.zero_grad()
        outputs = [out for row in x for out in model(list(row))] if values else [model(x)]
        sum((out * out - out).sum() if not values else out * out - out for out in outputs).backward()
        optimizer.step()
        run["schedule"].step()

    return run, step


def bits(run):
    """All that a step depends on."""
    model, optimizer = run["model"], run["optimizer"]
    state = optimizer.state_dict()
    remembered = [{name: np.asarray(x).tobytes() for name, x in held.items()} for held in state["state"]]
    weights = {name: x.tobytes() for name, x in model.state_dict().items()}
    return weights, state["settings"], remembered, run["schedule"].state_dict()


@pytest.mark.parametrize("values", [False, True], ids=["Tensors", "Values"])
@pytest.mark.parametrize("make", TRAININGS)
@pytest.mark.parametrize("after", [0, 3])
def test_training_resumes_bit_by_bit(make, values, after, path):
    whole, step = training(make, values, seed=0)
    for number in range(after):
        step(number)
    save({**whole, "step": after}, path)
    twin, twin_step = training(make, values, seed=1)
    start = load(path, into=twin)["step"].item()
    assert start == after
    assert bits(twin) == bits(whole)
    for number in range(start, 6):
        step(number)
        twin_step(number)
    assert bits(twin) == bits(whole)


def test_parts_of_a_training_are_loaded_alone_and_read_by_other_tools(path):
    whole, step = training("Adam", False, seed=0)
    twin, _ = training("Adam", False, seed=1)
    step(0)
    save({**whole, "step": 3}, path)
    for part, name in enumerate(["model", None, "optimizer", "schedule"]):
        if name:
            load(path, into={name: twin[name]})
            assert bits(twin)[part] == bits(whole)[part]
    found = load_file(path)
    assert found["step"] == 3
    assert (found["model.0.weight"] == whole["model"].state_dict()["0.weight"]).all()
    assert found["optimizer.state.0.mean"].shape == whole["optimizer"].params[0].shape


@pytest.mark.parametrize("damaged", ["model", "optimizer", "schedule"])
def test_load_changes_no_object_where_one_state_does_not_fit(damaged, path):
    whole, step = training("Adam", False, seed=0)
    twin, twin_step = training("Adam", False, seed=1)
    step(0)
    twin_step(0)
    other = nn.Linear(1, 1)
    wrong = {"model": other, "optimizer": SGD(other.parameters(), lr=1.0), "schedule": StepLR(whole["optimizer"], 2)}
    save(whole | {damaged: wrong[damaged]}, path)
    before = bits(twin)
    with pytest.raises(ValueError, match=r"not|no state|settings") as found:
        load(path, into=twin)
    assert bits(twin) == before
    assert str(path) in found.value.__notes__[-1]


def test_state_that_the_file_lacks_is_named_with_those_it_has(path):
    whole, _ = training("SGD", False, seed=0)
    save({"model": whole["model"], "first": whole["optimizer"]}, path)
    with pytest.raises(ValueError, match=r"no state of a SGD called 'optimizer'; states there: 'first'"):
        load(path, into={"optimizer": whole["optimizer"]})
    save(whole["model"], path)
    with pytest.raises(ValueError, match=r"no state of a SGD called ''; states there: none"):
        load(path, into=whole["optimizer"])


class Odd:
    """An object with a state, of whatever JSON and safetensors can hold."""

    def __init__(self, state):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


def test_state_comes_back_with_its_types_and_dtypes(path):
    state = {
        "numbers": [1, 0.1, 2**70, float("inf"), -0.0, True, None, "ü\n"],
        "nested": {"": (), "pair": ("list", [1]), "dict": {"list": []}},
        "array": ["array", "list", ("dict", {}), np.arange(3, dtype="i2")],
    }
    save({"odd": Odd(state)}, path)
    twin = Odd(None)
    load(path, into={"odd": twin})
    assert repr(twin.state) == repr(state)


# ---------------------------------------------------------------------------------------------------------------------
# What is damaged, or does not fit

ALTERATIONS = {
    "cut short": lambda whole, i: whole[:i],
    "a byte with its lowest bit flipped": lambda whole, i: whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :],
    "a byte inverted": lambda whole, i: whole[:i] + bytes([whole[i] ^ 255]) + whole[i + 1 :],
    "a byte that is a space": lambda whole, i: whole[:i] + b" " + whole[i + 1 :],
    "a byte lost": lambda whole, i: whole[:i] + whole[i + 1 :],
    "a byte twice": lambda whole, i: whole[:i] + whole[i : i + 1] + whole[i:],
}


@pytest.mark.parametrize("alter", ALTERATIONS.values(), ids=ALTERATIONS)
def test_altered_file_raises_a_value_error_and_changes_nothing_or_is_read(alter, path):
    """The format has no checksum: numbers that were altered are other numbers."""
    model = nn.Linear(2, 1)
    save(model, path)
    whole, size = path.read_bytes(), sum(p.data.nbytes for p in model.parameters())
    for i in range(len(whole)):
        path.write_bytes(alter(whole, i))
        before = repr(model.state_dict())
        found = {}
        with suppress(ValueError):
            found = load(path, into=model)
        if found:
            assert sum(x.nbytes for x in found.values()) == size
        else:
            assert repr(model.state_dict()) == before


def test_earlier_version_s_optimizer_is_read(path):
    """Whose files had a digest in their metadata."""
    packed = {"": ["dict", {"settings": ["dict", {"lr": 0.5, "weight_decay": 0.0, "momentum": 0.9, "nesterov": False}],
                            "state": ["list", [["dict", {"velocity": ["array", "state.0.velocity"]}]]]}]}  # fmt: skip
    metadata = {"sha256": "0" * 64, "micrograd.states": json.dumps(packed)}
    save_file({"state.0.velocity": np.array([2.0])}, path, metadata)
    optimizer = SGD([Tensor([1.0], requires_grad=True)], lr=0.25)
    load(path, into=optimizer)
    assert (optimizer.lr, optimizer.momentum) == (0.5, 0.9)
    assert optimizer.state[optimizer.params[0]]["velocity"].tolist() == [2.0]


def test_pickle_is_refused_unread(path):
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


def test_missing_file_is_that_and_a_folder_is_that(path):
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(OSError, match=r"irectory|denied"):
        load(path.parent)


# ---------------------------------------------------------------------------------------------------------------------
# The writing itself


def test_save_that_fails_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    save({"x": np.zeros(2)}, path)

    def fail(*_):
        raise OSError("the disk is full")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="the disk is full") as caught:
                save({"x": np.ones(2)}, path)
        assert caught.value.__notes__ == [f"{path.resolve()} was not saved, and an older file there is unchanged"]
        assert load(path)["x"].tolist() == [0.0, 0.0]
        assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="files have no modes here")
@pytest.mark.parametrize("mode", [None, 0o600, 0o444])
def test_file_has_the_mode_of_the_one_that_it_replaces_or_that_of_any_new_file(mode, path):
    other = path.with_name("other")
    for file in (path, other) if mode else (other,):
        file.touch(mode or 0o666)
        file.chmod(mode or file.stat().st_mode)
    save({"x": np.ones(1)}, path)
    assert path.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("given", ["", ".", "folder"])
def test_folder_is_named_as_it_was_given_and_nothing_is_written(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder")
    with pytest.raises(IsADirectoryError, match=rf"the path of a file, found {given!r}: that is a folder"):
        save({"x": np.ones(1)}, given)
    assert os.listdir(tmp_path) == ["folder"]


posix = pytest.mark.skipif(os.name != "posix", reason="files have no modes here, and there are no pipes")


@posix
def test_pipe_is_written_to_and_stays_a_pipe(path):
    pipe, content = path.with_name("pipe"), []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: content.append(pipe.read_bytes()), daemon=True)
    reader.start()
    save({"x": np.ones(2)}, pipe)
    reader.join(timeout=30)
    path.write_bytes(content[0])
    assert load(path)["x"].tolist() == [1.0, 1.0]
    assert pipe.is_fifo()


@posix
@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_next_save_clears_away_what_a_killed_one_left(at, path):
    save({"x": np.zeros(2)}, path)
    path.chmod(0o444)
    code = (
        "import os, signal, sys, numpy as np; from micrograd.nn.saving import save\n"
        f"os.{at} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "save({'x': np.ones(2)}, sys.argv[1])"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], cwd=Path(__file__).parents[2])
    assert killed.returncode == -signal.SIGKILL
    assert load(path)["x"].tolist() == [0.0, 0.0]
    save({"x": np.full(2, 5.0)}, path)
    assert load(path)["x"].tolist() == [5.0, 5.0]
    assert os.listdir(path.parent) == [path.name]


@posix
def test_saves_to_one_path_at_once_leave_one_whole_file(path):
    def many(i):
        for _ in range(20):
            save({"x": np.full(1000, i)}, path)
            assert len(set(load(path)["x"].tolist())) == 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(many, range(4)))
    assert os.listdir(path.parent) == [path.name]


def test_path_may_be_a_string_relative_or_a_link(path, monkeypatch):
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
        ([1, 2], TypeError, "takes a module, an optimizer, a schedule, or a dict .* by name, found list"),
        ({1: np.ones(1)}, ValueError, "found the name 1"),
        ({"__metadata__": np.ones(1)}, ValueError, "the format's own"),
        ({"x": np.ones(1, complex)}, TypeError, "x has dtype complex128"),
        ({"x": np.array(["a"])}, TypeError, "x has dtype <U1"),
        ({"x": None}, TypeError, "x has dtype object"),
        ({"a": nn.Linear(1, 1), "a.b": np.ones(1)}, ValueError, "names 'a' and 'a.b': they overlap"),
        ({"": nn.Linear(1, 1), "b": np.ones(1)}, ValueError, "names '' and 'b': they overlap"),
        ({"odd": Odd({1: 2})}, ValueError, "found the name 1"),
        ({"odd": Odd({"x": [object()]})}, TypeError, "odd.x.0 has dtype object"),
    ],
)
def test_save_refuses_what_the_format_cannot_hold_before_anything_is_written(source, error, message, path):
    with pytest.raises(error, match=message):
        save(source, path)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(("into", "found"), [([], "list"), ({"x": np.ones(1)}, "ndarray"), (nn.Linear, "type")])
def test_load_fills_only_what_has_a_state(into, found, path):
    save({"x": np.ones(1)}, path)
    with pytest.raises(TypeError, match=f"fills modules, optimizers and schedules, found {found}"):
        load(path, into=into)


# ---------------------------------------------------------------------------------------------------------------------
# The state of an optimizer goes to the parameters by name, whatever their order


class Two(nn.Module):
    """Two parts of one shape, as attributes in an order of choice."""

    def __init__(self, make, names, seed):
        parts = {name: make(seed + i) for i, name in enumerate("ab")}
        for name in names:
            setattr(self, name, parts[name])

    def forward(self, x):
        return self.b(self.a(x))


KINDS = {
    "Linear": lambda seed: nn.Linear(2, 2, rng=np.random.default_rng(seed)),
    "Layer": lambda seed: nn.Layer(2, 2, rng=random.Random(seed)),
    "Neuron": lambda seed: nn.Layer(2, 2, rng=random.Random(seed)).neurons[0],
}


def trained(model, make, steps=3):
    """An optimizer of the model after some steps, in which every parameter has another gradient."""
    optimizer = make(model.parameters())
    for step in range(steps):
        for name, p in by_name(model).items():
            p.grad = np.full(np.shape(p.data), float(len(name) + ord(name[0]) + ord(name[-1]) + step))[()]
        optimizer.step()
    return optimizer


def by_name(model):
    return {f"{part}.{i}": p for part in "ab" for i, p in enumerate(getattr(model, part).parameters())}


def remembered(model, optimizer):
    return {
        name: {key: np.asarray(x).tolist() for key, x in optimizer.state[p].items()}
        for name, p in by_name(model).items()
    }


@pytest.mark.parametrize("make", TRAININGS.values(), ids=TRAININGS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("names", ["ab", "ba"])
def test_state_goes_to_the_parameter_of_the_same_name(kind, make, names, path):
    model = Two(kind, "ab", 0)
    optimizer = trained(model, make)
    save({"model": model, "optimizer": optimizer}, path)
    twin = Two(kind, names, 10)
    other = make(twin.parameters())
    load(path, into={"optimizer": other, "model": twin})
    assert remembered(twin, other) == remembered(model, optimizer)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_state_that_is_loaded_after_its_module_goes_by_order_if_the_numbers_show_it(kind, path):
    model, make = Two(kind, "ab", 0), TRAININGS["Adam"]
    optimizer = trained(model, make)
    save({"model": model, "optimizer": optimizer}, path)
    for names in ("ab", "ba"):
        twin = Two(kind, names, 10)
        other = make(twin.parameters())
        with pytest.raises(ValueError, match="load it in one call with its"):
            load(path, into={"optimizer": other})
        load(path, into={"model": twin})
        if names == "ab":
            load(path, into={"optimizer": other})
            assert remembered(twin, other) == remembered(model, optimizer)
        else:
            with pytest.raises(ValueError, match="load it in one call with its"):
                load(path, into={"optimizer": other})
            assert not any(other.state.values())


def test_state_of_parameters_of_other_names_is_refused(path):
    model, other = Two(KINDS["Linear"], "ab", 0), Two(KINDS["Linear"], "ab", 0)
    save({"model": model, "optimizer": trained(model, TRAININGS["Adam"])}, path)
    some = Adam([*other.a.parameters(), nn.Parameter(np.zeros((2, 2))), nn.Parameter(np.zeros(2))])
    for objects in ({"model": other, "optimizer": some}, {"optimizer": trained(other, TRAININGS["Adam"], 0)}):
        with pytest.raises(ValueError, match=r"the state is of model.a.weight.*: load it in one call with its"):
            load(path, into=objects)
        assert not any(objects["optimizer"].state.values())


def test_parameters_of_no_module_stay_in_their_order_and_shared_ones_have_one_name(path):
    def whole(names):
        model = Two(KINDS["Linear"], names, 0)
        model.c = model.a
        free = [nn.Parameter(np.zeros(2)), nn.Parameter(np.zeros(2))]
        return model, Adam([free[0], *model.parameters(), free[1]])

    model, optimizer = whole("ab")
    for i, p in enumerate(optimizer.params):
        p.grad = np.full(p.shape, i + 1.0)
    optimizer.step()
    save({"model": model, "optimizer": optimizer}, path)
    twin, other = whole("ba")
    load(path, into={"model": twin, "optimizer": other})
    assert remembered(twin, other) == remembered(model, optimizer)
    for mine, theirs in zip((0, -1), (0, -1), strict=True):
        a, b = optimizer.state[optimizer.params[mine]], other.state[other.params[theirs]]
        assert (a["mean"] == b["mean"]).all()


def test_state_that_was_saved_alone_goes_by_order(path):
    model = Two(KINDS["Linear"], "ab", 0)
    optimizer = trained(model, TRAININGS["SGD"])
    save(optimizer, path)
    twin = Two(KINDS["Linear"], "ab", 5)
    other = TRAININGS["SGD"](twin.parameters())
    load(path, into=other)
    assert remembered(twin, other) == remembered(model, optimizer)


@pytest.mark.parametrize("name", ["m.pt", "m.pth", "m.CKPT", "pytorch_model.bin", "m.npz", "m.npy", "m.pkl", "m.h5"])
def test_name_of_another_format_is_refused(name, tmp_path):
    for source in (network(), {"x": [1.0]}):
        with pytest.raises(ValueError, match=f"{name} is a name of another format, and this is safetensors: end it in"):
            save(source, tmp_path / name)
    assert not [*tmp_path.iterdir()]


FOREIGN = {
    "an .npz": (lambda path: by_numpy(np.savez, path), "NumPy's .npz"),
    "an .npy": (lambda path: by_numpy(np.save, path), "NumPy's .npy"),
    "a pickle": (lambda path: path.write_bytes(pickle.dumps({"x": [1.0]})), "a pickle"),
    "HDF5": (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(90)), "HDF5"),
    "JSON": (lambda path: path.write_text('{"x": [1.0, 2.0, 3.0]}'), "JSON"),
}


def by_numpy(write, path):
    with path.open("wb") as file:
        write(file, np.ones(3))


@pytest.mark.parametrize(("write", "what"), FOREIGN.values(), ids=FOREIGN)
def test_file_of_another_format_is_refused_by_its_name(write, what, path):
    write(path)
    with pytest.raises(ValueError, match=f"cannot be read as safetensors: .*it looks like .*{what}.*load_state_dict"):
        load(path)


@pytest.mark.parametrize("zipped", [True, False])
def test_file_of_pytorchs_is_refused_by_its_name(zipped, path):
    torch = pytest.importorskip("torch")
    torch.save({"weight": torch.zeros(2, 2)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(ValueError, match=r"it looks like .*torch\.save"):
        load(path, into=network())


def test_damaged_file_is_not_taken_for_another_format(path):
    save(network(), path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match="cannot be read as safetensors") as found:
        load(path)
    assert "looks like" not in str(found.value)


class Counter:
    """An object of the user's that has parameters, and a state of its own form."""

    def __init__(self, params):
        self.params, self.count = params, 0

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


@pytest.mark.parametrize("params", [list, lambda params: None, lambda params: len(params)])
def test_state_of_another_form_is_kept_as_it_is(params, path):
    model = network()
    counter, twin = (Counter(params(model.parameters())) for _ in range(2))
    counter.count = 3
    save({"model": model, "counter": counter}, path)
    load(path, into={"model": model, "counter": twin})
    assert twin.count == 3
