"""Experiments over HTTP: the API, the dashboard, metrics, and simulated traffic."""
