"""The names that documents use, counted, and which of them are said to lie within one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.ontology import Ontology
from kgplatform.text import has_han, normalise
from kgplatform.types import Extraction, Mention


@dataclass(frozen=True)
class Name:
    """A name of a class: how it is spelt and what else it is called, each with how often; its entity if known.

    ``narrowed`` is the class of the thing it turned out to stand for.
    """

    key: NameKey
    forms: Counter[str] = field(default_factory=Counter)
    aliases: Counter[str] = field(default_factory=Counter)
    known: NamedNode | None = None
    narrowed: NamedNode | None = None

    @property
    def type(self) -> NamedNode:
        """The class it is mentioned as, or the narrower one that other names of the same thing gave away."""
        return self.narrowed or self.key[0]

    @property
    def text(self) -> str:
        """The normalised name."""
        return self.key[1]

    @property
    def count(self) -> int:
        """How often it is mentioned."""
        return self.forms.total()

    @property
    def is_chinese(self) -> bool:
        """Whether it is written in Chinese characters."""
        return has_han(self.text)


@dataclass(frozen=True)
class Names:
    """All names, in the order of their keys; ``within`` holds names that a transitive property ties, both ways."""

    by_key: Mapping[NameKey, Name]
    within: Mapping[str, frozenset[str]]

    def __iter__(self) -> Iterator[Name]:
        return iter(self.by_key.values())

    def tied(self, first: str, second: str) -> bool:
        """Whether one is said to lie within the other, or be part of it, in one or two steps."""
        near = self.within.get(first, frozenset())
        return second in near or any(second in self.within.get(step, frozenset()) for step in near)


def sort_key(key: NameKey) -> tuple[str, str]:
    """What keys are ordered by."""
    return key[1], key[0].value


def read_names(extractions: Iterable[Extraction], ontology: Ontology, known: Mapping[NameKey, NamedNode]) -> Names:
    """The names in the extractions and the known ones; the order of the extractions does not matter."""
    forms: dict[NameKey, Counter[str]] = {key: Counter() for key in known}
    aliases: dict[NameKey, Counter[str]] = {}
    within: dict[str, set[str]] = {}
    containing = _containing(ontology)
    for extraction in extractions:
        for mention in dict.fromkeys((*extraction.mentions, *_claimed(extraction))):
            key = (mention.type, normalise(mention.name))
            if key[1]:
                forms.setdefault(key, Counter())[mention.name] += 1
                aliases.setdefault(key, Counter()).update(dict.fromkeys(mention.aliases, 1))
        for claim in extraction.claims:
            if claim.predicate in containing and isinstance(claim.object, Mention):
                first, second = normalise(claim.subject.name), normalise(claim.object.name)
                within.setdefault(first, set()).add(second)
                within.setdefault(second, set()).add(first)
    names = {
        key: Name(key, forms[key], aliases.get(key, Counter()), known.get(key)) for key in sorted(forms, key=sort_key)
    }
    return Names(names, {name: frozenset(others) for name, others in within.items()})


def _claimed(extraction: Extraction) -> Iterator[Mention]:
    for claim in extraction.claims:
        yield claim.subject
        if isinstance(claim.object, Mention):
            yield claim.object


def _containing(ontology: Ontology) -> frozenset[NamedNode]:
    """The properties that say what lies within what: the transitive ones, and those below them."""
    found = {iri for iri, term in ontology.properties.items() if term.transitive and term.is_object}
    while True:
        more = {iri for iri, term in ontology.properties.items() if iri not in found and found & set(term.parents)}
        if not more:
            return frozenset(found)
        found |= more
