"""The study of the horizon: growth with the number of visits, the worst runs, not knowing it."""

from ...study import regrets_as, study
from .claims import CLAIMS
from .page import draw_horizon, tables
from .trials import TRIALS, HorizonOutcome

STUDY = study(
    "horizon", TRIALS, CLAIMS, tables, {"horizon": draw_horizon}, regrets_as(HorizonOutcome)
)
