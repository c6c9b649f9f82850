"""Which property an adjective measures: by what the ontology says in its comments, by its words, by its unit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.questions.cues import read_cues
from kgplatform.questions.names import NameIndex
from kgplatform.questions.quantities import Amount
from kgplatform.questions.schema import SchemaProperty
from kgplatform.questions.tokens import tokens_of
from kgplatform.questions.wording import ADJECTIVES, SUPERLATIVES, UNIT_SENSES, keys, sense_keys, stem
from kgplatform.text import has_han

_MEANS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s*(?:means|stands for|=|表示|意为|指|即|为)\s*(\S.*)", re.IGNORECASE)
_UNLESS = re.compile(r"\b(?:unless|except|but not|rather than|not by)\b|除非|而不是", re.IGNORECASE)
_REMEMBERED = 20_000
_WORDS = re.compile(r"[^\W\d_]+")
_CLAUSE = re.compile(r"[;.。；](?=\s|$|[^\d])")


@dataclass(frozen=True, slots=True)
class Convention:
    """What an adjective means of a class, as its comment says: a property compared with a number."""

    predicate: NamedNode
    amount: Amount


_UNITS_IN_ENGLISH = {"星": "star", "分钟": "min", "小时": "h", "公里": "km", "米": "m", "公斤": "kg"}


class Measures:
    """Finds the measured properties of the classes of one graph."""

    def __init__(self, names: NameIndex) -> None:
        self._names = names
        self._schema = names.schema
        self._conventions: dict[tuple[tuple[NamedNode, ...], str], Convention | None] = {}
        self._by_senses: dict[tuple[object, ...], NamedNode | None] = {}

    def literal_properties(self, types: Iterable[NamedNode]) -> list[SchemaProperty]:
        """The properties with literal values that things of these classes have, the most frequent first."""
        counts: dict[NamedNode, int] = {}
        for iri in types:
            for edge in self._schema.outgoing.get(iri, ()):
                if edge.literal and edge.predicate in self._schema.properties:
                    counts[edge.predicate] = counts.get(edge.predicate, 0) + edge.count
        ranked = sorted(counts, key=lambda p: (-counts[p], p.value))
        return [self._schema.properties[p] for p in ranked]

    def by_senses(
        self, types: Iterable[NamedNode], senses: Iterable[str], *, adjective: str = "", ordered: bool = True
    ) -> NamedNode | None:
        """The property of these classes that measures one of the senses, the first sense first."""
        listed, wanted = tuple(types), tuple(senses)
        key = (listed, wanted, adjective, ordered)
        if key not in self._by_senses:
            self._by_senses[key] = self._of_senses(listed, wanted, adjective, ordered=ordered)
        return self._by_senses[key]

    def _of_senses(
        self, listed: tuple[NamedNode, ...], senses: tuple[str, ...], adjective: str, *, ordered: bool
    ) -> NamedNode | None:
        candidates = [p for p in self.literal_properties(listed) if not ordered or p.numeric or p.temporal]
        known = {p.iri for p in candidates}
        told = self._told(listed, adjective, known) if adjective else None
        if told is not None:
            return told
        for key in sense_keys(senses):
            scored = [n for n in self._names.terms.get(key, ()) if n.term in known]
            if scored:
                best = max(scored, key=lambda n: (n.score, -len(str(n.term))))
                assert isinstance(best.term, NamedNode)
                return best.term
        if ("date" in senses or "time" in senses) and adjective not in _OF_LENGTH:
            return next((p.iri for p in candidates if p.temporal), None)
        return None

    def through(self, types: Iterable[NamedNode], senses: Iterable[str]) -> tuple[NamedNode, NamedNode] | None:
        """A relation that names one of the senses, to things that hold the number: a price and its amount."""
        listed = {edge.predicate for iri in types for edge in self._schema.outgoing.get(iri, ()) if not edge.literal}
        for key in sense_keys(senses):
            for name in self._names.terms.get(key, ()):
                if name.term not in listed or not isinstance(name.term, NamedNode):
                    continue
                number = self.number_in(self._schema.ranges(name.term))
                if number is not None:
                    return name.term, number
        return None

    def held_by(self, predicate: NamedNode, types: Iterable[NamedNode]) -> NamedNode | None:
        """The number in what a relation leads to, where its name is that of a measure: a price, not a prerequisite."""
        term = self._schema.properties.get(predicate)
        said = {part for word in (term.words if term else ()) for key, _ in keys(word.text) for part in key}
        return self.number_in(types) if said & _MEASURED else None

    def number_in(self, types: Iterable[NamedNode]) -> NamedNode | None:
        """The one number that things of these classes hold, as a price holds its amount; None for none or several."""
        numbers = [p.iri for p in self.literal_properties(types) if p.numeric]
        return numbers[0] if len(numbers) == 1 else None

    def by_unit(self, types: Iterable[NamedNode], unit: str) -> NamedNode | None:
        """The property of these classes whose ontology unit is the one named."""
        wanted = stem(_UNITS_IN_ENGLISH.get(unit, unit)) if unit else ""
        currency = {"元", "块", "块钱", "yuan", "rmb", "cny"}
        for term in self.literal_properties(types):
            own = term.unit.casefold()
            if wanted and own and (stem(own) == wanted or (unit.casefold() in currency and own in currency)):
                return term.iri
        return None

    def _told(self, types: Iterable[NamedNode], adjective: str, known: set[NamedNode]) -> NamedNode | None:
        """The property that a class comment names for "largest" and the like."""
        wanted = {stem(adjective), *(stem(word) for word, base in SUPERLATIVES.items() if base == adjective)}
        for clause in self._clauses(types):
            if wanted & {stem(token.text) for token in tokens_of(clause)}:
                found = self._property_in(clause, known)
                if found is not None:
                    return found
        return None

    def _clauses(self, types: Iterable[NamedNode]) -> Iterable[str]:
        for iri in types:
            term = self._schema.classes.get(iri)
            for comment in term.comments if term else ():
                yield from filter(None, (part.strip() for part in _CLAUSE.split(comment.text)))

    def _property_in(self, clause: str, known: set[NamedNode]) -> NamedNode | None:
        best: tuple[float, int, NamedNode] | None = None
        clause = _UNLESS.split(clause)[0]
        for span in self._names.schema_terms(tokens_of(clause), clause):
            for name in span.names:
                if name.kind == "property" and isinstance(name.term, NamedNode) and name.term in known:
                    candidate = (name.score, span.last, name.term)
                    if best is None or candidate[:2] > best[:2]:
                        best = candidate
        return best[2] if best else None

    def convention(self, types: Iterable[NamedNode], word: str) -> Convention | None:
        """What the comments of the classes say that the word means, if they put it as a number."""
        listed, wanted = tuple(types), stem(word)
        if (listed, wanted) not in self._conventions:
            if len(self._conventions) >= _REMEMBERED:
                self._conventions.clear()
            self._conventions[listed, wanted] = self._convention(listed, wanted)
        return self._conventions[listed, wanted]

    def _convention(self, listed: tuple[NamedNode, ...], wanted: str) -> Convention | None:
        known = {p.iri for p in self.literal_properties(listed) if p.numeric}
        for clause, said in self._defining(listed):
            if wanted not in clause.casefold():
                continue
            amount = _told_as_number(clause, wanted) if said in known else None
            if amount is not None and said is not None:
                return Convention(said, amount)
            tokens = tokens_of(clause)
            if wanted not in {stem(token.text) for token in tokens}:
                continue
            amounts = [a for a in read_cues(clause, tokens, frozenset()).amounts if a.compared]
            if not amounts:
                continue
            place = next(i for i, token in enumerate(tokens) if stem(token.text) == wanted)
            amount = next((a for a in reversed(amounts) if a.last <= place), amounts[0])
            predicate = said or self._property_in(clause, known) or self.by_senses(listed, amount.senses)
            if predicate in known and predicate is not None:
                return Convention(predicate, amount)
        return None

    def _defining(self, types: tuple[NamedNode, ...]) -> Iterable[tuple[str, NamedNode | None]]:
        """The clauses of the comments of classes, and of their measured properties with the property."""
        for clause in self._clauses(types):
            yield clause, None
        for term in self.literal_properties(types):
            for comment in term.comments if term.numeric else ():
                for part in _CLAUSE.split(comment.text):
                    yield part.strip(), term.iri


_MEASURED = frozenset(
    f"~{sense}" for listed in (*(told for told, _ in ADJECTIVES.values()), *UNIT_SENSES.values()) for sense in listed
)
_OF_LENGTH = frozenset(("long", "short", "长", "短"))
"""Adjectives of how long something lasts, which is no date."""
_OF_AGE = frozenset(("old", "young", "older", "younger", "oldest", "youngest", "老", "年轻", "年长"))


def by_age(term: SchemaProperty | None, word: str) -> bool:
    """Whether the word turns round for this property: the oldest have the earliest dates, but the highest ages."""
    if term is None or word not in _OF_AGE or term.temporal or not term.numeric:
        return False
    return any("~age" in key for said in term.words for key, _ in keys(said.text))


def _told_as_number(clause: str, word: str) -> Amount | None:
    """The number that a comment says the word stands for: "0 means free"."""
    match = _MEANS.search(clause)
    said = {stem(part) for part in _WORDS.findall(match[2])} if match else set()
    if match is None or not (word in said or (has_han(word) and any(word in part for part in said))):
        return None
    return Amount(0, 0, "=", match[1], None, (), compared=True)
