"""Simulate policies on a problem and estimate their regret."""

from .result import Estimate, Result
from .simulate import simulate

__all__ = ["Estimate", "Result", "simulate"]
