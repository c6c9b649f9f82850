"""The W3C's tests: of the protocols on a server, of the descriptions, of queries and updates on the store."""

from __future__ import annotations

import csv
import http.client
import io
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pyoxigraph as ox
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, QueryResultsFormat, RdfFormat, Triple

from kgplatform.errors import ConfigError, KgPlatformError, QueryError, QueryRejectedError, ReadError
from kgplatform.graph import KnowledgeGraph
from kgplatform.network import named_addresses
from kgplatform.settings import FederationSettings
from kgplatform.sparql import service as calls
from kgplatform.sparql.tokens import scan
from kgplatform.store import wire, worker
from kgplatform.store.federation import Federation
from kgplatform.store.oxigraph import Store
from kgplatform.types import Solutions, Term
from kgplatform.vocab import RDFS, TYPE, local_name
from tests.conformance.manifests import (
    MF,
    QT,
    UT,
    Case,
    Outcome,
    Row,
    Verdict,
    cases,
    iri_of,
    same_datasets,
    same_graphs,
    same_rows,
)

# Protocol tests: requests written down in RDF, sent to a server, their responses compared with what is expected.
#
# The vocabulary is "HTTP Vocabulary in RDF" (``ht:``) with the few terms that the manifests' own comments define:
# ``mf:expectedStatus``, ``mf:expectedBoolean``, ``mf:expectedFormat``, ``mf:expectedLocation``.


_HT = "http://www.w3.org/2011/http#"
_CNT = "http://www.w3.org/2011/content#"
_STATUS = {"OK": 200, "Created": 201, "NoContent": 204, "NotFound": 404}
_BOOLEANS = ("application/sparql-results+json", "application/sparql-results+xml")
_TABLES = (*_BOOLEANS, "text/csv", "text/tab-separated-values")
_PATHS = (("/sparql/", "/sparql"), ("/gsp", "/graphs"))


class FailedError(Exception):
    """The server did not do what the test expects; the text says what it did."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: status, headers with names in lower case, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Server:
    """A server that is asked over HTTP, one connection a request."""

    def __init__(self, address: str, *, timeout_seconds: float = 30.0) -> None:
        parts = urlsplit(address)
        self.address = address.rstrip("/")
        self._host, self._port = parts.hostname or "localhost", parts.port or 80
        self._timeout = timeout_seconds

    def send(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> Reply:
        """The response; the path and headers go out as they are, no content type is made up."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, fields, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise FailedError(f"{method} {path}: no answer ({error})") from error
        finally:
            connection.close()

    def reset(self) -> None:
        """Empties the dataset."""
        reply = self.send(
            "POST", "/sparql", headers={"Content-Type": "application/sparql-update"}, body=b"DROP SILENT ALL"
        )
        if reply.status >= 300:
            raise FailedError(f"the dataset could not be emptied: {reply.status} {reply.body[:200]!r}")


def http_tests_run(case: Case, server: Server) -> Outcome:
    """What becomes of a test of the protocols on that server, whose dataset is emptied first."""
    iri = case.node.value
    try:
        server.reset()
        _set_up(case, server)
        _send_all(case, server)
    except (FailedError, KgPlatformError) as error:
        return Outcome(iri, case.name, case.suite, Verdict.FAILED, str(error))
    return Outcome(iri, case.name, case.suite, Verdict.PASSED)


def _set_up(case: Case, server: Server) -> None:
    for given in case.facts.values(case.node, f"{UT}graphData"):
        name = case.facts.text(given, f"{RDFS}label")
        data = case.file(case.facts.value(given, f"{UT}graph")).read_bytes()
        reply = server.send(
            "PUT", f"/graphs?{urlencode({'graph': name})}", headers={"Content-Type": "text/turtle"}, body=data
        )
        if reply.status >= 300:
            raise FailedError(f"{name} could not be loaded: {reply.status} {reply.body[:200]!r}")


