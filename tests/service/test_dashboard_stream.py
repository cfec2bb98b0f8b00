"""Snapshots are taken once for all readers; streams send what changed, and end."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import ChoiceLoader, DictLoader

import sojourn as sj
from sojourn.live import Branch, Experiment, NotFound, Settings, Unavailable
from sojourn.policies import Policy
from sojourn.service.dashboard import snapshots
from sojourn.service.dashboard.panels import (
    PANELS,
    SHADOW,
    VARIANT_PANELS,
    Panel,
    policy_label,
    templates,
)
from sojourn.service.dashboard.snapshots import SPANS, Snapshots, Span, View

TEMPLATES = {
    name: templates().loader.get_source(templates(), name)[0]  # type: ignore[union-attr]
    for name in templates().list_templates()
    if name.startswith("panels/")
}


def parts_in(shown: tuple[Panel, ...]) -> dict[str, str]:
    """The live parts of the templates of these panels, and their tags."""
    texts = [TEMPLATES[f"panels/{panel.name}.html"] for panel in shown]
    found = [part for text in texts for part in re.findall(r'call live\("(\w+)", "(\w+)"', text)]
    assert len(dict(found)) == sum(text.count("call live(") for text in texts)
    return dict(found)


PARTS = parts_in(PANELS)


@pytest.fixture
def experiment() -> Iterator[Experiment]:
    with Experiment("shorts", ["dance", "news"], compiled=False) as experiment:
        experiment.visit(id="v1").choose()
        yield experiment


def catalog_with(experiment: Experiment) -> Any:
    async def find(name: str) -> Experiment:
        if name != experiment.name:
            raise NotFound(name)
        return experiment

    return SimpleNamespace(experiment=find, stopping=asyncio.Event())


async def first(messages: AsyncIterator[str], n: int) -> list[str]:
    return [await anext(messages) for _ in range(n)]


def parts_of(message: str) -> dict[str, str]:
    found = re.findall(r'<(\w+) id="(\w+)" hx-swap-oob', message)
    return {part: tag for tag, part in found}


def test_one_snapshot_for_all_who_watch(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    counts = Experiment.counts

    def counted(self: Experiment) -> Any:
        taken.append(1)
        return counts(self)

    monkeypatch.setattr(Experiment, "counts", counted)
    monkeypatch.setattr(snapshots, "FRESH", 3600.0)

    async def watch() -> None:
        kept = Snapshots()
        found = await asyncio.gather(*(kept.get(experiment, None) for _ in range(50)))
        assert len({id(one) for one in found}) == 1
        assert found[0].rendered(View()) is found[1].rendered(View())
        await kept.get(experiment, "1d")

    asyncio.run(watch())
    assert len(taken) == 2


def test_only_what_has_changed_is_sent(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "FRESH", 0.0)
    monkeypatch.setattr(snapshots, "EVERY", 0.01)
    monkeypatch.setattr(snapshots, "HEARTBEAT", 0.05)

    async def watch() -> None:
        messages = snapshots.changes(catalog_with(experiment), Snapshots(), "shorts", View())
        retry, everything, nothing = await first(messages, 3)
        assert retry == "retry: 2000\n\n"
        assert everything.startswith("event: update\n")
        assert parts_of(everything) == PARTS
        assert nothing.startswith(":")
        experiment.visit(id="v2")
        changed = await anext(messages)
        while changed.startswith(":"):
            changed = await anext(messages)
        sent = parts_of(changed)
        assert "totals" in sent and "of 2 opened" in changed
        assert sent.keys() < PARTS.keys() and not sent.keys() & {"arms", "decisions", "rewards"}
        await messages.aclose()  # type: ignore[attr-defined]

    asyncio.run(watch())


def test_every_template_of_a_panel_is_listed_once() -> None:
    every = (*PANELS, SHADOW, *VARIANT_PANELS)
    assert sorted(f"panels/{panel.name}.html" for panel in every) == sorted(TEMPLATES)
    assert list(parts_in(VARIANT_PANELS)) == [
        "alarm", "comparison", "differences", "snapshots", "snapshot_rows", "guardrail", "shares"
    ]  # fmt: skip


def test_a_panel_is_one_template_and_one_line(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that the page about it adds is framed, and its live part streamed."""
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "add-a-panel.md").read_text()
    template, line = re.findall(r"^```(?:html|python)\n(.*?)^```$", text, re.M | re.S)
    loader = ChoiceLoader([DictLoader({"panels/timeouts.html": template}), templates().loader])
    monkeypatch.setattr(templates(), "loader", loader)
    (added,) = eval(line, {"Panel": Panel})
    monkeypatch.setattr(snapshots, "PANELS", (*PANELS, added))

    async def watch() -> None:
        kept = Snapshots()
        page = " ".join((await kept.get(experiment, None)).rendered(View()).panels[-1].split())
        section = '<section class="half" id="panel-timeouts" aria-labelledby="h-timeouts">'
        assert page.startswith(section) and page.endswith("</section>")
        assert '<h2 id="h-timeouts">Timeouts</h2>' in page
        assert '<p id="timeouts" class="note">0 of 1 visits timed out. </p>' in page
        messages = snapshots.changes(catalog_with(experiment), kept, "shorts", View())
        _, everything = await first(messages, 2)
        assert parts_of(everything) == {**PARTS, "timeouts": "p"}
        assert "0 of 1 visits timed out" in everything and "<h2" not in everything

    asyncio.run(watch())


