"""Curves: what is drawn, where names go, and the same bytes for the same numbers."""

from pathlib import Path

import numpy as np
import pytest

from sojourn.show import curves, style
from sojourn.show.curves import spread
from sojourn.show.style import Line, Plot

pytest.importorskip("matplotlib")

X = np.array([1.0, 10.0, 100.0])


LABELS = ("UCB", "mine")


def line(label: str, look: style.Look, slope: float) -> Line:
    y = X * slope
    return Line(label=label, look=look, x=X, y=y, low=y - 1, high=y + 1)


def plot(**more: object) -> Plot:
    lines = list(map(line, LABELS, style.looks(LABELS), (1.0, 1.1)))
    return Plot(lines=lines, x="visits", y="regret", **more)  # type: ignore[arg-type]


def test_lines_have_their_numbers_looks_and_names() -> None:
    (axes,) = curves.draw(plot(log_x=True)).axes
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), 1.1 * X)
    assert [line.get_color() for line in axes.lines] == ["#c44e00", "#111111"]
    assert [text.get_text() for text in axes.texts] == ["UCB", "mine"]
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylim()[0]) == ("log", "linear", 0.0)
    assert len(axes.collections) == 2


def test_names_stand_beside_the_axes_and_apart() -> None:
    (axes,) = curves.draw(plot(log_y=True)).axes
    places = [text.xy for text in axes.texts]
    assert [x for x, _ in places] == [1, 1]
    assert abs(places[0][1] - places[1][1]) > 0.04


def test_long_names_make_the_figure_wider_not_the_axes_vanish() -> None:
    assert style.size(20) == style.COLUMN
    long = line("UCB Q-learning, H=110, c=4, visits=1000, p=0.05, bins=2", style.RAMP[0], 1.0)
    figure = curves.draw(Plot(lines=[long], x="visits", y="regret"))
    (axes,) = figure.axes
    width = axes.get_position().width * figure.get_figwidth()
    assert width == pytest.approx(style.LEAST)


def test_names_can_be_written_on_the_lines() -> None:
    (axes,) = curves.draw(plot(named_at=50.0)).axes
    assert [text.get_position() for text in axes.texts] == [(50.0, 50.0), (50.0, 55.0)]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_the_same_plot_is_the_same_file(tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{n}{suffix}" for n in range(2)]
    for file in files:
        curves.write(curves.draw(plot(title="T")), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_files_have_fonts_that_publishers_take(tmp_path: Path) -> None:
    """Whoever writes them: Type 42, which is TrueType, and not Type 3."""
    figure = curves.draw(plot())
    curves.write(figure, tmp_path / "ours.pdf")
    figure.savefig(tmp_path / "theirs.pdf")
    for name in ("ours.pdf", "theirs.pdf"):
        written = (tmp_path / name).read_bytes()
        assert b"/CIDFontType2" in written and b"/Type3" not in written


def test_a_picture_brings_its_own_for_notebooks() -> None:
    """Of the size on screen that its inches say, whatever `pyplot` was told."""
    shown, how = curves.draw(plot(), (4.0, 3.0))._repr_png_()
    assert shown.startswith(b"\x89PNG")
    width, height = (int.from_bytes(shown[at : at + 4]) for at in (16, 20))
    assert (width, height) == (4 * style.DPI, 3 * style.DPI)
    assert how == {"width": 4 * style.SCREEN, "height": 3 * style.SCREEN}


def test_names_keep_their_distance() -> None:
    places = spread([0.1, 0.12, 0.11, 0.5, 0.58], 0.1)
    ordered = sorted(places)
    assert np.diff(ordered).min() > 0.1 - 1e-12
    assert np.argsort(places).tolist() == [0, 2, 1, 3, 4]
    assert spread([0.0, 0.5], 0.1) == [0.0, 0.5]


def test_policies_of_a_plot_look_unlike_each_other() -> None:
    labels = ["UCB", "ULCB", "ULCB, c0=-0.5", "KL-ULCB", "IMED", "Thompson", "Uniform"]
    assert len({look.colour for look in style.looks(labels)}) == len(labels)


def test_a_policy_looks_the_same_whoever_is_beside_it() -> None:
    assert style.looks(["mine", "KL-ULCB"])[1] == style.looks(["KL-ULCB", "UCB"])[0]
