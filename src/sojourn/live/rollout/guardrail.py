"""The allocation of an experiment, changed by any process; its guardrail, which acts once."""

import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import replace

from ...validation import InputError
from ..branch import Branch
from ..enrolment import allocation_in
from ..errors import Conflict, LiveError
from ..journal import Journal
from ..records import AUDIT_ACTOR
from ..stores.base import Stored, find, loaded, swap
from .allocation import STOP_EXPLORING, Alarm, Allocation
from .comparison import ALPHA, WORDS, compared, groups_of, ranks, snapshots_of
from .groups import Group

LOOK = 5.0  # seconds between two looks
PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each attempt to tell the webhook
LIMIT = 10.0  # seconds that one attempt may take
CLAIM = sum(PAUSES) + len(PAUSES) * LIMIT
"""Seconds after which another process calls the webhook in place of one that has not."""

TRIES = 50  # to change an allocation that others change as well
DUE, DONE, NONE = "due", "done", "none"

log = logging.getLogger("sojourn.live")


def violation(
    experiment: str, allocation: Allocation, groups: Mapping[str, list[Group]], now: float
) -> Alarm | None:
    """Why the guardrail of an allocation has to act, if it has one that has not acted.

    The level is that of all variants together: each has its part of it.
    """
    rule = allocation.guardrail
    if rule is None or allocation.alarm is not None:
        return None
    alpha = rule.alpha / (len(allocation.variants) - 1)
    found = compared(experiment, allocation, groups, now, alpha, rule.planned, rule.since)
    for variant in found.variants:
        difference = variant.differences.get(rule.metric)
        if difference is not None and difference.high < -rule.margin and variant.share > 0.0:
            more = f" by more than {rule.margin:g}" if rule.margin else ""
            reason = (
                f"{WORDS[rule.metric]} of {variant.name} is below that of "
                f"{allocation.holdout}{more}: {difference.value:+.4g} [{difference.low:+.4g}, "
                f"{difference.high:+.4g}] after {variant.visits:,} visits"
            )
            return Alarm(
                at=now, variant=variant.name, reason=reason, shares=dict(allocation.shares),
                action=rule.action, settled=allocation.settled,
            )  # fmt: skip
    return None


class Rollout:
    """The allocation of an experiment in this process: kept like the store's, changed, guarded.

    The journal's upkeep calls `refresh`. Branches are told whether they explore.
    """

    def __init__(
        self, name: str, journal: Journal, branches: Mapping[str, Branch], webhook: str | None
    ) -> None:
        self.name, self.branches, self.dropped = name, branches, False
        self._journal = self._entered = journal
        self.guard = Guard(self, webhook)
        self._lock = threading.Lock()
        self._stored: Stored | None = None
        self.reload()
        journal.enter(self)

    @property
    def journal(self) -> Journal:
        """The store with its threads, those of this process."""
        here = self._journal.here()
        if here is not self._entered:  # the process was forked
            self._entered = here
            here.enter(self)
        return here

    def reload(self) -> None:
        self._take(loaded(self.journal.store, self.name))

    def _take(self, stored: Stored) -> None:
        """Use the allocation that was stored, unless a later one is in use already."""
        allocation = allocation_in(stored, self.name)
        with self._lock:
            if self._stored is None or stored.version > self._stored.version:
                self._stored, self.allocation = stored, allocation
                for name, branch in self.branches.items():
                    branch.exploring = name not in allocation.settled

    def change(self, changed: Callable[[Allocation], Allocation]) -> None:
        """Change the allocation, also if other processes change it meanwhile."""
        for _ in range(TRIES):
            self.reload()
            before = self.allocation
            if self.exchange(before, changed(before)):
                return
        raise Conflict(
            f"the allocation of {self.name!r} was changed by others {TRIES} times in a row"
        )

    def exchange(self, before: Allocation, after: Allocation) -> bool:
        """Whether one allocation replaced the other, which this process had, in the store."""
        if after == before:
            return True
        with self._lock:
            stored, known = self._stored, self.allocation
        text = after.to_json()
        assert stored is not None
        if known is not before or not swap(self.journal.store, self.name, stored, text):
            return False
        self._take(stored._replace(settings=text, version=stored.version + 1))
        return True

    def refresh(self, stored: Stored | None = None) -> None:
        """Load the allocation if another process has changed it, and let the guardrail look."""
        if stored is None and self.journal.store.shared:
            stored = find(self.journal.store, self.name)
            if stored is None:
                self.leave()
                return
        if stored is not None:
            self._take(stored)
        self.guard.look_in_time()

    def sweep(self) -> int:
        """Nothing: the visits are those of the branches."""
        return 0

    def leave(self) -> None:
        self.dropped = True
        self.journal.leave(self)

    def close(self) -> None:
        self._entered.leave(self)


