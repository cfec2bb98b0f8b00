"""The panels about what happens over time: their words, and pictures that fit them."""

import re

import numpy as np

from sojourn.live import Drift, Guardrail, History, Snapshot
from sojourn.live.monitor.drift import Times, drifted, means_of
from sojourn.live.monitor.trends import Trend, as_arm
from sojourn.live.records import HOUR, Arm
from sojourn.live.rollout.allocation import Alarm, Epoch
from sojourn.service.dashboard.panels import Panel, render_panels
from sojourn.service.dashboard.pictures import HIGH, WIDE, listed, snapshots_data, trend_picture

DAY = 86_400.0
BEGAN = 20_000 * DAY
STATES = ("after no reward", "after a reward")


def found(days: int = 20, falls: int = 15) -> Drift:
    """Two arms in use, of which `news` is liked less from a day on; nobody leaves otherwise."""
    random = np.random.default_rng(1)
    trends = []
    for hour in range(24 * days):
        at = BEGAN + hour * HOUR
        likes = random.binomial(100, [0.6, 0.42 if hour < 24 * falls else 0.2])
        trends += [Trend(at, i, 100.0, float(n)) for i, n in enumerate(likes)]
        left = random.binomial(100, 0.1)
        trends.append(Trend(at, as_arm(1), good=100.0, good_left=float(left)))
    now = BEGAN + days * DAY
    means = means_of([Arm(0, "<b>dance"), Arm(1, "news")], STATES)
    return drifted("shorts", means, trends, Times(now, now, HOUR), 0.05)


def panel(drift: Drift) -> str:
    return "".join(render_panels((Panel("drift", "What has changed"),), drift=drift).panels)


def test_a_change_in_words_and_in_the_table() -> None:
    drift = found()
    (series,) = drift.changed
    (change,) = series.changes
    assert series.name == "news" and change.at == BEGAN + 15 * DAY
    text = " ".join(re.sub("<.*?>", " ", panel(drift)).split())
    told = f"news : 0.4{round(100 * change.before) - 40} until"
    assert told in text and f"0.{round(100 * change.after)} since" in text
    assert f"(log evidence {change.statistic:.1f} &gt; {change.threshold:.1f})" in text
    assert "&lt;b&gt;dance" in text  # names are only names
    assert [each.name for each in listed(drift)] == [
        "news", "<b>dance", "all arms", "leaving after a reward, then a reward"
    ]  # fmt: skip


def test_nothing_and_too_little() -> None:
    assert "Nothing has changed in 4 means over time" in panel(found(20, falls=20))
    assert "Too early to say" in panel(found(3)) and "Nothing to show yet" in panel(found(0))


def test_the_picture_of_a_mean_is_inside_its_frame_and_steps_where_it_changed() -> None:
    (series,) = found().changed
    picture = str(trend_picture(series))
    curve, steps = (
        re.search(f'class="{name}" d="(.*?)"', picture).group(1) for name in ("curve", "steps")
    )  # type: ignore[union-attr]
    pairs = [tuple(map(float, pair.split())) for pair in curve[1:].split("L")]
    assert 30 < len(pairs) <= 120 and all(0 <= x <= WIDE and 0 <= y <= HIGH for x, y in pairs)
    first, second = re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)", steps)
    assert first[2] == second[0] and float(first[1]) < float(second[1])  # it fell, so y grows
    assert (first[0], second[2]) == ("0.0", str(WIDE))


def test_the_data_of_the_comparison_over_time() -> None:
    looks = tuple(
        Snapshot(at, "new", "reward", n, 100, -0.2, -0.5, 0.1) for n, at in enumerate((1.0, 2.0))
    )
    epochs = tuple(Epoch(at, {"old": 0.5, "new": 0.5}) for at in (0.0, 1.5))
    alarm = Alarm(at=1.5, variant="new", reason="", shares={})
    history = History("feed", "old", 0.05, looks, epochs, Guardrail(margin=0.1), alarm)
    data = snapshots_data(history, ["new"], ["reward", "steps"])
    assert data["curves"]["new reward"] == {
        "at": [1.0, 2.0], "visits": [100, 100], "points": [[-0.2, -0.5, 0.1]] * 2
    }  # fmt: skip
    assert data["curves"]["new steps"]["at"] == []
    assert data["margin"] == {"metric": "reward", "at": -0.1}
    assert (data["shares"], data["alarm"]) == ([1.5], 1.5)
