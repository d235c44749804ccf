"""What the live pages ask of Python. Standard library and micrograd only; every answer is JSON.

text        names, numbers and errors of a text that somebody writes
chains      long chains of objects, which are freed from their ends
cells       `cell`: the cells of a lesson; `notebook`: for those that draw with matplotlib
playing     `run`: a text, its picture and its sliders
data        the points to learn
training    `start`, `go`, `put`, `set_rate`, `point`, `one`: the learner's own `model`, `optimizer` and `step(batch)`
drilling    `drill`: the graphs of the drills page, and how an answer is judged
surface     the graph of one point as a list of instructions, which a page can follow for many points at once
"""

from .cells import cell as cell
from .cells import notebook as notebook
from .drilling import drill as drill
from .playing import run as run
from .training import go as go
from .training import one as one
from .training import point as point
from .training import put as put
from .training import set_rate as set_rate
from .training import start as start
