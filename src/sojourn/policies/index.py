"""Index policies: an explorer (which bound) times an optimism (how far up or down).

After every arm was played once, the arm of greatest index is played. With N pulls of an arm at
empirical mean m, time t = 1 + all pulls so far, and optimism x, the index is

    Hoeffding:  m + x sqrt((log t + c log log t) / (2 N))
    KL:         max{p : N kl(m, p) <=  x log t + c log log t}   if x > 0,
                min{p : N kl(m, p) <= -x log t + c log log t}   otherwise,

and at x = -infinity, where the arm of least mean is wanted (learned optimism may say so), the lower
bound of x = -1 with its sign changed. The paper's theorems take c = 4, its simulations c = 0, which
is the default.
"""

from dataclasses import dataclass, field
from math import log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from .. import validation
from ..engine.divergence import kl_lower, kl_upper
from ..engine.loops import jitable
from .base import Counting
from .explorer import Explorer, Moment
from .optimism import LEAST, Always, Linear, Never, Optimism, TopBin, TwoLevel
from .reasons import Seen, engaged, two_digits

__all__ = [
    "UCB", "KLUCB", "ULCB", "KLULCB", "DiscULCB", "DiscKLULCB", "ContULCB", "ContKLULCB", "Greedy",
]  # fmt: skip


@jitable
def extra_of(c: float, log_t: float) -> float:
    """c log log t, taken as 0 for t < e, where it would be negative."""
    return c * log(max(log_t, 1.0)) if c > 0.0 else 0.0


@dataclass(frozen=True)
class Index(Counting, Explorer, Optimism):
    """Plays the arm of greatest index; explorers give the index, optimisms its argument.

    Arms never played come first, in their order (Algorithm 1); with `introduce_in_any_state`
    False, only in states of positive optimism, and elsewhere the best of the arms already
    played. Ties are broken at random, or in favour of the first arm with `random_ties` False.

    >>> ucb = UCB()  # what it is worth to show an arm with mean 0.5 after 8 pulls, at t = e^4
    >>> isinstance(ucb, Index), ucb.index(0.5, 8, 4.0, 0.0, ucb.optimism(1.0))
    (True, 1.0)
    """

    c: float = 0.0
    random_ties: bool = field(default=True, kw_only=True)
    introduce_in_any_state: bool = field(default=True, kw_only=True)

    if TYPE_CHECKING:  # an explorer has it

        def index(
            self, mean: float, pulls: float, log_t: float, extra: float, optimism: float
        ) -> float: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", validation.number("c", self.c, 0, validation.LARGE))
        for name in ("random_ties", "introduce_in_any_state"):
            validation.flag(name, getattr(self, name))

    def draws_ties(self) -> bool:
        return self.random_ties

    def introduces(self, memory: Any, optimism: float) -> bool:
        return self.introduce_in_any_state or optimism > 0.0 or memory.clock[0] == 0.0

    def explores_in(self, memory: Any, state: float) -> bool:
        return self.optimism_now(memory, state) > 0.0

    def optimism_now(self, memory: Any, state: float) -> float:
        """The optimism in a state, which may depend on what was learned."""
        return self.optimism(state)

    def extra(self, memory: Any, log_t: float) -> float:
        """The term of all arms beside log t: c log log t."""
        return extra_of(self.c, log_t)

    def target(self, memory: Any, state: float, optimism: float) -> float:
        """A mean that all arms are compared with, if any."""
        return 0.0

    def moment(self, memory: Any, state: float, optimism: float) -> Moment:
        log_t = log(memory.clock[0] + 1.0)
        return Moment(log_t, self.extra(memory, log_t), self.target(memory, state, optimism))

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        mean, pulls = self.estimate(memory, arm, state)
        return self.index(mean, pulls, moment.log_t, moment.extra, optimism)

    def _mood(self, choice: Seen) -> str:
        return engaged(choice.state, self._engaged_from) if self.lowest() < self.highest() else ""

    def _words(self, choice: Seen) -> tuple[str, str]:
        optimism = choice.optimism or 0.0
        act = _act(choice, optimism)
        if choice.pulls <= 0.0:
            return act, "its first result is awaited"
        return act, self._figure(choice, choice.successes / choice.pulls, optimism)

    def _figure(self, choice: Seen, mean: float, optimism: float) -> str:
        if optimism == 0.0:
            return f"mean {two_digits(mean)}"
        log_t, optimism = log(choice.t), -1.0 if optimism == LEAST else optimism
        bound = self.index(mean, choice.pulls, log_t, extra_of(self.c, log_t), optimism)
        side = "upper" if optimism > 0.0 else "lower"
        partly = f" at optimism {two_digits(abs(optimism))}" if abs(optimism) != 1.0 else ""
        return f"{side} bound {two_digits(bound)}{partly}"


