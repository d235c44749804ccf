"""Forward and backward passes, step by step; uses the data, folding and layout of `drawing`.

backprop    a separate backward pass, and what each edge carried     (reads nodes)
heat        arrays and weights as small grids of letters
scenes      the graph as scenes, plain data; a box can open another  (reads nodes)
program     a graph as data: the page computes it again, nudges it   (reads nodes)
card        what is on a card whose numbers change, for `drawing.card`
stage       coordinates of the cards, wires and numbers of a scene
play        `player`: all steps, as a page: player.html, .css, and its script, in this order:
            tools.js (the menu), player.js (story, scenes, steps), panels.js (what is said), program.js (computes
            again), touch.js (drags, curves), shake.js (a leaf sways, and what follows it), grid.js (an array, large),
            ask.js (guess first), rows.js (a wide graph in rows, with tight cards), view.js (zoom, keys, search, export,
            embedding)
compare     `compare`: two graphs, up to where they differ; its page frames two players (reads nodes)
animation   `animate`: scene and stage as animated SVG, with the keyframes of `clock`, or one step of it
"""
