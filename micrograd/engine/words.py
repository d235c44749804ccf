"""Names from other libraries and their equivalents here, for error messages.

Autograd has PyTorch's names and arrays have NumPy's, never both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

NAMES = {
    "view": "reshape", "permute": "transpose", "t": "T", "unsqueeze": "expand_dims", "ravel": "flatten",
    "expand": "broadcast_to", "clamp": "clip", "amax": "max", "amin": "min", "numel": "size", "nelement": "size",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "fmod": "the operator %", "mod": "the operator %", "power": "pow", "absolute": "abs",
    "mm": "the operator @", "bmm": "the operator @", "mv": "the operator @",
    "clone": "t * 1, which keeps the history, or t.detach() * 1", "copy": "t * 1, or t.data.copy() for the array",
    "cat": "concatenate", "gather": "take_along_axis", "chunk": "split", "rot90": "flip and transpose",
    "type": "astype", "to": "astype", "float": "astype(np.float32)", "double": "astype(np.float64)",
    "add_": "the operator +=", "sub_": "the operator -=", "mul_": "the operator *=", "div_": "the operator /=",
    "tensor": "Tensor", "from_numpy": "Tensor",
}  # fmt: skip
NAMES |= {name: f"micrograd.{name}" for name in ("dot", "outer", "matmul", "einsum", "split", "take_along_axis")}
KEYWORDS = {"dim": "axis", "keepdim": "keepdims", "dims": "axis", "unbiased": "ddof", "correction": "ddof"}


def unknown(owner: str, name: str) -> AttributeError:
    """The error for a missing attribute, with the equivalent name if there is one."""
    hint = f": the word here is {NAMES[name]}" if name in NAMES else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}")


def check(keywords: dict[str, Any]) -> None:
    """Raise a TypeError for a keyword that has another name here."""
    for name in keywords:
        if name in KEYWORDS:
            raise TypeError(f"found the keyword {name}=: the word here is {KEYWORDS[name]}=")


def checked(method: Callable) -> Callable:
    """Wrap a method so that another library's keyword raises with the name used here."""

    @wraps(method)
    def called(*args: Any, **named: Any) -> Any:
        try:
            return method(*args, **named)
        except TypeError:
            check(named)
            raise

    return called
