"""Why an arm was chosen, in words, for the dashboard."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..engine.structs import interpreted

if TYPE_CHECKING:
    from ..live.answers import Choice

Seen: TypeAlias = "Choice"
"""A decision and what the policy knew when it took it."""

ENGAGED = 0.5
"""From this state on a visit goes well, unless the policy has another threshold."""


@dataclass(frozen=True)
class Reason:
    """A sentence in parts: how the user is, what is done with which arm, and by what figure.

    >>> str(Reason("user is engaged", "trying", "cooking", ", upper bound 0.81"))
    'user is engaged: trying *cooking*, upper bound 0.81'
    """

    mood: str
    act: str
    arm: str
    rest: str

    def __str__(self) -> str:
        mood = f"{self.mood}: " if self.mood else ""
        return f"{mood}{self.act} *{self.arm}*{self.rest}"


def engaged(state: float, threshold: float = ENGAGED) -> str:
    """A user in this state, in words."""
    return "user is engaged" if state >= threshold else "user is not engaged"


def two_digits(p: float) -> str:
    """A mean, a bound or a chance, as sentences and tables show it.

    >>> two_digits(0.8149), two_digits(1.0)
    ('0.81', '1.00')
    """
    return f"{p:.2f}"


def mean_of_pulls(choice: Seen) -> str:
    """The mean of an arm that has pulls, in words."""
    pulls = f"{choice.pulls:,.0f} pull{'' if choice.pulls == 1.0 else 's'}"
    return f"mean {two_digits(choice.successes / choice.pulls)} of {pulls}"


class Explains:
    """Mixin of policies that explain their choices."""

    if TYPE_CHECKING:

        @property
        def label(self) -> str: ...

    @interpreted
    def reason(self, choice: Seen) -> Reason:
        """Why it chose as it did, in words.

        >>> from sojourn.policies import KLULCB
        >>> from sojourn.live import Choice
        >>> choice = Choice(0.0, "v1", 1, "cooking", 1.0, 1.0, 9.0, 5.0, 20.0, False, "dance")
        >>> str(KLULCB().reason(choice))
        'user is engaged: trying *cooking*, upper bound 0.88'
        """
        mood = self._mood(choice)
        if not choice.exploring:
            known = f", {mean_of_pulls(choice)}" if choice.pulls > 0.0 else ""
            return Reason("exploring is stopped", "best known:", choice.arm, known)
        if choice.new:
            return Reason(mood, "first time", choice.arm, " is shown")
        act, figure = self._words(choice)
        return Reason(mood, act, choice.arm, f", {figure}" if figure else "")

    @interpreted
    def optimism_in(self, memory: Any, state: float) -> float | None:
        """Its optimism in a state, if it has any."""
        return None

    def _mood(self, choice: Seen) -> str:
        """How the user is, if the policy cares."""
        return ""

    def _words(self, choice: Seen) -> tuple[str, str]:
        """What is done, and by what figure."""
        return "chosen:", f"by {self.label}"


@dataclass(frozen=True)
class Unexplained(Explains):
    """Explains a policy that does not explain itself."""

    label: str


def explainer(policy: Any) -> Explains:
    """The policy itself if it explains its choices, else a stand-in."""
    return policy if isinstance(policy, Explains) else Unexplained(policy.label)


def explain(policy: Any, choice: Seen) -> Reason:
    """Why a policy chose as it did."""
    return explainer(policy).reason(choice)
