"""The OpenAPI description of a model's server, made from the profile of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import __version__

LARGEST_NUMBER = 1e30
LARGEST_WHOLE = 2**53
LONGEST_TEXT = 10_000


def column_schema(about: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of one cell; null is missing.

    >>> column_schema({"kind": "boolean"})
    {'type': ['boolean', 'null']}
    """
    kind = about["kind"]
    if kind == "number" and about.get("whole") and about.get("role") != "numeric":
        return {"type": ["integer", "null"], "minimum": -LARGEST_WHOLE, "maximum": LARGEST_WHOLE}
    if kind == "number":
        return {"type": ["number", "null"], "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER}
    if kind == "boolean":
        return {"type": ["boolean", "null"]}
    text: dict[str, Any] = {"type": ["string", "null"], "maxLength": LONGEST_TEXT}
    return text | {"format": "date-time"} if kind == "date" else text


def description(
    title: str,
    target: str,
    profile: Mapping[str, Mapping[str, Any]],
    classes: list[Any] | None,
    most_rows: int,
    auth: bool,
) -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    row = {
        "type": "object",
        "properties": {name: column_schema(about) for name, about in profile.items()},
        "required": list(profile),
        "additionalProperties": False,
    }
    body: dict[str, Any] = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": row, "minItems": 1, "maxItems": most_rows}},
        "required": ["rows"],
        "additionalProperties": False,
    }
    if classes is not None:
        body["properties"]["probabilities"] = {"type": "boolean", "default": False}
    answer: dict[str, Any] = {
        "type": "object",
        "properties": {
            "target": {"type": "string"},
            "predictions": {"type": "array"},
            "classes": {"type": "array"},
            "probabilities": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        },
        "required": ["target", "predictions"],
    }
    problem = {
        "type": "object",
        "properties": {
            "error": {"type": "string"},
            "problems": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "row": {"type": "integer"},
                        "column": {"type": "string"},
                        "reason": {"type": "string"},
                    },
                },
            },
        },
        "required": ["error"],
    }

    def refused(words: str) -> dict[str, Any]:
        return {"description": words, "content": {"application/json": {"schema": problem}}}

    common = {"500": refused("A defect, told without details."), "405": refused("Another method is meant.")}
    if auth:
        common["401"] = refused("No token, or another one.")
    guarded: dict[str, Any] = {"security": [{"token": []}]} if auth else {}
    predict: dict[str, Any] = {
        "summary": f"Predict {target}",
        "operationId": "predict",
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "The predictions.", "content": {"application/json": {"schema": answer}}},
            "400": refused("The body is no JSON."),
            "408": refused("The body took too long to come."),
            "413": refused("The body or the number of rows is too large."),
            "415": refused("The body is neither JSON nor Arrow."),
            "422": refused("Rows that do not fit the model, with every problem."),
            "503": refused("Too much is waiting, or the prediction took too long; try again."),
            **common,
        },
        **guarded,
    }
    health = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}

    def simple(name: str, words: str, content: dict[str, Any], secret: bool) -> dict[str, Any]:
        said = {
            "200": {"description": words, "content": content},
            **{k: v for k, v in common.items() if secret or k != "401"},
        }
        return {"get": {"summary": words, "operationId": name, "responses": said, **(guarded if secret else {})}}

    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__, "description": f"Predictions of '{target}' by {title}."},
        "paths": {
            "/predict": {"post": predict},
            "/health": simple("health", "Whether the server answers.", {"application/json": {"schema": health}}, False),
            "/metrics": simple(
                "metrics", "Counters for Prometheus.", {"text/plain": {"schema": {"type": "string"}}}, True
            ),
            "/openapi.json": simple(
                "openapi", "This document.", {"application/json": {"schema": {"type": "object"}}}, True
            ),
        },
    }
    if auth:
        document["components"] = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
    return document
