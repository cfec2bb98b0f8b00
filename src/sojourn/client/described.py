"""Policies and users as the plain data that the service takes."""

from collections.abc import Mapping
from typing import Any

from ..live.answers import is_policy, policy_data
from ..validation import InputError


def described_policy(policy: Any) -> dict[str, Any]:
    """What the service takes for a policy: a value with name and parameters, a name, or plain data.

    >>> described_policy("KLULCB"), described_policy({"name": "UCB", "parameters": {"c": 4}})
    ({'name': 'KLULCB'}, {'name': 'UCB', 'parameters': {'c': 4}})
    """
    if isinstance(policy, str):
        return {"name": policy}
    if isinstance(policy, Mapping):
        return dict(policy)
    if not is_policy(policy):
        raise InputError(f"policy = {policy!r} is not allowed: give a policy, its name, or a dict")
    return policy_data(policy)


def described_user(user: Any) -> dict[str, Any]:
    """What the service takes for a user model: a model of the package, a name, or plain data.

    >>> described_user("last-reward"), described_user({"model": "moving-average", "theta": 0.5})
    ({'model': 'last-reward'}, {'model': 'moving-average', 'theta': 0.5})
    """
    if isinstance(user, str):
        return {"model": user}
    if isinstance(user, Mapping):
        return dict(user)
    from ..live.states import describe, live  # has been loaded by whoever made a user model

    return describe(live(user)[0])
