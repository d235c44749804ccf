"""What a model does, rather than how it was made.

scores   what it says of every place of the plane                 (knows models)
plots    plot_decision_boundary, plot_loss: on matplotlib axes
film     movie: takes frames in a training loop; `frames` is what they are
panels   frames to SVG; `contours` finds the lines, `png` packs the shades
cinema   panels to one page, with movie.html, .css and .js
gif      frames to a GIF
"""
