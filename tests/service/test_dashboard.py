"""The dashboard in a browser, with real traffic to a running server."""

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import browser
import pytest
from serving import Server, serve

from sojourn.live.monitor.shadow import MEASURES
from sojourn.policies.reasons import two_digits
from sojourn.service.auth import keys
from sojourn.service.dashboard.panels import PANELS, VARIANT_PANELS, count, number

LEAVE = {(0, 0): 0.8, (0, 1): 0.2, (1, 0): 0.2, (1, 1): 0.1}
MEANS = {"dance": 0.9, "cooking": 0.7, "news": 0.4}
NASTY = 'a/b <img src=x onerror=alert(1)> & "c"'
MANY = 10_000
SECONDS = 20_000
"""Milliseconds for what is sure to come."""


class Tab:
    """Pages of one browser, with all that went wrong in them."""

    def __init__(self, chromium: Any) -> None:
        self.chromium = chromium
        self.wrong: list[str] = []
        self.hosts: set[str] = set()

    def open(self, url: str, script: str = "", **options: Any) -> Any:
        """A page in a context of its own; anything but the server is out of reach."""
        options = {"locale": "en-GB", "timezone_id": "UTC", **options}
        context = self.chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        context.set_default_timeout(SECONDS)
        context.add_init_script(script)
        own = urlsplit(url).netloc
        context.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        context.route(lambda target: urlsplit(target).netloc != own, lambda route: route.abort())
        page = context.new_page()
        page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.goto(url)
        return page


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    tab = Tab(chromium)
    yield tab
    for context in chromium.contexts:
        context.close()
    assert tab.wrong == []
    assert len(tab.hosts) == 1


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve("memory://") as server:
        make(server, "shorts", list(MEANS), policy={"name": "KLULCB"})
        make(server, NASTY, ["<b>bold</b>", "plain"])
        make(server, "many", [f"clip-{i:05d}" for i in range(MANY)], policy={"name": "Uniform"})
        old = {"arms": ["old"]}
        assert server.call("POST", "/v1/experiments/shorts/arms", old)[0] == 200
        prior = {"arms": {"old": {"pulls": 40}}}
        assert server.call("PUT", "/v1/experiments/shorts/prior", prior)[0] == 200
        assert server.call("POST", "/v1/experiments/shorts/arms/retire", old)[0] == 200
        traffic(server, "shorts", 30, seed=1)
        traffic(server, NASTY, 2, seed=2)
        traffic(server, "many", 4, seed=3)
        share(server, "feed", 300)
        yield server


def make(server: Server, name: str, arms: list[str], **settings: Any) -> None:
    address = f"/v1/experiments/{quote(name, safe='')}"
    assert server.call("PUT", address, {"arms": arms, **settings})[0] == 201


def share(server: Server, name: str, users: int) -> None:
    """An experiment with variants, of which one is worse, and two visits of each user."""
    uniform = {"name": "Uniform"}
    variants = {
        n: {"share": 0.5, "policy": uniform, "external": n == "old"} for n in ("old", "new")
    }
    rule = {"margin": 0.1, "planned": 300}
    body = {"arms": ["a"], "variants": variants, "holdout": "old", "guardrail": rule}
    base = f"/v1/experiments/{name}"
    assert server.call("PUT", f"{base}/variants", body)[0] == 201
    ids = [(f"v{n}", f"u{n // 2}") for n in range(2 * users)]
    own = {"arm": "a", "propensity": 1.0}
    opened = [
        {"call": "decide", "visit": v, "opening": {"user": user}, "logged": own} for v, user in ids
    ]
    made = server.call("POST", f"{base}/batch", {"calls": opened})[1]["answers"]
    homes = [answer["body"]["variant"] for answer in made]
    ends = [
        {"call": "end", "visit": v, "reward": float(n % 5 < (4 if home == "old" else 2))}
        for n, ((v, _), home) in enumerate(zip(ids, homes, strict=True))
    ]
    assert server.call("POST", f"{base}/batch", {"calls": ends})[0] == 200


