"""The pages of classes and properties: what the ontology says of them, and how the data really uses them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from flask import Blueprint, redirect, request
from pyoxigraph import Literal, NamedNode

from kgplatform.describing import Labels, Reference
from kgplatform.errors import NotFoundError
from kgplatform.ontology import OntologyProperty, Word, label_of
from kgplatform.types import Term
from kgplatform.vocab import XSD, local_name
from kgplatform.web import addresses
from kgplatform.web.frame import Frame, language, page, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately
from kgplatform.web.palette import Palette
from kgplatform.web.profiles import ClassProfile, Members, PropertyProfile, Use, class_profile, property_profile
from kgplatform.web.remembering import Remembered
from kgplatform.web.saving import Saved
from kgplatform.web.sheets import Sheet, csv_of, number, sheet
from kgplatform.web.tables import Cell, cell
from kgplatform.web.term_queries import Example, by_frequency, of_class, of_property
from kgplatform.web.term_shapes import ShapeBook

_A_PAGE: Final = 50
_MOST_VALUES: Final = 20
_MOST_BARS: Final = 15
_MARKS: Final = ("functional", "transitive", "symmetric")


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property of a class: where it comes from, what it takes, and which share of the things has it (in per cent)."""

    term: Reference
    comment: str
    inherited: Reference | None
    ranges: tuple[Reference, ...]
    unit: str
    share: int
    things: int
    values: str


