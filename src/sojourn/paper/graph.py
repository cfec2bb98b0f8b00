"""The transition graph of a two-state user: three states and the transitions between them."""

from typing import TYPE_CHECKING, Any, NamedTuple

from ..problem import Problem
from ..show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


class Node(NamedTuple):
    """Where a state is drawn, and what is written in it."""

    x: float
    y: float
    name: str


class Edge(NamedTuple):
    """An arrow from one state to another: how it bends, where its text goes, and the text.

    An edge from a state to itself is a loop above it; the sign of its bend is its direction.
    """

    origin: int
    target: int
    bend: float
    x: float
    y: float
    text: str


STATES = (Node(0.25, 0.58, "0"), Node(0.75, 0.58, "1"), Node(0.5, 0.1, "g"))
EDGES = (
    Edge(0, 1, -0.25, 0.5, 0.76, "μ (1 - q01)"),
    Edge(1, 0, -0.25, 0.5, 0.4, "(1 - μ)(1 - q10)"),
    Edge(0, 2, 0.2, 0.15, 0.24, "(1 - μ) q00 + μ q01"),
    Edge(1, 2, -0.2, 0.85, 0.24, "(1 - μ) q10 + μ q11"),
)
LOOPS = (Edge(0, 0, -1.0, 0.2, 0.93, "(1 - μ)(1 - q00)"), Edge(1, 1, 1.0, 0.8, 0.93, "μ (1 - q11)"))
RADIUS = 13.0
"""Of a state, in points."""
LOOP = (0.03, 0.07, 1.9)
"""Half the distance of a loop's ends, their height above the state, and the bend."""


def draw_graph(problem: Problem, title: str) -> "Picture":
    """States as circles, transitions as arrows with formula and the number for the best arm."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Picture

    from ..show.curves import add_title

    with rc_context(style.SETTINGS):
        picture = Picture(figsize=style.COLUMN, dpi=style.DPI)
        axes = picture.add_axes(style.WHOLE)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.axis("off")
        _draw_edges(axes, problem)
        _draw_states(axes)
        add_title(picture, title)
    return picture


def _draw_edges(axes: Any, problem: Problem) -> None:
    for edge in EDGES:
        one, other = STATES[edge.origin], STATES[edge.target]
        _arrow(axes, (one.x, one.y), (other.x, other.y), edge.bend, RADIUS)
    side, up, bend = LOOP
    for edge in LOOPS:
        node = STATES[edge.origin]
        ends = (node.x - edge.bend * side, node.y + up), (node.x + edge.bend * side, node.y + up)
        _arrow(axes, *ends, -edge.bend * bend, 0)
    matrix = problem.transition_matrix(problem.best_arm)
    for edge in (*EDGES, *LOOPS):
        number = f"{edge.text}\n= {matrix[edge.origin, edge.target]:.4g}"
        axes.text(edge.x, edge.y, number, ha="center", va="center")


def _draw_states(axes: Any) -> None:
    for node in STATES:
        axes.plot(
            [node.x], [node.y], "o", markersize=2 * RADIUS, markerfacecolor="white",
            markeredgecolor="black", markeredgewidth=style.LINE,
        )  # fmt: skip
        axes.text(node.x, node.y, node.name, ha="center", va="center")


def _arrow(
    axes: Any, start: tuple[float, float], end: tuple[float, float], bend: float, shrink: float
) -> None:
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", color="black",
        mutation_scale=style.TEXT, linewidth=style.LINE, shrinkA=shrink, shrinkB=shrink,
    )  # fmt: skip
    axes.add_patch(arrow)
