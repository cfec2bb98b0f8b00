"""Who is acting, for the audit log."""

from contextvars import ContextVar

ACTING: ContextVar[str] = ContextVar("sojourn_acting", default="process")
"""The service sets it to the id of the request's key; threads that it starts inherit it."""
