"""The page about going live, played small: every command works, in its order."""

import sys
from pathlib import Path

from blocks import ROOT, all_blocks

sys.path.insert(0, str(ROOT))  # website/ is no part of the package

from website import going_live


def test_the_page_can_be_played(tmp_path: Path) -> None:
    """From a shadow to all visits; what the commands print takes the place of what they printed."""
    text = going_live.PAGE.read_text()
    played = going_live.play(text, tmp_path, scale=0.01, serving=["--no-compile"])
    assert going_live.skeleton(played) == going_live.skeleton(text)
    printed = [body for language, body in all_blocks_of(played, tmp_path) if language == "console"]
    told = "\n".join(printed)
    assert "feed:old: what EngagementIndex would have shown at" in told
    assert "Not yet: too few matched steps" in told or "Ready to ramp" in told
    *_, last = (line.split() for line in told.splitlines() if line.startswith("new "))
    assert last[:2] == ["new", "0.95"] and int(last[2]) > 20  # of 40 visits with this share
    refused = [line for line in told.splitlines() if line.startswith("error:")]
    assert len(refused) == 1 and "too little overlap" in refused[0]  # to evaluate on 40 visits


def test_the_page_was_played_in_full() -> None:
    """It tells of a policy that is ready, of one that was stopped, and of one that took over."""
    told = going_live.PAGE.read_text()
    assert "Ready to ramp: " in told
    assert "The guardrail has acted: reward per visit of clicks is below that of old" in told
    assert told.count("calls retried or failed  none") == 3


def all_blocks_of(text: str, folder: Path) -> list[tuple[str, str]]:
    page = folder / "page.md"
    page.write_text(text)
    return all_blocks(page)
