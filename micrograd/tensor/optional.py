"""NumPy and Tensors where NumPy is installed; elsewhere, names for kinds that no object has.

What works on Values and on arrays alike imports these names from here, so that it works on Values without NumPy:

    from ..tensor.optional import Tensor, np
    isinstance(x, (Tensor, np.ndarray))         False without NumPy
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

try:
    import numpy as np

    from . import arrays, library
    from .functions import stack
    from .node import ArrayNode, handle, new_node, operand, record, remember
    from .storage import Storage
    from .tensor import Tensor
except ModuleNotFoundError as _error:
    if _error.name != "numpy":
        raise

    class Absent:
        """The kind of what NumPy would have made."""

        def __init__(self, *_: Any, **__: Any):
            pass

    class Nothing:
        """A module whose every name is such a kind; it is false."""

        __file__ = "no NumPy/-"
        errstate: Any = staticmethod(lambda **_: nullcontext())

        @property
        def random(self) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return Absent

        def __bool__(self) -> bool:
            return False

    _kinds = {name: type(name, (Absent,), {}) for name in ("ArrayNode", "Storage", "Tensor")}
    _functions = dict.fromkeys(("handle", "new_node", "operand", "record", "remember", "stack"), Absent)
    globals().update(_kinds | _functions | dict.fromkeys(("np", "arrays", "library"), Nothing()))

__all__ = ["ArrayNode", "Storage", "Tensor", "arrays", "handle", "library", "new_node", "np"]
__all__ += ["operand", "record", "remember", "stack"]
