"""How a graph is played, on the data, fold and layout of a drawing.

backprop    a backward pass to look at, and what each edge carried   (knows nodes)
nudge       move a leaf, compute again: does the root follow?        (knows nodes)
heat        arrays and weights as small grids of letters
scenes      the graph as scenes, plain data; a box may open another  (knows nodes)
stage       where the cards, lines and numbers of a scene stand
play        player: the steps joined, with player.html, .css and .js
animation   animate: scene and stage as SVG that moves, by the keyframes of `clock`
"""
