"""A policy of your own.

We write a policy that nobody has thought of yet, check it, measure it against others on the same
users, and choose its parameter by simulation. It takes twenty lines, and it runs compiled.
"""

# %%
import sys
from dataclasses import dataclass

import sojourn as sj
from sojourn import validation

visits, runs = (int(word) for word in sys.argv[1:3] or ("2000", "256"))

# %% [markdown]
# **The idea.** Explore less and less, and only when the visit goes well: in states from 1/2 on
# try any arm with chance rate / (rate + t), where t counts the steps so far; otherwise show the
# arm that has been liked most. A policy is a frozen dataclass with a method `choose`. The base
# class remembers pulls and successes of every arm, and a clock.


# %%
@dataclass(frozen=True)
class FadingGreedy(sj.Policy):
    """Any arm with chance rate / (rate + t) in states from 1/2 on, else the greatest mean."""

    rate: float = 20.0

    def __post_init__(self) -> None:
        """Check the parameter, in one sentence."""
        super().__post_init__()
        object.__setattr__(self, "rate", validation.number("rate", self.rate, 0, validation.LARGE))

    def choose(self, memory: sj.policies.Counts, state: float, rng: sj.policies.Stream) -> int:
        """The arm to show now."""
        arms, t = memory.pulls.size, memory.clock[0] + 1.0
        if state >= 0.5 and sj.policies.draw_uniform(rng) < self.rate / (self.rate + t):
            return int(sj.policies.draw_uniform(rng) * arms)
        best, top = 0, -1.0
        for arm in range(arms):
            pulls = memory.pulls[arm]
            mean = memory.successes[arm] / pulls if pulls > 0.0 else 1.0
            if mean > top:
                best, top = arm, mean
        return best


# %% [markdown]
# **Check it.** `sj.check` plays it compiled and interpreted, twice with the same seed, and
# says in a sentence each what is wrong.

# %%
faults = sj.check(FadingGreedy())

# %% [markdown]
# **Measure it.** All policies meet the same users: the n-th reward of an arm in a run is the same
# whichever policy plays it. So a difference is known better than the two regrets it is made of.

# %%
problem = sj.Problem([0.9, 0.8, 0.6], sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1))
rivals = [sj.policies.UCB(), sj.policies.ULCB(), sj.policies.LearnedIMED()]
result = sj.simulate(problem, [FadingGreedy(), *rivals], visits=visits, runs=runs)
print(result)

# %% [markdown]
# **Choose its parameter.** The same class with other parameters needs no new compilation.

# %%
rates = (5.0, 20.0, 80.0, 320.0)
sweep = sj.simulate(problem, [FadingGreedy(rate) for rate in rates], visits=visits, runs=runs)
for rate, regret, width in zip(
    rates, sweep.regret.mean[:, -1], sweep.regret.half_width[:, -1], strict=True
):
    print(f"rate {rate:5g}: regret {regret:6.1f} ± {width:.1f}")
figure = sweep.plot("regret-by-rate.svg")

# %% [markdown]
# Mind what this is: a parameter chosen on the problem on which it is then judged. With too small
# a rate some runs never find the better arm, and their regret grows with every visit; how likely
# that is depends on means that one does not know. That is what confidence bounds are for.
#
# **Next.** An entry point makes the command line, problem files and the service know it by name,
# and leases make a policy that can promise its choices many times faster: [add a
# policy](../how-to/add-a-policy.md).
