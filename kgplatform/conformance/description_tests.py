"""The tests of SPARQL 1.1 Service Description: they have names only, so what they ask for is written here.

Specification: https://www.w3.org/TR/sparql11-service-description/ §2 (access) and §3 (vocabulary).
"""

from __future__ import annotations

from collections.abc import Callable

import pyoxigraph as ox
from pyoxigraph import NamedNode, RdfFormat, Triple

from kgplatform.conformance.http_tests import FailedError, Server
from kgplatform.conformance.manifest import Case
from kgplatform.conformance.outcomes import Outcome, Verdict
from kgplatform.vocab import TYPE

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


def run(case: Case, server: Server) -> Outcome:
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