def _send_all(case: Case, server: Server) -> None:
    facts = case.facts
    known: dict[str, str] = {}
    requests = facts.value(facts.value(case.node, f"{MF}action"), f"{_HT}requests")
    for number, request in enumerate(facts.items(requests), 1):
        method = facts.text(request, f"{_HT}methodName")
        path = _filled(_path(facts.text(request, f"{_HT}absolutePath")), known, in_address=True)
        reply = server.send(method, path, headers=_headers(case, request), body=_body(case, request, known))
        expected = facts.value(request, f"{_HT}resp")
        try:
            _check(case, expected, reply, method=method, address=server.address + path)
        except FailedError as error:
            raise FailedError(f"request {number} ({method} {path[:120]}): {error}") from error
        if variable := facts.text(expected, f"{MF}expectedLocation"):
            known[variable] = reply.headers.get("location", "")
            if not known[variable]:
                raise FailedError(f"request {number}: no Location")


def _path(path: str) -> str:
    for there, here in _PATHS:
        if path.startswith(there):
            return here + path.removeprefix(there)
    return path


def _filled(text: str, known: dict[str, str], *, in_address: bool = False) -> str:
    for variable, value in known.items():
        text = text.replace(variable, quote(value, safe="") if in_address else value)
    return text


def _headers(case: Case, request: Term) -> dict[str, str]:
    facts = case.facts
    fields = facts.items(facts.value(request, f"{_HT}headers"))
    return {facts.text(field, f"{_HT}fieldName"): facts.text(field, f"{_HT}fieldValue") for field in fields}


def _body(case: Case, request: Term | None, known: dict[str, str]) -> bytes | None:
    facts = case.facts
    content = facts.value(request, f"{_HT}body")
    if content is None:
        return None
    encoding = facts.text(content, f"{_CNT}characterEncoding") or "UTF-8"
    return _filled(facts.text(content, f"{_CNT}chars"), known).encode(encoding)


def _check(case: Case, expected: Term | None, reply: Reply, *, method: str, address: str) -> None:
    facts = case.facts
    if expected is None:
        return
    _check_status(facts.values(expected, f"{MF}expectedStatus"), reply)
    boolean = facts.value(expected, f"{MF}expectedBoolean")
    if isinstance(boolean, Literal):
        found = _boolean(reply)
        if found != (boolean.value == "true"):
            raise FailedError(f"the answer is {found}")
    _check_format(facts.text(expected, f"{MF}expectedFormat"), reply)
    for name, value in _headers(case, expected).items():
        if _plain(reply.headers.get(name.lower(), "")) != _plain(value):
            raise FailedError(f"{name} is {reply.headers.get(name.lower())!r}, not {value!r}")
    body = _body(case, expected, {})
    if body is not None and method != "HEAD" and not same_graphs(_read(reply, address), _turtle(body, address)):
        raise FailedError(f"the graph is another one: {reply.body[:300]!r}")


def _plain(value: str) -> str:
    return re.sub(r"\s+", "", value).lower()


def _check_status(wanted: Iterable[Term], reply: Reply) -> None:
    names = [local_name(item.value) for item in wanted if isinstance(item, NamedNode)]
    for name in names:
        if _STATUS.get(name) == reply.status:
            return
        family = re.fullmatch(r"StatusCode(\d)xx", name)
        if family and int(family[1]) == reply.status // 100:
            return
    raise FailedError(f"status {reply.status}, not {' or '.join(sorted(names))}: {reply.body[:200]!r}")


def _check_format(name: str, reply: Reply) -> None:
    if name == "RDF":
        _read(reply, "http://localhost/")
        return
    offers = {"boolean": _BOOLEANS, "tabular": _TABLES}.get(name, ())
    if offers and reply.media_type not in offers:
        raise FailedError(f"the content type is {reply.media_type or 'missing'}")


