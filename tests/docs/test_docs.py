"""Docs that run: examples, commands, problem files, links, and the policy that one can add."""

import doctest
import importlib
import json
import re
import shlex
import tomllib
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import serving
from blocks import ROOT, all_blocks, commands, same

import sojourn as sj
from sojourn import problem_files as files
from sojourn.cli.main import main

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
SMALL = ["--runs", "2", "--visits", "20"]
SERVE = "sojourn serve --store sqlite:///"
ELSEWHERE = [*ROOT.glob("docs/start/*.md"), ROOT / "docs" / "going-live.md"]
"""Pages whose blocks run in processes of their own: test_stranger.py, test_going_live.py."""

pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def blocks(page: Path, language: str) -> list[str]:
    """The fenced code blocks of a page that are in this language."""
    return [text for found, text in all_blocks(page) if found == language]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in ELSEWHERE],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_examples_and_commands(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, in an empty folder, as a reader would who copies them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    url = "http://127.0.0.1:8000"
    with ExitStack() as stack:
        for language, text in all_blocks(page):
            if language == "python" and text.startswith(">>>"):
                run_example(text.replace("http://127.0.0.1:8000", url), names, page)
            elif language == "console":
                capsys.readouterr()
                run_commands(text, capsys)
            elif language == "sh" and text.startswith(SERVE):
                store = f"sqlite:///{tmp_path / text.removeprefix(SERVE).strip()}"
                url = stack.enter_context(serving.serve(store)).url


def run_example(text: str, names: dict[str, Any], page: Path) -> None:
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    assert doctest.DocTestRunner(verbose=False).run(test, clear_globs=False).failed == 0
    names.update(test.globs)


def run_commands(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They run, small ones if no output is shown; else as shown, to the same output."""
    for line, shown in commands(text):
        program, *arguments = shlex.split(line, comments=True)
        small = SMALL if arguments[0] == "simulate" and not shown else []
        assert program == "sojourn" and main(arguments + small) == 0, line
        printed = [text.rstrip() for text in capsys.readouterr().out.splitlines()]
        assert not shown or same(shown, printed), "\n".join(printed)


@pages
def test_problem_files(page: Path) -> None:
    written = [tomllib.loads(block) for block in blocks(page, "toml")]
    written += [json.loads(block) for block in blocks(page, "json")]
    for problem in map(files.from_dict, written):
        assert files.from_dict(files.to_dict(problem)) == problem


@pages
def test_links(page: Path) -> None:
    """Files are there, and so are headings, by the anchors that GitHub gives them."""
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        if "://" not in target:
            found = page.parent / target if target else page
            assert found.exists(), target
            assert not anchor or anchor in anchors(found), f"{target}#{anchor}"


@pages
def test_every_page_leads_on(page: Path) -> None:
    """There is a way to another page of the docs."""
    links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
    assert {(page.parent / link).resolve() for link in links} & {*PAGES} - {page}


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The policy that the page about adding one has, as a module of one's own."""
    page = ROOT / "docs" / "how-to" / "add-a-policy.md"
    (block,) = (b for b in blocks(page, "python") if "class" in b)
    (tmp_path / "careful_greedy.py").write_text(block)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("careful_greedy")


def test_the_policy_that_one_can_add(example: ModuleType, compiled: Any, interpreted: Any) -> None:
    problem, policy = sj.paper.SETTINGS["B"], example.CarefulGreedy(epsilon=0.2)
    assert doctest.testmod(example).failed == 0

    result = sj.simulate(problem, [policy, sj.policies.Uniform()], visits=200, runs=8)
    assert np.isfinite(result.regret.mean).all()
    assert 0.0 < result.regret.mean[0, -1] < result.regret.mean[1, -1]

    one, other = (f(problem, policy, 5, 0, [10, 30]) for f in (compiled, interpreted))
    np.testing.assert_allclose(one, other, rtol=1e-12)
