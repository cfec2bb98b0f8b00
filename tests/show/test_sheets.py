"""What values show in a notebook: what they print, as HTML, with nothing that is not escaped."""

import re
from html import unescape

import pandas
import pytest

import sojourn as sj
from sojourn.logs.deciding.advice import Advice
from sojourn.show.tables import STYLE, Shown, Table, html, text


def words(shown: str) -> list[str]:
    """The words of a page, in order; its tags must be few and well formed."""
    body = shown.removeprefix(STYLE)
    tags = re.findall(r"<[^>]*>", body)
    assert all(re.fullmatch(r"</?(div|p|table|thead|tbody|tr|th|td|br)\b[^<>]*>", t) for t in tags)
    assert len([t for t in tags if t.startswith("</")]) == len(
        [t for t in tags if not t.startswith(("</", "<br"))]
    )
    return unescape(re.sub(r"<[^>]*>", " ", body)).split()


@pytest.fixture(scope="module")
def fit() -> sj.Fit:
    """Of a log whose items have names that a page must not take for tags."""
    log = sj.logs.synthetic_log("C", "Uniform", visits=200)
    columns = {name: log[name] for name in ("visit", "reward")}
    frame = pandas.DataFrame({**columns, "arm": ["<b>" if arm else "x" for arm in log["arm"]]})
    return sj.fit(frame, ema=False)


def values(fit: sj.Fit) -> list[Shown]:
    return [
        sj.simulate("B", ["UCB", "Uniform"], visits=20, runs=2),
        sj.recommend("B", visits=20, precision="50%", max_runs=8),
        sj.theory.summary("opposite"),
        sj.theory.bayes_optimum(sj.TwoState(0.8, 0.2, 0.2, 0.1), visits=2, pulls=10),
        sj.logs.evaluate(sj.logs.synthetic_log("C", "Uniform", visits=500), sj.policies.Uniform()),
        fit,
    ]


def test_notebooks_show_what_is_printed(fit: sj.Fit) -> None:
    for value in values(fit):
        assert words(value._repr_html_()) == str(value).split(), type(value)


def test_names_of_items_are_escaped(fit: sj.Fit) -> None:
    assert "<b>" in str(fit)
    assert "&lt;b&gt;" in fit._repr_html_() and "<b>" not in fit._repr_html_()


def test_advice_is_shown_too() -> None:
    assert issubclass(Advice, Shown)


@pytest.mark.parametrize(
    ("problem", "row"),
    [
        (sj.paper.SETTINGS["A"], "1 0.8 10 1"),
        (sj.paper.SETTINGS["ema-100"], "1 0.8 2.754 1.48 1.219 1.085 1"),
        (
            sj.Problem(
                rewards=[sj.rewards.Beta(3, 2), 0.5],
                user=sj.users.Levels(sj.TwoState(1, 0, 0, 0), thresholds=[0.5]),
            ),
            "1 Bernoulli(mean=0.5)",
        ),
    ],
)
def test_problems_show_what_a_pull_costs(problem: sj.Problem, row: str) -> None:
    shown = words(problem._repr_html_())
    assert f" {row} " in f" {' '.join(shown)} "
    assert f"{problem.length.mean:.4g} steps" in " ".join(shown)


def test_numbers_are_aligned_and_blank_lines_left_out() -> None:
    parts = ["a & b", "", Table(["arm", "mean"], [["0", "0.9"]])]
    assert text(parts) == "a & b\n\narm  mean\n0     0.9"
    shown = html(parts)
    assert shown.count("<p>") == 1 and "<p>a &amp; b</p>" in shown
    assert '<td class="number">0.9</td>' in shown
