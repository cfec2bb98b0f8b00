"""Experiments as data: what is simulated, claimed, drawn and reported."""
