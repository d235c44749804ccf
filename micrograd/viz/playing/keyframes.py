"""When each element of a moving picture is visible: CSS keyframes for a loop, or one moment of it.

Without its animation each class of a loop shows the final state: elements that appear and stay are visible, and
temporary elements are hidden. Readers who prefer reduced motion, or whose viewer has no animations, see this state.
"""

FADE = 0.16  # duration of a fade, as a fraction of a step
LAND = 0.5  # when a number that travels along a line arrives, as a fraction of a step


class Moment:
    """The end of a single step of a moving picture: a visible element has the class "", a hidden element None."""

    def __init__(self, step: int):
        self.step = step

    def between(self, step: int, end: int) -> str | None:
        """Classes for an element that is visible from `step` until `end`."""
        return "" if step <= self.step < end else None

    landing = between

    def faint_until(self, step: int) -> str:
        """Classes for an element that is faint until `step`."""
        return "waiting" if self.step < step else ""

    def drawn(self, step: int, backward: bool = False) -> str | None:
        """None: a line that is drawn during a step is hidden at the end of this step."""
        return None

    def style(self) -> str:
        """The style sheet for all classes made so far."""
        return ".micrograd-graph .card.waiting{opacity:.65}"


class Clock:
    """Makes classes that say when an element is visible, and their style sheet. The loop begins again after `steps`.

    >>> clock = Clock(4, seconds=1.0)
    >>> clock.between(2, 4), clock.between(1, 3)
    ('t t2', 't t1-3')
    """

    def __init__(self, steps: int, seconds: float):
        self.steps = steps
        self.seconds = seconds
        self._rules: dict[str, str] = {}

    def between(self, step: int, end: int, late: float = 0.0) -> str:
        """Classes for an element that is visible from `step` until `end`."""
        name = f"{'l' if late else 't'}{step}"
        if end >= self.steps:
            return self._rule(name, self._from(step + late, "opacity:0", "opacity:1")) if step > 0 else ""
        first = f"0%,{self._at(step + late)}{{opacity:0}}{self._at(step + late + FADE)}" if step > 0 else "0%"
        last = f",{self._at(end + late)}{{opacity:1}}{self._at(end + late + FADE)},to{{opacity:0}}"
        return self._rule(f"{name}-{end}", first + last, at_rest="opacity:0;")

    def landing(self, step: int, end: int) -> str:
        """Classes for a number that travels to its place during `step`, and is visible there until `end`."""
        return self.between(step, end, LAND)

    def faint_until(self, step: int) -> str:
        """Classes for an element that is faint until `step`."""
        return self._rule(f"w{step}", self._from(step, "opacity:.65", "opacity:1")) if step > 0 else ""

    def drawn(self, step: int, backward: bool = False) -> str:
        """Classes for a line (with `pathLength` 1) that is drawn during `step`, from its start or from its end."""
        undrawn, name = (-1, f"b{step}") if backward else (1, f"f{step}")
        frames = (
            f"0%,{self._at(step)}{{opacity:0;stroke-dashoffset:{undrawn}}}"
            f"{self._at(step + 0.05)}{{opacity:1}}"
            f"{self._at(step + LAND)}{{opacity:1;stroke-dashoffset:0}}"
            f"{self._at(step + LAND + FADE)},to{{opacity:0;stroke-dashoffset:0}}"
        )
        return self._rule(name, frames, at_rest="opacity:0;stroke-dasharray:1 2;")

    def moved(self, shifts: dict[int, float], at_rest: str) -> str:
        """Classes for an element that moves sideways. `shifts` has, by step, the pixels to which it moves then."""
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

    def _from(self, step: float, before: str, after: str) -> str:
        return f"0%,{self._at(step)}{{{before}}}{self._at(step + FADE)},to{{{after}}}"

    def _at(self, step: float) -> str:
        return f"{100 * min(step / self.steps, 1):.4g}%"

    def _rule(self, name: str, frames: str, at_rest: str = "") -> str:
        self._rules[name] = f".{name}{{{at_rest}animation-name:{name}}}@keyframes {name}{{{frames}}}"
        return f"t {name}"
