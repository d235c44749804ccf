"""What knows nothing of gradients.

trees        nested lists, tuples and dicts, mapped and flattened
collector    a context manager that pauses the garbage collector
states       what is wrong with a state that is to be loaded
undo         a context manager that takes changes back if not all of them are made
words        names of other libraries and misspelt keywords, for error messages
"""
