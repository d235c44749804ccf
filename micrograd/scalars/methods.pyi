"""Written by docs/stubs.py."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

Class = TypeVar("Class", bound=type)

def elementwise(*makers: Callable[..., Any]) -> Callable[[Class], Class]: ...

class Elementwise:
    """What a Value can do, and a Tensor to each of its elements; beside operators."""

    def exp(self) -> Self:
        """e to the power of a."""
    def log(self) -> Self:
        """The natural logarithm, and -inf at 0."""
    def sqrt(self) -> Self:
        """The square root, and nan below 0."""
    def sin(self) -> Self:
        """The sine, in radians."""
    def cos(self) -> Self:
        """The cosine, in radians."""
    def tanh(self) -> Self:
        """The hyperbolic tangent."""
    def sigmoid(self) -> Self:
        """1 / (1 + exp(-a))."""
    def abs(self) -> Self:
        """The absolute value. The gradient at 0 is 0."""
    def relu(self) -> Self:
        """max(a, 0). The gradient at 0 is 0."""
    def sign(self) -> Self:
        """-1, 0 or 1."""
    def maximum(self, other: Any) -> Self:
        """The larger of the two, which gets the gradient. A tie shares the gradient equally."""
    def exp2(self) -> Self:
        """2 to the power of a."""
    def expm1(self) -> Self:
        """exp(a) - 1, accurate for small a."""
    def log2(self) -> Self:
        """The logarithm to base 2."""
    def log10(self) -> Self:
        """The logarithm to base 10."""
    def log1p(self) -> Self:
        """log(1 + a), accurate for small a."""
    def square(self) -> Self:
        """a * a."""
    def reciprocal(self) -> Self:
        """1 / a."""
    def tan(self) -> Self:
        """The tangent, in radians."""
    def arcsin(self) -> Self:
        """The inverse sine, in [-pi/2, pi/2], and nan outside [-1, 1]."""
    def arccos(self) -> Self:
        """The inverse cosine, in [0, pi], and nan outside [-1, 1]."""
    def arctan(self) -> Self:
        """The inverse tangent, in [-pi/2, pi/2]."""
    def sinh(self) -> Self:
        """The hyperbolic sine."""
    def cosh(self) -> Self:
        """The hyperbolic cosine."""
    def arcsinh(self) -> Self:
        """The inverse hyperbolic sine."""
    def arccosh(self) -> Self:
        """The inverse hyperbolic cosine, and nan below 1."""
    def arctanh(self) -> Self:
        """The inverse hyperbolic tangent, and nan outside [-1, 1]."""
    def softplus(self) -> Self:
        """log(1 + exp(a)), without overflow."""
    def gelu(self) -> Self:
        """The Gaussian error linear unit, tanh approximation (Hendrycks and Gimpel, 2016)."""
    def hypot(self, other: Any) -> Self:
        """sqrt(a * a + b * b), without overflow. The gradient at 0 is 0."""
    def arctan2(self, other: Any) -> Self:
        """The angle of the point (x, y) = (b, a), in [-pi, pi]."""
    def logaddexp(self, other: Any) -> Self:
        """log(exp(a) + exp(b)), without overflow."""
    def minimum(self, other: Any) -> Self:
        """The smaller of the two, which gets the gradient. A tie shares the gradient equally."""
    def floor(self) -> Self:
        """The greatest integer not above a."""
    def ceil(self) -> Self:
        """The smallest integer not below a."""
    def trunc(self) -> Self:
        """a rounded towards 0."""
    def round(self) -> Self:
        """The nearest integer, where halves round to even."""
    def leaky_relu(self, slope: float = 0.01) -> Self:
        """a where a is positive, else slope * a. The gradient at 0 is the slope."""
    def clip(self, low: float | None = None, high: float | None = None, **misspelt: Any) -> Self:
        """Clip a to [low, high]. The gradient at the bounds is 1."""
    def pow(self, exponent: Any) -> Self:
        """self ** exponent."""
    def __pos__(self) -> Self: ...
    def __float__(self) -> float:
        """The number; raises inside a transform, where `math.sin(x)` would drop the derivative, and warns elsewhere."""
    def __format__(self, spec: str) -> str: ...
    def __int__(self) -> int: ...
    def __round__(self, ndigits: int | None = None) -> float: ...
    def _without_gradient(self) -> Any:
        """The number for the caller's caller, with a warning if a gradient would have been recorded."""
    def show(self, **options: Any) -> Any:
        """An interactive page that steps forward and backward through the graph."""
    def __dir__(self) -> list[str]: ...
    def __add__(self, other: Any) -> Self: ...
    def __radd__(self, other: Any) -> Self: ...
    def __sub__(self, other: Any) -> Self: ...
    def __rsub__(self, other: Any) -> Self: ...
    def __mul__(self, other: Any) -> Self: ...
    def __rmul__(self, other: Any) -> Self: ...
    def __truediv__(self, other: Any) -> Self: ...
    def __rtruediv__(self, other: Any) -> Self: ...
    def __mod__(self, other: Any) -> Self: ...
    def __rmod__(self, other: Any) -> Self: ...
    def __floordiv__(self, other: Any) -> Self: ...
    def __rfloordiv__(self, other: Any) -> Self: ...
    def __neg__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __lt__(self, other: Any) -> Any: ...
    def __le__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __ge__(self, other: Any) -> Any: ...
