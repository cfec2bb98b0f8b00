"""The study of the default policy: the goals it was given, on fresh problems and seeds."""

from ...study import regrets_as, study
from .page import draw_frontier, tables
from .rows import CLAIMS
from .singles import SinglesOutcome
from .trials import TRIALS

STUDY = study(
    "default", TRIALS, CLAIMS, tables, {"frontier": draw_frontier}, regrets_as(SinglesOutcome)
)
