"""All is said in pyproject.toml but one thing that cannot be said there: a wheel has demos/ inside of the package.

`python -m micrograd demo` finds them so; in a checkout they stand beside it, where they are read.
"""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["micrograd*"]), "micrograd.demos"], package_dir={"micrograd.demos": "demos"})
