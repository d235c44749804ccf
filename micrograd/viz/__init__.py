"""Pictures: three subpackages, and what they share: `page` (self-contained HTML; unpack.js reads what it packs),
`infix` (notation with the parentheses that are needed), `rule_text` (the rules of the derivative table as text),
`text`, `values` and `progress`.

drawing    of a graph:      `draw_dot`, `trace`
playing    of a pass:       `player`, `animate`
training   of a training:   `movie`, `watch`, `draw_network`, `plot_decision_boundary`, `plot_loss`

The engine imports nothing from here until `show()` is called. NumPy, matplotlib and graphviz are imported on first
use.
"""

from ..face import face

_HOME = {
    "drawing.data": "trace",
    "drawing.draw": "draw_dot",
    "playing.animation": "animate",
    "playing.play": "player",
    "training.film": "movie watch",
    "training.picture": "draw_network",
    "training.plots": "plot_decision_boundary plot_loss",
}
__getattr__, __dir__ = face(__name__, _HOME)
