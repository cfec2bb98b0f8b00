"""A slow, literal twin of the engagement index: everything anew from the log of steps."""

from math import erfc, exp, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from naive import kl

from sojourn.policies.accounts import departures_against

BINS = 2


class Step(NamedTuple):
    state: int
    arm: int
    reward: float
    left: bool
    after: int


def patience(surcharge: float) -> float:
    """The x with E max(Z - x, 0) = surcharge x, by bisection."""
    if surcharge <= 0.0:
        return inf
    low, high = 0.0, 40.0
    for _ in range(200):
        x = (low + high) / 2
        gain = exp(-x * x / 2) / sqrt(2 * pi) - x * erfc(x / sqrt(2)) / 2
        low, high = (x, high) if gain > surcharge * x else (low, x)
    return low


def bayes_factor(square: float, free: int, weight: float) -> float:
    wide = weight / 8
    return (square * wide / (1 + wide) - free * log(1 + wide)) / 2


def budget(y: float, n: float) -> float:
    if y <= 0:
        return 0.0
    return 1.1 * min(y, max(0.0, 1 + (2 * y - 1) / n) * y**2 / (y + 6))


class Twin:
    def __init__(self, arms: int) -> None:
        self.arms, self.log, self.due = range(arms), list[Step](), 16
        self.m0, self.kappa, self.shift = 0.5, 2.0, [0.0] * BINS
        self.on, self.cap = False, [inf] * BINS

    def rewards(self, arm: int, state: int | None = None) -> list[float]:
        return [s.reward for s in self.log if s.arm == arm and state in (None, s.state)]

    def coins(self, arm: int) -> float:
        r = self.rewards(arm)
        if not r:
            return 1.0
        square = sum(r) ** 2 / len(r)
        return (0.25 + sum(r) - square) / (0.25 + sum(x * x for x in r) - square)

    def record(self, arm: int, b: int) -> tuple[float, float]:
        if not self.on:
            return len(self.rewards(arm)), sum(self.rewards(arm))
        count, heads = float(len(self.rewards(arm, b))), sum(self.rewards(arm, b))
        for o in range(BINS):
            n = len(self.rewards(arm, o))
            if o != b and n:
                shifted = sum(self.rewards(arm, o)) + n * (self.shift[b] - self.shift[o])
                count += n / (1 + n / 8)
                heads += min(max(shifted, 0.0), n) / (1 + n / 8)
        return count, heads

    def posterior(self, arm: int, b: int) -> tuple[float, float]:
        """m and n."""
        count, heads = self.record(arm, b)
        f, p = self.coins(arm), min(max(self.m0 + self.shift[b], 0.02), 0.98)
        n = f * count + self.kappa
        return (f * heads + self.kappa * p) / n, n

    def shown(self) -> list[int]:
        return [a for a in self.arms if self.rewards(a)]

    def conclude(self) -> None:
        self.test_states()
        for _ in range(8):
            known = [self.posterior_of_all(a) for a in self.shown()]
            first = (4 + sum(m for m, _ in known)) / (8 + len(known))
            second = 8 / 3 + sum(m * m + m * (1 - m) / (n + 1) for m, n in known)
            variance = second / (8 + len(known)) - first**2
            self.m0 = first
            self.kappa = min(max(first * (1 - first) / variance - 1, 0.5), 1000)
        cost, weight = self.costs()
        mean = sum(w * d for w, d in zip(weight, cost, strict=True))
        rivals = max(2, len(self.shown())) - 1
        for b in range(BINS):
            dearer = sum(w * max(cost[b] - d, 0) for w, d in zip(weight, cost, strict=True))
            self.cap[b] = inf if self.on else patience(rivals * dearer / mean) ** 2 / 2

    def posterior_of_all(self, arm: int) -> tuple[float, float]:
        r, f = self.rewards(arm), self.coins(arm)
        n = f * len(r) + self.kappa
        return (f * sum(r) + self.kappa * self.m0) / n, n

    def test_states(self) -> None:
        n = np.array([[len(self.rewards(a, b)) for b in range(BINS)] for a in self.arms], float)
        x = np.array([[sum(self.rewards(a, b)) for b in range(BINS)] for a in self.arms], float)
        N, X = n.sum(axis=1), x.sum(axis=1)
        m = (X + 1) / (N + 2)
        noise = (N * m * (1 - m) / [self.coins(a) for a in self.arms]).sum() / N.sum()
        shown = N > 0
        n, x, N, X = n[shown], x[shown], N[shown], X[shown]
        within = np.diag(n.sum(axis=0)) - (n.T / N) @ n
        right = (x - n * (X / N)[:, None]).sum(axis=0)
        shift = np.linalg.solve(within + np.eye(BINS), right)
        square = 2 * shift @ right - shift @ within @ shift
        bins = int((n.sum(axis=0) > 0).sum())
        common = bayes_factor(square / noise, bins - 1, np.trace(within) / bins)
        each = 0.0
        for a in range(len(N)):
            seen = n[a] > 0
            more = (x[a] - n[a] * X[a] / N[a])[seen]
            weight = (n[a] * (1 - n[a] / N[a])).sum() / seen.sum()
            each += bayes_factor((more**2 / n[a][seen]).sum() / noise, seen.sum() - 1, weight)
        self.on = bool(np.logaddexp(common, each) - log(2) > 6)
        centred = shift - (n.sum(axis=0) * shift).sum() / N.sum()
        self.shift = centred.tolist() if self.on else [0.0] * BINS

    def costs(self) -> tuple[list[float], list[float]]:
        """D of every bin, and how often it was visited; that of the commonest where it never was"""
        moves, gone = np.zeros((BINS, 2, BINS)), np.zeros((BINS, 2))
        for s in self.log:
            level = int(s.reward >= 0.5)
            moves[s.state, level, s.after] += 1
            gone[s.state, level] += s.left
        seen, total = moves.sum(axis=2), moves.sum(axis=(0, 2))
        share = (gone.sum(axis=0) + 0.5) / (total + 1)
        leave = (gone + share) / (seen + 1)
        follow = moves + (moves.sum(axis=0) / np.maximum(total, 1)[:, None])
        follow /= (seen + 1)[:, :, None]
        r = self.rewards(max(self.arms, key=lambda a: len(self.rewards(a))))
        good = (sum(x >= 0.5 for x in r) + 1) / (len(r) + 2)
        stay = np.array([1 - good, good])[None, :] * (1 - leave)
        onward = np.einsum("br,brc->bc", stay, follow)
        value = np.linalg.solve(np.eye(BINS) - onward, np.full(BINS, (sum(r) + 1) / (len(r) + 2)))
        after = (1 - leave) * (follow @ value)
        cost, visited = np.maximum(1 + after[:, 1] - after[:, 0], 0), moves.sum(axis=(1, 2))
        cost[visited == 0] = cost[visited.argmax()]
        return cost.tolist(), visited.tolist()

    def tell(self, step: Step) -> None:
        self.log.append(step)
        if len(self.log) >= self.due:
            self.conclude()
            self.due = max(int(np.ceil(1.1 * len(self.log))), len(self.log) + 1)

    def scores(self, b: int, fitted: object = None) -> list[float]:
        """By means; with a `fitted` account of departures (a memory) by the likelier account."""
        known, k = [self.posterior(a, b) for a in self.arms], max(2, len(self.shown()))
        t = 1 + (sum(s.state == b for s in self.log) if self.on else len(self.log))
        leader = max(self.arms, key=lambda a: known[a][0])

        def of(a: int) -> float:
            y = log(8 * t * self.coins(a) / (k * known[a][1]))
            return budget(y if self.rewards(a) else y - log(max(1, k / 8)), known[a][1])

        alike, different = (0.0, inf) if fitted is None else fitted.strength[1:]  # type: ignore[attr-defined]
        least, best, worth = min(alike, different), leader, dict[int, float]()
        if different < 30:
            for a in self.shown():
                start, slope = fitted.terms[a, b, :2]  # type: ignore[attr-defined]
                worth[a] = start + slope * self.record(a, b)[1] / self.record(a, b)[0]
            if alike > different:
                best = max(worth, key=worth.__getitem__)

        def often(a: int) -> float:
            explores = fitted.optimism[b] > 0  # type: ignore[attr-defined]
            return known[a][1] if explores else len(self.rewards(a, b)) + 2

        def by_departures(a: int) -> float:
            seen, (count, heads) = self.coins(a) * self.record(a, b)[0], self.record(a, b)
            n = max(seen, self.kappa)
            against = departures_against(fitted, a, b, n, heads / count * n, max(worth.values()))
            room = [budget(log(8 * t / (k * often(i))), often(i)) for i in (a, best)]
            return room[0] - room[1] - (different + against - least)

        found = []
        for a in self.arms:
            against, room = alike, 0.0
            if a != leader:
                against += known[a][1] * kl(known[a][0], known[leader][0])
                room = min(of(a) - of(leader), self.cap[b])
            score = room - (against - least)
            if score < 0 and different < 30 and self.rewards(a):
                score = max(score, by_departures(a))
            found.append(0.0 if a == best else score)
        return found
