"""Tools built on both kinds of node, Values and Tensors.

transforms     functions of functions: `gradient`, `jacobian`, `hessian`, ...
check          `gradcheck`: compare derivatives with finite differences
function       `Function`: define an op and its derivative, for Values and Tensors
lazy_mode      `lazy`: build the graph first, compute values on demand
"""
