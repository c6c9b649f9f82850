"""An ontology drafted from data that comes without one (RDF or tables), for a person to edit: OWL 2 in Turtle.

Datatypes, functional properties and keys are read off the values; what was guessed says so in its comment. A language
model may word the terms (labels and comments in English and Chinese, local names that the draft coined), and nothing
else; the label that came from the data stays as a lexical form (``skos:altLabel``).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform.documents.tables.cells import TableSource
from kgplatform.documents.tables.table_source import (
    TABLE_SUFFIXES,
    ColumnProfile,
    ValueType,
    is_table,
    open_table,
    profile,
    samples_of,
    type_of,
)
from kgplatform.errors import ModelReplyError, OntologyError, StoreError
from kgplatform.extraction.ontology_lexicon import label_key
from kgplatform.extraction.table_draft import without_name
from kgplatform.extraction.values import CURRENCIES, UNITS, values_in
from kgplatform.lexicon import LexiconSection
from kgplatform.models.json_replies import json_of, mismatch
from kgplatform.models.prompts import render_messages
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, parse
from kgplatform.text import has_han, normalise, singular, words_of_identifier
from kgplatform.types import ChatModel, Term
from kgplatform.vocab import (
    ALT_LABEL,
    COMMENT,
    CORE,
    DCTERMS,
    LABEL,
    OA,
    OWL,
    PREFIXES,
    PROV,
    RDF,
    RDFS,
    SKOS,
    SUBCLASS_OF,
    TYPE,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_GYEAR,
    XSD_INTEGER,
    XSD_STRING,
    local_name,
    slug,
    words_of_iri,
)

_LANG_STRING = NamedNode(f"{RDF}langString")
_EXAMPLES = 2
_DATATYPES = {
    ValueType.INTEGER: XSD_INTEGER,
    ValueType.DECIMAL: XSD_DECIMAL,
    ValueType.BOOLEAN: XSD_BOOLEAN,
    ValueType.DATE: XSD_DATE,
    ValueType.DATE_TIME: XSD_DATETIME,
    ValueType.G_YEAR: XSD_GYEAR,
    ValueType.CODE: XSD_STRING,
    ValueType.TEXT: XSD_STRING,
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What is common to values: their datatype, how many differ (0: not counted), and some of them as examples."""

    datatype: NamedNode
    count: int
    distinct: int
    examples: tuple[str, ...]

    @property
    def is_unique(self) -> bool:
        """Whether every value occurs once."""
        return self.count > 1 and self.count == self.distinct


def of_column(column: ColumnProfile) -> Profile:
    """The profile of a column's values as those of a property."""
    return Profile(_DATATYPES[column.type], column.values, column.distinct, column.samples[:_EXAMPLES])


def of_literals(literals: Sequence[Literal], name: str) -> Profile:
    """The profile of literals: the datatype that most say; plain text is looked at as cells are."""
    texts = [item.value for item in literals]
    if any(item.language for item in literals):
        return _profile(_LANG_STRING, texts)
    said = Counter(item.datatype for item in literals)
    if len(said) == 1 and XSD_STRING in said:
        cells = [text.strip() for text in texts if text.strip()]
        return _profile(_DATATYPES[type_of(cells, name)], cells)
    if {XSD_INTEGER, XSD_DECIMAL} == said.keys():
        return _profile(XSD_DECIMAL, texts)
    return _profile(said.most_common(1)[0][0] if len(said) == 1 else XSD_STRING, texts)


def _profile(datatype: NamedNode, texts: Sequence[str]) -> Profile:
    return Profile(datatype, len(texts), len(set(texts)), samples_of(texts)[:_EXAMPLES])


_FEW = 20
_UNION, _FIRST, _REST = NamedNode(f"{OWL}unionOf"), NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest")
_NIL, _CLASS = NamedNode(f"{RDF}nil"), NamedNode(f"{OWL}Class")


