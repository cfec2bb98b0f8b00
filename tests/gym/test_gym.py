"""Gymnasium environments against the exact theory, and agents against naive ones and each other."""

import importlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from math import sqrt
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import naive
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from mabwiser.mab import MAB, LearningPolicy
from numpy.typing import NDArray
from river import bandit, proba
from small import refused

import sojourn as sj
from sojourn import gym
from sojourn.engine.streams import policy_stream
from sojourn.policies import Counts

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        return importlib.import_module(name)


A, B, EMA = (sj.paper.SETTINGS[name] for name in ("A", "B", "ema-1000"))
ANYWHERE = sj.Problem(
    [0.3, 0.6, 0.5], sj.TwoState(q00=0.5, q01=0.1, q10=0.2, q11=0.05, start={0: 0.3, 1: 0.7})
)
SHY = sj.Problem([0.9, 0.8], sj.users.StaysFirst(B.user))
IMPATIENT = sj.Problem([0.7, 0.6], example("own_user").Impatient(bored=0.02, step=0.2))
BY_ARM = sj.Problem([0.8, 0.6], sj.ByArm.odds(B.user, [2, 0]))
GRADED = sj.Problem(
    rewards=[sj.rewards.Beta(0.5, 0.5), sj.rewards.Discrete([0.2, 0.7, 1], [0.5, 0.3, 0.2]), 0.4],
    user=sj.users.StaysFirst(
        sj.users.Levels(sj.ByArm.odds(B.user, [-3, -2, -1]), thresholds=[0.6])
    ),
)
IDS = {"sojourn/TwoState-v0": {}, "sojourn/Ema-v0": {}, "sojourn/Visit-v0": {"problem": ANYWHERE}}

registered = pytest.mark.parametrize(("name", "arguments"), IDS.items())
problems = pytest.mark.parametrize(
    "problem", [ANYWHERE, EMA, SHY], ids=["two-state", "ema", "stays-first"]
)
and_graded = pytest.mark.parametrize(
    "problem", [ANYWHERE, EMA, SHY, GRADED], ids=["two-state", "ema", "stays-first", "graded"]
)


def near(sample: NDArray[Any], mean: float) -> None:
    """Within 4.5 standard errors."""
    assert abs(sample.mean() - mean) < 4.5 * sample.std(ddof=1) / sqrt(sample.size)


def check_share(happened: NDArray[Any], chance: float) -> None:
    """How often it happened, within 4.5 standard errors of its chance, or never, or always."""
    error = sqrt(chance * (1.0 - chance) / happened.size)
    assert abs(happened.mean() - chance) <= 4.5 * error


# Environments


def test_importing_sojourn_does_not_import_gymnasium() -> None:
    code = "import sys, sojourn; sys.exit('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_gymnasium_one_sentence_says_so() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import sojourn.gym"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    last = run.stderr.strip().splitlines()[-1]
    assert last == (
        "sojourn.extras.MissingExtra: sojourn.gym needs gymnasium: pip install 'sojourn[gym]'"
    )


def test_the_module_registers_itself() -> None:
    code = "import gymnasium; print(gymnasium.make('sojourn.gym:sojourn/TwoState-v0').spec.id)"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert run.stdout.strip() == "sojourn/TwoState-v0", run.stderr


@registered
def test_checker_passes(name: str, arguments: dict[str, Any]) -> None:
    env = gymnasium.make(name, **arguments)
    check_env(env.unwrapped)
    assert env.spec is not None and env.spec.id == name


@pytest.mark.parametrize(
    "problem", [SHY, IMPATIENT, BY_ARM, GRADED], ids=["stays-first", "own", "by-arm", "graded"]
)
def test_checker_passes_for_any_user(problem: sj.Problem) -> None:
    check_env(gym.make(problem, max_episode_steps=5).unwrapped)


def test_registered_problems() -> None:
    for name, problem in (("sojourn/TwoState-v0", A), ("sojourn/Ema-v0", EMA)):
        assert gymnasium.make(name).unwrapped.problem == problem
    spec = gymnasium.spec("sojourn/TwoState-v0")
    assert gymnasium.make(type(spec).from_json(spec.to_json())).unwrapped.problem == A

    chosen = gymnasium.make(
        "sojourn/TwoState-v0", means=[0.3, 0.6, 0.5], q00=0.5, q01=0.1, q10=0.2, q11=0.05,
        start={0: 0.3, 1: 0.7},
    )  # fmt: skip
    assert chosen.unwrapped.problem == ANYWHERE
    low = gymnasium.make_vec("sojourn/Ema-v0", 2, means=[0.2, 0.1], c6=100, start=0.5)
    assert low.unwrapped.problem.means == (0.2, 0.1)
    assert low.unwrapped.problem.user == sj.Ema(
        theta=0.5, leave=sj.users.LogLeave(c6=100), start=0.5
    )


