"""How a picture of a graph is made, one step a file, each knowing only the plain data of the step before.

data     walk the nodes, copy what is to be seen into strings     (knows nodes)
fold     too many nodes: which of them share a box                (knows nodes)
layout   sizes and edges to coordinates                           (knows numbers)
svg      plain data to SVG: our own cards
dot      plain data to DOT text, for Graphviz
words    the drawing in words
draw     draw_dot: the steps joined, as a `graphviz.Digraph`
"""
