"""The paper, as data: its settings, trials, figures and claims.

`sojourn.paper.reproduce.reproduction` makes the study that runs, draws and checks them.
"""

from ..problem_files import SETTINGS

__all__ = ["SETTINGS"]
