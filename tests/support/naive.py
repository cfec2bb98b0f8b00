"""Slow, literal twins: the paper's pseudo-code line by line, and the users it plays with.

Nothing here is shared with the package, not even the random numbers: SplitMix64 is spelled out
in Python integers. Names are the paper's: episode k of K, step h, time t, state S, arms A,
counts N, empirical means mu_bar (kept as exact fractions), indices mu_tilde, the end g.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from math import log, sqrt

g = "g"
Decision = tuple[float, int, int, bool]
Index = Callable[[float, float, int, int], float]
Scores = Callable[[float, dict[int, Fraction], dict[int, int], int], list[float]]
ArgMax = Callable[[list[float]], int]

# --- random numbers ----------------------------------------------------------------------------

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def stream_key(seed: int, run: int, owner: int) -> int:
    of_run = mix(mix((seed + GOLDEN) % WORD) ^ ((run + GOLDEN) % WORD))
    return mix((of_run + owner * GOLDEN) % WORD)


def draw(key: int, n: int) -> float:
    return (mix((key + n * GOLDEN) % WORD) >> 11) / 2**53


# --- users -------------------------------------------------------------------------------------


class TwoStateUser:
    """Leaves with probability q[S, R]; the next state is R."""

    def __init__(self, q: dict[tuple[int, int], float]) -> None:
        self.q = q

    def abandons(self, S: float, R: int) -> float:
        return self.q[int(S), R]

    def moves(self, S: float, R: int) -> float:
        return R


class EmaUser:
    """The next state is (1 - theta) S + theta R; leaves with probability q(next state)."""

    def __init__(self, theta: float, q: Callable[[float], float]) -> None:
        self.theta, self.q = theta, q

    def moves(self, S: float, R: int) -> float:
        return (1 - self.theta) * S + self.theta * R

    def abandons(self, S: float, R: int) -> float:
        return self.q(self.moves(S, R))


def log_curve(c6: float) -> Callable[[float], float]:
    return lambda s: 1 - log(c6 * s + 1) / log(c6 + 1)


class Environment:
    """Arms and a user; the n-th pull of an arm in a run is decided by that arm's n-th draw."""

    def __init__(self, mu: list[float], user: TwoStateUser | EmaUser, seed: int, run: int) -> None:
        self.mu, self.user = mu, user
        self.keys = [stream_key(seed, run, 2 + a) for a in range(len(mu))]
        self.pulls = [0] * len(mu)

    def initial_state(self, k: int) -> float:
        return 1

    def play(self, S: float, a: int) -> tuple[int, bool]:
        """Reward, and whether the user abandons."""
        self.pulls[a] += 1
        u = draw(self.keys[a], self.pulls[a])
        mu = self.mu[a]
        if u < mu:
            return 1, u < mu * self.user.abandons(S, 1)
        return 0, u < mu + (1 - mu) * self.user.abandons(S, 0)


# --- what all of the paper's algorithms share --------------------------------------------------


def first(mu_tilde: list[float]) -> int:
    """Ties go to the lowest arm."""
    return mu_tilde.index(max(mu_tilde))


class AtRandom:
    """Ties are broken by the policy's own stream, which is left alone when there are none."""

    def __init__(self, seed: int, run: int) -> None:
        self.key, self.drawn = stream_key(seed, run, 0), 0

    def __call__(self, mu_tilde: list[float]) -> int:
        tied = [a for a, index in enumerate(mu_tilde) if index == max(mu_tilde)]
        if len(tied) == 1:
            return tied[0]
        self.drawn += 1
        return tied[int(draw(self.key, self.drawn) * len(tied))]


def run(index: Index, environment: Environment, K: int, arg_max: ArgMax) -> list[Decision]:
    """Play K episodes; the decisions (S, A, R, abandoned) in order."""

    def mu_tilde(S: float, mu_bar: dict[int, Fraction], N: dict[int, int], t: int) -> list[float]:
        return [index(S, float(mu_bar[a]), N[a], t) for a in N]

    return run_scores(mu_tilde, environment, K, arg_max)


