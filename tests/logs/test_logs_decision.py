"""Decisions: draws with the right moments, intervals that cover the truth, page and command."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sojourn as sj
from sojourn.cli.main import main
from sojourn.logs import Decision, Fit, decide, write_report
from sojourn.logs.deciding.decision import MOST_STEPS
from sojourn.logs.deciding.draws import _parameters, draw_problems
from sojourn.logs.deciding.outcomes import Seen, over_draws
from sojourn.logs.reporting.page import to_html
from sojourn.logs.synthetic import synthetic_log

TRUTH = sj.Problem([0.75, 0.55, 0.35], sj.TwoState(q00=0.5, q01=0.2, q10=0.3, q11=0.1))
VISITS = 100
TOTALS = {"n": [[470, 355], [789, 3488]], "k": [[163, 28], [425, 220]], "means": [0.794, 0.178]}
IMPROPER = {
    "n": [[12541, 18353], [12911, 56757]],
    "k": [[1668, 311], [1374, 24749]],
    "means": [0.9046, 0.45],
}


def log_odds(p: np.ndarray) -> np.ndarray:
    return np.log(p / (1.0 - p))


def fitted(seed: int, visits: int = 1_500) -> Fit:
    log = synthetic_log(TRUTH, sj.Uniform(), visits=visits, users=visits // 3, seed=seed)
    found = sj.fit(log, visit="visit", user="user", arm="arm", reward="reward", ema=False)
    # The truth has no first step of its own; so this is the same user, in kernels shared with
    # other tests.
    kept = np.array([0, 0, 1, 1, 1, 1])
    return replace(found, n=found.n * kept, k=found.k * kept)


@pytest.fixture(scope="module")
def fit() -> Fit:
    return fitted(1)


@pytest.fixture(scope="module")
def decision(fit: Fit) -> Decision:
    return decide(fit, VISITS, draws=8, runs=4)


def test_draws_have_the_moments_of_the_fit() -> None:
    log = synthetic_log(TRUTH, sj.Uniform(), visits=600, users=60, seed=3, spread=0.8)
    found = sj.fit(log, visit="visit", user="user", arm="arm", reward="reward", ema=False)
    number = 40_000
    q, means = _parameters(found, number, np.random.default_rng(1))
    best = int(np.argmax(found.means))
    drawn = log_odds(np.column_stack([q, means[:, best]]))
    estimate = np.array([*found.q, found.means[best]])
    expected = found.covariance / np.outer(estimate * (1 - estimate), estimate * (1 - estimate))
    sizes = np.diag(expected)
    error = np.sqrt((np.outer(sizes, sizes) + expected**2) / number)
    assert (np.abs(np.cov(drawn.T) - expected) < 4.5 * error).all()
    assert (np.abs(expected - np.diag(sizes)) > 4.5 * error).any(), "there is something to see"
    assert (np.abs(drawn.mean(axis=0) - log_odds(estimate)) < 4.5 * np.sqrt(sizes / number)).all()
    for i, arm in enumerate(found.arms):
        share = np.mean((means[:, i] > arm.mean.low) & (means[:, i] < arm.mean.high))
        assert abs(share - 0.95) < 4.5 * np.sqrt(0.95 * 0.05 / number), arm.name


def test_draws_at_the_edges_stay_inside() -> None:
    totals = {**TOTALS, "k": [[470, 0], [425, 220]]}
    problems = draw_problems(Fit.from_counts(**totals), 2_000)
    q00, q01 = (np.array([getattr(p.user, c) for p in problems]) for c in ("q00", "q01"))
    assert ((q00 < 1.0) & (q01 > 0.0)).all()
    mean = 0.5 / 356.0
    assert abs(q01.mean() - mean) < 4.5 * np.sqrt(mean * (1 - mean) / 357.0 / 2_000)
    assert {p.means for p in problems} == {(0.794, 0.178)}, "taken for known"


def test_draws_of_a_moving_average_fall() -> None:
    log = synthetic_log(TRUTH, sj.Uniform(), visits=400, seed=2)
    found = sj.fit(log, visit="visit", user="user", arm="arm", reward="reward")
    problems = draw_problems(found, 3, model="ema", arms=2)
    curves = [p.user.user.leave.q for p in problems]
    assert len(set(curves)) == 3
    assert all((np.diff(curve) <= 0.0).all() for curve in curves)
    assert len({p.user._numba_type_ for p in problems}) == 1, "one kernel for all"


def test_spread_is_without_the_noise_of_runs() -> None:
    rng = np.random.default_rng(1)
    size, noise = 20_000, 3.0
    exact = rng.normal(1.0, 1.0, size)
    seen = over_draws(exact + rng.normal(0.0, noise, size), noise**2)
    # The variance that is left is a difference of two estimates.
    error = 4.5 * np.sqrt(2.0 / size) * (1.0 + noise**2) * 1.96
    assert seen.high - 1.0 == pytest.approx(1.96, abs=error)
    assert over_draws(exact, 0.0).high - 1.0 == pytest.approx(1.96, abs=error)
    assert over_draws(np.array([0.0, 0.0])) == (0.0, 0.0, 0.0)


def test_one_odd_draw_among_noise_decides_nothing() -> None:
    values = np.array([0.0] * 31 + [-32.0])
    seen = over_draws(values, noise=float(np.var(values, ddof=1)))
    error = np.std(values, ddof=1) / np.sqrt(32)
    assert seen == pytest.approx((-1.0, -1.0 - 1.96 * error, -1.0 + 1.96 * error), rel=1e-4)


def test_length_is_that_of_counted_steps() -> None:
    policies = [sj.KLUCB(), sj.Uniform()]
    result = sj.simulate(TRUTH, policies, visits=50, runs=4_000, checkpoints=[50])
    seen = Seen(["KL-UCB", "Uniform"], 50, [], [], [], [], [])
    seen.add(TRUTH, result)
    seen.add(TRUTH, result)
    for p, name in enumerate(seen.names):
        outcome = seen.outcome(name, policies[p])
        for found, counted in (
            (outcome.length, result.visit_length),
            (outcome.reward, result.visit_reward),
        ):
            error = counted.std_error[p, -1]
            assert found.value == pytest.approx(counted.mean[p, -1], abs=4.5 * error)


def test_intervals_cover_the_true_gain() -> None:
    policies = [sj.KLUCB(), sj.LearnedIMED(), sj.KLULCB()]
    result = sj.simulate(TRUTH, policies, visits=VISITS, runs=8_000, checkpoints=[VISITS])
    truth = {
        name: (result.difference(0, p).mean[-1] / VISITS, result.difference(0, p).std_error[-1])
        for p, name in ((1, "Learned IMED"), (2, "KL-ULCB"))
    }
    logs, covered = 16, dict.fromkeys(truth, 0)
    for seed in range(logs):
        made = decide(fitted(seed, visits=300), VISITS, runs=64, seed=seed)
        for outcome in made.outcomes:
            if outcome.name in truth:
                gain = outcome.gain
                covered[outcome.name] += gain.low <= truth[outcome.name][0] <= gain.high
    for name, hits in covered.items():
        assert abs(hits - 0.95 * logs) < 4.5 * np.sqrt(logs * 0.95 * 0.05), (name, hits)


def test_what_is_said(decision: Decision, fit: Fit) -> None:
    assert decision.name == "Learned IMED"
    assert decision.policy == sj.LearnedIMED()
    assert sum(decision.cases.values()) == decision.draws == 8
    base, *others = decision.outcomes
    assert base.gain == base.longer == (0.0, 0.0, 0.0)
    for outcome in others:
        assert outcome.gain.low <= outcome.gain.value <= outcome.gain.high
        assert outcome.gain.value == pytest.approx(outcome.reward.value - base.reward.value)
        assert outcome.longer.value == pytest.approx(outcome.length.value - base.length.value)
    text = str(decision)
    assert text.startswith("decision: Run Learned IMED. Expect ")
    assert "* Learned IMED" in text and max(map(len, text.splitlines())) <= 100
    plain = json.loads(json.dumps(decision.to_dict()))
    assert [o["policy"]["label"] for o in plain["outcomes"]] == [o.name for o in decision.outcomes]
    assert decide(fit, VISITS, draws=8, runs=4).to_dict() == decision.to_dict()


def test_the_own_number_of_visits_and_arms(fit: Fit) -> None:
    shares: list[float] = []
    made = decide(fit, 30, arms=5, draws=4, runs=2, progress=shares.append)
    assert (made.visits, made.arms) == (30, 5)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_very_many_visits_are_cut(fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.logs.deciding.decision.MOST_STEPS", MOST_STEPS // 1_000)
    made = decide(fit, 10**9, draws=4, runs=2)
    assert made.visits < 1_000 < made.asked == 10**9
    assert f"the first {made.visits:,} of 1,000,000,000 visits" in " ".join(str(made).split())


def test_an_improper_reward_is_mended_first() -> None:
    made = decide(Fit.from_counts(**IMPROPER), 100, draws=4)
    assert made.policy is None and made.name is None and made.outcomes == ()
    assert str(made).startswith("decision: Run none of these policies before the reward is mended")
    page = to_html(Fit.from_counts(**IMPROPER), made)
    assert page.count("<svg") == 2
    assert "Warning: improper" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"visits": 0}, "visits = 0 is not allowed: it must be a whole number of at least 1"),
        ({}, "visits = None is not allowed: these totals do not say how many visits"),
        ({"visits": 9, "draws": 3}, "draws = 3 is not allowed: it must be a whole number from 4"),
        ({"visits": 9, "runs": 1}, "runs = 1 is not allowed: it must be a whole number from 2"),
        ({"visits": 9, "arms": 1}, "arms = 1 is not allowed: it must be a whole number from 2"),
        ({"visits": 9, "seed": -1}, "seed = -1 is not allowed: it must be a whole number from 0"),
        ({"visits": 9, "model": "x"}, "model = 'x' is not allowed: it must be one of two-state"),
        ({"visits": 9, "model": "ema"}, "model = 'ema' is not allowed: no moving average"),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        decide(Fit.from_counts(**TOTALS), **options)
    with pytest.raises(ValueError, match="it must be a Fit"):
        decide("fit")


class Page(HTMLParser):
    """Checks that tags are closed, and keeps what the page refers to."""

    EMPTY = ("meta", "path", "use", "br", "rect")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.labels: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert not {"src", "srcset", "action"} & set(found), tag
        assert tag not in ("script", "link", "iframe", "img", "b")
        for key in ("href", "xlink:href"):
            assert (found.get(key) or "#").startswith("#"), found
        if tag == "svg":
            self.labels.append(found.get("aria-label") or "")
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone(decision: Decision, fit: Fit, tmp_path: Path) -> None:
    nasty = replace(fit, reading=replace(fit.reading, name="<b>&log"))
    path = write_report(nasty, decision, tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert len(page.labels) == 5 and all(page.labels)
    assert len(set(page.ids)) == len(page.ids)
    assert "<b>&log: do users leave" in page.text
    assert decision.verdict in page.text
    assert "prefers-color-scheme: dark" in text and "@media print" in text
    assert not re.search(r"url\(http|@import", text)
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.S))
    assert not re.search(r"#[0-9a-f]{6}\b|: (black|white)", drawn), "in the colours of the page"
    assert drawn.count("<text") == len(re.findall(r"<text[^>]*currentColor", drawn))
    assert to_html(nasty, decision) == text


def test_where_no_page_can_be(fit: Fit, decision: Decision, tmp_path: Path) -> None:
    for path in (tmp_path / "page.txt", tmp_path / "none" / "page.html"):
        with pytest.raises(ValueError, match="it must be a file in a folder that exists"):
            write_report(fit, decision, path)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = synthetic_log(TRUTH, sj.Uniform(), visits=400, users=100, seed=1)
    path = tmp_path_factory.mktemp("logs") / "events.csv"
    pd.DataFrame(made)[["user", "visit", "step", "arm", "reward"]].to_csv(path, index=False)
    return path


def test_the_command(events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["fit", str(events), "--visits", "20", "--report", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "\ndecision: Run " in shown
    assert len(Page(page.read_text(encoding="utf-8")).labels) == 6
    assert main(["fit", str(events), "--decide", "--visits", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["decision"]["visits"] == 20
    assert found["decision"]["verdict"] in " ".join(shown.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--visits", "0"], "--visits = 0 is not allowed"),
        (["--report", "page.pdf"], "report page.pdf is not allowed"),
    ],
)
def test_mistakes_of_the_command(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "nowhere.csv", *options]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert message in told.err
