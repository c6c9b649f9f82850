"""What the scripts of the Query page ask for: ``/api/run`` (and its end), ``/api/names``, ``/api/validate``.

A query that runs goes by a name that the page chose, so that the page, and nobody who does not know the name, can end
it: ``DELETE /api/run/<name>`` kills the process that runs it. Text to be checked is parsed by a worker against no data
at all, then held against the names of the graph by the same checker that questions use.
"""

from __future__ import annotations

import difflib
import re
import time
from contextlib import suppress
from typing import Any

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import NamedNode, RdfFormat, Triple, parse

from kgplatform.errors import KgPlatformError, QueryRejectedError, QuerySyntaxError, QueryTimeoutError
from kgplatform.lexing import read_only_issues, scan
from kgplatform.questions.check import check
from kgplatform.store import checked_iri
from kgplatform.types import Issue, IssueKind
from kgplatform.web.caching import is_known, weak_tag
from kgplatform.web.endpoint import query_problem
from kgplatform.web.frame import language, tongues
from kgplatform.web.messages import told
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS, ROWS, Format
from kgplatform.web.overview import Lately
from kgplatform.web.problems import problem
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.results import Shown, of_triples, prefixed
from kgplatform.web.rights import Role, client, require
from kgplatform.workers import WorkersBusyError

MAX_ROWS = 10_000
PATIENCE_SECONDS = 300.0
"""So long a query may run for somebody who may write and asks for it."""
_NAMED_ROWS = 300
"""So many rows come with the names of their things; the page asks for the other names once it shows these."""
_MOST_NAMED = 2_500
_MAX_TEXT_BYTES = 100_000
_NAME = re.compile(r"[0-9a-f]{16,64}")
_PREFIX = "page-"
_NOWHERE = "urn:kgplatform:nothing"
_PARSE_SECONDS = 3.0
_SYNTAX = (IssueKind.SYNTAX, IssueKind.REFUSED)
_TOKEN = re.compile(r"<[^<>\s]*>|[?$]?[\w.:%-]+[\w:%-]|[?$]\w|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\w|\S")
_WORD = re.compile(r"[A-Za-z_]{3,}")
_KEYWORDS = (
    *("SELECT", "CONSTRUCT", "DESCRIBE", "ASK", "WHERE", "FILTER", "OPTIONAL", "UNION", "MINUS", "GRAPH", "VALUES"),
    *("BIND", "PREFIX", "BASE", "DISTINCT", "REDUCED", "LIMIT", "OFFSET", "ORDER", "GROUP", "HAVING", "EXISTS"),
    *("FROM", "NAMED", "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT", "REGEX", "CONTAINS", "STRSTARTS"),
    *("STRENDS", "BOUND", "LANG", "LANGMATCHES", "DATATYPE", "COALESCE", "CONCAT", "YEAR", "MONTH", "LCASE", "UCASE"),
)


def blueprint(kg: Graph, lately: Lately) -> Blueprint:
    """The routes of what runs and checks queries for the page."""
    routes = Blueprint("workbench", __name__)

    @routes.route("/api/run", methods=["POST"])
    def run() -> Any:
        require(Role.READ)
        text, name = _asked("query"), _asked("name")
        if name and not _NAME.fullmatch(name):
            return problem(400, "Bad request", "`name` is 16 to 64 hexadecimal digits")
        started = time.monotonic()
        try:
            return _found(kg, lately, text, f"{_PREFIX}{name}" if name else "", _seconds(kg))
        except KgPlatformError as error:
            return query_problem(error, elapsed_seconds=time.monotonic() - started)

    @routes.route("/api/run/<name>", methods=["DELETE"])
    def end(name: str) -> Any:
        require(Role.READ)
        if not _NAME.fullmatch(name) or not kg.workers.running.cancel(f"{_PREFIX}{name}"):
            raise ProtocolError(404, "Not found", "no query of that name is running; it may have ended")
        return Response(status=204)

    @routes.route("/api/names", methods=["POST"])
    def names() -> Any:
        require(Role.READ)
        response = jsonify(Shown(kg, lately, tongues()).things(_iris()))
        response.headers["Cache-Control"] = "no-store"
        return response

    @routes.route("/api/validate", methods=["POST"])
    def validate() -> Any:
        require(Role.READ)
        text = _asked("query")
        tag = weak_tag(kg.store.version, "validate", language(), text)
        if is_known(tag):
            return Response(status=304, headers={"ETag": tag})
        response = jsonify(_checked(kg, text))
        response.headers["ETag"], response.headers["Cache-Control"] = tag, "no-cache"
        return response

    return routes


