"""Arguments: the nodes that a function sees in their place, and where a program reads the numbers (`lowered.Read`).

passed                     the function sees             read from
x = 2.0                    a Value                       x
w = Value(3.0)             a Value, to be differentiated w, a Value
xs = [1.0, 2.0]            a list of Values              xs[0], xs[1]
a = np.ones((2, 3))        a Tensor                      a

>>> given = Arguments(Trace(), (Value(3.0), [1.0, 2.0]), ["w", "xs"], scalars=False, batch=False)
>>> [(read.name, read.place, read.kind) for read in given.reads]
[('w', 'w', 'value'), ('xs_0', 'xs[0]', 'as_is'), ('xs_1', 'xs[1]', 'as_is')]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..common.trees import leaves, tree_map
from ..engine.value import Value, number
from ..scalars import floats
from ..scalars.kinds import differentiating
from ..tensor.optional import Tensor, np
from .lowered import Read
from .primitives import SPECIAL
from .trace import Trace
from .traced_nodes import data_of, traced_value

# Names that programs use for their own variables and for elements of arguments, and words that they use
_RESERVED = re.compile(r"([tbgkp]\d+|[ks]\d+_\w*|\w+_\d+|seed\d+|p)$")
_WORDS = {"answer", "program", "leaves", "numbers", "wanted", "fixed", "seeds", "lr", "update"}
_WORDS |= {"np", "inf", "nan", "vector", "abs", "float", "int", "at_once", "setitem", "setattr", "isub", "gate"}
_WORDS |= {"self", "rest", "named", "modes", "absent", "otherwise", "len", "same", "contents", "require", "classes_in"}
_WORDS |= {"hasattr", "map", "type", "repr"}
_WORDS |= {"ArithmeticError", "AttributeError", "LookupError", "ValueError", *vars(floats), *SPECIAL}
TEXT = (bool, str, type(None))
ARRAYS = (np.ndarray, np.memmap) if np else ()  # other subclasses compute by their own rules


def has_arrays(args: Any) -> bool:
    """True if there is an array or a Tensor among the arguments."""
    return any(isinstance(x, (np.ndarray, Tensor)) for x in leaves(list(args)))


def dtype_of(args: Any) -> np.dtype:
    """The dtype of numbers next to arrays. It is that of the arrays, so that float32 stays float32."""
    dtypes = [x.dtype for x in leaves(list(args)) if isinstance(x, (np.ndarray, Tensor)) and x.dtype.kind == "f"]
    return np.result_type(*dtypes) if dtypes else np.dtype(float)


class Arguments:
    """The arguments of one trace.

    The function is called with `seen`, and its program reads the numbers by `reads`. Nodes that require a gradient are
    `differentiable`, each with its read and its stand-in.
    """

    def __init__(self, trace: Trace, args: tuple[Any, ...], names: list[str], scalars: bool, batch: bool):
        self.trace = trace
        self.scalars: bool = scalars or batch
        self.batch = batch
        self.tensors: bool = not self.scalars and has_arrays(args)
        self.dtype: np.dtype[Any] = dtype_of(args)
        self.samples: int | None = None  # the number of samples, under `batch`
        self.reads: list[Read] = []
        self.differentiable: list[tuple[Read, Any]] = []
        names = [*names[: len(args)], *(f"x{i}" for i in range(len(names), len(args)))]
        self.names: list[str] = [f"{name}_" if name in _WORDS or _RESERVED.match(name) else name for name in names]
        reads = [Read(name, name) for name in self.names]
        self.seen: tuple[Any, ...] = tuple(map(self._see, args, reads))
        if batch and self.samples is None:
            raise TypeError("batch=True needs an array of samples among the arguments")

    def _see(self, x: Any, at: Read) -> Any:
        def inside(i: int, key: Any) -> Read:
            return Read(f"{at.name}_{i}", at.parameter, (*at.keys, key))

        if isinstance(x, dict):
            return {key: self._see(part, inside(i, key)) for i, (key, part) in enumerate(x.items())}
        if isinstance(x, (list, tuple)):
            parts = [self._see(part, inside(i, i)) for i, part in enumerate(x)]
            return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
        if isinstance(x, TEXT):
            return x
        if isinstance(x, np.ndarray) and (x.__class__ not in ARRAYS or x.dtype.kind not in "fiub"):
            raise TypeError(
                f"{at.place} is of class {type(x).__name__} and dtype {x.dtype}: a compiled function takes plain "
                "arrays of real numbers, which np.asarray makes of other classes"
            )
        if isinstance(x, np.ndarray) and self.batch:
            return self._sample(x, at)
        if isinstance(x, np.ndarray) and self.scalars:
            seen = nested(x.shape, lambda *i: _marked(x, self.trace.value("_".join(map(str, (at.name, *i))))))
            self.reads.append(at._replace(kind="lists", shape=x.shape))
            return seen
        return self._leaf(x, at)

    def _sample(self, x: np.ndarray, at: Read) -> Any:
        """Nested lists of Values for one sample of an array. Each stands for its element in all samples."""
        place = at.place
        if not x.ndim:
            raise ValueError(f"{place} has no axis: with batch=True the first axis of an array counts the samples")
        if self.samples not in (None, len(x)):
            raise ValueError(f"{place} holds {len(x)} samples, an array before it {self.samples}")
        self.samples = len(x)
        self.reads.append(at._replace(kind="samples", shape=x.shape[::-1]))
        symbol = self.trace.graph.input(at.name, x.shape[::-1], np.dtype(float))
        return nested(x.shape[1:], lambda *i: _marked(x, traced_value(symbol[i[::-1]] if i else symbol)))

    def result(self, x: Any) -> Any:
        """A result as a node. Under `batch`, a plain number is the result for every sample, and a node too."""
        if self.batch and not isinstance(x, bool) and (constant := number(x)) is not None:
            return traced_value(constant)
        return self.trace.seen(x)

    def for_each(self, x: Any) -> Any:
        """A result of a function of one sample, expanded to one number for each sample under `batch`."""
        if not self.batch or not isinstance(x, Value) or getattr(data_of(x), "shape", None) is not None:
            return x
        return x * traced_value(self.trace.graph.constant(np.ones(self.samples or 0)))

    def _leaf(self, x: Any, at: Read) -> Any:
        requires_grad = isinstance(x, (Value, Tensor)) and x.requires_grad
        if isinstance(x, Tensor) and self.scalars:
            raise TypeError(f"{at.place} is a Tensor: a compiled function of scalars takes Values and plain arrays")
        like = x if isinstance(x, (Tensor, np.ndarray)) else np.zeros((), self.dtype)
        as_tensor = not isinstance(x, Value) and (self.tensors or isinstance(x, (Tensor, np.ndarray)))
        if as_tensor:
            node: Any = self.trace.tensor(at.name, like, requires_grad, x)
        else:
            node = self.trace.value(at.name, requires_grad, x)
        read = at._replace(kind=_kind(x, as_tensor))
        if read.kind == "array":
            read = read._replace(dtype=like.dtype.newbyteorder("="))
        self.reads.append(read)
        if requires_grad:
            self.differentiable.append((read, node))
        return _marked(x, node)


def nested(shape: tuple[int, ...], part: Callable[..., Any], *index: int) -> Any:
    """Nested lists of this shape, in which each element is part(*index).

    >>> nested((2, 3), lambda i, j: 10 * i + j)
    [[0, 1, 2], [10, 11, 12]]
    """
    at = len(index)
    return part(*index) if at == len(shape) else [nested(shape, part, *index, i) for i in range(shape[at])]


def _marked(x: Any, node: Any) -> Any:
    """The node of an argument, or of an element of it, marked if the argument consists of integers."""
    if isinstance(x, (int, np.integer)) or getattr(getattr(x, "dtype", None), "kind", "f") != "f":
        node._of_integers = True
    return node


def _kind(x: Any, as_tensor: bool) -> str:
    """How a number or an array is read from an argument (`lowered.KINDS`)."""
    if isinstance(x, (Value, Tensor)):
        return "value" if isinstance(x, Value) else "tensor"
    is_plain = x.__class__ is np.ndarray and x.dtype.isnative
    if is_plain or (x.__class__ is float and not as_tensor):
        return "as_is"
    return "array" if as_tensor else "number"


def untraced(fn: Callable[..., Any], args: Any, named: dict[str, Any], scalars: bool) -> Any:
    """The result of fn outside a trace. Values may meet Tensors, as they may in a trace."""
    with differentiating():
        return fn(*_as_nodes(args, scalars), **named)


def _as_nodes(args: Any, scalars: bool) -> Any:
    """The arguments as the function sees them outside a trace: nodes unchanged, the rest as constants."""
    dtype = dtype_of(args) if has_arrays(args) and not scalars else None

    def node(x: Any) -> Any:
        if isinstance(x, (*TEXT, Value, Tensor)):
            return x
        if isinstance(x, np.ndarray) and scalars:
            return tree_map(node, x.astype(float).tolist())
        if isinstance(x, np.ndarray):
            return Tensor(x)
        return Value(float(x), requires_grad=False) if dtype is None else Tensor(np.asarray(x, dtype))

    return tree_map(node, args)
