"""A study of our own as one value: groups of trials, claims, figures and the tables of its page.

Its page is the template of its name in `templates`, or `study.md` if there is none. What is kept in
the output folder: `outcomes.json`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.paper.study import Made, Study
from sojourn.paper.trials import QUICK, Roster, Trial
from sojourn.paper.verdicts import Claim, Findings, Measure, Measured, Report
from sojourn.problem import Problem
from sojourn.show.tables import Table, render_file
from sojourn.simulation import simulate
from sojourn.stats.intervals import Interval
from sojourn.validation import InputError

from .outcomes import Outcome, Outcomes, PathOutcome, spread
from .problems import PLAYS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FULL = "full"
REPORT, OUTCOMES = "report.md", "outcomes.json"
TEMPLATES = Path(__file__).parent / "templates"
NOT_RUN = "Not run."

Tables = Callable[[Any], Mapping[str, Any]]
"""The facts that the template of a study asks for, made of its findings."""


@dataclass(frozen=True)
class Group:
    """Problems, each played by the same policies, looked at after so many visits.

    `runs` are the runs of a quick and of a full study. A quick one has only the `first` problems.
    """

    name: str
    problems: Mapping[str, Callable[[], Problem]]
    policies: Roster
    checkpoints: tuple[int, ...]
    runs: tuple[int, int]
    first: int | None = None
    nanoseconds: float = 15.0
    """Expected CPU time per step."""
    roster: str = ""
    """The name of the policies, if a study has several rosters."""

    @property
    def trials(self) -> list[Trial]:
        quick, full = self.runs
        return [
            Trial(
                name, name, make, self.policies,
                quick if self.first is None or i < self.first else 0, full,
                visits=self.checkpoints[-1], checkpoints=self.checkpoints, group=self.name,
                roster=self.roster or self.name, nanoseconds=self.nanoseconds,
                play=PLAYS.get(name, simulate),
            )
            for i, (name, make) in enumerate(self.problems.items())
        ]  # fmt: skip


def trials_of(*groups: Group) -> tuple[Trial, ...]:
    """The trials of these groups."""
    return tuple(trial for group in groups for trial in group.trials)


@dataclass(frozen=True)
class Store:
    """How findings are kept: rows of JSON, made of results and made into findings again."""

    row: Callable[[Trial, Any], dict[str, Any]]
    found: Callable[[Sequence[Trial], Sequence[Mapping[str, Any]], Path], Any]
    name: str = "trial"
    """What a row calls the name of its trial."""

    def keep(self, folder: Path, results: Iterable[tuple[Trial, Any]], made: Made) -> None:
        """Save rows; those of other trials stay, if they were made with the same settings."""
        rows = {trial.name: self.row(trial, result) for trial, result in results}
        how, path = {"seed": made.seed, "quick": made.quick}, folder / OUTCOMES
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            if before.items() >= how.items():
                rows = {row[self.name]: row for row in before["outcomes"]} | rows
        data = {**how, "outcomes": [*rows.values()]}
        path.write_text(json.dumps(data) + "\n", encoding="utf-8")

    def load(self, folder: Path, trials: Sequence[Trial], made: Made) -> tuple[Any, Made]:
        path = folder / OUTCOMES
        if not path.exists():
            raise InputError(f"{path} does not exist: run without redrawing first")
        data = json.loads(path.read_text(encoding="utf-8"))
        found = self.found(trials, data["outcomes"], path)
        return found, Made(QUICK if data["quick"] else FULL, int(data["seed"]))


def regrets_as(kind: type[Outcome]) -> Store:
    """Keeps regrets and what else this kind of outcome has."""

    def found(
        trials: Sequence[Trial], rows: Sequence[Mapping[str, Any]], path: Path
    ) -> Outcomes[Any]:
        named = {row["trial"]: row for row in rows}
        outcomes = [kind.from_dict(t, named[t.name]) for t in trials if t.name in named]
        if any(outcome.labels != outcome.trial.labels for outcome in outcomes):
            raise InputError(f"{path} has other policies than this version: run without redrawing")
        return Outcomes(outcomes)

    return Store(lambda trial, result: kind.of(trial, result).to_dict(), found)


REGRETS = regrets_as(PathOutcome)


def study(
    name: str,
    trials: Sequence[Trial],
    claims: Sequence[Claim[Findings]],
    tables: Tables = lambda findings: {},
    figures: Mapping[str, Callable[[Findings], "Picture"]] | None = None,
    store: Store = REGRETS,
) -> Study[Findings]:
    """The study of that name."""
    page = partial(to_page, name, tables)
    return Study(
        trials=trials,
        claims=claims,
        figures=figures or {},
        precise=FULL,
        keep=store.keep,
        load=store.load,
        command=partial(_command, name),
        files=lambda report, pictures: {REPORT: page(report)},
        page=page,
    )


def to_page(name: str, tables: Tables, report: Report[Any]) -> str:
    """The page of a study; its pictures are in the folder `figures` beside it."""
    template = f"{name}.md" if (TEMPLATES / f"{name}.md").exists() else "study.md"
    return render_file("research", template, name=name, report=report, **tables(report.findings))


def _command(name: str, made: Made) -> str:
    seed = f" --seed {made.seed}" if made.seed else ""
    return f"python -m research {name} --precision {made.precision}{seed}"


def claim(text: str, measure: Measure[Findings], note: str = "") -> Claim[Findings]:
    """A claim of ours, whose text is its name."""
    return Claim(text, "", text, (measure,), note)


@dataclass(frozen=True)
class Ratio(Measure[Outcomes[Any]]):
    """Regret of one policy over that of another, on every problem of a group that both played."""

    group: str
    one: str
    other: str
    most: float

    def measure(self, findings: Outcomes[Any]) -> list[Measured]:
        return [
            Measured(o.trial.problem, o.ratio(self.one, self.other), self.most, above=False)
            for o in findings.of(self.group, self.one, self.other)
        ]


@dataclass(frozen=True)
class TypicalRatio(Measure[Outcomes[Any]]):
    """The same over all problems of a group: the geometric mean."""

    group: str
    one: str
    other: str
    most: float
    named: bool = False
    """Whether the policies are named beside the number of problems."""

    def measure(self, findings: Outcomes[Any]) -> list[Measured]:
        there = findings.of(self.group, self.one, self.other)
        if len(there) < 2:
            return []
        what = f"{self.one} / {self.other}, " if self.named else ""
        typical = spread(there, self.one, self.other).typical
        return [Measured(f"{what}{len(there)} problems", typical, self.most, above=False)]


def short(ratio: Interval) -> str:
    """A ratio with its half-width, two or three decimals.

    >>> short(Interval(0.4567, 0.44, 0.4734)), short(Interval.exact(1.0))
    ('0.457 ± 0.017', '1')
    """
    half = (ratio.high - ratio.low) / 2
    if half == 0.0:
        return f"{ratio.value:g}"
    return f"{ratio.value:.2f} ± {half:.2f}" if half >= 0.095 else f"{ratio.value:.3f} ± {half:.3f}"


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: Iterable[int] | None = None
) -> str:
    """A table in Markdown; without rows the words that nothing was run."""
    columns = None if left is None else tuple(left)
    return Table(heads, rows, left=columns).markdown() if rows else NOT_RUN


def regrets(outcomes: Sequence[Outcome], heading: str = "policy") -> str:
    """Regret at the end of every policy on every problem."""
    labels = outcomes[0].labels if outcomes else ()
    rows = [[label, *(str(o.regret(label)) for o in outcomes)] for label in labels]
    return table([heading, *(o.trial.problem for o in outcomes)], rows)