@dataclass(frozen=True, slots=True)
class DraftedClass:
    """A class to propose, with the names of some of its members and the properties that tell them apart."""

    iri: NamedNode
    label: str
    count: int
    key: tuple[NamedNode, ...] = ()
    parents: tuple[NamedNode, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftedProperty:
    """A property to propose; ``ranges`` are classes, or there is a ``profile`` of its values."""

    iri: NamedNode
    label: str
    domains: tuple[NamedNode, ...]
    count: int
    ranges: tuple[NamedNode, ...] = ()
    profile: Profile | None = None
    functional: bool = False
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class OntologyDraft:
    """An ontology to propose; ``remarks`` say what could not be made of the data.

    ``labels``, ``other_words`` and ``comments`` are words by term, where there are better ones than the draft's own.
    ``is_from_data``: the IRIs of the terms are those that data uses, so that they cannot be others.
    """

    iri: NamedNode
    source: str
    classes: tuple[DraftedClass, ...]
    properties: tuple[DraftedProperty, ...]
    labels: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    other_words: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    comments: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    is_from_data: bool = False

    @property
    def terms(self) -> list[DraftedClass | DraftedProperty]:
        """Classes and properties."""
        return [*self.classes, *self.properties]

    @property
    def namespace(self) -> str:
        """What the IRIs of coined terms begin with."""
        return self.iri.value.rstrip("#/") + "#"


def as_turtle(draft: OntologyDraft) -> bytes:
    """The draft as OWL in Turtle."""
    prefixes = {name: PREFIXES[name] for name in ("rdf", "rdfs", "owl", "xsd", "skos")}
    return ox.serialize(_triples(draft), format=RdfFormat.TURTLE, prefixes={**prefixes, "": draft.namespace}) or b""


def _triples(draft: OntologyDraft) -> Iterable[Triple]:
    yield Triple(draft.iri, TYPE, NamedNode(f"{OWL}Ontology"))
    yield Triple(draft.iri, COMMENT, Literal(f"Drafted from {draft.source}; to be edited by a person.", language="en"))
    for class_ in draft.classes:
        yield Triple(class_.iri, TYPE, _CLASS)
        yield from _words(draft, class_.iri, class_.label)
        yield Triple(class_.iri, COMMENT, _comment(class_.label, class_.count))
        for parent in class_.parents:
            yield Triple(class_.iri, SUBCLASS_OF, parent)
        for example in class_.examples:
            yield Triple(class_.iri, NamedNode(f"{SKOS}example"), tagged(example))
        if class_.key:
            yield from _list(class_.iri, NamedNode(f"{OWL}hasKey"), class_.key)
    for term in draft.properties:
        yield from _property(draft, term)


def _property(draft: OntologyDraft, term: DraftedProperty) -> Iterable[Triple]:
    kind = "DatatypeProperty" if term.profile else "ObjectProperty"
    yield Triple(term.iri, TYPE, NamedNode(f"{OWL}{kind}"))
    if term.functional:
        yield Triple(term.iri, TYPE, NamedNode(f"{OWL}FunctionalProperty"))
    yield from _words(draft, term.iri, term.label)
    distinct = term.profile.distinct or None if term.profile else None
    yield Triple(term.iri, COMMENT, _comment(term.label, term.count, distinct))
    yield from _end(term.iri, "domain", term.domains)
    if term.profile:
        yield Triple(term.iri, NamedNode(f"{RDFS}range"), term.profile.datatype)
        if term.unit:
            yield Triple(term.iri, NamedNode(f"{CORE}unit"), Literal(term.unit))
        for example in term.profile.examples:
            yield Triple(term.iri, NamedNode(f"{SKOS}example"), Literal(example))
    else:
        yield from _end(term.iri, "range", term.ranges)


def _comment(label: str, count: int, distinct: int | None = None) -> Literal:
    """What the data shows of a term, in the language of its label."""
    if has_han(label):
        values = "" if distinct is None else f"；不同取值：{distinct}"
        return Literal(f"由数据草拟；数据中出现：{count}{values}。", language="zh")
    values = "" if distinct is None else f"; different values: {distinct}"
    return Literal(f"Drafted; in the data: {count}{values}.", language="en")


def _end(subject: NamedNode, name: str, classes: tuple[NamedNode, ...]) -> Iterable[Triple]:
    """Domain or range: the class, or the union of several; ``owl:Thing`` where there are none or very many."""
    predicate = NamedNode(f"{RDFS}{name}")
    if len(classes) == 1:
        yield Triple(subject, predicate, classes[0])
    elif not classes or len(classes) > _FEW:
        yield Triple(subject, predicate, NamedNode(f"{OWL}Thing"))
    else:
        union = BlankNode()
        yield Triple(subject, predicate, union)
        yield Triple(union, TYPE, _CLASS)
        yield from _list(union, _UNION, classes)


def _list(subject: NamedNode | BlankNode, predicate: NamedNode, items: tuple[NamedNode, ...]) -> Iterable[Triple]:
    nodes = [BlankNode() for _ in items]
    yield Triple(subject, predicate, nodes[0])
    for place, (node, item) in enumerate(zip(nodes, items, strict=True)):
        yield Triple(node, _FIRST, item)
        rest: Term = nodes[place + 1] if place + 1 < len(nodes) else _NIL
        yield Triple(node, _REST, rest)


def _words(draft: OntologyDraft, iri: NamedNode, label: str) -> Iterable[Triple]:
    """The labels that the data gives the term, else one from its name."""
    for literal in draft.labels.get(iri) or (tagged(label),):
        yield Triple(iri, LABEL, literal)
    for literal in draft.other_words.get(iri, ()):
        yield Triple(iri, ALT_LABEL, literal)
    for literal in draft.comments.get(iri, ()):
        yield Triple(iri, COMMENT, literal)


def tagged(text: str) -> Literal:
    """The text with its language."""
    return Literal(text, language="zh" if has_han(text) else "en")


def term_name(words: str, *, is_class: bool) -> str:
    """A local name from words: ``HotelRoom`` for a class, ``starRating`` for a property; Chinese stays as it is.

    >>> term_name("star_rating", is_class=False), term_name("hotel room", is_class=True), term_name("房", is_class=True)
    ('starRating', 'HotelRoom', '房')
    """
    parts = [part for part in re.split(r"[\W_]+", words) if part]
    if not parts:
        return ""
    shaped = [part if part.isupper() and len(part) <= 4 else part[0].upper() + part[1:] for part in parts]
    name = "".join(shaped)[:80]
    if not is_class:
        is_acronym = len(parts[0]) > 1 and parts[0].isupper()
        name = name if is_acronym else name[0].lower() + name[1:]
    return f"x{name}" if name[0].isdigit() else name


def label_of_iri(iri: NamedNode) -> str:
    """Words for an IRI, never empty and not too long for a label."""
    return (words_of_iri(iri.value) or iri.value)[:100]


_VOCABULARIES = (RDF, RDFS, OWL, SKOS, PROV, OA, DCTERMS)
_SAMPLE = 2000


class _Data:
    """The triples of a graph, counted by what a draft asks."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.members: dict[NamedNode, set[object]] = defaultdict(set)
        self.types: dict[object, set[NamedNode]] = defaultdict(set)
        self.by_predicate: dict[NamedNode, list[Triple]] = defaultdict(list)
        self.names: dict[object, list[Literal]] = defaultdict(list)
        for triple in triples:
            value = triple.object
            if triple.predicate == TYPE:
                if isinstance(value, NamedNode) and not value.value.startswith(_VOCABULARIES):
                    self.members[value].add(triple.subject)
                    self.types[triple.subject].add(value)
            elif triple.predicate == LABEL:
                if isinstance(value, Literal):
                    self.names[triple.subject].append(value)
            elif not triple.predicate.value.startswith(_VOCABULARIES):
                self.by_predicate[triple.predicate].append(triple)

    def parents(self) -> dict[NamedNode, tuple[NamedNode, ...]]:
        """The smallest classes that hold all members of a class and more; one member proves nothing."""
        found = {}
        for class_, members in self.members.items():
            around = {
                other: len(self.members[other])
                for other in set.intersection(*(self.types[member] for member in members))
                if len(self.members[other]) > len(members) > 1
            }
            nearest = [c for c, size in around.items() if size == min(around.values())]
            found[class_] = tuple(sorted(nearest, key=lambda iri: iri.value))
        return found

    def classes_of(
        self, nodes: Iterable[object], parents: dict[NamedNode, tuple[NamedNode, ...]]
    ) -> tuple[NamedNode, ...]:
        """The smallest class that holds all the things; else their classes, without those below another of them."""
        things = {node for node in nodes if node in self.types}
        found = {type_ for node in things for type_ in self.types[node]}
        around = [c for c in sorted(found, key=lambda iri: iri.value) if things <= self.members[c]]
        if around:
            return (min(around, key=lambda c: len(self.members[c])),)
        below = {c for c in found if any(above in found for above in _above(c, parents))}
        return tuple(sorted(found - below, key=lambda iri: iri.value))


def _above(class_: NamedNode, parents: dict[NamedNode, tuple[NamedNode, ...]]) -> set[NamedNode]:
    found: set[NamedNode] = set()
    waiting = list(parents.get(class_, ()))
    while waiting:
        parent = waiting.pop()
        if parent not in found:
            found.add(parent)
            waiting.extend(parents.get(parent, ()))
    return found


def from_rdf(triples: Iterable[Triple], *, source: str, iri: NamedNode) -> OntologyDraft:
    """The draft for the things that the triples describe.

    Raises:
        OntologyError: the triples describe nothing.
    """
    data = _Data(triples)
    if not data.members and not data.by_predicate:
        raise OntologyError("describes nothing that a class or property could be drafted from", source=source)
    parents = data.parents()
    remarks: list[str] = []
    properties = [
        _from_rdf_property(data, predicate, parents, remarks)
        for predicate in sorted(data.by_predicate, key=lambda item: item.value)
        if predicate not in data.members
    ]
    classes = [_class(data, class_, parents, properties) for class_ in sorted(data.members, key=lambda c: c.value)]
    if not classes:
        thing = NamedNode(iri.value.rstrip("#/") + "#Thing")
        subjects = {triple.subject for found in data.by_predicate.values() for triple in found}
        classes = [DraftedClass(thing, "thing", len(subjects))]
        remarks.append("nothing has an rdf:type: one class for all was drafted")
    terms = [*(class_.iri for class_ in classes), *(term.iri for term in properties)]
    labels = {term: tuple(dict.fromkeys(data.names[term])) for term in terms if term in data.names}
    return OntologyDraft(iri, source, tuple(classes), tuple(properties), labels, tuple(remarks), is_from_data=True)


def _class(
    data: _Data, class_: NamedNode, parents: dict[NamedNode, tuple[NamedNode, ...]], properties: list[DraftedProperty]
) -> DraftedClass:
    members = data.members[class_]
    key = next((p.iri for p in properties if class_ in p.domains and _is_key(data, p, members)), None)
    names = (item.value for member in sorted(members, key=str)[:50] for item in data.names.get(member, ()))
    examples = tuple(dict.fromkeys(name for name in names if len(name) <= 80))[:2]
    return DraftedClass(class_, label_of_iri(class_), len(members), (key,) if key else (), parents[class_], examples)


def _is_key(data: _Data, term: DraftedProperty, members: set[object]) -> bool:
    """Whether all members have one value each and no two the same one."""
    profile = term.profile
    if profile is None or not term.functional or len(members) < 3:
        return False
    if profile.datatype not in (XSD_STRING, XSD_INTEGER):
        return False
    values = [t.object for t in data.by_predicate[term.iri] if t.subject in members]
    return len(values) == len(set(values)) == len(members)


def _from_rdf_property(
    data: _Data, predicate: NamedNode, parents: dict[NamedNode, tuple[NamedNode, ...]], remarks: list[str]
) -> DraftedProperty:
    triples = data.by_predicate[predicate]
    literals = [triple.object for triple in triples if isinstance(triple.object, Literal)]
    label = label_of_iri(predicate)
    if literals and len(literals) < len(triples):
        what = "values" if len(literals) * 2 >= len(triples) else "things"
        remarks.append(f"{predicate.value} leads to values {len(literals)} times, to things "
                       f"{len(triples) - len(literals)} times: drafted for {what}")  # fmt: skip
    domains = data.classes_of((triple.subject for triple in triples), parents)
    counts = Counter(triple.subject for triple in triples)
    most = max(counts.values())
    if len(literals) * 2 >= len(triples):
        profile = of_literals(literals[:_SAMPLE], label)
        plain = not any(item.language for item in literals)
        return DraftedProperty(predicate, label, domains, len(triples), profile=profile, functional=plain and most == 1)
    ranges = data.classes_of((t.object for t in triples if not isinstance(t.object, Literal)), parents)
    functional = most == 1 and len(triples) > 2
    return DraftedProperty(predicate, label, domains, len(triples), ranges=ranges, functional=functional)


_LEXICON: Final = LexiconSection("mapping", "ontology_draft")
_NAMES = _LEXICON.pattern("name_column", re.IGNORECASE)
_CODES = _LEXICON.pattern("code_column", re.IGNORECASE)
_LONGEST = 100
_ROWS, _BATCH_OF_ROWS = 50_000, 1_000
_MOST_OF_THEM = 0.5
"""More than so many of a column's different values are names of rows: it leads to them."""


@dataclass(frozen=True)
class _Table:
    """A table as a draft sees it: its columns and, of those of text, their different values.

    ``naming``: the place of the column that names the rows, if there is one.
    """

    source: TableSource
    words: str
    columns: tuple[ColumnProfile, ...]
    values: Mapping[int, frozenset[str]]
    naming: int | None

    @property
    def names(self) -> frozenset[str]:
        """What the rows are called."""
        return self.values.get(self.naming, frozenset()) if self.naming is not None else frozenset()


def _table(source: TableSource) -> _Table:
    columns = profile(source, rows=_ROWS)
    before, _, last = words_of_identifier(source.name).rpartition(" ")
    words = f"{before} {singular(last)}".strip() or "row"
    written = [column.name.strip() for column in columns]
    named = [n for n, name in enumerate(written) if _NAMES.fullmatch(name)]
    called = [n for n, name in enumerate(written) if without_name(name) == label_key(words)]
    naming = next(iter((*named, *called)), None)
    said = (ValueType.TEXT, ValueType.CODE)
    texts = {n: set[str]() for n, column in enumerate(columns) if column.type in said or n == naming}
    rows = (row for batch in source.batches(_BATCH_OF_ROWS) for row in batch)
    for row in islice(rows, columns[0].rows if texts else 0):
        own = row.cells[naming] if naming is not None else None
        for place, values in texts.items():
            if (cell := row.cells[place]) and (
                cell != own or place == naming
            ):  # another name of the row is no other row
                separator = columns[place].separator
                values.update(map(str.strip, cell.split(separator) if separator and place != naming else (cell,)))
    return _Table(source, words, columns, {n: frozenset(values) for n, values in texts.items()}, naming)


class _TableDraft:
    """The terms of several tables: one property for columns that are called alike and hold the same sort of values."""

    def __init__(self, tables: Sequence[_Table], iri: NamedNode) -> None:
        self._tables, self._namespace = tables, iri.value.rstrip("#/") + "#"
        self.remarks: list[str] = []
        self.classes: list[DraftedClass] = []
        self._terms: dict[tuple[str, object], DraftedProperty] = {}
        self._taken: set[str] = set()
        classes = [self._coined(term_name(table.words, is_class=True) or "Row") for table in tables]
        for table, class_ in zip(tables, classes, strict=True):
            self._add(table, class_, classes)

    @property
    def properties(self) -> tuple[DraftedProperty, ...]:
        """The properties, in the order of the columns."""
        return tuple(self._terms.values())

    def _coined(self, name: str) -> NamedNode:
        """An IRI with the name, and with a number if it is taken."""
        names = (name, *(f"{name}{number}" for number in range(2, len(self._taken) + 3)))
        found = next(one for one in names if one not in self._taken)
        self._taken.add(found)
        return NamedNode(self._namespace + found)

    def _add(self, table: _Table, class_: NamedNode, classes: Sequence[NamedNode]) -> None:
        problems = table.source.problems[:5]
        self.remarks += [f"row {item.number}: {item.reason}" if item.number else item.reason for item in problems]
        rows = table.columns[0].rows if table.columns else 0
        if rows == _ROWS:
            self.remarks.append(f"only the first {_ROWS} rows were looked at")
        key, seen = None, set[tuple[str, object]]()
        for place, column in enumerate(table.columns):
            if place == table.naming:
                continue
            words = words_of_identifier(column.name.strip())
            if not term_name(words, is_class=False):
                self.remarks.append(f"column {place + 1} has no name to make a term of, left out")
                continue
            target = self._target(table, place, classes)
            term = self._property(column, class_, target, table.values.get(place, frozenset()), seen)
            if target is None:
                self.remarks += _reference(column)
                key = key or (term.iri if _from_table_is_key(column) else None)
        names = table.columns[table.naming].samples if table.naming is not None else ()
        examples = tuple(dict.fromkeys(names))[:2]
        self.classes.append(DraftedClass(class_, table.words[:_LONGEST], rows, (key,) if key else (), (), examples))

    def _target(self, table: _Table, place: int, classes: Sequence[NamedNode]) -> NamedNode | None:
        """The class of the table whose rows the column names: most of its values are names of these."""
        values = table.values.get(place, frozenset())
        shares = [len(values & other.names) / len(values) if values else 0.0 for other in self._tables]
        best = max(range(len(shares)), key=shares.__getitem__)
        return classes[best] if shares[best] > _MOST_OF_THEM else None

    def _property(
        self,
        column: ColumnProfile,
        class_: NamedNode,
        target: NamedNode | None,
        values: frozenset[str],
        seen: set[tuple[str, object]],
    ) -> DraftedProperty:
        written = column.name.strip()
        words = words_of_identifier(written)
        name = term_name(words if words != written.casefold() else written, is_class=False)
        unit = _unit_of(values) if target is None else None
        found = of_column(column) if target is None else None
        if found is not None and unit:
            numbers = tuple(values_in(example)[0].lexical for example in found.examples)
            found = replace(found, datatype=XSD_DECIMAL, examples=numbers)
        sort = name, target or (found.datatype if found else None, unit)
        functional = column.separator is None
        if sort in self._terms and sort not in seen:  # the same of another table
            known = self._terms[sort]
            self._terms[sort] = replace(
                known,
                domains=(*known.domains, class_),
                count=known.count + column.values,
                functional=known.functional and functional,
                profile=replace(known.profile, distinct=0) if known.profile else None,
            )
        else:
            while sort in self._terms:  # a second column of that name
                sort = f"{sort[0]} ", sort[1]
            iri = self._coined(name)
            number = iri.value.removeprefix(self._namespace + name)
            label = f"{written if written.isupper() else words[:_LONGEST]} {number}".strip()
            ranges = (target,) if target is not None else ()
            self._terms[sort] = DraftedProperty(
                iri, label, (class_,), column.values, ranges, found, functional=functional, unit=unit
            )
        seen.add(sort)
        return self._terms[sort]


def _unit_of(values: frozenset[str]) -> str | None:
    """The unit or currency that all values are written with, if they are all amounts of one; None: they are not."""
    units = set()
    for value in sorted(values)[:_SAMPLE]:
        found = [one for one in values_in(value) if one.start == 0 and one.end == len(value)]
        units.add(found[0].unit if found and found[0].kind in ("money", "number") else "")
    unit = units.pop() if len(units) == 1 else ""
    return unit if unit in CURRENCIES or unit.casefold() in UNITS else None


def _reference(column: ColumnProfile) -> list[str]:
    """A remark where a column of text repeats its values: it may refer to things of a class of their own."""
    found = of_column(column)
    repeats = found.datatype == XSD_STRING and found.count >= 4
    if not repeats or found.distinct * 2 > found.count or _CODES.search(column.name):
        return []
    return [
        f"column {column.name!r} repeats its values ({found.distinct} in {found.count} cells): if they are things, "
        "make it an owl:ObjectProperty with a class of its own, or draft it with a table of these"
    ]


def _from_table_is_key(column: ColumnProfile) -> bool:
    """Whether the column tells the rows apart: a code that all have and no two share."""
    found = of_column(column)
    if not found.is_unique or found.count != column.rows or column.rows < 2:
        return False
    return found.datatype in (XSD_STRING, XSD_INTEGER) and _CODES.search(column.name.replace("_", " ")) is not None


def from_tables(sources: Sequence[TableSource], *, iri: NamedNode, source: str) -> OntologyDraft:
    """The draft for the rows of tables, of which the first 50,000 are looked at; ``source`` names them to people.

    The column that is called *name* or what the rows are names them. A column that mostly holds names of rows, of
    another table or its own, leads to these. Amounts that all have one unit are numbers in this unit.

    Raises:
        ReadError: a table broke in the middle.
        OntologyError: no column has a name that a term can be made of.
    """
    tables = [_table(one) for one in sources]
    draft = _TableDraft(tables, iri)
    if not draft.properties and all(table.naming is None for table in tables):
        raise OntologyError("no column has a name that a term can be made of", source=source)
    return OntologyDraft(iri, source, tuple(draft.classes), draft.properties, remarks=tuple(draft.remarks))


_RDF = {
    ".ttl": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
}
DEFAULT_PLACE = "https://example.org/ontology/"


def draft_files(*locations: Path | str, iri: str | None = None) -> OntologyDraft:
    """The draft for tables (see `open_table` for what is one) or a file of RDF; ``iri`` names the ontology.

    Raises:
        OntologyError: a file is missing, of another kind, does not parse, or describes nothing; or files of RDF are
            among several.
        ReadError: one is no table.
    """
    if all(map(is_table, locations)):
        given = checked_name(iri) if iri else None
        tables = [open_table(location) for location in locations]
        name = given or _named(*(table.name for table in tables))
        source = ", ".join(str(location).rpartition("/")[2] for location in locations)
        return from_tables(tables, iri=name, source=source)
    path = Path(next(location for location in locations if not is_table(location)))
    suffix = path.suffix.lower()
    if suffix not in _RDF:
        known = ", ".join((*TABLE_SUFFIXES, *_RDF))
        raise OntologyError(f"has the suffix {path.suffix or '(none)'}; drafted from are {known}", source=str(path))
    if len(locations) > 1:
        raise OntologyError("is no table; several files are drafted from only where all are tables", source=str(path))
    name = checked_name(iri) if iri else _named(path.stem)
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        quads = parse(data, _RDF[suffix], base_iri=path.resolve().as_uri(), source=path.name)
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{path.name}: "), source=str(path)) from error
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    return from_rdf((item.triple for item in quads), source=path.name, iri=name)


def draft_data(dataset: EvidenceDataset, *, iri: str | None = None) -> OntologyDraft:
    """The draft for what a workspace knows, whatever ontology it has.

    Raises:
        OntologyError: it knows nothing.
    """
    apart = frozenset(item.triple for item in dataset.store.quads(graph=dataset.ontology))
    triples = (item.triple for item in dataset.store.quads(graph=DEFAULT_GRAPH) if item.triple not in apart)
    return from_rdf(triples, source="the workspace", iri=checked_name(iri or f"{dataset.base}ontology"))


def _named(*stems: str) -> NamedNode:
    names = (slug(term_name(stem, is_class=False) or "draft") for stem in stems)
    return checked_name(f"{DEFAULT_PLACE}{'-'.join(names)[:_LONGEST]}")


def checked_name(iri: str) -> NamedNode:
    """The IRI of the ontology.

    Raises:
        OntologyError: it is not an absolute http IRI.
    """
    try:
        if iri.startswith(("http://", "https://", "urn:")):
            return NamedNode(iri.rstrip("#"))
    except ValueError as error:
        raise OntologyError(f"is not an IRI: {error}", source=iri) from error
    raise OntologyError("is not an absolute IRI that begins with http:, https: or urn:", source=iri)


PROMPT: Final = "name-ontology-terms"
_BATCH = 25
_WORDING_LONGEST = {"label": 60, "comment": 300}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,59}")
_WORDS = ("name", "label_en", "label_zh", "comment_en", "comment_zh")
REPLY_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "required": ["terms"],
    "additionalProperties": False,
    "properties": {
        "terms": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", *_WORDS],
                "additionalProperties": False,
                "properties": {"id": {"type": "string"}, **{name: {"type": "string"} for name in _WORDS}},
            },
        }
    },
}
_LEAST: Final[dict[str, object]] = {
    "type": "object",
    "required": ["terms"],
    "properties": {"terms": {"type": "array", "items": {"type": "object"}}},
}


