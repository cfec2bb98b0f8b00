"""Why an arm was chosen, in words: what policies say on the dashboard."""

from dataclasses import dataclass
from typing import Protocol

ENGAGED = 0.5
"""From this state on a visit goes well, unless the policy has another threshold."""


class Seen(Protocol):
    """A choice with what the policy knew when it made it; `sojourn.live.Choice` is one.

    `optimism` is that of the state (None: the policy has none), `pulls` and `successes` are those
    of the arm, `t` is the time; `new` says that it was given out for the first time; `best` was
    the arm of greatest mean; not `exploring`, the policy played the best arm it knew.
    """

    @property
    def arm(self) -> str: ...
    @property
    def state(self) -> float: ...
    @property
    def optimism(self) -> float | None: ...
    @property
    def pulls(self) -> float: ...
    @property
    def successes(self) -> float: ...
    @property
    def t(self) -> float: ...
    @property
    def new(self) -> bool: ...
    @property
    def best(self) -> str | None: ...
    @property
    def exploring(self) -> bool: ...


@dataclass(frozen=True)
class Reason:
    """A sentence in parts: how the user is, what is done with which arm, and by what figure.

    >>> str(Reason("user is engaged", "trying", "cooking", ", upper bound .81"))
    'user is engaged: trying *cooking*, upper bound .81'
    """

    mood: str
    act: str
    arm: str
    rest: str

    def __str__(self) -> str:
        mood = f"{self.mood}: " if self.mood else ""
        return f"{mood}{self.act} *{self.arm}*{self.rest}"


def engaged(state: float, threshold: float = ENGAGED) -> str:
    """How a user in this state is."""
    return "user is engaged" if state >= threshold else "user is not engaged"


def short(p: float, digits: int = 2) -> str:
    """A number from 0 to 1 without its leading zero.

    >>> short(0.8149), short(1.0), short(0.0), short(-0.5)
    ('.81', '1.00', '.00', '-.50')
    """
    text = f"{p:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def mean_of_pulls(choice: Seen) -> str:
    """What is known of an arm that has pulls."""
    pulls = f"{choice.pulls:,.0f} pull{'' if choice.pulls == 1.0 else 's'}"
    return f"mean {short(choice.successes / choice.pulls)} of {pulls}"
