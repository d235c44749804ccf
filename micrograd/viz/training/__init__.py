"""Pictures of a model and its training.

evaluate       the outputs of a model on points of the plane            (calls models)
classes        the colours and shapes of classes, here and on the site
plots          `plot_decision_boundary`, `plot_loss`: on matplotlib axes
neurons        the columns of a model, and what its neurons answer      (calls models)
record         `movie`, `watch`: record frames in a training loop; `frames` is their plain data
draw_network   `draw_network` (network.html, .js); `network_svg` draws it, here and in movies; fit.js sizes the neurons
draw_layer     `draw_layer`: weights and gradients of a dense layer as tables
panels         frames to SVG, `elastic` in size; `contours` finds the lines, `palette_png` encodes the shades
open_player    what a click on a point or a neuron opens: its player     (calls models)
movie_page     panels to one page (movie.html, .css, .js; inside.html, .css, .js), and to the pictures of a GIF
"""