@dataclass(frozen=True, slots=True)
class _Wording:
    """What the model proposes for one term, held against what may be proposed."""

    name: str
    labels: tuple[Literal, ...]
    comments: tuple[Literal, ...]


def worded(draft: OntologyDraft, model: ChatModel) -> OntologyDraft:
    """The draft with the words that the model proposes; remarks say for which terms its reply was of no use.

    Raises:
        ModelUnavailableError: the model cannot be reached.
    """
    ids = _ids(draft)
    proposed: dict[NamedNode, _Wording] = {}
    remarks: list[str] = []
    terms = draft.terms
    for start in range(0, len(terms), _BATCH):
        batch = terms[start : start + _BATCH]
        try:
            proposed.update(_asked(draft, batch, ids, model))
        except ModelReplyError as error:
            remarks.append(f"the model's words for {len(batch)} terms cannot be used, they stay as drafted: {error}")
    left = [ids[term.iri] for term in terms if term.iri not in proposed]
    if left and len(left) < len(terms):
        shown = ", ".join(left[:5]) + (" …" if len(left) > 5 else "")
        remarks.append(f"the model proposed nothing of use for {shown}: as drafted")
    return _applied(draft, proposed, (*draft.remarks, *remarks), model.name)


def _ids(draft: OntologyDraft) -> dict[NamedNode, str]:
    """A short name for each term, unique in the draft."""
    found: dict[NamedNode, str] = {}
    taken: set[str] = set()
    for term in draft.terms:
        name, number = local_name(term.iri.value) or "term", 2
        stem = name
        while name in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name)
        found[term.iri] = name
    return found


