"""The derivatives in the form of textbooks, for ops whose rule has another form, such as one that does not overflow.

A test compares each form with the rule on random numbers. The player shows the form of textbooks, and on request the
rule that ran.
"""

TEXTBOOK = {  # by the sign of an op, a derivative for each operand
    "tanh": "1 - {out}**2",
    "sigmoid": "{out} * (1 - {out})",
    "**": "{1} * {0}**({1} - 1); {out} * log({0})",
    "/": "1 / {1}; -{0} / {1}**2",
    "reciprocal": "-1 / {0}**2",
    "expm1": "{out} + 1",
    "tan": "1 + {out}**2",
    "arcsin": "1 / sqrt(1 - {0}**2)",
    "arccos": "-1 / sqrt(1 - {0}**2)",
    "arctan": "1 / (1 + {0}**2)",
    "arctanh": "1 / (1 - {0}**2)",
    "hypot": "{0} / {out}; {1} / {out}",
    "arctan2": "{1} / ({0}**2 + {1}**2); -{0} / ({0}**2 + {1}**2)",
    "maximum": "1 if {0} > {1} else 0; 1 if {1} > {0} else 0",
    "minimum": "1 if {0} < {1} else 0; 1 if {1} < {0} else 0",
}


def textbook(op: str, place: int) -> str:
    """The derivative of an op by the operand at this place, in the form of textbooks; "" if the rule has this form.

    >>> textbook("tanh", 0), textbook("*", 0)
    ('1 - {out}**2', '')
    """
    return TEXTBOOK[op].split("; ")[place] if op in TEXTBOOK else ""
