"""What the scripts of the Query page ask for: to run a query and end it, names, checks, and what completion offers.

A query that runs goes by a name that the page chose, so that the page, and nobody who does not know the name, can end
it: ``DELETE /api/run/<name>`` kills the process that runs it. Text to be checked is parsed by a worker against no data
at all, then held against the names of the graph by the same checker that questions use.

``/api/completion`` is computed once for each version of the store; no suggestion runs a query. Classes and properties
are counted; which properties the things of a class have, and with what values, is told by some hundreds of them, so
that the first completion does not wait for a pass over a large graph.
"""

from __future__ import annotations

import difflib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

from kgplatform.entities import Labels, special_types
from kgplatform.errors import KgPlatformError, QueryRejectedError, QuerySyntaxError
from kgplatform.ontology.schema import Ontology, Word, label_of
from kgplatform.questions.check import check
from kgplatform.server import addresses
from kgplatform.server.access import Role, client, require
from kgplatform.server.frame import Lately, Remembered, language, pages, tongues
from kgplatform.server.http import is_known, problem, query_problem, told
from kgplatform.server.pages.query import Saved, plan_record
from kgplatform.server.pages.terms import ClassProfile, class_profile
from kgplatform.server.result_tables import ResultTerms, of_triples, prefixed, shortened
from kgplatform.server.words import phrase
from kgplatform.sparql.protocol import GRAPHS, ROWS, Format, ProtocolError, weak_tag
from kgplatform.sparql.tokens import read_only_issues, scan
from kgplatform.store.oxigraph import DEFAULT_GRAPH, checked_iri
from kgplatform.store.worker_pool import WorkersBusyError
from kgplatform.types import Issue, IssueKind
from kgplatform.vocab import COMMENT, TYPE, local_name, words_of_iri

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_MOST_TERMS: Final = 2000
_MOST_PROPERTIES: Final = 120
_MOST_THINGS: Final = 6_000
_LOOKED_AT: Final = (50, 500)
_VALUES_LOOKED_AT: Final = 100
_MOST_SAMPLES: Final = 3
_COMMENT: Final = 240


