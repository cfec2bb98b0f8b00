"""The allocation of an experiment with variants: their shares over time, and its guardrail.

Each variant is an experiment of its own in the store, named `experiment:variant`. The shares change
in *epochs*: visits are assigned by those of the epoch in which they were opened.

The variant of a visit is a function of its user, or else of its own id, and of the shares. Each
variant has a hash score for the user, -log(draw), where the draw is a hash. The variant with the
greatest share / score wins (weighted rendezvous hashing), with the probability of its share. So
every process agrees, and a user keeps a variant while it is ramped up.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from math import inf, isclose, log
from typing import Any, Self

from ... import validation
from ...stats.intervals import PLANNED
from ...validation import InputError
from ..errors import Conflict
from ..names import LONGEST_NAME, check_name

MOST_VARIANTS = 10
MOST_EPOCHS = 500  # changes of the shares; comparisons read the sums of all of them
SEPARATOR = ":"  # between the names of an experiment and a variant
METRICS = ("reward", "steps", "left")
HOLDOUT, STOP_EXPLORING = "holdout", "stop exploring"
ACTIONS = (HOLDOUT, STOP_EXPLORING)
"""The actions of a guardrail: a variant's visits go to the holdout, or it stops exploring."""

WINDOW = 3600.0
"""Seconds for which a visit is followed, by default."""
LONGEST_WINDOW = 31 * 86_400.0  # the archive waits for it

BITS = 52  # of a draw, so that it is never 0 or 1


def unit_of(visit: str, user: str | None) -> str:
    """The unit that is assigned: the user, or a visit without one."""
    return f"visit {visit}" if user is None else f"user {user}"


def hash_scores(experiment: str, variants: tuple[str, ...], unit: str) -> dict[str, float]:
    """The hash score of each variant for the unit: an exponential variable."""
    texts = {variant: "\0".join((experiment, variant, unit)) for variant in variants}
    bits = {variant: hash_of(text) >> (64 - BITS) for variant, text in texts.items()}
    return {variant: -log((n + 0.5) / 2**BITS) for variant, n in bits.items()}


