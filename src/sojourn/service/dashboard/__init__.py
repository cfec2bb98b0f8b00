"""The dashboard: pages that the server makes, kept up to date by server-sent events."""

from .pages import READABLE, pages

__all__ = ["READABLE", "pages"]
