"""The Ontology page, and the pages of classes and properties: what the ontology says, and how the data uses it.

How a term is used is worked out from one pass over some thousands of things at most, and the page says how many. The
example queries are made from what things really have: none of them is empty. Shapes are shown in rows and as Turtle.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from flask import Blueprint, redirect, request
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform.entities import APART, Labels, Reference, is_bookkeeping, is_unnamed, special_types
from kgplatform.errors import KgPlatformError, NotFoundError, QueryTimeoutError
from kgplatform.lexicon.amounts import brief
from kgplatform.ontology import packs
from kgplatform.ontology.schema import Ontology, TermIndex, Word, label_of
from kgplatform.reasoning.checks import all_shapes
from kgplatform.reasoning.shapes import UNNAMED, Shapes
from kgplatform.server import addresses
from kgplatform.server.access import Role, client
from kgplatform.server.frame import (
    TIES_LOOKED_AT,
    Frame,
    Lately,
    Members,
    Overview,
    Palette,
    Remembered,
    Ties,
    language,
    page,
    tongues,
)
from kgplatform.server.pages.query import Saved
from kgplatform.server.result_tables import Cell, Sheet, amount, cell, csv_of, prefixed, sheet, shortened
from kgplatform.server.words import phrase
from kgplatform.sparql.rewrite import with_prefixed_names
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.types import Term
from kgplatform.vocab import OWL, RDF, RDFS, SH, SKOS, TYPE, XSD, local_name

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_MOST_LOOKED: Final = 2_000
_MOST_STATEMENTS: Final = 5_000
_MOST_SAMPLES: Final = 3
_LONGEST_SAMPLE: Final = 60


@dataclass(slots=True)
class Use:
    """How the things of a class use a property: how many have it, with how many values, and some of them."""

    things: int = 0
    values: int = 0
    distinct: int = 0
    samples: dict[Term, None] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None

    def count(self, value: Term) -> None:
        """Takes one more value into account."""
        self.values += 1
        number = amount(value)
        if number is not None:
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)
        elif len(self.samples) < _MOST_SAMPLES and len(getattr(value, "value", "")) <= _LONGEST_SAMPLE:
            self.samples.setdefault(value)


@dataclass(frozen=True, slots=True)
class ClassProfile:
    """The things of a class, and how those that were looked at use their properties."""

    things: Members
    looked: int
    uses: dict[NamedNode, Use]

    def share(self, predicate: NamedNode) -> float:
        """Which part of the things has the property, between 0 and 1."""
        use = self.uses.get(predicate)
        return use.things / self.looked if use and self.looked else 0.0


def class_profile(store: Store, ontology: Ontology, class_: NamedNode, *, most: int = _MOST_LOOKED) -> ClassProfile:
    """The profile of a class, those below it included."""
    things = Members(store, ontology, class_)
    uses: dict[NamedNode, Use] = defaultdict(Use)
    values: dict[NamedNode, set[Term]] = defaultdict(set)
    for thing in islice(things, most):
        seen: set[NamedNode] = set()
        for quad in islice(store.quads(thing, None, None, DEFAULT_GRAPH), _MOST_LOOKED):
            if quad.predicate in APART or is_unnamed(quad.object):
                continue
            use = uses[quad.predicate]
            use.count(quad.object)
            values[quad.predicate].add(quad.object)
            if quad.predicate not in seen:
                seen.add(quad.predicate)
                use.things += 1
    for predicate, use in uses.items():
        use.distinct = len(values[predicate])
    return ClassProfile(things, min(things.total, most), dict(uses))


@dataclass(frozen=True, slots=True)
class PropertyProfile:
    """The statements of a property that were looked at: by class of the subject and of the value, and its values."""

    looked: int
    complete: bool
    subjects: Counter[NamedNode]
    objects: Counter[NamedNode]
    values: Counter[Term]
    amounts: tuple[float, ...]

    @property
    def repeated(self) -> bool:
        """Whether values recur, so that counting them says something."""
        return any(count > 1 for count in self.values.values())


def property_profile(store: Store, ontology: Ontology, predicate: NamedNode) -> PropertyProfile:
    """The profile of a property."""
    subjects: Counter[NamedNode] = Counter()
    objects: Counter[NamedNode] = Counter()
    values: Counter[Term] = Counter()
    amounts: list[float] = []
    looked = 0
    for quad in islice(store.quads(None, predicate, None, DEFAULT_GRAPH), _MOST_STATEMENTS):
        looked += 1
        values[quad.object] += 1
        if isinstance(quad.subject, NamedNode):
            subjects.update(_classes(store, ontology, quad.subject))
        if isinstance(quad.object, NamedNode):
            objects.update(_classes(store, ontology, quad.object))
        elif isinstance(quad.object, Literal):
            objects[quad.object.datatype] += 1
        if (number := amount(quad.object)) is not None:
            amounts.append(number)
    return PropertyProfile(looked, looked < _MOST_STATEMENTS, subjects, objects, values, tuple(sorted(amounts)))


def _classes(store: Store, ontology: Ontology, thing: NamedNode) -> Iterable[NamedNode]:
    """The most special classes of a thing that the ontology counts, or all where it knows none of them."""
    types = [term for term in store.objects(thing, TYPE) if isinstance(term, NamedNode)]
    known = [term for term in types if term in ontology.classes and not ontology.classes[term].internal] or types
    return special_types(known, ontology)


_MOST_FACETED: Final = 12
_MOST_FACETS: Final = 6
_MOST_CHOICES: Final = 8
_FACET_SECONDS: Final = 4.0
"""In all; what is not counted by then is no facet."""
_FEW_THINGS: Final = 5_000
"""More than these are counted by a worker, which can be stopped."""
_WITH: Final = "with"


@dataclass(frozen=True, slots=True)
class FacetChoice:
    """A value: how many of the instances shown have it, and the page that narrows to it or, if chosen, widens."""

    value: Reference
    number: int
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A property whose values several instances share, the most frequent values first; ``left_out`` counts others."""

    property: Reference
    choices: tuple[FacetChoice, ...]
    left_out: int


