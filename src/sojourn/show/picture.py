"""A Matplotlib figure that shows itself in a notebook, whatever else was imported or set there."""

from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from . import style


class Picture(Figure):
    """A figure that belongs to no window: `pyplot` neither knows it nor shows it twice.

    Everything that can be done with a figure can be done with this one. A notebook shows a figure
    only after `pyplot` was imported; this one brings its own picture. Files have fonts that
    publishers take, and the same bytes for the same numbers.
    """

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """As any figure does, with the fonts of the package."""
        with rc_context(style.SETTINGS):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and how large a notebook shows it: sharp on screens with small pixels."""
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=style.DPI)
        width, height = (round(style.SCREEN * inches) for inches in self.get_size_inches())
        return drawn.getvalue(), {"width": width, "height": height}
