"""The API reference, from the docstrings: `make docs` leaves it in docs/api/. A warning is an error."""

import builtins
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
    for module in (micrograd, micrograd.nn, micrograd.viz):  # these look names up when they are asked for
        names = [name for name in dir(module) if name in module.__all__ or hasattr(builtins, name)]
        vars(module).update({name: getattr(module, name) for name in names}, __all__=names)
    pdoc.render.configure(docformat="google", footer_text=f"micrograd-glass {micrograd.__version__}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc("micrograd", output_directory=folder)
    return folder / "index.html"


if __name__ == "__main__":
    page = build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "api")
    print(f"The API reference: {page.resolve().as_uri()}")
