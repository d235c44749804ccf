"""Forward and backward passes, step by step; uses the data, folding and layout of `drawing`.

gradients       a separate backward pass                                 (reads nodes)
views           the graph as scenes, plain data; a box can open another  (reads nodes)
recompute       a graph as data: the page computes it again, nudges it   (reads nodes)
textbook        derivatives as one learns them, where a rule is written otherwise
placement       coordinates of the cards, wires and numbers of a scene
player_page     `player`: all steps, as a page: player.html, .css, and its script, which begins in view.js:
                words.js (words and numbers), tools.js (the menu), player.js (story, scenes, steps), labels.js (what
                stands at a line), explain.js (what is said), recompute.js (computes again), edit.js (drags, curves),
                shake.js (a leaf sways, and what follows it), grid.js (an array, large), ask.js (guess first), wrap.js
                (a wide graph in rows, with tight cards), view.js (zoom, keys, search, export, embedding); where a page
                holds a dense layer, its script begins in layer.js (that layer as two tables), with layer.css
compare         `compare`: two graphs, up to where they differ; its page frames two players (reads nodes)
animation       `animate`: scenes with their places as animated SVG, moved by `keyframes`, or one step of it
"""
