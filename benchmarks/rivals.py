"""Peers at the same job: the loop of setting A with their policy choosing."""

from typing import Any

import numpy as np

from sojourn.engine.kernel import REGRET
from sojourn.paper import SETTINGS
from sojourn.simulation.chunks import chunk

from .peers import PEERS, Peer, Unavailable, ask
from .plans import Plan, candidates
from .policies import enough_runs, run_policy
from .timing import race

Row = dict[str, Any]
TOLERANCE = 4.5  # standard errors
SEED = 3


def ours(plan: Plan) -> dict[str, float]:
    """Nanoseconds a step of our index policies on setting A."""
    problem = SETTINGS["A"]
    policies = candidates(problem, ("UCB", "KLUCB", "ULCB", "KLULCB"))
    runs = enough_runs(problem, plan.visits, plan.fast_steps)
    for policy in policies.values():
        run_policy(problem, policy, True, 1, 1)
    jobs = {
        name: lambda p=policy: run_policy(problem, p, True, plan.visits, runs)
        for name, policy in policies.items()
    }
    return race(jobs, plan.rounds, plan.patience)


def agreement(check: Row, plan: Plan) -> Row:
    """A peer's regret beside ours, and how many standard errors apart they are."""
    problem = SETTINGS["A"]
    name = check["policy"].split()[0]
    policy = candidates(problem, (name,))[name]
    rows = chunk(problem, policy, SEED, 0, plan.check_runs, np.array([check["visits"]]))
    regret = rows[:, -1, REGRET]
    error = regret.std(ddof=1) / np.sqrt(len(regret))
    apart = abs(regret.mean() - check["regret"]) / np.hypot(error, check["std_error"])
    return {
        **check,
        "ours": float(regret.mean()),
        "our_std_error": float(error),
        "apart": float(apart),
        "agrees": bool(apart < TOLERANCE),
    }


def measure_peer(peer: Peer, baseline: dict[str, float], plan: Plan) -> Row:
    """What a peer's script found, or why there is nothing."""
    try:
        said = ask(peer, plan.peer_seconds, plan.rounds)
    except Unavailable as reason:
        return {"peer": peer.name, "unavailable": str(reason)}
    rows = [{**r, "times": r["ns"] / baseline[r["policy"]]} for r in said["rows"]]
    checks = [agreement(check, plan) for check in said["checks"]]
    return {"peer": peer.name, "version": said["version"], "rows": rows, "checks": checks}


def measure(plan: Plan, peers: tuple[Peer, ...] = PEERS) -> dict[str, Any]:
    """All peers, and our own figures they are compared with."""
    baseline = ours(plan)
    return {"ours": baseline, "peers": [measure_peer(peer, baseline, plan) for peer in peers]}
