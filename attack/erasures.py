"""Users erased beside archives, drops, copies and kills: no id is anywhere afterwards."""

import secrets
import time
from functools import partial

import erasing

from .ground import Ground
from .tally import Tally

ROUNDS = 5  # of one store: what earlier ones have left is there in later ones


def erase_beside_all(ground: Ground, tally: Tally, seconds: float, kind: str) -> None:
    """One store after another; what fell names the seed and the interleaving."""
    end, rounds, kills, erased = time.monotonic() + seconds, 0, 0, 0
    while not rounds or time.monotonic() < end:
        folder = ground.folder / f"erasures_{secrets.token_hex(4)}"
        folder.mkdir()
        place = f"sqlite:///{folder / 'live.db'}" if kind == "sqlite" else ground.store(kind)
        left = max(1.0, end - time.monotonic())
        report = erasing.run(place, folder, secrets.token_hex(4), ROUNDS, left)
        tally.calls += report.steps + report.erased
        tally.acknowledged += report.steps
        for sentence in report.found:
            tally.expect(False, sentence)
        rounds, kills, erased = rounds + report.rounds, kills + report.kills, erased + report.erased
    tally.note = f"{rounds} interleavings, {kills} kills, {erased} users erased"


SCENARIOS = {
    "erasures-sqlite": (partial(erase_beside_all, kind="sqlite"), 30),
    "erasures-postgres": (partial(erase_beside_all, kind="postgres"), 30),
}
