"""Forward and backward passes, step by step; uses the data, folding and layout of `drawing`.

gradients       a separate backward pass                                 (reads nodes)
views           the graph as scenes, plain data; a box can open a scene  (reads nodes)
recompute       a graph as data, which the page computes again           (reads nodes)
textbook        derivatives in the form of textbooks, where a rule has another form
placement       coordinates of the cards, wires and numbers of a scene
player_page     `player`: all steps, as a page: player.html, .css, and its script, whose modules import those before
                them in this list: state.js (what is shown), words.js (words, numbers, formulas), recompute.js (the
                program), marks.js (elements of SVG), engine.js (the program's numbers), story.js (loads a story),
                curves.js (in a leaf), cells.js (of a heat-map), ask.js (guess first), shake.js (a leaf sways, and what
                follows it), labels.js (what stands at a line), draw.js (cards and lines), wrap.js (a wide graph in
                rows, with tight cards), grid.js (an array, large), explain.js (what is said), view.js (zoom, sizes),
                player.js (steps and scenes), edit.js (drags, typing, guesses), tools.js (the menu), and main.js, in
                which a page begins (pointer, keys, search, export, embedding); where a page holds a dense layer, its
                script begins in layer.js (that layer as two tables), with layer.css
compare         `compare`: two graphs, up to where they differ; its page frames two players (reads nodes)
animation       `animate`: scenes with their places as animated SVG, moved by `keyframes`, or one step of it
"""
