"""`python -m micrograd`: see `command/main.py`."""

import io
import sys

from .command.main import main

if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a question mark where the terminal lacks a letter
    sys.exit(main())
