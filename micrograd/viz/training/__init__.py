"""Pictures of a model and its training.

scores   the outputs of a model on points of the plane            (calls models)
plots    `plot_decision_boundary`, `plot_loss`: on matplotlib axes; frames to a GIF
network  the columns of a model, and what its neurons answer      (calls models)
film     `movie`, `watch`: record frames in a training loop; `frames` is their plain data
picture  `draw_network` (network.html, .js); `columns` draws it, here and in movies
panels   frames to SVG, `elastic` in size; `contours` finds the lines, `png` encodes the shades
inside   what a click on a point or a neuron opens: its player     (calls models)
cinema   panels to one page (movie.html, .css, .js; inside.html, .css, .js)
"""
