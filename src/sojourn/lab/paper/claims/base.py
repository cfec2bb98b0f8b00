"""What a claim is, and how it is checked."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...claims import Measured, Verdict, overall
from ..measures import Measure
from ..tables import Tables


@dataclass(frozen=True)
class Claim:
    """A sentence, where it is, and what would bear it out: all the measures.

    `note` says what the claim is taken to mean. A claim that makes an open `choice` otherwise
    names in `of` the claim that it is a variant of; if the verdicts differ, that one hinges on it.
    """

    name: str
    section: str
    text: str
    measures: tuple[Measure, ...]
    note: str = ""
    figure: str = ""
    """Of claims that need no experiment: the figure to show them with."""
    choice: str = ""
    of: str = ""

    @property
    def experiments(self) -> tuple[str, ...]:
        """All that it needs, once each."""
        return tuple(dict.fromkeys(e for m in self.measures for e in m.experiments))


class Checked(NamedTuple):
    """A claim with its measurements and the verdict."""

    claim: Claim
    measured: list[Measured]
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON."""
        return {
            "claim": self.claim.name,
            "section": self.claim.section,
            "text": self.claim.text,
            "verdict": self.verdict.value,
            "note": self.claim.note,
            "choice": self.claim.choice,
            "variant_of": self.claim.of,
            "measurements": [
                {
                    "what": m.what,
                    **m.interval._asdict(),
                    "claimed": "above" if m.above else "below",
                    "threshold": m.threshold,
                    "verdict": m.verdict.value,
                }
                for m in self.measured
            ],
        }


def check(claim: Claim, tables: Tables) -> Checked:
    """Measure a claim on results.

    >>> from sojourn.lab.paper.claims import CLAIMS
    >>> check(next(claim for claim in CLAIMS if claim.name == "lemma-1"), {}).verdict.value
    'confirmed'
    """
    measured = [found for measure in claim.measures for found in measure.measure(tables)]
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
