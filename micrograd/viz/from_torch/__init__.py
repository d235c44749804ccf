"""`viz.torch`: a PyTorch program in the player. While the program runs, its functions are computed again on Tensors.

counterparts   for PyTorch's functions by name: the same function of our Tensors
record         the recorder: which of our nodes stands for which of PyTorch's tensors (imports torch)
region         for functions without a counterpart: PyTorch's own nodes, called one by one (imports torch)
agree          whether the gradients agree with PyTorch's, and the remark of the page (imports torch)
"""

from typing import Any

from ..optional import optional


def torch(*models: Any, **tensors: Any) -> Any:
    """Record a PyTorch program, so that `player` and `draw_dot` show its graph.

    Use it as `with viz.torch(model):` around a forward pass in PyTorch. The program runs as usual, and afterwards you
    pass its tensors, such as the loss, to `player` or `draw_dot`. This library computes the same functions in float64.
    The page compares all gradients with PyTorch's, and marks the first node where they differ.

    Args:
        *models: instances of `torch.nn.Module`. The page folds the graph by their submodules, and names submodules and
            parameters by their paths.
        **tensors: tensors, by the names that the page gives them. Other tensors get the names of your variables.

    Returns:
        A context manager. Its `missing` lists the operations that have no counterpart here. Each of these is a card
        marked "torch only", with PyTorch's own numbers and gradients.

    Raises:
        ModuleNotFoundError: PyTorch is not installed.

    >>> import torch  # doctest: +SKIP
    >>> w = torch.tensor([2.0, -1.0], requires_grad=True)  # doctest: +SKIP
    >>> with viz.torch(w=w) as program:  # doctest: +SKIP
    ...     loss = (w * w).sum()
    >>> loss.backward()  # doctest: +SKIP
    >>> player(loss)  # doctest: +SKIP
    <Page: Computation graph: 3 nodes, 3 edges; save(path), open()>
    """
    optional("torch", what="viz.torch")
    from .record import _Recording

    return _Recording(models, tensors)
