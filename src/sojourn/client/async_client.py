"""`AsyncClient`: the service from asyncio."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self, Unpack

from ..live.answers import (
    NOT_SENT,
    Ask,
    Decision,
    Logged,
    Opening,
    OtherSettings,
    ranked,
    reward_of,
    shallow,
)
from ..live.errors import Conflict
from ..live.names import Id, as_text, check_name, check_names, one_or_many
from ..validation import InputError
from .caller import (
    RETRIES,
    TIMEOUT,
    AccessDenied,
    Away,
    Caller,
    Request,
    Standby,
    Transport,
    described_policy,
    described_user,
)

if TYPE_CHECKING:
    from ..policies import Policy
    from ..users import User

DECIDED = tuple(field.name for field in fields(Decision) if field.init)


class AsyncClient:
    """`Client` for asyncio, with the names of `sojourn.Experiment`: `avisit`, `adecide`, `aend`.

    >>> async def first(url: str) -> str:
    ...     async with AsyncClient(url) as client:
    ...         shorts = await client.experiment("shorts")
    ...         visit = await shorts.avisit(user="u42")
    ...         return (await visit.adecide()).arm

    `transport` sends the requests; httpx unless another one is given.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        fallback: float | None = None,
        transport: Transport | None = None,
    ) -> None:
        if transport is None:
            from .httpx_transport import Httpx  # other transports do not need httpx

            transport = Httpx(url, key, timeout, blocking=False)
        self._tasks: set[asyncio.Task[None]] = set()
        self._caller = Caller(transport, retries, asyncio.sleep, fallback, self._spawn)

    async def experiment(
        self,
        name: str,
        arms: Sequence[Id] = (),
        policy: "Policy | Mapping[str, Any] | str | None" = None,
        user: "User | Mapping[str, Any] | str | None" = None,
        *,
        ranking: Sequence[str] = (),
        **settings: Unpack[OtherSettings],
    ) -> "AsyncExperiment":
        found = AsyncExperiment(name, self._caller)
        await found._enter(arms, policy, user, settings, ranking)
        return found

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._caller.transport.close()

    def _spawn(self, background: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(background)
        self._tasks.add(task)  # the event loop itself would forget it
        task.add_done_callback(self._tasks.discard)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class AsyncExperiment:
    """An experiment of the service: `sojourn.Experiment` over HTTP.

    `arms` are the active ones, `ranking` has them best first, and `settings` is plain data: all as
    of the last answer that had them.
    """

    def __init__(self, name: str, caller: Caller) -> None:
        self.name, self._caller = check_name("name", name), caller
        self.arms: tuple[str, ...] = ()
        self.settings: dict[str, Any] = {}
        self._standby = Standby()

    def __repr__(self) -> str:
        return f"AsyncExperiment({self.name!r})"

    @property
    def ranking(self) -> tuple[str, ...]:
        return self._standby.ranking

    async def avisit(
        self, user: Id | None = None, id: str | None = None, state: float | None = None
    ) -> "AsyncVisit":
        return AsyncVisit(self, id, _given(Opening(as_text(user), state)))

    def get(self, id: str) -> "AsyncVisit":
        return AsyncVisit(self, id)

    async def add_arms(self, names: Id | Sequence[Id]) -> None:
        """Activate one arm or many, for the first time or again."""
        self._see(await self._call("POST", "arms", arms=one_or_many("arms", names)))

    async def retire_arms(self, names: Id | Sequence[Id]) -> None:
        """Stop choosing one arm or many; their counts stay. `Conflict` if no arm would be left."""
        self._see(await self._call("POST", "arms", "retire", arms=one_or_many("arms", names)))

    async def warm_start(self, prior: Mapping[str, tuple[float, float]]) -> None:
        """Prior counts, (pulls, successes) by arm; they replace those given before."""
        arms = {name: {"pulls": n, "successes": s} for name, (n, s) in prior.items()}
        self._see(await self._call("PUT", "prior", arms=arms))

    async def _enter(
        self,
        arms: Sequence[Id],
        policy: Any,
        user: Any,
        settings: Mapping[str, Any],
        ranking: Sequence[str],
    ) -> None:
        """Create or update the experiment; with nothing given, check that it exists."""
        if ranking and self._caller.fallback is None:
            raise InputError("ranking is not allowed without a fallback: Client(url, fallback=1)")
        body = dict(settings)
        if policy is not None:
            body["policy"] = described_policy(policy)
        if user is not None:
            body["user"] = described_user(user)
            space = getattr(user, "space", None)  # of a user who takes rewards by their level
            for threshold in getattr(space, "cuts", ()):
                body.setdefault("reward_threshold", threshold)
        if ranking and not (arms or body):
            self.arms = self._standby.ranking = tuple(check_name("ranking", n) for n in ranking)
            with suppress(Away):
                await self._find(self._ask)
            return
        if not arms:
            await self._find(self._call)
        if arms or body:
            body["arms"] = check_names("arms", arms or self.arms)
            request = Request.of("PUT", "experiments", self.name, **body)
            self._see(await self._caller.call(request))

    async def _find(self, call: Callable[..., Awaitable[Any]]) -> None:
        try:
            self._see(await call("GET"))
        except (AccessDenied, Conflict):  # a key that is for decisions only, or it has variants
            self._standby.tell((await call("GET", "ranking"))["arms"])
            self.arms = self.ranking

    def _see(self, answer: dict[str, Any]) -> None:
        self.arms = tuple(arm["name"] for arm in answer["arms"] if not arm["retired"])
        self.settings = {k: v for k, v in answer.items() if k not in ("name", "arms")}
        self._standby.tell(ranked(answer["arms"]))

    async def _call(self, method: str, *path: str, **body: Any) -> Any:
        return await self._caller.call(Request.of(method, "experiments", self.name, *path, **body))

    async def _ask(self, method: str, *path: str, **body: Any) -> Any:
        """`_call` for visits: if there is a fallback, `Away` when its time is over or just was."""
        caller = self._caller
        if caller.fallback is None:
            return await self._call(method, *path, **body)
        with self._standby.attempt():
            request = Request.of(method, "experiments", self.name, *path, **body)
            answer = await caller.call(request, caller.fallback)
        if self._standby.stale():
            caller.spawn(self._refresh())
        return answer

    async def _refresh(self) -> None:
        with suppress(Exception):  # whatever it is, the calls that matter will tell
            self._standby.tell((await self._call("GET", "ranking"))["arms"])


class AsyncVisit:
    """One visit of one user, as this process knows it.

    It is opened with its first decision. Every decision is requested by its step number, so a
    delayed request does no harm when it arrives after its own retry.
    """

    def __init__(
        self,
        experiment: AsyncExperiment,
        id: str | None = None,
        opening: dict[str, Any] | None = None,
    ) -> None:
        self._experiment = experiment
        self._opening = opening
        self._step = 0 if id is None else None
        self._state = float((opening or {}).get("state", 1.0))
        self._unanswered: tuple[Any, str] | None = None
        self._away: dict[str, Any] | None = None  # what was asked when a fallback had to answer
        self.id = uuid.uuid4().hex if id is None else check_name("id", id)

    def __repr__(self) -> str:
        return f"AsyncVisit({self._experiment.name!r}, {self.id!r})"

    async def adecide(self, ask: Ask | None = None) -> Decision:
        """The arm to show next, after the reward of the pending step if there is one; see `Ask`.

        After `Unavailable`, call it again: it returns the decision that was made, or makes it now.
        After `Conflict`, another process has continued the visit; the next call continues from
        there.

        If the client has a fallback and the service is away, the answer is the best arm of the last
        ranking, with `Decision.fallback` and step 0. The reward of that arm is not sent: the next
        call repeats this request, until the service answers. With `logged`, it is that arm; with
        `candidates`, the best of them.
        """
        ask = ask or Ask()
        body = self._away or self._body(ask)
        try:
            path = "decisions" if body["reward"] is None else "step"
            answer = await self._call("POST", path, **body)
        except Conflict:
            self._step = self._unanswered = self._away = None  # another process went on with it
            raise
        except InputError:
            if self._away is not None:  # which would be refused again and again
                self._away = {**body, "reward": None}
            raise
        except Away:
            self._away = body
            able = ask.candidates or self._experiment.ranking
            best = next((arm for arm in self._experiment.ranking if arm in able), able[0])
            arm = best if ask.logged is None else ask.logged.arm
            return Decision(self.id, 0, arm, self._state, None)
        self._opening = self._unanswered = self._away = None
        self._step, self._state = answer["step"], answer["state"]
        return Decision(**{name: answer.get(name) for name in DECIDED})

    def _body(self, ask: Ask) -> dict[str, Any]:
        """The body of a decision; the step is counted here unless the caller gives it."""
        step = ask.step
        if step is None and self._step is not None:
            step = self._step + 1
        opening = self._opening if ask.opening is None else _given(ask.opening)
        return {
            **shallow(ask),
            "request": ask.request or self._request_id((ask.reward, step)),
            "step": step,
            "opening": opening,
            "logged": None if ask.logged is None else _given(ask.logged),
        }

    async def areward(self, value: float, *, step: int | None = None) -> str:
        """The reward of a step, by default the last one: "learned", "same" or "late".

        If the client has a fallback, "not sent" if the service did not decide this step, or is
        away.
        """
        value = reward_of(value)
        if step == 0 or (step is None and self._away):
            return NOT_SENT
        try:
            if step is None:
                step = self._step or (await self._call("GET"))["step"]
            answer = await self._call("PUT", "decisions", str(step), "reward", value=value)
        except Away:
            return NOT_SENT
        return str(answer["outcome"])

    async def aend(self, reward: float | None = None) -> bool:
        """End the visit: the user has left, perhaps after a last reward. False if that was known.

        Also False if the client has a fallback and the service is away: its idle timeout will end
        the visit.
        """
        reward = None if reward is None else reward_of(reward)
        try:
            if self._opening is not None:
                await self._call("PUT", **self._opening)
                self._opening = None
            body = {"reward": None if self._away else reward}
            return bool((await self._call("PUT", "end", **body))["ended"])
        except Away:
            return False

    async def _call(self, method: str, *path: str, **body: Any) -> Any:
        return await self._experiment._ask(method, "visits", self.id, *path, **body)

    def _request_id(self, asked: Any) -> str:
        """A new id; or, if the same decision was asked for without an answer, the id it had."""
        if self._unanswered is None or self._unanswered[0] != asked:
            self._unanswered = asked, uuid.uuid4().hex
        return self._unanswered[1]


def _given(record: Opening | Logged) -> dict[str, Any]:
    """What is sent of a record: the fields that are given, but for those that the service sets."""
    given = shallow(record).items()
    return {n: value for n, value in given if value is not None and n not in ("epoch", "window")}