class Terms:
    """The pages of the terms of one workspace."""

    def __init__(self, kg: Graph, lately: Lately) -> None:
        self._kg = kg
        self._lately = lately
        self._kept = Remembered(kg)
        self._book = ShapeBook(kg)

    def shown(self, iri: NamedNode, **common: Any) -> Any:
        """The page of a class or property; None where the IRI is neither."""
        overview, ontology = self._lately.overview(), self._kg.ontology
        if iri in ontology.classes or iri in overview.classes:
            return self._class(iri, **common)
        if iri in ontology.properties or any(True for _ in islice(self._kg.store.quads(None, iri, None), 1)):
            return self._property(iri, **common)
        return None

    def named(self, name: str, *, is_class: bool) -> NamedNode:
        """The class or property of that IRI, prefixed name, local name or label.

        Raises:
            NotFoundError: there is none.
        """
        ontology, overview = self._kg.ontology, self._lately.overview()
        used = overview.classes if is_class else overview.properties
        known = {**dict.fromkeys(used), **(ontology.classes if is_class else ontology.properties)}
        space, colon, rest = name.partition(":")
        full = f"{self._kg.store.prefixes[space]}{rest}" if colon and space in self._kg.store.prefixes else name
        folded = name.casefold()
        by_name = None
        for iri, term in known.items():
            if iri.value in (full, name):
                return iri
            words = term.words if term else ()
            if local_name(iri.value).casefold() == folded or any(word.text.casefold() == folded for word in words):
                by_name = by_name or iri
        if by_name is None:
            kind = "class" if is_class else "property"
            raise NotFoundError(f"no {kind} is called {name!r}; /ontology lists them", name=name)
        return by_name

    # classes

    def _class(self, iri: NamedNode, **common: Any) -> Any:
        kg, labels, frame = self._kg, self._labels(), Frame(language(), self._kg.base)
        profile = self._kept.get(("class", iri), lambda: class_profile(kg.store, kg.ontology, iri))
        rows = self._rows(iri, profile, labels)
        properties = self._property_sheet(rows, frame)
        start = self._start(profile.things.total)
        things = self._things(profile.things, labels, frame)
        if (wanted := csv_of(properties, things)) is not None:
            return wanted
        term = kg.ontology.classes.get(iri)
        direct = self._lately.overview().classes.get(iri, 0)
        return page(
            "class.html",
            kg.base,
            iri=iri,
            label=labels.of(iri),
            words=_others(term.words if term else labels.words(iri), labels.of(iri).text),
            comment=self._comment(term.comments if term else (), labels, iri),
            above=self._above(iri, labels),
            below=self._below(iri, labels),
            key=[labels.reference(item) for item in (term.key if term else ())],
            said_examples=list(term.examples[:6] if term else ()),
            disjoint=self._disjoint(iri, labels),
            color=Palette(self._lately.overview()).index(iri),
            direct=direct,
            total=profile.things.total,
            looked=profile.looked,
            rows=rows,
            properties=properties,
            samples=[labels.reference(item) for item in islice(profile.things, start, start + _A_PAGE)],
            start=start,
            step=_A_PAGE,
            things=things,
            queries=self._queries(of_class(kg, iri, profile, labels), iri),
            shapes=self._book.of(iri, labels, language()),
            **common,
        )

    def _labels(self) -> Labels:
        return Labels(self._kg.dataset, self._kg.ontology, tongues())

    def _start(self, total: int) -> int:
        given = request.args.get("page", "1")
        asked = min(int(given), 1_000_000) if given.isdecimal() and given.isascii() else 1
        return min(max(asked, 1) - 1, max(0, total - 1) // _A_PAGE) * _A_PAGE

    def _comment(self, comments: tuple[Word, ...], labels: Labels, iri: NamedNode) -> str:
        return label_of(comments or labels.words(iri, _COMMENTS), language(), "")

    def _above(self, iri: NamedNode, labels: Labels) -> list[Reference]:
        """The classes above, the most general first, each by its first parent that is of the domain."""
        ontology, found, current = self._kg.ontology, [], iri
        while (term := ontology.classes.get(current)) is not None:
            own = [p for p in term.parents if p in ontology.classes and not ontology.classes[p].internal]
            parent = next((p for p in own if p != iri and p not in found), None)
            if parent is None:
                break
            found.append(parent)
            current = parent
        return [labels.reference(item) for item in reversed(found)]

    def _below(self, iri: NamedNode, labels: Labels) -> list[tuple[Reference, int]]:
        overview, ontology = self._lately.overview(), self._kg.ontology
        direct = [term.iri for term in ontology.classes.values() if iri in term.parents and term.iri != iri]
        counted = [
            (labels.reference(item), sum(overview.classes.get(sub, 0) for sub in ontology.subclasses(item)))
            for item in direct
        ]
        return sorted(counted, key=lambda pair: (-pair[1], pair[0].label.casefold()))

    def _disjoint(self, iri: NamedNode, labels: Labels) -> list[Reference]:
        pairs = [pair - {iri} for pair in self._kg.ontology.disjoint_pairs if iri in pair]
        return sorted((labels.reference(item) for pair in pairs for item in pair), key=lambda r: r.label.casefold())

    def _rows(self, iri: NamedNode, profile: ClassProfile, labels: Labels) -> list[PropertyRow]:
        ontology = self._kg.ontology
        known = {term.iri: term for term in ontology.properties_of(iri)}
        used = [predicate for predicate in profile.uses if not self._is_internal(predicate)]
        rows = []
        for predicate in dict.fromkeys([*known, *used]):
            term = ontology.properties.get(predicate)
            use = profile.uses.get(predicate) or Use()
            rows.append(
                PropertyRow(
                    labels.reference(predicate),
                    label_of(term.comments, language(), "") if term else "",
                    _inherited(term, iri, labels),
                    tuple(labels.reference(item) for item in (term.ranges if term else ())),
                    (term.unit or "") if term else "",
                    round(100 * profile.share(predicate)),
                    use.things,
                    _values(use, labels),
                )
            )
        return sorted(rows, key=lambda row: (-row.share, row.term.label.casefold()))

    def _is_internal(self, predicate: NamedNode) -> bool:
        term = self._kg.ontology.properties.get(predicate)
        return term is not None and term.internal

    def _property_sheet(self, rows: list[PropertyRow], frame: Frame) -> Sheet:
        t = frame.t
        found = (
            (
                Cell(row.term.label, frame.at(row.term.iri) if row.term.iri else "", row.comment),
                Cell(", ".join(item.label for item in row.ranges)),
                Cell(f"{row.share} %", numeric=True, amount=float(row.share)),
                number(row.things),
                Cell(row.values),
            )
            for row in rows
        )
        return sheet("properties", (t("property"), t("range"), t("b_share"), t("things_with"), t("values_seen")), found)

    def _things(self, things: Members, labels: Labels, frame: Frame) -> Sheet:
        """All things of the class; their names are looked up only where the table is asked for."""
        wanted = request.args.get("format") == "csv" and request.args.get("table") == "things"
        rows = ((Cell(labels.of(iri).text, frame.at(iri)), Cell(iri.value)) for iri in (things if wanted else ()))
        return sheet("things", (frame.t("name"), "IRI"), rows)

    def _queries(self, made: list[Example], iri: NamedNode) -> list[Example]:
        """The examples, and the saved queries that speak of the term."""
        names = [iri.value]
        names += [
            f"{prefix}:{iri.value.removeprefix(space)}"
            for prefix, space in self._kg.store.prefixes.items()
            if iri.value.startswith(space)
        ]
        own = [
            Example(item.question or item.slug, item.text)
            for item in Saved(self._kg.folder).listed()
            if any(name in item.text.replace("\n", " ").split() or f"<{name}>" in item.text for name in names)
        ]
        return [*made, *own[:10]]

    # properties

    def _property(self, iri: NamedNode, **common: Any) -> Any:
        kg, labels, frame = self._kg, self._labels(), Frame(language(), self._kg.base)
        profile = self._kept.get(("property", iri), lambda: property_profile(kg.store, kg.ontology, iri))
        term = kg.ontology.properties.get(iri)
        by_class, values = self._by_class(profile, labels, frame), self._value_sheet(profile, labels, frame)
        if (wanted := csv_of(by_class, values)) is not None:
            return wanted
        return page(
            "property.html",
            kg.base,
            iri=iri,
            label=labels.of(iri),
            words=_others(term.words if term else labels.words(iri), labels.of(iri).text),
            comment=self._comment(term.comments if term else (), labels, iri),
            domains=[labels.reference(item) for item in (term.domains if term else ())],
            ranges=[(labels.reference(item), _is_datatype(item)) for item in (term.ranges if term else ())],
            parents=[labels.reference(item) for item in (term.parents if term else ())],
            inverse=labels.reference(term.inverse) if term and term.inverse else None,
            marks=[name for name in _MARKS if term and getattr(term, name)],
            unit=(term.unit or "") if term else "",
            pattern=(term.pattern or "") if term else "",
            profile=profile,
            by_class=by_class,
            values=values,
            middle=_middle(profile.amounts),
            chart=self._chart(iri, profile, labels),
            queries=self._queries(of_property(kg, iri, profile, labels), iri),
            **common,
        )

    def _by_class(self, profile: PropertyProfile, labels: Labels, frame: Frame) -> Sheet:
        counts = self._lately.overview().classes
        rows = (
            (
                Cell(labels.of(iri).text, frame.at(iri), iri.value),
                number(statements),
                number(counts.get(iri, 0)),
            )
            for iri, statements in profile.subjects.most_common()
        )
        return sheet("classes", (frame.t("class_"), frame.t("statements"), frame.t("instances")), rows)

    def _value_sheet(self, profile: PropertyProfile, labels: Labels, frame: Frame) -> Sheet:
        rows = (
            (cell(term, labels, frame.base), number(count))
            for term, count in sorted(
                profile.values.most_common(_MOST_VALUES), key=lambda pair: (-pair[1], str(pair[0]))
            )
        )
        return sheet("values", (frame.t("range"), frame.t("used")), rows)

    def _chart(self, iri: NamedNode, profile: PropertyProfile, labels: Labels) -> dict[str, Any] | None:
        """How numbers are spread, or how often values occur that recur."""
        query = by_frequency(f"?thing {iri} ?value .", "COUNT(*)")
        if len(set(profile.amounts)) >= 5:
            rows: list[dict[str, Any]] = [{"x": number_} for number_ in profile.amounts[:5000]]
            return {"kind": "histogram", "x": {"label": labels.of(iri).text}, "rows": rows, "query": query}
        if not profile.repeated or len(profile.values) < 2:
            return None
        rows = [
            {"x": count, "y": _short(term, labels), "href": _href(term, self._kg.base)}
            for term, count in profile.values.most_common(_MOST_BARS)
        ]
        return {"kind": "bars", "horizontal": True, "y": {"type": "category"}, "rows": rows, "query": query}


_COMMENTS: Final = (NamedNode("http://www.w3.org/2000/01/rdf-schema#comment"),)


def _others(words: tuple[Word, ...], shown: str) -> list[Word]:
    """The first word of each other language, then what else it is called."""
    own = next((word.language for word in words if word.text == shown), "")
    rest = [word for word in dict.fromkeys(words) if word.text != shown]
    first: dict[str, Word] = {}
    for word in rest:
        if word.language[:2] != own[:2]:
            first.setdefault(word.language[:2], word)
    return [*first.values(), *(word for word in rest if word not in first.values())][:12]


def _inherited(term: OntologyProperty | None, class_: NamedNode, labels: Labels) -> Reference | None:
    if term is None or not term.domains or class_ in term.domains:
        return None
    return labels.reference(term.domains[0])


def _values(use: Use, labels: Labels) -> str:
    if use.low is not None and use.high is not None:
        return f"{use.low:g}" if use.low == use.high else f"{use.low:g} – {use.high:g}"
    return ", ".join(labels.reference(term).label for term in use.samples)


def _is_datatype(iri: NamedNode) -> bool:
    return iri.value.startswith(XSD) or "rdf-syntax-ns#" in iri.value


def _middle(amounts: tuple[float, ...]) -> tuple[float, float, float] | None:
    """The least, the middle and the greatest."""
    return (amounts[0], amounts[len(amounts) // 2], amounts[-1]) if amounts else None


def _short(term: Term, labels: Labels) -> str:
    text = labels.reference(term).label if isinstance(term, NamedNode | Literal) else str(term)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _href(term: Term, base: str) -> str:
    return addresses.of_iri(term, base) if isinstance(term, NamedNode) else ""


def blueprint(kg: Graph, terms: Terms) -> Blueprint:
    """The short addresses of classes and properties."""
    routes = Blueprint("term_pages", __name__)

    @routes.get("/class/<path:name>")
    def class_(name: str) -> Any:
        return redirect(addresses.of_iri(terms.named(name, is_class=True), kg.base), 303)

    @routes.get("/property/<path:name>")
    def property_(name: str) -> Any:
        return redirect(addresses.of_iri(terms.named(name, is_class=False), kg.base), 303)

    return routes