def run_scores(scores: Scores, environment: Environment, K: int, arg_max: ArgMax) -> list[Decision]:
    """The same for a rule that looks at all arms at once."""
    A = range(len(environment.mu))
    N = dict.fromkeys(A, 0)
    mu_bar = {a: Fraction(0) for a in A}
    t = 1
    decisions: list[Decision] = []
    for k in range(1, K + 1):
        h = 1
        S = environment.initial_state(k)
        while S is not g:
            unplayed = [a for a in A if N[a] == 0]
            A_t = unplayed[0] if unplayed else arg_max(scores(S, mu_bar, N, t))
            R, abandonment = environment.play(S, A_t)
            S_next = g if abandonment else environment.user.moves(S, R)
            decisions.append((S, A_t, R, abandonment))
            mu_bar[A_t] = (mu_bar[A_t] * N[A_t] + R) / (N[A_t] + 1)
            N[A_t] = N[A_t] + 1
            t, h, S = t + 1, h + 1, S_next
    return decisions


# --- what tells them apart ---------------------------------------------------------------------


def ulcb(c0: float, c1: float, c: float) -> Index:
    """Algorithm 1; UCB is c0 = c1 = 1."""

    def mu_tilde(S: float, mu_bar: float, N: int, t: int) -> float:
        if S == 0:
            return mu_bar + c0 * sqrt((log(t) + c * log(log(t))) / (2 * N))
        return mu_bar + c1 * sqrt((log(t) + c * log(log(t))) / (2 * N))

    return mu_tilde


def kl_ulcb(c0: float, c1: float, c: float) -> Index:
    """KL-ULCB: min in state 0, max in state 1."""

    def mu_tilde(S: float, mu_bar: float, N: int, t: int) -> float:
        if S == 0:
            return min_p(mu_bar, N, c0 * log(t) + c * log(log(t)))
        return max_p(mu_bar, N, c1 * log(t) + c * log(log(t)))

    return mu_tilde


def kl_ulcb_opposite(c0: float, c1: float, c: float) -> Index:
    """KL-ULCB for the opposite case: max in state 0, min in state 1."""

    def mu_tilde(S: float, mu_bar: float, N: int, t: int) -> float:
        if S == 0:
            return max_p(mu_bar, N, c0 * log(t) + c * log(log(t)))
        return min_p(mu_bar, N, c1 * log(t) + c * log(log(t)))

    return mu_tilde


def kl_ucb(c: float) -> Index:
    """KL-UCB: max in every state."""
    return lambda S, mu_bar, N, t: max_p(mu_bar, N, log(t) + c * log(log(t)))


def cont_ulcb(c: float) -> Index:
    """Algorithm 3."""

    def mu_tilde(S: float, mu_bar: float, N: int, t: int) -> float:
        return mu_bar + (2 * S - 1) * sqrt((log(t) + c * log(log(t))) / (2 * N))

    return mu_tilde


def cont_kl_ulcb(c: float) -> Index:
    """CONT-KL-ULCB."""

    def mu_tilde(S: float, mu_bar: float, N: int, t: int) -> float:
        if S <= 1 / 2:
            return min_p(mu_bar, N, (1 - 2 * S) * log(t) + c * log(log(t)))
        return max_p(mu_bar, N, (2 * S - 1) * log(t) + c * log(log(t)))

    return mu_tilde


def disc(n: int, algorithm: Index) -> Index:
    """DISC: any state in [(n - 1) / n, 1] is viewed as state 1, any other as state 0."""
    top = (n - 1) / n
    return lambda S, mu_bar, N, t: algorithm(int(top <= S <= 1), mu_bar, N, t)


def imed(explores: Callable[[float], bool]) -> Scores:
    """IMED's least index, as a greatest score, where it explores; KL lower bounds elsewhere."""

    def scores(S: float, mu_bar: dict[int, Fraction], N: dict[int, int], t: int) -> list[float]:
        if not explores(S):
            return [min_p(float(mu_bar[a]), N[a], log(t)) for a in N]
        best = float(max(mu_bar.values()))
        return [-(N[a] * kl(float(mu_bar[a]), best) + log(N[a])) for a in N]

    return scores


# --- KL bounds, by bisection on their definition -----------------------------------------------


def kl(p: float, q: float) -> float:
    def term(x: float, y: float) -> float:
        return 0.0 if x == 0 else float("inf") if y == 0 else x * log(x / y)

    return term(p, q) + term(1 - p, 1 - q)


