"""The Query page: SPARQL in, a table or a graph out, or what is wrong with it and where. Works as a plain form.

``?explain=1`` shows how the query runs instead of its rows.

``/api/why-empty``, ``/api/why-slow`` and ``/api/with-places`` say as JSON why a query finds nothing or takes long, and
how it would ask for places. Saved queries lie in the workspace, a file ``sparql/<slug>.rq`` each, in the form that
`kgplatform.resources` reads: a question that the query answers is its summary, and makes it an example of how such
questions are put. ``/q/<slug>`` opens one; ``/api/saved`` lists them, and with the right to write keeps and removes.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import Literal, NamedNode

from kgplatform import resources
from kgplatform import resources as queries
from kgplatform.entities import Labels
from kgplatform.errors import KgPlatformError, NotFoundError, QuerySyntaxError, QueryTimeoutError
from kgplatform.ontology.schema import Word, label_of
from kgplatform.resources import NamedQuery
from kgplatform.server.access import EMBEDDED, Role, client, require
from kgplatform.server.frame import is_built, language, page, tongues
from kgplatform.server.http import problem, query_status, told
from kgplatform.server.places import asking_for_places
from kgplatform.server.result_tables import CellTable, shortened, table
from kgplatform.server.words import phrase
from kgplatform.sparql.emptiness import Emptiness, Run, why_empty, why_slow
from kgplatform.sparql.protocol import GRAPHS, ROWS, ProtocolError
from kgplatform.sparql.query_plan import MOST_ROWS, QueryPlan, explain
from kgplatform.sparql.tokens import declared_prefixes, read_only_issues, scan, tokens
from kgplatform.text import normalise
from kgplatform.types import Solutions, Term
from kgplatform.vocab import COMMENT, LABEL, OWL, RDF, RDFS, SH, SKOS, XSD

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


def explained(kg: KnowledgeGraph, query: str) -> Emptiness:
    """Why the query finds nothing; each trial runs in a worker that is killed at its deadline."""
    return why_empty(query, _trials(kg))


def _trials(kg: KnowledgeGraph, *, name: str = "") -> Run:
    def run(text: str, limit: int, seconds: float) -> Solutions:
        return kg.workers.solutions(
            text, timeout_seconds=seconds, max_rows=limit, client=client().name if name else "", name=name
        )

    return run


def planned(kg: KnowledgeGraph, text: str, *, name: str = "") -> dict[str, Any]:
    """How the query runs, for the template of plans; what counts goes by the ``name``, which cancels it.

    Raises:
        QueryError: the query is wrong, or was cancelled.
    """
    kg.workers.check(text)
    plan = explain(text, _trials(kg, name=name))
    verdict, line, rows = plan.verdict
    said = phrase(f"plan_{verdict}", language(), line=line, n=f"{rows:,}{'+' if rows >= MOST_ROWS else ''}")
    return {"plan": plan, "said": said, "most": MOST_ROWS, "short": partial(shortened, prefixes=_by_length(kg))}


def plan_record(kg: KnowledgeGraph, text: str, *, name: str) -> dict[str, Any]:
    """The plan as JSON, with the same as HTML for the page.

    Raises:
        QueryError: as for `planned`.
    """
    found = planned(kg, text, name=name)
    plan: QueryPlan = found["plan"]
    steps = [asdict(step) | {"kind": step.kind.value, "slow": n == plan.slow} for n, step in enumerate(plan.steps)]
    html = page("plan.html", kg.base, **found).get_data(as_text=True)
    return {"said": found["said"], "most": MOST_ROWS, "steps": steps, "html": html}


def _by_length(kg: KnowledgeGraph) -> list[tuple[str, str]]:
    return sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1]))


def _add_explanations(routes: Blueprint, kg: KnowledgeGraph) -> None:
    def short(text: str) -> str:
        return shortened(text, kg.store.prefixes.items())

    @routes.route("/api/why-empty", methods=["GET", "POST"])
    def why() -> Response:
        text = request.values.get("query", "")
        if not text.strip():
            return problem(400, "Bad request", "send query=… with a SELECT or ASK query that finds nothing")
        try:
            found = explained(kg, text)
        except KgPlatformError as error:
            return problem(400, "Bad request", str(error))
        culprit = found.culprit
        return jsonify(
            cause=found.cause.value,
            words=short(found.words(language())),
            line=culprit.line if culprit else 0,
            conditions=[{"text": short(c.text), "line": c.line, "without": c.without} for c in found.counts],
            near=[short(term) for term in found.near],
            relaxed=found.relaxed,
        )

    @routes.route("/api/why-slow", methods=["GET", "POST"])
    def slow() -> Response:
        text = request.values.get("query", "")
        if not text.strip():
            return problem(400, "Bad request", "send query=… with a query that takes long")
        found = why_slow(text, _trials(kg))  # nothing outside is asked, whatever SERVICE it names
        named = found.apart or next(iter(found.broad), None)
        return jsonify(
            words=short(found.words(language())),
            line=named.line if named else 0,
            patterns=found.patterns,
            broad=[{"text": short(item.text), "line": item.line} for item in found.broad],
        )

    @routes.route("/api/with-places", methods=["GET", "POST"])
    def with_places() -> Response:
        text, variable = request.values.get("query", ""), request.values.get("variable", "")
        return jsonify(query=asking_for_places(text, variable, kg.store))


FOLDER = "sparql"
MAX_CHARACTERS = 100_000
_SLUG = re.compile(r"[^\W_](?:[\w-]{0,78}[^\W_])?")
_HEADER = re.compile(r"#\+\s*([\w-]+)\s*:\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query of the workspace: ``question`` is empty where it was saved without one."""

    slug: str
    text: str
    question: str
    changed: datetime


