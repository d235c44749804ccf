"""NumPy and Tensors where NumPy is installed; elsewhere, placeholders for classes that have no instances.

Code for both Values and arrays imports these names from here, so that it works on Values without NumPy:

    from ..tensor.optional import Tensor, np
    isinstance(x, (Tensor, np.ndarray))         False without NumPy
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

__all__ = ["ArrayNode", "Storage", "Tensor", "arrays", "library", "new_node", "np"]
__all__ += ["operand", "record", "remember", "stack", "wrap"]

try:
    import numpy as np

    from . import arrays, library
    from .functions import Tensor, stack
    from .node import ArrayNode, Storage, new_node, operand, record, remember, wrap
except ModuleNotFoundError as _error:
    if _error.name != "numpy":
        raise

    class _AbsentType(type):
        def __getattr__(cls, name: str) -> Any:
            if name[:2] == "__":
                raise AttributeError(name)
            return cls

        def __call__(cls, *_: Any, **__: Any) -> Any:  # such as np.errstate()
            return nullcontext()

        __bool__: Any = staticmethod(bool)

    class Absent(metaclass=_AbsentType):
        """A placeholder for NumPy and its types. It is false, every attribute is itself, and it has no instances."""

        __file__ = "no NumPy/-"

    globals().update(dict.fromkeys(__all__, Absent))
