"""What a table without a mapping is about: one is drafted from the names of its columns.

A column is matched with a property by its words (``price_per_night``, ``房价``), the table with the class that
most columns fit. In the spirit of https://www.w3.org/TR/csv2rdf/ and https://www.w3.org/TR/r2rml/, but
derived from the ontology; the draft can be read, and a person may give the class. `kgplatform.mapping` writes it down
and carries it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from pyoxigraph import NamedNode

from kgplatform.errors import ReadError
from kgplatform.extraction.ontology_lexicon import Lexicon, compile_lexicon, label_key
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import has_han, normalise, singular, with_article, words, words_of_identifier
from kgplatform.vocab import entity_iri, words_of_iri

# Entities by class and name


class EntityIndex:
    """Entities by class and name. ``known`` are names with their classes, as the built-in extractor takes them.

    An unknown name is minted, so that the same name in a note and in a table is the same entity.
    """

    def __init__(self, ontology: Ontology, base: str, *, known: Mapping[str, NamedNode] | None = None) -> None:
        self.ontology = ontology
        self.base = base
        self._entities: dict[str, list[tuple[NamedNode, NamedNode]]] = {}
        self._listed: dict[tuple[NamedNode, ...], dict[str, NamedNode]] = {}
        self._called: dict[NamedNode, str] = {}
        self._keys: dict[NamedNode, set[str]] = {}
        self._classes: dict[str, list[NamedNode]] = {}
        for name, class_ in (known or {}).items():
            self._classes.setdefault(normalise(name), []).append(class_)

    def add(self, iri: NamedNode, class_: NamedNode, names: Iterable[str], *, keys: Iterable[str] = ()) -> None:
        """Notes by what names and keys the entity goes; the first that claims a name keeps it."""
        keys = tuple(keys)
        if keys:
            self._keys.setdefault(iri, set()).update(map(normalise, keys))
        for name in (*keys, *names):
            listed = self._entities.setdefault(normalise(name), [])
            if all(other != iri for other, _ in listed):
                listed.append((iri, class_))

    def iris(self) -> frozenset[NamedNode]:
        """The entities noted so far."""
        return frozenset(iri for listed in self._entities.values() for iri, _ in listed)

    def find(self, class_: NamedNode, name: str, *, keyed: bool = True) -> tuple[NamedNode, NamedNode] | None:
        """The entity under the name that is or may be of the class, and its class; ``keyed``: it may have a key."""
        for iri, own in self._entities.get(normalise(name), ()):
            if self.ontology.fits(own, (class_,)) and (keyed or iri not in self._keys):
                return iri, own
        return None

    def call(self, iri: NamedNode, name: str) -> None:
        """Notes that the entity has a proper name, so that a key need not serve as its label."""
        self._called.setdefault(iri, name)

    def called(self, iri: NamedNode) -> str | None:
        """The proper name of the entity, where it is known."""
        return self._called.get(iri)

    def is_key(self, iri: NamedNode, text: str) -> bool:
        """Whether the entity is known to go by that as a key, not as a name."""
        return normalise(text) in self._keys.get(iri, ())

    def entity(
        self, class_: NamedNode, name: str, *, within: tuple[NamedNode, ...] = ()
    ) -> tuple[NamedNode, NamedNode]:
        """The entity of that class and name, minted if there is none, and the class it has.

        The class may turn out another than asked for, as long as it is one of ``within`` (none given: the class
        itself): a known "Wuzhen" is a water town where a column of towns makes it a township.
        """
        found = self.find(class_, name) or next((hit for item in within if (hit := self.find(item, name))), None)
        if found is not None:
            return found
        known = self._classes.get(normalise(name), ())
        special = next((own for own in known if self.ontology.is_a(own, within or (class_,))), class_)
        iri = entity_iri(self.base, special, name)
        self.add(iri, special, (name,))
        return iri, special

    def value(self, ranges: tuple[NamedNode, ...], text: str) -> NamedNode | None:
        """The named value of a closed list that the text is a word for."""
        return self._values(ranges).get(_value_key(text))

    def is_closed(self, ranges: tuple[NamedNode, ...]) -> bool:
        """Whether one of the classes is a closed list of named values."""
        return bool(self._values(ranges))

    def _values(self, ranges: tuple[NamedNode, ...]) -> dict[str, NamedNode]:
        if ranges not in self._listed:
            self._listed[ranges] = _values(self.ontology, ranges)
        return self._listed[ranges]


def _value_key(text: str) -> str:
    plain = normalise(text)
    return plain if has_han(plain) else " ".join(singular(word) for word in words(plain))


def _values(ontology: Ontology, ranges: tuple[NamedNode, ...]) -> dict[str, NamedNode]:
    """The words of the named values in the ranges; a last word counts where it belongs to one value only."""
    found: dict[str, NamedNode] = {}
    endings: dict[str, set[NamedNode]] = {}
    for iri, individual in ontology.individuals.items():
        if not any(ontology.is_a(type_, ranges) for type_ in individual.types):
            continue
        for word in individual.words:
            key = _value_key(word.text)
            found.setdefault(key, iri)
            if " " in key:
                endings.setdefault(key.rpartition(" ")[2], set()).add(iri)
    for ending, iris in endings.items():
        if len(iris) == 1:
            found.setdefault(ending, next(iter(iris)))
    return found


# Columns and properties

_LEXICON: Final = LexiconSection("extraction", "table_draft")
_NAMES: Final = _LEXICON.words("names")
_NAME_ENDINGS: Final = _NAMES | {"nm"}
_ALIASES: Final = _LEXICON.words("aliases")
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
    """How a table is read: a row is an entity of ``type``, told apart by the column ``key`` or by some ``together``."""

    table: str
    type: NamedNode
    key: int | None
    columns: tuple[ColumnMapping, ...]
    base: str = ""
    together: tuple[int, ...] = ()

    def describe(self, ontology: Ontology, language: str = "en") -> str:
        """The mapping in words, a line for each column."""
        lines = [f"{self.table}: each row is {with_article(ontology.label(self.type, language))}"]
        for item in self.columns:
            said = item.role
            if item.term is not None:
                owner = f" of its {self.columns[item.via].column}" if item.via is not None else ""
                said = f"{ontology.label(item.term.iri, language)}{owner}"
                if item.range is not None:
                    said += f", {with_article(ontology.label(item.range, language))}"
            is_key = item.index == self.key or item.index in self.together
            lines.append(f"  {item.column} -> {said}{' (key)' if is_key else ''}")
        return "\n".join(lines)


class NamedColumns(Protocol):
    """What a mapping is drafted from: the name of a table and those of its columns."""

    @property
    def name(self) -> str:
        """The table's name."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        ...


