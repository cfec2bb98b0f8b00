"""What figures show and how they look: a policy has one colour and dash, readable in grey."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

COLUMN = (3.5, 2.6)  # inches; the width of a column of a paper
DPI, POINTS, SCREEN = 200, 72, 150  # in an inch: dots, points, pixels of a notebook
TEXT = 7.0  # points; all text
LINE, THIN, BOUND = 1.2, 0.6, 1.0  # points: curves, axes, bounds
BAND = 0.2
GREY = "#777777"
LOWER_DASHES = (8, 2, 1, 2)
NAME_GAP, NAME_OFFSET = 1.2, 3
"""Between names at the ends of curves, in lines of text; and from the axes, in points."""
LEFT, RIGHT, TOP, BOTTOM = 0.6, 0.04, 0.36, 0.36
"""Inches around the axes. Fixed margins: to measure text first takes longer than to draw it."""
LEAST = 1.0  # inches; axes are at least so wide
LETTER = 0.56  # a letter is about so wide, as a share of the size of the text
TITLE_AT = 0.02  # from the corner, as a share of the figure
TICKS = 5  # at most so many on a linear x axis
WHOLE = (0.02, 0.02, 0.96, 0.87)  # the figure below its title, for a graph
BOX = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}  # behind names on their lines
SETTINGS = {
    "font.size": TEXT,
    "font.family": "DejaVu Sans",
    "axes.linewidth": THIN,
    "pdf.fonttype": 42,  # TrueType: many publishers refuse Type 3, which is the default
    "ps.fonttype": 42,
    "svg.hashsalt": "sojourn",
}
"""For Matplotlib."""

Size = tuple[float, float]
"""Width and height in inches."""


def size(letters: int = 0, wanted: Size = COLUMN) -> Size:
    """Size of a figure: as wanted, or wider if names of this many letters leave little of it."""
    return max(wanted[0], LEFT + LEAST + _names(letters) + RIGHT), wanted[1]


def frame(letters: int = 0, wanted: Size = COLUMN) -> tuple[float, float, float, float]:
    """The place of the axes, as shares of `size`, with room for this many letters on the right."""
    width, height = size(letters, wanted)
    across, up = width - LEFT - RIGHT - _names(letters), height - TOP - BOTTOM
    return LEFT / width, BOTTOM / height, across / width, up / height


def _names(letters: int) -> float:
    return (letters * LETTER * TEXT + NAME_OFFSET) / POINTS if letters else 0.0


class Look(NamedTuple):
    """Colour, dashes and width of a curve."""

    colour: str
    dashes: str | tuple[float, tuple[float, ...]]
    width: float = LINE


SOLID, DASHED, DOTDASH = "-", (0.0, (5.0, 1.5)), (0.0, (6.0, 1.5, 1.0, 1.5))
SHORT = (0.0, (2.0, 1.2))

LOOKS: dict[str, Look] = {
    label: look
    for look, labels in {
        Look("#c44e00", DASHED): ["UCB"],
        Look("#e08214", SOLID): ["ULCB", "DISC-ULCB", "ULCB, right signs"],
        Look("#a6611a", SHORT): ["ULCB, opposite", "CONT-ULCB", "ULCB, wrong signs"],
        Look("#0b3c6f", DASHED): ["KL-UCB"],
        Look("#2b83ba", SOLID): ["KL-ULCB", "DISC-KL-ULCB", "KL-ULCB, right signs"],
        Look("#35978f", SHORT): ["KL-ULCB, opposite", "CONT-KL-ULCB", "KL-ULCB, wrong signs"],
        Look("#1b5e20", DASHED): ["IMED"],
        Look("#4daf4a", SOLID): ["Gated IMED"],
        Look("#8bbd3c", DOTDASH): ["Learned IMED"],
        Look("#7b3294", DOTDASH): ["Q-learning", "Q-learning, ε-greedy"],
        Look("#111111", DOTDASH): ["UCB Q-learning", "Q-learning, UCB"],
    }.items()
    for label in labels
}
"""By a policy's label. Warm colours: Hoeffding's bound; cold ones: KL; green: IMED; plain upper
bounds are dashed."""

RAMP = (
    Look("#111111", SOLID),
    Look("#7b3294", DASHED),
    Look("#c44e00", DOTDASH),
    Look("#2b83ba", SHORT),
    Look("#e0a030", SOLID),
    Look("#999999", DASHED),
)
"""Colours of other policies, and of values of a parameter in order."""


def look(label: str, number: int) -> Look:
    """The look of a policy, by its label or by its number among others."""
    return LOOKS.get(label) or RAMP[number % len(RAMP)]


def looks(labels: Sequence[str]) -> list[Look]:
    """One for each policy of a plot, unlike the others while colours last."""
    taken = {LOOKS[label].colour for label in labels if label in LOOKS}
    free = cycle([how for how in RAMP if how.colour not in taken] or RAMP)
    return [LOOKS[label] if label in LOOKS else next(free) for label in labels]


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """A curve; with `low` and `high` it has a band."""

    label: str
    look: Look
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Plot:
    """Lines, what their axes are, and where they are named: at x = `named_at`, or at their ends."""

    lines: Sequence[Line]
    x: str
    y: str
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    bottom: float = 0.0  # where a linear y axis begins
    named_at: float | None = None
