"""CSS keyframes for an animated SVG: when each element is visible. The animation loops after `steps` steps.

Without its animation each class shows the final state: elements that appear and stay are visible, temporary ones are
hidden. That is what readers get who prefer reduced motion, or whose viewer does not support animations.
"""

FADE = 0.16  # duration of a fade, as a fraction of a step


class Clock:
    """Makes classes that say when an element is visible, and the style sheet for them.

    >>> clock = Clock(4, seconds=1.0)
    >>> clock.since(2), clock.between(1, 3)
    ('t t2', 't t1-3')
    """

    def __init__(self, steps: int, seconds: float):
        self.steps = steps
        self.seconds = seconds
        self._rules: dict[str, str] = {}

    def since(self, step: int) -> str:
        """Classes for an element that is visible from `step` on."""
        return self._rule(f"t{step}", self._from(step, "opacity:0", "opacity:1")) if step > 0 else ""

    def waking(self, step: int) -> str:
        """Classes for an element that is faint until `step`."""
        return self._rule(f"w{step}", self._from(step, "opacity:.35", "opacity:1")) if step > 0 else ""

    def between(self, step: int, end: int) -> str:
        """Classes for an element that is visible from `step` until `end`."""
        if end >= self.steps:
            return self.since(step)
        return self._rule(f"t{step}-{end}", self._while(step, end, "opacity:0", "opacity:1"), at_rest="opacity:0;")

    def without(self, step: int, end: int) -> str:
        """Classes for an element that is hidden from `step` until `end`."""
        return self._rule(f"n{step}-{end}", self._while(step, end, "opacity:1", "opacity:0"))

    def drawn(self, step: int, backward: bool = False) -> str:
        """Classes for a line (with `pathLength` 1) that is drawn during `step`, from its start or from its end."""
        undrawn, name = (-1, f"b{step}") if backward else (1, f"f{step}")
        frames = (
            f"0%,{self._at(step)}{{opacity:0;stroke-dashoffset:{undrawn}}}"
            f"{self._at(step + 0.05)}{{opacity:1}}"
            f"{self._at(step + 0.55)},{self._at(step + 1)}{{opacity:1;stroke-dashoffset:0}}"
            f"{self._at(step + 1 + FADE)},to{{opacity:0;stroke-dashoffset:0}}"
        )
        return self._rule(name, frames, at_rest="opacity:0;stroke-dasharray:1 2;")

    def moved(self, shifts: dict[int, float], at_rest: str) -> str:
        """Classes for what is shifted to the side, from each of these steps on by a number of pixels."""
        frames, before = "", 0.0
        for step, shift in sorted(shifts.items()):
            frames += f"{self._at(step)}{{transform:translateX({before:.4g}px)}}"
            frames += f"{self._at(step + 0.4)}{{transform:translateX({shift:.4g}px)}}"
            before = shift
        return self._rule("m", f"0%{{transform:none}}{frames}to{{transform:translateX({before:.4g}px)}}", at_rest)

    def style(self) -> str:
        """The style sheet for all classes made so far."""
        turn = f".t{{animation-duration:{self.steps * self.seconds:g}s;animation-iteration-count:infinite}}"
        still = "@media(prefers-reduced-motion:reduce){.t{animation:none!important}}"
        return "".join([turn, *self._rules.values(), still])

    def _from(self, step: int, before: str, after: str) -> str:
        return f"0%,{self._at(step)}{{{before}}}{self._at(step + FADE)},to{{{after}}}"

    def _while(self, step: int, end: int, around: str, inside: str) -> str:
        outer = f"0%,{self._at(step)},{self._at(end + FADE)},to{{{around}}}"
        return f"{outer}{self._at(step + FADE)},{self._at(end)}{{{inside}}}"

    def _at(self, step: float) -> str:
        return f"{100 * min(step / self.steps, 1):.4g}%"

    def _rule(self, name: str, frames: str, at_rest: str = "") -> str:
        self._rules[name] = f".{name}{{{at_rest}animation-name:{name}}}@keyframes {name}{{{frames}}}"
        return f"t {name}"
