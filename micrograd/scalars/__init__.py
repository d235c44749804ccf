"""What hangs on the heart's seams for scalars, a file each. The engine imports none of it.

floats     the functions of `math`, returning inf or nan where `math` raises
ops        more rows of the derivative table
rows       rows with any number of operands
kinds      questions about an object: is it a node; may its number be read; is `compile` tracing
modes      set_grad_enabled, a mode that is also a function
methods    x.exp(), x.maximum(y), comparisons, ...: what Value and Tensor have in common
hooks      register_hook
anomaly    detect_anomaly
release    what `retain_graph=False` makes of a graph
grad_fn    the graph through PyTorch's interface
passes     the order of a graph; a pass to given inputs
roots      backward and grad, from several roots, to given inputs, checked
value      what else a Value can do, attached to it
sums       the weighted sum of a neuron, in one loop
"""

from . import anomaly as anomaly
from . import hooks as hooks
from . import methods as methods
from . import modes as modes
from . import value as value
