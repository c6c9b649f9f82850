"""The ontology that data suggests: of RDF by the types and properties in use, of tables by columns, keys and names.

Columns that hold names or keys of the rows of another table are relations to these, and a table that does nothing but
join rows of two others is one relation, as in the direct mapping of relational data
(https://www.w3.org/TR/rdb-direct-mapping/), but found by names and values, since files declare no keys.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform.documents.tables.cells import TableSource
from kgplatform.documents.tables.table_source import (
    TABLE_SUFFIXES,
    ColumnProfile,
    ValueType,
    is_table,
    open_table,
    profile,
    tables_in,
)
from kgplatform.errors import OntologyError, StoreError
from kgplatform.extraction.ontology_lexicon import label_key
from kgplatform.extraction.table_draft import are_several, names_something, without_name
from kgplatform.extraction.values import CURRENCIES, SYMBOLS, UNITS, is_scale, values_in
from kgplatform.lexicon import LexiconSection
from kgplatform.mapping.ontology_draft import (
    DraftedClass,
    DraftedProperty,
    OntologyDraft,
    label_of_iri,
    of_column,
    of_literals,
    tagged,
    term_name,
)
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, parse
from kgplatform.text import has_han, singular, words_of_identifier
from kgplatform.vocab import (
    DCTERMS,
    LABEL,
    OA,
    OWL,
    PROV,
    RDF,
    RDFS,
    SKOS,
    TYPE,
    XSD_DECIMAL,
    XSD_INTEGER,
    XSD_STRING,
    slug,
)

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
_UNIT_AT_END = re.compile(r"(?P<words>.*?\S)\s*(?:[(（\[](?P<bracketed>[^()（）\[\]]+)[)）\]]|\s(?P<last>\S+))")
_CAMEL_UNIT = re.compile(r"(?P<words>.*[a-z0-9])(?P<last>[A-Z][A-Za-z]{0,2}[23]?)")
_MEASURED = frozenset(("s", "m", "m²", "l", "m/s", "Pa", "J", "W", "g"))
"""What the units measure that a column's name may end in without brackets: *rooms* and *people* are counted."""
_LONGEST = 100
_ROWS, _BATCH_OF_ROWS = 50_000, 1_000
_MOST_OF_THEM = 0.5
"""More than so many of a column's different values are names of rows: it leads to them."""


@dataclass(frozen=True)
class _Table:
    """A table as a draft sees it: its columns and, of those of text and whole numbers, their different values.

    ``naming``: the place of the column that names the rows, if there is one; ``key``: of the one that numbers them;
    ``several``: the places of those in which rows without a number that are named alike, and so are one, differ.
    """

    source: TableSource
    words: str
    columns: tuple[ColumnProfile, ...]
    values: Mapping[int, frozenset[str]]
    naming: int | None
    key: int | None
    several: frozenset[int] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """What the rows are called."""
        return self.values.get(self.naming, frozenset()) if self.naming is not None else frozenset()

    @property
    def keys(self) -> frozenset[str]:
        """The numbers or codes of the rows."""
        return self.values.get(self.key, frozenset()) if self.key is not None else frozenset()

    def is_called(self, words: str) -> bool:
        """Whether one of the rows would be called so: *artist*, or *room* of hotel rooms."""
        own, other = label_key(self.words), label_key(words)
        return bool(other) and (own == other or own.endswith(f" {other}"))


def _table(source: TableSource) -> _Table:
    columns = profile(source, rows=_ROWS)
    before, _, last = words_of_identifier(source.name).rpartition(" ")
    words = f"{before} {singular(last)}".strip() or "row"
    written = [column.name.strip() for column in columns]
    named = [n for n, name in enumerate(written) if _NAMES.fullmatch(name)]
    called = [n for n, name in enumerate(written) if without_name(name) == label_key(words)]
    naming = next(iter((*named, *called, *(n for n, name in enumerate(written) if names_something(name)))), None)
    key = next((n for n, column in enumerate(columns) if n != naming and _from_table_is_key(column)), None)
    said = (ValueType.TEXT, ValueType.CODE, ValueType.INTEGER)
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
    told = {n: frozenset(values) for n, values in texts.items()}
    several = _several(source, naming) if naming is not None and key is None else frozenset[int]()
    return _Table(source, words, columns, told, naming, key, several)


