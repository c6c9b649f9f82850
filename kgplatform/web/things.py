"""Pages and data of single things, at addresses made from their IRIs, and the search for things and passages."""

from __future__ import annotations

from itertools import islice
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, jsonify, redirect, request
from pyoxigraph import NamedNode

from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import EntityView, Labels, Reference, describe
from kgplatform.errors import NotFoundError
from kgplatform.types import Evidence
from kgplatform.versions import Version
from kgplatform.vocab import TYPE
from kgplatform.web import addresses, portraits, travelling
from kgplatform.web.endpoint import problem
from kgplatform.web.entity_data import data_of
from kgplatform.web.frame import Frame, language, page, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS, HTML, TRIPLES, Format, choose, listing, named
from kgplatform.web.overview import Lately
from kgplatform.web.palette import Palette
from kgplatform.web.sheets import csv_of
from kgplatform.web.term_pages import Terms

_OFFERS = (HTML, *GRAPHS)
_EXTENSIONS = {
    ".ttl": "ttl",
    ".nt": "nt",
    ".rdf": "rdf",
    ".jsonld": "jsonld",
    ".trig": "trig",
    ".nq": "nq",
    ".html": "html",
}
_SHORT = {"turtle": "ttl", "ntriples": "nt", "rdfxml": "rdf", "jsonld": "jsonld", "trig": "trig", "nquads": "nq"}
_MOST_FOUND = 20


def blueprint(kg: Graph, lately: Lately, terms: Terms) -> Blueprint:
    """The routes of entity pages and of the search."""
    routes = Blueprint("things", __name__)

    @routes.get("/id/<path:rest>")
    def below(rest: str) -> Any:
        iri = _iri(f"{kg.base}{rest}")
        stem, dot, extension = rest.rpartition(".")
        if dot and f".{extension}" in _EXTENSIONS and not _known(kg, iri):
            return _thing(kg, lately, terms, _iri(f"{kg.base}{stem}"), _EXTENSIONS[f".{extension}"])
        return _thing(kg, lately, terms, iri, request.args.get("format"))

    @routes.get("/resource")
    def resource() -> Any:
        name = request.args.get("iri", "").strip().removeprefix("<").removesuffix(">")
        return _thing(kg, lately, terms, _iri(name), request.args.get("format"))

    @routes.get("/search")
    def search() -> Any:
        text = request.args.get("q", "").strip()[:200]
        labels = Labels(kg.dataset, kg.ontology, tongues())
        found = lately.called(text, _MOST_FOUND)
        passages = kg.search(text, 5) if text else ()
        things = [(labels.reference(iri), _kinds(kg, iri, labels)) for iri in found]
        lacking = kg.sources.index.words_only if text else ""
        return page("search.html", kg.base, text=text, things=things, passages=passages, words_only=lacking)

    @routes.get("/api/search")
    def api_search() -> Response:
        text = request.args.get("q", "").strip()[:200]
        if not text:
            return problem(400, "Bad request", "say what to look for: ?q=…")
        labels = Labels(kg.dataset, kg.ontology, tongues())
        return jsonify(
            {
                "query": text,
                "entities": [
                    {
                        "iri": iri.value,
                        "label": labels.of(iri).text,
                        "types": [labels.of(type_).text for type_ in _types(kg, iri)],
                        "page": addresses.of_iri(iri, kg.base),
                    }
                    for iri in lately.called(text, _MOST_FOUND)
                ],
                "passages": [_passage(item) for item in kg.search(text, 10)],
                "words_only": kg.sources.index.words_only,
            }
        )

    return routes


def _passage(item: Evidence) -> dict[str, object]:
    return {
        "chunk": item.chunk.value,
        "document": item.document.value,
        "title": item.title,
        "quote": item.quote,
        "start": item.start,
        "end": item.end,
        "score": item.score,
    }


def _types(kg: Graph, iri: NamedNode) -> list[NamedNode]:
    return [term for term in kg.store.objects(iri, TYPE) if isinstance(term, NamedNode)]


