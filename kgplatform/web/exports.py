"""``/export``: the graph as files; ``/context.jsonld``: its names for JSON-LD; ``/sitemap.xml``: its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from itertools import chain, islice
from typing import Any
from xml.sax.saxutils import escape

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import NamedNode

from kgplatform.building.exporting import PACKERS, Selection, Shape, exported, shape_of
from kgplatform.building.network import NETWORKS
from kgplatform.describing import Labels
from kgplatform.errors import ConfigError, KgPlatformError, QueryError, StoreError
from kgplatform.parts import Counted
from kgplatform.store import DEFAULT_GRAPH, checked_iri
from kgplatform.vocab import TYPE, XSD, local_name
from kgplatform.web import addresses, travelling
from kgplatform.web.endpoint import sent_on
from kgplatform.web.frame import page, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS
from kgplatform.web.problems import problem, query_problem
from kgplatform.web.rights import Role, client, require
from kgplatform.wire import Request
from kgplatform.worker_process import Snapshot
from kgplatform.workers import Reply, Whole

_MOST_PAGES = 50_000
_EXTENSIONS = {
    "turtle": "ttl",
    "ntriples": "nt",
    "nquads": "nq",
    "trig": "trig",
    "rdfxml": "rdf",
    "jsonld": "jsonld",
    "graphml": "graphml",
    "gexf": "gexf",
}
_PACKED = {"gz": "application/gzip", "zst": "application/zstd"}
_TYPES = {item.name: item.content_type for item in GRAPHS} | dict.fromkeys(NETWORKS, "application/xml")
_MOST_CLASSES = 500
_MOST_TIES = 500_000
"""So many statements may be in a network, which is made in the memory of the server."""
_LEAST_SECONDS = 600.0
"""So long an export may take, however soon queries have to end."""


def blueprint(kg: Graph) -> Blueprint:
    """The routes of what can be taken away."""
    routes = Blueprint("exports", __name__)

    @routes.route("/export")
    def exported() -> Any:
        require(Role.READ)
        if "format" not in request.args:
            return _form(kg)
        return _file(kg)

    @routes.route("/context.jsonld")
    def context() -> Response:
        require(Role.READ)
        response = jsonify({"@context": _context(kg)})
        response.headers["Content-Type"] = "application/ld+json"
        return response

    @routes.route("/sitemap.xml")
    def sitemap() -> Response:
        require(Role.READ)
        return Response(_sitemap(kg, request.host_url.rstrip("/")), content_type="application/xml")

    return routes


def _form(kg: Graph) -> Response:
    labels = Labels(kg.dataset, kg.ontology, tongues())
    counted = {iri: sum(1 for _ in kg.store.quads(None, TYPE, iri, DEFAULT_GRAPH)) for iri in kg.ontology.classes}
    classes = [(iri.value, labels.of(iri).text, count) for iri, count in counted.items() if count]
    return page(
        "export.html",
        kg.base,
        classes=sorted(classes, key=lambda item: item[1])[:_MOST_CLASSES],
        formats=list(_EXTENSIONS),
        versions=kg.versions.listed(),
        graphs=[(graph.value, local_name(graph.value)) for graph in _graphs(kg)],
    )


def _graphs(kg: Graph) -> list[NamedNode]:
    """The graphs that can be taken by themselves: the workspace's own and those of tables, not each passage."""
    own = (graph for graph in kg.store.graphs() if not graph.value.startswith(f"{kg.base}document/"))
    return sorted(own, key=lambda graph: graph.value)[:_MOST_CLASSES]