def _asked(
    draft: OntologyDraft,
    batch: Sequence[DraftedClass | DraftedProperty],
    ids: Mapping[NamedNode, str],
    model: ChatModel,
) -> Iterator[tuple[NamedNode, _Wording]]:
    messages, _ = render_messages(
        PROMPT,
        source=draft.source,
        known=[class_.label for class_ in draft.classes[:60]],
        classes=[
            {"id": ids[term.iri], "label": _line(term.label), "samples": [_line(item) for item in term.examples]}
            for term in batch
            if isinstance(term, DraftedClass)
        ],
        properties=[_property_shown(term, draft, ids) for term in batch if isinstance(term, DraftedProperty)],
    )
    completion = model.complete(messages, schema=REPLY_SCHEMA)
    reply = json_of(completion.text, model=model.name)
    wrong = mismatch(reply, _LEAST)
    if wrong:
        raise ModelReplyError(wrong, model=model.name, reply=completion.text)
    by_id = {ids[term.iri]: term for term in batch}
    found: dict[NamedNode, _Wording] = {}
    listed = reply["terms"]
    for item in listed if isinstance(listed, list) else ():  # of objects, as `_LEAST` has it
        term = by_id.get(str(item.get("id")))
        if term is not None and term.iri not in found:
            wording = _checked(item, is_class=isinstance(term, DraftedClass))
            if wording.labels:
                found[term.iri] = wording
    yield from found.items()