class Saved:
    """The queries that lie in a workspace."""

    def __init__(self, workspace: Path) -> None:
        self._folder = workspace / FOLDER

    def listed(self) -> list[SavedQuery]:
        """All of them, the latest first."""
        found = [self._read(path) for path in self._folder.glob("*.rq")] if self._folder.is_dir() else []
        return sorted((item for item in found if item), key=lambda item: item.changed, reverse=True)

    def find(self, slug: str) -> SavedQuery:
        """The query of that name.

        Raises:
            NotFoundError: there is none.
        """
        found = self._read(self._folder / f"{slug}.rq") if _SLUG.fullmatch(slug) else None
        if found is None:
            raise NotFoundError(f"no query is saved as {slug!r}", name=slug)
        return found

    def keep(self, slug: str, text: str, question: str = "") -> SavedQuery:
        """Writes the query, whole or not at all; one of that name is replaced.

        Raises:
            ProtocolError: the name, the text or the question will not do.
        """
        if not _SLUG.fullmatch(slug):
            raise ProtocolError(400, "Bad request", "a name has letters, digits and hyphens, 80 at most")
        if not text.strip() or len(text) > MAX_CHARACTERS:
            raise ProtocolError(400, "Bad request", f"a query has 1 to {MAX_CHARACTERS:,} characters")
        if issues := read_only_issues(text):
            raise ProtocolError(400, "Query refused", "; ".join(issues))
        asked = " ".join(question.split())[:500]
        body = "\n".join(line for line in text.split("\n") if not _HEADER.fullmatch(line)).strip("\n")
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{slug}.rq"
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(f"#+ summary: {asked or slug}\n\n{body}\n", encoding="utf-8")
        part.replace(path)
        return self.find(slug)

    def drop(self, slug: str) -> None:
        """Removes the query of that name.

        Raises:
            NotFoundError: there is none.
        """
        self.find(slug)
        (self._folder / f"{slug}.rq").unlink()

    def _read(self, path: Path) -> SavedQuery | None:
        try:
            text = path.read_text(encoding="utf-8")
            changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        except (OSError, UnicodeDecodeError):
            return None
        summary = ""
        for line in text.split("\n"):
            match = _HEADER.fullmatch(line)
            if match and match[1] == "summary":
                summary = match[2]
        question = summary if summary != path.stem else ""
        return SavedQuery(path.stem, text, question, changed)


def slug_of(text: str) -> str:
    """A name for an address, from a question or any words.

    >>> slug_of("Which hotels are near Xizha?")
    'which-hotels-are-near-xizha'
    """
    return re.sub(r"[\W_]+", "-", normalise(text)).strip("-")[:60].strip("-")


def _add_saved(routes: Blueprint, kg: KnowledgeGraph, own: Callable[[], Iterable[tuple[str, str]]]) -> None:
    saved = Saved(kg.folder)

    @routes.get("/q/<slug>")
    def opened(slug: str) -> Any:  # not run until somebody asks for it
        found = saved.find(slug)
        return _page(kg, found.text, own(), saved=found)

    @routes.get("/api/saved")
    def listed() -> Response:
        return jsonify({"queries": [_record(item) for item in saved.listed()]})

    @routes.put("/api/saved/<slug>")
    def keep(slug: str) -> Any:
        require(Role.WRITE)
        record = request.get_json(silent=True)
        text, question = (record.get(key, "") if isinstance(record, dict) else "" for key in ("query", "question"))
        if not isinstance(text, str) or not isinstance(question, str):
            raise ProtocolError(400, "Bad request", 'send {"query": "…", "question": "…"} as JSON')
        return jsonify(_record(saved.keep(slug, text, question)))

    @routes.delete("/api/saved/<slug>")
    def drop(slug: str) -> Any:
        require(Role.WRITE)
        saved.drop(slug)
        return Response(status=204)


