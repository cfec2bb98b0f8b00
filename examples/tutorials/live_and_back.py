"""From live visits to a log, and back.

An experiment serves visits and keeps every step. What it kept is a log that can be checked,
fitted, and another policy evaluated on it before that one meets anybody. Here the users are
simulated, so that each answer can be compared with the truth.
"""

# %%
import random
import sys
from pathlib import Path

import sojourn as sj
from sojourn.live import export, open_store, verify
from sojourn.logs import evaluate

visits = int(sys.argv[1]) if len(sys.argv) > 1 else 1500

# %% [markdown]
# **The users** like gossip most, and leave after it all the same. The recommender does not know.

# %%
topics = ["gossip", "cooking", "science"]
leaving = sj.TwoState(q00=0.3, q01=0.14, q10=0.22, q11=0.1)
world = sj.Problem([0.62, 0.56, 0.52], sj.ByArm.odds(leaving, [1.2, 0, -0.4]))
draw = random.Random(1)


def one_visit(experiment: sj.Experiment, user: str) -> None:
    """Somebody comes, is shown one thing after the other, and leaves."""
    visit, state = experiment.visit(user=user), 1.0
    shown = visit.choose()
    while True:
        arm = topics.index(shown)
        reward = float(draw.random() < world.means[arm])
        if draw.random() < world.user.leave_probability(state, reward, arm):
            visit.end(reward)
            return
        shown, state = visit.choose(reward), reward


# %% [markdown]
# **Live.** The policy shows what is liked most, and with chance 0.4 anything: a mixture, so that
# the chance of every choice is known and kept. Calls return when what they did is in the store.

# %%
Path("live.db").unlink(missing_ok=True)
policy = sj.policies.EpsilonMixture(sj.policies.KLUCB(), epsilon=0.4)
with sj.Experiment(
    "feed", topics, policy, store="sqlite:///live.db", seed=1, compiled=False
) as feed:
    for n in range(visits):
        one_visit(feed, f"u{n % (visits // 3)}")

# %% [markdown]
# **Check and export.** Counters are sums over events; `verify` adds the events up again and
# returns what differs: nothing. The export has one row for each step.

# %%
store = open_store("sqlite:///live.db", read_only=True)
print("differences:", verify(store, "feed"))
print("steps:", export(store, "feed", "steps.csv"))
store.close()

# %% [markdown]
# **Fit.** Who leaves after what, and what each item is worth if only it is shown, beside the
# truth.


# %%
def alone(topic: str) -> float:
    """What a visit is worth in which only this topic is shown, exactly."""
    arm = topics.index(topic)
    return sj.Problem([world.means[arm]] * 2, world.user.users[arm]).value()


fit = sj.fit("steps.csv", ema=False)
for effect in sorted(fit.effects, key=lambda effect: -effect.worth.value):
    print(
        f"{effect.name:8} liked {effect.mean:.2f}, a visit of it is worth {effect.worth.value:.2f} "
        f"[{effect.worth.low:.2f}, {effect.worth.high:.2f}], in truth {alone(effect.name):.2f}"
    )

# %% [markdown]
# By likes gossip is first, by what a visit is worth it is last. (One of the three intervals
# misses the truth. They are 95 % intervals: one in twenty does.)
#
# **Evaluate.** What would have come of showing one topic all the time? The chance of every choice
# is in the log, so visits can be weighted as if another policy had made them, without a model of
# users.

# %%
for topic in ("gossip", "science"):
    number = sorted(topics).index(topic)  # arms of a log are in the order of their names
    evaluated = evaluate("steps.csv", sj.policies.FixedArm(number))
    found = evaluated.reward["DR"]
    print(
        f"only {topic:8} {found.mean:.2f} rewards per visit [{found.low:.2f}, {found.high:.2f}], "
        f"in truth {alone(topic):.2f}; the log follows it for {evaluated.reach.steps} steps"
    )

# %% [markdown]
# Of gossip the log can tell. Of science alone it can not, and says so: hardly a visit showed it
# more than twice in a row. The fit goes further than that because it takes the model for true.
#
# **Next.** `sojourn fit steps.csv --decide` simulates whole policies on the people of the log and
# says what to run: [a feed with clickbait](../case-feed.md) does so to the end.
# [Evaluation](../evaluate.md) says what each estimate rests on, [live decisions](../live.md) what
# each call promises.
