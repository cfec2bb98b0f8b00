"""The number of runs, fixed or as many as a precision needs, and the checkpoints.

With a precision every policy goes on until the 95 % half-width of its regret at the last
checkpoint is small enough. It is looked at only after certain numbers of chunks: first when there
are `FLOOR` runs, then after every growth by a quarter. Whether a policy goes on is a function of
its own chunks up to there, in order, and of nothing else, so that the number of runs, like every
other number, does not depend on who computes what when.

Looking often would favour moments at which the spread looks small by chance. With these few looks
the intervals cover the truth almost as often as with a fixed number of runs (docs/scale.md).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..engine.kernel import REGRET, columns
from ..problem import Problem
from ..stats.intervals import Z95
from ..stats.moments import Moments
from ..validation import InputError

FLOOR = 256  # no policy stops by precision before it has this many runs
MAX_RUNS = 100_000  # where a precision is given up, unless said otherwise
HOPELESS = 10  # a policy that needs this many times the greatest number of runs is given up at once
CHUNK_STEPS = 3e8  # steps in a chunk, about: half a second to a few seconds for index policies
CHUNK_BYTES = 1 << 26  # memory that the totals of a chunk may take


def chunk_runs(problem: Problem, visits: int, checkpoints: int) -> int:
    """Runs in a chunk: a power of two, 8 to 1,024 (fewer where a run's totals are enormous).

    It depends on what is simulated only, because results depend on it in their last digits.
    """
    by_steps = CHUNK_STEPS / problem.expected_steps(visits)
    row = 8 * checkpoints * columns(problem.user.space.bins, problem.arms)
    wanted = int(min(max(by_steps, 8), 1024))
    return 1 << int(log2(max(1, min(wanted, CHUNK_BYTES // row))))


@dataclass(frozen=True)
class Precision:
    """A half-width that is small enough: at most `width`, or at most `share` of the regret.

    With both, the share is for policies for which the width is out of reach: by their own spread
    it would take more than `max_runs` runs.

    >>> str(Precision.of("8.73 else 5%"))
    '8.73 else 5%'
    """

    width: float | None = None
    share: float | None = None
    max_runs: int = MAX_RUNS

    @staticmethod
    def of(value: Any, max_runs: int = MAX_RUNS) -> "Precision":
        """Parse 8.73, "5%" or "8.73 else 5%"."""
        if not isinstance(value, str):
            number = validation.number("precision", value, 0, np.inf, open_ends=True)
            return Precision(width=number, max_runs=max_runs)
        first, _, second = (word.strip() for word in value.partition("else"))
        width_text, share_text = ("", first) if first.endswith("%") else (first, second)
        try:
            if (second and not width_text) or (share_text and not share_text.endswith("%")):
                raise InputError
            width, share = _positive(width_text), _positive(share_text.removesuffix("%"))
            if width is share is None:
                raise InputError
        except ValueError:
            raise InputError(
                f"precision = {value!r} is not allowed: it must be a number greater than 0, a "
                "share such as '5%', or '8.73 else 5%' to use the share where the number is out "
                "of reach"
            ) from None
        return Precision(width, None if share is None else share / 100, max_runs)

    def __str__(self) -> str:
        parts = [] if self.width is None else [f"{self.width:g}"]
        parts += [] if self.share is None else [f"{100 * self.share:g}%"]
        return " else ".join(parts)

    def allowed(self, moments: Moments) -> float:
        """The half-width that is small enough for a policy with these moments."""
        if self.width is not None and (
            self.share is None or _runs_for(self.width, moments) <= self.max_runs
        ):
            return self.width
        return (self.share or 0.0) * abs(float(moments.mean[-1, REGRET]))

    def reached(self, moments: Moments) -> bool:
        """Whether the regret at the last checkpoint is known this well."""
        half_width = moments.estimate.half_width[-1, REGRET]
        return bool(half_width <= self.allowed(moments))

    def needed(self, moments: Moments) -> float:
        """About how many runs it takes, judged by these."""
        return _runs_for(self.allowed(moments), moments)


def _positive(text: str) -> float | None:
    return validation.number("", float(text), 0, np.inf, open_ends=True) if text else None


def _runs_for(half_width: float, moments: Moments) -> float:
    """About how many runs it takes for this half-width."""
    variance = float(moments.squares[-1, REGRET]) / max(moments.runs - 1, 1)
    if variance == 0.0:
        return moments.runs
    return variance * (Z95 / half_width) ** 2 if half_width > 0.0 else np.inf


@dataclass(frozen=True)
class Plan:
    """The chunks, and how many of them a policy needs."""

    first_run: int
    size: int  # runs in a chunk
    limit: int  # runs at most; exactly this many without a precision
    precision: Precision | None = None

    @property
    def chunks(self) -> int:
        """Chunks at most; the last may be a short one."""
        return -(-self.limit // self.size)

    def span(self, number: int) -> tuple[int, int]:
        """The first run of a chunk, and how many it has."""
        begin = number * self.size
        return self.first_run + begin, min(self.size, self.limit - begin)

    @property
    def first_look(self) -> int:
        """The chunks that every policy needs."""
        return self.chunks if self.precision is None else min(-(-FLOOR // self.size), self.chunks)

    def next_look(self, done: int, moments: Moments) -> int:
        """The chunks that a policy needs whose first `done` chunks have these moments.

        If it is `done`, the policy has enough of them, or no hope.
        """
        if self.precision is None or done == self.chunks:
            return done
        hopeless = self.precision.needed(moments) > HOPELESS * self.limit
        if self.precision.reached(moments) or hopeless:
            return done
        return min(_after(done), self.chunks)

    def expected(self, done: int, moments: Moments) -> int:
        """About how many chunks a policy will need in the end, judged by the first `done`."""
        if self.precision is None or done == 0:
            return self.first_look
        needed = ceil(min(self.precision.needed(moments), self.limit) / self.size)
        look = self.first_look
        while look < max(needed, done):
            look = _after(look)
        return min(look, self.chunks)


def _after(look: int) -> int:
    """The next look: a quarter more chunks."""
    return max(look + 1, (5 * look + 3) // 4)


Checkpoints = int | str | Iterable[int] | None

SPACED = 24  # checkpoints unless said otherwise

SPACINGS: dict[str, Callable[[int, int], NDArray[np.float64]]] = {
    "log": lambda visits, count: np.geomspace(1, visits, count),
    "linear": lambda visits, count: np.linspace(visits / count, visits, count),
}


def checkpoint_grid(visits: int, checkpoints: Checkpoints = None) -> NDArray[np.int64]:
    """The numbers of visits at which to keep totals, ending with `visits`.

    `checkpoints` is a list of them, or how many to spread evenly on a logarithmic scale, or
    "log:24" or "linear:50". Numbers that coincide after rounding are kept once.
    """
    if checkpoints is None:
        checkpoints = SPACED
    if isinstance(checkpoints, str):
        points = _spread(visits, checkpoints)
    elif isinstance(checkpoints, Iterable):
        points = np.array(
            [validation.whole("checkpoints", c, 1, visits) for c in checkpoints], float
        )
    else:
        points = SPACINGS["log"](visits, validation.whole("checkpoints", checkpoints, 1))
    whole = np.append(points.round(), visits).astype(np.int64)
    return np.unique(np.maximum(whole, 1))


def _spread(visits: int, text: str) -> NDArray[np.float64]:
    name, _, count = (part.strip() for part in text.partition(":"))
    if name not in SPACINGS or not count.isdecimal() or int(count) == 0:
        raise InputError(
            f"checkpoints = {text!r} is not allowed: "
            "it must be a number, a list of numbers, or text such as 'log:24' or 'linear:50'"
        )
    return SPACINGS[name](visits, int(count))