def test_rewards_odds_and_thresholds_by_name() -> None:
    q = dict(zip(("q00", "q01", "q10", "q11"), (0.8, 0.2, 0.2, 0.1), strict=True))
    by_arm = gymnasium.make("sojourn/TwoState-v0", means=[0.8, 0.6], odds=[2, 0], **q)
    assert by_arm.unwrapped.problem == BY_ARM
    rewards: list[Any] = [{"beta": [0.5, 0.5]}, GRADED.rewards[1], 0.4]
    made = {"rewards": rewards, "odds": [-3, -2, -1], "thresholds": [0.6], **q}
    graded = gymnasium.make("sojourn/TwoState-v0", **made)
    assert sj.users.StaysFirst(graded.unwrapped.problem.user) == GRADED.user
    assert graded.unwrapped.problem.rewards == GRADED.rewards


def test_graded_visits_earn_what_they_are_worth() -> None:
    """In plain Python, with the arm that is best in each state."""
    env, total = gym.VisitEnv(GRADED), []
    env.reset(seed=4)
    for _ in range(1_000):
        total.append(0.0)
        left = False
        while not left:
            _, reward, left, _, info = env.step(GRADED.rule(env._state))
            assert info["gap"] == 0.0
            total[-1] += reward
        env.reset()
    near(np.array(total), GRADED.value())


def test_spaces() -> None:
    impatient = gym.VisitEnv(IMPATIENT)
    number = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float64)
    assert gym.VisitEnv(ANYWHERE).observation_space == gymnasium.spaces.Discrete(2)
    assert gym.VisitEnv(SHY).observation_space == gymnasium.spaces.Discrete(2)
    assert gym.VisitEnv(EMA).observation_space == impatient.observation_space == number
    assert impatient.reset(seed=1)[0] == [1.0]  # the experience, not the state
    assert gym.VisitEnv(ANYWHERE).action_space == gymnasium.spaces.Discrete(3)


@pytest.mark.parametrize(
    "problem",
    [ANYWHERE, EMA, SHY, BY_ARM, GRADED],
    ids=["two-state", "ema", "stays-first", "by-arm", "graded"],
)
def test_steps_are_the_model(problem: sj.Problem) -> None:
    """Seen, rewarded, left and lost as the problem's own tables have it, state by state."""
    env, user = gym.VisitEnv(problem), problem.user
    rng = np.random.default_rng(1)
    env.reset(seed=3)
    for _ in range(300):
        before, arm = env._state, int(rng.integers(problem.arms))
        seen, reward, left, cut, info = env.step(arm)
        assert float(np.asarray(seen).item()) == user.experience(user.next_state(before, reward))
        assert info["gap"] == pytest.approx(problem.gap(before, arm), abs=1e-12)
        assert not cut and (0.0 <= reward <= 1.0 if problem.graded else reward in (0.0, 1.0))
        if left:
            assert user.leave_probability(before, reward, arm) > 0.0
            env.reset()


@problems
def test_one_step_has_the_right_chances(problem: sj.Problem) -> None:
    """Chance of each (reward, left) at the first step, from the model's own probabilities."""
    visits, arm = 10_000, 1
    envs = gym.VisitsEnv(problem, visits)
    envs.reset(seed=0)
    states = envs._states
    starts = dict(zip(problem.values.first_states, problem.user.start.chances, strict=True))
    _, rewards, left, _, _ = envs.step(np.full(visits, arm))
    for state in set(states.tolist()):
        here = states == state
        check_share(here, starts[state])
        for reward, chance in ((0.0, 1 - problem.means[arm]), (1.0, problem.means[arm])):
            leave = problem.user.leave_probability(state, reward, 0)
            check_share((left & (rewards == reward))[here], chance * leave)
            check_share((~left & (rewards == reward))[here], chance * (1.0 - leave))


