"""Simulated users against a running service, or against experiments in the process."""

from .crowd import Crowd, Stay
from .fleet import drive_all
from .play import Plan, Progress, adrive, arm_names, drive
from .report import Report

__all__ = [
    "Crowd", "Plan", "Progress", "Report", "Stay", "adrive", "arm_names", "drive", "drive_all",
]  # fmt: skip
