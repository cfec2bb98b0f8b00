"""Metrics for Prometheus: what this process does, and what the store has counted."""

import os
from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from ..live import Unavailable
from ..live.records import END, NEXT, REWARD, TIMEOUT, added
from .catalog import Catalog

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which prometheus_client knows that several processes count together."""

disable_created_metrics()  # type: ignore[no-untyped-call]

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """Counters and histograms; the labels are few, whatever the number of arms and visits."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def options(*labels: str) -> dict[str, Any]:
            return {"labelnames": labels, "registry": self.registry}

        self.requests = Counter(
            "sojourn_requests", "Requests answered.", **options("method", "route", "status")
        )
        self.seconds = Histogram(
            "sojourn_request_seconds", "Until the answer.", buckets=SECONDS, **options("route")
        )
        self.commits = Histogram(
            "sojourn_commit_seconds", "Of one transaction.", buckets=SECONDS, **options()
        )
        self.sizes = Histogram(
            "sojourn_commit_changes", "In one transaction.", buckets=SIZES, **options()
        )
        self.queue = Gauge(
            "sojourn_queue", "Calls that wait for a commit.", multiprocess_mode="livesum",
            **options(),
        )  # fmt: skip
        self.conflicts = Counter(
            "sojourn_conflicts", "Changes of visits that another process came before.", **options()
        )
        self.reward_answers = Counter(
            "sojourn_reward_answers",
            "Answers to rewards that came by themselves.",
            **options("experiment", "outcome"),
        )
        self.limited = Counter("sojourn_rate_limited", "Refused with 429.", **options())
        self.unauthorized = Counter(
            "sojourn_unauthorized", "Refused with 401 or 403.", **options("status")
        )
        self._children: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._conflicts_seen = 0

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request has its answer."""
        key = method, route, status
        children = self._children.get(key)
        if children is None:
            count = self.requests.labels(method, route, str(status))
            children = self._children[key] = count, self.seconds.labels(route)
        children[0].inc()
        children[1].observe(seconds)
        if status == 429:
            self.limited.inc()
        elif status in (401, 403):
            self.unauthorized.labels(str(status)).inc()

    def watch(self, catalog: Catalog) -> None:
        """Count the commits of a journal."""

        def committed(size: int, seconds: float) -> None:
            self.sizes.observe(size)
            self.commits.observe(seconds)
            self.look(catalog)

        catalog.journal.on_commit = committed

    def look(self, catalog: Catalog) -> None:
        """Take note of what is only a number elsewhere."""
        self.queue.set(catalog.journal.writer.waiting)
        conflicts = sum(experiment.conflicts for experiment in list(catalog.experiments.values()))
        self.conflicts.inc(max(0, conflicts - self._conflicts_seen))
        self._conflicts_seen = conflicts

    def page(self, catalog: Catalog) -> bytes:
        """The text for Prometheus, of all processes of this service; it reads the store."""
        self.look(catalog)
        registry = self.registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            bury(Path(os.environ[FOLDER]))
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        stored = CollectorRegistry()
        with suppress(Unavailable):  # then what this process counts is all the more of interest
            stored.register(_Families(list(_stored(catalog))))
        return generate_latest(registry) + generate_latest(stored)


class _Families:
    """What was read from the store, in the form that a registry takes."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _stored(catalog: Catalog) -> Iterator[Metric]:
    """Sums that the store keeps for each experiment, over all processes and restarts."""
    store = catalog.journal.store
    visits = CounterMetricFamily("sojourn_visits", "Visits.", labels=["experiment", "event"])
    steps = CounterMetricFamily("sojourn_steps", "Decisions.", labels=["experiment"])
    rewards = CounterMetricFamily(
        "sojourn_rewards",
        "Rewards of decisions; missing ones were resolved by something else.",
        labels=["experiment", "outcome", "by"],
    )
    for name in store.experiments():
        sums: Tally[str] = Tally()
        for (what, *_), n in added(*store.counts(name)).items():
            sums[what] += n  # type: ignore[assignment]
        visits.add_metric([name, "opened"], sums["open"])
        visits.add_metric([name, "left"], sums[f"left by {END}"])
        visits.add_metric([name, "timed out"], sums[f"left by {TIMEOUT}"])
        steps.add_metric([name], sums["issued"])
        rewards.add_metric([name, "learned", REWARD], sums[f"resolved by {REWARD}"])
        rewards.add_metric([name, "late", REWARD], sums["late"])
        for cause in (NEXT, END, TIMEOUT):
            rewards.add_metric([name, "missing", cause], sums[f"resolved by {cause}"])
    yield from (visits, steps, rewards)


def bury(folder: Path) -> None:
    """Forget what processes that are gone said of the present; what they counted stays."""
    for file in folder.glob("gauge_live*_*.db"):
        pid = file.stem.rpartition("_")[2]
        if pid.isdigit() and not _alive(int(pid)):
            with suppress(FileNotFoundError):
                file.unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
