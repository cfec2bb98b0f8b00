"""The commands `sojourn theory` and `sojourn limit`."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from .. import validation
from ..show.progress import by_share, progress
from ..validation import InputError
from .arguments import MODEL, AsJson, Seed, command, numbers, option, parsed, with_options
from .output import note, print_json, print_table, stoppable
from .problems import find_problem, find_user

if TYPE_CHECKING:
    from ..policies import Policy
    from ..problem import Problem
    from ..simulation import OverPrior
    from ..theory import BayesOptimum, LowerBound
    from ..users import User

WORTH_SAYING = 5e8
"""Bytes of memory that are worth a warning."""

WIDE = 1.1
"""If the ends of a bracket are further apart than this ratio, another bound is tried."""

EXACT = 3
"""Arms up to which the optimum is computed; beyond, a lower bound."""


@command(MODEL, "theory", "sojourn theory --means 0.9,0.8 --q 0.8,0.2,0.2,0.1")
@with_options("problem", find_problem)
def theory_command(problem: "Problem", as_json: AsJson = False) -> None:
    """Exact values, gaps, assumptions and regret bounds of a problem."""
    from .. import theory

    summary = theory.summary(problem)
    print_json(summary.to_dict()) if as_json else print(summary)


@command(
    MODEL,
    "limit",
    "sojourn limit --q 0.8,0.2,0.2,0.1 --visits 10 -p IMED -p LearnedIMED --runs 500",
)
@with_options("who", find_user)
def limit_command(
    who: "User",
    arms: Annotated[
        int, option("Number of arms; two or three give the optimum, more a lower bound.")
    ] = 2,
    prior: Annotated[
        str,
        option("a,b of the Beta prior of every mean, or one for each arm.", metavar="'1,1 2,3'"),
    ] = "1,1",
    visits: Annotated[float, option("Expected number of visits; the number is geometric.")] = 10.0,
    fixed: Annotated[bool, option("Exact number of visits.", "--fixed")] = False,
    pulls: Annotated[
        int, option("Pulls up to which all counts are enumerated; more: a narrower bracket.")
    ] = 120,
    policy: Annotated[
        list[str] | None,
        option(
            "A policy to compare with the optimum, as in `simulate`. Repeat for more.",
            "--policy",
            "-p",
            metavar="NAME",
        ),
    ] = None,
    runs: Annotated[int, option("Problems drawn from the prior to play the policies on.")] = 2_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """The least Bayes regret any policy can have, and how far policies are from it.

    Means are drawn from the prior, and the user is known: no policy has less regret on average.
    """
    validation.whole("runs", runs, 2)
    pairs = _find_prior(prior)
    if arms > EXACT:
        _many_arms(who, arms, pairs, visits, fixed, pulls, policy, as_json)
        return
    from .. import theory
    from ..simulation import over_prior
    from ..theory.bayes import available_memory

    asked = {"arms": arms, "prior": pairs, "visits": visits, "fixed": fixed, "pulls": pulls}
    needed = theory.bayes_memory(who, **asked, plan=bool(policy))
    players = _find_policies(policy or [], who, arms, pairs, visits)
    if WORTH_SAYING < needed < (available_memory() or 0):
        note(f"this takes {needed / 1e9:.2g} GB of memory")
    with stoppable("stopped before the end"), progress() as show:
        best = theory.bayes_optimum(
            who, **asked, plan=bool(policy), progress=by_share(show, "optimum")
        )
        bound = found = None
        if not fixed and best.high > WIDE * best.low:
            how = {"arms": arms, "prior": pairs, "visits": visits}
            with suppress(theory.DoesNotApply):
                bound = theory.bayes_lower_bound(who, **how, progress=by_share(show, "lower bound"))
        if players:
            then = by_share(show, "policies")
            found = over_prior(best, players, runs=runs, seed=seed, progress=then)
    _print(best, bound, found, needed, as_json)


def _print(
    best: "BayesOptimum",
    bound: "LowerBound | None",
    found: "OverPrior | None",
    needed: int,
    as_json: bool,
) -> None:
    from ..show.tables import Table

    better = bound is not None and bound.regret > best.low
    if as_json:
        more = {"memory": needed, "lower_bound": None if bound is None else bound.regret}
        print_json({**(best if found is None else found).to_dict(), **more})
        return
    print(best)
    if bound is not None and better:
        print(f"it is at least {bound.regret:.6g}, even with all other means known")
    if found is None:
        return
    print(f"\nBayes regret over {found.runs:,} problems drawn from the prior, 95 % intervals\n")
    rows = [
        [label, str(found.regret(p)), str(found.multiple(p))]
        for p, label in enumerate(found.labels)
    ]
    print_table(Table(["policy", "regret", f"multiple of {best.high:.4g}"], rows))


def _many_arms(
    who: "User", arms: int, pairs: Any, visits: float, fixed: bool, pulls: int,
    policy: list[str] | None, as_json: bool,
) -> None:  # fmt: skip
    """There is only a lower bound."""
    from .. import theory

    if policy or fixed:
        what = "--policy" if policy else "--fixed"
        raise InputError(f"{what} needs two or three arms: for {arms} there is only a lower bound")
    with stoppable("stopped before the end"), progress() as show:
        bound = theory.bayes_lower_bound(
            who, arms=arms, prior=pairs, visits=visits, pulls=pulls,
            progress=by_share(show, "lower bound"),
        )  # fmt: skip
    if as_json:
        print_json({"arms": arms, "visits": visits, "lower_bound": bound.regret, "bounds": bound})
        return
    print(
        f"{who!r}\n{arms} arms; {bound.horizon}\nno policy has a Bayes regret below "
        f"{bound.regret:.6g} (one arm {bound.one_arm:.6g}, all arms {bound.all_arms:.6g}, less the "
        f"error of the integral)"
    )


def _find_prior(text: str) -> Any:
    """Parse `1,1` or `1,1 2,3`."""
    allowed = "two numbers such as 1,1, or such a pair for every arm, separated by spaces"

    def read(text: str) -> Any:
        first, *more = [(a, b) for a, b in map(numbers, text.split())]
        return [first, *more] if more else first

    return parsed("--prior", text, read, allowed)


def _find_policies(
    names: list[str], who: "User", arms: int, pairs: Any, visits: float
) -> "tuple[Policy, ...]":
    """As for a problem of which only the prior means are known."""
    from ..policy_names import policies_of
    from ..problem import Problem
    from ..values.prior import priors_of

    means = [a / (a + b) for a, b in priors_of(pairs, arms)]
    told = {"visits": visits, "prior": pairs}
    return policies_of(names, Problem(means, who), told) if names else ()