def _boolean(reply: Reply) -> bool | None:
    if reply.media_type == _BOOLEANS[0]:
        found = json.loads(reply.body).get("boolean")
        return found if isinstance(found, bool) else None
    match = re.search(rb"<boolean>\s*(true|false)\s*</boolean>", reply.body)
    return match[1] == b"true" if match else None


def _read(reply: Reply, address: str) -> list[ox.Triple]:
    format_ = RdfFormat.from_media_type(reply.media_type)
    if format_ is None:
        raise FailedError(f"the content type is {reply.media_type or 'missing'}, no RDF")
    try:
        return [quad.triple for quad in ox.parse(reply.body, format=format_, base_iri=address)]
    except SyntaxError as error:
        raise FailedError(f"the body does not parse: {error}") from error


def _turtle(body: bytes, address: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(body, format=RdfFormat.TURTLE, base_iri=address)]


# An empty workspace of its own, served by a process of its own, for as long as the tests take.


_ADDRESS = re.compile(r"http://[\w.\[\]:]+:\d+")
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


@contextmanager
def served() -> Iterator[Server]:
    """A server on a free port of this machine; it ends, and its workspace goes, with the context."""
    with tempfile.TemporaryDirectory(prefix="kgplatform-conformance-") as folder:
        workspace = Path(folder) / "workspace"
        KnowledgeGraph.create(workspace).close()
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "kgplatform", "serve", "-w", str(workspace), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=_PACKAGE_ROOT,
        )
        try:
            yield Server(_address(process))
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := _ADDRESS.search(line):
            return found.group()
    raise KgPlatformError(f"the server did not start: {' '.join(said)[-500:]}")


# The tests of SPARQL 1.1 Service Description: they have names only, so what they ask for is written here.
#
# Specification: https://www.w3.org/TR/sparql11-service-description/ §2 (access) and §3 (vocabulary).


SD = "http://www.w3.org/ns/sparql-service-description#"
_ANY = ""
_SCHEMA = {
    "endpoint": ("Service", _ANY),
    "feature": ("Service", "Feature"),
    "defaultEntailmentRegime": ("Service", "EntailmentRegime"),
    "supportedEntailmentProfile": ("Service", "EntailmentProfile"),
    "entailmentRegime": ("NamedGraph", "EntailmentRegime"),
    "extensionFunction": ("Service", "Function"),
    "extensionAggregate": ("Service", "Aggregate"),
    "languageExtension": ("Service", "Feature"),
    "supportedLanguage": ("Service", "Language"),
    "propertyFeature": ("Service", "Feature"),
    "defaultDataset": ("Service", "Dataset"),
    "availableGraphs": ("Service", "GraphCollection"),
    "resultFormat": ("Service", "Format"),
    "inputFormat": ("Service", "Format"),
    "defaultGraph": ("Dataset", "Graph"),
    "namedGraph": ("GraphCollection", "NamedGraph"),
    "name": ("NamedGraph", _ANY),
    "graph": ("NamedGraph", "Graph"),
}
"""Property: the class of what has it and of its value."""

_CLASSES = frozenset({*(pair[0] for pair in _SCHEMA.values()), *(pair[1] for pair in _SCHEMA.values() if pair[1])})
_ABOVE = {"Dataset": "GraphCollection", "Aggregate": "Function"}


def description_tests_run(case: Case, server: Server) -> Outcome:
    """What becomes of a test of the service description on that server."""
    test = case.node.value.rpartition("#")[2]
    try:
        _TESTS[test](server)
    except FailedError as error:
        return Outcome(case.node.value, case.name, case.suite, Verdict.FAILED, str(error))
    except KeyError:
        return Outcome(case.node.value, case.name, case.suite, Verdict.UNTESTED, "a test that is not known here")
    return Outcome(case.node.value, case.name, case.suite, Verdict.PASSED)


