"""Query graphs in words: properties as phrases, things by their names, in English and Chinese."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Word
from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaClass, SchemaProperty, SchemaView
from kgplatform.text import has_han, normalise, words_of_identifier
from kgplatform.vocab import local_name

_PREPOSITIONS: Final = frozenset(
    ("in", "of", "by", "at", "from", "to", "with", "for", "near", "on", "over", "through", "under", "before", "after")
)
_HISSING: Final = ("ches", "shes", "sses", "xes", "zes")


@dataclass(frozen=True, slots=True)
class Relation:
    """The name of a property; only one between things may be a verb ("cites", but "rooms" is a number of them)."""

    text: str
    between_things: bool

    @property
    def noun(self) -> str:
        """As what one has: without a leading "has"."""
        return self.text.removeprefix("has ").removeprefix("the ")

    @property
    def is_noun(self) -> bool:
        """Whether it can stand between "the" and "of"."""
        return not self._led_by_preposition and not self._verbal

    @property
    def _led_by_preposition(self) -> bool:
        return self.text.rpartition(" ")[2] in _PREPOSITIONS and not self._verbal

    @property
    def _verbal(self) -> bool:
        """Whether it is a verb in the third person: one word, or before a preposition ("written by" is none)."""
        first, _, rest = self.text.partition(" ")
        singular = first.endswith("s") and not first.endswith(("ss", "us", "is"))
        return self.between_things and singular and (not rest or rest in _PREPOSITIONS)

    @property
    def _stem(self) -> str:
        first, _, rest = self.text.partition(" ")
        if first.endswith("ies"):
            return f"{first[:-3]}y {rest}".strip()
        return f"{first[:-2] if first.endswith(_HISSING) else first[:-1]} {rest}".strip()

    def asked_of(self, thing: str) -> str:
        """A question for what a thing has, in English.

        >>> Relation("price per night", between_things=False).asked_of("Canal Inn")
        'What is the price per night of Canal Inn?'
        >>> Relation("located in", between_things=True).asked_of("Canal Inn")
        'What is Canal Inn located in?'
        >>> Relation("cites", between_things=True).asked_of("Paper A")
        'What does Paper A cite?'
        """
        if self._led_by_preposition:
            return f"What is {thing} {self.text}?"
        return f"What does {thing} {self._stem}?" if self._verbal else f"What is the {self.noun} of {thing}?"

    def having(self, value: str, *, many: bool) -> str:
        """What has a value, as the rest of a question after "which hotels".

        >>> Relation("located in", between_things=True).having("Wuzhen", many=True)
        'are located in Wuzhen'
        >>> Relation("cites", between_things=True).having("Paper A", many=True)
        'cite Paper A'
        >>> Relation("cuisine", between_things=False).having("stew", many=False)
        'has the cuisine stew'
        """
        if self._led_by_preposition:
            return f"{'are' if many else 'is'} {self.text} {value}"
        if self._verbal:
            return f"{self._stem if many else self.text} {value}"
        return f"{'have' if many else 'has'} the {self.noun} {value}"


class Wording:
    """Names of the terms of a graph in one language; empty where there is none."""

    def __init__(self, facts: GraphFacts, schema: SchemaView, language: str) -> None:
        self._facts = facts
        self._schema = schema
        self.language = language
        called = ((normalise(label.value), node) for node, found in facts.labels.items() for label in found)
        self._called = Counter(name for name, _ in dict.fromkeys(called))

    @property
    def chinese(self) -> bool:
        """Whether the words are Chinese."""
        return self.language == "zh"

    def thing(self, node: object) -> str:
        """The label of a thing that no other thing has; of a literal, its text, if it is short and on one line."""
        if isinstance(node, Literal):
            return node.value if 0 < len(node.value) <= 60 and "\n" not in node.value else ""
        labels = self._facts.labels.get(node, ())
        own = [label.value for label in labels if self._fits(label) and self._called[normalise(label.value)] == 1]
        return min(own, key=lambda text: (len(text), text), default="")

    def kind(self, iri: NamedNode) -> str:
        """The name of a class, in English in the singular."""
        found = self._schema.classes.get(iri)
        name = self._name(found, iri) if found else ""
        return name if self.chinese or not name.istitle() else name.lower()

    def relation(self, iri: NamedNode) -> Relation:
        """The name of a property, with an empty text where it has none in this language."""
        found = self._schema.properties.get(iri)
        return Relation(self._name(found, iri), found.is_object) if found else Relation("", between_things=False)

    def _fits(self, label: Literal) -> bool:
        language = (label.language or "").partition("-")[0]
        if language:
            return language == self.language
        return has_han(label.value) == self.chinese

    def _name(self, term: SchemaClass | SchemaProperty, iri: NamedNode) -> str:
        named = [word.text for word in term.words if _of(word, self.language)]
        if named:
            return named[0]
        return "" if self.chinese or term.words else words_of_identifier(local_name(iri.value)).lower()


def _of(word: Word, language: str) -> bool:
    return (word.language or "").partition("-")[0] == language or (
        not word.language and has_han(word.text) == (language == "zh")
    )


def plural(noun: str) -> str:
    """The plural of an English noun, by rule.

    >>> plural("hotel"), plural("city"), plural("bus"), plural("people")
    ('hotels', 'cities', 'buses', 'people')
    """
    if noun.endswith(("people", "children", "aircraft", "series")):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