def farthest(mu_bar: float, end: float, N: int, budget: float) -> float:
    """The p between mu_bar and `end`, farthest from mu_bar, with N kl(mu_bar, p) <= budget."""
    if budget == 0:
        return mu_bar
    if N * kl(mu_bar, end) <= budget:
        return end
    inside, outside = mu_bar, end
    while abs(outside - inside) > 1e-14:
        p = (inside + outside) / 2
        if N * kl(mu_bar, p) <= budget:
            inside = p
        else:
            outside = p
    return inside


def max_p(mu_bar: float, N: int, budget: float) -> float:
    return farthest(mu_bar, 1.0, N, budget)


def min_p(mu_bar: float, N: int, budget: float) -> float:
    return farthest(mu_bar, 0.0, N, budget)


# --- values ------------------------------------------------------------------------------------


def two_state_gaps(mu: list[float], q: dict[tuple[int, int], float]) -> list[list[float]]:
    """V*(s) - Q*(s, a), a row per state, when the arm of greatest mean is best (Cramer's rule)."""
    m = max(mu)
    f00, f01 = 1 - (1 - m) * (1 - q[0, 0]), -m * (1 - q[0, 1])
    f10, f11 = -(1 - m) * (1 - q[1, 0]), 1 - m * (1 - q[1, 1])
    determinant = f00 * f11 - f01 * f10
    V = [m * (f11 - f01) / determinant, m * (f00 - f10) / determinant]

    def Q(s: int, mean: float) -> float:
        return mean * (1 + (1 - q[s, 1]) * V[1]) + (1 - mean) * (1 - q[s, 0]) * V[0]

    return [[V[s] - Q(s, mean) for mean in mu] for s in (0, 1)]


# --- users with a table of states ----------------------------------------------------------------


def chain_action_value(mean, next_states, leave, state, value):  # type: ignore[no-untyped-def]
    """mean + what is to come: next states are a state or a list of chances."""
    total = 0.0
    for reward, chance in ((0, 1.0 - mean), (1, mean)):
        onward = next_states[state][reward]
        if isinstance(onward, int):
            later = value[onward]
        else:
            later = sum(p * value[s] for s, p in enumerate(onward))
        total += chance * (reward + (1.0 - leave[state][reward]) * later)
    return total


def chain_values(means, next_states, leave):  # type: ignore[no-untyped-def]
    """Values, and lengths of visits under the best rule, by iterating until nothing changes."""
    states = range(len(leave))
    value = [0.0 for _ in states]
    for _ in range(100_000):
        new = [
            max(chain_action_value(m, next_states, leave, s, value) for m in means) for s in states
        ]
        if new == value:
            break
        value = new
    best = [
        max(means, key=lambda m, s=s: chain_action_value(m, next_states, leave, s, value))
        for s in states
    ]
    length = [0.0 for _ in states]
    for _ in range(100_000):
        new = [
            1.0
            + chain_action_value(best[s], next_states, leave, s, length)
            - best[s]  # the same recursion with 1 for the reward
            for s in states
        ]
        if new == length:
            break
        length = new
    return value, length


# --- leaving by arm, and rewards that are not 0 or 1 ----------------------------------------------


