"""``/api/schema`` and ``/api/suggest``: what completion and *Find anything* offer, from this graph and nothing else.

The schema is one answer, computed once for each version of the store: classes and properties with their counts, and
for each class the properties that its things really have. No suggestion runs a query.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import NamedNode

from kgplatform.describing import Labels
from kgplatform.ontology import label_of
from kgplatform.types import Term
from kgplatform.vocab import COMMENT, TYPE, XSD
from kgplatform.web import addresses, completing
from kgplatform.web.caching import is_known, weak_tag
from kgplatform.web.frame import language, pages, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately
from kgplatform.web.remembering import Remembered
from kgplatform.web.results import prefixed
from kgplatform.web.saving import Saved
from kgplatform.web.words import phrase

_MOST_FOUND = 24
_COMMENT = 240


def blueprint(kg: Graph, lately: Lately) -> Blueprint:
    """The routes of completion."""
    routes = Blueprint("suggesting", __name__)
    kept = Remembered(kg)

    @routes.get("/api/schema")
    def schema() -> Response:
        tag = weak_tag(kg.store.version, "schema")
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if is_known(tag):
            return Response(status=304, headers=headers)
        response = jsonify(kept.get("schema", lambda: completing.schema(kg, lately.overview())))
        response.headers.update(headers)
        return response

    @routes.get("/api/suggest")
    def suggest() -> Response:
        text = request.args.get("q", "").strip()[:200]
        if iri := request.args.get("iri", "").strip():
            return jsonify({"query": iri, "items": _named(kg, lately, iri)})
        kinds = frozenset(filter(None, request.args.get("kind", "").split(",")))
        found = list(_found(kg, lately, text)) if text else []
        response = jsonify({"query": text, "items": [item for item in found if not kinds or item["kind"] in kinds]})
        response.headers["Cache-Control"] = "no-cache"
        return response

    return routes


def _found(kg: Graph, lately: Lately, text: str) -> Iterator[dict[str, object]]:
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


def _named(kg: Graph, lately: Lately, text: str) -> list[dict[str, object]]:
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

    def __init__(self, kg: Graph, lately: Lately) -> None:
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
        types = (term for term in self._kg.store.objects(iri, TYPE) if _tells(term, self._counted))
        return {
            "kind": kind,
            "label": label,
            "other": other if other != label else "",
            "iri": iri.value,
            "name": prefixed(iri.value, self._prefixes),
            "types": [self._own.of(term).text for term in types if isinstance(term, NamedNode)][:3],
            "page": addresses.of_iri(iri, self._kg.base),
        }


def _tells(term: Term, counted: dict[NamedNode, int]) -> bool:
    return isinstance(term, NamedNode) and term in counted and not term.value.startswith(XSD)
