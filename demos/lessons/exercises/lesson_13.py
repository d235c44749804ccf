"""The exercises of lesson 13."""

from typing import Any

import numpy as np
from check import exercise, function, kind, number, number_exercise

from micrograd import Tensor, no_grad
from micrograd.nn import Dropout, Linear, Module, Sequential

number_exercise(
    "13.1",
    2410,
    {
        9610: "that is with 128 features; there are 32",
        2368: "those are the weights; each feature and each digit has a bias too",
        2400: "each of the ten scores has a bias too",
        2378: "each of the 32 features has a bias too",
        2048: "those are the weights of the first layer alone",
        2080: "that is the first layer; the ten scores have weights and biases, too",
        320: "those are the weights of the second layer alone",
        330: "that is the second layer; the 32 features have weights and biases, too",
        64 * 32 * 10: "the numbers of two layers are added; each layer is a matrix and its biases",
        106: "those are the sizes of the layers; every two neighbours of two layers have a weight between them",
    },
    "not {:g}: 32 times (64 + 1), and ten times how many?",
    tolerance=0,
)


@exercise("13.2", of=number)
def _(count: Any) -> str | None:
    if count == 28:
        return "28 batches of 50 are 1,400 digits; where are the other 37?"
    if count == 30:
        return "after 29 steps no digit is left"
    if count == 50:
        return "that is the size of a batch; how many batches are there?"
    if count == 1437:
        return "that would be a step for each digit; one step takes 50 of them"
    if not count.is_integer():
        return "there is no fraction of a step: the last batch is smaller, but it is a step too"
    return None if count == 29 else f"not {count:g}: 1,437 digits, 50 at a time, and the rest"


@exercise("13.3", of=function)
def _(exam: Any) -> str | None:
    images = np.random.default_rng(0).random((200, 64))
    rng = np.random.default_rng(1)
    model = Sequential(Linear(64, 40, rng=rng), Dropout(0.5, rng=rng), Linear(40, 10, rng=rng))
    with no_grad():
        digits = model.eval()(images).argmax(1)
    digits[:50] = (digits[:50] + 1) % 10  # 150 of the 200 are as the whole network says
    for mode in (True, False):
        model.train(mode)
        found = exam(model, images, digits)
        if found is None:
            return "it returns nothing: return how many are right"
        if found == 0.75:
            return "return how many are right, not the fraction"
        if not isinstance(found, int | np.integer):
            return f"it should return a whole number, how many are right; found {kind(found)}"
        if found != 150:
            return f"150 answers are right, yours says {found}: is dropout still on while it answers?"
        if model.training != mode:
            was, now = ("train()", "eval()") if mode else ("eval()", "train()")
            return f"the model was in {was}, and you left it in {now}"
        if any(module.training != mode for module in model.modules()):
            return "the inner modules are left in the other mode: use model.train(mode), which reaches all of them"
    return None


@exercise("13.4", of=function)
def _(build: Any) -> str | None:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(134).permutation(64)  # no matter to a network that is trained now
    parts = train_test_split(images[:, order] / 16, digits, test_size=0.2, stratify=digits, random_state=134)
    seen, unseen, seen_digits, unseen_digits = parts
    model = build(seen.copy(), seen_digits.copy())
    if not isinstance(model, Module):
        return f"build should return the model; found {kind(model)}"
    with no_grad():
        share, of_seen = (
            float((model.eval()(x).argmax(1) == y).mean()) for x, y in ((unseen, unseen_digits), (seen, seen_digits))
        )
    if share < 0.3 and of_seen < 0.3:
        return f"it reads {share:.0%}, which is guessing: is it trained, on the images that build gets?"
    if share >= 0.97:
        return None
    if of_seen > 0.995:
        return f"it reads {of_seen:.1%} of the images it has seen and {share:.1%} of the others: that is overfitting"
    return f"it reads {share:.1%} of unseen digits: more epochs, more features, or smaller last steps?"


@exercise("13.5", of=function)
def _(cross_validated: Any) -> str | None:
    images, digits = np.arange(23.0)[:, None] * np.ones((1, 4)), np.arange(23) % 10
    built: list[tuple[set, set]] = []

    def build(x: Any, y: Any) -> Any:
        x, y = np.asarray(x), np.asarray(y)
        if (y != x[:, 0].astype(int) % 10).any():
            raise ValueError("images and digits no longer belong together: shuffle both in the same order")
        known = set(x[:, 0].astype(int).tolist())
        built.append((known, tested := set()))

        def model(images: Any) -> Tensor:
            places = np.asarray(getattr(images, "data", images))[:, 0].astype(int)
            tested.update(places.tolist())
            right = places % 10 + np.array([place % 2 for place in places])  # it knows the even ones
            return Tensor(np.eye(11)[right][:, :10])

        return model

    found = list(cross_validated(build, images, digits, 5))
    if len(found) != 5 or len(built) != 5:
        return f"five parts give five models and five accuracies; you built {len(built)} and returned {len(found)}"
    for known, tested in built:
        if known & tested:
            return f"{len(known & tested)} samples were both learnt and tested: build gets all the *other* parts"
        if len(known) + len(tested) != 23:
            return f"a model learnt {len(known)} samples and was tested on {len(tested)}, and there are 23 in all"
    if sorted(len(tested) for _, tested in built) != [4, 4, 5, 5, 5]:
        return f"the sizes differ by at most one: 5, 5, 5, 4 and 4, not {[len(tested) for _, tested in built]}"
    if any(max(tested) - min(tested) == len(tested) - 1 for _, tested in built):
        return "a part is a row of neighbours: shuffle first, since files are often sorted"
    wanted = [np.mean([place % 2 == 0 for place in tested]) for _, tested in built]
    if not np.allclose([number(x) for x in found], wanted):
        return f"the accuracies should be {np.round(wanted, 2).tolist()}, yours are {np.round(found, 2).tolist()}"
    return None
