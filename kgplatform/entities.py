"""What the graph says about an entity, ready to be shown, and which entity is meant by a name.

Names, classes, facts with passages, and who refers to it. Facts come from the default graph, in the order that the
ontology gives its properties (``core:displayOrder``). Each value carries the passages that say it; what was stated by
hand, inferred or mapped says so instead.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform import tabular
from kgplatform.errors import NotFoundError
from kgplatform.ontology.schema import Ontology, Word, label_of
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.tabular import HtmlCell, Value
from kgplatform.text import normalise
from kgplatform.types import Evidence, Term
from kgplatform.vocab import ALT_LABEL, COMMENT, CORE, DCTERMS, FOAF, LABEL, SCHEMA, SKOS, TYPE, words_of_iri

FindEvidence: TypeAlias = Callable[[Triple, NamedNode], Evidence | None]

NAMING = tuple(
    NamedNode(iri) for iri in (LABEL.value, f"{SKOS}prefLabel", f"{SCHEMA}name", f"{FOAF}name", f"{DCTERMS}title")
)
"""The properties whose values name a thing, the most telling first."""

_DESCRIBING = (COMMENT, NamedNode(f"{SKOS}definition"), NamedNode(f"{DCTERMS}description"))
REPLACED_BY = NamedNode(f"{DCTERMS}isReplacedBy")
"""By what a retired IRI names the one that took its place."""
APART = frozenset((*NAMING, *_DESCRIBING, ALT_LABEL, TYPE, REPLACED_BY))
"""The properties that are shown apart from the facts: names, descriptions, classes."""

_LINKING = (NamedNode(f"{CORE}linkFrom"), NamedNode(f"{CORE}linkTo"))
_MADE_NUMBER = re.compile(r"-[0-9a-f]{8}$")
_INFERRED = "inferred"
_MOST_INSIDE = 4
_MOST_SORTED = 2_000
_UNNAMED = "urn:kgplatform:node:"
"""Where the IRIs begin that stand for the blank nodes of ontologies: they are structure, not things."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A term with the words to show for it; ``iri`` is None for literals and blank nodes."""

    term: Term
    label: str
    language: str = ""
    iri: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class FactValue:
    """The value of a fact: the passages that say it, and the names of its graphs that have no text (``asserted`` …)."""

    value: Reference
    evidence: tuple[Evidence, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def is_inferred(self) -> bool:
        """Whether it holds only because it follows from others."""
        return self.origins == (_INFERRED,) and not self.evidence


@dataclass(frozen=True, slots=True)
class Turned:
    """The page (from 0) that is shown of the values of a property; ``inward``: of the things that refer by it."""

    predicate: NamedNode
    inward: bool
    page: int


@dataclass(frozen=True, slots=True)
class EntityFact:
    """A property with its values, what is stated first; ``total`` counts all of them, ``first`` precede."""

    predicate: Reference
    values: tuple[FactValue, ...]
    total: int
    unit: str = ""
    first: int = 0

    @property
    def stated(self) -> tuple[FactValue, ...]:
        """The values that somebody or something says."""
        return tuple(value for value in self.values if not value.is_inferred)

    @property
    def inferred(self) -> tuple[FactValue, ...]:
        """The values that only follow from others."""
        return tuple(value for value in self.values if value.is_inferred)


@dataclass(frozen=True, slots=True)
class Incoming:
    """The things that refer to this one by a property; ``total`` counts those that are not shown, ``first`` precede."""

    predicate: Reference
    subjects: tuple[Reference, ...]
    total: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class EntityView:
    """What is known about one thing. ``label`` is in the language asked for, ``labels`` and ``aliases`` in all."""

    iri: NamedNode
    label: str
    labels: tuple[Word, ...]
    aliases: tuple[Word, ...]
    types: tuple[Reference, ...]
    description: str
    facts: tuple[EntityFact, ...]
    incoming: tuple[Incoming, ...]
    replaced_by: Reference | None = None

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The passages of all facts, each once, in the order of the facts."""
        return tuple(dict.fromkeys(e for fact in self.facts for value in fact.values for e in value.evidence))

    def _rows(self) -> list[tuple[Value, ...]]:
        return [
            (fact.predicate.label, _plain(value.value), fact.unit or None, len(value.evidence))
            for fact in self.facts
            for value in fact.values
        ]

    def to_pandas(self) -> Any:
        """The facts as a ``pandas.DataFrame``: ``property``, ``value``, ``unit``, ``passages`` (their number)."""
        return tabular.pandas_frame(_COLUMNS, self._rows())

    def to_polars(self) -> Any:
        """The facts as a ``polars.DataFrame``, like `to_pandas`.

        Raises:
            ConfigError: polars is not installed.
        """
        return tabular.polars_frame(_COLUMNS, self._rows())

    def _repr_html_(self) -> str:
        types = escape(", ".join(item.label for item in self.types))
        cells = [
            (HtmlCell(fact.predicate.label), _cell(value.value), HtmlCell(fact.unit))
            for fact in self.facts
            for value in fact.values
        ]
        about = f"<p>{escape(self.description)}</p>" if self.description else ""
        head = f"<p><b>{escape(self.label)}</b> <small>{types}</small></p>{about}"
        return head + tabular.html_table(("", "", ""), cells)


_COLUMNS = ("property", "value", "unit", "passages")


def _cell(shown: Reference) -> HtmlCell:
    return HtmlCell(shown.label, shown.iri.value if shown.iri else "")


def _plain(shown: Reference) -> Value:
    """The value of a literal, what anything else is called."""
    return tabular.python_value(shown.term) if isinstance(shown.term, Literal) else shown.label


class Labels:
    """The words for terms in a language: by the ontology, else by what the graph calls them, else by their IRI.

    Several languages are tried in their order.

    Looks a term up once; make a new one for each request.
    """

    def __init__(self, dataset: EvidenceDataset, ontology: Ontology, language: str | Sequence[str]) -> None:
        self._dataset = dataset
        self._ontology = ontology
        self._language = language
        self._known: dict[NamedNode, Word] = {}

    def words(self, iri: NamedNode, predicates: Iterable[NamedNode] = NAMING) -> tuple[Word, ...]:
        """The values of the first of the properties that the thing has, those in documents' descriptions included."""
        for predicate in predicates:
            found = {
                Word(quad.object.value, quad.object.language or "")
                for quad in self._dataset.store.quads(iri, predicate)
                if isinstance(quad.object, Literal) and quad.graph_name != self._dataset.rejected
            }
            if found:
                return tuple(sorted(found, key=lambda word: (word.language, len(word.text), word.text)))
        return ()

    def of(self, iri: NamedNode) -> Word:
        """The words for an IRI, with their language (empty: the words of the IRI itself)."""
        if iri not in self._known:
            self._known[iri] = self._found(iri)
        return self._known[iri]

    def _found(self, iri: NamedNode) -> Word:
        term = self._ontology.classes.get(iri) or self._ontology.properties.get(iri)
        words = term.words if term and term.words else self.words(iri)
        text = label_of(words, self._language, "")
        language = next((word.language for word in words if word.text == text), "")
        return Word(text, language) if text else Word(self._by_ends(iri) or self._by_iri(iri) or iri.value, "")

    def _by_iri(self, iri: NamedNode) -> str:
        """The words of the IRI itself, without the digits that the platform sets behind a name to tell things apart."""
        made = iri.value.startswith(f"{self._dataset.base}entity/")
        return words_of_iri(_MADE_NUMBER.sub("", iri.value) if made else iri.value)

    def _by_ends(self, iri: NamedNode) -> str:
        """The words for a tie between two things: those of both, since it has no name of its own."""
        ends = [next(iter(self._dataset.store.objects(iri, way)), None) for way in _LINKING]
        words = [
            label_of(self.words(end), self._language, "") or self._by_iri(end)
            for end in ends
            if isinstance(end, NamedNode)
        ]
        return " – ".join(words) if len(words) == len(ends) and all(words) else ""

    def reference(self, term: Term) -> Reference:
        """The term with its words: a label for an IRI, the text of a literal."""
        if isinstance(term, NamedNode):
            word = self.of(term)
            return Reference(term, word.text, word.language, term)
        if isinstance(term, Literal):
            return Reference(term, term.value, term.language or "")
        if isinstance(term, Triple):
            parts = (self.reference(part).label for part in (term.subject, term.predicate, term.object))
            return Reference(term, "« " + " · ".join(parts) + " »")
        return Reference(term, self._inside(term) if isinstance(term, BlankNode) else str(term))

    def _inside(self, node: BlankNode) -> str:
        """What is said of a thing without a name, since it has nothing else to be shown by."""
        said = []
        for quad in islice(self._dataset.store.quads(node, None, None, DEFAULT_GRAPH), _MOST_INSIDE):
            value = quad.object
            shown = (
                self.of(value).text
                if isinstance(value, NamedNode)
                else value.value
                if isinstance(value, Literal)
                else "…"
            )
            said.append(f"{self.of(quad.predicate).text}: {shown}")
        return f"[ {' · '.join(said)} ]" if said else str(node)


def describe(
    iri: NamedNode,
    *,
    dataset: EvidenceDataset,
    ontology: Ontology,
    find_evidence: FindEvidence,
    language: str = "en",
    max_values: int = 40,
    max_subjects: int = 25,
    turned: Turned | None = None,
) -> EntityView:
    """What the graph says about the thing, labelled in the language; of one property, another page than the first.

    Raises:
        NotFoundError: the graph does not mention it.
    """
    labels = Labels(dataset, ontology, language)
    told = _Told(iri, dataset, ontology, labels, find_evidence, turned)
    stated: dict[NamedNode, list[Term]] = defaultdict(list)
    for quad in dataset.store.quads(iri, None, None, DEFAULT_GRAPH):
        if not is_unnamed(quad.object):
            stated[quad.predicate].append(quad.object)
    incoming = tuple(told.incoming(max_subjects))
    words = labels.words(iri)
    if not stated and not incoming and not words:
        raise NotFoundError(f"nothing is known about “{iri.value}”", name=iri.value)
    replaced = [term for term in stated.get(REPLACED_BY, []) if isinstance(term, NamedNode)]
    return EntityView(
        iri=iri,
        label=labels.of(iri).text,
        labels=words,
        aliases=tuple(word for word in labels.words(iri, (ALT_LABEL,)) if word not in words),
        types=tuple(labels.reference(item) for item in special_types(stated.get(TYPE, []), ontology)),
        description=label_of(labels.words(iri, _DESCRIBING), language, ""),
        facts=tuple(told.facts(stated, max_values)),
        incoming=incoming,
        replaced_by=labels.reference(replaced[0]) if replaced else None,
    )


def is_bookkeeping(predicate: NamedNode, ontology: Ontology) -> bool:
    """Whether statements with the property keep the platform's books, such as what a name was linked to."""
    term = ontology.properties.get(predicate)
    return predicate == REPLACED_BY or (term is not None and term.internal)


def is_unnamed(term: Term) -> bool:
    """Whether the term stands for a blank node of an ontology."""
    return isinstance(term, NamedNode) and term.value.startswith(_UNNAMED)


def special_types(found: Iterable[Term], ontology: Ontology) -> list[NamedNode]:
    """The classes, without those that another of them implies."""
    types = [item for item in found if isinstance(item, NamedNode)]
    told = [one for one in types if not any(one != other and one in ontology.superclasses(other) for other in types)]
    return sorted(told, key=lambda item: item.value)


@dataclass(frozen=True, slots=True)
class _Told:
    """One thing, and what tells of it."""

    iri: NamedNode
    dataset: EvidenceDataset
    ontology: Ontology
    labels: Labels
    find_evidence: FindEvidence
    turned: Turned | None

    def facts(self, stated: Mapping[NamedNode, list[Term]], size: int) -> Iterator[EntityFact]:
        """The facts, each with a page of its values."""
        for predicate in sorted(stated.keys() - APART, key=self._order):
            terms = stated[predicate]
            first = self._first(predicate, size, len(terms), inward=False)
            values = tuple(self._value(predicate, item) for item in self._shown(predicate, terms, first, size))
            term = self.ontology.properties.get(predicate)
            unit = (term.unit or "") if term else ""
            yield EntityFact(self.labels.reference(predicate), values, len(terms), unit, first)

    def incoming(self, size: int) -> Iterator[Incoming]:
        """Who refers to it, a page for each property."""
        statements = EntityStatements(self.iri, self.dataset, self.ontology)
        totals = statements.counted(_REFERRING)
        told = (predicate for predicate in totals if not is_bookkeeping(predicate, self.ontology))
        for predicate in sorted(told, key=self._order):
            first = self._first(predicate, size, totals[predicate], inward=True)
            quads = (quad for quad in statements.referring(predicate) if not is_unnamed(quad.subject))
            things: Iterator[NamedNode] = (q.subject for q in quads if isinstance(q.subject, NamedNode))
            if totals[predicate] <= _MOST_SORTED:
                things = iter(sorted(things, key=lambda iri: _by_language_and_label(self.labels.reference(iri))))
            subjects = tuple(self.labels.reference(item) for item in islice(things, first, first + size))
            yield Incoming(self.labels.reference(predicate), subjects, totals[predicate], first)

    def _order(self, predicate: NamedNode) -> tuple[int, str]:
        term = self.ontology.properties.get(predicate)
        return (term.order if term else 10_000, predicate.value)

    def _first(self, predicate: NamedNode, size: int, total: int, *, inward: bool) -> int:
        """Where the page begins that is shown of a property; beyond the last page, the last."""
        if self.turned is None or (self.turned.predicate, self.turned.inward) != (predicate, inward):
            return 0
        return min(self.turned.page, max(0, total - 1) // size) * size

    def _shown(self, predicate: NamedNode, terms: list[Term], first: int, size: int) -> list[Reference]:
        """So many values from the first on, by their names; of too many for that as they come. What is stated leads."""
        if len(terms) <= size:
            return sorted(map(self.labels.reference, terms), key=_by_language_and_label)[first : first + size]
        inferred = {quad.object for quad in self.dataset.store.quads(self.iri, predicate, None, self.dataset.inferred)}
        follows = {
            term: term in inferred and not self.dataset.is_stated(Triple(self.iri, predicate, term)) for term in terms
        }
        if len(terms) > _MOST_SORTED:
            return [
                self.labels.reference(term) for term in sorted(terms, key=follows.__getitem__)[first : first + size]
            ]
        named = sorted(map(self.labels.reference, terms), key=_by_language_and_label)
        return sorted(named, key=lambda item: follows[item.term])[first : first + size]

    def _value(self, predicate: NamedNode, shown: Reference) -> FactValue:
        evidence: list[Evidence] = []
        origins: list[str] = []
        triple = Triple(self.iri, predicate, shown.term)
        for graph in self.dataset.evidence_graphs(triple):
            passage = self.find_evidence(triple, graph)
            if passage is not None:
                evidence.append(passage)
            else:
                origins.append(graph.value.removeprefix(f"{self.dataset.base}graph/"))
        return FactValue(shown, tuple(evidence), tuple(origins))


def _by_language_and_label(item: Reference) -> tuple[str, str, str]:
    return (item.language if isinstance(item.term, Literal) else "", item.label.casefold(), str(item.term))


_REFERRING = f'FILTER(!(isIRI(?s) && STRSTARTS(STR(?s), "{_UNNAMED}")))'


class EntityStatements:
    """Who refers to one thing, less those of whom the thing's own facts say the same the other way round.

    What the facts say is looked up once for each property, so that a hub of a hundred thousand costs a count.
    """

    def __init__(self, iri: NamedNode, dataset: EvidenceDataset, ontology: Ontology) -> None:
        self._iri = iri
        self._dataset = dataset
        self._ontology = ontology
        self._ways: dict[NamedNode, tuple[tuple[NamedNode, frozenset[Term]], ...]] = {}

    def counted(self, condition: str) -> dict[NamedNode, int]:
        """How many refer to the thing by each property; ``condition`` is a SPARQL filter on them, ``?s``."""
        text = f"SELECT ?thing ?p (COUNT(*) AS ?n) WHERE {{ ?s ?p ?thing {condition} }} GROUP BY ?thing ?p"
        rows = self._dataset.store.query(text, bindings={"thing": self._iri}).rows
        found = {p: int(n.value) for _, p, n in rows if isinstance(p, NamedNode) and isinstance(n, Literal)}
        for predicate in [one for one in found if self.ways(one)]:
            found[predicate] -= sum(self.tells(quad) for quad in self._of(predicate))
        return {predicate: number for predicate, number in found.items() if number > 0}

    def referring(self, predicate: NamedNode) -> Iterator[Quad]:
        """The statements that refer to the thing by the property."""
        return (quad for quad in self._of(predicate) if not self.tells(quad))

    def _of(self, predicate: NamedNode) -> Iterator[Quad]:
        return self._dataset.store.quads(None, predicate, self._iri, DEFAULT_GRAPH)

    def ways(self, predicate: NamedNode) -> tuple[tuple[NamedNode, frozenset[Term]], ...]:
        """The thing's own properties that say what the property says of it, each with its values, if it has any."""
        if predicate not in self._ways:
            term = self._ontology.properties.get(predicate)
            names = (term.inverse, term.iri if term.symmetric else None) if term else ()
            own = ((way, frozenset(self._dataset.store.objects(self._iri, way))) for way in names if way is not None)
            self._ways[predicate] = tuple((way, values) for way, values in own if values)
        return self._ways[predicate]

    def tells(self, quad: Quad) -> bool:
        """Whether the facts say the same the other way round, and not only because it follows from this."""
        for way, values in self.ways(quad.predicate):
            if isinstance(quad.subject, NamedNode) and quad.subject in values:
                turned = Triple(self._iri, way, quad.subject)
                return self._dataset.is_stated(turned) or not self._dataset.is_stated(quad.triple)
        return False


_MOST_COMPARED = 20_000
_PREF_LABEL = NamedNode(f"{SKOS}prefLabel")


def find_iri(store: Store, name: str) -> NamedNode:
    """The IRI itself, a prefixed name in full, or the one thing that is called so.

    Raises:
        NotFoundError: nothing, or several things are called so; the message lists the nearest.
    """
    iri = _as_iri(store, name)
    if iri is not None:
        if not store.mentions(iri):
            raise NotFoundError(f"nothing is known about “{iri.value}”", name=name)
        return iri
    for predicates in ((LABEL, _PREF_LABEL), (ALT_LABEL,)):
        found = _called(store, name, predicates)
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(item.value for item in found[:5])
            raise NotFoundError(f"{len(found)} entities are named {name!r}: {listed}; give the IRI", name=name)
    near = _nearest(store, name)
    hint = f"did you mean {' or '.join(repr(item) for item in near)}?" if near else f"try `kgplatform search {name!r}`"
    raise NotFoundError(f"nothing is named {name!r}; {hint}", name=name)


def find_statement(store: Store, ontology: Ontology, subject: str, predicate: str, object_: str) -> Triple:
    """The statement that is meant: each part an IRI, a prefixed name or a name; the object may also be a plain value.

    Raises:
        NotFoundError: a part stands for nothing, or for several things.
    """
    thing, property_ = find_iri(store, subject), _find_property(ontology, store, predicate)
    wanted = normalise(object_)
    values = [term for term in store.objects(thing, property_) if isinstance(term, Literal)]
    for same in (lambda value: value == object_, lambda value: wanted and normalise(value) == wanted):
        for term in sorted(values, key=str):
            if same(term.value):
                return Triple(thing, property_, term)
    return Triple(thing, property_, find_iri(store, object_))


def _find_property(ontology: Ontology, store: Store, name: str) -> NamedNode:
    iri = TYPE if name == "a" else _as_iri(store, name)
    if iri is not None:
        return iri
    wanted = normalise(name)
    labels = [(normalise(word.text), term.iri) for term in ontology.properties.values() for word in term.words]
    found = {iri for text, iri in labels if text == wanted}
    found = found or {iri for iri in ontology.properties if iri.value.endswith((f"#{name}", f"/{name}"))}
    if len(found) == 1:
        return found.pop()
    if found:
        listed = ", ".join(sorted(item.value for item in found)[:5])
        raise NotFoundError(f"{len(found)} properties are named {name!r}: {listed}; give the IRI", name=name)
    near = difflib.get_close_matches(wanted, sorted({text for text, _ in labels}), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "give its IRI, or a name with prefix such as geo:locatedIn"
    raise NotFoundError(f"no property is named {name!r}; {hint}", name=name)


def _nearest(store: Store, name: str) -> list[str]:
    labels = (item.object for item in islice(store.quads(None, LABEL, None, DEFAULT_GRAPH), _MOST_COMPARED))
    known = {normalise(label.value): label.value for label in labels if isinstance(label, Literal)}
    return [known[form] for form in difflib.get_close_matches(normalise(name), sorted(known), n=3, cutoff=0.75)]


def _as_iri(store: Store, name: str) -> NamedNode | None:
    text = name.strip()
    bracketed = text.startswith("<") and text.endswith(">")
    text = text.removeprefix("<").removesuffix(">")
    prefix, colon, local = text.partition(":")
    try:
        if bracketed or (colon and (local.startswith("//") or prefix == "urn")):
            return NamedNode(text)
        if colon and prefix in store.prefixes and local:
            return NamedNode(store.prefixes[prefix] + local)
    except ValueError as error:
        raise NotFoundError(f"{name!r} is not an IRI: {error}", name=name) from error
    return None


def _called(store: Store, name: str, predicates: tuple[NamedNode, ...]) -> list[NamedNode]:
    wanted = normalise(name)
    if not wanted:
        return []
    found = {
        item.subject
        for predicate in predicates
        for item in store.quads(None, predicate, None, DEFAULT_GRAPH)
        if isinstance(item.object, Literal) and normalise(item.object.value) == wanted
    }
    return sorted((iri for iri in found if isinstance(iri, NamedNode)), key=lambda iri: iri.value)
