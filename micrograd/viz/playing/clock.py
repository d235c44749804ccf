"""Keyframes: when each part of an animated SVG is seen. One period is so many steps long, then it begins anew.

Every class is written so that without its animation there is the end of the last step: what is seen from some step on
is seen, what is seen for a while is not. So whoever wants no motion, or knows no animations, has the outcome.
"""

FADE = 0.16  # of a step


class Clock:
    """Gives out classes, and the style sheet that makes what bears them appear and disappear.

    >>> clock = Clock(4, seconds=1.0)
    >>> clock.since(2), clock.between(1, 3)
    ('t t2', 't t1-3')
    """

    def __init__(self, steps: int, seconds: float):
        self.steps, self.seconds = steps, seconds
        self._rules: dict[str, str] = {}

    def since(self, step: int) -> str:
        """The classes of what is seen from a step on."""
        return self._rule(f"t{step}", self._from(step, "opacity:0", "opacity:1")) if step > 0 else ""

    def waking(self, step: int) -> str:
        """The classes of what is pale until a step."""
        return self._rule(f"w{step}", self._from(step, "opacity:.35", "opacity:1")) if step > 0 else ""

    def between(self, step: int, end: int) -> str:
        """The classes of what is seen from a step on, until another."""
        if end >= self.steps:
            return self.since(step)
        hidden = f"0%,{self._at(step)},{self._at(end + FADE)},to{{opacity:0}}"
        seen = f"{self._at(step + FADE)},{self._at(end)}{{opacity:1}}"
        return self._rule(f"t{step}-{end}", hidden + seen, at_rest="opacity:0;")

    def without(self, step: int, end: int) -> str:
        """The classes of what is seen but from a step on until another."""
        seen = f"0%,{self._at(step)},{self._at(end + FADE)},to{{opacity:1}}"
        hidden = f"{self._at(step + FADE)},{self._at(end)}{{opacity:0}}"
        return self._rule(f"n{step}-{end}", seen + hidden)

    def drawn(self, step: int, backward: bool = False) -> str:
        """The classes of a line (of `pathLength` 1) that is drawn during a step: from its start, or from its end."""
        undrawn, name = (-1, f"b{step}") if backward else (1, f"f{step}")
        frames = (
            f"0%,{self._at(step)}{{opacity:0;stroke-dashoffset:{undrawn}}}"
            f"{self._at(step + 0.05)}{{opacity:1}}"
            f"{self._at(step + 0.55)},{self._at(step + 1)}{{opacity:1;stroke-dashoffset:0}}"
            f"{self._at(step + 1 + FADE)},to{{opacity:0;stroke-dashoffset:0}}"
        )
        return self._rule(name, frames, at_rest="opacity:0;stroke-dasharray:1 2;")

    def style(self) -> str:
        """The style sheet of all classes that were given out."""
        turn = f".t{{animation-duration:{self.steps * self.seconds:g}s;animation-iteration-count:infinite}}"
        still = "@media(prefers-reduced-motion:reduce){.t{animation:none!important}}"
        return "".join([turn, *self._rules.values(), still])

    def _from(self, step: int, before: str, after: str) -> str:
        return f"0%,{self._at(step)}{{{before}}}{self._at(step + FADE)},to{{{after}}}"

    def _at(self, step: float) -> str:
        return f"{100 * min(step / self.steps, 1):.4g}%"

    def _rule(self, name: str, frames: str, at_rest: str = "") -> str:
        self._rules[name] = f".{name}{{{at_rest}animation-name:{name}}}@keyframes {name}{{{frames}}}"
        return f"t {name}"
