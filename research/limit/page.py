"""The page: what the limit is, why the bracket holds, and every policy as a multiple of it."""

from textwrap import fill

from sojourn.paper.reports import Report
from sojourn.show.tables import Table

from .claims import EXACT, HEADLINE, KNOWING, PAPER, PRICED
from .outcomes import LimitOutcome, Limits

PAGE = """# How far from the best possible

How good can *any* policy be? If the user is known and means are drawn from a prior, there is an
answer: the **least Bayes regret**, a number that nobody can be below on average. Here policies
play a dozen users and horizons of which it is known, and each dot is one of them:

![Policies as multiples of the least Bayes regret](figures/limit-story.png)

{headline}

{story}

Below: how the limit is computed, why the bracket around it holds, how to run it, [every
policy](#every-policy-as-a-multiple-of-the-optimum) and the [claims](#claims). [The
limit](ideas/limit.md) is the idea in short.

## The recursion

`sojourn limit` and `sojourn.theory.bayes_optimum` compute the least Bayes regret for two or three
arms, any user with finitely many states, and a geometric or a fixed number of visits. Arm j has a
mean drawn from Beta(a, b), independently of the others; uniform unless said otherwise. After n
pulls of it with k successes its mean is Beta(a + k, b + n - k), and the next pull succeeds with
chance p = (a + k) / (a + b + n). So all that matters of the past is x = (n, k) of every arm and
the state s of the visit. A user who gets reward r in state s leaves with chance q(s, r) and else
moves to s' with chance P(s' | s, r). If after a visit another one comes with chance g (1 / (1 -
g) visits on average), leaving leads to the start of the next visit:

    w(s, r, s') = (1 - q(s, r)) P(s' | s, r) + q(s, r) g start(s'),
    V(x, s) = max over j of p (1 + sum of w(s, 1, s') V(x + success of j, s'))
                            + (1 - p) sum of w(s, 0, s') V(x + failure of j, s').

If the number of visits is fixed, s is the pair of the visits left and the state of the user, and
g is 0 in the last visit and 1 before. V at x = 0 and the start is what the best policy earns. The
least regret is what is earned with the means known, less V.

Every pull adds one to n, so that V is computed layer by layer, from all x of t + 1 pulls to all
of t: two layers are kept, and if the recursion ends after T pulls there are about T^4 / 24 x for
two arms and T^6 / 720 for three. Where all arms have one prior, arms can be put in order of n,
which saves a half, or five sixths.

## The bracket

Visits may go on after T pulls, so the recursion needs an end, and has two:

* *commit*: show for ever the arm that is best for the rest under what is known. In state s arm j
  is then worth E[v(s; m)] + (visits to come) E[v(start; m)], where m has the posterior of the arm
  and v(s; m) is the value of a visit from s on in which every arm shown has mean m;
* *be told*: the means are revealed, and only the best arm is shown from there: the same with the
  greatest of all means, whose distribution function is the product of theirs.

**Claim.** Let C, V and U be the values with the first end, without an end, and with the second,
and F the value with the means known from the beginning. Then

    F - U  <=  least regret = F - V  <=  F - C.

*Proof.* C is the value of a policy: play the table until T pulls are made, then commit. So C <= V.
Now take any policy. What it earns after T pulls is, given the means, at most what the best rule
for those means earns from the same state, and so, given what was seen, at most the second end.
The recursion with that end finds the most that rewards up to T and the end can add up to; so no
policy earns more than U, and V <= U. QED

The best rule for known means is to show the best arm, if D(s) >= 0 in every state for all means.
Users with whom that fails (somewhere a better reward costs more than it gives) are taken with two
arms: who is told plays the best rule for the two means, and one commits to a rule, an arm for each
state of the user. The integral has kinks then; its error is estimated from one half as fine, and
widens the bracket.

The upper end is attained, by the policy that the table describes; the lower end is what no policy
can be below. Both ends are means under the posterior, not values at its mean: v is convex in m
here, and with posterior means plugged in committing would seem to be worth less than it is (for q
of setting B and ten visits, 2.635 at T = 120, where committing attains 2.607; the truth is between
2.6043 and 2.6051, as T = 400 shows).

Means under Beta distributions are computed by the double exponential rule with nodes close enough
for the narrowest posterior, to about 1e-13. Values of visits are found without a subtraction, so
that visits that become very long as m nears 1 do no harm. If they become so long that the mean
value of a visit is infinite, the prior is refused: with q of setting A a visit is worth about 1 /
(1 - m)^2, which has a mean only if b > 2,
and a variance, without which intervals from simulation mean little, only if b > 4.

## Many arms, long horizons

For more arms and thousands of visits there is a lower bound, `sojourn.theory.bayes_lower_bound`
(`sojourn limit --arms 20`). Let all means be told but that of arm j. What is left is a one-armed
bandit: arm j against known arms, the best of mean l, and its counts are those of one arm. The
regret of a policy is the sum of prices gap(s, a) = (m* - m_a) D(s; m*) of its pulls, with m* the
greatest mean.

* *One arm.* Who is told more cannot do worse. So for every j the least regret is at least the
  mean over l of the least regret R(l) of that bandit: the greatest of these over j is a bound.
* *All arms.* The sum of R over the arms is no bound, because a wrong pull is counted twice: for
  the arm that was pulled and for the arm that should have been. So charge half of its price to
  either. All charges together are the regret, whatever the policy. What is charged to arm j is at
  least the least expected charge C(l) of a player who is told the other means: half of (l - m_j)+
  D(s; l) for every pull of j, half of (m_j - m) D(s; m_j) for showing an arm of mean m while j is
  best, and nothing else. The sum over j of the means of C(l) is a bound.

Both take the known arms to be one of mean l and one of mean 0: prices and transitions are linear
in the mean of a known arm, so that nothing between the two is better than both. After T pulls of
arm j its mean is told too, which costs nothing from there: a bound stays a bound. The integral
over l is a sum; its error is estimated from one half as fine, and subtracted. With two arms the
bounds are the same, with many the second is the greater one.

## How to run it

```console
$ sojourn limit --q 0.8,0.2,0.2,0.1 --visits 2 --pulls 40
TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
2 arms, Beta(1, 1), Beta(1, 1); 2 visits on average
least Bayes regret: between 1.274 and 1.27991, which is attained (all counts up to 40 pulls)
reward of all visits with the means known: 8.76636
```

With `-p` policies are played on means drawn from the prior: `sojourn limit B --visits 10 -p IMED
-p LearnedIMED`. `--pulls` is T: the bracket closes as it grows. Time is about {nanoseconds} ns
for every count on one core of a small machine: {times}. Memory is stated in advance
(`bayes_memory`: {memory}), and refused in one sentence if it is not there.

```python
>>> import sojourn as sj
>>> user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
>>> best = sj.theory.bayes_optimum(user, visits=2, pulls=40, plan=True)
>>> round(best.low, 4), round(best.high, 4)
(1.274, 1.2799)
>>> best.plan.reward([0.5, 0.7]).mean < sj.Problem([0.5, 0.7], user).value() * 2
True
>>> policy = sj.policies.Planned.of(best.plan)  # simulate it like any other
>>> sj.simulate(sj.Problem([0.5, 0.7], user), [policy], visits=2, runs=100).labels
['Bayes optimum']

```

`plan.reward(means)` has the exact mean and variance of the rewards of the optimal policy on given
means. For 60 pulls that nobody leaves and means .3 and .5 they are 27.667781619675 and
23.650456467947, as published with BinaryBandit (P. Jacko).

## An index that reaches it

The optimum of many arms and long horizons is out of reach. An index is not: for each arm alone, the
known mean at which it is worth a pull in the state at hand. `ExactIndex` computes it for a user who
is known, and plays the greatest; [its page](exact-index.md) says how, and what is not proved.

## Every policy as a multiple of the optimum

Made by `{command}` (sojourn {version}, seed {seed}, precision “{precision}”); the same command
with the same seed gives the same numbers. Intervals are 95 %; policies met the same means and
users, and what the runs of the optimum itself are off by, whose mean is known, corrects all
others. Policies are those of the registry (without those that wrap others for arms that change), as
they are made for a problem of which only the user and the prior means are known; those that may be
told the number of visits play twice; and the exact index, which is told all.

{cases}

{multiples}

Sorted by geometric mean. What a policy is told in advance differs: the optimum and the exact index
know q, prior and horizon; ULCB and its kin assume the normal case, and learned policies nothing.

![Every policy as a multiple of the least Bayes regret](figures/limit.png)

{each}

## Claims

{summary} A claim is confirmed if all its intervals are wholly on the claimed side, not confirmed
if one is wholly on the other side, and otherwise not decidable at this precision.

{verdicts}
"""

