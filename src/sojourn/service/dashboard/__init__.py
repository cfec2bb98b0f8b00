"""The dashboard: pages that the server makes, kept up to date by server-sent events."""

from .pages import routes

__all__ = ["routes"]
