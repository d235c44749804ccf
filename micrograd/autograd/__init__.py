"""Tools on top of both kinds of node.

transforms   from functions to functions: `gradient`, `jacobian`, `hessian`, ...
check        `gradcheck`: derivatives against differences
function     `Function`: an op of your own, for Values and Tensors
lazy_mode    `lazy`: build the graph now, compute what is asked for
"""
