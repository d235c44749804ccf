"""The recorder: while a PyTorch program runs, what it computes is computed again on our Tensors.

PyTorch hands each function that is called to `Recording.run`, which calls it, calls our function of the same name on
the nodes that stand for its operands, and lets our result stand for PyTorch's. A node stands for what one of PyTorch's
autograd nodes computed (a tensor's `grad_fn`). So a write in place, which gives the tensor and its views other autograd
nodes, asks for other nodes here. What has no counterpart, or another result there, is a `Region` of PyTorch's own. What
requires no gradient is a constant, with the numbers that it had when it was read.

Nothing here keeps a program alive. A node lives as long as PyTorch's tensor, or as long as another node uses it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from contextlib import ExitStack
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
from ...scalars.ops import copied
from ...tensor.node import ArrayNode
from ...tensor.tensor import Tensor
from ..drawing.data import stand_ins
from .agree import OURS_ALONE, apart, remark, saw
from .counterparts import array, counterpart
from .region import Region, known, remember

LONGEST = 24  # characters of a module's path
COMPOSED = ("torch.nn.functional", "torch.functional")  # where functions in Python call others
_leaves: Any = WeakTensorKeyDictionary()  # weak references to the nodes of leaves and constants
_results: Any = WeakTensorKeyDictionary()  # the nodes of results


def standing(t: Any) -> ArrayNode | None:
    """The node that stands for a tensor of PyTorch's; None if there is none."""
    if not isinstance(t, torch.Tensor):
        return None
    return _leaves.get(t, lambda: None)() if t.grad_fn is None else known((t.grad_fn, t.output_nr))


stand_ins.append(standing)


class Recording(ExitStack):
    """The context of `viz.torch`. `missing` lists the operations without a counterpart, by their first use."""

    def __init__(self, models: Any, tensors: dict[str, Any]):
        super().__init__()
        self.missing: list[str] = []
        self._models = models
        self._tensors = tensors
        self._parts: dict[Any, Part] = {}
        self._calls: list[Any] = []  # of modules, outermost first: each with the nodes of its inputs
        self._eps: float = 0.0  # of the coarsest floats so far
        self._mode: Any = _Mode()
        self._mode.run = self.run

    def __enter__(self) -> Recording:
        call = torch.nn.Module.__call__
        self.callback(setattr, torch.nn.Module, "__call__", call)
        torch.nn.Module.__call__ = self._tracked(call)
        if "torch._dynamo" in sys.modules:  # where something is compiled, that runs as it was written
            self.enter_context(torch.compiler.set_stance("force_eager"))
        self.enter_context(self._mode)
        return self

    def _tracked(self, call: Any) -> Any:
        """`Module.__call__`, noting which modules are called. (Of PyTorch's hooks none sees all inputs beforehand.)"""

        def __call__(module: Any, *args: Any, **named: Any) -> Any:
            self._calls.append((self._part(module), [self._node(t) for t in _tensors((args, named)) if _is_plain(t)]))
            try:
                return call(module, *args, **named)
            finally:
                self._calls.pop()

        return __call__

    def _part(self, module: Any) -> Part:
        if module not in self._parts:
            places = ((path, model) for model in self._models for path, x in model.named_modules() if x is module)
            kind: type[Part] = type(type(module).__name__, (Part,), {})
            self._parts[module] = kind(module, *next(places, ("", module)))
        return self._parts[module]

    # ---- a call of a function

    def run(self, func: Any, args: Any, named: dict[str, Any]) -> Any:
        """Call a function of PyTorch's, and record its results."""
        given = _tensors((args, named))
        if not (torch.is_grad_enabled() and any(t.requires_grad for t in given)):
            return func(*args, **named)
        name = _name(func)
        ours = self._prepared(name, args, named) if all(map(_is_plain, given)) else None
        if ours is None and (body := _body(func)):
            with self._mode:
                return body(*args, **named)
        out = func(*args, **named)
        results = [*leaves(args[0] if out is None else out)]
        if any(map(_is_new, results)):
            for t, found in zip_longest(results, _tried(ours, out)):
                written = any(t is x for x in given)  # in place: for PyTorch, a view is one of the new base then
                if _is_new(t) and written and _is_new(t._base):
                    self._result(t._base, name)
                if _is_new(t):
                    self._result(t, name, None if written and t._base is not None else found)
        return out

    def _prepared(self, name: str, args: Any, named: dict[str, Any]) -> Callable[[Any], Any] | None:
        """Our function of PyTorch's result; its operands are read before PyTorch may write to them."""
        if (ours := counterpart(name)) is None:
            return None
        operands, options = tree_map(self._read, (args, {key: x for key, x in named.items() if x is not None}))
        first, last = ([options.pop(key)] if key in options else [] for key in ("input", "other"))
        return lambda out: ours(out, *first, *operands, *last, **options)

    # ---- tensors and nodes

    def _read(self, x: Any) -> Any:
        """A Tensor with the numbers and the history that a tensor of PyTorch's has now; anything else as it is."""
        return self._node(x).tensor if isinstance(x, torch.Tensor) else x

    def _node(self, t: Any) -> ArrayNode:
        node = standing(t)
        if t.grad_fn is not None:
            return node or self._result(t, t.grad_fn.name().partition("Backward")[0])
        numbers = array(t)
        if node is None or node.requires_grad != t.requires_grad or not np.array_equal(node._data, numbers, True):
            label = next((name for name, x in self._tensors.items() if x is t), "")
            node = Tensor(numbers, requires_grad=t.requires_grad, label=label)._node
            _leaves[t] = weakref.ref(node)
            if t.requires_grad:
                self._note(t, node)
        return node

    def _result(self, t: Any, name: str, found: Any = None) -> ArrayNode:
        """Let our result stand for PyTorch's if it is the same, else a region of PyTorch's own."""
        self._eps = max(self._eps, torch.finfo(t.dtype).eps)
        region, node = None, getattr(found, "_node", None)
        if node is None or apart(node._data, array(t)) > self._eps**0.5:
            self.missing += [name] * (name not in self.missing)
            region = Region(t, name, self._node)
            node = region.node
        elif hasattr(node, "_edge"):  # it stands for another tensor
            node = copied(found)._node
        remember((t.grad_fn, t.output_nr), node)
        _results[t] = node
        self._note(t, node, region)
        if self._calls:
            modules = [part for part, _ in self._calls]
            outer = [self._part(modules[0].model)] if modules[0].path else []
            node._made_by = (*outer, *modules, self._calls[-1][1])
        return node

    def _note(self, t: Any, node: Any, region: Region | None = None) -> None:
        """Note what `agree` asks for, and let PyTorch's passes tell the node its gradient."""
        node._edge, node._dtype, node._remark = get_gradient_edge(t), t.dtype, remark
        node._eps = self._eps = max(self._eps, torch.finfo(t.dtype).eps)
        node._mark = OURS_ALONE if region else ""
        alive = weakref.ref(node)

        def hook(g: Any) -> None:
            if g is not None and (node := alive()):  # None for a part of a result that is not used
                saw(node, g)
                if region:
                    region.see(g)

        weakref.finalize(node, t.register_hook(hook).remove)


