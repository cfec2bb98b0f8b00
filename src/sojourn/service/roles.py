"""Which roles of keys each route is for, in a table.

A route that is not in the table is for operators.
"""

from .hot import EXPERIMENT, VISIT
from .keys import DECIDE, OPERATOR, OWNER, READ, Key

DECIDING = (DECIDE, OWNER, OPERATOR)
READING = (READ, OWNER, OPERATOR)
EITHER = (DECIDE, READ, OWNER, OPERATOR)
CHANGING = (OWNER, OPERATOR)
OPERATING = (OPERATOR,)

ROUTES: dict[tuple[str, str], tuple[str, ...]] = {
    ("POST", f"{EXPERIMENT}/visits"): DECIDING,
    ("PUT", VISIT): DECIDING,
    ("GET", VISIT): EITHER,  # PUT answers the same
    ("POST", f"{VISIT}/decisions"): DECIDING,
    ("POST", f"{VISIT}/step"): DECIDING,
    ("PUT", f"{VISIT}/decisions/{{step}}/reward"): DECIDING,
    ("PUT", f"{VISIT}/end"): DECIDING,
    ("POST", f"{EXPERIMENT}/batch"): DECIDING,
    ("GET", "/v1/experiments"): READING,
    ("GET", EXPERIMENT): READING,
    ("GET", f"{EXPERIMENT}/ranking"): EITHER,  # the arms that decisions show, in an order
    ("GET", f"{EXPERIMENT}/insight"): READING,
    ("GET", "/"): READING,
    ("GET", "/experiments/{name}"): READING,
    ("GET", "/events/{name}"): READING,
    ("GET", "/metrics"): READING,
    ("PUT", EXPERIMENT): CHANGING,
    ("PUT", f"{EXPERIMENT}/arms/{{arm}}"): CHANGING,
    ("DELETE", f"{EXPERIMENT}/arms/{{arm}}"): CHANGING,
    ("PUT", f"{EXPERIMENT}/prior"): CHANGING,
    ("PUT", f"{EXPERIMENT}/variants"): CHANGING,
    ("GET", f"{EXPERIMENT}/variants"): READING,
    ("PUT", f"{EXPERIMENT}/shares"): CHANGING,
    ("DELETE", f"{EXPERIMENT}/shares"): CHANGING,
    ("PUT", f"{EXPERIMENT}/exploring"): CHANGING,
    ("DELETE", f"{EXPERIMENT}/alarm"): CHANGING,
    ("GET", f"{EXPERIMENT}/comparison"): READING,
    ("GET", f"{EXPERIMENT}/shadow"): READING,
    ("GET", f"{EXPERIMENT}/comparison/history"): READING,
    ("GET", f"{EXPERIMENT}/drift"): READING,
    ("DELETE", EXPERIMENT): OPERATING,
    ("DELETE", "/v1/users/{user}"): OPERATING,
    ("GET", "/v1/changes"): OPERATING,
}
FOR_ALL = ("/metrics",)  # they show all experiments, to keys that are for all


def refusal(
    key: Key, method: str, route: str | None, experiment: str | None, whole: str | None = None
) -> str | None:
    """Why a key may not do this, in one sentence; None: it may.

    `route` is the path's template, None where there is nothing: whoever asks may learn that. A key
    for the `whole` that an experiment is a variant of will do.

    >>> key = Key("k1", "", ("shorts",), made=0.0, role="decide")
    >>> refusal(key, "GET", EXPERIMENT, "shorts")
    "the key k1 has the role 'decide': this needs the role 'read', 'owner' or 'operator'"
    """
    if experiment is not None and not any(key.allows(n) for n in (experiment, whole) if n):
        return f"the key {key.id} is not for experiment {experiment[:200]!r}"
    if route is None:
        return None
    roles = ROUTES.get(("GET" if method == "HEAD" else method, route), OPERATING)
    if key.role not in roles:
        *others, last = map(repr, roles)
        needed = f"{', '.join(others)} or {last}" if others else last
        return f"the key {key.id} has the role {key.role!r}: this needs the role {needed}"
    if route in FOR_ALL and not key.allows_all:
        return f"the key {key.id} is not for all experiments"
    return None
