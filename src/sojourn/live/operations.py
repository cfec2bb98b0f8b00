"""The operations on visits: decide and learn under a lock, then wait for the commit outside it.

Operations are generators for `journal.run` or `journal.arun`: they yield what blocks, tickets of
the writer and functions that read the store.
"""

from __future__ import annotations  # those of functions within functions cost at each call

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ..validation import InputError
from .answers import LEARNED, SAME, TOO_LATE, Ask, Choice, Decision, Logged, Opening, VisitInfo
from .errors import Busy, Conflict, Ended, NotFound
from .journal import Steps
from .names import check_name
from .records import DECIDE, END, LATE, RESOLVE, REWARD, TIMEOUT, Row
from .replica import Known, Replica
from .rollout.groups import number_of
from .stores.base import find_event, loaded
from .transition import Transition
from .writer import Ticket

SWEEP_AT_ONCE = 500
PAUSE = 0.05  # the least seconds between two decisions that are noted
RESOLVED = object()  # internal answer: the step is resolved, so give its reward by itself first


class Past(NamedTuple):
    """Internal answer: this step was decided before, and the log has how."""

    step: int


class Operations(Replica):
    """The operations on visits of an experiment, on its replica in this process."""

    def opening(self, visit: str, opening: Opening) -> Steps[VisitInfo | None]:
        """Open a visit unless it is there; how it was opened, or None if it was there."""

        def act(row: Row) -> tuple[Any, Transition | None]:
            if row.version:
                return None, None
            transition = self._opened(row, opening)
            return self.info(transition.row), transition

        opened: VisitInfo | None = yield from self._attempt(visit, act, guess=True)
        return opened

    def _opened(self, row: Row, opening: Opening) -> Transition:
        start = opening.state
        if start is None:
            start = self.settings.user.begin(self.learner.begin())
        row = row._replace(
            user=opening.user, before=start, state=start, epoch=opening.epoch,
            group=number_of(row.id, opening.user), until=opening.window,
        )  # fmt: skip
        transition = self._transition(row)
        transition.open()
        return transition

    def info(self, row: Row) -> VisitInfo:
        arm = self.arms[row.arm].name if row.pending and row.arm is not None else None
        state = self.settings.user.experience(row.state)
        external = self.settings.external
        return VisitInfo(row.id, row.user, row.status, row.step, state, arm, external=external)

    def looking_up(self, visit: str) -> Steps[VisitInfo]:
        return self.info((yield partial(self.fetch, visit)))

    def decision(self, row: Row, shadow_arm: int | None = None) -> Decision:
        assert row.arm is not None
        state = self.settings.user.experience(row.before)
        return Decision(
            row.id, row.step, self.arms[row.arm].name, state, row.propensity,
            shadow_arm=self._name_of(shadow_arm),
        )  # fmt: skip

    def _name_of(self, position: int | None) -> str | None:
        return None if position is None else self.arms[position].name

    def deciding(self, visit: str, ask: Ask) -> Steps[Decision]:
        """See `Ask`."""
        request, step, opening = ask.request, ask.step, ask.opening
        if opening is not None:
            check_name("id", visit)
        reward = due = self._given(ask.reward)
        shown = yield from self._shown(ask.logged)
        among = yield from self._among(ask.candidates)

        def act(row: Row) -> tuple[Any, Transition | None]:
            known = row.step > 0 and request is not None and row.request == request
            if known and step in (None, row.step):  # a retry of the last decision
                return Past(row.step) if self.shadows else self.decision(row), None
            if step is not None and step <= row.step:
                return Past(step), None
            if step is not None and step > row.step + 1:
                raise Conflict(
                    f"step = {step} is not allowed: the next step of visit {visit!r} is "
                    f"{row.step + 1}"
                )
            if due is not None and not row.pending:
                return RESOLVED, None
            if row.status != "open":
                raise Ended(f"visit {visit!r} has ended ({row.status}): open another one")
            transition = (
                self._transition(row)
                if row.version or opening is None
                else self._opened(row, opening)
            )
            transition.decide(due, request, shown, among)
            answer = self.decision(transition.row, transition.shadow_arm)
            if shown is None:
                self._note(answer, transition.row)
            return answer, transition

        opens = opening is not None
        attempt = partial(self._attempt, visit, act, opens=opens, guess=opens and reward is None)
        while (answer := (yield from attempt())) is RESOLVED:
            assert reward is not None
            yield from self.rewarding(visit, reward, None if step is None else step - 1)
            due = None
        if isinstance(answer, Past):
            answer = yield from self._decided(visit, answer.step, request)
        made: Decision = answer
        return made

    def _shown(self, logged: Logged | None) -> Steps[tuple[int, float | None] | None]:
        """The arm that the caller has chosen, where that is for the caller to do."""
        external = self.settings.external
        if logged is None:
            if external:
                raise InputError(
                    f"logged is missing: the caller chooses the arms of {self.name!r}: say which "
                    "one was shown"
                )
            return None
        (position,) = yield from self._positions("logged.arm", [logged.arm])
        return (position, logged.propensity) if external else None

    def _among(self, candidates: Sequence[str] | None) -> Steps[list[int] | None]:
        """The arms that may be chosen; None: all in use."""
        if candidates is None:
            return None
        among = yield from self._positions("candidates", candidates)
        self.settings.policy.check_arms(len(self.learner.columns(among)))
        return among

    def _positions(self, what: str, names: Sequence[str]) -> Steps[list[int]]:
        """Where the arms of these names are, also of those that another process has just added."""
        unknown = [name for name in names if name not in self.positions]
        if unknown:
            arms = (yield partial(loaded, self.journal.store, self.name)).arms
            absent = set(unknown) - {arm.name for arm in arms}
            if absent:
                raise InputError(
                    f"{what} = {min(absent)!r} is not allowed: there is no such arm in "
                    f"{self.name!r}"
                )
            yield self.reload
        return [self.positions[name] for name in names]

    def _decided(self, visit: str, step: int, request: str | None) -> Steps[Decision]:
        """An earlier decision, asked for again."""
        yield self.journal.writer.barrier()
        event = yield partial(find_event, self.journal.store, self.name, visit, step, DECIDE)
        if event is None or request is None or event.request != request:
            raise Conflict(f"step {step} of visit {visit!r} was decided for another request")
        yield partial(self._know_arm, event.arm)
        arm, shadow_arm = self.arms[event.arm].name, self._name_of(event.shadow_arm)
        return Decision(visit, step, arm, event.state, event.propensity, shadow_arm=shadow_arm)

    @property
    def shadows(self) -> bool:
        """Whether the caller chooses and the log has what the policy would have shown."""
        return self.settings.external and self.settings.shadow

    def _note(self, decision: Decision, row: Row) -> None:
        """Keep a sample of decisions with what the policy knew, a few a second."""
        now = time.time()
        if self.noted and now - self.noted[-1].at < PAUSE:
            return
        assert row.arm is not None
        known = self.learner.view(row.arm, decision.state)
        known |= {"best": self._name_of(known["best"]), "exploring": self.explores()}
        self.noted.append(
            Choice(now, decision.visit, decision.step, decision.arm, decision.state, **known)
        )

    def _given(self, reward: float | None) -> float | None:
        return None if reward is None else self.settings.reward(reward)

    def rewarding(self, visit: str, reward: float, step: int | None) -> Steps[str]:
        reward = self.settings.reward(reward)

        def act(row: Row) -> tuple[Any, Transition | None]:
            wanted = row.step if step is None else step
            if not row.step:
                raise NotFound(
                    f"visit {visit!r} has no step yet for a reward: choose an arm "
                    "first, or decide without a reward"
                )
            if not 1 <= wanted <= row.step:
                raise NotFound(f"visit {visit!r} has no step {wanted}: nothing was decided there")
            if wanted < row.step or not row.pending:
                return (wanted, row.version), None
            transition = self._transition(row)
            transition.resolve(reward, REWARD)
            return LEARNED, transition

        while True:
            answer = yield from self._attempt(visit, act)
            if answer == LEARNED:
                return LEARNED
            wanted, version = answer
            answer = yield from self._after_resolution(visit, wanted, version, reward)
            if answer is not None:
                return answer

    def _after_resolution(
        self, visit: str, step: int, version: int, reward: float
    ) -> Steps[str | None]:
        """A reward for a resolved step; None if the visit has changed meanwhile."""
        store = self.journal.store
        yield self.journal.writer.barrier()
        resolved = yield partial(find_event, store, self.name, visit, step, RESOLVE)
        late = yield partial(find_event, store, self.name, visit, step, LATE)
        for known in (resolved, late):
            if known is not None and known.cause == REWARD:
                if known.reward != reward:
                    raise Conflict(
                        f"step {step} of visit {visit!r} has the reward {known.reward:g}, "
                        f"and {reward:g} came later"
                    )
                return SAME
        if late is not None:
            return TOO_LATE
        in_time = yield partial(self._in_time, visit, step)

        def act(row: Row) -> tuple[Any, Transition | None]:
            if row.version != version:
                return None, None
            transition = self._transition(row)
            if in_time:
                transition.learn_late(resolved, reward)
                return LEARNED, transition
            transition.late(step, reward)
            return TOO_LATE, transition

        answer: str | None = yield from self._attempt(visit, act)
        return answer

    def _in_time(self, visit: str, step: int) -> bool:
        """Whether a late reward of a step is still to be learned."""
        store, horizon = self.journal.store, self.settings.late_horizon
        if horizon is None:
            return False
        decided = find_event(store, self.name, visit, step, DECIDE)
        return decided is not None and store.ping() - decided.at <= horizon

    def ending(self, visit: str, reward: float | None) -> Steps[bool]:
        reward = due = self._given(reward)

        def act(row: Row) -> tuple[Any, Transition | None]:
            if due is not None and not row.pending:
                return RESOLVED, None
            if row.status != "open":
                return False, None
            transition = self._transition(row)
            transition.leave(due, END)
            return True, transition

        while (answer := (yield from self._attempt(visit, act))) is RESOLVED:
            assert reward is not None
            yield from self.rewarding(visit, reward, None)
            due = None
        return bool(answer)

    def sweep(self) -> int:
        """Resolve steps and end visits that are overdue; how many visits were changed."""
        store, swept = self.journal.store, 0
        if self.stale():
            self.reload()
        while True:
            now, found = store.visits(self.name, expired=True, limit=SWEEP_AT_ONCE)
            tickets = self._expire(found, now - self.settings.idle_timeout)
            swept += sum(bool(ticket.wait(self.journal.deadline)) for ticket in tickets)
            if len(found) < SWEEP_AT_ONCE or not tickets:
                return swept

    def _expire(self, found: list[Row], idle_since: float) -> list[Ticket]:
        """End visits that were last touched before a time, resolve the pending step of others."""
        tickets: list[Ticket] = []
        for seen in found:

            def act(row: Row, seen: Row = seen) -> tuple[Any, Transition | None]:
                if row.version != seen.version:
                    return None, None
                transition = self._transition(seen)  # which has the time of the last sign of life
                if seen.touched <= idle_since:
                    transition.leave(None, TIMEOUT)
                else:
                    transition.resolve(None, TIMEOUT)
                transition.touch = False
                return None, transition

            try:
                tried = self._try(Known(seen, None), act)
            except Busy:
                break
            known = tried.known
            if tried.ticket is not None:
                tickets.append(tried.ticket)
            elif known.ticket is not None and known.ticket.done:
                self._forget(known)  # another process may have changed it: look again
        return tickets
