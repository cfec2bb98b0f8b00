"""Draw the declared figures from saved results, never from a running simulation."""

from typing import TYPE_CHECKING

from .figures import Figure
from .graph import draw_graph
from .lines import lines
from .panels import Graph
from .results import Results
from .settings import SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw(figure: Figure, results: Results) -> "Picture":
    """The picture of a figure; `results` has one for each of its trials."""
    if isinstance(figure.panel, Graph):
        return draw_graph(SETTINGS[figure.panel.problem], figure.title)
    from ..show import curves

    return curves.draw(lines(figure, results))
