"""The page of the HTTP API, from its OpenAPI schema."""

from collections.abc import Container

from sojourn.service.app import Options, create
from sojourn.service.dashboard.reference import Field, calls, models

from .markdown import table

HEAD = """# HTTP API

Made from the schema, which a server has at `/openapi.json`, and as a page at `/docs`. How the calls
are used, with an example of each, statuses, keys and limits is in [the service](../service.md).
Bodies are JSON; a refusal is an [Error](#error).
"""
PREFIX = "/v1/experiments/{experiment}"
"""What most paths begin with."""


def page() -> str:
    """Calls, then the models of their bodies and answers."""
    schema = create(Options(store="memory://")).openapi()
    known = models(schema)
    parts = [HEAD, "## Calls"]
    for call in calls(schema):
        answers = ", ".join(f"{status} {_type(name, known)}" for status, name in call.answers)
        refusals = ", ".join(f"{status} `{word}`" for status, word in call.refusals)
        rows = [
            ("body", _type(call.body or "", known)),
            ("answer", answers),
            ("refusals", refusals),
        ]
        parts += [f"### {call.method} {call.path.replace(PREFIX, '...')}", call.summary]
        parts.append(table([call.method, f"`{call.path}`"], [row for row in rows if row[1]]))
    parts.append("## Models")
    for name, (what, fields) in known.items():
        parts += [f"### {name}", what, _fields(fields, known)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _type(text: str, known: Container[str]) -> str:
    """The type of a body, an answer or a field, its models as links."""
    return " ".join(f"[{w}](#{w.lower()})" if w in known else w for w in text.split())


def _fields(fields: list[Field], known: Container[str]) -> str:
    rows = [(f"`{f.name}`", _type(f.type, known), f.limits, f.default) for f in fields]
    return table(["field", "type", "limits", "default"], rows) if rows else ""
