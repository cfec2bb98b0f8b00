"""What a guardrail looks for; acting once, whatever the number of processes; and the webhook."""

import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..validation import InputError
from .comparing import WORDS, compared
from .errors import LiveError
from .groups import Group
from .looking import ALPHA, looks_of, ranks
from .plan import STOP_EXPLORING, Alarm, Plan
from .who import ACTING

if TYPE_CHECKING:
    from .split import Split

LOOK = 5.0
"""Seconds between two looks."""

PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before each attempt to tell the webhook."""

LIMIT = 10.0  # seconds that one attempt may take
CLAIM = sum(PAUSES) + len(PAUSES) * LIMIT
"""Seconds after which a process that has not told the webhook has died: then another one does."""

DUE, DONE, NONE = "due", "done", "none"

log = logging.getLogger("sojourn.live")


def violation(
    experiment: str, plan: Plan, groups: Mapping[str, list[Group]], now: float
) -> Alarm | None:
    """What the guardrail of a plan has found, if it has one that has not acted.

    The level is that of all variants together: each has its part of it.
    """
    rule = plan.guardrail
    if rule is None or plan.alarm is not None:
        return None
    alpha = rule.alpha / (len(plan.variants) - 1)
    found = compared(experiment, plan, groups, now, alpha, rule.planned, rule.since)
    for variant in found.variants:
        difference = variant.differences.get(rule.metric)
        if difference is not None and difference.high < -rule.margin and variant.share > 0.0:
            more = f" by more than {rule.margin:g}" if rule.margin else ""
            reason = (
                f"{WORDS[rule.metric]} of {variant.name} is below that of {plan.holdout}{more}: "
                f"{difference.value:+.4g} [{difference.low:+.4g}, {difference.high:+.4g}] after "
                f"{variant.visits:,} visits"
            )
            return Alarm(
                at=now, variant=variant.name, reason=reason, shares=dict(plan.shares),
                action=rule.action, settled=plan.settled,
            )  # fmt: skip
    return None


class Guard:
    """Looks at the comparison of an experiment, keeps what it says over time, and acts.

    Of several processes that want to act one does, because the plan is exchanged once. That one
    tells the webhook, in a thread of its own; if it dies before it has, another one does.
    """

    def __init__(self, split: "Split", webhook: str | None) -> None:
        if webhook is not None and not webhook.startswith(("http://", "https://")):
            raise InputError("webhook is not allowed: it must begin with http:// or https://")
        self.split, self.webhook = split, webhook
        self._looked, self._took = -LOOK, 0.0
        self._ranks: dict[str, int] = {}
        self.telling: threading.Thread | None = None

    def look_in_time(self) -> None:
        """`look`, if it is time to: it takes at most a fiftieth of a core."""
        if time.monotonic() - self._looked >= max(LOOK, 50.0 * self._took):
            self._looked, busy = time.monotonic(), time.thread_time()
            self.look()
            self._took = time.thread_time() - busy

    def look(self) -> bool:
        """Act if there is a reason; whether this process did."""
        split, plan = self.split, self.split.plan
        if plan.alarm is not None:
            self._take_over(plan.alarm)
        store = split.journal.store
        groups = {name: store.groups(each.name) for name, each in split.variants.items()}
        self._note(plan, groups)
        alarm = violation(split.name, plan, groups, store.now())
        if alarm is None:
            return False
        alarm = replace(alarm, delivery=DUE if self.webhook else NONE, claimed=alarm.at)
        if not self._exchange(plan, plan.stopped(alarm)):
            return False  # others have acted, or changed the shares: the next look tells
        log.warning("guardrail of %s: %s", split.name, alarm.reason)
        self._tell(alarm)
        return True

    def _note(self, plan: Plan, groups: Mapping[str, list[Group]]) -> None:
        """Keep what the comparison says, if there are enough visits more than at the last look."""
        now, store = ranks(plan, groups), self.split.journal.store
        if now != self._ranks:
            found = compared(self.split.name, plan, groups, store.now(), ALPHA)
            store.add_looks(self.split.name, looks_of(found))
            self._ranks = now

    def _exchange(self, before: Plan, after: Plan) -> bool:
        token = ACTING.set("guardrail")
        try:
            return self.split.exchange(before, after)
        finally:
            ACTING.reset(token)

    def _take_over(self, alarm: Alarm) -> None:
        """Tell the webhook in the place of a process that has died."""
        if self.webhook is None or alarm.delivery != DUE:
            return
        now, plan = self.split.now(), self.split.plan
        claimed = replace(alarm, claimed=now)
        if now - alarm.claimed > CLAIM and self._exchange(plan, replace(plan, alarm=claimed)):
            self._tell(claimed)

    def _tell(self, alarm: Alarm) -> None:
        if self.webhook is None:
            return

        def work(url: str = self.webhook) -> None:
            outcome = post(url, message(self.split.name, self.split.plan, alarm))
            (log.info if outcome == DONE else log.error)("guardrail: webhook: %s", outcome)
            try:
                self.split.change(lambda plan: _delivered(plan, alarm, outcome))
            except LiveError as error:  # it is told once more, then
                log.warning("guardrail: %s", error)

        self.telling = threading.Thread(target=work, name="sojourn-webhook", daemon=True)
        self.telling.start()


def _delivered(plan: Plan, alarm: Alarm, outcome: str) -> Plan:
    """The plan, if it still has this alarm, with what became of telling it."""
    if plan.alarm is None or plan.alarm.at != alarm.at:
        return plan
    return replace(plan, alarm=replace(plan.alarm, delivery=outcome))


def done(alarm: Alarm, holdout: str) -> str:
    """What a guardrail has done, in words."""
    if alarm.action == STOP_EXPLORING:
        return f"{alarm.variant} plays only what it knows to be best"
    return f"visits of {alarm.variant} go to {holdout}"


def message(experiment: str, plan: Plan, alarm: Alarm) -> bytes:
    """What a webhook is told, as JSON; `text` is for people."""
    text = f"{experiment}: {done(alarm, plan.holdout)} now. {alarm.reason}."
    told = {
        "event": "guardrail", "experiment": experiment, "variant": alarm.variant, "at": alarm.at,
        "action": alarm.action,
        "reason": alarm.reason, "shares_before": alarm.shares, "shares": plan.shares, "text": text,
    }  # fmt: skip
    return json.dumps(told).encode()


def post(url: str, body: bytes) -> str:
    """Tell a webhook, with retries: `DONE`, or why it was not told, without its address."""
    why = ""
    for pause in PAUSES:
        time.sleep(pause)
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=LIMIT):
                return DONE
        except urllib.error.HTTPError as error:
            why = f"it answered {error.code}"
            error.close()
        except (OSError, ValueError) as error:
            why = f"it cannot be reached ({type(error).__name__})"
    return f"not told: {why}, {len(PAUSES)} times"