def _description(server: Server) -> list[Triple]:
    reply = server.send("GET", "/sparql")
    format_ = RdfFormat.from_media_type(reply.media_type)
    if reply.status != 200 or format_ is None:
        raise FailedError(f"GET on the endpoint gives {reply.status} {reply.media_type}, no RDF")
    try:
        return [quad.triple for quad in ox.parse(reply.body, format=format_, base_iri=f"{server.address}/sparql")]
    except SyntaxError as error:
        raise FailedError(f"the description does not parse: {error}") from error


def _returns_rdf(server: Server) -> None:
    if not _description(server):
        raise FailedError("the description is empty")


def _has_endpoint(server: Server) -> None:
    wanted = NamedNode(f"{server.address}/sparql")
    found = {t.object for t in _description(server) if t.predicate == NamedNode(f"{SD}endpoint")}
    if found != {wanted}:
        raise FailedError(f"sd:endpoint is {sorted(map(str, found))}, asked was {wanted}")


def _conforms(server: Server) -> None:
    triples = _description(server)
    types: dict[object, set[str]] = {}
    for triple in triples:
        if triple.predicate == TYPE and isinstance(triple.object, NamedNode) and triple.object.value.startswith(SD):
            types.setdefault(triple.subject, set()).add(triple.object.value.removeprefix(SD))
    if not any("Service" in names for names in types.values()):
        raise FailedError("nothing in the description is an sd:Service")
    for triple in triples:
        name = triple.predicate.value.removeprefix(SD) if triple.predicate.value.startswith(SD) else ""
        if not name:
            continue
        if name not in _SCHEMA:
            raise FailedError(f"sd:{name} is no property of the vocabulary")
        for node, wanted in zip((triple.subject, triple.object), _SCHEMA[name], strict=True):
            _check_class(node, wanted, types, name)
    unknown = {name for names in types.values() for name in names} - _CLASSES
    if unknown:
        raise FailedError(f"no classes of the vocabulary: {', '.join(sorted(unknown))}")


def _check_class(node: object, wanted: str, types: dict[object, set[str]], name: str) -> None:
    """What the description says of a node must not contradict the schema; IRIs of others need not be described."""
    if not wanted:
        if not isinstance(node, NamedNode):
            raise FailedError(f"sd:{name} leads to {node}, no IRI")
        return
    if isinstance(node, ox.Literal):
        raise FailedError(f"sd:{name} leads to the literal {node}")
    said = types.get(node, set())
    reached = {*said, *(_ABOVE[item] for item in said if item in _ABOVE)}
    if wanted not in reached and (said or not isinstance(node, NamedNode)):
        raise FailedError(f"sd:{name} of {node}: it should be an sd:{wanted}")


_TESTS: dict[str, Callable[[Server], None]] = {
    "returns-rdf": _returns_rdf,
    "has-endpoint-triple": _has_endpoint,
    "conforms-to-schema": _conforms,
}


# Tests of federated queries: the endpoints that a test names run here, and are asked over HTTP as any other.
#
# Each test lists its endpoints and what they hold. One server on this machine plays all of them; the settings allow
# exactly its addresses, and the addresses of the manifest stand for these, as a hosts file would have it. What is
# tested
# is the way of a real ``SERVICE``: the block found, the other asked within its limits, the rows put in its place.
#
# Specification: https://www.w3.org/TR/sparql11-federated-query/ §2.


def endpoints(case: Case) -> dict[str, Store]:
    """What each endpoint of the test holds, by its address."""
    facts, found = case.facts, dict[str, Store]()
    for node in facts.values(facts.value(case.node, f"{MF}action") or case.node, f"{QT}serviceData"):
        address = facts.text(node, f"{QT}endpoint")
        found[address] = made = Store.open(prefixes={})
        for item in facts.values(node, f"{QT}data"):
            if isinstance(item, NamedNode):
                made._store.load(case.file(item).read_bytes(), format=RdfFormat.TURTLE, base_iri=item.value)
    return found