def _several(source: TableSource, naming: int) -> frozenset[int]:
    """The columns in which rows differ that are named alike, where they are of one thing."""
    rows = [row.cells for batch in islice(source.batches(_BATCH_OF_ROWS), _ROWS // _BATCH_OF_ROWS) for row in batch]
    if are_several(rows, naming):
        return frozenset()
    first = dict[str | None, tuple[str | None, ...]]()
    pairs = (enumerate(zip(row, first.setdefault(row[naming], row), strict=True)) for row in rows if row[naming])
    return frozenset(n for pair in pairs for n, (cell, other) in pair if cell and other and cell != other)


def _own_key(table: _Table, tables: Sequence[_Table]) -> int | None:
    """The place of the column that numbers the rows: best one called so, and none called as the rows of others are."""
    found = [n for n, column in enumerate(table.columns) if n != table.naming and _from_table_is_key(column)]
    stems = {n: _without_code(table.columns[n].name.strip()) for n in found}
    own = (n for n, stem in stems.items() if not stem or table.is_called(stem))
    others = [one for one in tables if one is not table and one.key is not None]
    left = (n for n, stem in stems.items() if not any(other.is_called(stem) for other in others))
    return next(own, next(left, None))


def _differ(table: _Table, places: Sequence[int]) -> bool:
    """Whether the rows join several things, and no two of them the same."""
    rows = (row for batch in table.source.batches(_BATCH_OF_ROWS) for row in batch)
    found = [tuple(row.cells[place] for place in places) for row in islice(rows, _ROWS)] if len(places) > 1 else []
    return bool(found) and all(map(all, found)) and len(set(found)) == len(found)


def _without_code(column: str) -> str:
    """The column's words without that for a number or code: *artist* of ``artist_id``, 酒店 of 酒店编号."""
    words = words_of_identifier(column)
    found = [match for match in _CODES.finditer(words) if match.end() == len(words)]
    return words[: found[-1].start()].strip() if found else words


class _TableDraft:
    """The terms of several tables: one property for columns that are called alike and hold the same sort of values."""

    def __init__(self, tables: Sequence[_Table], iri: NamedNode) -> None:
        self._tables = [replace(table, key=_own_key(table, tables)) for table in tables]
        self._namespace = iri.value.rstrip("#/") + "#"
        self.remarks: list[str] = []
        self.classes: list[DraftedClass] = []
        self.other_words: dict[NamedNode, dict[Literal, None]] = {}
        self._terms: dict[tuple[str, object], DraftedProperty] = {}
        self._keys: dict[int, NamedNode] = {}
        self._taken: set[str] = set()
        self._led = [self._leads(table) for table in self._tables]
        self._referred = {other for led in self._led for other in led.values()}
        classes = [self._coined(term_name(table.words, is_class=True) or "Row") for table in tables]
        joins = {number: ends for number, led in enumerate(self._led) if (ends := self._joined(number, led))}
        for number in range(len(tables)):
            if number not in joins:
                self._add(number, classes)
        for number, (first, second) in joins.items():
            self._link(number, first, second, classes)

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

    def _add(self, number: int, classes: Sequence[NamedNode]) -> None:
        table, class_, led = self._tables[number], classes[number], self._led[number]
        self._remark(table, led)
        seen = set[tuple[str, object]]()
        joint = tuple(led) if table.key is None and table.naming is None and _differ(table, tuple(led)) else ()
        key = list[NamedNode]()
        for place, column in enumerate(table.columns):
            if place == table.naming:
                continue
            words = words_of_identifier(column.name.strip())
            if not term_name(words, is_class=False):
                self.remarks.append(f"column {place + 1} has no name to make a term of, left out")
                continue
            target = classes[led[place]] if place in led else None
            term = self._property(table, place, class_, target, seen)
            if place == table.key:
                self._keys[number] = term.iri
            if place == table.key or place in joint:
                key.append(term.iri)
        names = table.columns[table.naming].samples if table.naming is not None else ()
        examples = tuple(dict.fromkeys(names))[:2]
        rows = table.columns[0].rows if table.columns else 0
        self.classes.append(DraftedClass(class_, table.words[:_LONGEST], rows, tuple(key), (), examples))

    def _remark(self, table: _Table, led: Container[int]) -> None:
        """Notes what is odd in a table, and which columns may refer to things of a class of their own."""
        problems = table.source.problems[:5]
        self.remarks += [f"row {item.number}: {item.reason}" if item.number else item.reason for item in problems]
        if table.columns and table.columns[0].rows == _ROWS:
            self.remarks.append(f"only the first {_ROWS} rows were looked at")
        left = (column for n, column in enumerate(table.columns) if n not in led and n != table.naming)
        if repeated := [column.name for column in left if _is_repeated(column)]:
            self.remarks.append(
                f"{table.source.name}: values repeat in {', '.join(repeated)}; if they are things, draft with a table "
                "of these, or make it an owl:ObjectProperty with a class of its own"
            )

    def _leads(self, table: _Table) -> dict[int, int]:
        """The places of columns that lead to rows of a table, with its number."""
        found = {place: self._leads_to(table, place) for place in range(len(table.columns)) if place != table.naming}
        return {place: other for place, other in found.items() if other is not None}

    def _joined(self, number: int, led: Mapping[int, int]) -> tuple[int, int] | None:
        """The two columns of a table that only joins rows of others, that of the subject first."""
        table = self._tables[number]
        rest = set(range(len(table.columns))) - led.keys() - {table.key}
        first, second = sorted(led) if len(led) == 2 else (0, 0)
        is_apart = table.naming is None and not rest and first != second and number not in self._referred
        return (first, second) if is_apart else None

    def _link(self, number: int, first: int, second: int, classes: Sequence[NamedNode]) -> None:
        """Drafts the relation that a table of pairs states, which the table's name may say, too."""
        table, led = self._tables[number], self._led[number]
        term = self._property(table, second, classes[led[first]], classes[led[second]], set(), is_list=True)
        own = {word for place in led.values() for word in label_key(self._tables[place].words).split()}
        if not own.issuperset(label_key(table.words).split()):
            self._also(term.iri, table.words)
        if (key := self._keys.get(led[first])) is not None:
            self._also(key, words_of_identifier(table.columns[first].name.strip()))

    def _also(self, term: NamedNode, words: str) -> None:
        self.other_words.setdefault(term, {})[tagged(words[:_LONGEST])] = None

    def _leads_to(self, table: _Table, place: int) -> int | None:
        """The table whose rows a column tells of: declared, or by names, or by keys."""
        values = table.values.get(place, frozenset())
        declared = table.source.references.get(table.columns[place].name)
        if declared is not None:
            return next((n for n, other in enumerate(self._tables) if other.source.name == declared), None)
        if table.columns[place].type is not ValueType.INTEGER:
            shares = [len(values & other.names) / len(values) if values else 0.0 for other in self._tables]
            best = max(range(len(shares)), key=shares.__getitem__)
            if shares[best] > _MOST_OF_THEM:
                return best
        if place == table.key or not values:
            return None
        name = table.columns[place].name.strip()
        stem = _without_code(name)
        fit = [n for n, other in enumerate(self._tables) if values <= other.keys]
        called = [n for n in fit if self._tables[n].is_called(stem) and self._tables[n] is not table]
        is_number = all(value.isdigit() for value in values)
        is_coded = _CODES.search(name.replace("_", " ")) is not None and (len(values) > 1 or not is_number)
        found = called or (fit if (is_coded and stem) or (len(values) > 1 and not is_number) else [])
        return found[0] if len(found) == 1 else None

    def _property(
        self,
        table: _Table,
        place: int,
        class_: NamedNode,
        target: NamedNode | None,
        seen: set[tuple[str, object]],
        *,
        is_list: bool = False,
    ) -> DraftedProperty:
        column = table.columns[place]
        written = column.name.strip()
        words = words_of_identifier(written)
        shown, unit = self._called(table, place) if target is None else (_without_code(written) or words, None)
        name = term_name(shown if shown != written.casefold() else written, is_class=False)
        found = of_column(column) if target is None else None
        if found is not None and unit:
            numbers = tuple(values_in(example)[0].lexical for example in found.examples)
            found = replace(found, datatype=XSD_DECIMAL, examples=numbers)
        sort = name, target or (found.datatype if found else None, unit)
        functional = column.separator is None and not is_list and place not in table.several
        if sort in self._terms and sort not in seen:  # the same of another table
            known = self._terms[sort]
            self._terms[sort] = replace(
                known,
                domains=tuple(dict.fromkeys((*known.domains, class_))),
                count=known.count + column.values,
                functional=known.functional and functional,
                profile=replace(known.profile, distinct=0) if known.profile else None,
            )
        else:
            while sort in self._terms:  # a second column of that name
                sort = f"{sort[0]} ", sort[1]
            iri = self._coined(name)
            number = iri.value.removeprefix(self._namespace + name)
            label = written if written.isupper() and written.isalpha() else shown[:_LONGEST]
            if any(term.label == label for term in self._terms.values()):
                label = f"{label} {number}".strip()
            ranges = (target,) if target is not None else ()
            self._terms[sort] = DraftedProperty(
                iri, label, (class_,), column.values, ranges, found, functional=functional, unit=unit
            )
        if shown != words:
            self._also(self._terms[sort].iri, words)
        seen.add(sort)
        return self._terms[sort]

    def _called(self, table: _Table, place: int) -> tuple[str, str | None]:
        """What a column of values is called, and their unit: a key that others refer to as these do (``artist_id``)."""
        column = table.columns[place]
        words = words_of_identifier(column.name.strip())
        if place == table.key and not _without_code(words) and self._tables.index(table) in self._referred:
            return f"{table.words}{'' if has_han(words) else ' '}{words}", None
        said, unit = _without_unit(column, words)
        return said, unit or _unit_of(table.values.get(place, frozenset()))


def _without_unit(column: ColumnProfile, words: str) -> tuple[str, str | None]:
    """The words of a column of numbers without the unit at their end, and the unit: ``area_m2``, *height (m)*.

    Without brackets it is written short or in the plural, so that ``opening_day`` has none, and measures something,
    so that ``number_of_rooms`` has none. Of what is counted in millions of them (``volumeMillionM3``) it is not taken.
    """
    written = _CAMEL_UNIT.fullmatch(column.name.strip())
    if written is not None and written["last"].casefold() in UNITS:
        words = f"{words_of_identifier(written['words'])} {written['last']}"  # outputGWh
    match = _UNIT_AT_END.fullmatch(words) if column.type in (ValueType.INTEGER, ValueType.DECIMAL) else None
    if match is not None and match["words"].split()[-1:] and is_scale(match["words"].split()[-1]):
        return words, None
    last = (match["bracketed"] or match["last"]).casefold() if match else ""
    if match is None or last not in UNITS:
        return words, None
    kind = UNITS[last][0]
    is_said = kind in CURRENCIES or (kind in _MEASURED and f"{last}s" not in UNITS)
    if not match["bracketed"] and not is_said:
        return words, None
    return match["words"].removesuffix(" in"), kind if kind in CURRENCIES else SYMBOLS[UNITS[last]]


def _unit_of(values: frozenset[str]) -> str | None:
    """The unit or currency that all values are written with, if they are all amounts of one; None: they are not."""
    units = set()
    for value in sorted(values)[:_SAMPLE]:
        found = [one for one in values_in(value) if one.start == 0 and one.end == len(value)]
        units.add(found[0].unit if found and found[0].kind in ("money", "number") else "")
    unit = units.pop() if len(units) == 1 else ""
    return unit if unit in CURRENCIES or unit.casefold() in UNITS else None


def _is_repeated(column: ColumnProfile) -> bool:
    """Whether a column of text repeats its values, so that it may refer to things of a class of their own."""
    found = of_column(column)
    repeats = found.datatype == XSD_STRING and found.count >= 4
    return repeats and found.distinct * 2 <= found.count and not _CODES.search(column.name)


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
    other_words = {term: tuple(words) for term, words in draft.other_words.items()}
    return OntologyDraft(
        iri, source, tuple(draft.classes), draft.properties, remarks=tuple(draft.remarks), other_words=other_words
    )


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
        files = {location: [open_table(one) for one in tables_in(location)] for location in locations}
        tables = [table for found in files.values() for table in found]
        stems = (found[0].name if len(found) == 1 else Path(location).stem for location, found in files.items())
        name = given or _named(*stems)
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
