"""Back ends: a program is made of one list of operations, and each back end computes what eager mode does."""

from __future__ import annotations

from compile_helpers import squared_gradient
from tensor_helpers import every_op
from tensor_ops_list import Op

import micrograd
from micrograd import gradient
from micrograd.compiler.opset import OPSET


@every_op
def test_a_program_is_made_of_the_operations_of_the_list(op: Op):
    """Those of second derivatives too."""
    for operands in op.runs():
        f = gradient(micrograd.compile(squared_gradient(op)))
        f(*operands)
        assert {step.op for step in f.lowered.steps} <= {"input", *OPSET}