def schema_record(kg: KnowledgeGraph, lately: Lately) -> dict[str, object]:
    """The record that the editor reads: prefixes, classes and properties, the most used first."""
    ontology, prefixes = kg.ontology, dict(kg.store.prefixes)
    ordered = sorted(prefixes.items(), key=lambda pair: -len(pair[1]))
    counts = {iri: number for iri, number in lately.totals().items() if number}
    classes = sorted(counts, key=lambda iri: (-counts[iri], iri.value))[:_MOST_TERMS]
    used = lately.overview().properties
    properties = sorted(used, key=lambda iri: (-used[iri], iri.value))[:_MOST_TERMS]
    at = {iri: number for number, iri in enumerate(properties)}
    low, high = _LOOKED_AT
    most = max(low, min(high, _MOST_THINGS // max(1, len(classes))))

    def term(iri: NamedNode, count: int, **more: object) -> dict[str, object]:
        named = {"iri": iri.value, "name": prefixed(iri.value, ordered), **_said(iri, ontology)}
        return {**named, "count": count, **more}

    def unit(iri: NamedNode) -> str:
        return (ontology.properties[iri].unit or "") if iri in ontology.properties else ""

    profiles = ((iri, class_profile(kg.store, ontology, iri, most=most)) for iri in classes)
    return {
        "prefixes": prefixes,
        "classes": [term(iri, counts[iri], properties=_properties_of(found, at)) for iri, found in profiles],
        "properties": [term(iri, used[iri], unit=unit(iri), **_values(kg, iri)) for iri in properties],
    }


def _said(iri: NamedNode, ontology: Ontology) -> dict[str, str]:
    """The labels in both languages, and the description in English or whatever there is."""
    term = ontology.classes.get(iri) or ontology.properties.get(iri)
    words = tuple(term.words) if term and term.words else (Word(words_of_iri(iri.value), ""),)
    comments = term.comments if term else ()
    return {
        "en": label_of([word for word in words if not word.language.startswith("zh")], "en", ""),
        "zh": _chinese(words),
        "comment": label_of(comments, "en", "")[:_COMMENT],
        "about": _chinese(comments)[:_COMMENT],
    }


def _chinese(words: Iterable[Word]) -> str:
    return next((word.text for word in words if word.language.startswith("zh")), "")


def _properties_of(profile: ClassProfile, at: Mapping[NamedNode, int]) -> list[list[int]]:
    """The properties that things of the class have, by number, with how many statements of theirs use each."""
    if not profile.looked:
        return []
    times = profile.things.total / profile.looked
    counts = {at[iri]: max(1, round(use.values * times)) for iri, use in profile.uses.items() if iri in at}
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [[number, count] for number, count in ordered[:_MOST_PROPERTIES]]


def _values(kg: KnowledgeGraph, predicate: NamedNode) -> dict[str, object]:
    """Whether the values are things, of which kinds they mostly are, and some of them."""
    kinds: Counter[str] = Counter()
    things = 0
    values = [q.object for q in islice(kg.store.quads(None, predicate, None, DEFAULT_GRAPH), _VALUES_LOOKED_AT)]
    labels = Labels(kg.dataset, kg.ontology, "en")
    for value in values:
        if isinstance(value, Literal):
            kinds[local_name(value.datatype.value)] += 1
        elif isinstance(value, NamedNode):
            things += 1
            kinds.update(local_name(one.value) for one in kg.store.objects(value, TYPE) if isinstance(one, NamedNode))
    common = [value for value, _ in Counter(values).most_common(_MOST_SAMPLES)]
    return {
        "thing": 2 * things > len(values),
        "values": [name for name, _ in kinds.most_common(3)],
        "samples": [labels.reference(value).label[:60] for value in common],
    }


_MOST_FOUND = 24


def _add_completion(routes: Blueprint, kg: KnowledgeGraph, lately: Lately) -> None:
    kept = Remembered(kg)

    @routes.get("/api/completion")
    def schema() -> Response:
        tag = weak_tag(kg.store.version, "schema")
        if is_known(tag):
            return Response(status=304, headers={"ETag": tag})
        response = jsonify(kept.get("schema", lambda: schema_record(kg, lately)))
        response.headers["ETag"] = tag
        return response

    @routes.get("/api/suggest")
    def suggest() -> Response:
        text = request.args.get("q", "").strip()[:200]
        if iri := request.args.get("iri", "").strip():
            return jsonify({"query": iri, "items": _named(kg, lately, iri)})
        kinds = frozenset(filter(None, request.args.get("kind", "").split(",")))
        found = list(_found(kg, lately, text)) if text else []
        return jsonify({"query": text, "items": [item for item in found if not kinds or item["kind"] in kinds]})


def _found(kg: KnowledgeGraph, lately: Lately, text: str) -> Iterator[dict[str, object]]:
    """Pages, saved queries, then things, classes and properties whose names hold the text."""
    own = language()
    folded = text.casefold()
    for name, href in pages():
        labels = [phrase(name, code) for code in ("en", "zh")]
        if any(folded in label.casefold() for label in labels) or name.startswith(folded):
            yield {"kind": "page", "label": phrase(name, own), "page": href}
    for query in Saved(kg.folder).listed():
        if folded in query.slug or folded in query.question.casefold():
            yield {"kind": "query", "label": query.question or query.slug, "page": f"/q/{query.slug}"}
    named = _Named(kg, lately)
    for iri in lately.called(text, _MOST_FOUND):
        yield named.record(iri)


def _named(kg: KnowledgeGraph, lately: Lately, text: str) -> list[dict[str, object]]:
    """The thing with that IRI and what is said of it, if the graph knows it."""
    try:
        iri = NamedNode(text)
    except ValueError:
        return []
    if not any(True for _ in islice(kg.store.quads(iri), 1)):
        return []
    comments = Labels(kg.dataset, kg.ontology, tongues()).words(iri, (COMMENT,))
    return [{**_Named(kg, lately).record(iri), "comment": label_of(comments, language(), "")[:_COMMENT]}]


class _Named:
    """Makes records of things, classes and properties, in the language of the page."""

    def __init__(self, kg: KnowledgeGraph, lately: Lately) -> None:
        own = language()
        self._kg = kg
        self._own = Labels(kg.dataset, kg.ontology, tongues())
        self._other = Labels(kg.dataset, kg.ontology, "en" if own == "zh" else "zh")
        self._prefixes = sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1]))
        self._counted = lately.overview().classes

    def record(self, iri: NamedNode) -> dict[str, object]:
        ontology = self._kg.ontology
        kind = "class" if iri in ontology.classes else "property" if iri in ontology.properties else "entity"
        label, other = self._own.of(iri).text, self._other.of(iri).text
        types = special_types((t for t in self._kg.store.objects(iri, TYPE) if t in self._counted), ontology)
        return {
            "kind": kind,
            "label": label,
            "other": other if other != label else "",
            "iri": iri.value,
            "name": prefixed(iri.value, self._prefixes),
            "types": [self._own.of(term).text for term in types][:3],
            "page": addresses.of_iri(iri, self._kg.base),
        }


MAX_ROWS = 10_000
PATIENCE_SECONDS = 300.0
"""So long a query may run for somebody who may write and asks for it."""
_NAMED_ROWS = 300
"""So many rows come with the names of their things; the page asks for the other names once it shows these."""
_MOST_NAMED = 2_500
_MAX_TEXT_BYTES = 100_000
_NAME = re.compile(r"[0-9a-f]{16,64}")
_PREFIX = "page-"
_SYNTAX = (IssueKind.SYNTAX, IssueKind.REFUSED)
_TOKEN = re.compile(r"<[^<>\s]*>|[?$]?[\w.:%-]+[\w:%-]|[?$]\w|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\w|\S")
_WORD = re.compile(r"[A-Za-z_]{3,}")
_KEYWORDS = (
    *("SELECT", "CONSTRUCT", "DESCRIBE", "ASK", "WHERE", "FILTER", "OPTIONAL", "UNION", "MINUS", "GRAPH", "VALUES"),
    *("BIND", "PREFIX", "BASE", "DISTINCT", "REDUCED", "LIMIT", "OFFSET", "ORDER", "GROUP", "HAVING", "EXISTS"),
    *("FROM", "NAMED", "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT", "REGEX", "CONTAINS", "STRSTARTS"),
    *("STRENDS", "BOUND", "LANG", "LANGMATCHES", "DATATYPE", "COALESCE", "CONCAT", "YEAR", "MONTH", "LCASE", "UCASE"),
)