@pytest.mark.parametrize(
    ("policy", "label"),
    [
        (sj.policies.KLULCB().opposite(), "KL-ULCB, opposite"),
        (sj.policies.LearnedIMED(floor=-1), "Learned IMED, floor=-1"),
        (
            sj.policies.EpsilonMixture(sj.policies.UCB(c=4), 0.1),
            sj.policies.EpsilonMixture(sj.policies.UCB(c=4), 0.1).label,
        ),
    ],
)
def test_policies_are_called_by_their_label(policy: Policy, label: str) -> None:
    for anywhere in (False, True):
        settings = Settings(policy=policy, introduce_in_any_state=anywhere)
        assert policy_label(settings) == label


def test_a_stream_ends_when_the_service_stops(experiment: Experiment) -> None:
    async def watch() -> None:
        catalog = catalog_with(experiment)
        messages = snapshots.changes(catalog, Snapshots(), "shorts", View())
        await first(messages, 2)
        asyncio.get_running_loop().call_later(0.01, catalog.stopping.set)
        assert [message async for message in messages] == []

    asyncio.run(watch())


def test_trouble_with_the_store_is_told(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "EVERY", 0.01)

    def fail(self: Experiment) -> Any:
        raise Unavailable("away")

    async def watch() -> None:
        kept = Snapshots()
        messages = snapshots.changes(catalog_with(experiment), kept, "shorts", View())
        with monkeypatch.context() as patch:
            patch.setattr(Experiment, "counts", fail)
            _, trouble = await first(messages, 2)
        assert trouble.startswith("event: trouble\ndata: ")
        back = await anext(messages)
        while back.startswith("event: trouble"):
            back = await anext(messages)
        assert parts_of(back) == PARTS

    asyncio.run(watch())


def test_too_many_readers_are_sent_away(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MOST", 1)

    async def watch() -> None:
        streams, catalog = snapshots.Streams(Snapshots()), catalog_with(experiment)
        one = streams.response(catalog, "shorts", View())
        body = one.body_iterator  # type: ignore[attr-defined]
        await anext(body)
        assert streams.response(catalog, "shorts", View()).status_code == 503
        await body.aclose()
        assert streams.open == 0

    asyncio.run(watch())


def test_the_span_fits_the_age(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment.get("v1").end()

    async def span() -> Span:
        return (await Snapshots().get(experiment, None)).context["span"]

    assert asyncio.run(span()) == SPANS["10m"]
    for name, ages in {"1h": (700, 3500), "1d": (3700, 80_000), "1w": (90_000, 590_000)}.items():
        for age in ages:
            now = experiment.journal.store.ping() + age
            monkeypatch.setattr(Experiment, "now", lambda self, now=now: now)
            assert asyncio.run(span()) == SPANS[name]


def test_long_spans_are_summed_less_often(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "FRESH", 0.0)
    asked: list[float] = []
    timeline, now = Branch.timeline, 1e9

    def summed(self: Branch, since: float, width: float) -> Any:
        asked.append(width)
        return timeline(self, since, width)

    monkeypatch.setattr(Branch, "timeline", summed)
    kept = Snapshots()
    for second in range(10):
        monkeypatch.setattr(Experiment, "now", lambda self, now=now + second: now)
        asyncio.run(kept.get(experiment, "1w"))
        kept._cache._locks.clear()  # of the loop that is gone
    assert asked == [SPANS["1w"].width]


def test_views() -> None:
    assert View.of({}) == View()
    assert View.of({"span": "2y", "page": "-1", "q": " x "}) == View(None, "x", 1)
    view = View("1h", "a&b", 3)
    assert view.query == "?span=1h&q=a%26b&page=3"
    assert view.but(page=1, search="").query == "?span=1h"
    assert all(span.seconds % span.width == 0 for span in SPANS.values())