def whole_visits(problem: sj.Problem, arm: int, visits: int) -> NDArray[np.float64]:
    """Length, reward and summed gaps of the first visit of each of many environments."""
    envs = gym.VisitsEnv(problem, visits)
    envs.reset(seed=1)
    totals, here = np.zeros((3, visits)), np.ones(visits, bool)
    while here.any():
        _, rewards, left, _, info = envs.step(np.full(visits, arm))
        totals[:, here] += np.stack([np.ones(visits), rewards, info["gap"]])[:, here]
        here &= ~left
    return totals


@pytest.mark.parametrize("problem", [A, ANYWHERE, EMA], ids=["A", "two-state", "ema"])
def test_length_and_reward_of_a_visit(problem: sj.Problem) -> None:
    length, reward, lost = whole_visits(problem, problem.best_arm, 4_000)
    for sample, exact in ((length, problem.length), (reward, problem.reward)):
        near(sample, exact.mean)
        near(sample**2, exact.variance + exact.mean**2)
    assert lost.max() == 0.0


def test_length_and_reward_of_a_single_visit() -> None:
    played = gym.play(gym.VisitEnv(B), sj.policies.FixedArm(arm=0), visits=400, seed=2)
    near(played.steps, B.length.mean)
    near(played.reward, B.reward.mean)


@pytest.mark.parametrize("problem", [B, EMA], ids=["B", "ema"])
def test_gaps_add_up_to_regret(problem: sj.Problem) -> None:
    """Always the worse arm: V* is lost but for what that arm is worth by itself."""
    _, reward, lost = whole_visits(problem, 1, 4_000)
    exact = problem.value() - sj.Problem([problem.means[1]] * 2, problem.user).value()
    near(lost, exact)
    near(problem.value() - reward, exact)


@pytest.mark.parametrize(
    "policy", [sj.policies.FixedArm(arm=1), sj.policies.ULCB()], ids=lambda p: type(p).__name__
)
def test_agents_lose_as_much_as_in_the_simulator(policy: Any) -> None:
    runs, visits = 60, 40
    played = gym.play_many(gym.VisitsEnv(B, runs), [policy] * runs, visits, seed=5)
    lost, reward = played.regret.sum(axis=1), played.reward.sum(axis=1)
    simulated = sj.simulate(B, [policy], visits=visits, runs=1000, seed=6).regret
    error = sqrt(simulated.std_error[0, -1] ** 2 + lost.var(ddof=1) / runs)
    assert abs(lost.mean() - simulated.mean[0, -1]) < 4.5 * error
    assert lost.std() < reward.std()


# Many visits side by side


@and_graded
def test_vector_is_many_single_ones(problem: sj.Problem) -> None:
    """Draw for draw those of SyncVectorEnv, beginnings and ends included, over many blocks."""
    count = 3
    singles = SyncVectorEnv([lambda: gym.make(problem, max_episode_steps=20)] * count)
    envs = gym.make_vec(problem, num_envs=count, max_episode_steps=20)
    assert isinstance(envs, gym.VisitsEnv)
    assert envs.observation_space == singles.observation_space
    assert envs.action_space == singles.action_space
    assert envs.metadata == {**singles.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}

    rng = np.random.default_rng(0)
    ends = cuts = 0
    for seed in (7, None, [5, 1, 5]):
        one, other = envs.reset(seed=seed), singles.reset(seed=seed)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == other[1] == {}
        assert one[0].dtype == other[0].dtype
        if seed is not None:
            assert envs.np_random_seed == singles.np_random_seed
        for _ in range(200):
            actions = rng.integers(problem.arms, size=count)
            *one, info = envs.step(actions)
            *other, expected = singles.step(actions)
            for mine, theirs in zip(one, other, strict=True):
                np.testing.assert_array_equal(mine, theirs, strict=True)
            np.testing.assert_array_equal(info["_gap"], expected.get("_gap", [False] * count))
            np.testing.assert_allclose(info["gap"], expected.get("gap", np.zeros(count)), 1e-12)
            ends, cuts = ends + one[2].sum(), cuts + one[3].sum()
    assert ends > 20 and cuts > 0
    singles.close()


