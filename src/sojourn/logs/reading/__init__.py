"""Logs as they come become steps of visits."""
