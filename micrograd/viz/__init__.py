"""Pictures, in three rooms that share `page` (one HTML file that carries all it needs), `text` and `values`.

drawing    of a graph:      `draw_dot`, `trace`
playing    of a pass:       `player`, `animate`
training   of a training:   `movie`, `plot_decision_boundary`, `plot_loss`

The engine imports nothing from here, and nothing here imports NumPy, matplotlib or graphviz before it is asked for.
"""

from ..face import face

_HOME = {
    "drawing.data": "trace",
    "drawing.draw": "draw_dot",
    "playing.animation": "animate",
    "playing.play": "player",
    "training.film": "movie",
    "training.plots": "plot_decision_boundary plot_loss",
}
__getattr__, __dir__ = face(__name__, _HOME)
