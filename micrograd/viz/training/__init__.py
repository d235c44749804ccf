"""Pictures of a classifier and its training.

scores   the outputs of a model on points of the plane            (calls models)
plots    `plot_decision_boundary`, `plot_loss`: on matplotlib axes
film     `movie`: records frames in a training loop; `frames` is their plain data
panels   frames to SVG; `contours` finds the lines, `png` encodes the shades
cinema   panels to one page (movie.html, .css, .js)
gif      frames to a GIF
"""
