"""`python -m micrograd`: see `command/main.py`."""

import sys

from .command.main import main

if __name__ == "__main__":
    sys.exit(main())
