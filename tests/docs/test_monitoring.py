"""The Grafana dashboard and the alert rules: valid, and about metrics and labels that exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from asgi import client
from promql_parser import VectorSelector

DEPLOY = Path(__file__).parents[2] / "deploy"
BOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "sojourn.json").read_text())
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
EXPRESSIONS = [*QUERIES, *(rule["expr"] for rule in RULES)]
SCRAPED = {"instance", "job", "le"}  # labels that Prometheus adds, and those of buckets
EVENTS = {
    "PUT /visits/v": {},
    "POST /visits/v/decisions": {},
    "PUT /visits/v/decisions/1/reward": {"value": 1},
    "PUT /visits/v/end": {},
}


@pytest.fixture(scope="module")
def told() -> dict[str, set[str]]:
    """The labels of every metric on the page of a service where everything has happened once."""
    with client() as http:
        http.put("/v1/experiments/shorts", json={"arms": ["a", "b"]})
        for call, body in EVENTS.items():
            method, path = call.split()
            assert http.request(method, f"/v1/experiments/shorts{path}", json=body).is_success
        variants = {"old": {"share": 0.5}, "new": {"share": 0.5}}
        feed = {"arms": ["a"], "variants": variants, "holdout": "old"}
        assert http.put("/v1/experiments/feed/variants", json=feed).is_success
        http.get("/", headers={"host": "elsewhere"})  # 403
        lines = http.get("/metrics").text.splitlines()
    found: dict[str, set[str]] = {"up": set()}
    for line in lines:
        if not line.startswith("#"):
            name = re.split(r"[ {]", line)[0]
            found.setdefault(name, set()).update(re.findall(r'[{,](\w+)="', line))
    return found


def parsed(expression: str) -> Any:
    return promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def nodes(tree: Any) -> Iterator[Any]:
    """All nodes of a parsed expression."""
    yield tree
    below = [getattr(tree, name, None) for name in ("lhs", "rhs", "expr", "param")]
    for child in (*below, getattr(tree, "vector_selector", None), *getattr(tree, "args", [])):
        if child is not None and hasattr(child, "prettify"):
            yield from nodes(child)


def selectors(expression: str) -> list[VectorSelector]:
    return [node for node in nodes(parsed(expression)) if isinstance(node, VectorSelector)]


def test_expressions_are_about_metrics_and_labels_that_there_are(told: dict[str, set[str]]) -> None:
    for expression in EXPRESSIONS:
        found = selectors(expression)
        names = {selector.name for selector in found}
        assert names == set(re.findall(r"\b(?:sojourn_\w+|up)\b", expression))  # none overlooked
        assert names and names <= told.keys(), expression
        for selector in found:
            used = {matcher.name for matcher in selector.matchers.matchers}
            assert used <= told[selector.name] | SCRAPED, expression
        labels = set().union(*(told[name] for name in names)) | SCRAPED
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            assert set(re.split(r", *", grouped)) <= labels, expression


def test_every_metric_is_shown_and_the_important_ones_have_alerts(
    told: dict[str, set[str]],
) -> None:
    def families(names: Any) -> set[str]:
        return {re.sub(r"_(bucket|count|sum)$", "", name) for name in names} - {"up"}

    shown = families(s.name for query in QUERIES for s in selectors(query))
    assert shown == families(told)
    warned = {s.name for rule in RULES for s in selectors(rule["expr"])}
    assert {"up", "sojourn_queue", "sojourn_conflicts_total", "sojourn_steps_total"} <= warned
    assert "sojourn_broken_experiments" in warned


def test_what_is_stored_is_not_added_up_over_processes() -> None:
    """Every process tells the sums of the store: two of them must not make twice as many steps."""
    for expression in EXPRESSIONS:
        for place in re.finditer("sojourn_(steps|visits|rewards)_total", expression):
            before = expression[: place.start()]
            assert re.search(r"max by \([\w, ]+\) \((rate|increase)\($", before), expression


def test_the_dashboard_is_complete() -> None:
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids) and BOARD["uid"] == "sojourn"
    assert len({panel["title"] for panel in BOARD["panels"]}) >= len(PANELS)
    taken = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, panel["title"]
                taken.add((x, y))
    given = {variable["name"] for variable in BOARD["templating"]["list"]} | {"__rate_interval"}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(PANELS))) <= given
    for panel in PANELS:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all(t["datasource"] == panel["datasource"] for t in panel["targets"])


def test_alerts_say_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smh]", rule["for"])
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert set(rule["annotations"]) == {"summary", "action"}
        assert isinstance(parsed(rule["expr"]), promql_parser.BinaryExpr)  # a threshold
