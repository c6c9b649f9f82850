"""What the server says of itself and its data: service description, VoID and DCAT, made of counts that are exact.

The counts are taken by a worker, once for each version of the store and all from the same one. Where they take too
long the rest is said.

Specifications: https://www.w3.org/TR/sparql11-service-description/, https://www.w3.org/TR/void/,
https://www.w3.org/TR/vocab-dcat-3/.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform import queries
from kgplatform.errors import KgPlatformError
from kgplatform.types import Term
from kgplatform.vocab import DCAT, DCTERMS, TYPE, VOID, local_name
from kgplatform.web.caching import is_known, weak_tag
from kgplatform.web.described_examples import prefixes_and_examples
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS, ROWS, choose, listing, named
from kgplatform.web.problems import query_problem
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import Role, require
from kgplatform.worker_process import Snapshot
from kgplatform.workers import WorkersBusyError

_SD = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS = "http://www.w3.org/ns/formats/"
_ROW_FORMATS = {
    "json": "SPARQL_Results_JSON",
    "xml": "SPARQL_Results_XML",
    "csv": "SPARQL_Results_CSV",
    "tsv": "SPARQL_Results_TSV",
}
_GRAPH_FORMATS = {
    "turtle": "Turtle",
    "ntriples": "N-Triples",
    "rdfxml": "RDF_XML",
    "jsonld": "JSON-LD",
    "trig": "TriG",
    "nquads": "N-Quads",
}
_IANA = "https://www.iana.org/assignments/media-types/"
_MOST_GRAPHS = 1000
_LEAST_SECONDS = 120.0
_MOST_WAITING = 4
"""So many requests wait for the counts; the next are told at once to come again."""
_RDF_FORMATS = {item.media_type: RdfFormat.from_media_type(item.media_type) for item in GRAPHS}


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted: the rows of the queries in ``sparql/void``."""

    totals: tuple[int, int, int, int]
    classes: tuple[tuple[NamedNode, int], ...]
    properties: tuple[tuple[NamedNode, int, int, int], ...]
    class_properties: dict[NamedNode, list[tuple[NamedNode, int]]]
    graphs: tuple[tuple[NamedNode, int], ...]


class SelfDescription:
    """The descriptions of a workspace, with their counts kept for as long as the store stays the same.

    They are taken behind the requests, by one thread at a time and all from one state of the store. A few requests
    wait for them, for a moment; the others are told to come again, so that a large store holds nobody up.
    """

    def __init__(self, kg: Graph, *, patience_seconds: float = 5.0) -> None:
        self._kg = kg
        self._patience_seconds = patience_seconds
        self._news = threading.Condition()
        self._is_counting = False
        self._waiting = 0
        self._version = -1
        self._counts: Counts | None = None
        self._error: KgPlatformError | None = None

    def counts(self) -> tuple[Counts, int]:
        """The counts for the store as it is now or was a moment ago, and the number of that state.

        Raises:
            WorkersBusyError: they are still being taken.
            KgPlatformError: they could not be taken, most often not in time.
        """
        wanted, until = self._kg.store.version, time.monotonic() + self._patience_seconds
        with self._news:
            self._see_to(wanted)
            if self._waiting < _MOST_WAITING:
                self._waiting += 1
                while self._version < wanted and (left := until - time.monotonic()) > 0:
                    self._news.wait(left)
                    self._see_to(wanted)
                self._waiting -= 1
            if self._version < wanted:
                raise WorkersBusyError(("the data is being counted; ask again shortly",), query="")
            if self._counts is None:
                raise self._error or WorkersBusyError(("the data could not be counted",), query="")
            return self._counts, self._version

    def _see_to(self, wanted: int) -> None:
        """Has the store counted unless that is done or being done; called with the lock."""
        if self._version < wanted and not self._is_counting:
            self._is_counting = True
            threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        """Takes the counts, or notes why they cannot be taken of this state."""
        counts, error, version = None, None, self._kg.store.version
        try:
            with self._kg.workers.held() as (snapshot, version):
                counts = self._take(snapshot)
        except WorkersBusyError:
            version = -1  # whoever waits has it tried again
        except KgPlatformError as failed:
            error = failed
        finally:
            with self._news:
                if version >= 0:
                    self._version, self._counts, self._error = version, counts, error
                self._is_counting = False
                self._news.notify_all()

    def _take(self, at: Snapshot | None) -> Counts:
        totals = tuple(_number(value) for value in self._rows("totals", at)[0])
        by_class: dict[NamedNode, list[tuple[NamedNode, int]]] = {}
        for class_, property_, triples in self._rows("class-properties", at):
            if isinstance(class_, NamedNode) and isinstance(property_, NamedNode):
                by_class.setdefault(class_, []).append((property_, _number(triples)))
        return Counts(
            totals=(totals[0], totals[1], totals[2], totals[3]),
            classes=tuple((c, _number(n)) for c, n in self._rows("classes", at) if isinstance(c, NamedNode)),
            properties=tuple(
                (p, _number(t), _number(s), _number(o))
                for p, t, s, o in self._rows("properties", at)
                if isinstance(p, NamedNode)
            ),
            class_properties=by_class,
            graphs=tuple((g, _number(n)) for g, n in self._rows("graphs", at) if isinstance(g, NamedNode)),
        )

    def _rows(self, name: str, at: Snapshot | None) -> tuple[tuple[Term | None, ...], ...]:
        seconds = max(_LEAST_SECONDS, self._kg.settings.server.timeout_seconds)
        text = queries.load(f"void/{name}").text
        return self._kg.workers.solutions(text, timeout_seconds=seconds, at=at).rows

    def of_endpoint(self, host: str) -> Response:
        """The description of the service; without counts where they could not be taken."""
        try:
            counts, version = self.counts()
        except KgPlatformError:
            counts, version = None, self._kg.store.version
        endpoint, base = NamedNode(f"{host}sparql"), self._kg.base
        shown = prefixes_and_examples(endpoint, self._kg.store.prefixes)
        triples = [*_service(host, base), *shown, *_dataset(host, base, counts)]
        return self._written(triples, ("service", "" if counts else "without counts"), host, version)

    def of_data(self, host: str) -> Response:
        """The VoID and DCAT description of the data.

        Raises:
            KgPlatformError: it could not be counted.
        """
        counts, version = self.counts()
        return self._written(list(_dataset(host, self._kg.base, counts)), ("dataset",), host, version)

    def _written(self, triples: list[Triple], what: tuple[str, ...], host: str, version: int) -> Response:
        wanted = request.args.get("format")
        chosen = named(wanted, GRAPHS) if wanted else choose(request.headers.get("Accept"), GRAPHS)
        if chosen is None:
            asked = wanted or request.headers.get("Accept", "")
            raise ProtocolError(
                406, "Not acceptable", f"the description cannot be written as {asked[:200]}; there is {listing(GRAPHS)}"
            )
        tag = weak_tag(version, *what, host, chosen.name)
        headers = {"Content-Type": chosen.content_type, "Vary": "Accept", "ETag": tag, "Cache-Control": "no-cache"}
        if is_known(tag):
            return Response(status=304, headers=headers)
        format_ = _RDF_FORMATS[chosen.media_type]
        assert format_ is not None
        store = self._kg.store
        prefixes = {"sd": _SD, "void": VOID, "dcat": DCAT, "formats": _FORMATS}
        return Response(store.serialise(triples, format_, prefixes=prefixes), headers=headers)


