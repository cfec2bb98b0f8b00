"""A real Dask cluster on this machine: the same bits, also when a worker is killed in mid-run."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
from results import assert_same

import sojourn as sj
from sojourn.paper import SETTINGS
from sojourn.simulation import Interrupted, Progress
from sojourn.simulation.backends import Cluster, compute_remotely

pytestmark = [
    pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
]

POLICIES = [sj.policies.UCB(), sj.policies.ULCB(), sj.policies.Uniform()]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of eight runs, so that small simulations have many."""
    monkeypatch.setattr("sojourn.simulation.precision.CHUNK_STEPS", 0.0)


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    """Two worker processes of one thread."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def pids(client: distributed.Client) -> list[int]:
    return list(client.run(os.getpid).values())


@pytest.mark.parametrize("how_many", [{"runs": 60}, {"precision": "5%"}])
def test_the_same_bits_as_at_home(client: distributed.Client, how_many: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"visits": 40, "seed": 2, **how_many}
    there = sj.simulate(SETTINGS["B"], POLICIES, client=client, **arguments)
    here = sj.simulate(SETTINGS["B"], POLICIES, workers=1, **arguments)
    assert_same(there, here)


def test_a_leave_curve_of_one_s_own_travels(client: distributed.Client) -> None:
    problem = sj.Problem([0.9, 0.8], sj.Ema(0.5, leave=lambda s: 0.5 - 0.3 * s))
    there = sj.simulate(problem, [sj.policies.Uniform()], visits=40, runs=40, client=client)
    assert_same(there, sj.simulate(problem, [sj.policies.Uniform()], visits=40, runs=40))


def test_a_killed_worker_costs_nothing_but_time(client: distributed.Client) -> None:
    """The kill comes while both workers are busy, in the middle of the chunks."""
    killed: list[int] = []
    arguments: dict[str, Any] = {"visits": 20_000, "runs": 64}

    def kill(progress: Progress) -> None:
        if not killed and sum(progress.runs) >= 32:
            killed.append(pids(client)[0])
            os.kill(killed[0], signal.SIGKILL)

    there = sj.simulate(SETTINGS["B"], POLICIES, client=client, progress=kill, **arguments)
    assert killed
    client.wait_for_workers(2)
    assert killed[0] not in pids(client)
    assert_same(there, sj.simulate(SETTINGS["B"], POLICIES, workers=1, **arguments))


def test_chunks_that_dask_gives_up_are_submitted_again(
    client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, losses = Cluster.result, []

    def lose(self: Cluster, future: Any) -> Any:
        if len(losses) < 3:
            losses.append(future.key)
            client.cancel([future], force=True)
        return usual(self, future)

    monkeypatch.setattr(Cluster, "result", lose)
    there = sj.simulate(SETTINGS["B"], POLICIES, visits=30, runs=40, client=client)
    assert len(losses) == 3
    assert_same(there, sj.simulate(SETTINGS["B"], POLICIES, visits=30, runs=40))


def test_a_chunk_that_is_always_lost_is_an_error(
    client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "result", lambda self, future: None)
    with pytest.raises(RuntimeError, match="was lost 5 times: its workers died"):
        sj.simulate(SETTINGS["B"], [sj.policies.UCB()], visits=30, runs=2, client=client)


def test_few_futures_at_a_time(client: distributed.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, most = Cluster.submit, []

    def submit(self: Cluster, *chunk: Any) -> Any:
        future = usual(self, *chunk)
        most.append(len(self._futures))
        return future

    monkeypatch.setattr(Cluster, "submit", submit)
    sj.simulate(SETTINGS["B"], [sj.policies.Uniform()], visits=2, runs=400, client=client)
    assert len(most) == 50 and max(most) <= 4


def test_ctrl_c_and_a_store(client: distributed.Client, tmp_path: Path) -> None:
    seen: list[Progress] = []
    arguments: dict[str, Any] = {"visits": 30, "runs": 400, "store": tmp_path / "runs.sqlite"}

    def stop_once(progress: Progress) -> None:
        if sum(progress.runs) >= 40 and not seen:
            seen.append(progress)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        sj.simulate(SETTINGS["B"], POLICIES, client=client, progress=stop_once, **arguments)
    there = sj.simulate(SETTINGS["B"], POLICIES, client=client, **arguments)
    assert_same(there, sj.simulate(SETTINGS["B"], POLICIES, visits=30, runs=400))


def test_workers_with_other_code_are_refused() -> None:
    with pytest.raises(ValueError, match="the workers and this process differ in the version"):
        compute_remotely(b"", "another digest", 0, 8)


def test_an_asynchronous_client_is_refused(client: distributed.Client) -> None:
    async def attempt() -> None:
        async with distributed.Client(client.scheduler.address, asynchronous=True) as other:
            sj.simulate(SETTINGS["B"], [sj.policies.UCB()], client=other)

    with pytest.raises(ValueError, match="client is asynchronous, which is not allowed"):
        asyncio.run(attempt())
