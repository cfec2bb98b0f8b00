"""The site: it builds without a warning, has a page for every name, and works in a browser."""

import doctest
import fcntl
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import browser
import griffe
import nbformat
import pytest
import typer

import sojourn as sj
from sojourn.cli.main import app
from sojourn.service.app import Options, create

sys.path.insert(0, str(Path(__file__).parents[2]))  # website/ is no part of the package

from website import markdown, names, notebooks, policies, prose, reference, stage, tutorials
from website.stage import ROOT

MODULES = ("client", "gym", "live", "logs", "simulation", "theory", "users", "values")
LINK = re.compile(r'<(\w+)\b[^>]*? (?:href|src)="?([^" >]+)')
ANCHOR = re.compile(r' (?:id|name)="?([^" >]+)')
SIZES = {"when_to_explore": ["400", "32"], "own_policy": ["200", "16"], "live_and_back": ["300"]}
"""Arguments of the tutorials in small."""
SECONDS = 20_000
"""Milliseconds for what is sure to come."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    home = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (home / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "site").exists():
            command = [sys.executable, "-m", "website", "--site", str(home / "site")]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")
    return home / "site"


@pytest.fixture(scope="session")
def texts(site: Path) -> dict[Path, str]:
    return {page: page.read_text() for page in site.rglob("*.html")}


def test_every_public_name_has_a_page(site: Path, texts: dict[Path, str]) -> None:
    """Asked of the package as it runs; the pages are made from its sources."""
    titles = {
        found
        for page, text in texts.items()
        if page.is_relative_to(site / "reference")
        for found in re.findall(r'<h1 id="([\w.]+)" class="doc ', text)
    }
    modules = [sj, *(importlib.import_module(f"sojourn.{name}") for name in MODULES)]
    for module in modules:
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            known = inspect.isclass(value) or inspect.isfunction(value)
            if known and value.__module__ != "sojourn":  # which InputError says of itself
                assert f"{value.__module__}.{value.__qualname__}" in titles, name
            elif not inspect.ismodule(value):
                assert any(title.endswith(f".{name}") for title in titles), name
    assert len(titles) > 200
    assert reference.missing(site) == []


def test_a_name_without_a_page_fails_the_build(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from website import __main__ as website

    (tmp_path / "reference").mkdir()
    with pytest.raises(SystemExit):  # a folder that is not its own
        website.main(["--site", str(tmp_path)])
    assert "it has files, which the build would delete" in capsys.readouterr().err
    (tmp_path / website.MARK).touch()
    for page in site.glob("reference/*/*.html"):
        if page.stem not in ("LearnedIMED", "fit-function"):
            (tmp_path / "reference" / f"{page.parent.name}-{page.name}").symlink_to(page)
    monkeypatch.setattr(website, "stage", lambda folder: folder)
    monkeypatch.setattr(website, "load_config", lambda *args, **kwargs: None)
    monkeypatch.setattr(website, "build", lambda config: None)
    assert website.main(["--site", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said == "public names without a page: sojourn.fit, sojourn.policies.LearnedIMED\n"


def test_a_public_name_has_a_part_and_a_docstring() -> None:
    with pytest.raises(LookupError, match=r"sojourn\.attic\.Old has no part in the reference"):
        names._section("sojourn.attic.Old")
    tree = griffe.visit("sojourn", filepath=Path("sojourn.py"), code="bare = 1")
    with pytest.raises(LookupError, match=r"sojourn\.bare is public and has no docstring"):
        names._line(tree, "sojourn.bare", "sojourn.bare")


RECORDS = {
    "client": "AsyncExperiment AsyncVisit Experiment Visit",
    "gym": "Agent Played",
    "live": (
        "Alarm Archived Bucket Choice Comparison Decision Drift Edit History Measured Opening"
        " Part PostgresStore Series Shadow Snapshot Store VisitInfo"
    ),
    "logs": (
        "AdjustedCosts Advice Alternative ArmEffect CandidateOutcome JointModel EmaFit"
        " Incumbent Evaluation"
    ),
    "simulation": "OverPrior",
    "theory": "Conjecture IndexTable Plan",
    "values": "CommonPrices CommonValues Piecewise PriceSeries PriceTable",
}
"""Classes without an example: others make them, and have one. None is to be added."""


def test_public_names_have_an_example() -> None:
    """In their docstrings, which run as doctests; how to add a policy shows `uniform` at work.

    Exceptions and warnings are what the names that raise them show.
    """
    tree = griffe.load("sojourn", resolve_aliases=True)
    bare = set()
    for name in names.public().values():
        found = tree[name.home.partition(".")[2]]
        value = getattr(importlib.import_module(name.home.rpartition(".")[0]), name.short, None)
        raised = inspect.isclass(value) and issubclass(value, BaseException)
        shows = found.is_attribute or raised or ">>> " in found.docstring.value
        bare |= set() if shows else {name.public}
    records = {f"sojourn.{room}.{cls}" for room, all_ in RECORDS.items() for cls in all_.split()}
    assert bare == {"sojourn.policies.draw_uniform"} | records


def test_every_page_leads_on(site: Path, texts: dict[Path, str]) -> None:
    """By a link in what it says, not only by the navigation around it."""
    bare = {page.relative_to(site).as_posix() for page, text in texts.items() if not leads(text)}
    assert bare == {"404.html"}


def leads(text: str) -> bool:
    said = text.partition("<article")[2].partition("</article>")[0]
    return any(not url.startswith("#") for _, url in LINK.findall(said))


def test_links_lead_somewhere_and_never_out(site: Path, texts: dict[Path, str]) -> None:
    """Pages, files and headings; and nothing is loaded from another host."""
    anchors = {page: set(ANCHOR.findall(text)) for page, text in texts.items()}
    wrong = []
    for page, text in texts.items():
        for tag, target in set(LINK.findall(text)):
            url = urlsplit(target)
            if url.scheme:
                if tag != "a" or "googleapis" in target:
                    wrong.append((page, target))
            elif page.name != "404.html":
                found = (page.parent / unquote(url.path)).resolve() if url.path else page
                heading = unquote(url.fragment)
                known = not heading or heading in anchors.get(found, {heading})
                if not found.exists() or not known:
                    wrong.append((page, target))
    assert not wrong


def test_pages_of_the_reference_say_what_there_is(site: Path, texts: dict[Path, str]) -> None:
    def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield path, command
        for name, below in getattr(command, "commands", {}).items():
            yield from commands(below, *path, name)

    for path, command in commands(typer.main.get_command(app)):
        text = texts[site / "reference" / "cli" / f"{'-'.join(path) or 'index'}.html"]
        shown = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
        for option in shown:
            assert all(f"<code>{name}</code>" in text for name in option.opts), option.name
    calls = texts[site / "reference" / "http.html"]
    for path, methods in create(Options(store="memory://")).openapi()["paths"].items():
        for method in methods:
            heading = path.replace("/v1/experiments/{experiment}", "...")
            assert f">{method.upper()} {heading}<a" in calls


def test_the_list_of_policies(site: Path, texts: dict[Path, str]) -> None:
    """All of the registry, and of some what is known to be true."""
    text = re.sub(r"<(?!/?t[rd])[^>]*>", "", texts[site / "policies.html"])
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text, re.S)]
    facts = {row[0]: row[1:] for row in rows if len(row) == 5}
    assert (
        set(facts)
        == set(sj.policies.POLICIES)
        == {row[0] for row in rows if len(row) == 2} & set(facts)
    )
    assert facts["KLULCB"] == ["KL-ULCB", "the case", "", "Theorem 2, Theorem 6"]
    assert facts["DiscULCB"] == ["DISC-ULCB", "the case", "", "Theorem 4"]
    assert facts["UCB"] == ["UCB", "nothing", "", "regret decomposition"]
    assert facts["LearnedIMED"] == ["Learned IMED", "nothing", "learns", ""]
    assert facts["UCBQLearning"][1:] == ["H", "learns", ""]
    assert facts["FixedArm"][1:] == ["arm", "", ""]


def test_the_gallery_has_every_picture(site: Path, texts: dict[Path, str]) -> None:
    """Once, with a way to a page that has it too."""
    found = re.findall(
        r'<a href="?([^" >]+)"?><img[^>]*? src="?([^" >]+)', texts[site / "gallery.html"]
    )
    pictures = {path.relative_to(site).as_posix() for path in site.glob("**/figures/*")}
    assert sorted(source for _, source in found) == sorted(pictures)
    for link, source in found:
        assert source.rpartition("/")[2] in texts[site / link.partition("#")[0]]


@pytest.mark.parametrize("script", tutorials.SCRIPTS, ids=lambda script: script.stem)
def test_pages_of_tutorials_are_their_scripts(script: Path) -> None:
    page = ROOT / "docs" / "tutorials" / f"{script.stem.replace('_', '-')}.md"
    assert tutorials.skeleton(page.read_text()) == tutorials.page(script)


def test_notebooks_are_the_scripts_and_run(tmp_path: Path) -> None:
    """All in one kernel, small; they show tables and pictures, and the files say the same."""
    every = nbformat.v4.new_notebook()
    for script in tutorials.SCRIPTS:
        written = nbformat.read(notebooks.path_of(script), as_version=4)
        sources = [cell.source for cell in written.cells]
        assert sources == [cell.source for cell in notebooks.notebook(script).cells], script.stem
        drawn = sum("image/png" in shown for shown in pieces(written))
        assert drawn == sum(source.endswith("\nfigure") for source in sources)
        for cell in notebooks.notebook(script, SIZES[script.stem]).cells:
            cell.id = f"{script.stem}-{cell.id}"
            every.cells.append(cell)
    notebooks.run(every, tmp_path)
    assert sum("image/png" in data for data in pieces(every)) == 2
    tables = [data["text/html"] for data in pieces(every) if "<th" in data.get("text/html", "")]
    assert len(tables) == 2 and all("Learned IMED" in table for table in tables)


def pieces(notebook: Any) -> list[Any]:
    """What the cells of a notebook show, beside what they print."""
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [out.data for cell in code for out in cell.outputs if "data" in out]


def small(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    """A tutorial in small: its names in the end, and what it printed."""
    monkeypatch.chdir(folder)
    (script,) = (script for script in tutorials.SCRIPTS if script.stem == name)
    *_, last = runs = list(tutorials.run(script, SIZES[name]))
    return last[2], "".join(printed for _, printed, _ in runs)


def test_when_to_explore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, printed = small("when_to_explore", tmp_path, monkeypatch)
    ucb, ulcb, learned = ran.result.regret.mean[:, -1]
    assert learned < ulcb < ucb
    at_0, at_1 = ran.result.regret_by_level.mean[:, -1].T
    assert at_0[1] < at_0[0] / 4 and at_1[1] > at_0[1]  # ULCB explores in state 1
    assert "case: normal" in printed and "case: opposite" in printed
    assert (tmp_path / "regret-in-the-opposite-case.svg").stat().st_size > 1000


def test_a_policy_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, printed = small("own_policy", tmp_path, monkeypatch)
    assert ran.faults == [] and "keeps the contract" in printed
    assert ran.sweep.regret.mean[3, -1] > ran.sweep.regret.mean[1, -1]  # it explores too much
    assert (tmp_path / "regret-by-rate.svg").stat().st_size > 1000


def test_live_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, printed = small("live_and_back", tmp_path, monkeypatch)
    assert "differences: {}" in printed
    worth = {effect.name: effect.worth for effect in ran.fit.effects}
    assert worth["gossip"].value < min(worth["science"].value, worth["cooking"].value)
    for topic, found in worth.items():  # 4.5 standard errors, on the scale of logarithms
        truth, width = ran.alone(topic), (found.high / found.low) ** (4.5 / 1.96 / 2)
        assert found.value / width < truth < found.value * width


@pytest.mark.parametrize(
    "module", [markdown, names, notebooks, prose, stage], ids=lambda m: m.__name__
)
def test_examples_of_the_builder(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0


def test_docstrings_as_markdown() -> None:
    from website.docstrings import markdown as as_markdown

    text = "See docs/live.md.\n\nArguments, by name:\n    x: A `UCB`.\n\n>>> 1 + 1\n2"
    assert as_markdown(text).split("\n\n") == [
        "See [Live decisions](../../live.md).",
        "Arguments:\n    x: A [`UCB`][sojourn.policies.index.UCB].",
        "```pycon\n>>> 1 + 1\n2\n```",
    ]
    assert policies.tables().count("| [`") == 2 * len(sj.policies.POLICIES)


class Tab:
    """Pages of the site from the file system, with all that went wrong in them."""

    def __init__(self, chromium: Any, site: Path) -> None:
        self.chromium, self.site = chromium, site
        self.wrong: list[str] = []

    def open(self, page: str, width: int = 1280, scheme: str = "light") -> Any:
        viewport = {"width": width, "height": 900}
        context = self.chromium.new_context(viewport=viewport, color_scheme=scheme)
        context.set_default_timeout(SECONDS)
        opened = context.new_page()
        opened.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        opened.on("pageerror", lambda error: self.wrong.append(str(error)))
        opened.on("request", lambda request: self._asked(request.url))
        opened.goto((self.site / page).as_uri())
        return opened

    def _asked(self, url: str) -> None:
        if urlsplit(url).scheme not in ("file", "data", "about"):
            self.wrong.append(url)


@pytest.fixture
def tab(chromium: Any, site: Path) -> Iterator[Tab]:
    tab = Tab(chromium, site)
    yield tab
    for context in chromium.contexts:
        context.close()
    assert tab.wrong == []


def test_search_finds_names_without_a_server(tab: Tab) -> None:
    page = tab.open("start/see.html")
    page.locator("input.md-search__input").click()
    page.keyboard.type("LearnedIMED")
    first = page.locator(".md-search-result__item a").first
    first.wait_for()
    assert first.inner_text().splitlines()[0] == "LearnedIMED"
    first.click()
    page.wait_for_url("**/reference/policies/LearnedIMED.html*")
    assert page.locator("h1").inner_text().startswith("sojourn.policies.LearnedIMED")


def test_light_and_dark(tab: Tab) -> None:
    """As the system has it, unless one chooses; what is on it can be read."""
    shade = "getComputedStyle(document.body).backgroundColor"
    light, dark = tab.open("index.html"), tab.open("index.html", scheme="dark")
    assert light.evaluate(shade) == "rgb(255, 255, 255)"
    assert max(int(x) for x in re.findall(r"\d+", dark.evaluate(shade))[:3]) < 64
    picture = "getComputedStyle(document.querySelector('img[src*=figures]')).backgroundColor"
    assert dark.evaluate(picture) == "rgb(255, 255, 255)"
    for _ in range(2):  # light, then dark
        light.locator("label.md-header__button[title]:visible").first.click()
    assert light.evaluate(shade) == dark.evaluate(shade)


THEIRS = {"aria-dialog-name", "landmark-unique"}
"""Barriers that are the theme's: its search has no name, and its parts not all one of their own."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barriers_of_ours(tab: Tab, scheme: str) -> None:
    for name in ("index.html", "tutorials/own-policy.html", "reference/simulation/simulate.html"):
        page = tab.open(name, scheme=scheme)
        page.evaluate(browser.axe())
        found = page.evaluate("axe.run({preload: false})")["violations"]
        assert {violation["id"] for violation in found} <= THEIRS, name


PHONE = [
    "index.html", "start/fit.html", "tutorials/own-policy.html", "beyond.html", "policies.html",
    "reference/simulation/simulate.html", "reference/http.html", "reference/cli/fit.html",
]  # fmt: skip


def test_phones_do_not_scroll_sideways(tab: Tab) -> None:
    for name in PHONE:
        page = tab.open(name, width=360)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
        assert page.locator("h1").is_visible()
        page.context.close()


def test_what_is_copied_is_what_one_types(tab: Tab) -> None:
    """As the button takes it: the text of the block while it is marked as being copied."""
    page = tab.open("start/see.html")
    taken = """name => [...document.querySelectorAll(name)].map(code => {
        code.setAttribute("data-md-copying", "");
        return code.innerText.trim();
    })"""
    assert page.evaluate(taken, ".language-console code") == ["sojourn theory A"]
    python = tab.open("start/simulate.html").evaluate(taken, ".language-pycon code")
    assert python[0].startswith("import sojourn as sj\nuser = sj.TwoState(")
    assert all(">>>" not in text for text in python)
