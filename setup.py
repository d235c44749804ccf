"""A shim for tools that still ask for setup.py; everything is said in pyproject.toml."""

from setuptools import setup

setup()
