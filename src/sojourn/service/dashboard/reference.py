"""The OpenAPI schema as rows for a page: calls, and the models that they take and answer."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
LIMITS = {
    "minimum": "from {:,.12g}", "exclusiveMinimum": "above {:,.12g}", "maximum": "to {:,.12g}",
    "minLength": "from {:,}", "maxLength": "to {:,} characters",
    "minItems": "from {:,}", "maxItems": "to {:,} of them",
}  # fmt: skip


class Call(NamedTuple):
    """A call: where, what it does, the model of its body, and how it ends: well, or refused."""

    method: str
    path: str
    summary: str
    body: str | None
    answers: list[tuple[str, str]]
    refusals: list[tuple[str, str]]


class Field(NamedTuple):
    """A field of a model: its type in words, what limits it, and its default."""

    name: str
    type: str
    limits: str
    default: str


def calls(schema: Schema) -> list[Call]:
    """Every call, in the order of the schema."""
    found = []
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            text = operation.get("description", operation.get("summary", ""))
            ends = sorted(operation["responses"].items())
            call = Call(
                method.upper(),
                path,
                " ".join(text.split()),
                _model(operation.get("requestBody", {})),
                [(status, _model(answer) or "") for status, answer in ends if status < "300"],
                [(status, answer["description"]) for status, answer in ends if status >= "300"],
            )
            found.append(call)
    return found


def models(schema: Schema) -> dict[str, tuple[str, list[Field]]]:
    """Every model by its name: what it is, and its fields."""
    return {
        name: (" ".join(model.get("description", "").split()), list(_fields(model)))
        for name, model in schema["components"]["schemas"].items()
    }


def type_of(schema: Schema) -> str:
    """The type of a value, in words: list of Arm or null."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(map(type_of, schema[word]))
    if "const" in schema or "enum" in schema:
        return " or ".join(map(repr, schema.get("enum", [schema.get("const")])))
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    inner = schema.get("additionalProperties")
    return f"object of {type_of(inner)}" if isinstance(inner, dict) else kind


def _model(part: Schema) -> str | None:
    """The model of a body or an answer, if it has one."""
    found = part.get("content", {}).get("application/json", {}).get("schema")
    return type_of(found) if found else None


def _fields(model: Schema) -> Iterator[Field]:
    required = model.get("required", ())
    for name, field in model.get("properties", {}).items():
        parts = [field, *field.get("anyOf", ())]
        limits = " ".join(
            text.format(part[key]) for part in parts for key, text in LIMITS.items() if key in part
        )
        default = "needed" if name in required else json.dumps(field.get("default"))
        yield Field(name, type_of(field), limits, default)
