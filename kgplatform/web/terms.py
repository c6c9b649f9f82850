"""The Ontology page: classes as a tree with their numbers, and properties with what they relate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint
from pyoxigraph import NamedNode

from kgplatform.describing import Labels, Reference
from kgplatform.ontology import Ontology, label_of
from kgplatform.web.frame import language, page
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately, Overview


@dataclass(frozen=True, slots=True)
class Branch:
    """A class in the tree: ``count`` includes the classes below it, ``share`` is of the largest count, in per cent."""

    term: Reference
    comment: str
    count: int
    share: int
    depth: int


@dataclass(frozen=True, slots=True)
class Row:
    """A property with its classes or datatypes and the number of its statements."""

    term: Reference
    comment: str
    domains: tuple[Reference, ...]
    ranges: tuple[Reference, ...]
    unit: str
    count: int


def blueprint(kg: Graph, lately: Lately) -> Blueprint:
    """The route of the page."""
    routes = Blueprint("terms", __name__)

    @routes.get("/ontology")
    def ontology() -> Any:
        labels = Labels(kg.dataset, kg.ontology, language())
        overview = lately.overview()
        return page(
            "ontology.html",
            kg.base,
            tree=tree(kg.ontology, overview, labels, language()),
            rows=_rows(kg.ontology, overview, labels),
        )

    return routes


def tree(ontology: Ontology, overview: Overview, labels: Labels, in_language: str) -> list[Branch]:
    """The classes in the order of a tree, each below its first parent; a cycle is cut."""
    known = {term.iri for term in ontology.domain_classes} | set(overview.classes)
    children: dict[NamedNode | None, list[NamedNode]] = {}
    for iri in known:
        term = ontology.classes.get(iri)
        parents = [parent for parent in (term.parents if term else ()) if parent in known and parent != iri]
        children.setdefault(parents[0] if parents else None, []).append(iri)
    totals = {iri: sum(overview.classes.get(sub, 0) for sub in ontology.subclasses(iri)) for iri in known}
    largest = max(totals.values(), default=0) or 1
    branches: list[Branch] = []
    waiting = [(iri, 0) for iri in _sorted(children.get(None, []), totals, labels)]
    while waiting:
        iri, depth = waiting.pop(0)
        found = ontology.classes.get(iri)
        comment = label_of(found.comments, in_language, "") if found else ""
        share = round(100 * totals[iri] / largest)
        branches.append(Branch(labels.reference(iri), comment, totals[iri], share, depth))
        waiting[:0] = [(child, depth + 1) for child in _sorted(children.get(iri, []), totals, labels)]
    return branches


def _sorted(iris: list[NamedNode], totals: dict[NamedNode, int], labels: Labels) -> list[NamedNode]:
    return sorted(iris, key=lambda iri: (-totals[iri], labels.of(iri).text.casefold(), iri.value))


def _rows(ontology: Ontology, overview: Overview, labels: Labels) -> list[Row]:
    rows = [
        Row(
            labels.reference(term.iri),
            label_of(term.comments, language(), ""),
            tuple(labels.reference(iri) for iri in term.domains),
            tuple(labels.reference(iri) for iri in term.ranges),
            term.unit or "",
            overview.properties.get(term.iri, 0),
        )
        for term in ontology.domain_properties
    ]
    return sorted(rows, key=lambda row: -row.count)
