"""What a study found, with the verdicts on its claims."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from ..show.tables import Table
from ..version import __version__
from .verdicts import Checked, Findings, Verdict, hinges


def count(checked: Iterable[Checked]) -> dict[Verdict, int]:
    """How many have which verdict."""
    found = Counter(c.verdict for c in checked)
    return {verdict: found[verdict] for verdict in Verdict}


def in_words(counts: Mapping[Verdict, int]) -> str:
    """How many have which verdict; "not yet" is only spoken of where claims are asymptotic.

    >>> in_words({Verdict.CONFIRMED: 3, Verdict.NOT_YET: 0, Verdict.NOT_CONFIRMED: 0})
    '3 confirmed, 0 not confirmed'
    """
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
        return f"{len(self.checked)} claims: {in_words(self.counts)}."

    @property
    def kinds(self) -> dict[str, list[Checked]]:
        """The claims by their kind, in the order of the kinds' first claims."""
        found: dict[str, list[Checked]] = {}
        for checked in self.checked:
            found.setdefault(checked.claim.kind, []).append(checked)
        return found

    @property
    def facts(self) -> dict[str, str]:
        return {
            "command": self.command,
            "seed": str(self.seed),
            "precision": self.precision,
            "version": self.version,
            "summary": self.summary,
        }

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
