"""A made-up world: people, arms and a recommender, its log, and what is true of it.

Nothing here is shared with the package: plain NumPy, exact sums where there are any. States are
0 at the first step of a visit, 1 after a reward of 0, 2 after a reward of 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Log = dict[str, NDArray[Any]]

START, STEP_SECONDS, VISIT_SECONDS = 1_700_000_000, 20, 7_200


class Worth(NamedTuple):
    """What a visit is worth."""

    reward: float
    steps: float


class MistakeCosts(NamedTuple):
    """E[D_u(s) | S = s]: what a pull that is 1 worse costs those who are in state s."""

    d0: float
    d1: float

    @property
    def ratio(self) -> float:
        return self.d0 / self.d1


@dataclass(frozen=True, eq=False)
class World:
    """Kinds of people, and who shows them what.

    * `means[kind, state, arm]`: the chance of a reward of 1.
    * `leave[kind, layer, arm, state, reward]`: the chance to leave after it; layer h - 1 is for
      step h, the last one for all later steps.
    * `rule[kind, state, arm]`: the chances with which the log's recommender shows arms.
    * `shares[kind]`: of the users; of the visits, one after another in time, if `in_turn` (drift).
    * `spoil(log, rng)`: what became of the log before anyone read it.
    """

    means: Array
    leave: Array
    rule: Array
    shares: Array
    in_turn: bool = False
    spoil: Callable[[Log, np.random.Generator], Log] | None = None

    @property
    def kinds(self) -> int:
        return self.means.shape[0]

    @property
    def arms(self) -> int:
        return self.means.shape[2]

    @property
    def layers(self) -> int:
        return self.leave.shape[1]

    # --- the truth -----------------------------------------------------------------------------

    def always(self, arm: int) -> Array:
        """The rule that shows one arm."""
        return np.tile(np.eye(self.arms)[arm], (3, 1))

    def worth(self, rule: Array | None = None) -> Worth:
        """Rewards and steps per visit of a rule [state, arm] or [kind, state, arm], exactly.

        Without a rule, those of the log's recommender.
        """
        value = self._value(self._by_kind(rule))
        return Worth(*(self.shares @ value[:, 0, 0]).tolist())

    @cached_property
    def by_arm(self) -> tuple[Worth, ...]:
        """What visits are worth in which always the same arm is shown."""
        return tuple(self.worth(self.always(arm)) for arm in range(self.arms))

    @cached_property
    def best_arm(self) -> int:
        return int(np.argmax([worth.reward for worth in self.by_arm]))

    @cached_property
    def best_rule(self) -> Array:
        """The best arm for each state, found by changing one at a time from the best arm.

        A recommender that learns who it deals with may do better.
        """
        arms = [self.best_arm] * 3
        while True:
            tried = [(*arms[:s], arm, *arms[s + 1 :]) for s in range(3) for arm in range(self.arms)]
            worth = [self.worth(np.eye(self.arms)[list(a)]).reward for a in tried]
            found = list(tried[int(np.argmax(worth))])
            if max(worth) <= self.worth(np.eye(self.arms)[arms]).reward + 1e-12:
                return np.eye(self.arms)[arms]
            arms = found

    def costs(self, of: str = "best") -> MistakeCosts:
        """D_u(s) of always the best arm, averaged over users and their steps after the first.

        D_u(s) = 1 + (1 - q_u(s, 1)) V_u(1) - (1 - q_u(s, 0)) V_u(0). The average is `of` those who
        are in state s if always the "best" arm is shown, or in the "log"; or of the "same" users
        and steps of the log for both: what the state does to a person, not who is in it.
        """
        if of not in ("best", "log", "same"):
            raise ValueError(f"of = {of!r} is not allowed")
        best = self.best_arm
        rule = self._by_kind(self.always(best))
        after = self._after(self._value(rule))[..., 0]
        stays = 1.0 - self.leave[:, :, best]
        d = 1.0 + stays[..., 1] * after[:, :, None, 1] - stays[..., 0] * after[:, :, None, 0]
        present = self._present(rule if of == "best" else self.rule)[:, :, 1:]
        weight = self.shares[:, None, None] * present
        if of == "same":
            weight = np.repeat(weight.sum(axis=2, keepdims=True), 2, axis=2)
        d0, d1 = ((d[:, :, 1:] * weight).sum(axis=(0, 1)) / weight.sum(axis=(0, 1))).tolist()
        return MistakeCosts(d0, d1)

    def seen_means(self) -> Array:
        """The mean reward of each arm where the log's recommender showed it."""
        weight = self._present(self.rule).sum(axis=1)[..., None] * self.rule
        weight = weight * self.shares[:, None, None]
        return np.asarray((weight * self.means).sum(axis=(0, 1)) / weight.sum(axis=(0, 1)))

    def _by_kind(self, rule: Array | None) -> Array:
        chosen = self.rule if rule is None else np.asarray(rule, float)
        return np.broadcast_to(chosen, self.means.shape)

    def _onward(self, rule: Array) -> Array:
        """[kind, layer, state, reward]: the chance of a reward after which the user stays."""
        chance = np.stack([1.0 - self.means, self.means], axis=-1) * rule[..., None]
        return np.einsum("ksar,klasr->klsr", chance, 1.0 - self.leave)

    def _value(self, rule: Array) -> Array:
        """[kind, layer, state, (rewards, steps)] to come."""
        onward = self._onward(rule)
        now = np.stack([(rule * self.means).sum(axis=2), np.ones((self.kinds, 3))], axis=-1)
        value = np.empty((self.kinds, self.layers, 3, 2))
        last = onward[:, -1]
        later = np.linalg.solve(np.eye(2) - last[:, 1:], now[:, 1:])
        for layer in reversed(range(self.layers)):
            value[:, layer] = now + onward[:, layer] @ later
            later = value[:, layer, 1:]
        return value

    def _after(self, value: Array) -> Array:
        """[kind, layer, reward, ...]: the value one step on."""
        return np.concatenate([value[:, 1:], value[:, -1:]], axis=1)[:, :, 1:]

    def _present(self, rule: Array) -> Array:
        """[kind, layer, state]: how many such steps a visit has on average."""
        onward = self._onward(rule)
        present = np.zeros((self.kinds, self.layers, 3))
        present[:, 0, 0] = 1.0
        for layer in range(self.layers - 1):
            present[:, layer + 1, 1:] = np.einsum("ks,ksr->kr", present[:, layer], onward[:, layer])
        last = onward[:, -1]
        came = present[:, -1].copy()
        came[:, 1:] += (came[:, :1] * last[:, 0]) if self.layers == 1 else 0.0
        into = np.eye(2) - last[:, 1:].transpose(0, 2, 1)
        present[:, -1, 1:] = np.linalg.solve(into, came[:, 1:, None])[..., 0]
        return present

    # --- logs ----------------------------------------------------------------------------------

    def log(self, visits: int = 4_000, users: int = 1_000, seed: int = 0) -> Log:
        """A log of the recommender: user, visit, step, arm, reward, left, time and propensity.

        Users come in turn, so that each has nearly the same number of visits.
        """
        rng = np.random.default_rng([seed, 15])
        user = np.arange(visits) % users
        kind = self._kinds(rng, visits, users)[user if not self.in_turn else np.arange(visits)]
        cumulated = self.rule.cumsum(axis=2)
        rows = list[Log]()
        visit, state, step = np.arange(visits), np.zeros(visits, np.int64), 0
        while visit.size:
            k, step, layer = kind[visit], step + 1, min(step, self.layers - 1)
            u = rng.random((3, visit.size))
            arm = (u[0][:, None] >= cumulated[k, state, :-1]).sum(axis=1)
            reward = (u[1] < self.means[k, state, arm]).astype(np.int64)
            left = u[2] < self.leave[k, layer, arm, state, reward]
            rows.append(
                {
                    "user": user[visit],
                    "visit": visit,
                    "step": np.full(visit.size, step),
                    "arm": arm,
                    "reward": reward,
                    "left": left.astype(np.int64),
                    "time": START + VISIT_SECONDS * visit + STEP_SECONDS * step,
                    "propensity": self.rule[k, state, arm],
                }
            )
            visit, state = visit[~left], reward[~left] + 1
        made = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        order = np.lexsort([made["step"], made["visit"]])
        made = {name: column[order] for name, column in made.items()}
        return made if self.spoil is None else self.spoil(made, rng)

    def _kinds(self, rng: np.random.Generator, visits: int, users: int) -> NDArray[np.int64]:
        """Of every user, or of every visit in turn."""
        if self.in_turn:
            return np.searchsorted(self.shares.cumsum()[:-1], np.arange(visits) / visits, "right")
        return np.asarray(rng.choice(self.kinds, users, p=self.shares))

    # --- policies ------------------------------------------------------------------------------

    def play(
        self, policy: Any, visits: int, *, users: int = 1_000, seed: int = 0, start: float = 1.0
    ) -> Worth:
        """Rewards and steps per visit of a policy of the package that learns from `visits` visits.

        Not the rewards themselves are counted, but what each choice adds to what is expected of
        the best arm: the same on average, with far less noise. The first state is shown as `start`.
        """
        from sojourn.engine.streams import policy_stream

        reference = self._value(self._by_kind(self.always(self.best_arm)))
        after = self._after(reference)
        rng, stream = np.random.default_rng([seed, 16]), policy_stream(seed, 0)
        kinds, memory = self._kinds(rng, visits, users), policy.memory(self.arms)
        total = visits * (self.shares @ reference[:, 0, 0])
        for visit in range(visits):
            kind = int(kinds[visit if self.in_turn else visit % users])
            state, shown, step, left = 0, start, 0, False
            while not left:
                layer, step = min(step, self.layers - 1), step + 1
                arm = int(policy.choose(memory, shown, stream))
                p, q = self.means[kind, state, arm], self.leave[kind, layer, arm, state]
                now = np.array([p, 1.0]) + (np.array([1.0 - p, p]) * (1.0 - q)) @ after[kind, layer]
                total += now - reference[kind, layer, state]
                reward = int(rng.random() < p)
                left = bool(rng.random() < q[reward])
                policy.update(memory, shown, arm, float(reward), left, float(reward))
                state, shown = reward + 1, float(reward)
        return Worth(*(total / visits).tolist())

    def with_rule(self, rule: Array) -> "World":
        """The same people with another recommender, [state, arm] or [kind, state, arm]."""
        return replace(self, rule=np.array(self._by_kind(rule)))
