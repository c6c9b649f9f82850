"""The Ontology page: classes as a tree with their numbers, and properties with what they relate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flask import Blueprint, request
from pyoxigraph import NamedNode

from kgplatform.describing import Labels, Reference
from kgplatform.ontology import Ontology, label_of
from kgplatform.text import normalise
from kgplatform.vocab import OWL, RDF, RDFS, SKOS, local_name
from kgplatform.web.frame import Frame, language, page, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately, Overview
from kgplatform.web.palette import Palette
from kgplatform.web.sheets import Sheet, csv_of, number, sheet
from kgplatform.web.tables import Cell

_VOCABULARIES = (OWL, RDF, RDFS, SKOS)
_QUERY = (
    "SELECT ?class (COUNT(?thing) AS ?number) WHERE {\n  ?thing a ?class .\n}\n"
    "GROUP BY ?class\nORDER BY DESC(?number)\n"
)


@dataclass(frozen=True, slots=True)
class Branch:
    """A class in the tree: ``count`` includes the classes below it, ``share`` is of the largest count, in per cent."""

    term: Reference
    comment: str
    count: int
    share: int
    depth: int
    is_match: bool = True


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
        labels = Labels(kg.dataset, kg.ontology, tongues())
        overview = lately.overview()
        text = request.args.get("q", "").strip()[:200]
        branches, rows = tree(kg.ontology, overview, labels, language()), _rows(kg.ontology, overview, labels)
        frame = Frame(language(), kg.base)
        found = _kept(branches, text, kg.ontology), [row for row in rows if _called(row, text, kg.ontology)]
        tables = _class_sheet(found[0], frame), _property_sheet(found[1], frame)
        if (wanted := csv_of(*tables)) is not None:
            return wanted
        palette = Palette(overview)
        return page(
            "ontology.html",
            kg.base,
            tree=found[0],
            colours={branch.term.iri: palette.index(branch.term.iri) for branch in branches if branch.term.iri},
            rows=found[1],
            counts=(len(branches), len(rows)),
            text=text,
            tables=tables,
            query=_QUERY,
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
    left = dict.fromkeys(_sorted(list(known), totals, labels))
    while waiting or left:
        iri, depth = waiting.pop(0) if waiting else (next(iter(left)), 0)  # what only lies in a circle begins a tree
        if iri not in left:
            continue
        del left[iri]
        found = ontology.classes.get(iri)
        comment = label_of(found.comments, in_language, "") if found else ""
        share = round(100 * totals[iri] / largest)
        branches.append(Branch(labels.reference(iri), comment, totals[iri], share, depth))
        waiting[:0] = [(child, depth + 1) for child in _sorted(children.get(iri, []), totals, labels)]
    return branches


def _sorted(iris: list[NamedNode], totals: dict[NamedNode, int], labels: Labels) -> list[NamedNode]:
    return sorted(iris, key=lambda iri: (-totals[iri], labels.of(iri).text.casefold(), iri.value))


def _words(iri: NamedNode | None, ontology: Ontology) -> list[str]:
    term = (ontology.classes.get(iri) or ontology.properties.get(iri)) if iri else None
    return [*(word.text for word in (term.words if term else ())), local_name(iri.value) if iri else ""]


def _matches(term: Reference, text: str, ontology: Ontology) -> bool:
    wanted = normalise(text)
    return any(wanted in normalise(name) for name in (term.label, *_words(term.iri, ontology)))


def _kept(branches: list[Branch], text: str, ontology: Ontology) -> list[Branch]:
    """The classes that are called so in either language, with those above them, which stay to show where they are."""
    if not text:
        return branches
    kept: list[Branch] = []
    deepest = 0
    for branch in reversed(branches):
        is_match = _matches(branch.term, text, ontology)
        if is_match or branch.depth < deepest:
            kept.append(replace(branch, is_match=is_match))
            deepest = branch.depth
    return kept[::-1]


def _called(row: Row, text: str, ontology: Ontology) -> bool:
    return not text or _matches(row.term, text, ontology)


def _class_sheet(branches: list[Branch], frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (
            Cell(branch.term.label, frame.at(branch.term.iri) if branch.term.iri else "", branch.comment),
            Cell(branch.term.iri.value if branch.term.iri else ""),
            number(branch.count),
            number(branch.depth),
            Cell(branch.comment),
        )
        for branch in branches
    )
    return sheet("classes", (t("class_"), "IRI", t("instances"), t("depth"), t("definition")), rows)


def _property_sheet(rows: list[Row], frame: Frame) -> Sheet:
    t = frame.t
    found = (
        (
            Cell(row.term.label),
            Cell(row.term.iri.value if row.term.iri else ""),
            Cell(", ".join(item.label for item in row.domains)),
            Cell(", ".join(item.label for item in row.ranges)),
            Cell(row.unit),
            number(row.count),
            Cell(row.comment),
        )
        for row in rows
    )
    columns = (t("property"), "IRI", t("domain"), t("range"), t("unit"), t("used"), t("definition"))
    return sheet("properties", columns, found)


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
    rows += [
        Row(labels.reference(iri), "", (), (), "", count)
        for iri, count in overview.properties.items()
        if iri not in ontology.properties and not iri.value.startswith(_VOCABULARIES)
    ]
    return sorted(rows, key=lambda row: -row.count)
