"""Written by docs/stubs.py."""

from collections.abc import Callable

Function = Callable[[float], float]

def ieee(function: Function, edge: Function = ...) -> Function:
    """The function, with `edge` called instead where it raises."""

def exp(a: float) -> float:
    """"""

def exp2(a: float) -> float:
    """"""

def expm1(a: float) -> float:
    """"""

def cosh(a: float) -> float:
    """"""

def log(a: float) -> float:
    """"""

def log2(a: float) -> float:
    """"""

def log10(a: float) -> float:
    """"""

def log1p(a: float) -> float:
    """"""

def sqrt(a: float) -> float:
    """"""

def sin(a: float) -> float:
    """"""

def cos(a: float) -> float:
    """"""

def tan(a: float) -> float:
    """"""

def sinh(a: float) -> float:
    """"""

def arcsin(a: float) -> float:
    """"""

def arccos(a: float) -> float:
    """"""

def arccosh(a: float) -> float:
    """"""

def arctanh(a: float) -> float:
    """"""

tanh: Function
arctan: Function
arcsinh: Function
arctan2: Callable[[float, float], float]
hypot: Callable[[float, float], float]

def divide(a: float, b: float) -> float:
    """a / b; 1/0 is inf, 0/0 is nan."""

def floor_divide(a: float, b: float) -> float:
    """a // b; for b = 0, the result of `divide`."""

def remainder(a: float, b: float) -> float:
    """a % b, with the sign of b; nan for b = 0."""

def power(a: float, b: float) -> float:
    """a ** b, never complex: (-8) ** 0.5 is nan."""

def logaddexp(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), without overflow."""

def floor(a: float) -> float:
    """The greatest integer not above a; inf and nan stay as they are."""

def ceil(a: float) -> float:
    """The smallest integer not below a."""

def trunc(a: float) -> float:
    """a rounded towards 0."""

def rint(a: float) -> float:
    """The nearest integer; halves round to even."""

def sign(a: float) -> float:
    """-1, 0 or 1; nan stays nan."""

def maximum(a: float, b: float) -> float:
    """The larger; nan if either is nan."""

def minimum(a: float, b: float) -> float:
    """The smaller; nan if either is nan."""

def clip(a: float, low: float | None, high: float | None) -> float:
    """a clipped to [low, high], where None is no bound; nan stays nan."""

def gate(a: float, b: float) -> float:
    """0 if b <= 0, else a."""

def where(condition: bool, a: float, b: float) -> float:
    """a if the condition holds, else b."""
