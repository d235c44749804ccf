"""What knows nothing of gradients.

trees        nested lists, tuples and dicts, mapped and flattened
collector    a context manager that pauses the garbage collector
undo         a context manager that takes changes back if not all of them are made
infix        the text of an op and its operands, with the parentheses that are needed
words        names of other libraries and misspelt keywords, for error messages
"""
