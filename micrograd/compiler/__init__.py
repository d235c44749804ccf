"""The compiler: a function is traced once, and then run as a program of plain Python or NumPy.

Five steps, in the order in which a function passes through them; each file begins with its idea and an example:

    interface    `compile`: which program for which call
    trace        one run on Symbols, with the library's own nodes, rows and walk: forward and backward
    simplify     the graph that Symbols make, each as simple as can be
    levels       where there are many numbers: from numbers to arrays, and products of matrices
    emit         from Symbols to the text of a function

and what they stand on:

    symbols      what stands for a number or an array
    normal       sums of products, as `levels` wants them
    arguments    what the function sees of what it is given
    build        the steps joined
    program      runs what was built, and answers with nodes
    guards       whether it still holds
    frozen       what a compiled function may not do
    picture      a program as a graph, to be drawn
"""

from .interface import compile

__all__ = ["compile"]