def _record(item: SavedQuery) -> dict[str, str]:
    return {
        "slug": item.slug,
        "query": item.text,
        "question": item.question,
        "changed": item.changed.isoformat(timespec="seconds"),
        "page": f"/q/{item.slug}",
    }


SCRIPTS = "kgplatform_scripts"
_MAX_ROWS = 1000
_MAX_GRAPH_BYTES = 100_000
_FIRST = "SELECT DISTINCT ?thing WHERE {\n  ?thing a ?class ;\n         rdfs:label ?name .\n}\nLIMIT 20\n"
_AGGREGATES = frozenset(("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"))
_STANDARD = (OWL, RDF, RDFS, SKOS, XSD)


def blueprint(kg: KnowledgeGraph, own: Callable[[], Iterable[tuple[str, str]]]) -> Blueprint:
    """The routes of the Query page, of saved queries, and of what can be said of a query.

    ``own`` gives examples made from the data, as title and text.
    """
    routes = Blueprint("query", __name__)
    _add_explanations(routes, kg)
    _add_saved(routes, kg, own)

    @routes.get(EMBEDDED)
    def embedded() -> Any:
        text, place = request.args.get("query", "").replace("\r\n", "\n"), request.args.get("page", "")
        whole = (
            place
            if place.startswith("/") and not place.startswith(("//", "/\\"))
            else f"/query?{request.query_string.decode('ascii', 'replace')}"
        )
        table_ = _run(kg, text)["table"] if text.strip() and not built_here() and "page" not in request.args else None
        return page("embed.html", kg.base, table=table_, whole=whole)

    @routes.route("/query", methods=["GET", "POST"])
    def query() -> Any:
        return _page(kg, request.values.get("query", "").replace("\r\n", "\n"), own())

    return routes


def _page(
    kg: KnowledgeGraph, text: str, own: Iterable[tuple[str, str]] = (), *, saved: SavedQuery | None = None
) -> Any:
    """The page with the text in its editor, and what it finds; a browser with scripts runs it by itself."""
    outcome, plan, trouble, status, why = None, None, None, 200, ""
    wanted = bool(text.strip()) and saved is None
    scripted = built_here() and "plain" not in request.values
    if wanted and not scripted:
        try:
            if "explain" in request.values:
                plan = planned(kg, text)
            else:
                outcome = _run(kg, text)
                why = _why(kg, text, outcome["table"])
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
        planned=plan,
        trouble=trouble,
        examples=example_groups(kg, own),
        kept=Saved(kg.folder).listed(),
        prefixes=sorted(kg.store.prefixes.items()),
        max_rows=_MAX_ROWS,
        limited="" if _counts(text) else f"{text.rstrip()}\nLIMIT 1000\n",
    )


@dataclass(frozen=True, slots=True)
class QueryTeaching:
    """A query to learn from: what it asks, and what its SPARQL does, in words."""

    title: str
    text: str
    about: str


_EXECUTABLE = tuple(f"{SH}{name}" for name in ("select", "ask", "construct"))
_TECHNIQUES = {
    "path": re.compile(r"[>\w)][+*](?=[\s/|)])"),
    "count": re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX|GROUP_CONCAT)\s*\(", re.IGNORECASE),
    "rank": re.compile(r"\bORDER\s+BY\b", re.IGNORECASE),
    "optional": re.compile(r"\bOPTIONAL\b", re.IGNORECASE),
    "filter": re.compile(r"\bFILTER\b", re.IGNORECASE),
}
"""What a query does, by what stands in it; the first that fits is its group."""


def example_groups(kg: KnowledgeGraph, own: Iterable[tuple[str, str]]) -> list[tuple[str, list[QueryTeaching]]]:
    """The examples by what they do, those of the ontology first: ``own`` ones made from the data, and shipped ones."""
    said = [*_of_ontology(kg)]
    groups: dict[str, list[QueryTeaching]] = {phrase("examples_ontology", language()): said} if said else {}
    shipped = ((item.summary, item.text) for item in _shipped() if _speaks_of(item.text, kg))
    for title, text in (*own, *shipped):
        found = [name for name, pattern in _TECHNIQUES.items() if pattern.search(text)] or ["list"]
        about = " ".join(phrase(f"does_{name}", language()) for name in found)
        groups.setdefault(phrase(f"examples_{found[0]}", language()), []).append(QueryTeaching(title, text, about))
    return list(groups.items())


