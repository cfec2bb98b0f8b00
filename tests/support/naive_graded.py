"""Slow, literal twins for rewards that are not 0 or 1; names as in `naive`."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import ceil, log

import naive
import numpy as np

Table = list[tuple[float, float]]
"""Values and their chances, both sums of powers of 1/2: then all sums are exact."""


class LevelUser:
    """Leaves with probability q[S, level]; the next state is the level: 1 from a threshold on."""

    def __init__(self, q: dict[tuple[int, int], float], threshold: float) -> None:
        self.q, self.threshold = q, threshold

    def level(self, R: float) -> int:
        return int(R >= self.threshold)

    def abandons(self, S: float, R: float) -> float:
        return self.q[int(S), self.level(R)]

    def moves(self, S: float, R: float) -> float:
        return self.level(R)


class Environment(naive.Environment):
    """The n-th draw of an arm begins a stream of its own, for the reward and for leaving."""

    def __init__(self, rewards: list[Table], user: LevelUser, seed: int, run: int) -> None:
        super().__init__([0.0] * len(rewards), user, seed, run)  # type: ignore[arg-type]
        self.rewards = rewards
        self.log: list[tuple[float, int, float, bool, float]] = []

    def play(self, S: float, a: int) -> tuple[float, bool]:  # type: ignore[override]
        self.pulls[a] += 1
        u = naive.draw(self.keys[a], self.pulls[a])
        own = naive.mix(int(u * 2**53) * naive.GOLDEN % naive.WORD)
        below, x, R = 0.0, naive.draw(own, 1), self.rewards[a][-1][0]
        for value, chance in self.rewards[a]:
            below += chance
            if x < below:
                R = value
                break
        left = naive.draw(own, 2) < self.user.abandons(S, R)  # type: ignore[arg-type]
        self.log.append((S, a, R, left, self.user.moves(S, R)))  # type: ignore[arg-type]
        return R, left

    def seen(self, a: int) -> list[float]:
        """All rewards of an arm so far."""
        return [R for _, arm, R, _, _ in self.log if arm == a]


def k_inf(rewards: list[float], mu: float) -> float:
    """max over l in [0, 1 / (1 - mu)] of the mean of log(1 - l (X - mu)), by bisection."""
    n, times = len(rewards), Counter(rewards)
    if sum(rewards) >= n * mu:
        return 0.0
    if mu >= 1:
        return float("inf")

    def slope(multiplier: float) -> float:
        return sum(w * (mu - x) / (1 - multiplier * (x - mu)) for x, w in times.items())

    low, high = 0.0, 1 / (1 - mu)
    if max(rewards) < 1 and slope(high) >= 0:
        low = high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return sum(w * log(1 - low * (x - mu)) for x, w in times.items()) / n


def empirical_imed(environment: Environment) -> naive.Scores:
    """The least N Kinf + log N."""

    def scores(S: float, mu_bar: dict[int, Fraction], N: dict[int, int], t: int) -> list[float]:
        best = float(max(mu_bar.values()))
        return [-(N[a] * k_inf(environment.seen(a), best) + log(N[a])) for a in N]

    return scores


def empirical_kl_ucb(environment: Environment) -> naive.Scores:
    """The greatest mean with N Kinf <= log t."""

    def bound(rewards: list[float], budget: float) -> float:
        inside, outside = sum(rewards) / len(rewards), 1.0
        while outside - inside > 1e-10:
            p = (inside + outside) / 2
            inside, outside = (p, outside) if k_inf(rewards, p) <= budget else (inside, p)
        return inside

    def scores(S: float, mu_bar: dict[int, Fraction], N: dict[int, int], t: int) -> list[float]:
        return [bound(environment.seen(a), log(t) / N[a]) for a in N]

    return scores


def learned_imed(
    environment: Environment, threshold: float, bins: int = 4, explorer: naive.Scores | None = None
) -> naive.Scores:
    """IMED where what was seen of departures says that mistakes are cheap, else the best mean."""
    explorer = explorer or naive.imed(lambda S: True)
    known = {"next_refit": 16, "clock": 0}
    explores = [True] * bins

    def scores(S: float, mu_bar: dict[int, Fraction], N: dict[int, int], t: int) -> list[float]:
        for clock in range(known["clock"] + 1, len(environment.log) + 1):
            if clock >= known["next_refit"]:
                explores[:] = cheap(environment.log[:clock], threshold, bins)
                known["next_refit"] = max(ceil(1.1 * clock), clock + 1)
        known["clock"] = len(environment.log)
        if not explores[int(S * (bins - 1))]:
            return [float(mu_bar[a]) for a in N]
        return explorer(S, mu_bar, N, t)

    return scores


def cheap(steps: list[tuple[float, int, float, bool, float]], threshold: float, bins: int):  # type: ignore[no-untyped-def]
    """In which bins the estimated cost of a mistake is in the lower half of its range."""
    last = bins - 1
    moves, gone = np.zeros((bins, 2, bins)), np.zeros((bins, 2))
    for S, _, R, left, after in steps:
        at = int(S * last), int(R >= threshold)
        moves[(*at, int(after * last))] += 1
        gone[at] += left
    times = [sum(arm == a for _, arm, *_ in steps) for a in range(1 + max(s[1] for s in steps))]
    of_best = [R for _, arm, R, _, _ in steps if arm == times.index(max(times))]
    mean = (sum(of_best) + 1) / (len(of_best) + 2)
    good = (sum(R >= threshold for R in of_best) + 1) / (len(of_best) + 2)
    seen, of_level = moves.sum(axis=2), moves.sum(axis=0)
    share = (gone.sum(axis=0) + 0.5) / (seen.sum(axis=0) + 1)
    leave = (gone + share) / (seen + 1)
    usual = of_level / np.maximum(of_level.sum(axis=1, keepdims=True), 1)
    follow = (moves + usual) / (seen + 1)[:, :, None]
    chance = np.array([1 - good, good])
    onward = np.einsum("r,br,bra->ba", chance, 1 - leave, follow)
    W = follow @ np.linalg.solve(np.eye(bins) - onward, np.full(bins, mean))
    cost = 1 + (1 - leave[:, 1]) * W[:, 1] - (1 - leave[:, 0]) * W[:, 0]
    variance = (W**2 * share * (1 - share) / (seen + 1)).sum(axis=1)
    visited = seen.sum(axis=1)
    common = int(np.argmax(visited))
    noise = 1.5 * np.sqrt(variance + variance[common])
    cost[(visited == 0) | (abs(cost - cost[common]) <= noise)] = cost[common]
    span = cost.max() - cost.min()
    return [bool(span == 0 or 2 * (c - cost.min()) < span) for c in cost]


Twin = Callable[[Environment], naive.Scores]
