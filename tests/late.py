"""Jupyter's packages, each imported by the first test that calls for it: that takes seconds, and every worker collects.

Where one is not installed, the test is skipped.
"""

from functools import partial

import pytest

names = "nbclient", "nbconvert", "nbformat", "nbformat.sign"
nbclient, nbconvert, nbformat, signing = (partial(pytest.importorskip, name) for name in names)
