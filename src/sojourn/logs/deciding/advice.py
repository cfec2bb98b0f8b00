"""Advice: the policy to run after a fit, why, and what to expect of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...policies import Policy
from ...show.plain import plain
from ...simulation.tables import policy_data
from ...stats.intervals import Interval
from .outcomes import BASELINE, BLIND, CandidateOutcome

FACTS = (
    "name", "reason", "verdict", "case", "visits", "asked", "arms", "draws", "runs", "seed",
    "model", "cases",
)  # fmt: skip
INTERVALS = ("regret", "reward", "length", "gain", "longer", "aware")


@dataclass(frozen=True)
class Advice:
    """The policy to run, why, and what every candidate is expected to do. Made by `decide`.

    `cases` counts the draws by case. `policy` and `name` are None, and there are no outcomes, if
    none should be run. `visits` are simulated of those `asked` for. `print` shows a table.
    """

    policy: Policy | None
    reason: str
    case: str
    cases: Mapping[str, int]
    outcomes: tuple[CandidateOutcome, ...]
    visits: int
    asked: int
    arms: int
    draws: int
    runs: int
    seed: int
    model: str

    @property
    def name(self) -> str | None:
        return None if self.policy is None else self.policy.label

    @property
    def chosen(self) -> CandidateOutcome | None:
        return next((o for o in self.outcomes if o.policy == self.policy), None)

    @property
    def verdict(self) -> str:
        if (chosen := self.chosen) is None:
            return self.reason
        base = next(o for o in self.outcomes if o.policy == BASELINE)
        share = chosen.gain.value / base.reward.value
        return (
            f"Run {chosen.name}. Expect {_signed(chosen.gain)} rewards per visit over {base.name} "
            f"({share:+.2%}) and visits longer by {_signed(chosen.longer)} steps, over "
            f"{self.visits:,} visits. {self.state_pays}"
        )

    @property
    def state_pays(self) -> str:
        gains = {o.policy: o.aware for o in self.outcomes if o.aware is not None}
        parts = [f"{_signed(a)} for {p.label} over {BLIND[p].label}" for p, a in gains.items()]
        sure = sum(a.low > 0.0 for a in gains.values())
        lead = "pays" if sure == len(gains) else "may pay" if sure else "is not shown to pay"
        return f"Using the state {lead}: {', '.join(parts)} (rewards per visit)."

    def to_dict(self) -> dict[str, Any]:
        outcomes = [
            {"policy": policy_data(o.policy, o.name)} | {n: getattr(o, n) for n in INTERVALS}
            for o in self.outcomes
        ]
        facts = {name: getattr(self, name) for name in FACTS}
        return plain({**facts, "outcomes": outcomes})  # type: ignore[no-any-return]

    def __str__(self) -> str:
        from ..reporting.advice import text

        return text(self)


def _signed(interval: Interval) -> str:
    return f"{interval.value:+.3g} [{interval.low:+.3g}, {interval.high:+.3g}]"
