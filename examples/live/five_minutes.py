"""From nothing to live decisions, in this process and then over HTTP.

    pip install 'sojourn[serve]'
    python five_minutes.py                           # in this process, kept in live.db
    sojourn serve &                                  # then behind HTTP, for any language
    python five_minutes.py http://127.0.0.1:8000     # the same code: one line is different

The users here are simulated: they like cooking best, and two disappointments in a row make most of
them leave.
"""

import random
import sys
from collections import Counter
from typing import Any

import sojourn as sj
from sojourn.client import Client

ARMS = ["dance", "cooking", "news"]
LIKES = {"dance": 0.5, "cooking": 0.8, "news": 0.3}


def visit_once(shorts: Any, user: str, draw: random.Random) -> Counter[str]:
    """One user: shown one thing after the other until they leave."""
    visit, shown = shorts.visit(user=user), Counter[str]()
    arm, liked_before = visit.choose(), True
    while True:
        shown[arm] += 1
        liked = draw.random() < LIKES[arm]
        if draw.random() < (0.05 if liked or liked_before else 0.7):
            visit.end(liked)
            return shown
        arm, liked_before = visit.choose(liked), liked


def play(shorts: Any, visits: int) -> Counter[str]:
    """Many users, one after the other; what they were shown."""
    draw = random.Random(1)
    return sum((visit_once(shorts, f"u{n}", draw) for n in range(visits)), Counter[str]())


def main(url: str | None = None, visits: int = 100, store: str = "sqlite:///live.db") -> None:
    """Serve some visits and say what was shown."""
    if url is None:
        with sj.Experiment("shorts", ARMS, store=store) as shorts:
            shown = play(shorts, visits)
    else:
        with Client(url) as client:
            shown = play(client.experiment("shorts", ARMS), visits)
    for arm, times in shown.most_common():
        print(f"{arm:8} shown {times:4} times")


if __name__ == "__main__":
    main(*sys.argv[1:2])