class Guard:
    """Looks at the comparison of an experiment, keeps what it says over time, and acts.

    Of several processes that want to act one does, because the allocation is exchanged once. That
    one calls the webhook, in a thread of its own; if it dies before it has, another one does.
    """

    def __init__(self, rollout: Rollout, webhook: str | None) -> None:
        if webhook is not None and not webhook.startswith(("http://", "https://")):
            raise InputError("webhook is not allowed: it must begin with http:// or https://")
        self.rollout, self.webhook = rollout, webhook
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
        rollout, allocation = self.rollout, self.rollout.allocation
        if allocation.alarm is not None:
            self._take_over(allocation.alarm)
        store = rollout.journal.store
        groups = groups_of(store, {name: each.name for name, each in rollout.branches.items()})
        self._note(allocation, groups)
        alarm = violation(rollout.name, allocation, groups, store.ping())
        if alarm is None:
            return False
        alarm = replace(alarm, delivery=DUE if self.webhook else NONE)
        stopped = replace(allocation.stopped(alarm), claimed=alarm.at)
        if not self._exchange(allocation, stopped):
            return False  # others have acted, or changed the shares: the next look tells
        log.warning("guardrail of %s: %s", rollout.name, alarm.reason)
        self._tell(alarm)
        return True

    def _note(self, allocation: Allocation, groups: Mapping[str, list[Group]]) -> None:
        """Keep a snapshot of the comparison, if it has enough visits more than the last one."""
        now, store = ranks(allocation, groups), self.rollout.journal.store
        if now != self._ranks:
            found = compared(self.rollout.name, allocation, groups, store.ping(), ALPHA)
            store.note(self.rollout.name, snapshots_of(found))
            self._ranks = now

    def _exchange(self, before: Allocation, after: Allocation) -> bool:
        token = AUDIT_ACTOR.set("guardrail")
        try:
            return self.rollout.exchange(before, after)
        finally:
            AUDIT_ACTOR.reset(token)

    def _take_over(self, alarm: Alarm) -> None:
        """Call the webhook in the place of a process that has died."""
        if self.webhook is None or alarm.delivery != DUE:
            return
        now, known = self.rollout.journal.store.ping(), self.rollout.allocation
        if now - known.claimed > CLAIM and self._exchange(known, replace(known, claimed=now)):
            self._tell(alarm)

    def _tell(self, alarm: Alarm) -> None:
        if self.webhook is None:
            return
        rollout = self.rollout

        def work(url: str = self.webhook) -> None:
            outcome = post(url, message(rollout.name, rollout.allocation, alarm))
            (log.info if outcome == DONE else log.error)("guardrail: webhook: %s", outcome)
            try:
                rollout.change(lambda known: _delivered(known, alarm, outcome))
            except LiveError as error:  # it is told once more, then
                log.warning("guardrail: %s", error)

        self.telling = threading.Thread(target=work, name="sojourn-webhook", daemon=True)
        self.telling.start()


def _delivered(allocation: Allocation, alarm: Alarm, outcome: str) -> Allocation:
    """The allocation, if it still has this alarm, with the status of its webhook call."""
    if allocation.alarm is None or allocation.alarm.at != alarm.at:
        return allocation
    return replace(allocation, alarm=replace(allocation.alarm, delivery=outcome))


def message(experiment: str, allocation: Allocation, alarm: Alarm) -> bytes:
    """The body of a webhook call, as JSON; `text` is for people."""
    done = f"visits of {alarm.variant} go to {allocation.holdout}"
    if alarm.action == STOP_EXPLORING:
        done = f"{alarm.variant} plays only what it knows to be best"
    text = f"{experiment}: {done} now. {alarm.reason}."
    told = {
        "event": "guardrail", "experiment": experiment, "variant": alarm.variant, "at": alarm.at,
        "action": alarm.action, "reason": alarm.reason, "shares_before": alarm.shares,
        "shares": allocation.shares, "text": text,
    }  # fmt: skip
    return json.dumps(told).encode()


def post(url: str, body: bytes) -> str:
    """Call a webhook, with retries: `DONE`, or why that failed, without its address."""
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
