"""The Query page: SPARQL in, a table or a graph out, or what is wrong with it and where. Works as a plain form."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, request
from pyoxigraph import NamedNode

from kgplatform import queries, resources
from kgplatform.describing import Labels
from kgplatform.errors import KgPlatformError, QuerySyntaxError, QueryTimeoutError
from kgplatform.lexing import scan
from kgplatform.queries import NamedQuery
from kgplatform.vocab import OWL, RDF, RDFS, SKOS, XSD
from kgplatform.web.assets import is_built
from kgplatform.web.endpoint import query_status
from kgplatform.web.explaining import explained
from kgplatform.web.frame import language, page, tongues
from kgplatform.web.messages import told
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS, ROWS, Format
from kgplatform.web.rights import Role, client
from kgplatform.web.saving import Saved, SavedQuery
from kgplatform.web.tables import Table, table

SCRIPTS = "kgplatform_scripts"
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
        return _page(kg, request.values.get("query", "").replace("\r\n", "\n"))

    return routes


def show(kg: Graph, saved: SavedQuery) -> Any:
    """The page with a saved query in its editor; it is not run until somebody asks for it."""
    return _page(kg, saved.text, saved=saved)


def _page(kg: Graph, text: str, *, saved: SavedQuery | None = None) -> Any:
    """The page with the text in its editor, and what it finds; a browser with scripts runs it by itself."""
    outcome, trouble, status, why = None, None, 200, ""
    wanted = bool(text.strip()) and saved is None
    scripted = built_here() and "plain" not in request.values
    if wanted and not scripted:
        try:
            outcome = _run(kg, text)
            why = _why(kg, text, outcome)
        except KgPlatformError as error:
            trouble, (status, _) = _trouble(error), query_status(error)
    return page(
        "query.html",
        kg.base,
        status=status,
        text=text or _FIRST,
        ran=wanted,
        saved=saved,
        why=why,
        scripted=scripted and wanted,
        plain=f"/query?{urlencode({'query': text, 'plain': '1'})}",
        may_save=client().role >= Role.WRITE,
        outcome=outcome,
        trouble=trouble,
        examples=[item for item in _shipped() if _speaks_of(item.text, kg)],
        kept=Saved(kg.folder).listed(),
        prefixes=sorted(kg.store.prefixes.items()),
        max_rows=_MAX_ROWS,
        limited=f"{text.rstrip()}\nLIMIT 1000\n",
    )


def built_here() -> bool:
    """Whether the browser said, by the cookie that the scripts set, that it runs them: then they ask for the rows."""
    return request.cookies.get(SCRIPTS) == "1" and is_built() and request.method == "GET"


def _why(kg: Graph, text: str, outcome: Outcome) -> str:
    """Why there are no rows, for a page without scripts."""
    if outcome.table is None or outcome.table.rows:
        return ""
    return explained(kg, text).words(language())


def _run(kg: Graph, text: str) -> Outcome:
    started = time.monotonic()
    limit = kg.settings.server.timeout_seconds
    if scan(text).form in ("CONSTRUCT", "DESCRIBE"):
        reply = kg.workers.stream(kg.resolved(text), media_type="text/turtle", timeout_seconds=limit)
        try:
            graph, cut = _beginning(reply)
        finally:
            reply.close()
        return Outcome(time.monotonic() - started, GRAPHS, graph=graph, cut=cut)
    found = kg.workers.solutions(kg.resolved(text), timeout_seconds=limit, max_rows=_MAX_ROWS)
    seconds = time.monotonic() - started
    if found.boolean is not None:
        return Outcome(seconds, ROWS, boolean=found.boolean)
    labels = Labels(kg.dataset, kg.ontology, tongues())
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
        return Trouble(told(str(error)), seconds=error.seconds)
    if isinstance(error, QuerySyntaxError):
        lines = error.query.splitlines()
        text = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
        return Trouble(told(error.reason), error.line, error.column, text)
    return Trouble(told(str(error)))


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
