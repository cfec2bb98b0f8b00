"""Docs that run: examples, commands, problem files, links, and the policy in CONTRIBUTING.md."""

import doctest
import importlib
import json
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn import problem_files as files
from sojourn.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
SMALL = ["--runs", "2", "--visits", "20"]

pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced code blocks of a page that are in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


@pages
def test_examples(page: Path) -> None:
    text = "\n\n".join(b for b in blocks(page, "python") if b.startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pages
def test_commands(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They run, small ones if no output is shown; else as shown, to the same output."""
    shown = re.split(r"^\$ sojourn ", "".join(blocks(page, "console")), flags=re.M)[1:]
    for line, _, output in (text.partition("\n") for text in shown):
        arguments = shlex.split(line, comments=True)
        small = SMALL if arguments[0] == "simulate" and not output.strip() else []
        assert main(arguments + small) == 0, line
        printed = [text.rstrip() for text in capsys.readouterr().out.splitlines()]
        assert not output.strip() or printed == output.rstrip().splitlines()


@pages
def test_problem_files(page: Path) -> None:
    written = [tomllib.loads(block) for block in blocks(page, "toml")]
    written += [json.loads(block) for block in blocks(page, "json")]
    for problem in map(files.from_dict, written):
        assert files.from_dict(files.to_dict(problem)) == problem


@pages
def test_links(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The policy in CONTRIBUTING.md, as a module of one's own."""
    (block,) = (b for b in blocks(ROOT / "CONTRIBUTING.md", "python") if "class" in b)
    (tmp_path / "careful_greedy.py").write_text(block)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("careful_greedy")


def test_the_policy_in_contributing(example: ModuleType, compiled: Any, interpreted: Any) -> None:
    problem, policy = sj.paper.SETTINGS["B"], example.CarefulGreedy(epsilon=0.2)
    assert doctest.testmod(example).failed == 0

    result = sj.simulate(problem, [policy, sj.Uniform()], visits=200, runs=8)
    assert np.isfinite(result.regret.mean).all()
    assert 0.0 < result.regret.mean[0, -1] < result.regret.mean[1, -1]

    one, other = (f(problem, policy, 5, 0, [10, 30]) for f in (compiled, interpreted))
    np.testing.assert_allclose(one, other, rtol=1e-12)