def traffic(server: Server, experiment: str, visits: int, seed: int) -> None:
    """Users of setting B; some of their rewards are missing, some late, some visits stay open."""
    rng = random.Random(seed)
    base = f"/v1/experiments/{quote(experiment, safe='')}/visits"

    def call(method: str, path: str, body: dict[str, Any]) -> Any:
        status, answer = server.call(method, path, body)
        assert status == 200, answer
        return answer

    for user in range(visits):
        visit, state = f"{base}/s{seed}v{user}", 1
        decision = call("POST", f"{visit}/decisions", {"opening": {"user": f"u{user}"}})
        while True:
            reward = int(rng.random() < MEANS.get(decision["arm"], 0.5))
            left, state = rng.random() < LEAVE[state, reward], reward
            if left:
                break
            if rng.random() < 0.9:
                decision = call("POST", f"{visit}/step", {"reward": reward})
            else:
                decision = call("POST", f"{visit}/decisions", {})
                late = f"{visit}/decisions/{decision['step'] - 1}/reward"
                assert call("PUT", late, {"value": reward})["outcome"] == "late"
        if user % 5:
            call("PUT", f"{visit}/end", {"reward": reward})


def test_charts_are_drawn_whatever_the_language(tab: Tab, server: Server) -> None:
    """Under the locale "C" Chromium says "en-US@posix", which is no language."""
    odd = "{get: () => 'en-US@posix', configurable: true}"
    script = f"Object.defineProperty(Navigator.prototype, 'language', {odd})"
    for given in ("", script):
        page = tab.open(f"{server.url}/experiments/shorts", given)
        page.wait_for_selector("canvas")
        assert page.locator("canvas").count() == 2