def map_table(
    table: NamedColumns,
    ontology: Ontology,
    base: str,
    *,
    class_hint: NamedNode | None = None,
    within: NamedNode | None = None,
) -> TableMapping:
    """The mapping drafted from the columns' names and the table's; the class is ``within`` or one below it.

    Raises:
        ReadError: no column can be used: none names the row and none has a property's words.
    """
    lexicon = compile_lexicon(ontology)
    classes = [class_hint] if class_hint is not None else [item.iri for item in ontology.domain_classes]
    if within is not None:
        classes = [item for item in classes if ontology.is_a(item, (within,))]
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
    key, together = _key_column(columns, class_, ontology), _joint_key(columns, class_, ontology)
    is_told = key is not None or together or class_hint is not None or score >= _EXACT
    if not is_told and not _stem_score(stem, class_, lexicon):
        raise ReadError("no column tells one row from another; name one 'name' or after a key", path=Path(table.name))
    return TableMapping(table.name, class_, key, tuple(columns), base, together)


def are_several(rows: Iterable[Sequence[str | None]], naming: int) -> bool:
    """Whether rows that are named alike are of several things: most of their numbers and days differ, or most cells.

    Those of one thing with several values agree in most: a stop on two lines, but not a flight on two days.
    """
    first = dict[str, Sequence[str | None]]()
    numbers, texts = list[bool](), list[bool]()
    for row in rows:
        name = row[naming]
        if name is not None and (other := first.setdefault(name, row)) is not row:
            for place, (cell, before) in enumerate(zip(row, other, strict=True)):
                if cell and before and place != naming:
                    (numbers if cell[0].isdigit() else texts).append(cell != before)
    compared = numbers or texts
    return sum(compared) * 2 > len(compared)