def _of_ontology(kg: KnowledgeGraph) -> Iterable[QueryTeaching]:
    """The queries that the ontology's own files carry (``sh:SPARQLExecutable``), with the prefixes they declare."""
    said: dict[object, dict[str, list[Term]]] = {}
    for triple in kg.loaded.triples:
        said.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
    for facts in said.values():
        text = next((t.value for name in _EXECUTABLE for t in facts.get(name, ()) if isinstance(t, Literal)), "")
        if not text or read_only_issues(text):
            continue
        declared = [
            node for place in facts.get(f"{SH}prefixes", ()) for node in said.get(place, {}).get(f"{SH}declare", ())
        ]
        pairs = [
            [said.get(node, {}).get(f"{SH}{name}", [Literal("")])[0] for name in ("prefix", "namespace")]
            for node in declared
        ]
        lines = (f"PREFIX {getattr(p, 'value', '')}: <{getattr(n, 'value', '')}>\n" for p, n in pairs)
        head = "".join(line for line in lines if line.split(" <")[0].casefold() not in text.casefold())
        words = [
            [Word(t.value, t.language or "") for t in facts.get(name, ()) if isinstance(t, Literal)] for name in _SAYING
        ]
        title, about = (label_of(listed, language(), "") for listed in words)
        yield QueryTeaching(
            title or about or text.strip().splitlines()[0], head + text.strip() + "\n", about if title else ""
        )


_SAYING = (LABEL.value, COMMENT.value)


def _counts(text: str) -> bool:
    """Whether the query goes through all rows to count or sum them, so that fewer of them are no less work."""
    return bool(_AGGREGATES & {token.text.upper() for token in tokens(text)})


def built_here() -> bool:
    """Whether the browser said, by the cookie that the scripts set, that it runs them: then they ask for the rows."""
    return request.cookies.get(SCRIPTS) == "1" and is_built() and request.method == "GET"


def _why(kg: KnowledgeGraph, text: str, found: CellTable | None) -> str:
    """Why there are no rows, for a page without scripts."""
    if found is None or found.rows:
        return ""
    return shortened(explained(kg, text).words(language()), kg.store.prefixes.items())


def _run(kg: KnowledgeGraph, text: str) -> dict[str, Any]:
    """What came of a query: a table, a boolean, or a graph as text (``cut``: its beginning), and its formats."""
    nothing = {"table": None, "boolean": None, "graph": None, "cut": False, "formats": ROWS}
    started = time.monotonic()
    limit = kg.settings.server.timeout_seconds
    if scan(text).form in ("CONSTRUCT", "DESCRIBE"):
        reply = kg.workers.stream(kg.resolved(text), media_type="text/turtle", timeout_seconds=limit)
        try:
            graph, cut = _beginning(reply)
        finally:
            reply.close()
        return {**nothing, "seconds": time.monotonic() - started, "formats": GRAPHS, "graph": graph, "cut": cut}
    found = kg.workers.solutions(kg.resolved(text), timeout_seconds=limit, max_rows=_MAX_ROWS)
    seconds = time.monotonic() - started
    if found.boolean is not None:
        return {**nothing, "seconds": seconds, "boolean": found.boolean}
    labels = Labels(kg.dataset, kg.ontology, tongues())
    return {**nothing, "seconds": seconds, "table": table(found, labels, kg.base)}


def _beginning(pieces: Iterable[bytes]) -> tuple[str, bool]:
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) > _MAX_GRAPH_BYTES:
            return bytes(held[:_MAX_GRAPH_BYTES]).rpartition(b"\n")[0].decode("utf-8", "replace"), True
    return held.decode("utf-8", "replace"), False


def _trouble(error: KgPlatformError) -> dict[str, object]:
    """Why a query was not carried out, with the line it is about where that is known."""
    found = {"message": told(str(error)), "line": 0, "column": 0, "text": "", "seconds": None}
    if isinstance(error, QueryTimeoutError):
        return {**found, "seconds": error.seconds}
    if isinstance(error, QuerySyntaxError):
        lines = error.query.splitlines()
        text = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
        return {**found, "message": told(error.reason), "line": error.line, "column": error.column, "text": text}
    return found


def _speaks_of(query: str, kg: KnowledgeGraph) -> bool:
    """Whether every term of a prefix that the query declares is one of the workspace's ontology."""
    ontology = kg.ontology
    listed = list(tokens(query))
    prefixes = declared_prefixes(listed)
    names = [token.text.partition(":") for token in listed if token.kind == "name"]
    terms = {NamedNode(prefixes[prefix] + local) for prefix, _, local in names if prefix in prefixes and local}
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