def _kinds(kg: Graph, iri: NamedNode, labels: Labels) -> list[str]:
    """What a thing is, in words; of a term of the ontology whether it is a class or a property."""
    frame = Frame(language(), kg.base)
    if iri in kg.ontology.classes or iri in kg.ontology.properties:
        return [frame.t("class_" if iri in kg.ontology.classes else "property")]
    return [labels.of(type_).text for type_ in _types(kg, iri)]


def _iri(text: str) -> NamedNode:
    """The IRI that the text spells.

    Raises:
        NotFoundError: it is none.
    """
    try:
        return NamedNode(text)
    except ValueError as error:
        raise NotFoundError(f"{text[:200]!r} is not an IRI", name=text) from error


def _known(kg: Graph, iri: NamedNode) -> bool:
    return any(True for _ in islice(kg.store.quads(iri), 1)) or any(
        True for _ in islice(kg.store.quads(None, None, iri), 1)
    )


def _thing(kg: Graph, lately: Lately, terms: Terms, iri: NamedNode, wanted: str | None) -> Any:
    as_table = wanted == "csv"
    asked = None if as_table else wanted
    format_ = HTML if as_table else named(asked, _OFFERS) if asked else choose(request.headers.get("Accept"), _OFFERS)
    if format_ is None:
        return problem(406, "Not acceptable", f"there is {listing(_OFFERS)}")
    version = travelling.wanted(kg)
    with travelling.dataset_at(kg, version) as dataset:
        is_page = format_ is HTML
        response = _page(kg, lately, terms, dataset, iri, version) if is_page else data_of(dataset, iri, format_)
    around = response.headers.getlist("Link")
    response.headers["Link"] = ", ".join(
        (
            *around,
            *(f'<{_as(iri, offer)}>; rel="alternate"; type="{offer.media_type}"' for offer in GRAPHS),
            f'<{_as(iri, GRAPHS[0])}>; rel="describedby"; type="{GRAPHS[0].media_type}"',
        )
    )
    response.vary.add("Accept")
    return travelling.mark(response, version)


def _as(iri: NamedNode, format_: Format) -> str:
    return addresses.of_data(iri, _SHORT[format_.name])


def _page(
    kg: Graph, lately: Lately, terms: Terms, dataset: EvidenceDataset, iri: NamedNode, version: Version | None
) -> Any:
    place = addresses.of_iri(iri, kg.base)
    if place.startswith("/documents/"):
        return redirect(place, 303)
    formats = [(offer.name, _as(iri, offer)) for offer in TRIPLES]
    outside = None if iri.value.startswith(kg.base) else addresses.outside(iri.value)
    if version is None and (shown := terms.shown(iri, formats=formats, outside=outside)):
        return shown
    asked = portraits.turned(*(request.args.get(name, "") for name in ("page", "of", "by")))
    view = describe(
        iri,
        dataset=dataset,
        ontology=kg.ontology,
        find_evidence=kg.evidence_finder.find,
        language=language(),
        turned=asked,
    )
    tables = portraits.sheets(view, Frame(language(), kg.base))
    if (wanted := csv_of(*tables)) is not None:
        return wanted
    labels = Labels(dataset, kg.ontology, tongues())
    sources = view.evidence
    return page(
        "entity.html",
        kg.base,
        view=view,
        sources=sources,
        number={passage: index for index, passage in enumerate(sources, start=1)},
        formats=formats,
        version=version,
        versions=kg.versions.listed(),
        outside=outside,
        portrait=portraits.portrait(kg, dataset, iri, labels, Palette(lately.overview())),
        types=_colours(lately, view),
        tables=tables,
        turn=_turn,
    )


def _colours(lately: Lately, view: EntityView) -> list[tuple[Reference, int | None]]:
    """The classes of a thing with the numbers of their colours."""
    palette = Palette(lately.overview())
    return [(type_, palette.index(type_.iri) if type_.iri else None) for type_ in view.types]


def _turn(predicate: NamedNode, number: int, *, inward: bool) -> str:
    """The address of another page of a property's values, or of what refers by it."""
    kept = [(k, v) for k, v in request.args.items(multi=True) if k not in ("of", "by", "page", "format", "table")]
    asked = [("by" if inward else "of", predicate.value), ("page", str(number))]
    return f"?{urlencode([*kept, *asked])}#{'by' if inward else 'of'}"
