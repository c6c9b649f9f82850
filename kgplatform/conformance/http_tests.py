"""Protocol tests: requests written down in RDF, sent to a server, their responses compared with what is expected.

The vocabulary is "HTTP Vocabulary in RDF" (``ht:``) with the few terms that the manifests' own comments define:
``mf:expectedStatus``, ``mf:expectedBoolean``, ``mf:expectedFormat``, ``mf:expectedLocation``.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, RdfFormat

from kgplatform.conformance.comparing import same_graphs
from kgplatform.conformance.manifest import MF, UT, Case
from kgplatform.conformance.outcomes import Outcome, Verdict
from kgplatform.errors import KgPlatformError
from kgplatform.types import Term
from kgplatform.vocab import RDFS, local_name

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
        """The media type without its parameters."""
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
        """The response; the path and headers go out as they are, no content type is made up.

        Raises:
            FailedError: the server does not answer.
        """
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
        """Empties the dataset.

        Raises:
            FailedError: it would not.
        """
        reply = self.send(
            "POST", "/sparql", headers={"Content-Type": "application/sparql-update"}, body=b"DROP SILENT ALL"
        )
        if reply.status >= 300:
            raise FailedError(f"the dataset could not be emptied: {reply.status} {reply.body[:200]!r}")


def run(case: Case, server: Server) -> Outcome:
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
