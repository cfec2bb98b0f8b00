"""Users outside the model: what they do depends on more than the state that a policy sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import validation
from sojourn.users import Space, User

NAMES = ("q00", "q01", "q10", "q11")


@dataclass(frozen=True, repr=False)
class Layered(User):
    """Two-state users whose chances to leave depend on a layer that no policy sees.

    A row of `rows` is q00, q01, q10, q11 of a layer. Layers are kinds of people, drawn anew for
    every visit (`kinds`), or the steps of a visit, the last layer being for all later ones
    (`steps`). The state is twice the layer plus the last reward.

    >>> user = Layered.kinds([(0.5, 0.1, 0.1, 0.1), (0.9, 0.1, 0.1, 0.1)], shares=(0.5, 0.5))
    >>> user.next_state(2.0, 1.0), user.leave_probability(2.0, 0.0, 0), user.experience(3.0)
    (3.0, 0.9, 1.0)
    """

    rows: tuple[tuple[float, float, float, float], ...]
    by_step: bool = False

    def __post_init__(self) -> None:
        rows = tuple(
            tuple(
                validation.number(f"rows[{i}].{n}", q, 0, 1)
                for n, q in zip(NAMES, row, strict=True)
            )
            for i, row in enumerate(self.rows)
        )
        object.__setattr__(self, "rows", rows)
        validation.flag("by_step", self.by_step)
        super().__post_init__()

    @staticmethod
    def kinds(rows: Sequence[Any], shares: Sequence[float]) -> "Layered":
        """Kinds of people, with their shares of the visits."""
        start = {2 * i + 1: share for i, share in enumerate(shares)}
        return Layered(tuple(rows), start=start)

    @staticmethod
    def steps(rows: Sequence[Any]) -> "Layered":
        """A row for each of the first steps; the last row is for all later ones."""
        # A chance for every layer: users of as many layers share their compiled loops.
        start = {2 * i + 1: float(i == 0) for i in range(len(rows))}
        return Layered(tuple(rows), by_step=True, start=start)

    @property
    def space(self) -> Space:  # type: ignore[override]
        """Two states for each layer."""
        return Space(states=2 * len(self.rows), bins=2)

    def experience(self, state: float) -> float:
        """The last reward."""
        return state % 2.0

    def next_state(self, state: float, reward: float) -> float:
        """The same layer, or the next one."""
        layer = state // 2.0
        if self.by_step:
            layer = min(layer + 1.0, len(self.rows) - 1.0)
        return 2.0 * layer + reward

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        """q(last reward, reward) of the layer."""
        return self.rows[int(state // 2.0)][int(2.0 * (state % 2.0) + reward)]
