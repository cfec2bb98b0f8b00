"""SMPyBandits' UCB (with alpha = 1 the paper's with c = 0) and KL-UCB."""

from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from loop import Choose, Update, report

with redirect_stdout(StringIO()):  # it greets
    from SMPyBandits.Policies import UCBalpha, klUCB


def fresh(make: Callable[[], Any]) -> tuple[Choose, Update]:
    """A fresh policy."""
    policy = make()
    policy.startGame()
    return policy.choice, policy.getReward


report(
    "SMPyBandits",
    {
        "UCB": (lambda: fresh(lambda: UCBalpha(2, alpha=1)), "UCBalpha(alpha=1)"),
        "KLUCB": (lambda: fresh(lambda: klUCB(2)), "klUCB, tolerance 1e-4"),
    },
)
