"""What a table without a mapping is about: one is drafted from the names of its columns.

A column is matched with a property by its words (``price_per_night``, ``房价``), the table with the class that
most columns fit. In the spirit of https://www.w3.org/TR/csv2rdf/ and https://www.w3.org/TR/r2rml/, but
derived from the ontology; the draft can be read, and a person may give the class. `kgplatform.mapping` writes it down
and carries it out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from pyoxigraph import NamedNode

from kgplatform.errors import ReadError
from kgplatform.extraction.lexicon import Lexicon, compile_lexicon, label_key
from kgplatform.ontology import Ontology, OntologyProperty
from kgplatform.text import has_han, words_of_identifier
from kgplatform.vocab import words_of_iri

_NAMES: Final = frozenset(("name", "label", "title", "名称", "名字", "姓名", "标题", "名"))
_NAME_ENDINGS: Final = _NAMES | {"nm"}
_ALIASES: Final = frozenset(
    ("alias", "aliases", "also known as", "aka", "other name", "alternative name", "别名", "又名", "曾用名")
)
_LANGUAGE = re.compile(r"^(?P<name>.+?)[ _-](?P<language>en|zh|sv|de|fr|es|ja)$", re.IGNORECASE)
_EXACT, _PART = 3, 1
_Likely = tuple[int, OntologyProperty]
"""How well a column's name fits a property, and the property."""


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


class NamedColumns(Protocol):
    """A table as far as its mapping is drafted from it."""

    @property
    def name(self) -> str:
        """What the table is called."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        ...


def map_table(
    table: NamedColumns, ontology: Ontology, base: str, *, class_hint: NamedNode | None = None
) -> TableMapping:
    """The mapping drafted from the columns' names and the table's.

    Raises:
        ReadError: no column can be used: none names the row and none has a property's words.
    """
    lexicon = compile_lexicon(ontology)
    classes = [class_hint] if class_hint is not None else [item.iri for item in ontology.domain_classes]
    stem = label_key(words_of_identifier(table.name))
    likely = {column: _likely(column, lexicon) for column in table.columns}
    drafts = [(*_draft(table.columns, likely, class_, lexicon), class_) for class_ in classes]
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


def told_apart(mapping: TableMapping, unique: Collection[str]) -> TableMapping:
    """The mapping with a column that names the rows where it has none: one of ``unique``, whose cells all differ.

    A column that is called some kind of name becomes the name; else the first one stands in for a key.

    Raises:
        ReadError: the rows have no key, and there is no such column.
    """
    if any(item.role == "name" for item in mapping.columns):
        return mapping
    fit = [
        item
        for item in mapping.columns
        if item.term is not None and not item.term.is_object and item.via is None and item.column in unique
    ]
    naming = next((item for item in fit if words_of_identifier(item.column).split(" ")[-1] in _NAME_ENDINGS), None)
    first = naming or (fit[0] if fit else None)
    if mapping.key is None and first is None:
        raise ReadError(
            "no column tells one row from another; name one 'name' or after a key", path=Path(mapping.table)
        )
    columns = tuple(replace(item, role="name") if item is naming else item for item in mapping.columns)
    return replace(
        mapping, columns=columns, key=mapping.key if mapping.key is not None or first is None else first.index
    )


def _stem_score(stem: str, class_: NamedNode, lexicon: Lexicon) -> int:
    term = lexicon.ontology.classes[class_]
    names = [label_key(word.text) for word in term.words] + [label_key(words_of_iri(class_.value))]
    if stem in names[:2] or stem == names[-1]:
        return 8
    return 6 if stem in names else 2 if any(name and stem.endswith(name) for name in names) else 0


def _draft(
    columns: tuple[str, ...], likely: Mapping[str, Sequence[_Likely]], class_: NamedNode, lexicon: Lexicon
) -> tuple[int, list[ColumnMapping]]:
    """The columns as far as they fit the class, and how well they do."""
    total = 0
    drafted: list[ColumnMapping] = []
    for index, column in enumerate(columns):
        role, language = _naming(column)
        term, score = _property(likely[column], class_, lexicon)
        if role and (term is None or not term.is_object):
            drafted.append(ColumnMapping(column, index, role, term, language))
            total += score
        elif term is not None:
            drafted.append(ColumnMapping(column, index, "property", term, range=_narrowed(column, term, lexicon)))
            total += score
        else:
            drafted.append(ColumnMapping(column, index, "ignored"))
    return total, _owned(drafted, likely, lexicon)


def _naming(column: str) -> tuple[str, str]:
    """Whether a column holds names or other names, and in which language."""
    match = _LANGUAGE.match(column)
    words = words_of_identifier(match["name"] if match else column)
    role = "name" if words in _NAMES else "alias" if words in _ALIASES else ""
    return role, match["language"].lower() if match and role else ""


def _likely(column: str, lexicon: Lexicon) -> list[_Likely]:
    """The properties of any class that a column's name fits, the best first; of equals the one of fewer classes."""
    ontology = lexicon.ontology
    key = label_key(words_of_identifier(column))
    found = [
        (score, -sum(len(ontology.subclasses(item)) for item in term.domains), -term.order, term)
        for term in ontology.domain_properties
        if term.domains and (score := _likeness(key, term))
    ]
    return [(score, term) for score, _, _, term in sorted(found, key=lambda item: item[:3], reverse=True)]


def _property(terms: Sequence[_Likely], class_: NamedNode, lexicon: Lexicon) -> tuple[OntologyProperty | None, int]:
    """The best of the properties that the class has, and how well the column fits it."""
    return next(((term, score) for score, term in terms if lexicon.ontology.is_a(class_, term.domains)), (None, 0))


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


def _owned(
    columns: list[ColumnMapping], likely: Mapping[str, Sequence[_Likely]], lexicon: Lexicon
) -> list[ColumnMapping]:
    """Gives columns that fit nothing to the entity of an object column: aircraft_category to the aircraft."""
    objects = [item for item in columns if item.role == "property" and item.range is not None]
    found: list[ColumnMapping] = []
    for item in columns:
        if item.role == "ignored":
            for owner in objects:
                range_ = owner.range or lexicon.ontology.domain_classes[0].iri
                term, score = _property(likely[item.column], range_, lexicon)
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
