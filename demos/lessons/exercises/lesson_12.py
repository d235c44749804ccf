"""The exercises of lesson 12."""

from typing import Any

import numpy as np
from check import exercise, function, kind, number, number_exercise

from micrograd import no_grad
from micrograd.nn import Dropout, Linear, Module, Sequential

number_exercise(
    "12.1",
    2410,
    {
        9610: "that is with 128 features; there are 32",
        2368: "those are the weights; each feature and each digit has a bias too",
        2400: "each of the ten scores has a bias too",
        2378: "each of the 32 features has a bias too",
    },
    "not {:g}: 32 times (64 + 1), and ten times how many?",
    tolerance=0,
)


@exercise("12.2", of=number)
def _(count: Any) -> str | None:
    if count == 28:
        return "28 batches of 50 are 1,400 digits; where are the other 37?"
    if not count.is_integer():
        return "there is no fraction of a step: the last batch is smaller, but it is a step too"
    return None if count == 29 else f"not {count:g}: 1,437 digits, 50 at a time, and the rest"


@exercise("12.3", of=function)
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


@exercise("12.4")
def _(model: Any) -> str | None:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, digits = load_digits(return_X_y=True)
    _, unseen, _, unseen_digits = train_test_split(images / 16, digits, test_size=0.2, stratify=digits, random_state=12)
    if not isinstance(model, Module):
        return f"answer with the model itself; found {kind(model)}"
    with no_grad():
        right = int((model.eval()(unseen).argmax(1) == unseen_digits).sum())
    if right < 100:
        return f"it reads {right} of the 360, which is guessing: has it been trained?"
    return None if right >= 353 else f"it reads {right} of the 360: more epochs, more features, or smaller last steps?"