def _file(kg: Graph) -> Response:
    chosen = request.args
    shape = shape_of(None, chosen["format"], canonical="canonical" in chosen, header="header" in chosen)
    packed = next((name for name in PACKERS if name in chosen), "")
    shape = replace(shape, packed=packed)
    version = travelling.wanted(kg)
    selection = _selection(chosen.get("graph", ""), chosen.get("class", ""), chosen.get("since", ""))
    name = f"graph.{_EXTENSIONS[shape.format]}{f'.{packed}' if packed else ''}"
    headers = {
        "Content-Type": _PACKED[packed] if packed else _TYPES[shape.format],
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-cache",
    }
    try:
        with kg.versions.snapshot(version) if version else nullcontext() as at:
            pieces, reply = _begun(kg, selection, shape, at=at, state=str(version.number) if version else "")
    except StoreError as error:
        return problem(404, "Nothing to export", str(error))
    except QueryError as error:
        return query_problem(error)
    return travelling.mark(sent_on(pieces, reply, headers), version)


def _begun(
    kg: Graph, selection: Selection, shape: Shape, *, at: Snapshot | None, state: str
) -> tuple[Iterator[bytes], Reply | Whole]:
    """The pieces of the file, the first of which is there, and the worker's reply, to be closed at the end."""
    replies: list[Reply | Whole] = []

    def read(part: Request) -> tuple[Counted, Reply | Whole]:
        seconds = max(_LEAST_SECONDS, kg.settings.server.timeout_seconds)
        counted, reply = kg.workers.part(part, timeout_seconds=seconds, client=client().name, at=at)
        replies.append(reply)
        return counted, reply

    terms = (*kg.ontology.classes, *kg.ontology.properties, *kg.ontology.individuals)
    try:
        pieces = exported(
            read, kg.base, selection, shape, registry=kg.registry, terms=terms, state=state, most_ties=_MOST_TIES
        )
        first = next(pieces, b"")
    except KgPlatformError:
        for reply in replies:
            reply.close()
        raise
    return chain((first,), pieces), replies[0]


def _selection(graph: str, class_: str, since: str) -> Selection:
    if sum(map(bool, (graph, class_, since))) > 1:
        raise ConfigError("choose one of graph, class and since", setting="class")
    try:
        day = date.fromisoformat(since) if since else None
    except ValueError as error:
        raise ConfigError(f"since is a day such as 2026-05-01, not {since[:40]!r}", setting="since") from error
    return Selection(checked_iri(graph) if graph else None, checked_iri(class_) if class_ else None, day)


def _context(kg: Graph) -> dict[str, object]:
    """The prefixes, and each class and property by its plain name; two of one name keep their prefixes."""
    found: dict[str, object] = dict(sorted(kg.store.prefixes.items()))
    terms = [*kg.ontology.classes, *kg.ontology.properties]
    names = [local_name(iri.value) for iri in terms]
    for iri, name in zip(terms, names, strict=True):
        if names.count(name) > 1 or name in found:
            continue
        property_ = kg.ontology.properties.get(iri)
        found[name] = iri.value if property_ is None else _coerced(iri, getattr(property_, "ranges", ()))
    return found


def _coerced(iri: NamedNode, ranges: tuple[NamedNode, ...]) -> object:
    datatypes = [item.value for item in ranges if item.value.startswith(XSD)]
    if len(datatypes) == 1 and datatypes[0] != f"{XSD}string":
        return {"@id": iri.value, "@type": datatypes[0]}
    if ranges and not datatypes:
        return {"@id": iri.value, "@type": "@id"}
    return iri.value


def _sitemap(kg: Graph, host: str) -> Iterator[str]:
    """The pages of things below the base of the workspace, as https://www.sitemaps.org/protocol.html has it."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    things = (item.subject for item in kg.store.quads(None, TYPE, None, DEFAULT_GRAPH))
    own = dict.fromkeys(
        item for item in things if isinstance(item, NamedNode) and item.value.startswith(f"{kg.base}entity/")
    )
    for iri in islice(own, _MOST_PAGES):
        yield f"<url><loc>{escape(host + addresses.of_iri(iri, kg.base))}</loc></url>\n"
    yield "</urlset>\n"