def solved(matrix, right):  # type: ignore[no-untyped-def]
    """x with matrix x = right, by Gauss with exact fractions."""
    n = len(right)
    rows = [
        [Fraction(x) for x in row] + [Fraction(y)] for row, y in zip(matrix, right, strict=True)
    ]
    for i in range(n):
        pivot = next(j for j in range(i, n) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def rule_value(rule, rewards, leave, onward):  # type: ignore[no-untyped-def]
    """What a visit is worth from every state if arm rule[s] is played in state s, and its length.

    `rewards[a]` is a list of (value, chance); `leave(a, s, r)` and `onward(s, r)` do the rest.
    """
    n = len(rule)
    matrix = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    earned = [Fraction(0)] * n
    for s, a in enumerate(rule):
        for r, p in rewards[a]:
            earned[s] += Fraction(p) * Fraction(r)
            matrix[s][onward(s, r)] -= Fraction(p) * (1 - Fraction(leave(a, s, r)))
    return solved(matrix, earned), solved(matrix, [1] * n)


def enumerated(states, rewards, leave, onward):  # type: ignore[no-untyped-def]
    """V*, Q* by [state][arm] and the length of a visit: the best of all rules, one by one."""
    arms = range(len(rewards))
    found = [rule_value(rule, rewards, leave, onward) for rule in product(arms, repeat=states)]
    value, length = max(found, key=lambda pair: sum(pair[0]))
    worth = [
        [
            sum(
                Fraction(p) * (Fraction(r) + (1 - Fraction(leave(a, s, r))) * value[onward(s, r)])
                for r, p in rewards[a]
            )
            for a in arms
        ]
        for s in range(states)
    ]
    return value, worth, length


# --- the least Bayes regret --------------------------------------------------------------------

Polynomial = list[Fraction]
"""Coefficients of 1, x, x^2, ..."""


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    product_ = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            product_[i + j] += x * y
    return product_


def plus(one: Polynomial, other: Polynomial) -> Polynomial:
    size = max(len(one), len(other))
    both = [p + [Fraction(0)] * (size - len(p)) for p in (one, other)]
    return [x + y for x, y in zip(*both, strict=True)]


def integral(p: Polynomial, to: Fraction) -> Fraction:
    return sum((c * to ** (i + 1) / (i + 1) for i, c in enumerate(p)), Fraction(0))


@cache
def beta_density(a: int, b: int) -> Polynomial:
    density = [Fraction(1)]
    for factor in [[Fraction(0), Fraction(1)]] * (a - 1) + [[Fraction(1), Fraction(-1)]] * (b - 1):
        density = times(density, factor)
    whole = integral(density, Fraction(1))
    return [c / whole for c in density]


class TinyBandit:
    """Bayes values by plain recursion, in fractions, for a user whose visits are short for sure.

    q[S, R] is the chance to leave, moves[S] the next states of who stays, with their chances; they
    lead to greater numbers only, and a visit begins in state 0. A new visit comes with chance
    `again`; or there are `visits`. The value of a visit is then a polynomial of the mean.
    """

    def __init__(
        self,
        q: dict[tuple[int, int], Fraction],
        moves: dict[int, list[tuple[int, Fraction]]],
        priors: list[tuple[int, int]],
        again: Fraction | None = None,
        visits: int = 1,
    ) -> None:
        self.q, self.moves, self.priors = q, moves, priors
        self.again, self.visits = again, visits
        for name in ("visit", "all_visits", "commit", "told", "_value"):
            setattr(self, name, cache(getattr(self, name)))

    def visit(self, S: int) -> Polynomial:
        """What the rest of a visit in state S is worth, by the mean."""
        worth = [Fraction(0), Fraction(1)]
        for R, chance in ((0, [Fraction(1), Fraction(-1)]), (1, [Fraction(0), Fraction(1)])):
            for S2, p in self.moves.get(S, []):
                stays = (1 - self.q[S, R]) * p
                if stays > 0:
                    worth = plus(worth, [stays * c for c in times(chance, self.visit(S2))])
        return worth

    def all_visits(self, S: int, left: int) -> Polynomial:
        """The same with the visits after it."""
        more = Fraction(left - 1) if self.again is None else self.again / (1 - self.again)
        return plus(self.visit(S), [more * c for c in self.visit(0)])

    def commit(self, seen: tuple[tuple[int, int], ...], S: int, left: int) -> Fraction:
        return max(
            integral(times(beta_density(a, b), self.all_visits(S, left)), Fraction(1))
            for a, b in seen
        )

    def told(self, seen: tuple[tuple[int, int], ...], S: int, left: int) -> Fraction:
        """The mean at the greatest of all means: by the densities and distribution functions."""
        total = Fraction(0)
        for i, (a, b) in enumerate(seen):
            weight = beta_density(a, b)
            for j, (c, d) in enumerate(seen):
                if j != i:
                    density = beta_density(c, d)
                    below = [Fraction(0), *(x / (n + 1) for n, x in enumerate(density))]
                    weight = times(weight, below)
            total += integral(times(weight, self.all_visits(S, left)), Fraction(1))
        return total

    def value(self, end: str, pulls: int) -> Fraction:
        """Of the best policy whose end, after so many pulls, is "commit" or "told"."""
        return self._value(end, pulls, tuple(self.priors), 0, self.visits)

    def _value(
        self, end: str, pulls: int, seen: tuple[tuple[int, int], ...], S: int, left: int
    ) -> Fraction:
        if pulls == 0:
            return getattr(self, end)(seen, S, left)
        best = Fraction(0)
        for arm, (a, b) in enumerate(seen):
            total = Fraction(0)
            for R, chance in ((1, Fraction(a, a + b)), (0, Fraction(b, a + b))):
                after = (*seen[:arm], (a + R, b + 1 - R), *seen[arm + 1 :])
                total += chance * R
                for S2, p in self.moves.get(S, []):
                    stays = (1 - self.q[S, R]) * p
                    if stays > 0:
                        total += chance * stays * self._value(end, pulls - 1, after, S2, left)
                again = (1 if left > 1 else 0) if self.again is None else self.again
                if self.q[S, R] * again > 0:
                    less = left - 1 if self.again is None else left
                    new = self._value(end, pulls - 1, after, 0, less)
                    total += chance * self.q[S, R] * again * new
            best = max(best, total)
        return best


class OneKnown:
    """An arm of unknown mean beside one of mean l: the best of all rules, in fractions.

    moves[S][R] has the next states with their chances, visits to come included; what is missing
    from 1 is the end. After `pulls` pulls of the arm its mean is taken for p, and the better of the
    two is shown for ever.
    """

    def __init__(
        self,
        moves: list[list[dict[int, Fraction]]],
        prior: tuple[int, int],
        pulls: int,
        l: Fraction,  # noqa: E741
    ) -> None:
        self.moves, self.prior, self.pulls, self.l = moves, prior, pulls, l
        self.seen: dict[tuple[int, int], tuple[list[Fraction], list[Fraction]]] = {}

    def forever(self, mean: Fraction) -> list[Fraction]:
        """What is to come from each state if an arm of this mean is shown."""
        states = range(len(self.moves))
        go = [
            [
                (1 - mean) * self.moves[S][0].get(T, 0) + mean * self.moves[S][1].get(T, 0)
                for T in states
            ]
            for S in states
        ]
        return solved([[int(S == T) - go[S][T] for T in states] for S in states], [mean] * len(go))

    def once(self, mean: Fraction, after: list[list[Fraction]]) -> list[Fraction]:
        """What is to come if an arm of this mean is shown, and after[R][S] is what follows."""
        return [
            sum(
                (chance * (R + sum(w * after[R][T] for T, w in self.moves[S][R].items())))
                for R, chance in ((0, 1 - mean), (1, mean))
            )
            for S in range(len(self.moves))
        ]

    def value(self, n: int, k: int) -> list[Fraction]:
        return self.solve(n, k)[0]

    def lead(self, n: int, k: int) -> list[Fraction]:
        """What a pull has over showing the known arm, by state."""
        value, pull = self.solve(n, k)
        return [x - y for x, y in zip(pull, self.once(self.l, [value, value]), strict=True)]

    def solve(self, n: int, k: int) -> tuple[list[Fraction], list[Fraction]]:
        """The value of each state, and that of a pull in it."""
        if (n, k) in self.seen:
            return self.seen[n, k]
        a, b = self.prior
        p, size = Fraction(a + k, a + b + n), len(self.moves)
        if n == self.pulls:
            ends = self.forever(max(p, self.l))
            return ends, ends
        pull = self.once(p, [self.value(n + 1, k), self.value(n + 1, k + 1)])
        best = None
        for rule in product((False, True), repeat=size):
            rows, right = [], []
            for S in range(size):
                go = [
                    (1 - self.l) * self.moves[S][0].get(T, 0) + self.l * self.moves[S][1].get(T, 0)
                    for T in range(size)
                ]
                rows.append([int(S == T) - (0 if rule[S] else go[T]) for T in range(size)])
                right.append(pull[S] if rule[S] else self.l)
            value = solved(rows, right)
            best = value if best is None or sum(value) > sum(best) else best
        self.seen[n, k] = best, pull
        return best, pull


def gittins(a: int, b: int, beta: float, horizon: int) -> float:
    """Gittins' index of a Bernoulli arm, by bisection on when to retire to a known mean.

    After `horizon` pulls the arm is retired at the greater of both means.
    """
    low, high = a / (a + b), 1.0
    while high - low > 1e-7:
        l = (low + high) / 2  # noqa: E741
        ends = [max(l, (a + k) / (a + b + horizon)) / (1 - beta) for k in range(horizon + 1)]
        for n in range(horizon - 1, -1, -1):
            p = [(a + k) / (a + b + n) for k in range(n + 1)]
            pull = [
                p[k] * (1 + beta * ends[k + 1]) + (1 - p[k]) * beta * ends[k] for k in range(n + 1)
            ]
            ends = [max(l / (1 - beta), x) for x in pull]
        low, high = (l, high) if pull[0] > l / (1 - beta) else (low, l)
    return low
