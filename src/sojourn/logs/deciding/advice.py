"""Advice: the policy to run after a fit, or to keep the incumbent; why, and the forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...policies import DEFAULT, Policy
from ...recommendation import IMPROPER, differing
from ...show.plain import plain
from ...show.tables import Shown
from ...simulation.tables import policy_data
from ...stats.intervals import Interval
from ..model.detection import FORECAST
from ..model.fitted import Fit
from .outcomes import EVENLY, SLIGHT, UNLUCKY, Baseline, CandidateOutcome, Played

WHERE: Mapping[str, str] = {
    UNLUCKY: "the log misleads and luck is as bad as in 1 of 40 runs",
    "arms": "the arms that look best raise the exit rate as much as the log allows",
    "users": "users differ from each other as much as the log allows",
    "personal": "the recommender shows arms to those who like them, as the log suggests",
    "drift": "tastes change over time",
    "fatigue": "users tire as fast as the log allows",
}
"""The bad cases in words."""

NOTABLE = 0.01
"""Share of rewards from which a difference between log and model is reported."""


@dataclass(frozen=True)
class Advice(Shown):
    """The policy to run, why, and what every candidate is expected to do. Made by `decide`.

    `policy` and `name` are None if the `incumbent` is to be kept. Those of `tied` do not differ
    significantly from the policy, or by less than `SLIGHT`. `visits` of those `asked` for are
    simulated. `print` shows a table.
    """

    _rendered_by: ClassVar[str] = "sojourn.logs.report"

    policy: Policy | None
    reason: str
    incumbent: Baseline
    outcomes: tuple[CandidateOutcome, ...]
    tied: tuple[str, ...]
    visits: int
    asked: int
    arms: int
    draws: int
    runs: int
    seed: int

    @property
    def name(self) -> str | None:
        return None if self.policy is None else self.policy.label

    @property
    def chosen(self) -> CandidateOutcome | None:
        return next((o for o in self.outcomes if o.policy == self.policy), None)

    @property
    def verdict(self) -> str:
        """One or two sentences: what to do, and what to expect of it."""
        if (chosen := self.chosen) is None:
            return f"Keep your current recommender. {self.reason}"
        over = f"showing {EVENLY}" if self.incumbent.reward is None else "the current recommender"
        return (
            f"Run {chosen.name}. Over {self.visits:,} visits expect {signed(chosen.gain)} rewards "
            f"per visit more than {over} ({chosen.share:+.1%}), {signed(chosen.longer)} steps, and "
            f"{signed(chosen.over_kl_ucb)} rewards more than KL-UCB. In the worst case that the "
            f"log allows ({WHERE[chosen.worst]}) it gains {chosen.worst_gain.value:+.3g}."
        )

    def to_dict(self) -> dict[str, Any]:
        outcomes = [
            {**vars(o), "policy": policy_data(o.policy, o.name), "loses": o.loses}
            | {"worst": {"case": o.worst, "gain": o.worst_gain}}
            for o in self.outcomes
        ]
        incumbent = {**vars(self.incumbent), "missed": self.incumbent.missed}
        found = {**vars(self), "name": self.name, "verdict": self.verdict}
        del found["policy"]
        return plain({**found, "incumbent": incumbent, "outcomes": outcomes})  # type: ignore[no-any-return]


def advise(fit: Fit, incumbent: Baseline, played: Played, **facts: int) -> Advice:
    """The advice that follows from what was played.

    A policy is safe if on average it never loses to the incumbent, and gains significantly and more
    than the incumbent earns beyond the model. With a diagnostic that spoils the forecast, none is.
    """
    outcomes = tuple(map(played.outcome, played.policies))
    pays = [o for o in outcomes if o.pays]
    safe = [o for o in pays if o.average.low > incumbent.unseen]
    spoilt = next((str(doubt) for doubt in fit.diagnostics if doubt.spoils == FORECAST), None)
    chosen = _choose(safe, played) if safe and spoilt is None else None
    best, tied = max(pays or outcomes, key=lambda o: o.gain.value), list[str]()
    if chosen is not None:
        reason = _because(chosen, outcomes)
        tied = [
            o.name for o in outcomes if o != chosen and o not in _apart(chosen, outcomes, played)
        ]
    elif spoilt is not None:
        reason = f"{spoilt[0].upper()}{spoilt[1:]}."
    else:
        reason = _unseen(best, incumbent) if pays else _against(best)
    if fit.case == "improper":
        reason += f" Beware: {IMPROPER}."
    return Advice(
        policy=None if chosen is None else chosen.policy,
        reason=reason,
        incumbent=incumbent,
        outcomes=outcomes,
        tied=tuple(tied),
        arms=len(fit.arms),
        **facts,
    )


def _choose(safe: Sequence[CandidateOutcome], played: Played) -> CandidateOutcome:
    """The default if it is among them, unless others gain significantly more; else the greatest."""
    usual = next((o for o in safe if o.policy == DEFAULT()), None)
    if usual is not None:
        safe = [usual, *(o for o in _apart(usual, safe, played) if o.share > usual.share)]
    return max(safe, key=lambda o: o.gain.value)


def _apart(
    one: CandidateOutcome, outcomes: Sequence[CandidateOutcome], played: Played
) -> list[CandidateOutcome]:
    """Those whose mean gain differs from that of one, significantly and by `SLIGHT` or more."""
    found = differing({o.name: played.more(o.policy, one.policy) for o in outcomes if o != one})
    return [o for o in outcomes if o.name in found and abs(o.share - one.share) >= SLIGHT]


def _unseen(best: CandidateOutcome, incumbent: Baseline) -> str:
    """Why a gain that the model forecasts is not trusted."""
    return (
        f"The recommender earned {incumbent.missed.value:.1%} more than the model accounts for, "
        f"and the lower bound for {best.name} is {best.average.low / incumbent.model.reward:.1%}: "
        "what the recommender does that the model does not see might be lost."
    )


def _against(best: CandidateOutcome) -> str:
    """Why none is safe, by what speaks against the one of greatest gain."""
    if best.average.low < 0.0 or not best.loses:
        return (
            f"No candidate earns significantly more, by {SLIGHT:.1%}: the best, {best.name}, "
            f"is expected to gain {signed(best.average)} rewards per visit on average."
        )
    where = min(best.worst_cases, key=lambda name: best.worst_cases[name].value)
    return (
        f"Every candidate may lose to it. {best.name} gains {signed(best.average)} rewards per "
        f"visit on average if all is as fitted, and {signed(best.stressed)} if {WHERE[where]}."
    )


def _because(chosen: CandidateOutcome, outcomes: Sequence[CandidateOutcome]) -> str:
    reason = (
        f"On average {chosen.name} earns more than the current recommender in every case that the "
        "log allows"
    )
    reason += "; a single run may lose by bad luck" if chosen.gain.low < 0.0 else ""
    if losers := [o.name for o in outcomes if o.loses]:
        reason += f"; {', '.join(losers)} may earn less"
    return reason + "."


def signed(interval: Interval) -> str:
    """A difference and its interval."""
    return f"{interval.value:+.3g} [{interval.low:+.3g}, {interval.high:+.3g}]"
