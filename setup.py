"""What pyproject.toml cannot say: a wheel has demos/ inside the package, and the README of a package index.

`python -m micrograd demo` finds demos/ in the package; in a checkout they stand beside it, where they are read.
"""

import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def readme(site: str) -> str:
    """README.md for a package index, which shows only pictures that have an address, and knows no files beside it."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(?<=[(\"])docs/(?=[\w-]+\.(svg|png))", f"{site}_static/", text) if site else text
    return re.sub(r"(?<!!)\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


setup(
    packages=[*find_packages(include=["micrograd*"]), "micrograd.demos"],
    package_dir={"micrograd.demos": "demos"},
    long_description=readme(PROJECT.get("urls", {}).get("Site", "")),
    long_description_content_type="text/markdown",
)
