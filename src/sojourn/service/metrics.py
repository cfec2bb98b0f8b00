"""Metrics for Prometheus: what this process does, and what the store has counted."""

import os
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from math import inf
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
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from ..live import Store, drift
from ..live.monitor.departures import watched
from ..live.records import END, LEARNED_LATE, NEXT, REWARD, TIMEOUT, Counts, added
from ..live.rollout.allocation import whole_of
from ..live.settings import MOST_BINS
from ..live.stores import base
from ..live.stores.base import plain_settings
from ..stats.departures import ArmEffects, Table
from ..validation import InputError
from .catalog import Catalog

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # puts prometheus_client into multiprocess mode

disable_created_metrics()  # type: ignore[no-untyped-call]

CHANGES_FRESH = 60.0  # seconds for which it is reused how many means have changed
REFRESH = 1.0  # seconds between two copies of what others count
MOST = 64  # experiments with labels of their own
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
VISIT_LABELS, REWARD_LABELS = ("experiment", "event"), ("experiment", "outcome", "by")
INTERPRETED = "Open experiments whose policy is not compiled, so that decisions take longer."
CONFLICTS = (
    "Optimistic-lock conflicts: changes rejected because another process updated the visit first; "
    "each was retried."
)


class Metrics:
    """The metrics of this process; no label grows with the number of arms or visits."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(name, help, labels, registry=registry)

        def histogram(name: str, help: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(name, help, labels, registry=registry, buckets=buckets)

        self.requests = counter(
            "sojourn_requests", "HTTP requests answered.", "method", "route", "status"
        )
        self.seconds = histogram(
            "sojourn_request_seconds", "Latency of requests.", SECONDS, "route"
        )
        self.commits = histogram("sojourn_commit_seconds", "Latency of commits.", SECONDS)
        self.sizes = histogram("sojourn_commit_changes", "Changes per commit.", SIZES)
        self.queue = Gauge(
            "sojourn_queue", "Calls that wait for their commit.", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self.broken = Gauge(
            "sojourn_broken_experiments", "Experiments that cannot be served; the log says why.",
            registry=registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self.interpreted = Gauge(
            "sojourn_interpreted_experiments", INTERPRETED, registry=registry,
            multiprocess_mode="livemax",
        )  # fmt: skip
        self.conflicts = counter("sojourn_conflicts", CONFLICTS)
        self.reward_answers = counter(
            "sojourn_reward_answers", "Rewards sent in calls of their own.", "experiment", "outcome"
        )
        self.bugs = counter("sojourn_bugs", "Internal errors; the log has the traceback of each.")
        self.limited = counter("sojourn_rate_limited", "Requests refused with 429.")
        self.unauthorized = counter(
            "sojourn_unauthorized", "Requests refused with 401 or 403.", "status"
        )
        self._children: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._drifts: dict[str, tuple[float, int]] = {}
        self._conflicts_seen, self._refreshed = 0, -inf

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
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
        def committed(size: int, seconds: float) -> None:
            self.sizes.observe(size)
            self.commits.observe(seconds)
            if time.monotonic() - self._refreshed > REFRESH:
                self.refresh(catalog)

        catalog.journal.writer.on_commit = committed

    def refresh(self, catalog: Catalog) -> None:
        """Copy what the catalog and the writer count."""
        self._refreshed = time.monotonic()
        self.queue.set(catalog.journal.writer.waiting)
        self.broken.set(len(catalog.broken))
        experiments = list(catalog.experiments.values())
        branches = {each.name: each for e in experiments for each in e.variants.values()}
        self.interpreted.set(sum(each.mode != "compiled" for each in branches.values()))
        conflicts = catalog.journal.writer.rejected
        self.conflicts.inc(conflicts - self._conflicts_seen)
        self._conflicts_seen = conflicts

    def page(self, catalog: Catalog) -> bytes:
        """The page for Prometheus, over all workers, but for what is `stored`."""
        self.refresh(catalog)
        registry = self.registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            drop_dead_gauges(Path(os.environ[FOLDER]))
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def stored(self, catalog: Catalog) -> bytes:
        """The rest of the page, read from the store."""
        stored = CollectorRegistry()
        stored.register(Stored(catalog.journal.store, self._drifts))
        return generate_latest(stored)


class Stored(Collector):
    """Counters of experiments from the store, over all processes and restarts.

    Those of the `MOST` with the latest visits: a page of thousands would be a megabyte.
    """

    def __init__(self, store: Store, drifts: dict[str, tuple[float, int]]) -> None:
        self.store, self.drifts = store, drifts  # when, and how many had changed

    def collect(self) -> list[Metric]:
        about = "Rewards by outcome; missing: the decision was resolved without one."
        visits = CounterMetricFamily("sojourn_visits", "Visits by event.", None, VISIT_LABELS)
        steps = CounterMetricFamily("sojourn_steps", "Decisions.", None, ["experiment"])
        rewards = CounterMetricFamily("sojourn_rewards", about, None, REWARD_LABELS)
        about = "Active arms that raise the exit rate; the dashboard says by how much."
        raising = GaugeMetricFamily("sojourn_arms_raising_exit_rate", about, None, ["experiment"])
        about = "Whether the guardrail of an experiment has acted and was not undone."
        acted = GaugeMetricFamily("sojourn_guardrail_acted", about, None, ["experiment"])
        about = "Means of arms, and of leaving, that have changed in the last four weeks."
        changed = GaugeMetricFamily("sojourn_changed_means", about, None, ["experiment"])
        found = self.store.read(latest=MOST)
        wholes = {whole for name in found if (whole := whole_of(name))}
        for name, stored in (self.store.read(wholes, counts=False) | found).items():
            settings = plain_settings(stored.settings)
            if "variants" in settings:
                acted.add_metric([name], float(settings.get("alarm") is not None))
            if name not in found or "variants" in settings:
                continue  # the rest is of its variants
            counts = added(stored.own, stored.others)
            sums: defaultdict[str, float] = defaultdict(float)
            for (what, *_), n in counts.items():
                sums[what] += n
            raising.add_metric([name], self._raising(stored, counts))
            changed.add_metric([name], self._changed(name))
            visits.add_metric([name, "opened"], sums["open"])
            visits.add_metric([name, "left"], sums[f"left by {END}"])
            visits.add_metric([name, "timed out"], sums[f"left by {TIMEOUT}"])
            steps.add_metric([name], sums["issued"])
            rewards.add_metric([name, "learned", REWARD], sums[f"resolved by {REWARD}"])
            rewards.add_metric([name, "late", REWARD], sums["late"])
            rewards.add_metric([name, "learned late", REWARD], sums[LEARNED_LATE])
            for cause in (NEXT, END, TIMEOUT):
                rewards.add_metric([name, "missing", cause], sums[f"resolved by {cause}"])
        return [visits, steps, rewards, raising, acted, changed]

    def _changed(self, name: str) -> int:
        """How many means have changed, by a check that is at most a minute old."""
        at, found = self.drifts.get(name, (-inf, 0))
        if time.monotonic() - at > CHANGES_FRESH:
            with suppress(InputError, KeyError):  # else it cannot be served
                found = len(drift(self.store, name).changed)
            self.drifts[name] = time.monotonic(), found
        return found

    def _raising(self, stored: base.Stored, counts: Counts) -> int:
        arms, settings = stored.arms, plain_settings(stored.settings)
        bins = settings.get("bins")
        if not isinstance(bins, int) or bins > MOST_BINS or settings.get("external"):
            return 0  # it cannot be served, or a recommender of the caller chooses what is shown
        _, seen, left = watched(counts, len(arms), bins)
        raising = ArmEffects(Table(seen[:-1], left[:-1])).raising
        return sum(bool(raising[i]) and not arm.retired for i, arm in enumerate(arms))


def drop_dead_gauges(folder: Path) -> None:
    """Delete the live gauges of workers that have died; their counters stay."""
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
        pass
    return True