@contextmanager
def answering(held: Mapping[str, Store]) -> Iterator[Services]:
    """The endpoints, running."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    services = Services(held, server.server_port)
    server.RequestHandlerClass = type("Handler", (_Handler,), {"services": services})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield services
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Services:
    """The endpoints of a test, and the way to ask them."""

    def __init__(self, held: Mapping[str, Store], port: int) -> None:
        self._held = dict(held)
        self._places = {address: f"http://127.0.0.1:{port}/{number}" for number, address in enumerate(held)}
        rules = FederationSettings(endpoints=tuple(self._places.values()), timeout_seconds=20)
        self._federation = Federation(rules, resolve=named_addresses)

    def resolved(self, text: str, base: str = "") -> str:
        """The query with the rows of each SERVICE block in its place."""
        found = calls.federated_blocks(text, {}, base=base)
        return calls.with_values(text, [(call, self._solutions(call)) for call in found]) if found else text

    def _solutions(self, call: calls.FederatedBlock) -> Solutions:
        return calls.solutions_of(call, list(self._held), partial(self._asked, call))

    def _asked(self, call: calls.FederatedBlock, address: str) -> Solutions:
        try:
            return self._federation.ask(self._places.get(address, address), call.body, call.prefixes)
        except KgPlatformError:
            if call.is_silent:
                return calls.ONE_EMPTY
            raise

    def answer(self, path: str, query: str) -> bytes:
        """The result of a query at the endpoint that is played at the path, as JSON; it may ask the others in turn."""
        address = list(self._held)[int(path.strip("/"))]
        return self._held[address].results(self.resolved(query), "json")


class _Handler(BaseHTTPRequestHandler):
    """Answers as an endpoint does to a query in a form."""

    services: ClassVar[Services]

    def do_POST(self) -> None:
        """Runs the query of the form."""
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        try:
            status, body = 200, self.services.answer(self.path, form["query"][0])
        except KgPlatformError as error:
            status, body = 400, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Says nothing: what fails is told by the test."""


# Tests of queries, updates, results and syntax, run on the store behind the same guards as the endpoint.
#
# The store is in memory and knows no prefixes of its own; everything else is as a client meets it: what the scan of
# `kgplatform.sparql.tokens` refuses is refused here too.


_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_RDF_SUFFIXES = {".ttl": RdfFormat.TURTLE, ".nt": RdfFormat.N_TRIPLES, ".rdf": RdfFormat.RDF_XML}
_GRAPH_SUFFIXES = {**_RDF_SUFFIXES, ".trig": RdfFormat.TRIG, ".nq": RdfFormat.N_QUADS}
_RESULT_SUFFIXES = {
    ".srx": QueryResultsFormat.XML,
    ".srj": QueryResultsFormat.JSON,
    ".tsv": QueryResultsFormat.TSV,
}


class _DiffersError(Exception):
    """The result is not the one expected; the text says how."""


def store_tests_run(case: Case) -> Outcome:
    """What becomes of a test of the store."""
    known = [_STORE_TESTS_TESTS[kind] for kind in case.kinds if kind in _STORE_TESTS_TESTS]
    if not known:
        detail = f"not run: {', '.join(sorted(case.kinds)) or 'a test of no type'}"
        return Outcome(case.node.value, case.name, case.suite, Verdict.UNTESTED, detail)
    try:
        known[0](case)
    except (_DiffersError, KgPlatformError, OSError, SyntaxError, ValueError) as error:
        return Outcome(case.node.value, case.name, case.suite, Verdict.FAILED, " ".join(str(error).split())[:400])
    return Outcome(case.node.value, case.name, case.suite, Verdict.PASSED)


# what a test gives


def _action(case: Case) -> Term | None:
    return case.facts.value(case.node, f"{MF}action")


def _text(case: Case, *properties: str) -> tuple[str, str]:
    """The SPARQL of the test, and the IRI that it is published under."""
    action = _action(case)
    found = case.facts.value(action, *properties) or action
    path = case.file(found)
    return path.read_text(encoding="utf-8"), iri_of(path, case.root)


