from .animation import animate as animate
from .data import trace as trace
from .draw import draw_dot as draw_dot
from .film import movie as movie
from .play import player as player
from .plots import plot_decision_boundary as plot_decision_boundary
from .plots import plot_loss as plot_loss

__all__ = ["animate", "draw_dot", "movie", "player", "plot_decision_boundary", "plot_loss", "trace"]
