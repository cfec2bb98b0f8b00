"""`sojourn limit`: text, JSON, policies, and one sentence a mistake."""

import pytest
from commands import Outcome, Run

import sojourn as sj
from sojourn.simulation import over_prior

B = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
SMALL = ("--visits", "2", "--pulls", "20")


def test_it_prints_the_bracket(run: Run) -> None:
    best = sj.theory.bayes_optimum(B, visits=2, pulls=40)
    for whose in (
        ("B",),
        ("--q", ".8,.2,.2,.1"),
        ("--user", "two-state: q00=.8 q01=.2 q10=.2 q11=.1"),
    ):
        assert run("limit", *whose, "--visits", "2", "--pulls", "40") == Outcome(0, f"{best}\n", "")


def test_it_compares_policies(run: Run) -> None:
    best = sj.theory.bayes_optimum(B, prior=[(1, 2), (2, 1)], visits=2, pulls=20, plan=True)
    found = over_prior(best, [sj.policies.Uniform(), sj.policies.FixedArm(1)], runs=50, seed=3)
    words = ("--prior", "1,2 2,1", "-p", "Uniform", "-p", "FixedArm:arm=1", "--runs", "50")
    data = run("limit", "B", *SMALL, *words, "--seed", "3", "--json").json
    assert {key: data[key] for key in found.to_dict()} == found.to_dict()
    assert data["memory"] == sj.theory.bayes_memory(B, prior=[(1, 2), (2, 1)], pulls=20, plan=True)
    outcome = run("limit", "B", *SMALL, *words, "--seed", "3")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{found.multiple(0)}" in outcome.out and "Fixed arm, arm=1" in outcome.out


def test_who_has_to_know_visits_and_prior_is_told(run: Run) -> None:
    words = ("--prior", "1,3", "-p", "ExactIndex:pulls=10", "--runs", "20")
    best = sj.theory.bayes_optimum(B, prior=(1, 3), visits=2, pulls=20, plan=True)
    exact = sj.policies.ExactIndex(B, visits=2, prior=(1, 3), pulls=10)
    found = over_prior(best, [exact], runs=20)
    data = run("limit", "B", *SMALL, *words, "--json").json
    assert data["policies"] == found.to_dict()["policies"]


def test_wide_brackets_and_many_arms_have_another_bound(run: Run) -> None:
    bound = sj.theory.bayes_lower_bound(B, visits=300)
    assert (
        f"at least {bound.regret:.6g}" in run("limit", "B", "--visits", "300", "--pulls", "9").out
    )
    many = sj.theory.bayes_lower_bound(B, arms=9, visits=20, pulls=30)
    words = ("limit", "B", "--arms", "9", "--visits", "20", "--pulls", "30")
    assert run(*words, "--json").json["lower_bound"] == many.regret
    assert f"below {many.regret:.6g}" in run(*words).out


def test_a_wide_bracket_is_all_there_is_where_the_best_arm_is_wrong(run: Run) -> None:
    outcome = run("limit", "--q", ".1,.05,.1,.6", "--visits", "20", "--pulls", "6")
    assert (outcome.code, outcome.err) == (0, "") and "it is at least" not in outcome.out


def test_ctrl_c(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sj.theory, "bayes_optimum", stop)
    assert run("limit", "B") == Outcome(130, "", "note: stopped before the end\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "give a user: --q or --user"),
        ("B --q 1,0,0,0", "give either the problem 'B' or options that describe a user, not both"),
        ("B --prior 1", "--prior 1 is not allowed: it must be two numbers such as 1,1"),
        ("A", "unless b is above 2"),
        ("ema-100", "it must have finitely many states"),
        ("B --pulls 5000", "it takes 667 GB of memory"),
        ("B --arms 9 -p UCB", "--policy needs two or three arms"),
        ("B -p Nobody", "policy 'Nobody' is not known"),
        ("B --visits 0", "visits = 0.0 is not allowed"),
        ("B --pulls 5 -p UCB --runs 1", "runs = 1 is not allowed"),
    ],
)
def test_mistakes(run: Run, words: str, message: str) -> None:
    outcome = run("limit", *words.split())
    assert outcome.code == 2 and message in outcome.err
    assert outcome.out == "" and outcome.err.count("\n") == 1
