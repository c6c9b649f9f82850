"""The functions that mappings may call, each for what RML alone cannot do with a cell.

Functions in mappings are described by https://fno.io/spec/; here they are carried out once for each row before the
engine sees it, in the order of the columns, so that one name gets one IRI whichever row has it first, and a cell that
cannot be read is known by its row and column.

    kgp:entity     kgp:class, kgp:key, kgp:name…, kgp:part… the entity that a row describes; parts are a key together
    kgp:reference  kgp:property, kgp:name, kgp:class?       what a cell names: named values, entities with their class
    kgp:value      kgp:property, kgp:text, kgp:whole?       the literals of a property that a cell writes
    kgp:text       kgp:text, kgp:language?, kgp:split?      words with their language
    kgp:otherwise  kgp:text, kgp:unless…, kgp:class?        a text where all other cells are empty; with a class, a key
                                                            of that class, where its entity is not known by a name
    kgp:split      kgp:text, kgp:separator?                 the parts of a cell
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.extraction.ontology_lexicon import compile_lexicon
from kgplatform.extraction.table_draft import EntityIndex
from kgplatform.extraction.values import datatype_of, literal_of
from kgplatform.mapping.rml import FUNCTIONS
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import has_han, singular
from kgplatform.vocab import LABEL, TYPE, XSD_STRING, local_name

Given: TypeAlias = Mapping[str, Sequence[str]]
"""What a function is given: the texts of each parameter, in order of the columns, empty ones left out."""

ENTITY: Final = f"{FUNCTIONS}entity"
REFERENCE: Final = f"{FUNCTIONS}reference"
VALUE: Final = f"{FUNCTIONS}value"
TEXT: Final = f"{FUNCTIONS}text"
OTHERWISE: Final = f"{FUNCTIONS}otherwise"
SPLIT: Final = f"{FUNCTIONS}split"

PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    ENTITY: ("class", "key", "name", "part"),
    REFERENCE: ("property", "class", "name"),
    VALUE: ("property", "text", "whole"),
    TEXT: ("text", "language", "split"),
    OTHERWISE: ("text", "unless", "class"),
    SPLIT: ("text", "separator"),
}
"""The parameters of each function, the prefix left out."""


@dataclass(slots=True)
class CellOutcome:
    """What a function gives for a row: terms, what these are besides, and the cells that it could not read."""

    terms: list[NamedNode | Literal] = field(default_factory=list)
    besides: list[Triple] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


class Functions:
    """The functions over one ontology; ``index`` knows the entities met so far and learns those that rows name."""

    def __init__(self, ontology: Ontology, index: EntityIndex) -> None:
        self.ontology = ontology
        self._index = index
        self._lexicon = compile_lexicon(ontology)
        self._literal = lru_cache(maxsize=65_536)(self._read_literal)
        self._functions: dict[str, Callable[[Given, CellOutcome], None]] = {
            ENTITY: self._entity,
            REFERENCE: self._reference,
            VALUE: self._value,
            TEXT: self._text,
            OTHERWISE: self._otherwise,
            SPLIT: self._split,
        }

    def call(self, function: str, given: Given) -> CellOutcome:
        """What the function makes of the cells that it is given."""
        outcome = CellOutcome()
        self._functions[function](given, outcome)
        return outcome

    def _entity(self, given: Given, outcome: CellOutcome) -> None:
        """The row's entity: one known by its key, or by a name if one of both has no key, else a new one."""
        class_ = NamedNode(given["class"][0])
        called, joint = given.get("name", ()), " / ".join(given.get("part", ()))
        keys = (*given.get("key", ()), *([joint] if joint else []))
        names = [*keys, *called]
        if not names:
            outcome.problems.append(("", "nothing names the row"))
            return
        tried = ((name, name in keys or not keys) for name in names)
        found = next((entity for name, any_ in tried if (entity := self._index.find(class_, name, keyed=any_))), None)
        iri = found[0] if found else self._index.entity(class_, names[0])[0]
        self._index.add(iri, class_, called, keys=keys)
        if called:
            self._index.call(iri, called[0])
        elif joint:
            name = self._joint_name(given.get("property", ()), given["part"])
            outcome.besides.append(Triple(iri, LABEL, Literal(name)))
        outcome.terms.append(iri)

    def _joint_name(self, properties: Sequence[str], told: Sequence[str]) -> str:
        """What a row is called that joins things: by their names, where these are known by now.

        ``properties``: of each part the property that leads to what it names; empty where it is a value.
        """
        names = list(told)
        properties = properties if len(properties) == len(told) else ()
        for place, (property_, text) in enumerate(zip(properties, told, strict=False)):
            term = self.ontology.properties.get(NamedNode(property_)) if property_ else None
            ends = term.ranges if term is not None else ()
            found = next((entity for end in ends if (entity := self._index.find(end, text))), None)
            names[place] = (self._index.called(found[0]) if found else None) or text
        return " / ".join(names)

    def _reference(self, given: Given, outcome: CellOutcome) -> None:
        term = self._property(given)
        column_class = NamedNode(given["class"][0]) if given.get("class") else None
        for text in given.get("name", ()):
            for part in [text] if term.functional else parts(text):
                try:
                    self._named(part, term, column_class, outcome)
                except ValueError as error:
                    outcome.problems.append((part, str(error)))

    def _named(self, text: str, term: OntologyProperty, column_class: NamedNode | None, outcome: CellOutcome) -> None:
        """The value of a closed list, else the entity of that name, which is described besides."""
        if self._index.is_closed(term.ranges):
            value = self._index.value(term.ranges, text)
            if value is None:
                raise ValueError(f"{text!r} is not one of the values of {self.ontology.label(term.iri)!r}")
            outcome.terms.append(value)
            return
        class_ = self._class_of(text, column_class, term)
        if class_ is None:
            wanted = " or ".join(local_name(iri.value) for iri in term.ranges)
            raise ValueError(f"{text!r}: not clear which of {wanted} it is")
        iri, class_ = self._index.entity(class_, text, within=term.ranges)
        outcome.terms.append(iri)
        outcome.besides.append(Triple(iri, TYPE, class_))
        keys = list(self._key_of(iri, class_, text))
        if self._index.called(iri) is None or not (keys or self._index.is_key(iri, text)):
            outcome.besides.append(Triple(iri, LABEL, self._label(text, class_)))
        outcome.besides.extend(keys)

    def _class_of(self, text: str, column_class: NamedNode | None, term: OntologyProperty) -> NamedNode | None:
        """The class that the name itself tells ("White Lotus Pagoda"), else the one the column leads to."""
        words = text.split()
        named = self._lexicon.names.get(text)
        if named is None and has_han(text):
            endings = (self._lexicon.han_suffixes.get(text[-length:]) for length in range(min(4, len(text) - 1), 0, -1))
            named = next(filter(None, endings), None)
        elif named is None and len(words) > 1:
            named = self._lexicon.class_words.get(singular(words[-1].casefold()))
        if named is not None and self.ontology.is_a(named, term.ranges):
            return named
        return column_class or (term.ranges[0] if len(term.ranges) == 1 else None)

    def _key_of(self, iri: NamedNode, class_: NamedNode, text: str) -> Iterator[Triple]:
        """The key of the object, where the cell has the form of one: an aircraft by its registration."""
        for above in sorted(self.ontology.superclasses(class_), key=lambda item: item.value):
            known = self.ontology.classes.get(above)
            for key in known.key if known else ():
                term = self.ontology.properties.get(key)
                if term is not None and term.pattern and not term.is_object and re.fullmatch(term.pattern, text):
                    yield Triple(iri, key, Literal(text))

    def _label(self, text: str, class_: NamedNode) -> Literal:
        known = self.ontology.classes.get(class_)
        is_code = bool(known and known.key) and (text.isupper() or any(character.isdigit() for character in text))
        return Literal(text) if is_code else tagged(text)

    def _value(self, given: Given, outcome: CellOutcome) -> None:
        term = self._property(given)
        for text in given.get("text", ()):
            for part in [text] if term.functional or given.get("whole") else parts(text):
                try:
                    outcome.terms.append(self._literal(part, term.iri))
                except ValueError as error:
                    outcome.problems.append((part, str(error)))

    def _read_literal(self, text: str, iri: NamedNode) -> Literal:
        return literal_of(text, self.ontology.properties[iri], language="zh" if has_han(text) else "en")

    def _text(self, given: Given, outcome: CellOutcome) -> None:
        language = next(iter(given.get("language", ())), "")
        for text in given.get("text", ()):
            outcome.terms += [tagged(part, language) for part in (parts(text) if given.get("split") else [text])]

    def _otherwise(self, given: Given, outcome: CellOutcome) -> None:
        for text in () if given.get("unless") else given.get("text", ()):
            known = self._index.find(NamedNode(given["class"][0]), text) if given.get("class") else None
            if known is None or self._index.called(known[0]) is None:
                outcome.terms.append(Literal(text))

    def _split(self, given: Given, outcome: CellOutcome) -> None:
        separator = next(iter(given.get("separator", ())), "")
        for text in given.get("text", ()):
            found = text.split(separator) if separator else parts(text)
            outcome.terms += [Literal(part.strip()) for part in found if part.strip()]

    def is_typed(self, given: Given) -> bool:
        """Whether the values of the property are numbers, days or truth, not words or codes."""
        return "property" in given and datatype_of(self._property(given)) != XSD_STRING

    def _property(self, given: Given) -> OntologyProperty:
        return self.ontology.properties[NamedNode(given["property"][0])]


def parts(text: str) -> list[str]:
    """The values of a cell that holds several, divided by semicolons."""
    return [part.strip() for part in re.split(r"[;；]", text) if part.strip()]


def tagged(text: str, language: str = "") -> Literal:
    """The words with the language that is given, else the one that their script tells."""
    return Literal(text, language=language or ("zh" if has_han(text) else "en"))
