"""Claims, the measures that test them, and the verdicts.

A measurement says on which side of a threshold a number was claimed to be. It confirms the claim
if the whole 95 % interval is there, and leaves it open at the precision of the results if the
threshold is in the interval. What it means that the whole interval is on the other side, the
measurement says itself: the claim is not confirmed; unless it is about more than was measured, such
as K without end.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import isnan
from typing import Any, Generic, NamedTuple, TypeVar

from ..show.tables import Table
from ..stats.intervals import Interval
from ..version import __version__

Findings = TypeVar("Findings")
"""The results of a study's trials, in the form that its claims are measured on."""


class Verdict(StrEnum):
    """What the measurements say about a claim."""

    CONFIRMED = "confirmed"
    NOT_YET = "not yet (asymptotic)"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "not decidable at this precision"


SEVEREST_FIRST = (Verdict.NOT_CONFIRMED, Verdict.NOT_YET, Verdict.UNDECIDED, Verdict.CONFIRMED)


class Measured(NamedTuple):
    """One measurement: what it is, the number, and the side of the threshold that was claimed.

    `otherwise` is the verdict if the number is significantly on the other side, and `contrary` says
    in plain words what is so then.
    """

    what: str
    interval: Interval
    threshold: float
    above: bool
    contrary: str = ""
    otherwise: Verdict = Verdict.NOT_CONFIRMED

    @property
    def verdict(self) -> Verdict:
        """Which side of the threshold the interval is on."""
        _, low, high = self.interval
        if any(isnan(x) for x in (*self.interval, self.threshold)):
            return Verdict.UNDECIDED
        if low == high == self.threshold:  # exact and equal: "at least" and "at most" both hold
            return Verdict.CONFIRMED
        if low > self.threshold:
            return Verdict.CONFIRMED if self.above else self.otherwise
        if high < self.threshold:
            return self.otherwise if self.above else Verdict.CONFIRMED
        return Verdict.UNDECIDED

    def __str__(self) -> str:
        sign = "≥" if self.above else "≤"
        return f"{self.what}: {self.interval} (claimed: {sign} {self.threshold:,.6g})"


def overall(measured: Sequence[Measured]) -> Verdict:
    """The severest verdict of several measurements, so that a claim is confirmed if all are."""
    verdicts = {m.verdict for m in measured}
    return next((v for v in SEVEREST_FIRST if v in verdicts), Verdict.UNDECIDED)


class Measure(ABC, Generic[Findings]):
    """Something to measure on findings, or to compute; the fields of a subclass say what."""

    kind: str = ""
    """The subject of measures of this kind, by which a report sorts claims."""
    trials: tuple[str, ...] = ()

    @abstractmethod
    def measure(self, findings: Findings) -> list[Measured]:
        """The measurements."""


@dataclass(frozen=True)
class Claim(Generic[Findings]):
    """A sentence, where it is stated, and the measures that must all confirm it.

    `note` says what the claim is taken to mean. A claim that makes an open `choice` otherwise
    names in `of` the claim that it is a variant of; if the verdicts differ, that one hinges on it.
    A claim of a study of our own has no section; its text is its name.
    """

    name: str
    section: str
    text: str
    measures: tuple[Measure[Findings], ...]
    note: str = ""
    figure: str = ""
    """The figure to show a claim with, if it needs no trial."""
    choice: str = ""
    of: str = ""

    @property
    def trials(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for m in self.measures for name in m.trials))

    @property
    def kind(self) -> str:
        return self.measures[0].kind