def _property_shown(term: DraftedProperty, draft: OntologyDraft, ids: Mapping[NamedNode, str]) -> dict[str, object]:
    labels = {class_.iri: class_.label for class_ in draft.classes}
    profile = term.profile
    value = local_name(profile.datatype.value) if profile else _listed(term.ranges, labels)
    samples = [_line(item) for item in profile.examples] if profile else []
    subject = _listed(term.domains, labels)
    return {"id": ids[term.iri], "label": _line(term.label), "subject": subject, "value": value, "samples": samples}


def _listed(iris: Sequence[NamedNode], labels: Mapping[NamedNode, str]) -> str:
    return " or ".join(_line(labels.get(iri, local_name(iri.value))) for iri in iris[:4]) or "anything"


def _line(text: str) -> str:
    """Data in one line of the prompt, cut."""
    return " ".join(text.split())[:80]


def _checked(item: Mapping[str, Any], *, is_class: bool) -> _Wording:
    """What may be used of the words: single lines, in the language they are said to be in, not too long."""
    texts = {name: " ".join(str(item.get(name) or "").split()) for name in _WORDS}
    kept: dict[str, list[Literal]] = {"label": [], "comment": []}
    for kind, found in kept.items():
        for language in ("en", "zh"):
            text = texts[f"{kind}_{language}"]
            fits = normalise(text) and len(text) <= _WORDING_LONGEST[kind] and has_han(text) == (language == "zh")
            if fits and text.isprintable():
                found.append(Literal(text, language=language))
    name = texts["name"]
    right = _NAME.fullmatch(name) is not None and name[0].isupper() == is_class
    return _Wording(name if right else "", tuple(kept["label"]), tuple(kept["comment"]))


