"""Drawings of graphs, one step per file; each step reads only the plain data of the step before.

data     walk the graph and copy what is drawn into strings      (reads nodes)
carried  what the lines carried back, and how that looks         (runs rows)
heat     arrays as small grids
names    names of the caller's variables and of parameters     (reads nodes)
fold     group nodes into boxes when there are too many          (reads nodes)
layout   sizes and edges to coordinates                          (numbers only)
labels   where the labels of lines stand
card     what is on a card, its size and its place
svg      cards and lines to SVG, with the style sheet graph.css
dot      plain data to DOT, for Graphviz
alt_text a drawing as text, for screen readers
draw     `draw_dot`: all steps, as a `Drawing` around a `graphviz.Digraph`
broken   in a notebook, what led to the error of an op           (reads nodes)
"""