def hash_of(text: str) -> int:
    """64 bits."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def winner(scores: Mapping[str, float], shares: Mapping[str, float]) -> str:
    """The variant that wins, with these shares."""
    return max(scores, key=lambda variant: shares[variant] / scores[variant])


@dataclass(frozen=True, kw_only=True)
class Guardrail:
    """The action to take when a variant is significantly worse than the holdout, at level `alpha`.

    It is worse if the always-valid confidence sequence of the difference in `metric` per visit lies
    below -margin as a whole. Then its visits go to the holdout; or, with the `action` "stop
    exploring", it keeps them and plays only what it knows to be best. `planned` is the number of
    visits at which the sequence is tightest. Evidence counts from the epoch `since` on.

    >>> Guardrail(metric="clicks")
    Traceback (most recent call last):
    sojourn.InputError: metric = 'clicks' is not allowed: it must be one of reward, steps, left
    """

    metric: str = "reward"
    margin: float = 0.0
    alpha: float = 0.05
    planned: float = PLANNED
    since: int = 1
    action: str = HOLDOUT

    def __post_init__(self) -> None:
        validation.one_of("metric", self.metric, METRICS)
        validation.one_of("action", self.action, ACTIONS)
        kept: dict[str, Any] = {
            "margin": validation.number("margin", self.margin, 0, inf),
            "alpha": validation.number("alpha", self.alpha, 0, 1, open_ends=True),
            "planned": validation.number("planned", self.planned, 1, 1e15),
            "since": validation.whole("since", self.since, 1),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """A guardrail that has acted: when, on which variant, why; `shares` and `settled` before that.

    `delivery` is the status of the webhook call: "none" if there is no webhook, "due", "done", or
    why it failed.
    """

    at: float
    variant: str
    reason: str
    shares: dict[str, float]
    delivery: str = "none"
    action: str = HOLDOUT
    settled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Epoch:
    """The shares, and since when they apply."""

    since: float
    shares: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The variants of an experiment, its holdout among them, with their shares over time.

    Those that are `settled` do not explore. `claimed` is when a process last took on the webhook
    call of the alarm. What a visit earns counts for `window` seconds from its opening.

    >>> allocation = Allocation.of({"old": 0.9, "new": 0.1}, "old", at=0.0)
    >>> allocation.ramped({"new": 0.5}, at=60.0).shares
    {'old': 0.5, 'new': 0.5}
    """

    variants: tuple[str, ...]
    holdout: str
    epochs: tuple[Epoch, ...]
    guardrail: Guardrail | None = None
    alarm: Alarm | None = None
    settled: tuple[str, ...] = ()
    claimed: float = 0.0
    window: float = WINDOW

    @classmethod
    def of(
        cls,
        shares: Mapping[str, float],
        holdout: str,
        *,
        at: float,
        guardrail: Guardrail | None = None,
        window: float = WINDOW,
    ) -> Self:
        """A new allocation, checked."""
        if not 2 <= len(shares) <= MOST_VARIANTS:
            raise InputError(
                f"variants is not allowed: it has {len(shares)} of them, and must have 2 to "
                f"{MOST_VARIANTS}"
            )
        for name in shares:
            if SEPARATOR in check_name("variant", name):
                raise InputError(f"variant = {name!r} is not allowed: it has a {SEPARATOR!r} in it")
        validation.one_of("holdout", holdout, tuple(shares))
        given = {
            name: validation.number(f"share of {name!r}", share, 0, 1)
            for name, share in shares.items()
        }
        if not isclose(sum(given.values()), 1.0, abs_tol=1e-9):
            raise InputError(
                f"shares is not allowed: they add up to {sum(given.values()):g}, not to 1"
            )
        window = validation.number("window", window, 0, LONGEST_WINDOW, open_ends=True)
        epochs = (Epoch(at, given),)
        return cls(
            variants=tuple(given),
            holdout=holdout,
            epochs=epochs,
            guardrail=guardrail,
            window=window,
        )

    @property
    def shares(self) -> dict[str, float]:
        return self.epochs[-1].shares

    @property
    def epoch(self) -> int:
        """The number of the current epoch, from 1 on."""
        return len(self.epochs)

    def assigned(self, scores: Mapping[str, float]) -> list[str]:
        """The variant of a visit now; then those it may have been assigned to in earlier epochs."""
        found = (winner(scores, epoch.shares) for epoch in reversed(self.epochs))
        return list(dict.fromkeys(found))

    def ramped(self, shares: Mapping[str, float], at: float) -> "Allocation":
        self._check_free("the shares")
        for name in shares:
            validation.one_of("variant", name, [v for v in self.variants if v != self.holdout])
        return self._with(shares, at)

    def exploring(self, exploring: Mapping[str, bool], at: float) -> "Allocation":
        """The allocation with some variants exploring or not; the others stay as they are."""
        for name, flag in exploring.items():
            validation.one_of("variant", name, self.variants)
            validation.flag(f"exploring of {name!r}", flag)
        now = {name: name not in self.settled for name in self.variants} | dict(exploring)
        settled = tuple(name for name in self.variants if not now[name])
        if settled == self.settled:
            return self
        if not set(settled) > set(self.settled):  # to stop is always possible
            self._check_free("exploring")
        return replace(self._with({}, at, anew=True), settled=settled)

    def _check_free(self, what: str) -> None:
        """`Conflict` if the guardrail has acted, or there were too many changes."""
        if self.alarm is not None:
            raise Conflict(
                f"{what} cannot change: the guardrail has acted ({self.alarm.reason}); undo "
                "that first"
            )
        if self.epoch >= MOST_EPOCHS:
            raise Conflict(f"the shares have changed {MOST_EPOCHS} times: give another name")

    def rolled_back(self, at: float) -> "Allocation":
        return self._with({name: 0.0 for name in self.variants if name != self.holdout}, at)

    def _with(self, shares: Mapping[str, float], at: float, *, anew: bool = False) -> "Allocation":
        """With other shares of some variants; with `anew`, a new epoch begins in any case."""
        now = {**self.shares, **shares}
        now |= {n: validation.number(f"share of {n!r}", share, 0, 1) for n, share in now.items()}
        rest = 1.0 - sum(share for name, share in now.items() if name != self.holdout)
        if rest < -1e-9:
            raise InputError(f"shares is not allowed: they add up to {1.0 - rest:g}, more than 1")
        now[self.holdout] = round(max(rest, 0.0), 12)
        if now == self.shares and not anew:
            return self
        return replace(self, epochs=(*self.epochs, Epoch(at, now)))

    def guarded(self, guardrail: Guardrail | None) -> "Allocation":
        """With another guardrail, or none; what was undone stays out of its evidence."""
        if guardrail is not None and self.guardrail is not None:
            since = max(guardrail.since, self.guardrail.since)
            guardrail = replace(guardrail, since=since)
        return replace(self, guardrail=guardrail)

    def followed(self, window: float, at: float) -> "Allocation":
        """With another window for the visits from now on, which are in an epoch of their own."""
        if window == self.window:
            return self
        self._check_free("the window")
        return replace(self._with({}, at, anew=True), window=window)

    def stopped(self, alarm: Alarm) -> "Allocation":
        if alarm.action == HOLDOUT:
            return replace(self._with({alarm.variant: 0.0}, alarm.at), alarm=alarm)
        return replace(self.exploring({alarm.variant: False}, alarm.at), alarm=alarm)

    def undone(self, at: float) -> "Allocation":
        """The allocation before the alarm; the guardrail begins anew with this epoch."""
        if self.alarm is None:
            raise Conflict("there is nothing to undo: the guardrail has not acted")
        before = {n: share for n, share in self.alarm.shares.items() if n != self.holdout}
        allocation = replace(self, alarm=None, settled=self.alarm.settled)._with(
            before, at, anew=True
        )
        if allocation.guardrail is None:
            return allocation
        return replace(allocation, guardrail=replace(allocation.guardrail, since=allocation.epoch))

    def to_json(self) -> str:
        epochs = [[epoch.since, [epoch.shares[v] for v in self.variants]] for epoch in self.epochs]
        return json.dumps({**asdict(self), "epochs": epochs, "shares": self.shares})

    @classmethod
    def from_json(cls, text: str) -> "Allocation":
        data = json.loads(text)
        del data["shares"]  # those of the last epoch, which the audit log reads
        for name in ("variants", "settled"):
            data[name] = tuple(data[name])
        data["epochs"] = tuple(
            Epoch(since, dict(zip(data["variants"], shares, strict=True)))
            for since, shares in data["epochs"]
        )
        if data["guardrail"] is not None:
            data["guardrail"] = Guardrail(**data["guardrail"])
        if data["alarm"] is not None:
            settled = tuple(data["alarm"]["settled"])
            data["alarm"] = Alarm(**{**data["alarm"], "settled": settled})
        return cls(**data)


def whole_of(name: str) -> str | None:
    """The experiment that one of this name would be a variant of, if it is one."""
    return name.rpartition(SEPARATOR)[0] or None


def names_of(experiment: str, variants: Sequence[str]) -> dict[str, str]:
    """The names of the experiments that the variants are, such as `shorts:old`."""
    found = {variant: f"{experiment}{SEPARATOR}{variant}" for variant in variants}
    for variant, name in found.items():
        if len(name) > LONGEST_NAME:
            raise InputError(
                f"variant = {variant!r} is not allowed: {name!r} is longer than {LONGEST_NAME}"
            )
    return found
