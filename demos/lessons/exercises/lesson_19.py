"""The exercises of lesson 19: the pieces of a GPT, each compared with NumPy."""

from typing import Any

import numpy as np
from check import exercise, function, functions, kind
from letters import PLACES

from micrograd import Tensor, no_grad
from micrograd.nn import Embedding, Module

WIDTH, HEADS = 8, 2


def _array(found: Any) -> np.ndarray:
    """The numbers of a Tensor, or of an array."""
    return np.asarray(found.data if isinstance(found, Tensor) else found)


def _shape(found: Any, wanted: tuple[int, ...], what: str) -> str | None:
    """A hint if the shape is wrong, or if there is none."""
    if found is None:
        return f"{what}: found None: is a `return` missing?"
    if not isinstance(found, Tensor | np.ndarray):
        return f"{what}: a Tensor is needed here; found {kind(found)}"
    return None if found.shape == wanted else f"{what} has the shape {found.shape}, and should have {wanted}"


def _normed(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def _softmax(x: np.ndarray) -> np.ndarray:
    found = np.exp(x - x.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)


def _apart(x: np.ndarray, heads: int = HEADS) -> np.ndarray:
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def _inputs() -> Tensor:
    return Tensor(np.random.default_rng(191).normal(size=(3, 5, WIDTH)))


@exercise("19.1", of=function)
def _(vectors: Any) -> str | None:
    rng = np.random.default_rng(190)
    letters, places = Embedding(27, 4, rng=rng), Embedding(PLACES, 4, rng=rng)
    numbers = np.array([[0, 3, 1, 20, 0], [0, 15, 23, 12, 0]])
    try:
        found = vectors(letters, places, numbers)
    except IndexError:
        return "the second table was asked for the letters; its rows are places: 0, 1, 2, ..."
    except ValueError:
        return "the places run along axis 1, as the letters of a name do: np.arange(numbers.shape[1])"
    if isinstance(found, Tensor) and found.shape == (5, 4):
        return "the result has the shape (5, 4), those are the places alone: add the vectors of the letters"
    if hint := _shape(found, (2, 5, 4), "the result"):
        return hint
    table, of_places = letters.weight.data, places.weight.data
    if np.allclose(found.data, table[numbers] + of_places[:5]):
        return None
    if np.allclose(found.data, table[numbers]):
        return "the letters are there, and the places are not: the two e's of `emelie` would be the same"
    if np.allclose(found.data, table[numbers] + of_places[numbers % PLACES]):
        return "the second table was asked for the letters; its rows are places: 0, 1, 2, ..."
    if np.allclose(found.data, table[numbers] * of_places[:5]):
        return "the two vectors are added, not multiplied"
    if np.allclose(found.data, table[numbers] + np.arange(5)[:, None]):
        return "the number of the place itself is added; call places, which has a vector for each of them"
    if np.allclose(found.data, table[numbers] + of_places[1:6]):
        return "the first place is number 0"
    return "the vector of the letter, plus row 0 of the places for the first letter, row 1 for the second, and so on"


@exercise("19.2", of=functions(2))
def _(both: Any) -> str | None:
    apart, together = both
    x = _inputs()
    found = apart(x, HEADS)
    if hint := _shape(found, (3, HEADS, 5, WIDTH // HEADS), "apart(x, 2)"):
        return f"{hint}: swap the places and the heads" if isinstance(found, Tensor) and found.ndim == 4 else hint
    if np.allclose(found.data, x.data.reshape(3, HEADS, 5, -1)):
        return "the right shape, with the letters mixed up: split the last axis first, then swapaxes(1, 2)"
    if not np.allclose(found.data, _apart(x.data)):
        return "head 0 should have the first 4 of the 8 numbers of each letter, and head 1 the others"
    found = together(Tensor(_apart(x.data)))
    if hint := _shape(found, (3, 5, WIDTH), "together(x)"):
        return hint
    if np.allclose(found.data, _apart(x.data).reshape(3, 5, WIDTH)):
        return "apart is right; together must swap the axes back before it reshapes"
    return None if np.allclose(found.data, x.data) else "apart is right; together(apart(x, 2)) is not x"


@exercise("19.3", of=function)
def _(Attention: Any) -> str | None:
    model = Attention(WIDTH, HEADS, np.random.default_rng(193))
    if not isinstance(model, Module):
        return "answer with the class, which is a Module"
    x = _inputs()
    found = model.shares(x)
    if hint := _shape(found, (3, HEADS, 5, 5), "shares(x)"):
        return hint
    q, k, v = (_apart(_array(layer(x))) for layer in (model.query, model.key, model.value))
    scores, ahead = q @ k.swapaxes(-1, -2), np.triu(np.full((5, 5), -np.inf), 1)
    shares = _softmax(scores / 2 + ahead)
    if not np.allclose(found.data, shares):
        if np.isnan(found.data).any():
            return "there is nan in the shares: the mask is added, and it is -inf or 0, never 0 * inf"
        if not np.allclose(found.data.sum(-1), 1):
            return "the shares do not sum to 1 along the last axis: mask first, then take the softmax"
        if not np.allclose(np.triu(found.data, 1), 0):
            return "a letter looks ahead: add the causal mask before the softmax"
        if np.allclose(found.data, _softmax(scores + ahead)):
            return "the mask holds; divide the scores by the root of the size of a head, here of 4"
        if np.allclose(found.data, _softmax(scores / WIDTH**0.5 + ahead)):
            return "that is the root of the whole width, 8; a head has 4 numbers"
        if np.allclose(found.data, _softmax(scores / 4 + ahead)):
            return "the scores are divided by the size of a head; divide them by its root"
        if np.allclose(found.data, _softmax(q @ q.swapaxes(-1, -2) / 2 + ahead)):
            return "each query is compared with queries; compare it with the keys"
        return "the shares are softmax(queries @ keys transposed / root of the size + mask), for each head"
    found = model(x)
    if hint := _shape(found, (3, 5, WIDTH), "the result"):
        return f"the shares are right. {hint}"
    seen = shares @ v
    joined = _array(model.join(Tensor(seen.swapaxes(1, 2).reshape(3, 5, WIDTH))))
    if np.allclose(found.data, joined):
        return None
    if np.allclose(found.data, seen.swapaxes(1, 2).reshape(3, 5, WIDTH)):
        return "what the heads found is right; at the end `join` mixes it"
    if np.allclose(found.data, _array(model.join(Tensor(seen.reshape(3, 5, WIDTH))))):
        return "the heads are put side by side in the wrong order: use together"
    if np.allclose(found.data, _array(model.join(x))):
        return "the shares are right, and forward does not use them: shares(x) @ values, together, join"
    return "the shares are right. Then shares @ apart(values), together, and join"


@exercise("19.4", of=function)
def _(normed: Any) -> str | None:
    numbers = _inputs().data
    numbers[1, 2] *= 100
    numbers[0, 0] = 0
    x = Tensor(numbers)
    found = normed(x)
    if hint := _shape(found, (3, 5, WIDTH), "normed(x)"):
        return hint
    data, square = x.data, (x.data * x.data).mean(-1, keepdims=True)
    if np.allclose(found.data, _normed(data)):
        return None
    if np.isnan(found.data[1:]).any():
        return "there is nan in it: the root of a negative number? Take the mean of the *squares*"
    if np.isnan(found.data).any():
        return "a vector of zeros became nan: add 1e-5 to the mean of the squares"
    if np.allclose(found.data, data / np.sqrt((data * data).mean() + 1e-5)):
        return "that is one mean for all; each vector has its own: mean(-1, keepdims=True)"
    if np.allclose(found.data, data / (square + 1e-5)):
        return "divide by the root of the mean of the squares"
    if np.allclose(found.data, data / np.sqrt((data * data).sum(-1, keepdims=True) + 1e-5)):
        return "that is the length, from the sum of the squares; here it is their mean"
    if np.allclose(found.data, (data - data.mean(-1, keepdims=True)) / np.sqrt(data.var(-1, keepdims=True) + 1e-5)):
        return "that is LayerNorm, which also subtracts the mean; RMSNorm only divides"
    if np.allclose(found.data, data * np.sqrt(square + 1e-5)):
        return "that multiplies by the root of the mean of the squares; divide by it"
    if np.allclose(found.data, data * (square + 1e-5)):
        return "that multiplies by the mean of the squares; divide by the root of it"
    if np.allclose(found.data, data - data.mean(-1, keepdims=True)):
        return "that subtracts the mean; RMSNorm subtracts nothing, and divides by the root of the mean of the squares"
    if np.allclose(found.data, data / np.sqrt((data * data).mean(0, keepdims=True) + 1e-5)):
        return "the mean goes over the names, axis 0; it should go over the numbers of one vector, axis -1"
    if np.allclose(found.data, data / data.sum()) or np.allclose(
        found.data[1:], (data / data.sum(-1, keepdims=True))[1:]
    ):
        return "that divides by a sum, which may be negative; divide by the root of the mean of the squares"
    lengths = np.sqrt((found.data[1:] ** 2).mean(-1))
    found = f"{lengths.min():.2g} to {lengths.max():.2g}"
    return f"the root of the mean of the squares should be 1 for each vector; yours go from {found}"


@exercise("19.5", of=function)
def _(Block: Any) -> str | None:
    model = Block(WIDTH, HEADS, np.random.default_rng(195))
    x = _inputs() * 3
    with no_grad():
        found = model(x)
        if hint := _shape(found, (3, 5, WIDTH), "the result"):
            return hint

        def attend(x: np.ndarray) -> np.ndarray:
            return _array(model.attention(Tensor(x)))

        def process(x: np.ndarray) -> np.ndarray:
            return _array(model.down(model.up(Tensor(x)).relu()))

        x = x.data
        middle = x + attend(_normed(x))
        tries = {
            "both residuals are missing: x + attention(...), and x + MLP(...)": process(_normed(attend(_normed(x)))),
            "nothing is added and nothing normed yet: x + attention(normed(x))": process(attend(x)),
            "the residuals are there; each of the two gets normed(x)": x + attend(x) + process(x + attend(x)),
            "the second norm is missing: the MLP gets normed(x) too": middle + process(middle),
            "the first norm is missing: the attention gets normed(x)": x + attend(x) + process(_normed(x + attend(x))),
            "the MLP adds its result to its input, too": process(_normed(middle)),
            "the attention adds its result to its input, too": attend(_normed(x))
            + process(_normed(attend(_normed(x)))),
            "there is no relu between up and down: down(relu(up(...)))": middle
            + _array(model.down(model.up(Tensor(_normed(middle))))),
            "the MLP should get what the attention has changed; yours gets the first x": middle + process(_normed(x)),
            "the MLP is added to the first x; add it to what the attention has changed": x + process(_normed(middle)),
            "the input is normed, and then the normed one is kept: add to x itself": _normed(x) + attend(_normed(x)),
        }
        if np.allclose(found.data, middle + process(_normed(middle))):
            return None
    known = (hint for hint, wrong in tries.items() if np.allclose(found.data, wrong))
    return next(known, "x + attention(normed(x)), and then the same with down(relu(up(...)))")


@exercise("19.6", of=function)
def _(GPT: Any) -> str | None:
    model = GPT(WIDTH, HEADS, 2, np.random.default_rng(196))
    numbers = np.array([[0, 3, 1, 20], [0, 4, 15, 7]])
    with no_grad():
        found = model(numbers)
        if hint := _shape(found, (2, 4, 27), "the result"):
            return f"{hint}: is `out` called at the end?" if getattr(found, "shape", ()) == (2, 4, WIDTH) else hint
        if len(model.blocks) != 2:
            return f"GPT(8, 2, 2, rng) should have 2 blocks; found {len(model.blocks)}"

        def run(x: Tensor, blocks: Any, last: bool = True) -> np.ndarray:
            for block in blocks:
                x = block(x)
            return _array(model.out(Tensor(_normed(x.data)) if last else x))

        letters, places = model.letters(numbers), model.places(np.arange(4))
        if np.allclose(found.data, run(letters + places, model.blocks)):
            return None
        whole = run(letters + places, model.blocks)
        tries = {
            "out should return logits, not probabilities: leave out the softmax": _softmax(whole),
            "the blocks are not used: x = block(x) for each of them": run(letters + places, [], last=False),
            "the blocks are not used, the rest is there": run(letters + places, []),
            "the last norm is missing, before `out`": run(letters + places, model.blocks, last=False),
            "the places are not added to the letters": run(letters, model.blocks),
            "only the first of the blocks is used": run(letters + places, model.blocks[:1]),
            "only the last of the blocks is used: does each get what the one before it gave?": run(
                letters + places, model.blocks[-1:]
            ),
        }
    known = (hint for hint, wrong in tries.items() if np.allclose(found.data, wrong))
    return next(known, "vectors, then each block in turn, then normed, then out")


class _Speller:
    """Stands for a model: after the dot it says `name`, letter by letter, another dot, and then nonsense."""

    def __init__(self, name: str) -> None:
        self.numbers = [ord(letter) - 96 for letter in name] + [0, 26]
        self.asked: list[np.ndarray] = []

    def __call__(self, numbers: Any) -> Tensor:
        numbers = np.asarray(numbers)
        self.asked.append(numbers.copy())
        logits = np.zeros((*numbers.shape, 27))
        for place in range(numbers.shape[-1]):
            logits[..., place, self.numbers[min(place, len(self.numbers) - 1)]] = 4.0
        return Tensor(logits)


@exercise("19.7", of=function)
def _(make_up: Any) -> str | None:
    speller = _Speller("nora")
    found = make_up(speller, 0.05, np.random.default_rng(0))
    if not isinstance(found, str):
        return f"return the name, a string; found {kind(found)}"
    if any(numbers.ndim != 2 for numbers in speller.asked):
        return "the model takes an array (names, places): np.array([numbers]), with one name in it"
    if any(numbers[0, 0] != 0 for numbers in speller.asked):
        return "the model should read all letters so far, from the dot on"
    if found == "n":
        return "only one letter: append it, and ask again until a dot is drawn"
    if set(found) == {"n"}:
        return f"{found!r}: take the logits of the last place, [0, -1]; the first place always says the same"
    if "." in found:
        return f"leave out the dots; found {found!r}"
    if found.startswith("noraz"):
        return f"after the dot it goes on, {found!r}: stop as soon as a dot is drawn"
    if len(set(found) & set("nora")) < len(set(found)):
        return f"a model that is sure of n o r a gives {found!r}: is each logit divided by 0.05, and not multiplied?"
    if found != "nora":
        return f"a model that is sure of n o r a, at temperature 0.05, should give 'nora', not {found!r}"
    endless = _Speller("abcdefghijklmnopqrst")
    if len(name := make_up(endless, 0.05, np.random.default_rng(0))) != PLACES - 1:
        return (
            f"a name ends after {PLACES - 1} letters at the latest, since the model has {PLACES} places; found {name!r}"
        )
    rng = np.random.default_rng(0)
    made = [make_up(_Speller("nora"), 1.0, rng) for _ in range(60)]
    if set(made) == {"nora"}:
        return "it writes the same name each time, even at temperature 1: draw with rng.choice, and the probabilities"
    if (warm := sum(name.startswith("n") for name in made) / 60) < 0.4:
        return (
            f"at temperature 1 it should begin with n two times in three, and does in {warm:.0%}: divide, then softmax"
        )
    made = [make_up(_Speller("nora"), 4.0, rng) for _ in range(60)]
    if sum(name.startswith("n") for name in made) > 25:
        return "at temperature 4 it is as sure as at 1: divide the logits by the temperature"
    return None


@exercise("19.8", of=function)
def _(Memory: Any) -> str | None:
    rng = np.random.default_rng(198)
    q, k, v = (rng.normal(size=(HEADS, 6, 4)) for _ in range(3))
    scores = q @ k.swapaxes(1, 2) / 2
    wanted = _softmax(scores + np.triu(np.full((6, 6), -np.inf), 1)) @ v

    def run(buffers: bool) -> np.ndarray | str:
        memory, rows, held = Memory(), [], np.zeros((3, HEADS, 4))
        for place in range(6):
            now = [q[:, place].copy(), k[:, place].copy(), v[:, place].copy()]
            if buffers:  # the same three arrays each time, with other numbers
                held[:] = now
                now = list(held)
            row = memory.step(*now)
            if (found := np.asarray(row)).shape != (HEADS, 4):
                return f"step should return an array (heads, size), here (2, 4); found {kind(row)}"
            rows.append(found.copy())
        return np.stack(rows, axis=1)

    found = run(buffers=False)
    if isinstance(found, str):
        return found
    if np.allclose(found, wanted):
        second = run(buffers=False)
        if isinstance(second, str) or not np.allclose(second, wanted):
            return "right for the first Memory; a second one finds its letters: make the lists in __init__, on self"
        again = run(buffers=True)
        if not isinstance(again, str) and np.allclose(again, wanted):
            return None
        return "right, until the caller uses its arrays again: keep copies of k and v"
    if np.allclose(found, v):
        return "it returns the value of the newest letter alone: nothing is remembered"
    if np.allclose(found, _softmax(q @ k.swapaxes(1, 2) + np.triu(np.full((6, 6), -np.inf), 1)) @ v):
        return "divide the scores by the root of the size, here of 4"
    if np.allclose(found, np.cumsum(v, axis=1) / np.arange(1, 7)[:, None]):
        return "that is the plain mean of the values: weight them by how well the query matches the keys"
    if not np.allclose(found[:, 0], v[:, 0]):
        return (
            "the first letter can only look at itself, and gets its value: is the new key remembered before you look?"
        )
    return "the first letter is right, later ones are not: the softmax goes over the letters so far, for each head"
