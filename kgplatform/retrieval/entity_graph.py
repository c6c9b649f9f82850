"""A graph of things and relations, ready to be asked: by name, by likeness, and from thing to neighbour.

Things and relations are known by their places in `Knowledge`. Parallel relations stay apart; ``degree`` counts the
relations at a thing, and the rank of a relation is the sum of the degrees of its ends (the travel framework, section on
relation linking).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval.knowledge import Knowledge, Thing
from kgplatform.retrieval.nearness import Near, NearTexts, TextVectors, nearest
from kgplatform.retrieval.phrases import NameFinder, name_key
from kgplatform.text import has_han

_EXACT: Final = 1.0


@dataclass(frozen=True, slots=True)
class Match:
    """A stored thing that words stand for; ``exact``: by one of its names, else by likeness."""

    thing: int
    similarity: float
    exact: bool


class EntityGraph:
    """Things, relations, keywords and reports of `Knowledge`; ``vectors`` None: likeness is by words.

    What is embedded is embedded when first asked for.
    """

    def __init__(self, knowledge: Knowledge, vectors: TextVectors | None = None) -> None:
        self.knowledge = knowledge
        self._vectors = vectors
        self.places = {thing.iri: place for place, thing in enumerate(knowledge.things)}
        self.ends: tuple[tuple[int, int], ...] = tuple(
            (self.places[relation.subject], self.places[relation.object]) for relation in knowledge.relations
        )
        around: list[list[int]] = [[] for _ in knowledge.things]
        for number, (subject, object_) in enumerate(self.ends):
            around[subject].append(number)
            if object_ != subject:
                around[object_].append(number)
        self.around: tuple[tuple[int, ...], ...] = tuple(map(tuple, around))
        self._named: dict[str, list[int]] = {}
        for place, thing in enumerate(knowledge.things):
            for key in dict.fromkeys(name_key(name) for name in (thing.label, *thing.names)):
                if key:
                    self._named.setdefault(key, []).append(place)

    def thing(self, place: int) -> Thing:
        """The thing at the place."""
        return self.knowledge.things[place]

    def degree(self, thing: int) -> int:
        """How many relations the thing has."""
        return len(self.around[thing])

    def rank(self, relation: int) -> int:
        """The degrees of the relation's two ends together."""
        subject, object_ = self.ends[relation]
        return self.degree(subject) + self.degree(object_)

    def other(self, relation: int, thing: int) -> int:
        """The end of the relation that is not the thing."""
        subject, object_ = self.ends[relation]
        return object_ if subject == thing else subject

    @cached_property
    def find_names(self) -> NameFinder:
        """Finds the names of things in a text, by their keys."""
        return NameFinder(self._named)

    def named(self, name: str) -> list[int]:
        """The things of exactly that name, the best tied first."""
        return sorted(self._named.get(name_key(name), ()), key=lambda place: (-self.degree(place), place))

    def prepare(self, words: Sequence[str]) -> None:
        """Embeds the words together, which is quicker than one by one, for the calls of `match` that follow.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        wanted = [text for text in words if self._vectors and self._vectors.knows(text) and not self.named(text)]
        if self._vectors and wanted:
            self._vectors.asked(*wanted)

    def match(self, words: str, most: int = 1, *, least: float = 0.0) -> list[Match]:
        """The things that the words stand for: those of that name, then those most like it.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        exact = [Match(place, _EXACT, exact=True) for place in self.named(words)[:most]]
        if len(exact) >= most:
            return exact
        taken = {match.thing for match in exact}
        near = self.near_things.near(words, most + len(taken), least=least)
        like = [Match(n.place, n.similarity, exact=False) for n in near if n.place not in taken]
        return [*exact, *like][:most]

    @cached_property
    def near_things(self) -> NearTexts:
        """The things by name, class and description."""
        return self._near([thing.text for thing in self.knowledge.things])

    @cached_property
    def near_relations(self) -> NearTexts:
        """The relations in words."""
        return self._near([relation.text for relation in self.knowledge.relations])

    @cached_property
    def near_keywords(self) -> NearTexts:
        """The keywords of passages."""
        return self._near([keyword.text for keyword in self.knowledge.keywords])

    @cached_property
    def near_reports(self) -> NearTexts:
        """The reports on communities."""
        return self._near([report.whole for report in self.knowledge.reports])

    @cached_property
    def _in_chinese(self) -> NearTexts:
        """The relations in Chinese, compared by words: a text of two languages would mislead a model of one."""
        return NearTexts([relation.chinese for relation in self.knowledge.relations], None)

    def relation_likeness(self, question: str) -> NDArray[np.float32]:
        """How like the question each relation is, 0..1; a Chinese question is compared with its Chinese words too.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        found = self.near_relations.similarities(question)
        return np.maximum(found, self._in_chinese.similarities(question)) if has_han(question) else found

    def relation_near(self, question: str, most: int, *, least: float = 0.0) -> list[Near]:
        """At most ``most`` relations that are more than ``least`` like the question, the nearest first."""
        return nearest(self.relation_likeness(question), most, least=least)

    def _near(self, texts: list[str]) -> NearTexts:
        made = NearTexts(texts, self._vectors)
        if self._vectors:
            self._vectors.keep(self.knowledge.texts)
        return made
