"""`python -m micrograd`: `main` reads the line, `expression` makes a graph of it, `report` writes the table."""