def test_next_step_begins_another_visit() -> None:
    """After an end the action is ignored, nothing is earned, and the state is a first one."""
    envs = gym.VisitsEnv(sj.Problem([0.5, 0.0], sj.TwoState(1, 1, 1, 1)), 2)
    envs.reset(seed=0)
    *_, left, _, info = envs.step(np.array([0, 1]))
    assert left.all() and info["_gap"].all()
    seen, rewards, left, cut, info = envs.step(np.array([1, 0]))
    assert seen.tolist() == [1, 1] and not rewards.any()
    assert not left.any() and not cut.any() and not info["_gap"].any()
    assert envs.step(np.array([0, 1]))[2].all()


def test_returned_arrays_are_not_used_again() -> None:
    envs = gym.VisitsEnv(EMA, 4)
    first, _ = envs.reset(seed=1)
    kept = [envs.step(np.zeros(4, int)) for _ in range(3)]
    copies = deepcopy((first, kept))
    for _ in range(200):
        envs.step(np.zeros(4, int))
    for one, other in zip((first, *kept), (copies[0], *copies[1]), strict=True):
        assert repr(one) == repr(other)


def test_environments_can_be_copied_and_pickled() -> None:
    for env in (gym.VisitEnv(SHY), gym.VisitsEnv(ANYWHERE, 2)):
        env.reset(seed=1)
        action = env.action_space.sample()
        twins = [deepcopy(env), pickle.loads(pickle.dumps(env))]
        expected = repr(env.step(action))
        assert [repr(twin.step(action)) for twin in twins] == [expected] * 2


def test_truncation() -> None:
    forever = sj.Problem([1.0, 0.0], sj.TwoState(q00=1, q01=0, q10=1, q11=1e-9))
    for env in (gym.VisitEnv(forever, max_episode_steps=3), gym.make(forever, max_episode_steps=3)):
        env.reset(seed=0)
        assert [env.step(0)[2:4] for _ in range(3)] == [(False, False)] * 2 + [(False, True)]
        env.reset()
        assert env.step(1)[2:4] == (True, False)


# What they refuse


def test_bad_input() -> None:
    assert refused(lambda: gym.make("E")).startswith("problem 'E' is not known")
    assert refused(lambda: gym.VisitsEnv(None)).startswith("problem = None is not allowed")
    assert refused(lambda: gym.VisitEnv(B, max_episode_steps=0)) == (
        "max_episode_steps = 0 is not allowed: it must be a whole number of at least 1"
    )
    assert refused(lambda: gym.VisitsEnv(B, 0)).startswith("num_envs = 0 is not allowed")
    assert refused(lambda: gymnasium.make("sojourn/TwoState-v0", rewards=[0.5, "x"])) == (
        "rewards[1] = 'x' is not allowed: give a mean, or beta = [a, b], or values with chances, "
        "or a sample, or a list of means by state"
    )
    assert refused(lambda: gymnasium.make("sojourn/TwoState-v0", odds=[1])).endswith(
        "the number of its arms is 1, and there are 2"
    )
    assert refused(lambda: gymnasium.make("sojourn/TwoState-v0", q00=2)) == (
        "q00 = 2 is not allowed: it must be a number from 0 to 1"
    )

    env, envs = gym.VisitEnv(B), gym.VisitsEnv(B, 2)
    for both in (env, envs):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before step\(\)"):
            both.step(0)
        options = refused(lambda both=both: both.reset(options={"reset_mask": np.ones(2, bool)}))
        assert options.endswith("is not allowed: a visit has none")
    for action in (2, -1, 0.5, "0", None):
        env.reset()
        assert refused(lambda action=action: env.step(action)) == (
            f"action = {action!r} is not allowed: it must be a whole number from 0 to 1"
        )
    for actions in ([0, 2], [0], 0, [0.5, 0], None):
        envs.reset()
        assert refused(lambda actions=actions: envs.step(actions)) == (
            f"actions = {actions!r} is not allowed: give 2 whole numbers from 0 to 1"
        )
    assert refused(lambda: envs.reset(seed=-1)).startswith("seed = -1 is not allowed")
    assert refused(lambda: envs.reset(seed=[1])) == (
        "seed = [1] is not allowed: give one number, or 2 of them"
    )
    assert refused(lambda: envs.reset(seed=[1, "a"])).startswith("seed[1] = 'a' is not allowed")


