"""Tables to statements without code: a mapping is drafted from the names of the columns, then applied row by row.

A column is matched with a property by its words (``price_per_night``, ``房价``), the table with the class that
most columns fit. In the spirit of https://www.w3.org/TR/csv2rdf/ and https://www.w3.org/TR/r2rml/, but
derived from the ontology; the draft can be read, and a person may give the class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.table import Row, Table
from kgplatform.errors import ReadError
from kgplatform.extraction.entities import EntityIndex
from kgplatform.extraction.lexicon import Lexicon, compile_lexicon, label_key
from kgplatform.extraction.values import literal_of
from kgplatform.ontology import Ontology, OntologyProperty
from kgplatform.text import has_han, singular, words_of_identifier
from kgplatform.types import Refusal
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, local_name, words_of_iri

_NAMES: Final = frozenset(("name", "label", "title", "名称", "名字", "姓名", "标题", "名"))
_ALIASES: Final = frozenset(
    ("alias", "aliases", "also known as", "aka", "other name", "alternative name", "别名", "又名", "曾用名")
)
_LANGUAGE = re.compile(r"^(?P<name>.+?)[ _-](?P<language>en|zh|sv|de|fr|es|ja)$", re.IGNORECASE)
_EXACT, _LOCAL, _PART = 3, 3, 1


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """What becomes of a column: a name (``language`` if its header gives one), a property's values, or nothing.

    ``via`` is the number of the object column whose entity the values belong to; None: the row's own.
    """

    column: str
    index: int
    role: str
    term: OntologyProperty | None = None
    language: str = ""
    via: int | None = None
    range: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class TableMapping:
    """How a table is read: a row is an entity of ``type``, told apart by the column ``key``."""

    table: str
    type: NamedNode
    key: int | None
    columns: tuple[ColumnMapping, ...]
    base: str = ""

    def describe(self, ontology: Ontology, language: str = "en") -> str:
        """The mapping in words, a line for each column."""
        lines = [f"{self.table}: each row is a {ontology.label(self.type, language)}"]
        for item in self.columns:
            said = item.role
            if item.term is not None:
                owner = f" of its {self.columns[item.via].column}" if item.via is not None else ""
                said = f"{ontology.label(item.term.iri, language)}{owner}"
                if item.range is not None:
                    said += f", a {ontology.label(item.range, language)}"
            lines.append(f"  {item.column} -> {said}{' (key)' if item.index == self.key else ''}")
        return "\n".join(lines)


@dataclass(slots=True)
class RowStatements:
    """What one row says: its entity, the triples with it, and the cells that were not accepted."""

    line: int
    start: int
    end: int
    subject: NamedNode | None
    triples: list[Triple] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def map_table(table: Table, ontology: Ontology, base: str, *, class_hint: NamedNode | None = None) -> TableMapping:
    """The mapping drafted from the columns' names and the table's.

    Raises:
        ReadError: no column can be used: none names the row and none has a property's words.
    """
    lexicon = compile_lexicon(ontology)
    classes = [class_hint] if class_hint is not None else [item.iri for item in ontology.domain_classes]
    stem = label_key(words_of_identifier(table.name))
    drafts = [(*_draft(table.columns, class_, lexicon), class_) for class_ in classes]
    if not drafts:
        raise ReadError("cannot be mapped: the ontology has no classes", path=Path(table.name))
    # of equals the more general class: nothing in the columns tells that it is a special one
    score, columns, class_ = max(
        drafts,
        key=lambda draft: (draft[0] + _stem_score(stem, draft[2], lexicon), -len(ontology.superclasses(draft[2]))),
    )
    if not any(item.role in ("name", "property") for item in columns):
        known = ", ".join(repr(column) for column in table.columns[:8])
        raise ReadError(
            f"no column can be used ({known}); name them after properties of the ontology", path=Path(table.name)
        )
    key = _key_column(columns, class_, ontology)
    if key is None and class_hint is None and score < _EXACT and not _stem_score(stem, class_, lexicon):
        raise ReadError("no column tells one row from another; name one 'name' or after a key", path=Path(table.name))
    return TableMapping(table.name, class_, key, tuple(columns), base)


def _stem_score(stem: str, class_: NamedNode, lexicon: Lexicon) -> int:
    term = lexicon.ontology.classes[class_]
    names = [label_key(word.text) for word in term.words] + [label_key(words_of_iri(class_.value))]
    if stem in names[:2] or stem == names[-1]:
        return 8
    return 6 if stem in names else 2 if any(name and stem.endswith(name) for name in names) else 0


def _draft(columns: tuple[str, ...], class_: NamedNode, lexicon: Lexicon) -> tuple[int, list[ColumnMapping]]:
    """The columns as far as they fit the class, and how well they do."""
    total = 0
    drafted: list[ColumnMapping] = []
    for index, column in enumerate(columns):
        role, language = _naming(column)
        term, score = _property(column, class_, lexicon)
        if role and (term is None or not term.is_object):
            drafted.append(ColumnMapping(column, index, role, term, language))
            total += score
        elif term is not None:
            drafted.append(ColumnMapping(column, index, "property", term, range=_narrowed(column, term, lexicon)))
            total += score
        else:
            drafted.append(ColumnMapping(column, index, "ignored"))
    return total, _owned(drafted, lexicon)


def _naming(column: str) -> tuple[str, str]:
    """Whether a column holds names or other names, and in which language."""
    match = _LANGUAGE.match(column)
    words = words_of_identifier(match["name"] if match else column)
    role = "name" if words in _NAMES else "alias" if words in _ALIASES else ""
    return role, match["language"].lower() if match and role else ""


def _property(column: str, class_: NamedNode, lexicon: Lexicon) -> tuple[OntologyProperty | None, int]:
    key = label_key(words_of_identifier(column))
    best: tuple[tuple[int, int, int], OntologyProperty] | None = None
    for term in lexicon.ontology.domain_properties:
        if not term.domains or not lexicon.ontology.is_a(class_, term.domains):
            continue
        score = _likeness(key, term)
        rank = (score, -sum(len(lexicon.ontology.subclasses(item)) for item in term.domains), -term.order)
        if score and (best is None or rank > best[0]):
            best = (rank, term)
    return (best[1], best[0][0]) if best else (None, 0)


@lru_cache(maxsize=65_536)
def _likeness(key: str, term: OntologyProperty) -> int:
    """How well the words of a column fit a property: its name or one of its forms, or part of one."""
    forms = [label_key(word.text) for word in term.words]
    if key == label_key(words_of_iri(term.iri.value)):
        return _EXACT + 2
    if key in forms:
        return _EXACT + 1 if key in forms[:2] else _EXACT
    words = set(key.split())
    if len(words) >= 2 and any(words < set(form.split()) and len(form.split()) <= len(words) + 1 for form in forms):
        return _PART
    return 0


def _narrowed(column: str, term: OntologyProperty, lexicon: Lexicon) -> NamedNode | None:
    """The class that a column's name gives within the property's range: "city" where a place is wanted."""
    if not term.is_object:
        return None
    key = label_key(words_of_identifier(column))
    named = lexicon.han_suffixes.get(key) if has_han(key) else lexicon.class_words.get(key)
    if named is not None and lexicon.ontology.is_a(named, term.ranges):
        return named
    return term.ranges[0] if len(term.ranges) == 1 else None


def _owned(columns: list[ColumnMapping], lexicon: Lexicon) -> list[ColumnMapping]:
    """Gives columns that fit nothing to the entity of an object column: aircraft_category to the aircraft."""
    objects = [item for item in columns if item.role == "property" and item.range is not None]
    found: list[ColumnMapping] = []
    for item in columns:
        if item.role == "ignored":
            for owner in objects:
                term, score = _property(item.column, owner.range or lexicon.ontology.domain_classes[0].iri, lexicon)
                if term is not None and score >= _EXACT and not term.is_object:
                    item = replace(item, role="property", term=term, via=owner.index)
                    break
        found.append(item)
    return found


def _key_column(columns: list[ColumnMapping], class_: NamedNode, ontology: Ontology) -> int | None:
    """The column of the class's key (``owl:hasKey``), else the first that names the row."""
    keys = {
        iri
        for above in ontology.superclasses(class_)
        if above in ontology.classes
        for iri in ontology.classes[above].key
    }
    for item in columns:
        if item.term is not None and item.term.iri in keys and item.via is None:
            return item.index
    return next((item.index for item in columns if item.role == "name"), None)


