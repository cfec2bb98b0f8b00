"""The verdicts of a report as one picture: a bar for each kind of claim, a colour for each verdict.

It is SVG text, not drawn by Matplotlib, so that it has the page's own colours, light and dark; as a
file of its own it has those of paper.
"""

from collections.abc import Iterator, Mapping
from html import escape
from math import ceil
from typing import Any

from .reports import Report, count, in_words
from .verdicts import Verdict

WIDTH, ROW, BAR, LINE = 440, 46, 20, 22
"""Of the picture, of a kind, of its bar, of a line of the legend."""
LETTER = 9
"""A digit with room around it is about so wide."""
INK, PAPER = "var(--ink, #16191d)", "var(--paper, #fff)"
COLOURS = {
    Verdict.CONFIRMED: "var(--good, #00612e)",
    Verdict.NOT_YET: "var(--blue, #1f6fa8)",
    Verdict.NOT_CONFIRMED: "var(--bad, #a3000b)",
    Verdict.UNDECIDED: "var(--open, #6b4e00)",
}


def verdict_bars(report: Report[Any]) -> str:
    """How many claims of each kind were confirmed, and how many were not: an SVG element."""
    kinds = {kind: count(found) for kind, found in report.kinds.items()}
    most = max((sum(counts.values()) for counts in kinds.values()), default=1)
    parts = [
        part for n, (kind, counts) in enumerate(kinds.items())
        for part in _bar(kind, counts, ROW * n, WIDTH / most)
    ]  # fmt: skip
    below = ROW * len(kinds) + LINE / 2
    parts += _legend(report.counts, below)
    height = below + LINE * ceil(len(COLOURS) / 2)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img" '
        f'aria-label="{escape(_in_words(kinds))}" style="font: 14px system-ui, sans-serif">'
    )
    ground = f'<rect width="100%" height="100%" style="fill: {PAPER}"/>'
    return "\n".join([head, ground, *parts, "</svg>"])


def _bar(kind: str, counts: Mapping[Verdict, int], y: float, scale: float) -> Iterator[str]:
    share = f"{counts[Verdict.CONFIRMED]} of {sum(counts.values())}"
    yield _text(0, y + 14, kind)
    yield _text(WIDTH, y + 14, share, "end")
    x = 0.0
    for verdict, n in counts.items():
        if n:
            yield _rect(x, y + 20, scale * n, BAR, verdict, f"{n} {verdict.value}")
            if scale * n >= LETTER * (len(str(n)) + 1):
                yield _text(x + scale * n / 2, y + 35, str(n), "middle", PAPER)
        x += scale * n


def _legend(counts: Mapping[Verdict, int], y: float) -> Iterator[str]:
    for n, verdict in enumerate(COLOURS):
        x, top = WIDTH / 2 * (n % 2) * 0.8, y + LINE * (n // 2)
        yield _rect(x, top, 12, 12, verdict, verdict.value)
        yield _text(x + 18, top + 11, f"{counts[verdict]} {verdict.value}")


def _rect(x: float, y: float, width: float, height: float, verdict: Verdict, title: str) -> str:
    return (
        f'<rect x="{x:.5g}" y="{y:g}" width="{width:.5g}" height="{height:g}" '
        f'style="fill: {COLOURS[verdict]}; stroke: {PAPER}"><title>{escape(title)}</title></rect>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    return (
        f'<text x="{x:.5g}" y="{y:g}" text-anchor="{anchor}" style="fill: {colour}">'
        f"{escape(words)}</text>"
    )


def _in_words(kinds: Mapping[str, Mapping[Verdict, int]]) -> str:
    return "; ".join(f"{kind}: {in_words(counts)}" for kind, counts in kinds.items())