def blueprint(kg: KnowledgeGraph, lately: Lately) -> Blueprint:
    """The routes of what runs, checks and completes queries for the page."""
    routes = Blueprint("workbench", __name__)
    _add_completion(routes, kg, lately)

    @routes.route("/api/run", methods=["POST"])
    def run() -> Any:
        return _answered(lambda text, name: _result(kg, lately, text, name, _seconds(kg)))

    @routes.route("/api/plan", methods=["POST"])
    def plan() -> Any:
        return _answered(lambda text, name: jsonify(plan_record(kg, text, name=name)))

    @routes.route("/api/run/<name>", methods=["DELETE"])
    def end(name: str) -> Any:
        require(Role.READ)
        if not _NAME.fullmatch(name) or not kg.workers.running.cancel(f"{_PREFIX}{name}"):
            raise ProtocolError(404, "Not found", "no query of that name is running; it may have ended")
        return Response(status=204)

    @routes.route("/api/names", methods=["POST"])
    def names() -> Any:
        require(Role.READ)
        response = jsonify(ResultTerms(kg, lately, tongues()).things(_iris()))
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
        response.headers["ETag"] = tag
        return response

    return routes


def _answered(answer: Callable[[str, str], Response]) -> Response:
    """What the function makes of the query and the name that were sent, or what is wrong with them."""
    require(Role.READ)
    text, name = _asked("query"), _asked("name")
    if name and not _NAME.fullmatch(name):
        return problem(400, "Bad request", "`name` is 16 to 64 hexadecimal digits")
    started = time.monotonic()
    try:
        return answer(text, f"{_PREFIX}{name}" if name else "")
    except KgPlatformError as error:
        return query_problem(error, elapsed_seconds=time.monotonic() - started)


def _asked(name: str) -> str:
    record: Any = request.get_json(silent=True) if request.is_json else request.form.to_dict()
    found = record.get(name, "") if isinstance(record, dict) else ""
    if not isinstance(found, str) or (name == "query" and not found.strip()):
        raise ProtocolError(400, "Bad request", f'send {{"{name}": "…"}} as JSON')
    return found.replace("\r\n", "\n")


def _seconds(kg: KnowledgeGraph) -> float:
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


def _result(kg: KnowledgeGraph, lately: Lately, text: str, name: str, limit: float) -> Response:
    """The result with what is needed to show it."""
    started = time.monotonic()
    shown = ResultTerms(kg, lately, tongues())
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
    return [{"name": offer.name, "extension": offer.extension} for offer in offers]


def _statements(kg: KnowledgeGraph, text: str, limit: float, name: str) -> tuple[list[Triple], bool]:
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


def _turtle(kg: KnowledgeGraph, triples: list[Triple]) -> str:
    """The statements as Turtle, as far as one may want to read it."""
    whole = kg.store.serialise(triples, RdfFormat.TURTLE)
    if len(whole) <= _MAX_TEXT_BYTES:
        return whole.decode("utf-8")
    return whole[:_MAX_TEXT_BYTES].rpartition(b"\n")[0].decode("utf-8", "replace") + "\n# …"


def _checked(kg: KnowledgeGraph, text: str) -> dict[str, object]:
    """What is wrong with the text, each with its place."""
    if scan(text).is_update:
        issue = Issue(IssueKind.REFUSED, "this is an update; the Query page only reads")
        return {"valid": False, "issues": [_issue(kg, text, issue)]}
    if not read_only_issues(text):
        try:
            kg.workers.check(text)
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


def _issue(kg: KnowledgeGraph, text: str, issue: Issue) -> dict[str, object]:
    line, column, length = _place(kg, text, issue)
    prefixes = sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1]))
    plain = re.sub(r"^line \d+, column \d+: ", "", issue.message)  # the place is given apart
    return {
        "kind": issue.kind.value,
        "severity": "error" if issue.kind in _SYNTAX else "warning",
        "message": told(shortened(plain, prefixes)),
        "line": line,
        "column": column,
        "length": length,
        "allowed": [prefixed(iri, prefixes) if ":" in iri and " " not in iri else iri for iri in issue.allowed],
        "instead": _meant(text, line, column) if issue.kind is IssueKind.SYNTAX else "",
    }


def _place(kg: KnowledgeGraph, text: str, issue: Issue) -> tuple[int, int, int]:
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
