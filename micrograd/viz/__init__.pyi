from .drawing.data import trace as trace
from .drawing.draw import draw_dot as draw_dot
from .from_torch import torch as torch
from .playing.animation import animate as animate
from .playing.compare import compare as compare
from .playing.player_page import player as player
from .training.draw_layer import draw_layer as draw_layer
from .training.draw_network import draw_network as draw_network
from .training.plots import plot_decision_boundary as plot_decision_boundary
from .training.plots import plot_loss as plot_loss
from .training.record import movie as movie
from .training.record import watch as watch

__all__ = [
    "animate",
    "compare",
    "draw_dot",
    "draw_layer",
    "draw_network",
    "movie",
    "player",
    "plot_decision_boundary",
    "plot_loss",
    "torch",
    "trace",
    "watch",
]
