"""All policies, from the registry: what each does, has to be told, learns from, is proved to do."""

from collections.abc import Iterator
from dataclasses import MISSING, fields

from sojourn import Problem, paper, theory
from sojourn.policies import POLICIES, Policy
from sojourn.registry import described
from sojourn.simulation.tables import bound_name

from . import names
from .markdown import table

FACTS = """
**Has to be told** is what a policy must know of the problem in advance; `for_problem` computes it
where the problem is known. *The case* is which state is the cheap one: these policies explore in
state 1 as they are, and in state 0 with `.opposite()`. **Departures**: whether it learns from who
leaves when. **Theorem**: what the paper proves of its regret, as it is and with `.opposite()`.
"""


def tables() -> str:
    """What each policy does, and what it has to be told."""
    facts, lines = [], []
    for name, cls in POLICIES.items():
        # Policies of other packages have no page.
        known = names.public().get(f"sojourn.policies.{name}")
        link = f"[`{name}`][{known.home}]" if known else f"`{name}`"
        told = ", ".join(_told(cls)) or "nothing"
        departures = "learns" if usual(cls).learns_from == "departures" else ""
        facts.append((link, cls.title or name, told, departures, _theorem(cls)))
        lines.append((link, (cls.__doc__ or "").strip().partition("\n")[0]))
    header = ("policy", "title", "has to be told", "departures", "theorem")
    return f"{table(['policy', 'what it does'], lines)}\n{FACTS}\n{table(header, facts)}"


def usual(cls: type[Policy]) -> Policy:
    """The policy as the paper would set it for its first setting."""
    return cls.for_problem(paper.SETTINGS["A"])


def _told(cls: type[Policy]) -> Iterator[str]:
    """Parameters without a default, those that the problem decides, and the case."""
    needed = {f.name for f in fields(cls) if f.default is f.default_factory is MISSING}
    last_best = Problem([0.8, 0.9], paper.SETTINGS["B"].user)
    problems = (*paper.SETTINGS.values(), last_best)
    made = [described(cls.for_problem(problem))[1] for problem in problems]
    decided = {key for key in made[0] if any(m[key] != made[0][key] for m in made)}
    if hasattr(cls, "opposite"):
        yield "the case"
        decided -= {"c0", "c1"}
    yield from (f"`{key}`" for key in sorted(needed | decided))


def _theorem(cls: type[Policy]) -> str:
    """The theorems that bound it as it is, and, if there are some, its opposite."""
    policy = usual(cls)
    both = [policy, *([policy.opposite()] if hasattr(policy, "opposite") else [])]
    wanted = {bound_name(each) for each in both}
    every = [b for problem in paper.SETTINGS.values() for b in theory.bounds(problem)]
    found = dict.fromkeys(b.theorem for b in every if b.name in wanted)
    return ", ".join(found)