def rows(page: Any, panel: str) -> list[list[str]]:
    """The cells of a table."""
    found = page.eval_on_selector_all(
        f"#{panel} tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return [[" ".join(cell.split()) for cell in row] for row in found]


def insight(server: Server, name: str = "shorts") -> dict[str, Any]:
    status, found = server.call("GET", f"/v1/experiments/{name}/insight")
    assert status == 200
    return found  # type: ignore[no-any-return]


def check_numbers(page: Any, found: dict[str, Any]) -> None:
    """What the page shows is what the API says."""
    for row, arm in zip(rows(page, "arms"), found["arms"], strict=True):
        assert arm["name"] in row[0]
        if arm["mean"]:
            mean = arm["mean"]
            assert row[1] == two_digits(mean["value"])
            assert row[3] == f"{two_digits(mean['low'])} to {two_digits(mean['high'])}"
        assert row[4].startswith(count(arm["pulls"]))
        value, ratio = arm["visit_value"], arm["leave_ratio"]
        assert row[5].startswith(number(value["value"]) if value else "\N{EN DASH}")
        assert row[6].startswith(number(ratio["value"]) if ratio else "\N{EN DASH}")
        for text, cell in zip(row[7:], arm["states"], strict=True):
            mean = cell["mean"] and f"{two_digits(cell['mean']['value'])} of {count(cell['pulls'])}"
            assert text == (mean or "\N{EN DASH}")
    for row, state in zip(rows(page, "exploration"), found["exploration"], strict=True):
        cost, lost = state["mistake_cost"], state["lost"]
        assert row[0] == state["state"]
        assert row[1] == count(state["pulls"])
        assert row[2] == f"{100 * state['share']:.1f} %"
        assert row[4].startswith(f"{number(cost['value'])} ±")
        assert row[5].startswith(f"{number(lost['value'])} ±")
    leaving = [x for s in found["leaving"] for x in (s["unrewarded"], s["rewarded"])]
    for row, leaves in zip(rows(page, "leaving"), leaving, strict=True):
        assert row[-1] == f"{count(leaves['departures'])} / {count(leaves['steps'])}"
        if leaves["probability"]:
            assert row[-4] == f"{leaves['probability']['value']:.3f}"
    totals = page.locator("#totals .value").all_inner_texts()
    visits, rewards = found["visits"], found["rewards"]
    shown = [visits["open"], visits["left"], rewards["total"]]
    assert totals[2:] == [count(n) for n in shown]
    assert totals[0] == number(found["reward_per_visit"]["value"])
    assert totals[1] == number(found["length"]["value"])
    ledger = page.locator("#rewards dd").all_inner_texts()
    kinds = ("learned", "late", "missing", "missing_by_next", "missing_by_end")
    assert ledger == [count(rewards[k]) for k in (*kinds, "missing_by_timeout")]
    assert page.locator("#case .badge").text_content() == f"Case: {found['case']['word']}"


def test_it_shows_what_the_api_says_and_changes_without_reload(tab: Tab, server: Server) -> None:
    page = tab.open(f"{server.url}/experiments/shorts?span=1h")
    assert page.title() == "shorts · Sojourn"
    page.wait_for_selector("text=Live")
    found = insight(server)
    assert min(found["rewards"][k] for k in ("learned", "late", "missing_by_next")) > 0
    assert found["visits"]["open"] > 0
    check_numbers(page, found)
    assert page.locator(".chart canvas").count() == 2
    assert "40 prior" in page.locator("#arms .retired").inner_text()
    reasons = page.locator("#recent .why").all_inner_texts()
    assert reasons
    assert all(re.search(r"first time .* is shown|(upper|lower) bound", why) for why in reasons)

    page.evaluate("window.stays = true")
    page.locator("summary").click()
    page.locator("#q").focus()
    traffic(server, "shorts", 10, seed=4)
    after = insight(server)
    assert after["visits"]["opened"] == found["visits"]["opened"] + 10
    page.wait_for_function(
        "words => document.querySelector('#totals').innerText.includes(words)",
        arg=f"of {count(after['visits']['opened'])} opened",
    )
    page.wait_for_timeout(1100)
    check_numbers(page, after)
    assert page.locator("#totals.totals, #recent.recent, #case.case").count() == 3
    assert page.evaluate("window.stays")
    assert page.locator("details").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.id") == "q"
    table = rows(page, "points")
    assert sum(int(row[1]) for row in table) == sum(p["visits"] for p in after["over_time"])


def test_pausing_stops_the_changes(tab: Tab, server: Server) -> None:
    page = tab.open(f"{server.url}/experiments/many")
    page.wait_for_selector("text=Live")
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("text=Paused")
    assert page.locator("#stream").count() == 0
    before = page.locator("#totals").inner_text()
    traffic(server, "many", 1, seed=5)
    page.wait_for_timeout(1300)
    assert page.locator("#totals").inner_text() == before
    page.get_by_role("button", name="Pause").click()
    page.wait_for_function(
        "before => document.querySelector('#totals').innerText !== before", arg=before
    )


def test_many_arms_are_found_but_never_all_shown(tab: Tab, server: Server) -> None:
    page = tab.open(f"{server.url}/experiments/many")
    assert len(rows(page, "arms")) == 20
    assert "10,000 arms" in page.locator("#found").inner_text()
    page.locator("#q").press_sequentially("0999")
    page.wait_for_selector("text=11 of 10,000 arms")
    assert len(rows(page, "arms")) == 11
    assert page.url.endswith("q=0999")
    assert page.evaluate("document.activeElement.id") == "q"
    assert "q=0999" in page.locator("#stream").get_attribute("sse-connect")
    page.locator("#q").fill("")
    page.wait_for_selector("text=page 1 of 500")
    page.get_by_role("link", name="Next").click()
    page.wait_for_selector("text=page 2 of 500")
    assert len(rows(page, "arms")) == 20
    page.wait_for_selector("text=Live")
    traffic(server, "many", 1, seed=6)
    page.wait_for_timeout(1300)
    assert len(rows(page, "arms")) == 20


def test_names_are_only_names(tab: Tab, server: Server) -> None:
    page = tab.open(server.url)
    page.get_by_role("link", name=NASTY).click()
    page.wait_for_selector("text=Live")
    assert page.locator("h1").inner_text() == NASTY
    assert set(page.locator("#arms .name").all_inner_texts()) == {"<b>bold</b>", "plain"}
    assert page.locator("img").count() == 0


def test_variants(tab: Tab, server: Server) -> None:
    """The comparison as the API has it, the guardrail and what it does, without a reload."""
    page = tab.open(f"{server.url}/experiments/feed")
    ids = page.locator(".panels section").evaluate_all("all => all.map(e => e.id)")
    assert ids == [f"panel-{panel.name}" for panel in VARIANT_PANELS[1:]]
    found = server.call("GET", "/v1/experiments/feed/comparison")[1]["variants"][1]
    shown = page.locator("#comparison tr").nth(3).inner_text()
    difference = found["differences"]["reward"]
    for value in (difference["value"], difference["low"], difference["high"]):
        assert f"{value:+#.3g}" in shown
    assert f"{found['visits']} visits" in shown and difference["high"] < -0.1
    page.wait_for_selector("text=Visits of new go to old since")
    assert "It has acted on new: reward per visit of new is below" in page.inner_text("#guardrail")
    assert page.locator("#shares tr").first.inner_text().split()[-4:] == ["100", "%", "0", "%"]
    page.wait_for_selector("#panel-differences canvas")
    assert page.locator("#panel-differences canvas").count() == 1  # steps and ends are all alike
    assert page.locator("#panel-differences figure:visible").count() == 1
    looks = server.call("GET", "/v1/experiments/feed/comparison/history")[1]["snapshots"]
    last = page.locator("#snapshot_rows tr").first.text_content()
    assert looks[-1]["metric"] == "reward" and f"{looks[-1]['difference']:+#.3g}" in last
    assert server.call("DELETE", "/v1/experiments/feed/alarm")[0] == 200
    page.wait_for_selector("text=It has not acted since it was undone")
    assert page.locator("#alarm").inner_text() == ""
    page.get_by_role("link", name="new").click()
    page.wait_for_selector("h1:text('feed:new')")


def test_in_the_shadow(tab: Tab, server: Server) -> None:
    """Where the caller decides, the page has what the policy would have shown, as the API does."""
    page = tab.open(f"{server.url}/experiments/feed:old")
    found = server.call("GET", "/v1/experiments/feed:old/shadow")[1]
    shown = page.inner_text("#panel-shadow")
    assert f"Ready to ramp: {found['reason']}." in shown and found["match"]["value"] == 1.0
    assert f"It agrees with yours at 100 % of {found['steps']} steps" in shown
    rows_of = page.locator("#panel-shadow tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows_of] == list(MEASURES.values())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barriers(tab: Tab, server: Server, scheme: str) -> None:
    text = browser.axe()
    pages = [f"/experiments/{name}" for name in ("shorts", "feed", "feed:old", "nowhere")]
    for path in (*pages, "/", "/docs"):
        page = tab.open(server.url + path, color_scheme=scheme)
        if path == "/experiments/nowhere":
            assert tab.wrong.pop().startswith("Failed to load resource")
        page.evaluate(text)
        found = page.evaluate("axe.run(document)")
        assert found["passes"]
        nodes = [
            (v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]
        ]  # fmt: skip
        assert nodes == []
        page.context.close()


def test_phones_do_not_scroll_sideways(tab: Tab, server: Server) -> None:
    for name in ("shorts", "feed", "feed:old"):
        page = tab.open(f"{server.url}/experiments/{name}")
        for width in (320, 390, 800):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_themes(tab: Tab, server: Server) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    page = tab.open(f"{server.url}/experiments/shorts", color_scheme="dark")
    dark = page.evaluate(paper)
    button = page.get_by_role("button", name="Theme")
    assert button.inner_text() == "Theme: auto"
    button.click()
    assert button.inner_text() == "Theme: light"
    light = page.evaluate(paper)
    assert sum(map(int, re.findall(r"\d+", light))) > 600 > sum(map(int, re.findall(r"\d+", dark)))
    page.reload()
    assert page.evaluate(paper) == light
    button.click()
    assert (button.inner_text(), page.evaluate(paper)) == ("Theme: dark", dark)


def test_keyboard_alone_reaches_everything(tab: Tab, server: Server) -> None:
    page = tab.open(f"{server.url}/experiments/many")
    page.wait_for_selector("text=Live")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"

    page.reload()
    page.wait_for_selector("text=Live")
    describe = "(e => e.id || e.getAttribute('aria-labelledby') || e.innerText.trim())"
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(page.evaluate(f"{describe}(document.activeElement)"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    wanted = page.eval_on_selector_all(
        "a, button, input:not([type=hidden]), summary, [tabindex='0']",
        f"all => all.filter(e => e.checkVisibility()).map({describe})",
    )
    assert set(wanted) - set(reached) == set()

    page.locator("#pause").focus()
    page.keyboard.press("Space")
    assert page.locator("#pause").get_attribute("aria-pressed") == "true"
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("#points").is_visible()


def test_without_javascript(tab: Tab, server: Server) -> None:
    page = tab.open(f"{server.url}/experiments/shorts?span=1h", java_script_enabled=False)
    found = insight(server)
    assert page.locator("h1").inner_text() == "shorts"
    assert page.locator("#totals .value").first.inner_text() == number(
        found["reward_per_visit"]["value"]
    )
    assert page.get_by_role("button").all_inner_texts() == ["Find"]
    page.get_by_text("As a table").click()
    assert page.locator("#points tr").count() == len(found["over_time"])
    page.get_by_label("Find an arm").fill("dan")
    page.get_by_role("button", name="Find").click()
    assert page.locator("#arms tr").count() == 1


def test_headings_landmarks_and_tables_have_names(tab: Tab, server: Server) -> None:
    page = tab.open(f"{server.url}/experiments/shorts")
    assert page.locator("h1").count() == 1
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(h => h.tagName)")
    assert levels[0] == "H1" and set(levels[1:]) == {"H2"}
    for role in ("banner", "main", "contentinfo", "search"):
        assert page.get_by_role(role).count() == 1
    tables = page.locator("table")
    assert tables.count() == page.locator("table > caption").count() >= 5
    assert page.locator("table th:not([scope])").count() == 0
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert {f"panel-{panel.name}" for panel in PANELS[1:]} <= set(ids)
    titles = page.locator("h2").all_inner_texts()
    assert titles == [panel.title for panel in PANELS[1:]]


def test_nothing_inline_nothing_from_elsewhere_nothing_kept(tab: Tab, server: Server) -> None:
    page = tab.open(f"{server.url}/experiments/shorts")
    headers = page.reload().headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert page.locator("[style]:not(.uplot *), style, script:not([src])").count() == 0
    static = page.request.get(
        server.url + page.locator("link[rel=stylesheet]").last.get_attribute("href")
    )
    assert static.headers["cache-control"].endswith("immutable")


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[Server, str, Path]]:
    """A server that needs keys, with the key of all experiments, and the file."""
    file = tmp_path / "keys.json"
    _, token = keys.make(file, ["*"])
    with serve("memory://", "--keys", str(file)) as server:
        yield server, token, file


def test_signing_in_and_what_to_do_first(tab: Tab, locked: tuple[Server, str, Path]) -> None:
    server, token, file = locked
    page = tab.open(server.url)
    assert page.url.endswith("/login")
    page.evaluate(browser.axe())
    assert page.evaluate("axe.run(document)")["violations"] == []
    page.get_by_label("Key").fill("sj_1_wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("role=alert")
    assert "401" in tab.wrong.pop()
    page.get_by_label("Key").fill(token)
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No experiments yet")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Strict", False)
    assert page.evaluate("document.cookie") == ""
    page.evaluate(browser.axe())
    assert page.evaluate("axe.run(document)")["violations"] == []

    environment = {**os.environ, "SOJOURN_KEY": token}
    python = page.locator("#python").inner_text()
    subprocess.run([sys.executable, "-c", python], env=environment, check=True, timeout=60)
    visits = 1
    if shutil.which("curl"):
        shell = page.locator("#curl").inner_text()
        done = subprocess.run(
            ["sh", "-e", "-c", shell], env=environment, check=True, timeout=60, capture_output=True
        )
        assert b'"error"' not in done.stdout
        assert b'"ended":true' in done.stdout.replace(b" ", b"")
        visits = 2
    page.reload()
    row = page.locator("tbody tr").inner_text()
    assert "shorts" in row
    assert server.call("GET", "/v1/experiments/shorts/insight", key=token)[1]["visits"] == {
        "opened": visits, "open": 0, "left": visits, "timed_out": 0,
    }  # fmt: skip

    key, narrow = keys.make(file, ["news"])
    make_news = {"arms": ["a", "b"]}
    assert server.call("PUT", "/v1/experiments/news", make_news, key=token)[0] == 201
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")
    assert page.context.cookies() == []
    page.get_by_label("Key").fill(narrow)
    page.wait_for_timeout(1100)  # keys are read again every second
    page.keyboard.press("Enter")
    page.wait_for_selector("role=link[name='news']")
    assert page.get_by_role("link", name="shorts").count() == 0
    page.get_by_role("link", name="news").click()
    page.wait_for_selector("text=Live")
    keys.revoke(file, key.id)
    page.wait_for_url("**/login")


def test_a_page_that_is_open_does_not_keep_the_server(tab: Tab) -> None:
    with serve("memory://") as server:
        make(server, "shorts", ["a", "b"])
        page = tab.open(f"{server.url}/experiments/shorts")
        page.wait_for_selector("text=Live")
        assert server.stop() == 0
        page.wait_for_selector("text=Connection lost")
        tab.wrong.clear()
