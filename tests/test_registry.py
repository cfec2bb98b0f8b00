"""Registries: other packages' policies and user models are found wherever ours are."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from plugins import install

import sojourn as sj
from sojourn import problem_files
from sojourn.live import Settings
from sojourn.policies.base import label_of
from sojourn.policy_names import find_policy
from sojourn.registry import Registry, RegistryWarning
from sojourn.users import Space


@dataclass(frozen=True)
class LastArm(sj.Policy):
    """Somebody's policy."""

    title: ClassVar[str] = "Last arm"

    def choose(self, memory, state, rng):
        return memory.pulls.size - 1


@dataclass(frozen=True, repr=False)
class Fickle(sj.User):
    """Somebody's user: leaves with one chance whatever happens."""

    q: float

    model: ClassVar[str] = "fickle"
    space: ClassVar[Space] = Space(states=2, bins=2)

    def next_state(self, state, reward):
        return reward

    def leave_probability(self, state, reward, arm):
        return self.q


def test_a_policy_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, sj.policies.POLICIES, "LastArm", f"{__name__}:LastArm")
    assert list(sj.policies.POLICIES)[-1] == "LastArm"
    assert find_policy("last arm", sj.paper.SETTINGS["A"]) == LastArm()
    settings = Settings(policy=LastArm())
    assert Settings.from_json(settings.to_json()) == settings


def test_a_user_model_of_another_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, sj.users.USERS, "fickle", f"{__name__}:Fickle")
    problem = sj.Problem([0.7, 0.4], Fickle(0.5))
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem_files.to_dict(problem)))
    assert problem_files.load(path) == problem
    with pytest.raises(ValueError, match=r"user\.q is missing: a fickle user has model, q, start"):
        problem_files.from_dict({"means": [0.7, 0.4], "user": {"model": "fickle"}})
    settings = Settings(user=Fickle(0.25, start=0))
    assert Settings.from_json(settings.to_json()) == settings


def test_without_the_package_its_name_is_not_known() -> None:
    with pytest.raises(ValueError, match="policy 'LastArm' is not known: it must be one of UCB, "):
        find_policy("LastArm", sj.paper.SETTINGS["A"])
    with pytest.raises(ValueError, match=r"user\.model = 'fickle' is not allowed: it must be"):
        problem_files.from_dict({"means": [0.7, 0.4], "user": {"model": "fickle", "q": 0.5}})


def test_an_entry_that_fails_is_warned_about_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, sj.policies.POLICIES, "Broken", "no_such_package:Broken")
    with pytest.warns(RegistryWarning, match="policy 'Broken' of another package cannot be used"):
        assert "Broken" not in list(sj.policies.POLICIES)
    assert next(iter(sj.policies.POLICIES.values())) is sj.policies.UCB


def test_ours_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, sj.policies.POLICIES, "UCB", f"{__name__}:LastArm")
    assert sj.policies.POLICIES["UCB"] is sj.policies.UCB
    assert len(sj.policies.POLICIES) == len(sj.policies.ALL)


@pytest.mark.parametrize("name", ["KL-ULCB", "klulcb", "KLULCB", "kl ulcb"])
def test_names_are_found_however_they_are_spelled(name: str) -> None:
    assert sj.policies.POLICIES[name] is sj.policies.KLULCB
    assert name in sj.policies.POLICIES


def test_what_is_missing_is_a_key_error_or_one_sentence() -> None:
    registry: Registry[int] = Registry("number", "no.such.group", {"one": 1})
    with pytest.raises(KeyError):
        registry["two"]
    with pytest.raises(ValueError, match="number 'two' is not known: it must be one of one"):
        registry.find("number", "two")


@pytest.mark.parametrize("cls", sj.policies.ALL, ids=lambda cls: cls.__name__)
def test_every_policy_is_typed_as_it_is_printed(cls: type[sj.Policy]) -> None:
    problem = sj.paper.SETTINGS["B"]
    policy = cls.for_problem(problem)
    assert sj.policies.POLICIES[cls.title or cls.__name__] is cls
    label = label_of(policy, cls.for_problem(problem))
    assert find_policy(label, problem) == policy