def blueprint(describes: SelfDescription) -> Blueprint:
    """The route of the VoID description, where clients look for it (https://www.w3.org/TR/void/#well-known)."""
    routes = Blueprint("self_description", __name__)

    @routes.route("/.well-known/void")
    def void() -> Any:
        require(Role.READ)
        try:
            return describes.of_data(request.host_url)
        except KgPlatformError as error:
            return query_problem(error)

    return routes


def _number(term: Term | None) -> int:
    return int(term.value) if isinstance(term, Literal) else 0


def _sd(name: str) -> NamedNode:
    return NamedNode(f"{_SD}{name}")


def _void(name: str) -> NamedNode:
    return NamedNode(f"{VOID}{name}")


def _dcat(name: str) -> NamedNode:
    return NamedNode(f"{DCAT}{name}")


def _service(host: str, base: str) -> Iterator[Triple]:
    endpoint = NamedNode(f"{host}sparql")
    dataset = NamedNode(f"{base}dataset")
    yield Triple(endpoint, TYPE, _sd("Service"))
    yield Triple(endpoint, _sd("endpoint"), endpoint)
    for language in ("SPARQL10Query", "SPARQL11Query", "SPARQL11Update"):
        yield Triple(endpoint, _sd("supportedLanguage"), _sd(language))
    yield Triple(endpoint, _sd("feature"), _sd("EmptyGraphs"))
    yield Triple(endpoint, _sd("defaultEntailmentRegime"), NamedNode("http://www.w3.org/ns/entailment/Simple"))
    for name in (*(_ROW_FORMATS[item.name] for item in ROWS), *(_GRAPH_FORMATS[item.name] for item in GRAPHS)):
        yield Triple(endpoint, _sd("resultFormat"), NamedNode(f"{_FORMATS}{name}"))
    for item in GRAPHS:
        yield Triple(endpoint, _sd("inputFormat"), NamedNode(f"{_FORMATS}{_GRAPH_FORMATS[item.name]}"))
    yield Triple(endpoint, _sd("defaultDataset"), dataset)
    yield Triple(dataset, TYPE, _sd("Dataset"))
    yield Triple(dataset, _sd("defaultGraph"), BlankNode("default"))
    yield Triple(BlankNode("default"), TYPE, _sd("Graph"))


