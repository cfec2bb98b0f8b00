"""The result of a simulation: moments over runs at checkpoints, never trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.kernel import BY_LEVEL, REGRET, REWARD, STEPS
from ..extras import require
from ..policies import Policy
from ..problem import Problem
from ..registry import plain_name
from ..show.tables import Part, Shown
from ..stats.moments import Estimate, Moments
from ..validation import InputError
from ..version import __version__
from . import saved, tables
from .precision import Precision

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Stream(NamedTuple):
    """The origin of runs: `runs` of them, numbered from `first`, of one seed.

    >>> Stream(seed=0, first=0, runs=8).overlaps(Stream(seed=0, first=8, runs=8))
    False
    """

    seed: int
    first: int
    runs: int

    def overlaps(self, other: "Stream") -> bool:
        begin, end = max(self.first, other.first), min(self.end, other.end)
        return self.seed == other.seed and begin < end

    @property
    def end(self) -> int:
        return self.first + self.runs


@dataclass(frozen=True, eq=False, repr=False)
class Result(Shown):
    """Estimates for every policy (first axis) at every checkpoint (second axis).

    >>> import sojourn as sj
    >>> result = sj.simulate(sj.paper.SETTINGS["B"], ["UCB", "ULCB"], visits=50, runs=8)
    >>> result.regret.mean.shape == (2, len(result.checkpoints))
    True
    >>> result
    <Result of UCB (8 runs), ULCB (8 runs): 50 visits, 18 checkpoints, seed 0>
    """

    problem: Problem
    policies: tuple[Policy, ...]
    checkpoints: NDArray[np.int64]
    moments: tuple[Moments, ...]
    """Moments by policy, of all columns: [checkpoint, column]; `kernel` describes the columns."""
    pairs: tuple[Moments, ...]
    """Moments of the regret of one policy less that of a later one: (0, 1), (0, 2), ..."""
    streams: tuple[tuple[Stream, ...], ...]  # by policy, where its runs came from
    precision: Precision | None = None  # what was asked for, if it was
    version: str = __version__  # of the package that computed it
    last: tuple[NDArray[np.float64], ...] = ()
    """The regret of each run at the last checkpoint, by policy; files do not have it."""

    @property
    def labels(self) -> list[str]:
        """The label of every policy, numbered where two are the same."""
        return tables.labels(self.policies, self.problem)

    @property
    def runs(self) -> list[int]:
        return [m.runs for m in self.moments]

    @property
    def reached(self) -> list[bool]:
        """Whether each policy has the precision asked for; all True if none was."""
        wanted = self.precision
        return [wanted is None or (m.runs > 1 and wanted.reached(m)) for m in self.moments]

    @property
    def seed(self) -> int:
        """The seed; the first one if results of several were merged."""
        return self.streams[0][0].seed

    @property
    def regret(self) -> Estimate:
        """Expected reward lost against the optimal rule, estimated from gaps."""
        return self._estimate(REGRET)

    def quantile(self, share: float) -> NDArray[np.float64]:
        """The regret at the end that this share of the runs does not exceed, by policy.

        The greatest regrets are rare: a 99.9 % quantile takes several thousand runs. InputError if
        the result was read from a file, which has moments only.

        >>> import sojourn as sj
        >>> result = sj.simulate("B", ["UCB", "ULCB"], visits=50, runs=8)
        >>> bool((result.quantile(1.0) >= result.regret.mean[:, -1]).all())
        True
        """
        if not self.last:
            raise InputError("quantile does not apply: a file has no single runs; simulate again")
        return np.array([np.quantile(of_runs, share) for of_runs in self.last])

    @property
    def reward(self) -> Estimate:
        return self._estimate(REWARD)

    @property
    def raw_regret(self) -> Estimate:
        """The same regret estimated from rewards: unbiased too, but far noisier."""
        optimal = self.problem.optimum(self.checkpoints)
        return Estimate(optimal - self.reward.mean, self.reward.std_error)

    @property
    def steps(self) -> Estimate:
        """Steps of all visits so far."""
        return self._estimate(STEPS)

    @property
    def visit_length(self) -> Estimate:
        """Steps of a visit, on average over the visits so far."""
        return self._per_visit(self.steps)

    @property
    def visit_reward(self) -> Estimate:
        """Reward of a visit, on average over the visits so far."""
        return self._per_visit(self.reward)

    @property
    def regret_by_level(self) -> Estimate:
        """Regret by the level of experience it arose in (third axis), lowest first."""
        levels = self.problem.user.space.bins
        return self._estimate(BY_LEVEL, levels)

    @property
    def pulls(self) -> Estimate:
        """Pulls by level of experience (third axis) and arm (fourth)."""
        levels = self.problem.user.space.bins
        return self._estimate(BY_LEVEL + levels, levels, self.problem.arms)

    def difference(self, one: int | str, other: int | str) -> Estimate:
        """Regret of one policy less that of another, at all checkpoints, run by run.

        Policies go by their number, label or class name. Both met the same users, so the interval
        is usually narrower than those of the two regrets. It uses the runs that both have.

        >>> import sojourn as sj
        >>> result = sj.simulate(sj.paper.SETTINGS["B"], ["UCB", "ULCB"], visits=50, runs=8)
        >>> bool(result.difference("UCB", "ULCB").mean[-1] == -result.difference(1, 0).mean[-1])
        True
        """
        p, q = self.index(one), self.index(other)
        estimate = self.pair(p, q).estimate
        return estimate if p < q else Estimate(-estimate.mean, estimate.std_error)

    def pair(self, p: int, q: int) -> Moments:
        """The moments behind the difference of two policies, whichever comes first."""
        if p == q:
            raise InputError(f"{self.labels[p]!r} is one policy: a difference takes two")
        numbers = list(combinations(range(len(self.policies)), 2))
        return self.pairs[numbers.index((min(p, q), max(p, q)))]

    def index(self, policy: int | str) -> int:
        """The number of a policy, given that, its label or the name of its class.

        Case, hyphens and spaces do not matter as long as one policy only is meant.
        """
        if isinstance(policy, int) and 0 <= policy < len(self.policies):
            return policy
        labels = self.labels
        if isinstance(policy, str):
            plain = plain_name(policy)
            for wanted, names in (
                (policy, labels),
                (plain, [plain_name(label) for label in labels]),
                (plain, [plain_name(type(p).__name__) for p in self.policies]),
            ):
                if names.count(wanted) == 1:
                    return names.index(wanted)
        raise InputError(
            f"policy {policy!r} is not in this result: it has {', '.join(labels)}, "
            f"numbered from 0 to {len(labels) - 1}"
        )

    def compare(self, baseline: int | str | None = None) -> str:
        """A table of the differences from one policy, by default the one of least regret."""
        return tables.differences(self, None if baseline is None else self.index(baseline)).text()

    def merge(self, *others: "Result") -> "Result":
        """This result and others of the same problem, policies and checkpoints, but other runs.

        >>> import sojourn as sj
        >>> half = {"visits": 50, "runs": 8}
        >>> a = sj.simulate(sj.paper.SETTINGS["B"], [sj.policies.ULCB()], **half)
        >>> b = sj.simulate(sj.paper.SETTINGS["B"], [sj.policies.ULCB()], first_run=8, **half)
        >>> a.merge(b).runs
        [16]
        """
        return reduce(Result._merge, others, self)

    def save(self, path: str | Path) -> None:
        """Write a .csv or .csv.gz file that pandas and polars read; `load` gets back the same bits.

        The first line, a comment, says what was simulated; docs/scale.md describes the columns.
        The file is replaced as a whole or not at all.
        """
        saved.save(self, path)

    @staticmethod
    def load(
        path: str | Path,
        *,
        problem: Problem | None = None,
        policies: Sequence[Policy] | None = None,
    ) -> "Result":
        """The result in a file that `save` wrote.

        A user model or a policy of your own cannot be read from a file: give the same `problem`
        or `policies` again.
        """
        return saved.load(path, problem, policies)

    def to_columns(self) -> dict[str, list[Any]]:
        """All estimates as one long table, column by column, as `save` writes it."""
        return tables.columns(self)

    def to_frame(self) -> "pandas.DataFrame":
        """The table of `to_columns` for pandas; for polars, `polars.DataFrame(r.to_columns())`."""
        require("to_frame", "frame", "pandas")
        import pandas

        frame = pandas.DataFrame(self.to_columns())
        return frame.astype({"level": "Int64", "arm": "Int64"})

    def plot(
        self,
        path: str | Path | None = None,
        *,
        bounds: bool = False,
        per_log: bool = False,
        ax: "Axes | None" = None,
        size: tuple[float, float] | None = None,
        labels: Mapping[str | int, str] | Sequence[str] | None = None,
    ) -> "Figure":
        """Regret against visits, with 95 % bands; the figure, which notebooks show, is returned.

        Arguments, all but the first by name:
            path: Where to write it, too: .png, .svg, .pdf or what else Matplotlib knows.
            bounds: Draw the paper's bounds, slopes times log K. They hold up to terms of lower
                order and are often far above the curves.
            per_log: Divide regret by log K, so that slopes are levels.
            ax: Axes of Matplotlib to draw on, in their style, with a legend.
            size: Width and height in inches; by default a column of a paper.
            labels: Other names of the curves: one for each policy, or a dictionary of some.

        Needs the extra `plot`.

        >>> import sojourn as sj
        >>> result = sj.simulate("B", ["UCB", "ULCB"], visits=50, runs=8)
        >>> axes = result.plot(size=(5, 3), labels={"ULCB": "mine"}).axes[0]
        >>> [line.get_label() for line in axes.lines]
        ['UCB', 'mine']
        """
        from .plot import plot

        return plot(
            self, path, bounds=bounds, per_log=per_log, ax=ax, size=size, labels=labels
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The whole result in plain types."""
        return tables.result_data(self)

    def _parts(self) -> Sequence[Part]:
        return tables.parts(self)

    def __repr__(self) -> str:
        runs = zip(self.labels, self.runs, strict=True)
        return (
            f"<Result of {', '.join(f'{label} ({n:,} runs)' for label, n in runs)}: "
            f"{int(self.checkpoints[-1]):,} visits, {len(self.checkpoints)} checkpoints, "
            f"{tables.seeds(self)}>"
        )

    def _per_visit(self, total: Estimate) -> Estimate:
        return Estimate(total.mean / self.checkpoints, total.std_error / self.checkpoints)

    def _estimate(self, first: int, *shape: int) -> Estimate:
        """Of the columns from the first on, in this shape."""
        size = (len(self.policies), len(self.checkpoints), *shape)
        columns = slice(first, first + prod(shape))
        parts = zip(*(m.estimate for m in self.moments), strict=True)
        return Estimate(*(np.array(part)[:, :, columns].reshape(size) for part in parts))

    def _merge(self, other: "Result") -> "Result":
        if not isinstance(other, Result):
            raise InputError(f"{other!r} is not a result")
        for name in ("problem", "policies"):
            if getattr(self, name) != getattr(other, name):
                raise InputError(f"results of different {name} cannot be merged")
        if not np.array_equal(self.checkpoints, other.checkpoints):
            raise InputError("results at different checkpoints cannot be merged")
        for label, mine, theirs in zip(self.labels, self.streams, other.streams, strict=True):
            if any(m.overlaps(t) for m in mine for t in theirs):
                raise InputError(
                    f"results that share runs cannot be merged, and both have some of {label}: "
                    "simulate with another seed or first_run"
                )
        return replace(
            self,
            moments=tuple(map(Moments.join, self.moments, other.moments)),
            pairs=tuple(map(Moments.join, self.pairs, other.pairs)),
            streams=tuple(m + t for m, t in zip(self.streams, other.streams, strict=True)),
            precision=self.precision if self.precision == other.precision else None,
            version=__version__,
            last=tuple(np.concatenate(both) for both in zip(self.last, other.last, strict=False)),
        )