def rows_to_statements(
    table: Table, mapping: TableMapping, ontology: Ontology, *, index: EntityIndex | None = None
) -> Iterator[RowStatements]:
    """The statements of each row, in order. Empty cells say nothing; bad cells are refused, the rest of the row counts.

    ``index`` knows the entities met so far, so that several tables share it; what the rows name is added.
    """
    reader = _RowReader(mapping, ontology, index or EntityIndex(ontology, mapping.base))
    for row in table.rows:
        yield reader.read(row)


class _RowReader:
    """Reads rows by a mapping."""

    def __init__(self, mapping: TableMapping, ontology: Ontology, index: EntityIndex) -> None:
        self.mapping = mapping
        self.ontology = ontology
        self.index = index
        self.used = [item for item in mapping.columns if item.role != "ignored"]
        self.lexicon = compile_lexicon(ontology)
        self.literal = lru_cache(maxsize=65_536)(self._literal)

    def read(self, row: Row) -> RowStatements:
        found = RowStatements(row.line, row.start, row.end, None)
        subject = self._subject(row)
        if subject is None:
            column = self.mapping.columns[self.mapping.key].column if self.mapping.key is not None else "name"
            found.refused.append(
                Refusal(f"line {row.line}", f"line {row.line}, column {column!r}: nothing names the row")
            )
            return found
        found.subject = subject
        found.triples.append(Triple(subject, TYPE, self.mapping.type))
        owners: dict[int, NamedNode] = {}
        for item in self.used:
            if item.via is None and row.cells[item.index]:
                self._cell(row, item, subject, owners, found)
        for item in self.used:
            if item.via is not None and row.cells[item.index] and item.via in owners:
                self._cell(row, item, owners[item.via], owners, found)
        if not any(triple.predicate == LABEL and triple.subject == subject for triple in found.triples):
            key = row.cells[self.mapping.key] if self.mapping.key is not None else ""
            if key:
                found.triples.append(Triple(subject, LABEL, Literal(key)))
        found.triples = list(dict.fromkeys(found.triples))
        return found

    def _subject(self, row: Row) -> NamedNode | None:
        """The row's entity: one already known by its key or a name, else minted from the first of them."""
        names = [row.cells[self.mapping.key]] if self.mapping.key is not None else []
        names += [row.cells[item.index] for item in self.used if item.role == "name"]
        names = [name for name in names if name]
        if not names:
            return None
        found = next((entity for name in names if (entity := self.index.find(self.mapping.type, name))), None)
        iri = found[0] if found else self.index.entity(self.mapping.type, names[0])[0]
        self.index.add(iri, self.mapping.type, names)
        if any(row.cells[item.index] for item in self.used if item.role == "name"):
            self.index.call(iri)
        return iri

    def _cell(
        self, row: Row, item: ColumnMapping, subject: NamedNode, owners: dict[int, NamedNode], found: RowStatements
    ) -> None:
        text = row.cells[item.index]
        if item.role in ("name", "alias"):
            predicate = LABEL if item.role == "name" else ALT_LABEL
            for part in _parts(text) if item.role == "alias" else [text]:
                found.triples.append(Triple(subject, predicate, _tagged(part, item.language)))
        if item.term is None:
            return
        for part in [text] if item.term.functional or item.role == "name" else _parts(text):
            try:
                if item.term.is_object:
                    self._object(item, part, subject, owners, found)
                else:
                    found.triples.append(Triple(subject, item.term.iri, self.literal(part, item.index)))
            except ValueError as error:
                found.refused.append(Refusal(part, f"line {row.line}, column {item.column!r}: {error}"))

    def _literal(self, text: str, index: int) -> Literal:
        term = self.mapping.columns[index].term
        if term is None:
            raise ValueError("the column has no property")
        return literal_of(text, term, language="zh" if has_han(text) else "en")

    def _object(
        self, item: ColumnMapping, text: str, subject: NamedNode, owners: dict[int, NamedNode], found: RowStatements
    ) -> None:
        term = item.term
        if term is None:
            return
        if self.index.is_closed(term.ranges):
            value = self.index.value(term.ranges, text)
            if value is None:
                raise ValueError(f"{text!r} is not one of the values of {self.ontology.label(term.iri)!r}")
            found.triples.append(Triple(subject, term.iri, value))
            return
        class_ = self._class_of(text, item, term)
        if class_ is None:
            wanted = " or ".join(local_name(iri.value) for iri in term.ranges)
            raise ValueError(f"{text!r}: not clear which of {wanted} it is")
        iri, class_ = self.index.entity(class_, text, within=term.ranges)
        owners[item.index] = iri
        found.triples.append(Triple(subject, term.iri, iri))
        found.triples.append(Triple(iri, TYPE, class_))
        keys = list(self._key_of(iri, class_, text))
        if not keys or not self.index.is_called(iri):
            found.triples.append(Triple(iri, LABEL, self._label(text, class_)))
        found.triples.extend(keys)

    def _class_of(self, text: str, item: ColumnMapping, term: OntologyProperty) -> NamedNode | None:
        """The class that the name itself tells ("White Lotus Pagoda"), else the one the column leads to."""
        words = text.split()
        named = self.lexicon.names.get(text)
        if named is None and has_han(text):
            endings = (self.lexicon.han_suffixes.get(text[-length:]) for length in range(min(4, len(text) - 1), 0, -1))
            named = next(filter(None, endings), None)
        elif named is None and len(words) > 1:
            named = self.lexicon.class_words.get(singular(words[-1].casefold()))
        if named is not None and self.ontology.is_a(named, term.ranges):
            return named
        return item.range

    def _key_of(self, iri: NamedNode, class_: NamedNode, text: str) -> Iterator[Triple]:
        """The key of the object, where the cell has the form of one: an aircraft by its registration."""
        for above in self.ontology.superclasses(class_):
            known = self.ontology.classes.get(above)
            for key in known.key if known else ():
                term = self.ontology.properties.get(key)
                if term is not None and term.pattern and not term.is_object and re.fullmatch(term.pattern, text):
                    yield Triple(iri, key, Literal(text))

    def _label(self, text: str, class_: NamedNode) -> Literal:
        known = self.ontology.classes.get(class_)
        is_code = bool(known and known.key) and (text.isupper() or any(character.isdigit() for character in text))
        return Literal(text) if is_code else _tagged(text, "")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[;；]", text) if part.strip()]


def _tagged(text: str, language: str) -> Literal:
    return Literal(text, language=language or ("zh" if has_han(text) else "en"))