def test_a_visit_that_is_over_has_no_next_step() -> None:
    env = gym.VisitEnv(sj.Problem([0.5, 0.4], sj.TwoState(1, 1, 1, 1)))
    env.reset()
    assert env.step(0)[2]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_bad_players() -> None:
    for nobody in ("UCB", None, sj.policies.UCB, bandit.UCB):
        assert refused(lambda nobody=nobody: gym.agent_for(nobody, 2)) == (
            f"policy = {nobody!r} is not allowed: it must be a policy of sojourn, river or mabwiser"
        )
    three = MAB([1, 2, 3], LearningPolicy.Random())
    assert refused(lambda: gym.agent_for(three, 2)) == (
        "policy has 3 arms, but the environment has 2"
    )
    assert refused(lambda: gym.agent_for(sj.policies.FixedArm(arm=2), 2)).startswith(
        "arm = 2 is not"
    )
    assert refused(lambda: gym.play(gym.VisitEnv(B), sj.policies.UCB(), 0)).startswith(
        "visits = 0 is not"
    )
    assert refused(lambda: gym.play(gym.VisitEnv(B), sj.policies.UCB(), 1, seed=-1)).startswith(
        "seed = -1"
    )
    assert refused(lambda: gym.play_many(gym.VisitsEnv(B, 2), [sj.policies.UCB()], 1)) == (
        "there are 2 environments, so give as many players, not 1"
    )
    assert refused(
        lambda: gym.play(gymnasium.make("Pendulum-v1"), sj.policies.UCB(), 1)
    ).startswith("action_space = Box")


# Agents


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes down every step: state, arm, reward, left, next state."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.log: list[tuple[float, int, float, bool, float]] = []

    def reset(self, **options: Any) -> Any:
        seen, info = super().reset(**options)
        self.state = float(np.asarray(seen).item())
        return seen, info

    def step(self, action: int) -> Any:
        seen, reward, left, cut, info = super().step(action)
        before, self.state = self.state, float(np.asarray(seen).item())
        self.log.append((before, action, reward, left, self.state))
        return seen, reward, left, cut, info


class NaiveWorld:
    """An environment of ours, as the naive algorithms want it."""

    def __init__(self, problem: sj.Problem, seed: int) -> None:
        self.env, self.mu, self.user = gym.VisitEnv(problem), problem.means, self
        self.seed: int | None = seed

    def initial_state(self, k: int) -> float:
        seen, _ = self.env.reset(seed=self.seed)
        self.seed = None
        return float(np.asarray(seen).item())

    def play(self, S: float, a: int) -> tuple[int, bool]:
        self.seen, reward, left, *_ = self.env.step(a)
        return int(reward), left

    def moves(self, S: float, R: int) -> float:
        return float(np.asarray(self.seen).item())


@pytest.mark.parametrize(
    ("problem", "policy", "index"),
    [
        (B, sj.policies.ULCB(random_ties=False), naive.ulcb(-1, 1, 0)),
        (B, sj.policies.KLUCB(random_ties=False), naive.kl_ucb(0)),
        (EMA, sj.policies.ContULCB(random_ties=False), naive.cont_ulcb(0)),
    ],
    ids=["ULCB", "KLUCB", "ContULCB"],
)
def test_agents_decide_as_naive_ones(problem: sj.Problem, policy: Any, index: Any) -> None:
    env = Recorder(gym.VisitEnv(problem))
    gym.play(env, policy, visits=25, seed=11)
    expected = naive.run(index, NaiveWorld(problem, 11), 25, naive.first)
    assert [step[:4] for step in env.log] == expected
    assert len({arm for _, arm, *_ in env.log[10:]}) == 2


