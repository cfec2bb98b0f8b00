"""When to explore.

Two users, two items, and one question: at which moment of a visit should a recommender try
something that may be worse? We compute the answer, watch policies that know it, that do not, and
that find out, and see what a wrong answer costs.
"""

# %%
import sys

import sojourn as sj

visits, runs = (int(word) for word in sys.argv[1:3] or ("2000", "256"))

# %% [markdown]
# **The first user** leaves with chance 0.8 after two disappointments in a row, and rarely
# otherwise. The state is the last reward, 0 or 1. What does it cost to show the second item
# instead of the first? The gap in means is 0.1 in either state; what differs is `mistake_cost`,
# the factor D(s) in front of it.

# %%
touchy = sj.Problem([0.9, 0.8], sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1))
for state in (0, 1):
    print(f"state {state}: a visit from here is worth {touchy.value(state):.2f},", end=" ")
    print(f"a mistake costs 0.1 x {touchy.mistake_cost(state):.2f}")
print("case:", sj.theory.case(touchy))

# %% [markdown]
# A mistake after a disappointment costs more than twice as much: it risks the rest of the visit.
# So explore after a success. ULCB does, with upper confidence bounds in state 1 and lower ones in
# state 0; UCB explores whatever the state; Learned IMED is told nothing, and learns D from who
# leaves.

# %%
result = sj.simulate(
    touchy,
    [sj.policies.UCB(), sj.policies.ULCB(), sj.policies.LearnedIMED()],
    visits=visits,
    runs=runs,
)
print(result)

# %% [markdown]
# Where does the regret arise? `regret_by_level` splits it by state.

# %%
for label, regret in zip(result.labels, result.regret_by_level.mean[:, -1], strict=True):
    print(f"{label:12}  in state 0 {regret[0]:6.1f}   in state 1 {regret[1]:6.1f}")

# %% [markdown]
# UCB pays in both. ULCB has moved nearly all of its exploring to state 1, where it is cheap.
# Learned IMED has done the same by itself, with an explorer that needs fewer pulls to begin with.
#
# **The second user** is bored: what keeps them is a success after a success. Now it is the other
# way round, and a mistake in state 1 costs more.

# %%
bored = sj.Problem([0.6, 0.5], sj.TwoState(q00=0.5, q01=0.4, q10=0.45, q11=0.02))
print("D(0) and D(1):", *(round(bored.mistake_cost(state), 2) for state in (0, 1)))
print("case:", sj.theory.case(bored))

# %% [markdown]
# The paper calls this the opposite case. A policy that is set for the normal one explores at the
# wrong moment; the right signs are `ULCB().opposite()`.

# %%
policies = [sj.policies.ULCB(), sj.policies.ULCB().opposite(), sj.policies.LearnedIMED()]
turned = sj.simulate(bored, policies, visits=visits, runs=runs)
print(turned.compare("ULCB, opposite"))
figure = turned.plot("regret-in-the-opposite-case.svg")

# %% [markdown]
# **What to take from it.** When a mistake is cheap depends on the user, and which case it is has
# to be known or learned. Betting on it is expensive when the bet is lost; learning it costs
# little. Over problems drawn at random that holds too: [beyond the paper](../beyond.md) has the
# figures, and [learned prices](../ideas/learned-prices.md) says how it is done.
