"""A process that serves visits as fast as it can and says what was acknowledged; to be killed.

    python live_load.py URL NAME

NAME makes its visits different from those of other processes. One line for each acknowledged call:
what was done, the visit, the step, and the arm or the reward.
"""

import os
import sys
import threading

import sojourn as sj
from sojourn.live import Experiment, Journal


def say(*words: object) -> None:
    """One write, so that a line is there or not."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def play(experiment: Experiment, name: str) -> None:
    number = 0
    while True:
        number += 1
        visit = experiment.visit(id=f"{name}-{number}")
        say("open", visit.id, 0, "-")
        decision = visit.decide(request="first")
        say("decide", visit.id, decision.step, decision.arm)
        for step in range(1, 6):
            reward = (number + step) % 2
            if step % 2:
                visit.reward(reward)
                say("resolve", visit.id, step, reward)
                decision = visit.decide()
            else:
                decision = visit.decide(reward)
                say("resolve", visit.id, step, reward)
            say("decide", visit.id, decision.step, decision.arm)
        visit.end(1)
        say("leave", visit.id, decision.step, "-")


def main(url: str, name: str) -> None:
    with Journal(url) as journal:
        experiment = Experiment(
            "load", ["a", "b", "c"], sj.LearnedUCB(), store=journal, compiled=False
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
