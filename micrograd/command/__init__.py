"""`python -m micrograd`: `main` parses the command line, `expression` builds graphs, `report` prints tables.

`drill` is an exercise: it asks for the numbers of small graphs.
"""
