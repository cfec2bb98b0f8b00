"""The paper as data: its trials, figures and claims hang together."""

import re
from pathlib import Path

import pytest

from sojourn.paper import SETTINGS
from sojourn.paper.claims import CLAIMS, WIDTHS
from sojourn.paper.figures import FIGURES, Curves
from sojourn.paper.trials import TRIALS
from sojourn.show.style import LOOKS
from sojourn.simulation.precision import Precision

DOCS = Path(__file__).parents[2] / "docs"


def test_declarations_hang_together() -> None:
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.section.startswith(("Section", "Appendix")), claim
        assert set(claim.trials) <= set(TRIALS), claim
        assert claim.trials or claim.figure in FIGURES, claim
        assert bool(claim.choice) == bool(claim.of), claim
        assert not claim.of or claim.of in {other.name for other in CLAIMS}, claim
    for figure in FIGURES.values():
        assert figure.section.startswith(("Section", "Appendix", "Theorem"))
        assert set(figure.panel.trials) <= set(TRIALS)
        if isinstance(figure.panel, Curves):
            labels = {label for _, label in figure.panel.shown()}
            assert {*figure.panel.labels, *figure.panel.bounds} <= labels
    for name, trial in TRIALS.items():
        assert trial.name == name and trial.problem in SETTINGS


def test_the_documentation_has_the_main_figures_and_no_others() -> None:
    main = [name for name, figure in FIGURES.items() if figure.main]
    drawn = {path.stem for path in (DOCS / "figures").glob("*.svg")}
    assert drawn == {*main, "verdicts"}
    shown = re.findall(r"\(figures/(.+?)\.svg\)", (DOCS / "reproduction.md").read_text())
    assert shown == ["verdicts", *main]


def test_every_stated_half_width_is_reached_at_the_papers_precision() -> None:
    for name, width in WIDTHS.items():
        wanted = TRIALS[name].precision
        assert isinstance(wanted, float) and wanted <= width


def test_every_trial_is_shown_or_checked() -> None:
    shown = {e for figure in FIGURES.values() for e in figure.panel.trials}
    assert shown | {e for claim in CLAIMS for e in claim.trials} == set(TRIALS)


@pytest.mark.parametrize("name", TRIALS)
def test_every_declared_precision_is_one(name: str) -> None:
    wanted = Precision.of(TRIALS[name].precision, 100_000)
    assert (wanted.width or wanted.share or 0.0) > 0.0
    assert TRIALS[name].quick >= 2


def test_policies_look_alike_in_no_figure() -> None:
    for figure in FIGURES.values():
        if isinstance(figure.panel, Curves) and len(figure.panel.trials) == 1:
            looks = [LOOKS.get(label) for _, label in figure.panel.shown()]
            known = [look for look in looks if look is not None]
            assert len(set(known)) == len(known)
