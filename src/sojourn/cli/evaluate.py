"""The command `sojourn evaluate`."""

from typing import Annotated

from ..logs.reading.spec import LogSpec
from .arguments import AsJson, option, with_options
from .logs import LogSource, log_options
from .output import print_json

EXAMPLE = (
    "sojourn evaluate events.parquet -p FixedArm:arm=1 --gap 30min --propensity p --max-steps 5"
)


@with_options("spec", log_options("min_pulls", "rare"))
def evaluate_command(
    source: LogSource,
    policy: Annotated[
        list[str],
        option(
            "A policy, with parameters if you like: FixedArm:arm=1, EpsilonMixture:epsilon=0.1. "
            "Arms count from 0, in the order of their names or of --arms. Repeat for more.",
            "--policy",
            "-p",
            metavar="NAME",
        ),
    ],
    spec: LogSpec,
    max_steps: Annotated[
        int | None, option("Only the first so many steps of each visit.", metavar="STEPS")
    ] = None,
    theta: Annotated[
        float, option("How far a reward moves the state; 1: the state is the last reward.")
    ] = 1.0,
    start: Annotated[float, option("The state in which visits begin.")] = 1.0,
    method: Annotated[
        list[str] | None,
        option("Repeat for more; default: all that apply.", metavar="PDIS|SN-PDIS|DM|DR"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a policy would have achieved on the log of another one: off-policy evaluation.

    A policy that learns starts from nothing and learns from the log as it goes.
    """
    from ..logs import evaluate, trajectories
    from ..policy_names import find_policy

    policies = [find_policy(name) for name in policy]
    log = trajectories(source, spec)
    found = [
        evaluate(log, chosen, theta=theta, start=start, max_steps=max_steps, methods=method)
        for chosen in policies
    ]
    if as_json:
        print_json([each.to_dict() for each in found])
    else:
        print("\n\n".join(map(str, found)))
