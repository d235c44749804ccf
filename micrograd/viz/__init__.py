"""Pictures of graphs: `draw_dot` draws one, `player` steps through it, `trace` gives its nodes and edges.

How a picture is made, one step a file, each knowing only the plain data of the step before:

    data.py     walk the nodes, copy what is to be seen into strings     (knows nodes)
    fold.py     too many nodes: which of them share a box                (knows nodes)
    layout.py   sizes and edges to coordinates                           (knows numbers)
    dot.py      plain data to DOT text, for Graphviz
    svg.py      plain data to SVG, where there is no Graphviz
    text.py     labels cleaned and shortened; a drawing in words
    draw.py     draw_dot: the steps joined, as a `graphviz.Digraph`

How a graph is played, on the same data, fold and layout:

    backprop.py a backward pass to look at, and what each edge carried   (knows nodes)
    nudge.py    move a leaf, compute again: does the root follow?        (knows nodes)
    heat.py     arrays and weights as small grids of letters
    scenes.py   the graph as scenes, plain data; a box may open another  (knows nodes)
    stage.py    where the cards, lines and numbers of a scene stand
    page.py     one HTML file, with page.html and .js around each body; images and frames in a notebook
    play.py     player: the steps joined, with player.html, .css and .js
    animation.py     animate: scene and stage as SVG that moves, by the keyframes of clock.py

And what a model does, rather than how it was made:

    scores.py   what it says of every place of the plane                 (knows models)
    plots.py    plot_decision_boundary, plot_loss: on matplotlib axes
    film.py     movie: takes frames in a training loop
    panels.py   frames to SVG; contours.py finds the lines, png.py packs the shades
    cinema.py   panels to one page, with movie.html, .css and .js; gif.py to a GIF

Nothing here is imported by the engine; no NumPy, matplotlib or graphviz is imported before something asks for it.
"""

from ..face import face

_HOME = {
    "animation": "animate",
    "data": "trace",
    "draw": "draw_dot",
    "film": "movie",
    "play": "player",
    "plots": "plot_decision_boundary plot_loss",
}
__getattr__, __dir__ = face(__name__, _HOME)
