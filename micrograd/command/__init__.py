"""`python -m micrograd`: `main` parses the command line, `expression` builds graphs, `report` prints tables.

`drill` asks for the numbers of small graphs.
"""