def _act(choice: Seen, optimism: float) -> str:
    if optimism == LEAST:
        return "the least liked here:"
    if optimism <= 0.0:
        return "playing safe with"
    return "staying with" if choice.arm == choice.best else "trying"


@dataclass(frozen=True)
class Hoeffding(Index):
    """Confidence bounds from Hoeffding's inequality."""

    def index(
        self, mean: float, pulls: float, log_t: float, extra: float, optimism: float
    ) -> float:
        """m + x sqrt((log t + c log log t) / (2 N))."""
        width = sqrt((log_t + extra) / (2.0 * pulls))
        return width - mean if optimism == LEAST else mean + optimism * width


@dataclass(frozen=True)
class KL(Index):
    """Confidence bounds from the Kullback-Leibler divergence."""

    def budget(self, pulls: float, log_t: float, extra: float, optimism: float) -> float:
        """N kl(m, p) at the bound: |x| log t + c log log t."""
        return (1.0 if optimism == LEAST else abs(optimism)) * log_t + extra

    def index(
        self, mean: float, pulls: float, log_t: float, extra: float, optimism: float
    ) -> float:
        """The p above (x > 0) or below the mean with N kl(m, p) = `budget`."""
        nats = self.budget(pulls, log_t, extra, optimism) / pulls
        if optimism == LEAST:
            return -kl_lower(mean, nats)
        return kl_upper(mean, nats) if optimism > 0.0 else kl_lower(mean, nats)


@dataclass(frozen=True)
class UCB(Hoeffding, Always):
    """Upper confidence bounds whatever the state: m + sqrt((log t + c log log t) / (2 N)).

    >>> UCB()
    UCB(c=0.0, random_ties=True, introduce_in_any_state=True)
    """


@dataclass(frozen=True)
class KLUCB(KL, Always):
    """KL upper confidence bounds whatever the state.

    >>> round(KLUCB().index(0.8, 100, log(1000), 0, 1), 12)
    0.918524520354
    """

    title: ClassVar[str] = "KL-UCB"


@dataclass(frozen=True)
class ULCB(Hoeffding, TwoLevel):
    """The paper's ULCB (Algorithm 1): upper bounds in state 1, lower bounds in state 0.

    `c1` and `c0` scale the width in the two states: m + c_s sqrt((log t + c log log t) / (2 N)).

    >>> ULCB().opposite().optimism(0.0)
    1.0
    """


@dataclass(frozen=True)
class KLULCB(KL, TwoLevel):
    """The paper's KL-ULCB; signs of `c0`, `c1` say lower or upper bound (the paper: min or max).

    ``KLULCB().opposite()`` is the paper's algorithm for the opposite case.

    >>> KLULCB().optimism(1.0), KLULCB().optimism(0.0)
    (1.0, -1.0)
    """

    title: ClassVar[str] = "KL-ULCB"


@dataclass(frozen=True)
class DiscULCB(Hoeffding, TopBin):
    """DISC-ULCB: ULCB that takes the top one of `n` bins of the state for 1, the rest for 0.

    >>> DiscULCB(n=4).optimism(0.75), DiscULCB(n=4).optimism(0.74)
    (1.0, -1.0)
    """

    title: ClassVar[str] = "DISC-ULCB"


@dataclass(frozen=True)
class DiscKLULCB(KL, TopBin):
    """DISC-KL-ULCB: KL-ULCB that takes the top one of `n` bins of the state for 1.

    >>> DiscKLULCB().n
    4
    """

    title: ClassVar[str] = "DISC-KL-ULCB"


@dataclass(frozen=True)
class ContULCB(Hoeffding, Linear):
    """CONT-ULCB (Algorithm 3): m + (2 s - 1) sqrt((log t + c log log t) / (2 N)).

    >>> ContULCB().optimism(0.75)
    0.5
    """

    title: ClassVar[str] = "CONT-ULCB"


@dataclass(frozen=True)
class ContKLULCB(KL, Linear):
    """CONT-KL-ULCB: the KL bound with |2 s - 1| log t, upper for s > 1/2, lower otherwise.

    >>> ContKLULCB().optimism(0.25)
    -0.5
    """

    title: ClassVar[str] = "CONT-KL-ULCB"


@dataclass(frozen=True)
class Greedy(Hoeffding, Never):
    """The arm of greatest empirical mean: optimism 0.

    >>> Greedy().index(0.8, 100, 5.0, 0.0, 0.0)
    0.8
    """
