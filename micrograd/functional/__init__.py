"""Losses and the functions they are made of, for lists of Values and for Tensors; `linear`, convolution and pooling.

    losses.py    the losses: formulas for Values
    tensors.py   the losses of Tensors
    layers.py    `linear`, `conv2d`, `max_pool2d`, `avg_pool2d`

For Values, a list has the scores of one sample, and a list of lists those of a batch; a plain number in a list is a
constant. A loss is a Value: the mean over the items or samples, or with `reduction="sum"` their sum; with "none" it is
a list with one Value for each. For Tensors it is a Tensor, of shape () or, with "none", of the shape of the targets.
Names are looked up on first use, so importing this package does not load NumPy.

>>> from micrograd import Value
>>> from micrograd.functional import cross_entropy
>>> logits = [Value(2.0), Value(1.0), Value(0.0)]
>>> loss = cross_entropy(logits, 0)
>>> loss.backward()
>>> round(loss.data, 4), [round(x.grad, 4) for x in logits]
(0.4076, [-0.3348, 0.2447, 0.09])
"""

from ..face import face

_HOME = {
    "losses": "hinge mse bce_with_logits cross_entropy nll softmax log_softmax logsumexp "
    "mse_loss nll_loss binary_cross_entropy_with_logits",
    "layers": "linear conv2d max_pool2d avg_pool2d",
}
__getattr__, __dir__ = face(__name__, _HOME)
