"""The Query page: SPARQL in, a table or a graph out, or what is wrong with it and where. Works as a plain form."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flask import Blueprint, request
from pyoxigraph import NamedNode

from kgplatform import queries, resources
from kgplatform.describing import Labels
from kgplatform.errors import KgPlatformError, QuerySyntaxError, QueryTimeoutError
from kgplatform.lexing import scan
from kgplatform.queries import NamedQuery
from kgplatform.vocab import OWL, RDF, RDFS, SKOS, XSD
from kgplatform.web.endpoint import query_status
from kgplatform.web.frame import language, page
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS, ROWS, Format
from kgplatform.web.tables import Table, table

_MAX_ROWS = 1000
_MAX_GRAPH_BYTES = 100_000
_FIRST = "SELECT ?thing ?label WHERE {\n  ?thing a ?class ;\n         rdfs:label ?label .\n}\nLIMIT 20\n"
_PREFIX = re.compile(r"PREFIX\s+(\w+):\s*<([^>]*)>", re.IGNORECASE)
_PREFIXED = re.compile(r"(?<![\w<])(\w+):(\w+)")
_STANDARD = (OWL, RDF, RDFS, SKOS, XSD)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a query: a table, a boolean, or a graph as text (``cut``: its beginning), and its formats."""

    seconds: float
    formats: tuple[Format, ...]
    table: Table | None = None
    boolean: bool | None = None
    graph: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a query was not carried out, with the line it is about where that is known."""

    message: str
    line: int = 0
    column: int = 0
    text: str = ""
    seconds: float | None = None


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the Query page."""
    routes = Blueprint("querying", __name__)

    @routes.route("/query", methods=["GET", "POST"])
    def query() -> Any:
        text = request.values.get("query", "").replace("\r\n", "\n")
        outcome, trouble, status = None, None, 200
        if text.strip():
            try:
                outcome = _run(kg, text)
            except KgPlatformError as error:
                trouble, (status, _) = _trouble(error), query_status(error)
        return page(
            "query.html",
            kg.base,
            status=status,
            text=text or _FIRST,
            ran=bool(text.strip()),
            outcome=outcome,
            trouble=trouble,
            examples=[item for item in _shipped() if _speaks_of(item.text, kg)],
            prefixes=sorted(kg.store.prefixes.items()),
            max_rows=_MAX_ROWS,
            limited=f"{text.rstrip()}\nLIMIT 1000\n",
        )

    return routes


def _run(kg: Graph, text: str) -> Outcome:
    started = time.monotonic()
    limit = kg.settings.server.timeout_seconds
    if scan(text).form in ("CONSTRUCT", "DESCRIBE"):
        reply = kg.workers.stream(text, media_type="text/turtle", timeout_seconds=limit)
        try:
            graph, cut = _beginning(reply)
        finally:
            reply.close()
        return Outcome(time.monotonic() - started, GRAPHS, graph=graph, cut=cut)
    found = kg.workers.solutions(text, timeout_seconds=limit, max_rows=_MAX_ROWS)
    seconds = time.monotonic() - started
    if found.boolean is not None:
        return Outcome(seconds, ROWS, boolean=found.boolean)
    labels = Labels(kg.dataset, kg.ontology, language())
    return Outcome(seconds, ROWS, table=table(found, labels, kg.base))


def _beginning(pieces: Iterable[bytes]) -> tuple[str, bool]:
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) > _MAX_GRAPH_BYTES:
            return bytes(held[:_MAX_GRAPH_BYTES]).rpartition(b"\n")[0].decode("utf-8", "replace"), True
    return held.decode("utf-8", "replace"), False


def _trouble(error: KgPlatformError) -> Trouble:
    if isinstance(error, QueryTimeoutError):
        return Trouble(str(error), seconds=error.seconds)
    if isinstance(error, QuerySyntaxError):
        lines = error.query.splitlines()
        text = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
        return Trouble(error.reason, error.line, error.column, text)
    return Trouble(str(error))


def _speaks_of(query: str, kg: Graph) -> bool:
    """Whether every term of a prefix that the query declares is one of the workspace's ontology."""
    ontology = kg.ontology
    prefixes = dict(_PREFIX.findall(query))
    names = [(prefix, local) for prefix, local in _PREFIXED.findall(query) if prefix in prefixes]
    terms = {NamedNode(prefixes[prefix] + local) for prefix, local in names}
    return all(
        term in ontology.classes or term in ontology.properties or term in ontology.individuals
        for term in terms
        if not term.value.startswith(_STANDARD)
    )


@lru_cache(maxsize=1)
def _shipped() -> tuple[NamedQuery, ...]:
    """The shipped example queries."""
    try:
        resources.folder("sparql")
    except FileNotFoundError:
        return ()
    return tuple(queries.load(name) for name in queries.names() if name.startswith("examples/"))
