"""The problems of the paper's figures, which everything knows by name."""

from ..settings import SETTINGS as SETTINGS, moving_average_problem as moving_average_problem
