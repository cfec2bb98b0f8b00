"""Explorers go by what the estimate of their policy says for this step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.streams import policy_stream
from sojourn.policies.explorer import Explorer


class Halved(Explorer):
    """An estimate by which arm 0 is worth half as much in state 0."""

    def estimate(self, memory: Any, arm: int, state: float) -> tuple[float, float]:
        mean, pulls = self.record(memory, arm)
        return (0.5 * mean if arm == 0 and state == 0.0 else mean), pulls

    def posterior(self, memory: Any, arm: int, state: float) -> tuple[float, float]:
        mean, pulls = self.estimate(memory, arm, state)
        return 1.0 + mean * pulls, 1.0 + (1.0 - mean) * pulls


@dataclass(frozen=True)
class HalvedUCB(Halved, sj.policies.UCB):
    pass


@dataclass(frozen=True)
class HalvedKLULCB(Halved, sj.policies.KLULCB):
    pass


@dataclass(frozen=True)
class HalvedIMED(Halved, sj.policies.IMED):
    pass


@dataclass(frozen=True)
class HalvedSwitch(Halved, sj.policies.KLUCBSwitch):
    pass


@dataclass(frozen=True)
class HalvedThompson(Halved, sj.policies.Thompson):
    pass


@pytest.mark.parametrize("cls", [HalvedUCB, HalvedKLULCB, HalvedIMED, HalvedSwitch, HalvedThompson])
def test_an_estimate_by_state_is_followed_by_every_explorer(cls: type[sj.Policy]) -> None:
    policy = cls()
    memory = policy.memory(2)
    memory.pulls[:], memory.successes[:], memory.clock[0] = 1000.0, [900.0, 700.0], 2000.0
    for state, best in ((1.0, 0), (0.0, 1)):
        assert policy.choose(memory, state, policy_stream(0, 0)) == best
        np.testing.assert_allclose(policy.probabilities(memory, state)[best], 1.0, atol=1e-9)