def _dataset(host: str, base: str, counts: Counts | None) -> Iterator[Triple]:
    dataset, endpoint = NamedNode(f"{base}dataset"), NamedNode(f"{host}sparql")
    yield Triple(dataset, TYPE, _void("Dataset"))
    yield Triple(dataset, TYPE, _dcat("Dataset"))
    for text, language in ((f"Knowledge graph {base}", "en"), (f"知识图谱 {base}", "zh")):
        yield Triple(dataset, NamedNode(f"{DCTERMS}title"), Literal(text, language=language))
    yield Triple(dataset, _void("uriSpace"), Literal(base))
    yield Triple(dataset, _void("sparqlEndpoint"), endpoint)
    yield Triple(dataset, _void("dataDump"), NamedNode(f"{host}graphs?default"))
    for item in GRAPHS:
        yield Triple(dataset, _void("feature"), NamedNode(f"{_FORMATS}{_GRAPH_FORMATS[item.name]}"))
    yield from _catalogued(dataset, endpoint, host)
    if counts is not None:
        yield from _counted(dataset, counts)
        yield from _graphs(dataset, base, counts)


def _catalogued(dataset: NamedNode, endpoint: NamedNode, host: str) -> Iterator[Triple]:
    yield Triple(endpoint, TYPE, _dcat("DataService"))
    yield Triple(endpoint, _dcat("endpointURL"), endpoint)
    yield Triple(endpoint, _dcat("endpointDescription"), endpoint)
    yield Triple(endpoint, _dcat("servesDataset"), dataset)
    for url in ("https://www.w3.org/TR/sparql11-protocol/", "https://www.w3.org/TR/sparql11-query/"):
        yield Triple(endpoint, NamedNode(f"{DCTERMS}conformsTo"), NamedNode(url))
    for item in GRAPHS:
        address = NamedNode(f"{host}graphs?default&format={item.name}")
        yield Triple(dataset, _dcat("distribution"), address)
        yield Triple(address, TYPE, _dcat("Distribution"))
        yield Triple(address, _dcat("downloadURL"), address)
        yield Triple(address, _dcat("mediaType"), NamedNode(_IANA + item.media_type))
        yield Triple(address, _dcat("accessService"), endpoint)


def _counts(node: NamedNode | BlankNode, **values: int) -> Iterator[Triple]:
    for name, value in values.items():
        yield Triple(node, _void(name), Literal(value))


def _counted(dataset: NamedNode, counts: Counts) -> Iterator[Triple]:
    triples, subjects, properties, objects = counts.totals
    yield from _counts(
        dataset,
        triples=triples,
        entities=subjects,
        distinctSubjects=subjects,
        distinctObjects=objects,
        properties=properties,
        classes=len(counts.classes),
    )
    for space in _spaces(item[0] for item in counts.properties):
        yield Triple(dataset, _void("vocabulary"), NamedNode(space))
    for number, (class_, entities) in enumerate(counts.classes):
        part = BlankNode(f"class{number}")
        yield Triple(dataset, _void("classPartition"), part)
        yield Triple(part, _void("class"), class_)
        yield from _counts(part, entities=entities)
        for place, (property_, of_class) in enumerate(counts.class_properties.get(class_, [])):
            below = BlankNode(f"class{number}property{place}")
            yield Triple(part, _void("propertyPartition"), below)
            yield Triple(below, _void("property"), property_)
            yield from _counts(below, triples=of_class)
    for number, (property_, uses, having, values) in enumerate(counts.properties):
        part = BlankNode(f"property{number}")
        yield Triple(dataset, _void("propertyPartition"), part)
        yield Triple(part, _void("property"), property_)
        yield from _counts(part, triples=uses, distinctSubjects=having, distinctObjects=values)


def _spaces(properties: Iterable[NamedNode]) -> list[str]:
    """The namespaces of the properties."""
    return sorted({iri.value[: len(iri.value) - len(local_name(iri.value))] for iri in properties})


def _graphs(dataset: NamedNode, base: str, counts: Counts) -> Iterator[Triple]:
    """The named graphs; those of single passages and documents are too many, and are said to follow a pattern."""
    listed = [(graph, n) for graph, n in counts.graphs if not graph.value.startswith(f"{base}document/")]
    yield Triple(dataset, TYPE, _sd("Dataset"))
    yield Triple(dataset, _sd("defaultGraph"), BlankNode("default"))
    yield Triple(BlankNode("default"), TYPE, _sd("Graph"))
    yield from _counts(BlankNode("default"), triples=counts.totals[0])
    for number, (graph, triples) in enumerate(listed[:_MOST_GRAPHS]):
        node, content = BlankNode(f"graph{number}"), BlankNode(f"content{number}")
        yield Triple(dataset, _sd("namedGraph"), node)
        yield Triple(node, TYPE, _sd("NamedGraph"))
        yield Triple(node, _sd("name"), graph)
        yield Triple(node, _sd("graph"), content)
        yield Triple(content, TYPE, _sd("Graph"))
        yield from _counts(content, triples=triples)
