"""The operations on visits: under one lock decide and learn, then wait for the commit outside it.

Operations are generators for `journal.run` or `journal.arun`: they yield what takes a while,
tickets of the writer and functions that read the store.
"""

from typing import Any

from .core import TRIES, Core, Known, Steps
from .errors import Busy, Conflict, Ended, NotFound
from .records import END, LATE, RESOLVE, REWARD, TIMEOUT, Row
from .turn import Turn, opened
from .visit import LEARNED, SAME, TOO_LATE, Decision
from .writer import Ticket

SWEEP_AT_ONCE = 500

AGAIN = object()
"""An answer within: the visit was resolved meanwhile, look at it again."""


class Engine(Core):
    """One experiment in one process: what can be done with it."""

    def opening(self, visit: str, user: str | None, state: float | None) -> Steps:
        """Open a visit, unless it is there."""

        def find() -> Row | None:
            return self.journal.store.visit(self.name, visit)

        def act(row: Row) -> tuple[Any, Turn | None]:
            if row.version:
                return None, None
            start = self.user.begin(self.learner.begin()) if state is None else state
            turn = self._turn(row._replace(before=start, state=start))
            turn.open()
            return None, turn

        for _ in range(TRIES):
            if self.stale():
                yield self.reload
            if visit in self.visits or (yield find) is not None:
                return
            new = Known(opened(self.name, visit, user, 0.0), None)
            _, _, ticket = self._try(new, act)
            if ticket is not None and (yield ticket):
                return
            if ticket is not None:
                yield self.reload

    def decision(self, row: Row) -> Decision:
        """The last decision of a visit."""
        assert row.arm is not None
        state = self.user.experience(row.before)
        return Decision(row.id, row.step, self.arms[row.arm].name, state, row.propensity)

    def deciding(self, visit: str, reward: float | None, request: str | None) -> Steps:
        """See `Visit.decide`."""

        def act(row: Row) -> tuple[Any, Turn | None]:
            if _repeats(row, request):
                return self.decision(row), None
            if row.status != "open":
                raise Ended(f"visit {visit!r} is over ({row.status}): open another one")
            if due is not None and not row.pending:
                return AGAIN, None
            turn = self._turn(row)
            turn.decide(due, request)
            return self.decision(turn.row), turn

        while True:
            due = yield from self._unless_resolved(visit, reward, request)
            answer = yield from self._attempt(visit, act)
            if answer is not AGAIN:
                return answer

    def _unless_resolved(self, visit: str, reward: float | None, request: str | None) -> Steps:
        """The reward if the pending step is to have it; None once it is known to be too late."""
        row = (yield from self.looking(visit)).row
        if reward is None or row.pending or _repeats(row, request):
            return reward
        yield from self.rewarding(visit, reward, None)
        return None

    def rewarding(self, visit: str, reward: float, step: int | None) -> Steps:
        """See `Visit.reward`."""

        def act(row: Row) -> tuple[Any, Turn | None]:
            wanted = row.step if step is None else step
            if not 1 <= wanted <= row.step:
                raise NotFound(f"visit {visit!r} has no step {wanted}: nothing was decided there")
            if wanted < row.step or not row.pending:
                return (wanted, row.version), None
            turn = self._turn(row)
            turn.resolve(reward, REWARD)
            return LEARNED, turn

        while True:
            answer = yield from self._attempt(visit, act)
            if answer == LEARNED:
                return LEARNED
            wanted, version = answer
            answer = yield from self._after_resolution(visit, wanted, version, reward)
            if answer is not None:
                return answer

    def _after_resolution(self, visit: str, step: int, version: int, reward: float) -> Steps:
        """A reward for a step that has one, or was resolved without; None if the visit went on."""
        store = self.journal.store
        yield self.journal.writer.barrier()
        resolved = yield lambda: store.event(self.name, visit, step, RESOLVE)
        if resolved.cause == REWARD:
            if resolved.reward != reward:
                raise Conflict(
                    f"step {step} of visit {visit!r} has the reward {resolved.reward:g}, "
                    f"and {reward:g} came later"
                )
            return SAME
        if (yield lambda: store.event(self.name, visit, step, LATE)) is not None:
            return TOO_LATE

        def act(row: Row) -> tuple[Any, Turn | None]:
            if row.version != version:
                return None, None
            turn = self._turn(row)
            turn.late(step, reward)
            return TOO_LATE, turn

        return (yield from self._attempt(visit, act))

    def ending(self, visit: str, reward: float | None) -> Steps:
        """See `Visit.end`."""

        def act(row: Row) -> tuple[Any, Turn | None]:
            if due is not None and not row.pending:
                return AGAIN, None
            if row.status != "open":
                return False, None
            turn = self._turn(row)
            turn.leave(due, END)
            return True, turn

        while True:
            due = yield from self._unless_resolved(visit, reward, None)
            answer = yield from self._attempt(visit, act)
            if answer is not AGAIN:
                return answer

    def sweep(self) -> int:
        """Resolve steps and end visits that are overdue; how many visits had something done."""
        store, swept = self.journal.store, 0
        if self.stale():
            self.reload()
        while True:
            found = store.overdue(self.name, self.settings.idle_timeout, SWEEP_AT_ONCE)
            tickets = self._expire(found)
            applied = [ticket.wait() for ticket in tickets]
            swept += sum(applied)
            if not all(applied):
                self.reload()
            if len(found) < SWEEP_AT_ONCE or not tickets:
                return swept

    def _expire(self, found: list[tuple[Row, bool]]) -> list[Ticket]:
        tickets: list[Ticket] = []
        for seen, idle in found:

            def act(row: Row, seen: Row = seen, idle: bool = idle) -> tuple[Any, Turn | None]:
                if row.version != seen.version:
                    return None, None
                turn = self._turn(seen)  # which has the time of the last sign of life
                if idle:
                    turn.leave(None, TIMEOUT)
                else:
                    turn.resolve(None, TIMEOUT)
                    turn.touch = False
                return None, turn

            try:
                _, known, ticket = self._try(Known(seen, None), act)
            except Busy:
                break
            if ticket is not None:
                tickets.append(ticket)
            elif known.ticket is not None and known.ticket.done:
                self._forget(known)  # another process may have changed it: look again
        return tickets


def _repeats(row: Row, request: str | None) -> bool:
    """Whether a request is that of the last decision."""
    return row.step > 0 and request is not None and row.request == request