def told_apart(
    mapping: TableMapping,
    unique: Mapping[str, str],
    differ: Callable[[Sequence[int]], bool],
    several: Callable[[int], bool],
) -> TableMapping:
    """The mapping with a column that names the rows where it has none: one of ``unique``, whose cells all differ.

    A name that is the only key, but of ``several`` things, is one together with as many further columns as make all
    rows ``differ``. A column that is called some kind of name becomes the name. Where nothing is a key, the first
    column does if it holds texts (``unique`` says what each holds) and is no property; else the first property of texts
    or codes stands in for a key, or the things that a row joins do together, with as many further columns as make all
    rows ``differ``, or the first property of numbers.

    Raises:
        ReadError: the rows have no key, and there is no such column.
    """
    named = [item for item in mapping.columns if item.role == "name"]
    if named and mapping.key == named[0].index and several(mapping.key):
        told = sorted(mapping.columns, key=lambda item: (item.role != "property", item.index))
        values = [item.index for item in told if item.role in ("property", "ignored") and item.via is None]
        pairs = ((mapping.key, value) for value in values)
        tried = chain(pairs, ((mapping.key, *values[:count]) for count in range(2, len(values) + 1)))
        together = next(filter(differ, tried), ())
        return replace(mapping, key=None, together=together) if together else mapping
    if named or mapping.together:
        return mapping
    fit = [
        item
        for item in mapping.columns
        if item.term is not None and not item.term.is_object and item.via is None and item.column in unique
    ]
    naming = next((item for item in fit if words_of_identifier(item.column).split(" ")[-1] in _NAME_ENDINGS), None)
    if naming is None and mapping.key is None:
        opening = mapping.columns[:1]
        naming = next((item for item in opening if item.role == "ignored" and unique.get(item.column) == "text"), None)
    said = next((item for item in fit if unique[item.column] in ("text", "code")), None)
    together = () if mapping.key is not None or naming or said else _told_apart_together(mapping, differ)
    if together:
        return replace(mapping, together=together)
    first = naming or said or (fit[0] if fit else None)
    if mapping.key is None and first is None:
        raise ReadError(
            "no column tells one row from another; name one 'name' or after a key", path=Path(mapping.table)
        )
    columns = tuple(replace(item, role="name") if item is naming else item for item in mapping.columns)
    return replace(
        mapping, columns=columns, key=mapping.key if mapping.key is not None or first is None else first.index
    )


def _told_apart_together(mapping: TableMapping, differ: Callable[[Sequence[int]], bool]) -> tuple[int, ...]:
    """The columns of the things that the rows join, with those of values that are needed; none if they join nothing."""
    said = [item for item in mapping.columns if item.term is not None and item.via is None]
    joined = tuple(item.index for item in said if item.term is not None and item.term.is_object)
    values = [item.index for item in said if item.index not in joined]
    tried = ((*joined, *values[:count]) for count in range(len(values) + 1)) if joined else ()
    return next((columns for columns in tried if len(columns) > 1 and differ(columns)), ())


def _stem_score(stem: str, class_: NamedNode, lexicon: Lexicon) -> int:
    term = lexicon.ontology.classes[class_]
    names = [label_key(word.text) for word in term.words] + [label_key(words_of_iri(class_.value))]
    if stem in names[:2] or stem == names[-1]:
        return 8
    return 6 if stem in names else 2 if any(name and stem.endswith(name) for name in names) else 0


def _draft(
    columns: tuple[str, ...], likely: Mapping[str, Sequence[_Likely]], class_: NamedNode, lexicon: Lexicon
) -> tuple[int, list[ColumnMapping]]:
    """The columns as far as they fit the class, and how well they do.

    Where no column is called a name, the one that is called what the rows are holds their names: hotel, 酒店名称; else
    the first that is called a name of something that the ontology does not know: 队名.
    """
    total = 0
    is_named = any(_naming(column)[0] == "name" for column in columns)
    owns = [class_called(without_name(column), lexicon) for column in columns]
    left = (n for n, column in enumerate(columns) if names_something(column) and not owns[n] and not likely[column])
    by_ending = None if is_named or class_ in owns else next(left, None)
    drafted: list[ColumnMapping] = []
    for index, column in enumerate(columns):
        role, language = _naming(column)
        term, score = _property(likely[column], class_, lexicon)
        called = None if role else owns[index]
        if index == by_ending:
            role, is_named = "name", True
        elif called and not is_named and (called == class_ or (not term and lexicon.ontology.is_a(class_, (called,)))):
            role, term, score, is_named = "name", None, _EXACT * (called == class_), True
        elif term is None:
            term = class_property(class_, called, lexicon)
        if role and (term is None or not term.is_object):
            drafted.append(ColumnMapping(column, index, role, term, language))
            total += score
        elif term is not None:
            drafted.append(ColumnMapping(column, index, "property", term, range=_narrowed(column, term, lexicon)))
            total += score
        else:
            drafted.append(ColumnMapping(column, index, "ignored"))
    return total, _owned(drafted, likely, lexicon)


