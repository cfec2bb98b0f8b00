"""A process that serves visits as fast as it can and says what was acknowledged; to be killed.

    python live_load.py URL NAME [SHARE]

NAME makes its visits different from those of other processes. With a SHARE the experiment has two
variants, `old`, which the caller decides, and `new` with this share; visits have users. One line
for each acknowledged call: what was done, the visit, the step, and the arm or the reward.
"""

import os
import sys
import threading

import sojourn as sj
from sojourn.live import Ask, Experiment, Journal, Logged, Variant


def say(*words: object) -> None:
    """One write, so that a line is there or not."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def play(experiment: Experiment, name: str) -> None:
    number, own = 0, "b" if experiment.allocation is not None else None
    while True:
        number += 1
        user = None if own is None else f"user {name} {number // 2}"
        visit = experiment.visit(user, id=f"{name}-{number}")
        say("open", visit.id, 0, "-")
        decision = visit.decide(Ask(request="first", logged=Logged.of(own)))
        say("decide", visit.id, decision.step, decision.arm)
        for step in range(1, 6):
            reward = (number + step) % 2
            if step % 2:
                visit.reward(reward)
                say("resolve", visit.id, step, reward)
                decision = visit.decide(Ask(logged=Logged.of(own)))
            else:
                decision = visit.decide(Ask(reward=reward, logged=Logged.of(own)))
                say("resolve", visit.id, step, reward)
            say("decide", visit.id, decision.step, decision.arm)
        visit.end(1)
        say("leave", visit.id, decision.step, "-")


def main(url: str, name: str, share: str | None = None) -> None:
    arms, policy = ["a", "b", "c"], sj.policies.LearnedUCB()
    with Journal(url) as journal:
        experiment: Experiment
        if share is None:
            experiment = Experiment("load", arms, policy, store=journal, compiled=False)
        else:
            old = Variant("old", 1.0 - float(share), policy, external=True)
            both = [old, Variant("new", float(share), policy)]
            experiment = Experiment(
                "load", arms, variants=both, holdout="old", store=journal, compiled=False
            )
        threads = [
            threading.Thread(target=play, args=(experiment, f"{name}.{n}"), daemon=True)
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
