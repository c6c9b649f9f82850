"""``/api/openapi.json``: the addresses of the server for programs (https://spec.openapis.org/oas/v3.1.0)."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify

from kgplatform import __version__
from kgplatform.web import ask_options
from kgplatform.web.negotiation import GRAPHS, ROWS
from kgplatform.web.rights import Role, require

_JSON = "application/json"
_PROBLEM = {
    "description": "why not, and the way on",
    "content": {"application/problem+json": {"schema": {"type": "object"}}},
}


def blueprint() -> Blueprint:
    """The route of the document."""
    routes = Blueprint("openapi", __name__)

    @routes.route("/api/openapi.json")
    def document() -> Response:
        require(Role.READ)
        return jsonify(described())

    return routes


def described() -> dict[str, Any]:
    """The document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "kgplatform", "version": __version__, "summary": "A knowledge graph: ask, query, take away."},
        "paths": {
            "/sparql": {"get": _sparql(), "post": _posted()},
            "/graphs": _graphs(),
            "/export": {"get": _export()},
            "/resource": {"get": _read("what the graph says about an IRI", (_IRI, _AT), _graph_types())},
            "/.well-known/void": {"get": _read("what the data holds, counted", (), _graph_types())},
            "/context.jsonld": {"get": _read("the names of classes and properties", (), ("application/ld+json",))},
            "/sitemap.xml": {"get": _read("the pages of things", (), ("application/xml",))},
            "/conformance": {"get": _read("how the W3C's tests went", (), ("text/html", "text/turtle"))},
            "/api/search": {
                "get": _read("things and passages", (_text("q", "what to look for", required=True),), (_JSON,))
            },
            "/api/ask": {"get": _read("the answer to a question", _asked(), (_JSON,))},
            "/api/jobs": {"get": _read("how far the reading of documents is", (), (_JSON,))},
            "/api/versions": {"get": _read("the states that can be read", (), (_JSON,))},
            "/api/queries": {"get": _read("the queries that are running", (), (_JSON,))},
            "/api/queries/{name}": {"delete": _cancel()},
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _text(name: str, what: str, *, required: bool = False, **schema: object) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": what,
        "schema": {"type": "string", **schema},
    }


_AT = _text("at", "the number or time of an earlier state")


_IRI = _text("iri", "the IRI", required=True)


def _asked() -> tuple[dict[str, Any], ...]:
    return (
        _text("question", "in English or Chinese", required=True),
        _text("conversation", "a name under which the turns are kept"),
        _text("now", "the moment as of which is asked", format="date-time"),
        *(_text(name, "as for `kgplatform ask`", enum=list(values)) for name, values in ask_options.VALUES.items()),
        {
            **_text("drafts", "so many queries vote"),
            "schema": {"type": "integer", "minimum": 0, "maximum": ask_options.MOST_DRAFTS},
        },
    )


def _answers(types: tuple[str, ...]) -> dict[str, Any]:
    content: dict[str, Any] = {media_type: {} for media_type in types}
    return {"200": {"description": "the answer", "content": content}, "default": _PROBLEM}


def _read(what: str, parameters: tuple[dict[str, Any], ...], types: tuple[str, ...]) -> dict[str, Any]:
    return {"summary": what, "parameters": list(parameters), "responses": _answers(types)}


def _graph_types() -> tuple[str, ...]:
    return tuple(item.media_type for item in GRAPHS)


def _row_types() -> tuple[str, ...]:
    return tuple(item.media_type for item in ROWS)


def _sparql() -> dict[str, Any]:
    parameters = (
        _text("query", "SPARQL 1.1; none: the description of the service"),
        _text("default-graph-uri", "the default graph instead", format="uri"),
        _text("named-graph-uri", "a named graph instead", format="uri"),
        _text("format", "the name of a format, above Accept"),
        {**_text("timeout", "seconds, within what the settings allow"), "schema": {"type": "number"}},
        _AT,
    )
    return _read("a query", parameters, (*_row_types(), *_graph_types()))


def _posted() -> dict[str, Any]:
    form = {"type": "object", "properties": {"query": {"type": "string"}, "update": {"type": "string"}}}
    content = {
        "application/x-www-form-urlencoded": {"schema": form},
        "application/sparql-query": {"schema": {"type": "string"}},
        "application/sparql-update": {"schema": {"type": "string"}},
    }
    answers = {**_answers((*_row_types(), *_graph_types())), "204": {"description": "the update is carried out"}}
    return {"summary": "a query or an update", "requestBody": {"content": content}, "responses": answers}


def _graphs() -> dict[str, Any]:
    """The operations on a graph, which ``graph`` or ``default`` names."""
    named = (_text("graph", "the IRI of the graph", format="uri"), _text("default", "the default graph"))
    body = {"content": {media_type: {"schema": {"type": "string"}} for media_type in _graph_types()}}
    done = {"204": {"description": "done"}, "201": {"description": "the graph is new"}, "default": _PROBLEM}
    written = {"parameters": list(named), "requestBody": body, "responses": done}
    return {
        "get": _read("a graph", (*named, _text("format", "the name of a format"), _AT), _graph_types()),
        "put": {"summary": "makes the body the graph", **written},
        "post": {"summary": "adds the body to the graph", **written},
        "delete": {"summary": "takes the graph away", "parameters": list(named), "responses": done},
    }


def _export() -> dict[str, Any]:
    parameters = (
        _text("format", "nquads, turtle, graphml …; none: the page"),
        _text("graph", "only this graph"),
        _text("class", "only the things of this class"),
        _text("since", "only what came with documents read since this day", format="date"),
        _text("canonical", "RDFC-1.0 names for blank nodes"),
        _text("gz", "packed with gzip"),
        _text("zst", "packed with Zstandard"),
        _AT,
    )
    types = ("text/html", *_graph_types(), "application/xml", "application/gzip", "application/zstd")
    return _read("the graph as a file", parameters, types)


def _cancel() -> dict[str, Any]:
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    answers = {"204": {"description": "it is ended"}, "default": _PROBLEM}
    return {"summary": "ends a running query", "parameters": [name], "responses": answers}
