"""Forward and backward passes, step by step; uses the data, folding and layout of `drawing`.

backprop    a separate backward pass, and what each edge carried     (reads nodes)
nudge       finite-difference test of the gradients of leaves        (reads nodes)
heat        arrays and weights as small grids of letters
scenes      the graph as scenes, plain data; a box can open another  (reads nodes)
card        a card: its size, and its pieces
stage       coordinates of the cards, wires and numbers of a scene
play        `player`: all steps, as a page (player.html, .css, .js)
animation   `animate`: scene and stage as animated SVG, with the keyframes of `clock`
"""