def class_called(label: str, lexicon: Lexicon) -> NamedNode | None:
    """The class that a column, caption or heading names: Hotels, 酒店."""
    key = label_key(label)
    return lexicon.han_suffixes.get(key) if has_han(key) else lexicon.class_words.get(key)


def class_property(class_: NamedNode, target: NamedNode | None, lexicon: Lexicon) -> OntologyProperty | None:
    """The only object property from the class to the other that does not lead to the class, too."""
    ontology = lexicon.ontology
    terms = [
        term
        for term in ontology.properties_of(class_)
        if target is not None
        and term.is_object
        and ontology.is_a(target, term.ranges)
        and not ontology.is_a(class_, term.ranges)
    ]
    return terms[0] if len(terms) == 1 else None


def without_name(column: str) -> str:
    """The column's words without those for names: hotel name, 酒店名称."""
    key = label_key(words_of_identifier(column))
    if has_han(key):
        return key.removesuffix(max((ending for ending in _NAMES if key.endswith(ending)), key=len, default=""))
    before, _, last = key.rpartition(" ")
    return before if before and last in _NAME_ENDINGS else key


def names_something(column: str) -> bool:
    """Whether a column in Chinese is called the name of something: 队名, 患者姓名."""
    words = words_of_identifier(column)
    return has_han(words) and any(words.endswith(ending) for ending in _NAMES) and words not in _ALIASES


def _naming(column: str) -> tuple[str, str]:
    """Whether a column holds names or other names, and in which language."""
    match = _LANGUAGE.match(column)
    words = words_of_identifier(match["name"] if match else column)
    role = "name" if words in _NAMES else "alias" if words in _ALIASES else ""
    return role, match["language"].lower() if match and role else ""


def _likely(column: str, lexicon: Lexicon) -> list[_Likely]:
    """The properties of any class that a column's name fits, the best first; of equals the one of fewer classes.

    A column called as a class is (城市) fits a little what that class is called in another language.
    """
    ontology = lexicon.ontology
    key, class_ = label_key(words_of_identifier(column)), class_called(column, lexicon)
    others = set()
    if class_ is not None:
        others = {label_key(ontology.label(class_, word.language)) for word in ontology.classes[class_].words}
    found = [
        (score, -sum(len(ontology.subclasses(item)) for item in term.domains), -term.order, term)
        for term in ontology.domain_properties
        if term.domains
        and (score := _likeness(key, term) or (_PART if any(_likeness(other, term) for other in others) else 0))
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
        if not _is_joint(above, ontology)
    }
    for item in columns:
        if item.term is not None and item.term.iri in keys and item.via is None:
            return item.index
    return next((item.index for item in columns if item.role == "name"), None)


def _is_joint(class_: NamedNode, ontology: Ontology) -> bool:
    """Whether the key of a class is what its members join, all of it together."""
    terms = [ontology.properties.get(iri) for iri in ontology.classes[class_].key]
    return len(terms) > 1 and any(term is not None and term.is_object for term in terms)


def _joint_key(columns: list[ColumnMapping], class_: NamedNode, ontology: Ontology) -> tuple[int, ...]:
    """The columns of a key that is only one together, if they are all there."""
    keys = ontology.classes[class_].key if _is_joint(class_, ontology) else ()
    places = {item.term.iri: item.index for item in columns if item.term is not None and item.via is None}
    return tuple(places[iri] for iri in keys) if keys and all(iri in places for iri in keys) else ()