def _applied(
    draft: OntologyDraft, proposed: Mapping[NamedNode, _Wording], remarks: tuple[str, ...], model: str
) -> OntologyDraft:
    moved = _moved(draft, proposed)

    def at(iri: NamedNode) -> NamedNode:
        return moved.get(iri, iri)

    labels = {at(iri): found for iri, found in draft.labels.items()}
    other: dict[NamedNode, tuple[Literal, ...]] = {}
    comments: dict[NamedNode, tuple[Literal, ...]] = {}
    for term in draft.terms:
        wording = proposed.get(term.iri)
        if wording is not None:
            before = draft.labels.get(term.iri) or (tagged(term.label),)
            labels[at(term.iri)] = wording.labels
            other[at(term.iri)] = tuple(item for item in before if item not in wording.labels)
            comments[at(term.iri)] = wording.comments
    return replace(
        draft,
        source=f"{draft.source}, words by {model}" if proposed else draft.source,
        classes=tuple(
            replace(c, iri=at(c.iri), key=tuple(map(at, c.key)), parents=tuple(map(at, c.parents)))
            for c in draft.classes
        ),
        properties=tuple(
            replace(p, iri=at(p.iri), domains=tuple(map(at, p.domains)), ranges=tuple(map(at, p.ranges)))
            for p in draft.properties
        ),
        labels=labels,
        other_words=other,
        comments=comments,
        remarks=remarks,
    )


def _moved(draft: OntologyDraft, proposed: Mapping[NamedNode, _Wording]) -> dict[NamedNode, NamedNode]:
    """The new IRIs of terms that the draft coined; what the data itself names so keeps its name."""
    taken = {term.iri.value for term in draft.terms}
    moved: dict[NamedNode, NamedNode] = {}
    for iri, wording in () if draft.is_from_data else proposed.items():
        target = draft.namespace + wording.name
        if wording.name and iri.value.startswith(draft.namespace) and target not in taken:
            taken.add(target)
            moved[iri] = NamedNode(target)
    return moved
