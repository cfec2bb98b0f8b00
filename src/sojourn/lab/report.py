"""What a study found, with the verdicts on its claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from ..show.tables import Table
from ..version import __version__
from .claims import Checked, Findings, Verdict, hinges

CLASSES = {verdict.value: verdict.name.lower() for verdict in Verdict}
"""How the HTML page marks the cells that are verdicts."""


@dataclass(frozen=True)
class Report(Generic[Findings]):
    """Findings, claims with verdicts, and what they were made with."""

    findings: Findings
    checked: Sequence[Checked]
    command: str
    seed: int
    precision: str
    version: str = __version__

    @property
    def counts(self) -> dict[Verdict, int]:
        found = [c.verdict for c in self.checked]
        return {verdict: found.count(verdict) for verdict in Verdict}

    @property
    def summary(self) -> str:
        parts = ", ".join(f"{n} {verdict.value}" for verdict, n in self.counts.items())
        return f"{len(self.checked)} claims: {parts}."

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
                row = [claim.section, *row, "\n".join(self._choices(found))]
            rows.append(row)
        headings = ["claim", "measurement, 95 % interval", "verdict"]
        if any(found.claim.section for found in self.checked):
            headings = ["section", *headings, "open choices"]
        return Table(headings, rows, left=range(len(headings)))

    def _choices(self, found: Checked) -> list[str]:
        """The verdict if open choices are made otherwise; or which choice this claim makes."""
        claim = found.claim
        said = [f"this row: {claim.choice}"] if claim.choice else []
        contrary = hinges(self.checked).get(claim.name, [])
        for other in (c for c in self.checked if c.claim.of == claim.name):
            how = "the same" if other.verdict is found.verdict else other.verdict.value
            mark = "hinges on it: " if other in contrary else ""
            said.append(f"{mark}{other.claim.choice}: {how}")
        return said
