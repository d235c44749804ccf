"""The API reference, from the docstrings: `make docs` leaves it in docs/api/. A warning is an error."""

import sys
import warnings
from pathlib import Path

import pdoc

import micrograd
import micrograd.nn
import micrograd.viz

HERE = Path(__file__).parent


def build(folder: Path) -> Path:
    """Write the pages; gives the first of them."""
    micrograd.__all__ += ["abs", "compile", "max", "min", "sum"]  # left out there, for they hide builtins
    for module in (micrograd, micrograd.nn, micrograd.viz):  # these look names up when they are asked for
        for name in module.__all__:
            vars(module)[name] = getattr(module, name)
    pdoc.render.configure(docformat="google", footer_text=f"micrograd-glass {micrograd.__version__}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc("micrograd", output_directory=folder)
    return folder / "index.html"


if __name__ == "__main__":
    page = build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "api")
    print(f"The API reference: {page.resolve().as_uri()}")