@pytest.mark.parametrize("kind", sj.policies.ALL, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("problem", [B, EMA], ids=["B", "ema"])
def test_agents_play_every_policy(problem: sj.Problem, kind: Any) -> None:
    """Decisions are those of `choose`, with a memory that `update` keeps."""
    policy = kind.for_problem(problem)
    env = Recorder(gym.VisitEnv(problem, max_episode_steps=30))
    gym.play(env, policy, visits=8, seed=3)
    memory, rng = policy.memory(problem.arms), policy_stream(3, 0)
    for state, arm, reward, left, onward in env.log:
        assert policy.choose(memory, state, rng) == arm
        policy.update(memory, state, arm, reward, left, onward)


def test_playing_is_reproducible_and_the_same_side_by_side() -> None:
    alone = [gym.play(gym.VisitEnv(B), sj.policies.KLULCB(), 10, seed=s) for s in (4, 5, 4)]
    assert repr(alone[0]) == repr(alone[2]) != repr(alone[1])
    singles = SyncVectorEnv([lambda: gym.VisitEnv(B)] * 2)
    for envs in (gym.VisitsEnv(B, 2), singles):
        together = gym.play_many(envs, [sj.policies.KLULCB()] * 2, 10, seed=4)
        for row in range(2):
            for one, many in zip(alone[row], together, strict=True):
                np.testing.assert_allclose(one, many[row], rtol=1e-12)


def test_one_agent_may_serve_all() -> None:
    agent = gym.agent_for(sj.policies.ULCB(), 2)
    played = gym.play_many(gym.VisitsEnv(B, 4), [agent] * 4, 5)
    assert agent.memory.clock[0] == played.steps.sum()
    assert agent.memory.successes.sum() == played.reward.sum()


UNEVEN = sj.Problem([0.55, 0.5, 0.4], sj.TwoState(q00=0.3, q01=0.1, q10=0.2, q11=0.05))


@pytest.mark.parametrize(
    "rival",
    [
        lambda: bandit.UCB(delta=0.5, seed=1),
        lambda: MAB([0, 1, 2], LearningPolicy.UCB1(alpha=0.5)),
        lambda: MAB(["x", "y", "z"], LearningPolicy.UCB1(alpha=0.5)),
    ],
    ids=["river", "mabwiser", "mabwiser, named"],
)
def test_ucb_of_others_is_ours_a_step_behind(rival: Callable[[], Any]) -> None:
    """Their t counts past pulls, ours the step to come; but for ties the decisions are the same."""
    env = Recorder(gym.VisitEnv(UNEVEN))
    gym.play(env, rival(), visits=60, seed=8)
    ucb, rng = sj.policies.UCB(), policy_stream(0, 0)
    memory = ucb.memory(3)
    sure = differs = 0
    for state, arm, reward, left, onward in env.log:
        if memory.pulls.min() > 0.0:
            behind = Counts(memory.pulls, memory.successes, memory.clock - 1.0)
            log_t = np.log(memory.clock[0])
            indices = np.sort(
                [
                    ucb.index(won / n, n, log_t, 0.0, 1.0)
                    for won, n in zip(memory.successes, memory.pulls, strict=True)
                ]
            )
            if indices[-1] - indices[-2] > 1e-9:
                assert ucb.choose(behind, state, rng) == arm
                sure += 1
                differs += arm != int(np.argmax(memory.successes / memory.pulls))
        ucb.update(memory, state, arm, reward, left, onward)
    assert sure > 300 and differs > 100


@pytest.mark.parametrize(
    "rival",
    [
        lambda: bandit.LinUCBDisjoint(alpha=1.0, seed=1),
        lambda: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1),
        lambda: MAB([0, 1, 2], LearningPolicy.LinUCB(alpha=1.0), seed=1),
        lambda: MAB([0, 1, 2], LearningPolicy.ThompsonSampling(), seed=1),
    ],
    ids=["river LinUCB", "river TS", "mabwiser LinUCB", "mabwiser TS"],
)
def test_others_learn(rival: Callable[[], Any]) -> None:
    """After some visits they show a clearly better arm more often than not."""
    clear = sj.Problem([0.2, 0.8, 0.2], sj.TwoState(q00=0.3, q01=0.1, q10=0.2, q11=0.05))
    env = Recorder(gym.VisitEnv(clear))
    gym.play(env, rival(), visits=25, seed=9)
    later = [arm for _, arm, *_ in env.log[len(env.log) // 2 :]]
    assert later.count(1) > 0.6 * len(later)


def test_mabwiser_shows_every_arm_first() -> None:
    env = Recorder(gym.VisitEnv(UNEVEN))
    gym.play(env, MAB([0, 1, 2], LearningPolicy.UCB1(alpha=0.5)), visits=3)
    assert [arm for _, arm, *_ in env.log[:3]] == [0, 1, 2]


def test_example_compares(capsys: pytest.CaptureFixture[str]) -> None:
    regrets = example("compare_libraries").main(visits=20, runs=3)
    printed = capsys.readouterr().out
    assert all(name in printed for name in regrets)
    assert {"sojourn KLULCB", "river UCB", "mabwiser UCB1"} <= set(regrets)
    assert all(np.isfinite(sample).all() and sample.shape == (3,) for sample in regrets.values())