def _load(store: ox.Store, path: Path, iri: str, graph: NamedNode | None) -> None:
    format_ = _GRAPH_SUFFIXES[path.suffix]
    store.load(path.read_bytes(), format=format_, base_iri=iri, to_graph=None if format_.supports_datasets else graph)


def _store_tests_filled(case: Case, node: Term | None, data: Iterable[str], graph_data: str, graph: str) -> Store:
    """A store with the data that a node of the manifest lists."""
    facts, made = case.facts, Store.open(prefixes={})
    raw = made._store
    for item in facts.values(node, *data) if node is not None else ():
        if isinstance(item, NamedNode):
            _load(raw, case.file(item), item.value, None)
    for item in facts.values(node, graph_data) if node is not None else ():
        file = facts.value(item, graph) or item
        name = NamedNode(facts.text(item, f"{RDFS}label") or _value(file))
        raw.add_graph(name)
        _load(raw, case.file(file), _value(file), name)
    return made


def _value(term: Term | None) -> str:
    return term.value if isinstance(term, NamedNode) else ""


# the tests


def _query_evaluation(case: Case) -> None:
    text, base = _text(case, f"{QT}query")
    store = _store_tests_filled(case, _action(case), [f"{QT}data"], f"{QT}graphData", f"{QT}graph")
    found = worker.evaluate(store, wire.Request(_resolved(case, text, base), base_iri=base))
    expected = case.file(case.facts.value(case.node, f"{MF}result"))
    if isinstance(found, ox.QueryTriples):
        if not same_graphs(found, _graph(expected, case.root)):
            raise _DiffersError("the graph is another one")
    elif isinstance(found, ox.QueryBoolean):
        if bool(found) != _expected_boolean(expected, case.root):
            raise _DiffersError(f"the answer is {bool(found)}")
    else:
        _compare_rows(found, expected, case.root)


def _resolved(case: Case, text: str, base: str) -> str:
    """The query with what the endpoints of the test answer in place of its SERVICE blocks."""
    if not scan(text).reaches_network:
        return text
    with answering(endpoints(case)) as services:
        return services.resolved(text, base)


def _compare_rows(found: ox.QuerySolutions, expected: Path, root: Path) -> None:
    rows = _rows(found)
    if expected.suffix == ".csv":
        _compare_csv(rows, [variable.value for variable in found.variables], expected)
        return
    wanted, ordered = _expected_rows(expected, root)
    if not same_rows(rows, wanted, ordered=ordered):
        raise _DiffersError(f"{len(rows)} rows, {len(wanted)} expected: {rows[:3]} for {wanted[:3]}")


def _update_evaluation(case: Case) -> None:
    text, base = _text(case, f"{UT}request")
    names = ([f"{UT}data"], f"{UT}graphData", f"{UT}graph")
    store = _store_tests_filled(case, _action(case), *names)
    store.update(text, base_iri=base)
    wanted = _store_tests_filled(case, case.facts.value(case.node, f"{MF}result"), *names)
    if not same_datasets(store.quads(), wanted.quads()):
        raise _DiffersError(f"the dataset has {len(store)} statements, {len(wanted)} expected, or others")


def _positive_query(case: Case) -> None:
    text, base = _text(case, f"{QT}query")
    found = calls.federated_blocks(text, {}, base=base)
    text = calls.with_values(text, [(call, calls.ONE_EMPTY) for call in found])  # as if nobody had an answer
    try:
        worker.evaluate(Store.open(prefixes={}), wire.Request(text, base_iri=base))
    except QueryRejectedError as error:
        if "is not supported" not in str(error):  # a function that is not there, found out after it had parsed
            raise


def _positive_update(case: Case) -> None:
    text, base = _text(case, f"{UT}request")
    store = Store.open(prefixes={})
    try:
        store.update(text, base_iri=base)
    except QueryRejectedError as error:
        if "already exists" in str(error) or "does not exist" in str(error):  # found out after it had parsed
            return
        raise