class FacetedThings:
    """The instances of a class, narrowed to those with the values that the address names (``with=geo:near id:x``).

    Raises:
        NotFoundError: the address names a property that no instance has.
    """

    def __init__(self, kg: KnowledgeGraph, profile: ClassProfile, kept: Remembered, class_: NamedNode) -> None:
        self._kg = kg
        self._prefixes = sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1]))
        self._members, self.total, self._conditions = profile.things, profile.things.total, ""
        uses = [pair for pair in profile.uses.items() if 2 * pair[1].distinct <= pair[1].values]
        used = sorted((-use.things, iri.value, iri) for iri, use in uses if not _internal(kg, iri))
        self._named = {self._spelled(iri): iri for _, _, iri in used[:_MOST_FACETED]}
        self._counts = self._all = kept.get(("facets", class_), lambda: self._counted(()))
        self.chosen = tuple(dict.fromkeys(request.args.getlist(_WITH)))[:20]
        self._conditions = "".join(self._condition(*self._split(one)) for one in self.chosen)
        if self.chosen:
            number = self._run(f"SELECT (COUNT(DISTINCT ?thing) AS ?n) WHERE {{ {self._pattern} }}")[0][0]
            self.total = int(number.value) if isinstance(number, Literal) else 0
            self._counts = self._counted(self._all)

    def _spelled(self, term: Term) -> str:
        """The term as the address has it; it is only compared, never read again."""
        return shortened(str(term), self._prefixes)

    @property
    def _pattern(self) -> str:
        return f"{self._members.pattern}\n{self._conditions}"

    def _run(self, text: str, seconds: float | None = None) -> tuple[tuple[Term | None, ...], ...]:
        if self._members.total <= _FEW_THINGS:
            return self._kg.store.query(text).rows
        return self._kg.workers.solutions(text, timeout_seconds=seconds or _FACET_SECONDS).rows

    def _counted(self, known: Iterable[NamedNode]) -> dict[NamedNode, dict[str, tuple[Term, int]]]:
        """The values, as they are spelled, with how many of the instances have each, of properties that share some."""
        found: dict[NamedNode, dict[str, tuple[Term, int]]] = {}
        until = time.monotonic() + _FACET_SECONDS
        for iri in known or self._named.values():
            text = f"SELECT ?value (COUNT(DISTINCT ?thing) AS ?n) WHERE {{ {self._pattern}?thing {iri} ?value }} "
            if (left := until - time.monotonic()) <= 0:
                break
            with suppress(QueryTimeoutError):
                rows = [row for row in self._run(f"{text}GROUP BY ?value", left) if row[0] and not is_unnamed(row[0])]
                counts = {self._spelled(o): (o, int(n.value)) for o, n in rows if o and isinstance(n, Literal)}
                if known or 2 * len(counts) <= sum(n for _, n in counts.values()):
                    found[iri] = counts
        return found

    def _split(self, text: str) -> tuple[NamedNode, str]:
        name, _, value = text.partition(" ")
        if self._named.get(name) not in self._all:
            raise NotFoundError(
                f"no instance has the property {name[:200]!r} in common with others; leave out `{_WITH}=`", name=name
            )
        return self._named[name], value

    def _condition(self, iri: NamedNode, value: str) -> str:
        term, _ = self._all[iri].get(value, (None, 0))
        return "  FILTER(false)\n" if term is None else f"  ?thing {iri} {term} .\n"

    def some(self, start: int = 0, most: int | None = None) -> Iterable[NamedNode]:
        """The instances shown, from one number on."""
        if not self.chosen:
            return islice(self._members, start, None if most is None else start + most)
        part = f" LIMIT {most} OFFSET {start}" if most is not None else ""
        rows = self._run(f"SELECT DISTINCT ?thing WHERE {{ {self._pattern} }} ORDER BY ?thing{part}")
        return (thing for (thing,) in rows if isinstance(thing, NamedNode))

    def facets(self, labels: Labels) -> list[Facet]:
        """The facets by which the instances shown can be narrowed further, and those by which they are."""
        found = []
        for name, iri in self._named.items():
            counts = {value: n for value, (_, n) in self._counts.get(iri, {}).items()}
            mine = [text.partition(" ")[2] for text in self.chosen if text.partition(" ")[0] == name]
            telling = sorted((-n, value) for value, n in counts.items() if n < self.total and value not in mine)
            if not mine and not (telling and any(n > 1 for n in counts.values())):
                continue
            terms = {value: term for value, (term, _) in self._all[iri].items()}
            shown = [*(value for value in mine if value in terms), *(value for _, value in telling[:_MOST_CHOICES])]
            choices = tuple(
                self._choice(name, value, labels.reference(terms[value]), counts.get(value, 0)) for value in shown
            )
            found.append(Facet(labels.reference(iri), choices, max(0, len(telling) - _MOST_CHOICES)))
        return sorted(found, key=lambda facet: not any(one.chosen for one in facet.choices))[:_MOST_FACETS]

    def _choice(self, name: str, value: str, shown: Reference, number: int) -> FacetChoice:
        text = f"{name} {value}"
        chosen = text in self.chosen
        kept = [one for one in self.chosen if one != text] if chosen else [*self.chosen, text]
        return FacetChoice(shown, number, self.address(kept), chosen)

    def address(self, chosen: Sequence[str] = ()) -> str:
        """This page with other values chosen."""
        same = addresses.again(_WITH, "page")
        return f"{same}{'&' if len(same) > 1 and chosen else ''}{urlencode([(_WITH, one) for one in chosen])}#instances"

    def query(self, class_: NamedNode) -> str:
        """The query for the instances shown."""
        lines = f"  ?thing {_member(self._kg, class_)} {class_} .\n{self._conditions}"
        text = f"SELECT DISTINCT ?thing ?label WHERE {{\n{lines}  OPTIONAL {{ ?thing rdfs:label ?label }}\n}}\n"
        return with_prefixed_names(text, self._kg.store.prefixes)


