"""Simulated users for a running service: first traffic, load tests, regret over HTTP."""

from sojourn.service.demo import Crowd, Stay

from .fleet import drive_all
from .own import OwnRecommender
from .report import LoadReport
from .traffic import OnProgress, Traffic, adrive, arm_names, drive

__all__ = [
    "Crowd", "LoadReport", "OnProgress", "OwnRecommender", "Stay", "Traffic", "adrive", "arm_names",
    "drive", "drive_all",
]  # fmt: skip
