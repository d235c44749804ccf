"""Jupyter's packages and scikit-learn, each imported by the first test that calls for it: that takes seconds, and
every worker collects.

Where one is not installed, the test is skipped.
"""

from functools import partial

import pytest

names = "nbclient", "nbconvert", "nbformat", "nbformat.sign", "sklearn.datasets"
nbclient, nbconvert, nbformat, signing, datasets = (partial(pytest.importorskip, name) for name in names)
