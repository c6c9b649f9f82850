"""Taking the graph away, and what the server is.

``/export``: the graph as files; ``/context.jsonld``: its names for JSON-LD; ``/sitemap.xml``: its pages (sitemaps.org);
``/api``: how programs use the server, in lines to copy; ``/about``: what is here, and what it never does.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import Literal, NamedNode

from kgplatform import __version__
from kgplatform.entities import Labels
from kgplatform.errors import KgPlatformError, QueryError, StoreError
from kgplatform.server import addresses, endpoint
from kgplatform.server.access import POLICY, Role, client, require
from kgplatform.server.endpoint import sent_on
from kgplatform.server.frame import FOLDER, LICENCES, Lately, page, tongues
from kgplatform.server.http import problem, query_problem
from kgplatform.server.self_description import described
from kgplatform.sparql.protocol import GRAPHS
from kgplatform.store.child_process import Snapshot
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.store.wire import Counted, Request
from kgplatform.store.worker_pool import Reply, Whole
from kgplatform.vocab import LABEL, TYPE, XSD, local_name
from kgplatform.workspace.rdf_files import NETWORKS, PACKERS, Selection, Shape, exported, selection_of, shape_of

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_MOST_PAGES = 50_000
_EXTENSIONS = {item.name: item.extension for item in GRAPHS} | {name: name for name in NETWORKS}
_PACKED = {"gz": "application/gzip", "zst": "application/zstd"}
_TYPES = {item.name: item.content_type for item in GRAPHS} | dict.fromkeys(NETWORKS, "application/xml")
_MOST_CLASSES = 500
_MOST_TIES = 500_000
"""So many statements may be in a network, which is made in the memory of the server."""
_LEAST_SECONDS = 600.0
"""So long an export may take, however soon queries have to end."""


def blueprint(kg: KnowledgeGraph, lately: Lately) -> Blueprint:
    """The routes of what can be taken away, and of the pages that tell of the server."""
    routes = Blueprint("export", __name__)
    _add_information(routes, kg, lately)

    @routes.route("/export")
    def exported() -> Any:
        require(Role.READ)
        if "format" not in request.args:
            return _form(kg, lately)
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
        return Response(_sitemap(kg, request.url_root.rstrip("/")), content_type="application/xml")

    return routes


def _form(kg: KnowledgeGraph, lately: Lately) -> Response:
    labels = Labels(kg.dataset, kg.ontology, tongues())
    classes = [(iri.value, labels.of(iri).text, count) for iri, count in lately.totals().items() if count]
    return page(
        "export.html",
        kg.base,
        classes=sorted(classes, key=lambda item: item[1])[:_MOST_CLASSES],
        formats=list(_EXTENSIONS),
        versions=kg.versions.listed(),
        graphs=[(graph.value, local_name(graph.value)) for graph in _graphs(kg)],
    )


def _graphs(kg: KnowledgeGraph) -> list[NamedNode]:
    """The graphs that can be taken by themselves: the workspace's own and those of tables, not each passage."""
    own = (graph for graph in kg.store.graphs() if not graph.value.startswith(f"{kg.base}document/"))
    return sorted(own, key=lambda graph: graph.value)[:_MOST_CLASSES]


def _file(kg: KnowledgeGraph) -> Response:
    chosen = request.args
    shape = shape_of(None, chosen["format"], canonical="canonical" in chosen, header="header" in chosen)
    packed = next((name for name in PACKERS if name in chosen), "")
    shape = replace(shape, packed=packed)
    version = endpoint.wanted(kg)
    selection = selection_of(chosen.get("graph"), chosen.get("class"), chosen.get("since"))
    name = f"graph.{_EXTENSIONS[shape.format]}{f'.{packed}' if packed else ''}"
    type_ = _PACKED[packed] if packed else _TYPES[shape.format]
    headers = {"Content-Type": type_, "Content-Disposition": f'attachment; filename="{name}"'}
    try:
        with kg.versions.snapshot(version) if version else nullcontext() as at:
            pieces, reply = _begun(kg, selection, shape, at=at, state=str(version.number) if version else "")
    except StoreError as error:
        return problem(404, "Nothing to export", str(error))
    except QueryError as error:
        return query_problem(error)
    return endpoint.mark(sent_on(pieces, reply, headers), version)


