"""Drawings of graphs, one step per file. Each step reads only the plain data of the step before.

data     walk the graph and describe it in strings and numbers   (reads nodes)
carried  what the lines carried back, and the look of a line     (runs rows)
heat     arrays as small grids
names    names of the caller's variables and of parameters     (reads nodes)
fold     group nodes into boxes when there are too many          (reads nodes)
layout   sizes and edges to coordinates                          (numbers only)
labels   the places of the labels of lines
card     the contents of a card, its size and its place
svg      cards and lines to SVG, with the style sheet graph.css
dot      plain data to DOT, for Graphviz
alt_text a drawing as text, for screen readers
draw     `draw_dot`: all steps, as a `Drawing` around a `graphviz.Digraph`
broken   in a notebook, the cards that led to an op's error      (reads nodes)
"""