_FEW = 3


@dataclass(frozen=True, slots=True)
class ExampleQuery:
    """A query and what it gives, in words."""

    title: str
    text: str


def of_class(kg: KnowledgeGraph, class_: NamedNode, profile: ClassProfile, labels: Labels) -> list[ExampleQuery]:
    """Things with their most used properties; how many there are; how many by a value that several share."""
    if not profile.things.total:
        return []
    name, kind = _named(kg, class_), labels.of(class_).text
    a = _member(kg, class_)
    found = [
        ExampleQuery(
            phrase("query_count", language(), class_=kind),
            f"SELECT (COUNT(DISTINCT ?thing) AS ?number) WHERE {{\n  ?thing {a} {name} .\n}}\n",
        )
    ]
    uses = sorted(profile.uses.items(), key=lambda pair: (-pair[1].things, pair[0].value))
    told = [(predicate, use) for predicate, use in uses if not _internal(kg, predicate)]
    columns = [predicate for predicate, _ in told[:_FEW]]
    lines = "".join(
        f"  OPTIONAL {{ ?thing {_named(kg, one)} ?value{at} }}\n" for at, one in enumerate(columns, start=1)
    )
    names = " ".join(f"?value{at}" for at, _ in enumerate(columns, start=1))
    text = (
        f"SELECT ?thing ?label {names} WHERE {{\n  ?thing {a} {name} .\n"
        f"  OPTIONAL {{ ?thing rdfs:label ?label }}\n{lines}}}\nLIMIT 100\n"
    )
    found.insert(0, ExampleQuery(phrase("query_list", language(), class_=kind), text))
    shared = next((p for p, use in told if use.values > use.things // 2 and use.low is None and use.things > 1), None)
    if shared is not None:
        by = by_frequency(f"?thing {a} {name} ;\n         {_named(kg, shared)} ?value .", "COUNT(DISTINCT ?thing)")
        found.append(ExampleQuery(phrase("query_by", language(), class_=kind, by=labels.of(shared).text), by))
    counted = next((p for p, use in told if use.low is not None and use.high != use.low), None)
    if counted is not None:
        most = (
            f"SELECT ?thing ?value WHERE {{\n  ?thing {a} {name} ;\n         {_named(kg, counted)} ?value .\n}}\n"
            "ORDER BY DESC(?value)\nLIMIT 10\n"
        )
        found.append(ExampleQuery(phrase("query_most", language(), class_=kind, by=labels.of(counted).text), most))
    return found


def of_property(
    kg: KnowledgeGraph, predicate: NamedNode, profile: PropertyProfile, labels: Labels
) -> list[ExampleQuery]:
    """The statements of a property, and its values by how often they occur."""
    if not profile.looked:
        return []
    name, label = _named(kg, predicate), labels.of(predicate).text
    found = [
        ExampleQuery(
            phrase("query_statements", language(), by=label),
            f"SELECT ?thing ?value WHERE {{\n  ?thing {name} ?value .\n}}\nLIMIT 100\n",
        )
    ]
    if profile.repeated:
        text = by_frequency(f"?thing {name} ?value .", "COUNT(*)")
        found.append(ExampleQuery(phrase("query_values", language(), by=label), text))
    return found


def by_frequency(pattern: str, count: str) -> str:
    """The query for values by how often they occur in the pattern."""
    return (
        f"SELECT ?value ({count} AS ?number) WHERE {{\n  {pattern}\n}}\n"
        "GROUP BY ?value\nORDER BY DESC(?number)\nLIMIT 100\n"
    )


def _named(kg: KnowledgeGraph, iri: NamedNode) -> str:
    return prefixed(iri.value, sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1])))