def _negative(run_it: Callable[[Case], None]) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        try:
            run_it(case)
        except QueryError:
            return
        raise _DiffersError("what should be refused is taken")

    return check


_STORE_TESTS_TESTS: dict[str, Callable[[Case], None]] = {
    "QueryEvaluationTest": _query_evaluation,
    "CSVResultFormatTest": _query_evaluation,
    "UpdateEvaluationTest": _update_evaluation,
    "PositiveSyntaxTest": _positive_query,
    "PositiveSyntaxTest11": _positive_query,
    "NegativeSyntaxTest": _negative(_positive_query),
    "NegativeSyntaxTest11": _negative(_positive_query),
    "PositiveUpdateSyntaxTest": _positive_update,
    "PositiveUpdateSyntaxTest11": _positive_update,
    "NegativeUpdateSyntaxTest": _negative(_positive_update),
    "NegativeUpdateSyntaxTest11": _negative(_positive_update),
}


# what is expected


def _rows(found: ox.QuerySolutions) -> list[Row]:
    names = [variable.value for variable in found.variables]
    return [
        tuple((name, term) for name, term in sorted(zip(names, solution, strict=True), key=_name) if term is not None)
        for solution in found
    ]


def _name(binding: tuple[str, object]) -> str:
    return binding[0]


def _graph(path: Path, root: Path) -> list[Triple]:
    parsed = ox.parse(path.read_bytes(), format=_RDF_SUFFIXES[path.suffix], base_iri=iri_of(path, root))
    return [quad.triple for quad in parsed]


def _expected_boolean(path: Path, root: Path) -> bool:
    if path.suffix in _RESULT_SUFFIXES:
        parsed = ox.parse_query_results(path.read_bytes(), format=_RESULT_SUFFIXES[path.suffix])
        return isinstance(parsed, ox.QueryBoolean) and bool(parsed)
    return any(t.predicate.value == f"{_RS}boolean" and _literal(t.object) == "true" for t in _graph(path, root))


def _literal(term: Term) -> str:
    return term.value if isinstance(term, Literal) else ""


def _expected_rows(path: Path, root: Path) -> tuple[list[Row], bool]:
    """The rows of the file, and whether their order counts."""
    if path.suffix in _RESULT_SUFFIXES:
        parsed = ox.parse_query_results(path.read_bytes(), format=_RESULT_SUFFIXES[path.suffix])
        assert isinstance(parsed, ox.QuerySolutions)
        return _rows(parsed), False
    facts = _WrittenRows(_graph(path, root))
    return facts.rows()


class _WrittenRows:
    """A result set written as RDF (``rs:``), as the older tests have it."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self._store = ox.Store()
        self._store.extend(Quad(t.subject, t.predicate, t.object, DefaultGraph()) for t in triples)

    def _values(self, subject: Term, name: str) -> list[Term]:
        found = self._store.quads_for_pattern(subject, NamedNode(f"{_RS}{name}"), None)  # type: ignore[arg-type]
        return [quad.object for quad in found]

    def rows(self) -> tuple[list[Row], bool]:
        """The rows, in their order where they have one, and whether they have."""
        sets = [q.subject for q in self._store.quads_for_pattern(None, TYPE, NamedNode(f"{_RS}ResultSet"))]
        found: list[tuple[int, Row]] = []
        ordered = False
        for solution in self._values(sets[0], "solution"):
            bindings = [
                (_literal(self._values(item, "variable")[0]), self._values(item, "value")[0])
                for item in self._values(solution, "binding")
            ]
            place = self._values(solution, "index")
            ordered = ordered or bool(place)
            found.append((int(_literal(place[0])) if place else 0, tuple(sorted(bindings, key=_name))))
        return [row for _, row in sorted(found, key=lambda pair: pair[0])], ordered


def _compare_csv(rows: list[Row], names: list[str], path: Path) -> None:
    """CSV tells neither types nor, beyond one row, which blank nodes are the same, so texts are compared."""
    wanted = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    if wanted[0] != names:
        raise _DiffersError(f"the columns are {names}, not {wanted[0]}")
    found = [[_cell(dict(row).get(name)) for name in names] for row in rows]
    plain = [["_:" if cell.startswith("_:") else cell for cell in line] for line in wanted[1:]]
    if sorted(found) != sorted(plain):
        raise _DiffersError(f"{found[:3]} for {plain[:3]}")


def _cell(term: Term | None) -> str:
    if term is None:
        return ""
    if isinstance(term, ox.BlankNode):
        return "_:"
    return term.value if isinstance(term, NamedNode | Literal) else str(term)


# Which suites there are, run one after the other: those of the protocols on a server, the others on the store.


_DEVIATIONS = Path(__file__).with_name("deviations.toml")


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite: what it goes by, its manifest below the folder of the tests, and whether it needs a server."""

    name: str
    manifest: str
    needs_server: bool = False