def _asked(name: str) -> str:
    record: Any = request.get_json(silent=True) if request.is_json else request.form.to_dict()
    found = record.get(name, "") if isinstance(record, dict) else ""
    if not isinstance(found, str) or (name == "query" and not found.strip()):
        raise ProtocolError(400, "Bad request", f'send {{"{name}": "…"}} as JSON')
    return found.replace("\r\n", "\n")


def _seconds(kg: Graph) -> float:
    """How long the query may run: as the settings say; longer where somebody who may write asks for patience."""
    record: Any = request.get_json(silent=True) if request.is_json else {}
    limit = kg.settings.server.timeout_seconds
    is_patient = isinstance(record, dict) and record.get("patient") is True
    return max(limit, PATIENCE_SECONDS) if is_patient and client().role >= Role.WRITE else limit


def _iris() -> list[NamedNode]:
    """The IRIs that were sent."""
    record: Any = request.get_json(silent=True)
    found = record.get("iris") if isinstance(record, dict) else None
    if not isinstance(found, list) or len(found) > _MOST_NAMED or not all(isinstance(iri, str) for iri in found):
        raise ProtocolError(400, "Bad request", f'send {{"iris": ["…"]}} as JSON, at most {_MOST_NAMED:,} of them')
    try:
        return [checked_iri(iri) for iri in found]
    except KgPlatformError as error:
        raise ProtocolError(400, "Bad request", str(error)) from error


def _found(kg: Graph, lately: Lately, text: str, name: str, limit: float) -> Response:
    """The result with what is needed to show it."""
    started = time.monotonic()
    shown = Shown(kg, lately, tongues())
    record: dict[str, object] = {"form": scan(text).form}
    text = kg.resolved(text)
    if record["form"] in ("CONSTRUCT", "DESCRIBE"):
        triples, cut = _statements(kg, text, limit, name)
        record["seconds"] = time.monotonic() - started
        record |= shown.rows(of_triples(triples, truncated=cut), named=_NAMED_ROWS)
        record |= {"text": _turtle(kg, triples), "formats": _formats(GRAPHS)}
    else:
        found = kg.workers.solutions(text, timeout_seconds=limit, max_rows=MAX_ROWS, client=client().name, name=name)
        record["seconds"] = time.monotonic() - started
        record["formats"] = _formats(ROWS)
        record |= {"boolean": found.boolean} if found.boolean is not None else shown.rows(found, named=_NAMED_ROWS)
    response = jsonify(record)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Server-Timing"] = f"query;dur={1000 * float(str(record['seconds'])):.1f}"
    return response


def _formats(offers: tuple[Format, ...]) -> list[dict[str, str]]:
    extensions = {"turtle": "ttl", "ntriples": "nt", "rdfxml": "rdf", "nquads": "nq"}
    return [{"name": offer.name, "extension": extensions.get(offer.name, offer.name)} for offer in offers]


def _statements(kg: Graph, text: str, limit: float, name: str) -> tuple[list[Triple], bool]:
    """The first statements of a graph query, and whether there are more."""
    reply = kg.workers.stream(
        text,
        media_type="application/n-triples",
        timeout_seconds=limit,
        base_iri=kg.base,
        client=client().name,
        name=name,
    )
    held = bytearray()
    try:
        for piece in reply:
            held += piece
            if held.count(b"\n") > MAX_ROWS:
                break
    finally:
        reply.close()
    lines = bytes(held).split(b"\n")[:-1]
    quads = parse(b"\n".join(lines[:MAX_ROWS]) + b"\n", RdfFormat.N_TRIPLES)
    return [quad.triple for quad in quads], len(lines) > MAX_ROWS


def _turtle(kg: Graph, triples: list[Triple]) -> str:
    """The statements as Turtle, as far as one may want to read it."""
    whole = kg.store.serialise(triples, RdfFormat.TURTLE)
    if len(whole) <= _MAX_TEXT_BYTES:
        return whole.decode("utf-8")
    return whole[:_MAX_TEXT_BYTES].rpartition(b"\n")[0].decode("utf-8", "replace") + "\n# …"


