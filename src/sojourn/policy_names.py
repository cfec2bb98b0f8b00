"""Policies by name, with their parameters, as the command line and `simulate` take them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from . import validation
from .policies import ORACLES, POLICIES, Policy
from .policies.wrapper import Wrapper
from .problem import Problem
from .validation import InputError

FLAGS = {"true": True, "false": False}


def policies_of(
    given: Policy | str | Sequence[Policy | str],
    problem: Problem,
    known: Mapping[str, Any] | None = None,
) -> tuple[Policy, ...]:
    """One policy or several, each itself or by its name, for this problem."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (policy_of(given, problem, known),)
    if not given:
        raise InputError(f"policies = {given!r} is not allowed: give at least one policy")
    return tuple(policy_of(one, problem, known) for one in given)


def policy_of(
    policy: Policy | str, problem: Problem, known: Mapping[str, Any] | None = None
) -> Policy:
    """The policy itself or that of this name, if it can play the arms of the problem."""
    if isinstance(policy, str):
        policy = find_policy(policy, problem, known)
    if not isinstance(policy, Policy):
        hint = ""
        if isinstance(policy, type) and issubclass(policy, Policy):
            hint = f"; it is a class, so call it: {policy.__name__}()"
        raise InputError(
            f"policy {validation.shown(policy)} is not allowed: it must be a policy such as UCB(), "
            f"or the name of one{hint}"
        )
    policy.check_arms(problem.arms)
    return policy


def find_policy(
    text: str, problem: Problem | None = None, known: Mapping[str, Any] | None = None
) -> Policy:
    """The policy that a name or a label stands for, with parameters after a colon or comma.

    Without a problem it has its default parameters, not those that the paper would set. Policies
    that have to know the user (oracles) are found only if something is `known`: parameters, unless
    given.

    >>> from sojourn.problem_files import problem_of
    >>> find_policy("KLULCB:c=4,opposite", problem_of("A")).label
    'KL-ULCB, c0=1, c1=-1, c=4'
    >>> find_policy("Learned IMED, floor=-1", problem_of("A")).label
    'Learned IMED, floor=-1'
    """
    name, *rest = re.split("[:,]", text, maxsplit=1)
    words = [word.strip() for word in "".join(rest).split(",")]
    is_oracle = known is not None and name in ORACLES
    cls = ORACLES[name] if is_oracle else POLICIES.find("policy", name.strip())
    parameters = dict(_parameter(cls, w, problem) for w in words if w and w != "opposite")
    if known is not None and is_oracle:
        parameters = {**known, **parameters}
    if problem is None:
        policy = cls(**_complete(cls, parameters))
    else:
        policy = cls.for_problem(problem, **parameters)
    if "opposite" not in words:
        return policy
    if not hasattr(policy, "opposite"):
        raise InputError(f"{cls.__name__} has no opposite: it does not look at the state")
    flipped: Policy = policy.opposite()
    return flipped


def _complete(cls: type[Policy], parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters; InputError if one without a default is not given."""
    for f in fields(cls):
        if f.init and f.default is f.default_factory is MISSING and f.name not in parameters:
            raise InputError(f"{cls.__name__} needs {f.name}: give it as {cls.__name__}:{f.name}=")
    return parameters


def _parameter(cls: type[Policy], text: str, problem: Problem | None) -> tuple[str, Any]:
    name, _, value = (part.strip() for part in text.partition("="))
    kinds: dict[str, Any] = {f.name: f.type for f in fields(cls) if f.init}
    if name not in kinds:
        known = ", ".join(kinds) or "none"
        raise InputError(f"{cls.__name__} has no parameter {name!r}: its parameters are {known}")
    if name == "policy" and issubclass(cls, Wrapper):
        return name, find_policy(value, problem)
    try:
        return name, FLAGS[value.lower()] if kinds[name] is bool else _number(value)
    except (KeyError, ValueError):
        allowed = "true or false" if kinds[name] is bool else "a number"
        raise InputError(
            f"{cls.__name__}:{text} is not allowed: {name} must be {allowed}"
        ) from None


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)