class Checked(NamedTuple):
    """A claim with its measurements and the verdict."""

    claim: Claim[Any]
    measured: list[Measured]
    verdict: Verdict

    @property
    def contrary(self) -> list[str]:
        """In plain words, what contradicts the claim."""
        wrong = {Verdict.NOT_CONFIRMED, Verdict.NOT_YET}
        return [m.contrary for m in self.measured if m.verdict in wrong and m.contrary]

    def to_dict(self) -> dict[str, Any]:
        claim, where, choices = self.claim, {}, {}
        if claim.section:
            where = {"kind": claim.kind, "section": claim.section, "text": claim.text}
            choices = {"note": claim.note, "choice": claim.choice, "variant_of": claim.of}
        return {
            "claim": claim.name,
            **where,
            "verdict": self.verdict.value,
            **({"contrary": self.contrary} if self.contrary else {}),
            **choices,
            "measurements": [
                {
                    "what": m.what,
                    **asdict(m.interval),
                    "claimed": "above" if m.above else "below",
                    "threshold": m.threshold,
                    "verdict": m.verdict.value,
                }
                for m in self.measured
            ],
        }


def check(claim: Claim[Findings], findings: Findings) -> Checked:
    """Measure a claim on findings."""
    measured = [found for measure in claim.measures for found in measure.measure(findings)]
    return Checked(claim, measured, overall(measured))


def hinges(checked: Iterable[Checked]) -> dict[str, list[Checked]]:
    """By the name of a claim, its variants that were decided the other way than it was."""
    every = list(checked)
    verdicts = {found.claim.name: found.verdict for found in every}
    contrary = {Verdict.CONFIRMED, Verdict.NOT_CONFIRMED}
    differing: dict[str, list[Checked]] = {}
    for found in every:
        if {found.verdict, verdicts.get(found.claim.of)} == contrary:
            differing.setdefault(found.claim.of, []).append(found)
    return differing


def count(checked: Iterable[Checked]) -> dict[Verdict, int]:
    """The number of claims by verdict."""
    found = Counter(c.verdict for c in checked)
    return {verdict: found[verdict] for verdict in Verdict}


def in_words(counts: Mapping[Verdict, int]) -> str:
    """The number of claims by verdict; "not yet" is mentioned only where claims are asymptotic."""
    return ", ".join(f"{n} {v.value}" for v, n in counts.items() if n or v is not Verdict.NOT_YET)


@dataclass(frozen=True)
class Report(Generic[Findings]):
    """Findings, claims with verdicts, and what they were made with."""

    findings: Findings
    checked: Sequence[Checked]
    command: str
    seed: int
    precision: str
    figures: Sequence[str] = ()
    """The names of those that were drawn."""
    version: str = __version__

    @property
    def counts(self) -> dict[Verdict, int]:
        return count(self.checked)

    @property
    def summary(self) -> str:
        noun = "claim" if len(self.checked) == 1 else "claims"
        return f"{len(self.checked)} {noun}: {in_words(self.counts)}."

    @property
    def kinds(self) -> dict[str, list[Checked]]:
        """The claims by their kind, in the order of the kinds' first claims."""
        found: dict[str, list[Checked]] = {}
        for checked in self.checked:
            found.setdefault(checked.claim.kind, []).append(checked)
        return found

    def verdicts(self) -> Table:
        """A row for each claim: what was measured, the verdict, and what other choices give."""
        rows = []
        for found in self.checked:
            several = len(found.measured) > 1
            shown = [f"{m}" + (f": {m.verdict.value}" if several else "") for m in found.measured]
            claim = found.claim
            text = f"{claim.text}\n({claim.note})" if claim.note else claim.text
            row = [text, "\n".join(shown), found.verdict.value]
            if claim.section:
                row = [claim.section, *row, "\n".join(self.choices(found))]
            rows.append(row)
        headings = ["claim", "measurement, 95 % interval", "verdict"]
        if any(found.claim.section for found in self.checked):
            headings = ["section", *headings, "open choices"]
        return Table(headings, rows, left=range(len(headings)))

    def choices(self, found: Checked) -> list[str]:
        """The verdict if open choices are made otherwise; or which choice this claim makes."""
        claim = found.claim
        said = [f"this row: {claim.choice}"] if claim.choice else []
        contrary = hinges(self.checked).get(claim.name, [])
        for other in (c for c in self.checked if c.claim.of == claim.name):
            how = "the same" if other.verdict is found.verdict else other.verdict.value
            mark = "hinges on it: " if other in contrary else ""
            said.append(f"{mark}{other.claim.choice}: {how}")
        return said