def _begun(
    kg: KnowledgeGraph, selection: Selection, shape: Shape, *, at: Snapshot | None, state: str
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


def _context(kg: KnowledgeGraph) -> dict[str, object]:
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


def _sitemap(kg: KnowledgeGraph, host: str) -> Iterator[str]:
    """The pages of things below the base of the workspace, as https://www.sitemaps.org/protocol.html has it."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    things = (item.subject for item in kg.store.quads(None, TYPE, None, DEFAULT_GRAPH))
    own = dict.fromkeys(
        item for item in things if isinstance(item, NamedNode) and item.value.startswith(f"{kg.base}entity/")
    )
    for iri in islice(own, _MOST_PAGES):
        yield f"<url><loc>{escape(host + addresses.of_iri(iri, kg.base))}</loc></url>\n"
    yield "</urlset>\n"


_PACKAGES = ("pyoxigraph", "flask", "waitress", "pyshacl", "rdflib", "numpy", "scikit-learn", "matplotlib")
_MOST_NAMES = 5_000
_RULE = re.compile(r"^={20,}$", re.MULTILINE)
_QUERY = "SELECT ?class (COUNT(?thing) AS ?things) WHERE { ?thing a ?class } GROUP BY ?class ORDER BY DESC(?things)"


def _add_information(routes: Blueprint, kg: KnowledgeGraph, lately: Lately) -> None:

    @routes.get("/api")
    def api() -> Any:
        host = request.url_root.rstrip("/")
        return page("api.html", kg.base, paths=described()["paths"], host=host, query=_QUERY)

    @routes.get("/about")
    def about() -> Any:
        overview = lately.overview()
        return page(
            "about.html",
            kg.base,
            version=__version__,
            python=platform.python_version(),
            packages=_versions(),
            parts=parts_of(_licences()),
            policy=[item.strip() for item in POLICY.split(";")],
            overview=overview,
            classes=len(lately.totals()),
            documents=sum(kg.registry.counts().values()),
            model=kg.model.name if kg.model else "",
            embedding=kg.settings.embedding,
            takes_addresses=kg.settings.documents.web,
            endpoints=kg.settings.federation.endpoints,
            named_in=_languages(kg),
            wanted=tongues()[0] if len(tongues()) > 1 else "",
        )


def _languages(kg: KnowledgeGraph) -> list[str]:
    """The languages that things, classes and properties have names in, as far as the first names show."""
    names = (quad.object for quad in islice(kg.store.quads(predicate=LABEL), _MOST_NAMES))
    found = {word.language for class_ in kg.ontology.classes.values() for word in class_.words}
    found |= {word.language for property_ in kg.ontology.properties.values() for word in property_.words}
    found |= {name.language or "" for name in names if isinstance(name, Literal)}
    return sorted(tag for tag in found if tag)


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str, str], ...]:
    """The name, version and licence of the packages that the platform stands on, those that are installed."""
    found = []
    for name in _PACKAGES:
        try:
            about = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        licence = next((about[key] for key in ("License-Expression", "License") if key in about), "")
        classified = [item.rpartition(" :: ")[2] for item in about.get_all("Classifier") or () if "License ::" in item]
        short = licence if licence and "\n" not in licence and len(licence) < 60 else ", ".join(classified)
        found.append((name, about["Version"], short))
    return tuple(found)


def _licences() -> str:
    """The list of licences beside what is built into the pages."""
    try:
        return (FOLDER / LICENCES).read_text(encoding="utf-8")
    except OSError:
        return ""


def parts_of(text: str) -> list[tuple[str, str]]:
    """The packages in a list of licences: a name on a line of its own between rules, and the text below it."""
    blocks = _RULE.split(text)
    return [(" ".join(head.split()), body.strip()) for head, body in zip(blocks[1::2], blocks[2::2], strict=False)]
