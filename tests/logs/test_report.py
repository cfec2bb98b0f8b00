"""Reports: an HTML page that stands alone, and the command that writes it."""

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
from sojourn.logs import Advice, Fit, decide, report
from sojourn.logs.report.page import html
from sojourn.logs.synthetic import synthetic_log

TRUTH = sj.Problem([0.75, 0.55, 0.35], sj.TwoState(q00=0.5, q01=0.2, q10=0.3, q11=0.1))
IMPROPER = {
    "n": [[12541, 18353], [12911, 56757]],
    "k": [[1668, 311], [1374, 24749]],
    "means": [0.9046, 0.45],
}


@pytest.fixture(scope="module")
def fit() -> Fit:
    log = synthetic_log(TRUTH, sj.policies.Uniform(), visits=1_500, users=500, seed=1)
    found = sj.fit(log, visit="visit", user="user", arm="arm", reward="reward", ema=False)
    # The two-state user of the truth, without a first step of its own: its kernels are shared
    # with other tests.
    kept = np.array([0, 0, 1, 1, 1, 1])
    return replace(found, n=found.n * kept, k=found.k * kept)


@pytest.fixture(scope="module")
def advice(fit: Fit) -> Advice:
    return decide(fit, 100, runs=4)


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


def test_the_page_stands_alone(advice: Advice, fit: Fit, tmp_path: Path) -> None:
    nasty = replace(fit, reading=replace(fit.reading, name="<b>&log"))
    path = report.page(nasty, advice, tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert len(page.labels) == 6 and all(page.labels)
    assert len(set(page.ids)) == len(page.ids)
    assert "<b>&log: do users leave" in page.text
    assert advice.verdict in page.text
    assert "prefers-color-scheme: dark" in text and "@media print" in text
    assert not re.search(r"url\(http|@import", text)
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.S))
    assert not re.search(r"#[0-9a-f]{6}\b|: (black|white)", drawn), "in the colours of the page"
    assert drawn.count("<text") == len(re.findall(r"<text[^>]*currentColor", drawn))
    assert html(nasty, advice) == text


def test_the_page_of_an_improper_log_says_so() -> None:
    fit = Fit.from_counts(**IMPROPER)
    page = html(fit, decide(fit, 100))
    assert page.count("<svg") == 3
    assert "Warning: improper" in page and "Beware: in some state the best arm" in page


def test_a_page_is_refused_where_none_can_be_written(
    fit: Fit, advice: Advice, tmp_path: Path
) -> None:
    for path in (tmp_path / "page.txt", tmp_path / "none" / "page.html"):
        with pytest.raises(ValueError, match="it must be a file in a folder that exists"):
            report.page(fit, advice, path)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = synthetic_log(TRUTH, sj.policies.Uniform(), visits=400, users=100, seed=1)
    path = tmp_path_factory.mktemp("logs") / "events.csv"
    pd.DataFrame(made)[["user", "visit", "step", "arm", "reward"]].to_csv(path, index=False)
    return path


def test_the_command_decides_and_writes_the_page(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["fit", str(events), "--visits", "20", "--report", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "\ndecision: " in shown
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
def test_bad_options_are_refused_before_any_work(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "nowhere.csv", *options]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert message in told.err