def _member(kg: KnowledgeGraph, class_: NamedNode) -> str:
    """``a``; with a path over subclasses where things may be typed by a class below only."""
    return "a/rdfs:subClassOf*" if len(kg.ontology.subclasses(class_)) > 1 else "a"


def _internal(kg: KnowledgeGraph, predicate: NamedNode) -> bool:
    return predicate == TYPE or is_bookkeeping(predicate, kg.ontology)


_TOLD = ("path", "message", "severity", "name", "description", "order", "group", "property", "targetClass")


class ShapeBook:
    """The shapes of a workspace, read when they are first asked for."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._kg = kg

    @cached_property
    def shapes(self) -> Shapes:
        """All shapes; none where a file of shapes cannot be read, which `kgplatform check` tells."""
        names = self._kg.settings.ontology
        if not names:
            return Shapes(())
        try:
            loaded = packs.load(names, folder=self._kg.folder)
            return all_shapes(TermIndex(loaded.ontology, loaded.triples), loaded.files)
        except KgPlatformError:
            return Shapes(())

    def of(self, class_: NamedNode, labels: Labels, language: str) -> dict[str, object]:
        """The constraints of the shapes that aim at the class or one above it, and these shapes as Turtle."""
        roots = self._aimed(class_)
        constraints = list(self._constraints(roots, labels, language))
        triples = list(self._closure(roots))
        text = self._kg.store.serialise(triples, RdfFormat.TURTLE, prefixes={"sh": SH}).decode() if triples else ""
        return {"constraints": constraints, "turtle": text.replace(UNNAMED, "urn:shape:")}

    def _aimed(self, class_: NamedNode) -> list[object]:
        """The shapes that aim at the class or one above it."""
        aimed, target = self._kg.ontology.superclasses(class_) | {class_}, f"{SH}targetClass"
        found = (t.subject for t in self.shapes.triples if t.predicate.value == target and t.object in aimed)
        return list(dict.fromkeys(found))

    def demands(self, class_: NamedNode) -> dict[Term, dict[str, list[Term]]]:
        """What shapes ask of each property of things of the class: the values of their constraints by local name."""
        found: dict[Term, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
        for shape in chain.from_iterable(self._said(root, "property") for root in self._aimed(class_)):
            if self._said(shape, "severity") not in ([], [NamedNode(f"{SH}Violation")]):
                continue  # advice
            for path in self._said(shape, "path"):
                for name, values in self.shapes.said(shape).items():
                    listed = chain.from_iterable(self.shapes.members(value) or (value,) for value in values)
                    found[path][name.removeprefix(SH)] += listed
        return found

    def _constraints(self, roots: Sequence[object], labels: Labels, language: str) -> Iterator[dict[str, object]]:
        """What shapes ask of a property (no path: of the thing itself), in words and numbers."""
        for root in roots:
            properties = self._said(root, "property")
            for shape in [*properties, root]:
                rules = tuple(self._rules(shape, labels))
                if not rules:
                    continue
                paths = [labels.reference(path).label for path in self._said(shape, "path")]
                said = (term for term in self._said(shape, "message") if isinstance(term, Literal))
                messages = [Word(term.value, term.language or "") for term in said]
                severities = [local_name(s.value) for s in self._said(shape, "severity") if isinstance(s, NamedNode)]
                yield {
                    **{"path": ", ".join(paths), "rules": rules, "severity": [*severities, "Violation"][0]},
                    "message": label_of(messages, language, ""),
                }

    def _said(self, shape: object, name: str) -> list[Term]:
        return self.shapes.said(shape).get(f"{SH}{name}", [])

    def _rules(self, shape: object, labels: Labels) -> Iterator[str]:
        for name, values in self.shapes.said(shape).items():
            key = name.removeprefix(SH)
            if not name.startswith(SH) or key in _TOLD:
                continue
            shown = ", ".join(self._value(value, labels) for value in values)
            yield f"{key} {shown}"

    def _value(self, value: Term, labels: Labels) -> str:
        if isinstance(value, NamedNode) and value.value.startswith(UNNAMED):
            members = self.shapes.members(value)
            return f"({', '.join(self._value(one, labels) for one in members)})" if members else "…"
        return labels.reference(value).label

    def _closure(self, roots: Iterable[object]) -> Iterator[Triple]:
        """The shapes with all the nodes without a name that they are made of."""
        waiting = list(roots)
        seen: set[object] = set()
        while waiting:
            node = waiting.pop(0)
            if node in seen or not isinstance(node, NamedNode):
                continue
            seen.add(node)
            for name, objects in self.shapes.said(node).items():
                yield from (Triple(node, NamedNode(name), item) for item in objects)
            inner = chain.from_iterable(self.shapes.said(node).values())
            waiting += [item for item in inner if isinstance(item, NamedNode) and item.value.startswith(UNNAMED)]


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

    def __init__(self, kg: KnowledgeGraph, lately: Lately) -> None:
        self._kg = kg
        self._lately = lately
        self._kept = Remembered(kg)
        self.book = ShapeBook(kg)

    def shown(self, iri: NamedNode, **common: Any) -> Any:
        """The page of a class or property; None where the IRI is neither."""
        overview, ontology = self._lately.overview(), self._kg.ontology
        if iri in ontology.classes or iri in overview.classes:
            return self._class(iri, **common)
        if iri in ontology.properties or any(True for _ in islice(self._kg.store.quads(None, iri, None), 1)):
            return self._property(iri, **common)
        return None

    def examples(self) -> list[tuple[str, str]]:
        """Queries on the three classes that most things are of, as title and text; each gives rows."""
        return self._kept.get(("examples", language()), self._examples)

    def _examples(self) -> list[tuple[str, str]]:
        kg, labels = self._kg, self._labels()
        made = []
        for iri in list(self._lately.overview().classes)[:3]:
            made += [(one.title, one.text) for one in of_class(kg, iri, self._profile(iri), labels)]
        return made

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
            raise NotFoundError(f"no {kind} is named {name!r}; /ontology lists them", name=name)
        return by_name

    # classes

    def _class(self, iri: NamedNode, **common: Any) -> Any:
        kg, labels, frame = self._kg, self._labels(), Frame(language(), self._kg.base)
        profile = self._profile(iri)
        rows = self._rows(iri, profile, labels)
        properties = self._property_sheet(rows, frame)
        faceted = FacetedThings(kg, profile, self._kept, iri)
        start = self._start(faceted.total)
        things = self._things(faceted, labels, frame)
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
            samples=[labels.reference(item) for item in faceted.some(start, _A_PAGE)],
            faceted=faceted,
            facets=faceted.facets(labels),
            instances_query=faceted.query(iri),
            start=start,
            step=_A_PAGE,
            things=things,
            queries=self._queries(of_class(kg, iri, profile, labels), iri),
            shapes=self.book.of(iri, labels, language()),
            may_write=client().role >= Role.WRITE,
            **common,
        )

    def _profile(self, iri: NamedNode) -> ClassProfile:
        return self._kept.get(("class", iri), lambda: class_profile(self._kg.store, self._kg.ontology, iri))

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
        ontology = self._kg.ontology
        direct = [term.iri for term in ontology.classes.values() if iri in term.parents and term.iri != iri]
        counted = [(labels.reference(item), self._lately.number_of(item)) for item in direct]
        return sorted(counted, key=lambda pair: (-pair[1], pair[0].label.casefold()))

    def _disjoint(self, iri: NamedNode, labels: Labels) -> list[Reference]:
        pairs = [pair - {iri} for pair in self._kg.ontology.disjoint_pairs if iri in pair]
        return sorted((labels.reference(item) for pair in pairs for item in pair), key=lambda r: r.label.casefold())

    def _rows(self, iri: NamedNode, profile: ClassProfile, labels: Labels) -> list[PropertyRow]:
        ontology = self._kg.ontology
        known = {term.iri: term for term in ontology.properties_of(iri)}
        used = [predicate for predicate in profile.uses if not _internal(self._kg, predicate)]
        rows = []
        for predicate in dict.fromkeys([*known, *used]):
            term = ontology.properties.get(predicate)
            domains = term.domains if term else ()
            use = profile.uses.get(predicate) or Use()
            rows.append(
                PropertyRow(
                    labels.reference(predicate),
                    label_of(term.comments, language(), "") if term else "",
                    labels.reference(domains[0]) if domains and iri not in domains else None,
                    tuple(labels.reference(item) for item in (term.ranges if term else ())),
                    (term.unit or "") if term else "",
                    round(100 * profile.share(predicate)),
                    use.things,
                    _values(use, labels, (term.unit or "") if term else ""),
                )
            )
        return sorted(rows, key=lambda row: (-row.share, row.term.label.casefold()))

    def _property_sheet(self, rows: list[PropertyRow], frame: Frame) -> Sheet:
        t = frame.t
        found = (
            (
                Cell(row.term.label, frame.at(row.term.iri) if row.term.iri else "", row.comment),
                ", ".join(item.label for item in row.ranges),
                Cell(f"{row.share} %", numeric=True, amount=float(row.share)),
                row.things,
                row.values,
            )
            for row in rows
        )
        return sheet("properties", (t("property"), t("range"), t("b_share"), t("things_with"), t("values_seen")), found)

    def _things(self, things: FacetedThings, labels: Labels, frame: Frame) -> Sheet:
        """All things of the class; their names are looked up only where the table is asked for."""
        wanted = request.args.get("format") == "csv" and request.args.get("table") == "things"
        rows = ((Cell(labels.of(iri).text, frame.at(iri)), iri.value) for iri in (things.some() if wanted else ()))
        return sheet("things", (frame.t("name"), "IRI"), rows)

    def _queries(self, made: list[ExampleQuery], iri: NamedNode) -> list[ExampleQuery]:
        """The examples, and the saved queries that speak of the term."""
        names = [iri.value]
        names += [
            f"{prefix}:{iri.value.removeprefix(space)}"
            for prefix, space in self._kg.store.prefixes.items()
            if iri.value.startswith(space)
        ]
        own = [
            ExampleQuery(item.question or item.slug, item.text)
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
            ranges=[(labels.reference(r), r.value.startswith((XSD, RDF))) for r in (term.ranges if term else ())],
            parents=[labels.reference(item) for item in (term.parents if term else ())],
            inverse=labels.reference(term.inverse) if term and term.inverse else None,
            marks=[name for name in _MARKS if term and getattr(term, name)],
            unit=(term.unit or "") if term else "",
            pattern=(term.pattern or "") if term else "",
            profile=profile,
            by_class=by_class,
            values=values,
            middle=(amounts[0], amounts[len(amounts) // 2], amounts[-1]) if (amounts := profile.amounts) else None,
            chart=self._chart(iri, profile, labels),
            queries=self._queries(of_property(kg, iri, profile, labels), iri),
            **common,
        )

    def _by_class(self, profile: PropertyProfile, labels: Labels, frame: Frame) -> Sheet:
        counts = self._lately.overview().classes
        rows = (
            (Cell(labels.of(iri).text, frame.at(iri), iri.value), statements, counts.get(iri, 0))
            for iri, statements in profile.subjects.most_common()
        )
        return sheet("classes", (frame.t("class_"), frame.t("statements"), frame.t("instances")), rows)

    def _value_sheet(self, profile: PropertyProfile, labels: Labels, frame: Frame) -> Sheet:
        rows = (
            (cell(term, labels, frame.base), count)
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


def _values(use: Use, labels: Labels, unit: str) -> str:
    if use.low is not None and use.high is not None:
        low, high = (brief(value, unit) for value in (use.low, use.high))
        return low if low == high else f"{low} – {high}"
    return ", ".join(labels.reference(term).label for term in use.samples)


def _short(term: Term, labels: Labels) -> str:
    text = labels.reference(term).label if isinstance(term, NamedNode | Literal) else str(term)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _href(term: Term, base: str) -> str:
    return addresses.of_iri(term, base) if isinstance(term, NamedNode) else ""


_VOCABULARIES = (OWL, RDF, RDFS, SKOS)
_QUERY = (
    "SELECT ?class (COUNT(?thing) AS ?number) WHERE {\n  ?thing a ?class .\n}\n"
    "GROUP BY ?class\nORDER BY DESC(?number)\n"
)


@dataclass(frozen=True, slots=True)
class ClassBranch:
    """A class in the tree: ``count`` includes the classes below it, ``share`` is of the largest count, in per cent."""

    term: Reference
    comment: str
    count: int
    share: int
    depth: int
    is_match: bool = True


@dataclass(frozen=True, slots=True)
class OntologyRow:
    """A property with its classes or datatypes and the number of its statements."""

    term: Reference
    comment: str
    domains: tuple[Reference, ...]
    ranges: tuple[Reference, ...]
    unit: str
    count: int


def tree(ontology: Ontology, totals: dict[NamedNode, int], labels: Labels, in_language: str) -> list[ClassBranch]:
    """The classes with their numbers in the order of a tree, each below its first parent; a cycle is cut."""
    known = totals.keys()
    children: dict[NamedNode | None, list[NamedNode]] = {}
    for iri in known:
        term = ontology.classes.get(iri)
        parents = [parent for parent in (term.parents if term else ()) if parent in known and parent != iri]
        children.setdefault(parents[0] if parents else None, []).append(iri)
    largest = max(totals.values(), default=0) or 1
    branches: list[ClassBranch] = []
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
        branches.append(ClassBranch(labels.reference(iri), comment, totals[iri], share, depth))
        waiting[:0] = [(child, depth + 1) for child in _sorted(children.get(iri, []), totals, labels)]
    return branches


def _sorted(iris: list[NamedNode], totals: dict[NamedNode, int], labels: Labels) -> list[NamedNode]:
    return sorted(iris, key=lambda iri: (-totals[iri], labels.of(iri).text.casefold(), iri.value))


def _matches(term: Reference, text: str, ontology: Ontology) -> bool:
    """Whether the term is called so in either language; all are where there is no text."""
    known = (ontology.classes.get(term.iri) or ontology.properties.get(term.iri)) if term.iri else None
    words = [word.text for word in (known.words if known else ())]
    names = (term.label, *words, local_name(term.iri.value) if term.iri else "")
    return any(normalise(text) in normalise(name) for name in names)


def _kept(branches: list[ClassBranch], text: str, ontology: Ontology) -> list[ClassBranch]:
    """The classes that are called so in either language, with those above them, which stay to show where they are."""
    if not text:
        return branches
    kept: list[ClassBranch] = []
    deepest = 0
    for branch in reversed(branches):
        is_match = _matches(branch.term, text, ontology)
        if is_match or branch.depth < deepest:
            kept.append(replace(branch, is_match=is_match))
            deepest = branch.depth
    return kept[::-1]


def _class_sheet(branches: list[ClassBranch], frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (
            Cell(branch.term.label, frame.at(branch.term.iri) if branch.term.iri else "", branch.comment),
            branch.term.iri.value if branch.term.iri else "",
            branch.count,
            branch.depth,
            branch.comment,
        )
        for branch in branches
    )
    return sheet("classes", (t("class_"), "IRI", t("instances"), t("depth"), t("definition")), rows)


def _property_sheet(rows: list[OntologyRow], frame: Frame) -> Sheet:
    t = frame.t
    found = (
        (
            row.term.label,
            row.term.iri.value if row.term.iri else "",
            ", ".join(item.label for item in row.domains),
            ", ".join(item.label for item in row.ranges),
            row.unit,
            row.count,
            row.comment,
        )
        for row in rows
    )
    columns = (t("property"), "IRI", t("domain"), t("range"), t("unit"), t("used"), t("definition"))
    return sheet("properties", columns, found)


def _rows(ontology: Ontology, overview: Overview, labels: Labels) -> list[OntologyRow]:
    rows = [
        OntologyRow(
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
        OntologyRow(labels.reference(iri), "", (), (), "", count)
        for iri, count in overview.properties.items()
        if iri not in ontology.properties and not iri.value.startswith(_VOCABULARIES)
    ]
    return sorted(rows, key=lambda row: -row.count)


_MOST_TIES: Final = 40
_BETWEEN = (
    "SELECT ?from ?relation ?to (COUNT(*) AS ?number) WHERE {\n  ?one ?relation ?other ; a ?from .\n"
    "  ?other a ?to .\n}\nGROUP BY ?from ?relation ?to\nORDER BY DESC(?number)\n"
)


def class_picture(kg: KnowledgeGraph, lately: Lately, ties: Ties, labels: Labels) -> dict[str, Any]:
    """The classes as nodes with the numbers of their things, what leads from one to another as edges."""
    totals, classes = lately.totals(), list(dict.fromkeys(chain.from_iterable(ties)))
    looks = Palette(lately.overview()).records(classes, labels, kg.base)
    names = [f"{look['label']} · {totals.get(iri, 0):,}" for iri, look in zip(classes, looks, strict=True)]
    parts = zip(classes, looks, names, strict=True)
    nodes = [{**look, "id": iri.value, "class": at, "label": name} for at, (iri, look, name) in enumerate(parts)]
    edges = []
    for (start, end), by in ties.items():
        first, more = labels.of(max(by, key=by.__getitem__)).text, f" +{len(by) - 1}" if len(by) > 1 else ""
        edges.append({"source": start.value, "target": end.value, "label": f"{first}{more}"})
    return {"nodes": nodes, "edges": edges, "classes": looks, "legend": False, "query": _BETWEEN}


def blueprint(kg: KnowledgeGraph, lately: Lately, terms: Terms) -> Blueprint:
    """The routes of the Ontology page, and the short addresses of classes and properties."""
    routes = Blueprint("terms", __name__)

    @routes.get("/ontology")
    def ontology() -> Any:
        labels = Labels(kg.dataset, kg.ontology, tongues())
        overview = lately.overview()
        text = request.args.get("q", "").strip()[:200]
        branches, rows = tree(kg.ontology, lately.totals(), labels, language()), _rows(kg.ontology, overview, labels)
        frame = Frame(language(), kg.base)
        found = _kept(branches, text, kg.ontology), [row for row in rows if _matches(row.term, text, kg.ontology)]
        tables = _class_sheet(found[0], frame), _property_sheet(found[1], frame)
        if (wanted := csv_of(*tables)) is not None:
            return wanted
        palette = Palette(overview)
        every, complete = lately.ties()
        ties = dict(islice(every.items(), _MOST_TIES))
        note = "" if complete else phrase("overview_looked", language(), n=TIES_LOOKED_AT)
        return page(
            "ontology.html",
            kg.base,
            picture={**class_picture(kg, lately, ties, labels), "note": note} if ties else None,
            ties=[(*map(labels.reference, ends), by) for ends, by in ties.items()],
            labels=labels,
            tree=found[0],
            colours={branch.term.iri: palette.index(branch.term.iri) for branch in branches if branch.term.iri},
            rows=found[1],
            counts=(len(branches), len(rows)),
            text=text,
            tables=tables,
            query=_QUERY,
        )

    @routes.get("/class/<path:name>")
    def class_(name: str) -> Any:
        return redirect(addresses.of_iri(terms.named(name, is_class=True), kg.base), 303)

    @routes.get("/property/<path:name>")
    def property_(name: str) -> Any:
        return redirect(addresses.of_iri(terms.named(name, is_class=False), kg.base), 303)

    return routes