NANOSECONDS = 90
TIMES = "T = 120 takes half a second, 200 three and 400 half a minute with two arms and two states"
MEMORY = "44 MB for T = 200, 5.4 GB for T = 1,000"

WIDTH = 98
"""Of a line of text."""

PER_TABLE = 4
"""Cases side by side in one table."""


def to_page(report: Report[Limits]) -> str:
    """The whole page; its picture is in the folder `figures` beside it."""
    found = report.findings
    return PAGE.format(
        **report.facts,
        headline=_headline(found),
        story=_story(found),
        nanoseconds=NANOSECONDS,
        times=TIMES,
        memory=MEMORY,
        cases=_cases(found),
        multiples=_multiples(found),
        each=_each(found),
        verdicts=report.verdicts().markdown(),
    )


def _headline(found: Limits) -> str:
    """What the policies of the short table are told, and how far they are from the limit."""
    rows = [
        [label, told, f"{found.typical(label).value:.2f}", f"{found.worst(label):.2f}"]
        for label, told in HEADLINE.items()
        if found.of(label)
    ]
    rows.append(["the optimum", "the user, the prior, how many visits", "1", "1"])
    heads = ["policy", "is told", "regret / the least there can be", "worst of the cases"]
    return Table(heads, rows, left=range(2)).markdown()


