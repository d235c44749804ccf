"""The recorder: while a PyTorch program runs, its functions are computed again on our Tensors.

PyTorch hands each function that is called to `_Recording`, which calls it, calls our function of the same name on the
nodes that stand for its operands, and lets our result stand for PyTorch's. A node stands for the result of one of
PyTorch's autograd nodes (a tensor's `grad_fn`). A write in place gives the tensor and its views other autograd nodes,
so that other nodes stand for them here too. A function that has no counterpart, or whose counterpart has another
result, is a `Region` of PyTorch's own. A tensor that requires no gradient is a constant, with the numbers that it had
when a function read it.

Nothing here keeps a program alive. A node lives as long as PyTorch's tensor, or as long as another node uses it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import zip_longest
from types import FunctionType
from typing import Any

import numpy as np
import torch  # type: ignore[reportMissingImports]
from torch._C._functorch import is_functorch_wrapped_tensor  # type: ignore[reportMissingImports]
from torch.autograd.graph import get_gradient_edge  # type: ignore[reportMissingImports]
from torch.overrides import TorchFunctionMode  # type: ignore[reportMissingImports]
from torch.utils.weak import WeakTensorKeyDictionary  # type: ignore[reportMissingImports]

from ...common.trees import leaves, tree_map
from ...tensor.node import ArrayNode
from ...tensor.tensor import Tensor
from ..drawing.data import stand_ins
from .agree import OURS_ALONE, apart, remark, saw
from .counterparts import array, counterpart
from .region import Region, known, remember

LONGEST = 24  # characters of a module's title
_leaves: Any = WeakTensorKeyDictionary()  # weak references to the nodes of leaves and constants
_results: Any = WeakTensorKeyDictionary()  # the nodes of results


def standing(t: Any) -> ArrayNode | None:
    """The node that stands for a PyTorch tensor, or None."""
    if not isinstance(t, torch.Tensor):
        return None
    return _leaves.get(t, lambda: None)() if t.grad_fn is None else known((t.grad_fn, t.output_nr))


stand_ins.append(standing)


class _Recording(TorchFunctionMode):
    """The context of `viz.torch`. `missing` lists the operations without a counterpart, by their first use."""

    def __init__(self, models: Any, tensors: dict[str, Any]):
        super().__init__()
        self.missing: list[str] = []
        self._tensors = tensors
        self._paths = {module: path for model in models[::-1] for path, module in model.named_modules()}
        self._modules: dict[Any, NamedModule] = {}
        self._made_by: tuple[Any, ...] = ()  # the modules being called, outermost first, and the inputs of the last
        self._enough = 0.0  # how far apart results may be: half of the digits of the coarsest floats so far
        self._undo = ExitStack()

    def __enter__(self) -> _Recording:
        call = torch.nn.Module.__call__
        self._undo.callback(setattr, torch.nn.Module, "__call__", call)
        torch.nn.Module.__call__ = self._tracked(call)
        if "torch._dynamo" in sys.modules:  # compiled functions run as they were written
            self._undo.enter_context(torch.compiler.set_stance("force_eager"))
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._undo.close()

    def _tracked(self, call: Any) -> Any:
        """`Module.__call__`, noting which modules are called. (No hook of PyTorch's gets all inputs before a call.)"""

        def __call__(module: Any, *args: Any, **named: Any) -> Any:
            outside = self._made_by
            if module not in self._modules:
                cls = type(type(module).__name__, (NamedModule,), {})
                self._modules[module] = cls(module, self._paths.get(module, ""))
            inputs = [self._node(t) for t in _tensors((args, named)) if _is_plain(t)]
            self._made_by = (*outside[:-1], self._modules[module], inputs)
            try:
                return call(module, *args, **named)
            finally:
                self._made_by = outside

        return __call__

    # ---- a call of a function

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a PyTorch function, and record its results. While this method runs, PyTorch hands over no other call."""
        named = kwargs or {}
        tensors = _tensors((args, named))
        if not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return func(*args, **named)
        name = (func.__self__ if func.__name__ == "__get__" else func).__name__.strip("_")
        compute = self._prepared(name, args, named) if all(map(_is_plain, tensors)) else None
        if compute is None and (body := _body(func)):
            super().__enter__()  # record the functions that it calls
            try:
                return body(*args, **named)
            finally:
                super().__exit__(None, None, None)
        out = func(*args, **named)
        results = zip_longest(leaves(args[0] if out is None else out), compute(out) if compute else ())
        new = [(t, ours) for t, ours in results if _is_new(t)]
        for t, ours in sorted(new, key=lambda pair: pair[0].grad_fn._sequence_nr()):  # operands first
            if t._base is not None and any(t is x for x in tensors):
                self._node(t._base)  # a view that was written to is now a view of the new base
                ours = None
            self._result(t, name, ours)
        return out

    def _prepared(self, name: str, args: Any, named: dict[str, Any]) -> Callable[[Any], list[Any]] | None:
        """A function from PyTorch's result to ours. The operands are read now, before PyTorch may write to them."""
        if (ours := counterpart(name)) is None:
            return None
        operands, options = tree_map(self._read, ([*args], {key: x for key, x in named.items() if x is not None}))
        operands += [options.pop(key) for key in ("input", "other") if key in options]

        def call(out: Any) -> list[Any]:
            try:
                with np.errstate(all="ignore"):
                    return [*leaves(ours(out, *operands, **options))]
            except Exception:  # whatever the error, PyTorch's own function did not raise it
                return []

        return call

    # ---- tensors and nodes

    def _read(self, x: Any) -> Any:
        """For a PyTorch tensor, a Tensor with its present numbers and history; anything else as it is."""
        return self._node(x).tensor if isinstance(x, torch.Tensor) else x

    def _node(self, t: Any) -> ArrayNode:
        node = standing(t)
        if t.grad_fn is not None:
            return node or self._result(t, type(t.grad_fn).__name__.partition("Backward")[0])
        numbers = array(t)
        if node is None or node.requires_grad != t.requires_grad or not np.array_equal(node._data, numbers, True):
            label = next((name for name, x in self._tensors.items() if x is t), "")
            node = Tensor(numbers, requires_grad=t.requires_grad, label=label)._node
            _leaves[t] = weakref.ref(node)
            if t.requires_grad:
                self._note(t, node)
        return node

    def _result(self, t: Any, name: str, ours: Any = None) -> ArrayNode:
        """Let our result stand for PyTorch's if it is the same, else a region of PyTorch's own."""
        node = getattr(ours, "_node", None)
        self._enough = max(self._enough, torch.finfo(t.dtype).eps ** 0.5)
        # A node with an edge stands for another tensor
        if node is None or hasattr(node, "_edge") or not apart(node._data, array(t)) <= self._enough:
            self.missing += [name] * (name not in self.missing)
            node = Region(t, name, self._node).node
        remember((t.grad_fn, t.output_nr), node)
        _results[t] = node
        t._backward_hooks = None  # a write in place keeps the hooks of the tensor's previous node
        self._note(t, node)
        node._made_by = self._made_by
        return node

    def _note(self, t: Any, node: Any) -> None:
        """Note what `agree` needs, and let PyTorch's passes hand the node its gradient."""
        with torch._C.DisableTorchFunctionSubclass():
            node._edge, node._like, node._remark = get_gradient_edge(t), t.new_empty(0), remark
        node._enough = self._enough
        node._mark = OURS_ALONE if isinstance(node._row, Region) else ""
        alive = weakref.ref(node)

        def hook(g: Any) -> None:
            if g is not None and (node := alive()):  # g is None for an output that is not used
                saw(node, g)
                if isinstance(node._row, Region):
                    with suppress(Exception):  # the rule will raise the error again
                        node._row.sent = node._row.sending(g)

        weakref.finalize(node, t.register_hook(hook).remove)


class NamedModule:
    """A PyTorch module with the methods that drawings call. Its class has the name of PyTorch's class."""

    def __init__(self, module: Any, path: str):
        self.module = module
        self.path = path

    def named_parameters(self) -> list[tuple[str, ArrayNode]]:
        """The nodes that stand for its parameters, with their paths."""
        named = self.module.named_parameters(self.path)
        return [(path, node) for path, p in named if (node := standing(p)) is not None]

    def __repr__(self) -> str:
        title = f"{self.path}: {type(self).__name__}"
        return title.removeprefix(": ")[-LONGEST:]


def _tensors(tree: Any) -> list[Any]:
    return [x for x in leaves(tree) if isinstance(x, torch.Tensor)]


def _is_plain(t: Any) -> bool:
    """Whether NumPy has an array like this tensor."""
    return t.layout == torch.strided and not (t.is_complex() or t.is_meta or is_functorch_wrapped_tensor(t))


def _is_new(t: Any) -> bool:
    """Whether this is a result that needs a node to stand for it."""
    return isinstance(t, torch.Tensor) and _is_plain(t) and t.grad_fn is not None and standing(t) is None


def _body(func: Any) -> Any:
    """For a PyTorch function in Python, the same function without the check that hands it over itself; else None."""
    names = func.__code__.co_names if isinstance(func, FunctionType) else ()
    checks = {name: lambda *_: False for name in names if name.startswith("has_torch_function")}
    if not checks:
        return None
    body = FunctionType(func.__code__, func.__globals__ | checks, None, func.__defaults__, func.__closure__)
    body.__kwdefaults__ = func.__kwdefaults__
    return body
