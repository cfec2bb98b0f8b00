"""Why an arm was chosen, in words.

The words follow what kind of policy chose, the numbers are its own: the bound is the policy's index
at the optimism, counts and time of that moment.
"""

from dataclasses import dataclass
from math import log
from typing import Any

from ...engine.board import extra_of
from ...engine.calls import pupil_of
from ...live import Choice
from ...policies import (
    EpsilonMixture,
    FixedArm,
    Index,
    Policy,
    QLearning,
    Rule,
    UCBQLearning,
    Uniform,
)
from ...policies.gated import Gated, ImedExplorer, ThompsonExplorer
from ...policies.learned import Learned
from ...policies.optimism import TopBin
from .states import short

ENGAGED = 0.5
"""From this state on a visit goes well, unless the policy has another threshold."""


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


def reason(choice: Choice, policy: Policy) -> Reason:
    """Why `policy` made a choice.

    >>> from sojourn import KLULCB
    >>> choice = Choice(0.0, "v1", 1, "cooking", 1.0, 1.0, 9.0, 5.0, 20.0, False, "dance")
    >>> str(reason(choice, KLULCB()))
    'user is engaged: trying *cooking*, upper bound .88'
    """
    pupil = pupil_of(policy)
    mood = _mood(choice, pupil)
    if choice.new:
        return Reason(mood, "first time", choice.arm, " is shown")
    act, figure = _words(choice, pupil)
    if isinstance(policy, EpsilonMixture):
        figure = f"{figure}; or by chance, {policy.epsilon:.0%} of the time"
    return Reason(mood, act, choice.arm, f", {figure}" if figure else "")


def bound(choice: Choice, policy: Any) -> float:
    """The index of the chosen arm at the optimism, the counts and the time of the choice.

    >>> from sojourn import KLUCB
    >>> choice = Choice(0.0, "v1", 1, "dance", 1.0, 1.0, 100.0, 80.0, 1000.0, False, "dance")
    >>> round(bound(choice, KLUCB()), 12)
    0.918524520354
    """
    log_t = log(choice.t)
    mean = choice.successes / choice.pulls
    index = policy.index(mean, choice.pulls, log_t, extra_of(policy.c, log_t), choice.optimism)
    return float(index)


def _mood(choice: Choice, policy: Any) -> str:
    """How the user is, if the policy cares."""
    if not isinstance(policy, Index):
        looks = isinstance(policy, QLearning | UCBQLearning | Rule)
        return _engaged(choice.state, policy) if looks else ""
    if isinstance(policy, Learned) and choice.optimism is not None and choice.optimism <= 0.0:
        return f"{_engaged(choice.state, policy)}, mistakes are dear"
    return _engaged(choice.state, policy) if policy.lowest() < policy.highest() else ""


def _engaged(state: float, policy: Any) -> str:
    least = 1.0 - 1.0 / policy.n if isinstance(policy, TopBin) else ENGAGED
    return "user is engaged" if state >= least else "user is not engaged"


def _words(choice: Choice, policy: Any) -> tuple[str, str]:
    """What is done, and by what figure."""
    if isinstance(policy, Index):
        return _index_words(choice, policy)
    for kind, words in PLAIN:
        if isinstance(policy, kind):
            act, figure = words
            return act, figure.format(epsilon=getattr(policy, "epsilon", 0.0))
    return "chosen:", f"by {policy.name}"


PLAIN: tuple[tuple[type[Policy], tuple[str, str]], ...] = (
    (QLearning, ("playing", "greatest value learned, or by chance {epsilon:.0%} of the time")),
    (UCBQLearning, ("playing", "greatest value with its bonus")),
    (Uniform, ("any arm:", "by chance")),
    (FixedArm, ("always", "")),
    (Rule, ("by the rule:", "")),
)


EXPLORERS: tuple[tuple[type[Policy], str], ...] = (
    (ImedExplorer, "little evidence against it"),
    (ThompsonExplorer, "greatest draw"),
    (Gated, "its own rule"),
)


def _index_words(choice: Choice, policy: Any) -> tuple[str, str]:
    optimism = choice.optimism or 0.0
    act = _act(choice, optimism)
    if choice.pulls <= 0.0:
        return act, "its first result is awaited"
    if optimism > 0.0 and isinstance(policy, Gated):
        pulls = f"{choice.pulls:,.0f} pull{'' if choice.pulls == 1.0 else 's'}"
        why = next(words for kind, words in EXPLORERS if isinstance(policy, kind))
        why = "" if choice.arm == choice.best else f"{why}, "
        return act, f"{why}mean {_mean(choice)} of {pulls}"
    if optimism == 0.0:
        return act, f"mean {_mean(choice)}"
    side = "upper" if optimism > 0.0 else "lower"
    partly = f" at optimism {short(abs(optimism))}" if abs(optimism) != 1.0 else ""
    return act, f"{side} bound {short(bound(choice, policy))}{partly}"


def _act(choice: Choice, optimism: float) -> str:
    if optimism <= 0.0:
        return "playing safe with"
    return "staying with" if choice.arm == choice.best else "trying"


def _mean(choice: Choice) -> str:
    return short(choice.successes / choice.pulls)
