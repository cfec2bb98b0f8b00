"""An example of each small function of the service: what goes in, what comes out."""

import pytest

from sojourn.live import Busy, Settings
from sojourn.service import demo
from sojourn.service.answers import Error
from sojourn.service.auth import sessions
from sojourn.service.auth.keys import NOBODY, READING, Key, bearer
from sojourn.service.dashboard import panels
from sojourn.service.dashboard.pages import pages
from sojourn.service.dashboard.reference import type_of
from sojourn.service.dashboard.snapshots import event
from sojourn.service.errors import Refusal, refusal_of
from sojourn.service.request import Buckets, split_path
from sojourn.service.server import escaped, secrets_of
from sojourn.service.telemetry import wanted
from sojourn.stats.intervals import Interval
from sojourn.users import LastReward, MovingAverage
from sojourn.validation import InputError


def test_words_of_the_dashboard() -> None:
    assert list(map(panels.number, (7.418, 0.25, 31, 1234.5))) == ["7.42", "0.25", "31.0", "1,234"]
    assert list(map(panels.count, (1234.0, 2.5))) == ["1,234", "2.5"]
    wide = Interval(2.0, 1.5, 2.5), Interval(200.0, 100.0, 300.0)
    assert list(map(panels.half_width, wide)) == ["0.50", "100"]
    assert panels.ends(Interval(0.5, 0.25, 0.75), chance=True) == "0.25 to 0.75"
    assert list(map(panels.signed, (0.0512, -1.5))) == ["+0.0512", "-1.50"]
    assert list(map(panels.percent, (0.1, 0.005, 1 / 3))) == ["10 %", "0.5 %", "33.3 %"]
    assert list(map(panels.lasting, (20, 1800, 5400))) == ["20 s", "30 min", "1.5 h"]
    at = '<time datetime="1970-01-01T01:01:01.000+00:00">01:01:01</time>'
    assert panels.clock(3661.0) == at and panels.moment(3661.0).striptags() == "1 Jan 01:01"
    assert panels.policy_label(Settings()) == "Engagement index"
    words = "the state is a moving average of rewards, theta 0.50"
    assert panels.user_words(MovingAverage(0.5)) == words
    assert panels.user_words(LastReward()) == "the state is the last reward"
    assert event("update", "a\nb") == "event: update\ndata: a\ndata: b\n\n"
    assert [getattr(route, "path", "") for route in pages()] == [
        "/", "/experiments/{name}", "/events/{name}", "/docs", "/login", "/static"
    ]  # fmt: skip
    kind = {"anyOf": [{"type": "array", "items": {"$ref": "#/x/Arm"}}, {"type": "null"}]}
    assert type_of(kind) == "list of Arm or null"


def test_requests() -> None:
    assert split_path(b"/v1/experiments/a%2Fb") == ["", "v1", "experiments", "a/b"]
    with pytest.raises(InputError, match=r"^the path /v1/../metrics is not allowed: \. and \.\."):
        split_path(b"/v1/../metrics")
    clock = iter([0.0, 0.0, 0.0, 0.5]).__next__
    buckets = Buckets(rate=2, burst=2, clock=clock)
    assert [buckets.take("ann") for _ in range(4)] == [0.0, 0.0, 0.5, 0.0]
    assert Refusal(404, "none").body == Error("not_found", "none")
    busy = refusal_of(Busy("4096 calls wait"))
    assert busy is not None and busy.word == "busy" and refusal_of(KeyError("x")) is None


def test_keys_and_sessions() -> None:
    key = Key("k1", NOBODY, ("shorts",), made=0.0, role="decide")
    assert key.allows("shorts") and not key.allows("news") and not key.allows_all
    needs = "this needs the role 'read', 'owner' or 'operator'"
    assert key.refusal(READING, "shorts") == f"the key k1 has the role 'decide': {needs}"
    assert (bearer("Bearer sj_1_x"), bearer("Basic dTpw")) == ("sj_1_x", "")
    text = sessions.sign("1f2e3d4c", "0" * 64, 1000, "n1")
    assert text.startswith("1f2e3d4c.1000.n1.02")
    assert sessions.parse(text) == sessions.Session("1f2e3d4c", 1000, "n1")
    assert not sessions.secure("http", {})
    assert sessions.secure("http", {b"x-forwarded-proto": b"https, http"})
    cookies = {b"cookie": b"theme=dark; sojourn_session=k.1.n.m"}
    assert sessions.from_headers("http", cookies) == "k.1.n.m"


def test_starting() -> None:
    assert escaped("a\nb\u2028c é") == "a\\nb\\u2028c é"
    assert secrets_of("postgresql://ann:s%40cret@host/db") == ("s%40cret", "s@cret")
    assert wanted({}) is None
    assert wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}) == "otlp"
    shorts = demo.problem()
    assert shorts.best_arm == 0
    assert round(shorts.mistake_cost(0) / shorts.mistake_cost(1), 2) == 1.78