SUITES = (
    Suite("protocol", "sparql/sparql11/protocol/manifest.ttl", needs_server=True),
    Suite("graph-store", "sparql/sparql11/graph-store-protocol/manifest.ttl", needs_server=True),
    Suite("service-description", "sparql/sparql11/service-description/manifest.ttl", needs_server=True),
    Suite("query", "sparql/sparql11/manifest-sparql11-query.ttl"),
    Suite("update", "sparql/sparql11/manifest-sparql11-update.ttl"),
    Suite("results", "sparql/sparql11/manifest-sparql11-results.ttl"),
    Suite("federation", "sparql/sparql11/manifest-sparql11-fed.ttl"),
    Suite("sparql12", "sparql/sparql12/manifest.ttl"),
)


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome in the suite it was run for; ``deviation`` is why it is known not to pass, empty if it should."""

    suite: str
    outcome: Outcome
    deviation: str = ""

    @property
    def is_surprise(self) -> bool:
        """Whether the test fails although nothing says that it does, or passes although something says it does not."""
        if self.outcome.verdict is Verdict.UNTESTED:
            return False
        return (self.outcome.verdict is Verdict.FAILED) != bool(self.deviation)


def deviations() -> dict[str, str]:
    """Why tests are known not to pass, by their IRIs."""
    table = tomllib.loads(_DEVIATIONS.read_text(encoding="utf-8"))
    return {iri: group["reason"] for group in table["deviation"] for iri in group["tests"]}


def chosen(names: Iterable[str]) -> tuple[Suite, ...]:
    """The suites of those names, all if there are none."""
    wanted, known = list(names), {suite.name: suite for suite in SUITES}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{name!r} is no suite; there are {', '.join(known)}", setting="suite")
    return tuple(known[name] for name in wanted) or SUITES


def run(root: Path, suites: Iterable[Suite]) -> Iterator[Result]:
    """The result of every test of the suites, as each is done; ``root`` is a checkout of the W3C's rdf-tests."""
    given, known = list(suites), deviations()
    for suite in given:
        if not (root / suite.manifest).is_file():
            raise ReadError(
                f"no {suite.manifest} there; get https://github.com/w3c/rdf-tests and name its folder", path=root
            )
    at_server = [suite for suite in given if suite.needs_server]
    if at_server:
        with served() as server:
            for suite in at_server:
                yield from _results(suite, root, partial(_over_http, server), known)
    for suite in given:
        if not suite.needs_server:
            yield from _results(suite, root, store_tests_run, known)


def _results(suite: Suite, root: Path, run_it: Callable[[Case], Outcome], known: dict[str, str]) -> Iterator[Result]:
    for case in cases(root / suite.manifest, root):
        outcome = run_it(case)
        yield Result(suite.name, outcome, known.get(outcome.iri, ""))


def _over_http(server: Server, case: Case) -> Outcome:
    if "ServiceDescriptionTest" in case.kinds:
        return description_tests_run(case, server)
    return http_tests_run(case, server)
