"""The compiler: a function is traced once, and then run as a program of plain Python or NumPy.

interface    `compile`: which program for which call
build        a program, from the trace to the code
arguments    what the function sees of what it is given
trace        one run on Symbols, with the library's own nodes, rows and walk
frozen       what it may not do
symbols      what stands for a number or an array
simplify     the graph that Symbols make, each as simple as can be
normal       sums of products in a graph of numbers
levels       from numbers to arrays, and products of matrices
emit         from Symbols to the text of a function
program      runs that, and answers with nodes
guards       whether it still holds
picture      its graph, to be drawn
"""

from .interface import compile

__all__ = ["compile"]
