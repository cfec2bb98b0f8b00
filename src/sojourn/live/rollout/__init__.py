"""Variants of an experiment: their allocation, comparison and guardrail."""
