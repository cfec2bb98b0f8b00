"""Schemathesis against a running service, by the schema that the service itself gives."""

from collections.abc import Iterator
from dataclasses import fields

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from serving import Server, serve

from sojourn.live import Ask, Logged, Opening
from sojourn.service import bodies
from sojourn.service.app import Options, create

SHORTS = "/v1/experiments/shorts"
OF_VARIANTS = ("variants", "shares", "exploring", "alarm", "comparison")
DESCRIBED = create(Options(store="memory://")).openapi()

schema = schemathesis.openapi.from_dict(DESCRIBED)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as server:
        server.call("PUT", SHORTS, {"arms": ["dance", "cooking", "news"]})
        variants = {"old": {"share": 0.5}, "new": {"share": 0.5}}
        feed = {"arms": ["dance"], "variants": variants, "holdout": "old"}
        server.call("PUT", "/v1/experiments/feed/variants", feed)
        yield server
        assert "Traceback" not in server.lines


def test_the_service_gives_its_schema(server: Server) -> None:
    assert server.call("GET", "/openapi.json") == (200, DESCRIBED)


@schema.parametrize()
@settings(max_examples=50, suppress_health_check=list(HealthCheck))
def test_the_service_is_as_its_schema_says(case: schemathesis.Case, server: Server) -> None:
    """All checks but one: that names are printable, or that successes are at most pulls, is not in
    the schema, and refused nevertheless."""
    names = case.path_parameters or {}
    good = all(1 <= len(str(name)) <= 200 for name in names.values())
    if "experiment" in names and good and len(str(case.body)) % 4:  # where there is something
        names["experiment"] = "feed" if case.path.rpartition("/")[2] in OF_VARIANTS else "shorts"
        if "visit" in names:
            names["visit"] = f"v{len(str(case.body)) % 3}"
            server.call("PUT", f"{SHORTS}/visits/{names['visit']}", {})
    case.call_and_validate(base_url=server.url, excluded_checks=[positive_data_acceptance])


def test_a_body_has_the_fields_of_an_ask() -> None:
    """What a call may say over HTTP is what it may say in the process, by the same names."""
    of_ask = {field.name for field in fields(Ask)}
    assert set(bodies.StepIn.model_fields) == of_ask
    assert set(bodies.DecideIn.model_fields) == of_ask - {"reward"}
    assert set(bodies.LoggedIn.model_fields) == {field.name for field in fields(Logged)}
    assert set(bodies.OpeningIn.model_fields) == {field.name for field in fields(Opening)} - {
        "epoch",
        "window",
    }
    body = {
        "reward": 0.5, "request": "r", "step": 2, "opening": {"user": "u", "state": 0.5},
        "logged": {"arm": "a", "propensity": 0.25}, "candidates": ["a", "b"],
    }  # fmt: skip
    assert set(body) == of_ask
    assert bodies.StepIn(**body).ask() == Ask(
        reward=0.5, request="r", step=2, opening=Opening("u", 0.5), logged=Logged("a", 0.25),
        candidates=("a", "b"),
    )  # fmt: skip
