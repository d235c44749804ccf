from .layers import avg_pool2d as avg_pool2d
from .layers import conv2d as conv2d
from .layers import linear as linear
from .layers import max_pool2d as max_pool2d
from .losses import bce_with_logits as bce_with_logits
from .losses import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .losses import cross_entropy as cross_entropy
from .losses import hinge as hinge
from .losses import log_softmax as log_softmax
from .losses import logsumexp as logsumexp
from .losses import mse as mse
from .losses import mse_loss as mse_loss
from .losses import nll as nll
from .losses import nll_loss as nll_loss
from .losses import softmax as softmax

__all__ = [
    "avg_pool2d",
    "bce_with_logits",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "cross_entropy",
    "hinge",
    "linear",
    "log_softmax",
    "logsumexp",
    "max_pool2d",
    "mse",
    "mse_loss",
    "nll",
    "nll_loss",
    "softmax",
]
