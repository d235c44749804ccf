"""Pictures, in four subpackages. These share `page` (self-contained HTML, with data that unpack.js unpacks), `modules`
(a page's modules of JavaScript as one script), html.js and numbers.js (how pages write HTML and numbers), `files`
(writing in full or not at all, and SVG as pixels), `recorder` (the calculation of a rule of the derivative table, as a
tree), `rule_text` (the rules as text), `infix` (the text of an op and its operands), `text`, `values` and `optional`
(packages that may be missing).

drawing    of a graph:      `draw_dot`, `trace`
playing    of a pass:       `player`, `animate`, `compare`
training   of a training:   `movie`, `watch`, `draw_network`, `draw_layer`, `plot_decision_boundary`, `plot_loss`
from_torch of a program in PyTorch: `torch`

The engine imports nothing from here until `show()` is called. NumPy, matplotlib and graphviz are imported on first
use.
"""

import sys

from ..face import face

_HOME = {
    "drawing.data": "trace",
    "drawing.draw": "draw_dot",
    "playing.animation": "animate",
    "playing.compare": "compare",
    "playing.player_page": "player",
    "from_torch": "torch",
    "training.record": "movie watch",
    "training.draw_layer": "draw_layer",
    "training.draw_network": "draw_network",
    "training.plots": "plot_decision_boundary plot_loss",
}
__getattr__, __dir__ = face(__name__, _HOME)

if "IPython" in sys.modules:  # a notebook may be running, which shows what led to the error of an op
    from .drawing.broken import listen

    listen()
