"""The study beyond the paper: many policies on many problems."""

from ...study import regrets_as, study
from .claims import CLAIMS
from .draw import draw_where, draw_worst
from .outcomes import BeyondOutcome
from .page import tables
from .trials import TRIALS

STUDY = study(
    "beyond", TRIALS, CLAIMS, tables,
    {"beyond-where": draw_where, "beyond-worst": draw_worst}, regrets_as(BeyondOutcome),
)  # fmt: skip