class Part:
    """A module of PyTorch's as drawings know a module. Its class has the name of PyTorch's."""

    def __init__(self, module: Any, path: str, model: Any):
        self.module = module
        self.path = path
        self.model = model  # that the path begins at

    def named_parameters(self) -> list[tuple[str, ArrayNode]]:
        """The nodes that stand for its parameters, with their paths."""
        return [(path, node) for path, p in self.module.named_parameters() if (node := standing(p)) is not None]

    def __repr__(self) -> str:
        kind = type(self).__name__
        whole = f"{self.path}: {kind}" if self.path else kind
        return whole if len(whole) <= LONGEST else self.path[-LONGEST:]


class _Mode(TorchFunctionMode):
    """Has PyTorch hand over each function that is called."""

    run: Any

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})


def _tensors(tree: Any) -> list[Any]:
    return [x for x in leaves(tree) if isinstance(x, torch.Tensor)]


def _is_plain(t: Any) -> bool:
    """True for a tensor that NumPy has the like of."""
    unlike = t.is_complex() or t.is_quantized or t.is_meta or is_functorch_wrapped_tensor(t)
    return t.layout == torch.strided and not unlike


def _is_new(t: Any) -> bool:
    """True for a result that a node is to stand for."""
    return isinstance(t, torch.Tensor) and _is_plain(t) and t.grad_fn is not None and standing(t) is None


def _name(func: Any) -> str:
    """`add` for each of PyTorch's functions that add: `add`, `add_`, `__add__` and `__iadd__`."""
    name = func.__name__ if func.__name__ != "__get__" else func.__self__.__name__
    inner = name.strip("_")
    return inner[1:] if inner[:1] == "i" and not counterpart(inner) and counterpart(inner[1:]) else inner


def _body(func: Any) -> Any:
    """A function in Python that calls others of PyTorch's, such that it does not hand itself over; else None."""
    if not isinstance(func, FunctionType) or func.__module__ not in COMPOSED:
        return None
    checks = [name for name in func.__code__.co_names if name.startswith("has_torch_function")]
    globals_ = func.__globals__ | dict.fromkeys(checks, lambda *_: False)
    body = FunctionType(func.__code__, globals_, func.__name__, func.__defaults__, func.__closure__)
    body.__kwdefaults__ = func.__kwdefaults__
    return body if checks else None


def _tried(ours: Any, out: Any) -> list[Any]:
    """Our results; none if our function cannot do this."""
    try:
        with np.errstate(all="ignore"):
            return [*leaves(ours(out))] if ours else []
    except Exception:  # whatever it is, PyTorch's own function has done it
        return []