def _story(found: Limits) -> str:
    """The headline in a sentence, if those it is about have played."""
    about = (PAPER, PRICED, KNOWING, EXACT)
    if not all(found.of(label) for label in about):
        return "The policies of the headline were not all run."
    over = {label: found.typical(label).value - 1.0 for label in about}
    return fill(
        f"In geometric mean the paper's best policy has {over[PAPER]:.0%} more regret than there "
        f"has to be. {PRICED}, which is told nothing, has {over[PRICED]:.0%} more, and "
        f"{over[KNOWING]:.0%} if it is told how many visits there will be. The exact index, which "
        f"is told what the optimum is told, reaches it ({over[EXACT]:+.0%}). These are 3 to 60 "
        "visits; [over thousands](horizon.md) the order is another one.",
        WIDTH, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _cases(found: Limits) -> str:
    rows = [
        [o.case, f"{o.low:.4f} to {o.high:.4f}", f"{o.told:.2f}", f"{o.runs:,}"]
        for o in found.every
    ]
    heads = ["case", "least Bayes regret", "reward with the means known", "runs"]
    return Table(heads, rows).markdown()


def _multiples(found: Limits) -> str:
    rows = []
    for label in found.labels:
        some = "" if found.everywhere(label) else f" ({len(found.of(label))} cases)"
        rows.append([label + some, str(found.typical(label)), f"{found.worst(label):.2f}"])
    return Table(["policy", "geometric mean of its multiples", "greatest"], rows).markdown()


def _each(found: Limits) -> str:
    tables = []
    for begin in range(0, len(found.every), PER_TABLE):
        some = found.every[begin : begin + PER_TABLE]
        rows = [[label, *(_cell(o, label) for o in some)] for label in found.labels]
        tables.append(Table(["policy", *(o.case for o in some)], rows).markdown())
    return "\n\n".join(tables)


def _cell(outcome: LimitOutcome, label: str) -> str:
    return str(outcome.multiple(label)) if label in outcome.regrets else "-"
