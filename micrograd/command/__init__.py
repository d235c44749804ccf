"""`python -m micrograd`: `main` parses the command line, `expression` builds graphs, `report` prints tables."""