def _checked(kg: Graph, text: str) -> dict[str, object]:
    """What is wrong with the text, each with its place."""
    if scan(text).is_update:
        issue = Issue(IssueKind.REFUSED, "this is an update; the Query page only reads")
        return {"valid": False, "issues": [_issue(kg, text, issue)]}
    if not read_only_issues(text):
        try:
            _parse(kg, text)
        except QuerySyntaxError as error:
            issue = Issue(IssueKind.SYNTAX, error.reason, line=error.line, column=error.column)
            return {"valid": False, "issues": [_issue(kg, text, issue)]}
        except WorkersBusyError:
            return {"valid": None, "issues": []}
        except QueryRejectedError as error:
            return {"valid": False, "issues": [_issue(kg, text, Issue(IssueKind.REFUSED, str(error)))]}
    issues = check(text, kg.knowledge.names, prefixes=kg.store.prefixes, parsed=True)
    valid = not any(issue.kind in _SYNTAX for issue in issues)
    return {"valid": valid, "issues": [_issue(kg, text, issue) for issue in issues]}


def _parse(kg: Graph, text: str) -> None:
    """Has a worker parse the text, over a graph that is not there; raises what is wrong with it."""
    nowhere = (_NOWHERE,)
    with suppress(QueryTimeoutError):  # then it was parsed
        if scan(text).form in ("CONSTRUCT", "DESCRIBE"):
            kg.workers.stream(
                text,
                media_type="application/n-triples",
                timeout_seconds=_PARSE_SECONDS,
                default_graphs=nowhere,
                base_iri=kg.base,
            ).close()
        else:
            kg.workers.solutions(text, timeout_seconds=_PARSE_SECONDS, max_rows=1, default_graphs=nowhere)


def _issue(kg: Graph, text: str, issue: Issue) -> dict[str, object]:
    line, column, length = _place(kg, text, issue)
    prefixes = sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1]))
    return {
        "kind": issue.kind.value,
        "severity": "error" if issue.kind in _SYNTAX else "warning",
        "message": told(_short(issue.message, prefixes)),
        "line": line,
        "column": column,
        "length": length,
        "allowed": [prefixed(iri, prefixes) if ":" in iri and " " not in iri else iri for iri in issue.allowed],
        "instead": _meant(text, line, column) if issue.kind is IssueKind.SYNTAX else "",
    }


def _short(message: str, prefixes: list[tuple[str, str]]) -> str:
    """The message with prefixed names for IRIs, and without the place, which is given apart."""
    plain = re.sub(r"^line \d+, column \d+: ", "", message)
    return re.sub(r"<([^<>\s]+)>", lambda match: prefixed(match[1], prefixes), plain)


def _place(kg: Graph, text: str, issue: Issue) -> tuple[int, int, int]:
    """Line and column, from 1, and the length of what the issue is about; zeros where that is not known."""
    lines = text.split("\n")
    if not 0 < issue.line <= len(lines):
        return 0, 0, 0
    line, column = lines[issue.line - 1], issue.column
    if not column and issue.subject:
        forms = (f"<{issue.subject}>", prefixed(issue.subject, kg.store.prefixes.items()), issue.subject)
        column = next((line.find(form) + 1 for form in forms if form in line), 0)
    if not column:
        return issue.line, len(line) - len(line.lstrip()) + 1, max(1, len(line.strip()))
    token = _TOKEN.match(line, max(0, column - 1))
    return issue.line, column, len(token.group()) if token else 1


def _meant(text: str, line: int, column: int) -> str:
    """The keyword that was probably meant where the parser stopped."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    near = lines[line - 1]
    for match in sorted(_WORD.finditer(near), key=lambda match: abs(match.start() + 1 - column)):
        before = near[match.start() - 1 : match.start()]
        if before in ("?", "$", ":", "<", '"', "'", "@") or near[match.end() : match.end() + 1] == ":":
            continue
        word = match.group().upper()
        if word in _KEYWORDS:
            continue
        close = difflib.get_close_matches(word, _KEYWORDS, n=1, cutoff=0.7)
        return close[0] if close else ""
    return ""
