"""The compiler: a function is traced once, and then run as a program of plain Python or NumPy.

It is best read in the order in which a function passes through it. Each file begins with its idea and an example.

1.  Trace: one run of the function on Symbols, with the library's own nodes, rows and walk, forward and backward.
        symbols      what stands for a number or an array
        nodes        what the function sees: Values and Tensors whose data are Symbols
        trace        the run, in which every op gives a Symbol
        frozen       what a function may not do meanwhile
2.  Simplify: the graph that Symbols make, each as simple as can be.
        graph        equal Symbols are one
        simplify     the simpler forms, operation by operation
3.  Levels: from many numbers to few arrays, and to products of matrices.
        normal       a graph of numbers as sums of products
        places       in which array a number stands, and how it is read
        levels       what is computed together
4.  Emit: from Symbols to the text of a function.
        text         expressions
        emit         lines, and the buffers that arrays are written to
5.  The interface: what happens in a call.
        arguments    what the function sees of what it is given
        build        the four steps above, joined
        guards       whether a function would still find what it was traced with
        program      runs what was built, and answers with nodes
        interface    `compile`: which program for which call

Who is in a hurry reads `trace`, `graph` and `emit`: they are a compiler already. `levels` is what makes scalars fast.
"""

from .interface import compile

__all__ = ["compile"]
