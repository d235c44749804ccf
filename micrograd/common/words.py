"""Names from other libraries and their equivalents here, for error messages.

Autograd has PyTorch's names and arrays have NumPy's, never both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable)

_DEVICE = "there is no device here, and compile(f, backend='jax') runs on a GPU"
OF_MODULES = dict.fromkeys(("to", "cuda", "cpu", "device"), _DEVICE)
NAMES = {
    "view": "reshape", "permute": "transpose", "t": "T", "unsqueeze": "expand_dims", "ravel": "flatten",
    "expand": "broadcast_to", "clamp": "clip", "amax": "max", "amin": "min", "numel": "size", "nelement": "size",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "fmod": "the operator %", "mod": "the operator %", "power": "pow", "absolute": "abs",
    "mm": "the operator @", "bmm": "the operator @", "mv": "the operator @",
    "clone": "t * 1, which keeps the history, or t.detach() * 1", "copy": "t * 1, or t.data.copy() for the array",
    "cat": "concatenate", "gather": "take_along_axis", "chunk": "split", "rot90": "flip and transpose",
    "type": "astype", "to": f"astype, for a dtype; {_DEVICE}", "long": "astype(int)", "int": "astype(int)",
    "bool": "astype(bool)", "half": "astype(np.float16)", "dim": "ndim", "contiguous": "t * 1",
    "float": "astype(np.float32)", "double": "astype(np.float64)",
    "add_": "the operator +=", "sub_": "the operator -=", "mul_": "the operator *=", "div_": "the operator /=",
    "backwards": "backward", "tensor": "Tensor", "from_numpy": "Tensor", "is_cuda": _DEVICE,
}  # fmt: skip
NAMES = OF_MODULES | NAMES
NAMES |= {name: f"micrograd.{name}" for name in ("dot", "outer", "matmul", "einsum", "split", "take_along_axis")}
# The same for a Value, which is one number: a method that a Tensor alone has would be no help.
_HERE_TOO = ("the operator %", "the operator +", "the operator -", "the operator *", "the operator /")
_HERE_TOO += ("arc", "clip", "pow", "abs", "backward", "there is no device")
OF_A_NUMBER = {
    name: word if word.startswith(_HERE_TOO) else f"a Value is one number, and a Tensor has {word}"
    for name, word in NAMES.items()
}
OF_A_NUMBER |= {"clone": "x * 1, which keeps the history, or x.detach()", "copy": "x * 1, or x.data for the number"}
OF_A_NUMBER |= dict.fromkeys(("float", "double"), "float(x), or x.data") | dict.fromkeys(("int", "long"), "int(x)")
OF_A_NUMBER |= {"to": _DEVICE, "bool": "bool(x)", "tensor": "micrograd.Tensor", "from_numpy": "micrograd.Tensor"}
SYNONYMS = {
    "learning_rate": "lr", "rate": "lr", "act": "activation", "nonlinearity": "activation", "name": "label",
    "min": "low", "max": "high",
}  # fmt: skip
KEYWORDS = {"dim": "axis", "keepdim": "keepdims", "dims": "axis", "unbiased": "ddof", "correction": "ddof"}


def unknown(owner: str, name: str, names: dict[str, str] = NAMES, x: Any = None) -> AttributeError:
    """The error for a missing attribute, of x, with the equivalent name if there is one, else with one that is like it.

    It has the name alone, so that Python guesses no second one.
    """
    from difflib import get_close_matches  # not at the top: only mistakes need it

    hint = ""
    if name in names:
        word = names[name]
        hint = word if word.startswith(("there is", "a Value is")) else f"the word here is {word}"
    elif x is not None and name[0] != "_" and (meant := get_close_matches(name, dir(x), 1)):
        hint = f"did you mean {meant[0]}?"
    return AttributeError(f"{owner} has no attribute {name!r}{hint and f': {hint}'}", name=name)


def check(keywords: dict[str, Any], function: Callable, owner: str) -> None:
    """Raise a TypeError for a keyword that the function does not take, with the name that is meant."""
    from difflib import get_close_matches  # not at the top: only mistakes need these
    from inspect import signature

    known = signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for name in keywords:
        if (word := KEYWORDS.get(name)) in known:
            raise TypeError(f"found the keyword {name}=: the word here is {word}=")
    names = [name for name in known if name[0] != "_" and name != "self"]
    for name in keywords.keys() - known.keys():
        meant = [SYNONYMS[name]] if SYNONYMS.get(name) in known else get_close_matches(name, names, 1)
        raise TypeError(f"{owner} has no keyword {name}: did you mean {(meant or [', '.join(names)])[0]}?")


def checked(method: Method) -> Method:
    """Wrap a method so that a misspelt keyword, or another library's, raises with the name used here."""

    @wraps(method)
    def called(*args: Any, **named: Any) -> Any:
        try:
            return method(*args, **named)
        except TypeError:
            check(named, method, type(args[0]).__name__ if method.__name__ == "__init__" else f"{method.__name__}()")
            raise

    return called  # type: ignore[return-value]


class KeywordsChecked:
    """Mixin: misspelt keywords of `__init__` are answered with the right ones, as by `checked`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", checked(vars(cls)["__init__"]))  # noqa: B010  (type checkers see the one it wraps)
