"""The compiler: a function is traced once, and then run as a program in plain Python or NumPy.

The files are listed in the order in which a function passes through them. Each begins with its idea and an example.

1.  Trace: run the function once on Symbols, with the library's own nodes, rows and walk, forward and backward.
        symbols      placeholders for numbers and arrays
        traced_nodes what the function sees: Values and Tensors whose data are Symbols
        trace        the run, in which every op returns a Symbol
        trace_errors what a traced function must not do
        remains      what to take back after a trace
2.  Simplify: the graph of Symbols, each in its simplest form.
        primitives   the operations, and what each does to arrays
        graph        equal Symbols are one object
        simplify     the rewrite rules, by operation
3.  Lower: the trace as a program in the form of data. Each later step goes from this form to this form.
        inputs       what the function sees of its arguments, and where a program reads them
        lowered      the public form, which prints as a page
4.  Vectorize: from many numbers to few arrays, and to matrix products.
        vectorize    a folder: sums of products, slots of arrays, and levels of numbers that are computed together
5.  Compile: from the program to a function.
        backends     how a back end is found, and `python`, which writes source; `micrograd/backends` has more
6.  Interface: what happens in a call.
        build        the five steps above, combined
        data         numbers and text, and containers of nothing else, which are constants
        stale        when a trace is stale
        offload      where numbers are between the steps of a training program
        program      run a program, and return nodes
        api          `compile`, which chooses the program for a call
        checked      `compile(fn, check=True)`, which runs the function itself beside its program

For a quick tour, read `trace`, `graph` and `backends/python`: together they form a complete compiler. `vectorize` is
what makes scalars fast.
"""

from .api import compile
from .checked import check_compiled

__all__ = ["check_compiled", "compile"]
