"""The prompt of extraction: the ontology in few words, and the annotated examples nearest to the text.

A description that fixes how a value is written, or where one class ends and another begins, is said with its term
whatever room there is, in the language it exists in; others come and go with the text.

Nearest is by embedding where the embedder knows the language, else by the words that two texts share, rare ones
counting more (for Chinese, pairs of characters).
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.extraction.learnt.examples import AnnotatedExample
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import Ontology, OntologyClass, OntologyProperty, Word, label_of
from kgplatform.text import count_tokens, has_han, language_of, singular, words, words_of_identifier
from kgplatform.types import Embedder
from kgplatform.vocab import local_name

# The ontology. A large one does not fit beside the passage: terms whose words occur in it come first, then those in use
# beside them, until a budget of tokens is spent.


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words between the terms, in one language."""

    kind: str
    one: str
    example: str
    anything: str
    either: str
    comma: str
    part: str
    colon: str
    unit: str
    form: str


_SAID: Final = {
    "en": _Wording("kind of ", "one of: ", "e.g. ", "anything", " or ", ", ", "; ", ": ", " in ", "form "),
    "zh": _Wording("属于", "取值：", "例：", "任意", "或", "、", "；", "：", "，单位", "形式"),
}


def _wording(language: str) -> _Wording:
    return _SAID["zh" if language.startswith("zh") else "en"]


@dataclass(frozen=True, slots=True)
class SchemaLine:
    """A class or property with the name the model is to use, and its line in the prompt.

    ``depth`` is how many of the shown classes a class stands below, ``of`` what a property is said of.
    """

    name: str
    iri: NamedNode
    text: str
    depth: int = 0
    of: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """The part of an ontology that a prompt shows, with the IRIs of its names."""

    classes: tuple[SchemaLine, ...]
    properties: tuple[SchemaLine, ...]

    def class_iri(self, name: str) -> NamedNode | None:
        """The class with that name; None where the prompt shows no such class."""
        return _named(self.classes, name)

    def property_iri(self, name: str) -> NamedNode | None:
        """The property with that name; None where the prompt shows no such property."""
        return _named(self.properties, name)


def _named(lines: Iterable[SchemaLine], name: str) -> NamedNode | None:
    wanted = name.strip().casefold()
    return next((line.iri for line in lines if line.name.casefold() == wanted or line.iri.value == name.strip()), None)


def schema_of(ontology: Ontology, text: str, *, language: str = "en", budget: int = 2100) -> Schema:
    """The classes and properties to show beside the text, at most ``budget`` tokens of them, in a fixed order.

    Every term is shown with at least its place in the ontology, as long as that fits, and with a description that fixes
    a format or a boundary; those that the text names are explained too. Of a property and its inverse one is
    shown. Names are local names; where two classes or two properties share one, the IRI is the name of the second.
    """
    about = _About(text.casefold(), frozenset(singular(word) for word in words(text)), grams(text))
    class_names: set[str] = set()
    property_names: set[str] = set()
    tree = _tree(ontology)
    told = _alike(ontology) | {item.iri for item in tree.classes if _fixes(item)}
    weights = {item.iri: about.weight(item.words, item.comments) for item in tree.classes}
    ranks = _ranks(tree, weights)
    classes = [
        _Lines(
            _name(item.iri, class_names),
            item.iri,
            _class_short(item, tree, ontology, language, is_told=item.iri in told),
            _class_line(item, tree, ontology, language),
            weights[item.iri],
            ranks[item.iri],
            len(tree.above(item.iri)),
        )
        for item in tree.classes
    ]
    properties = [
        _property_lines(_name(term.iri, property_names), term, language, about.weight(term.words, term.comments))
        for term in _one_direction(ontology.domain_properties)
        if term.words
    ]
    texts = _within([*properties, *classes], budget)
    return Schema(_chosen(classes, texts), _chosen(properties, texts))


@dataclass(frozen=True, slots=True)
class _Tree:
    """The classes so that each comes after the class that it is put below, its first parent, and that class."""

    classes: tuple[OntologyClass, ...]
    parents: Mapping[NamedNode, NamedNode]

    def above(self, iri: NamedNode) -> list[NamedNode]:
        """The classes that the class stands below, the nearest first."""
        found: list[NamedNode] = []
        while iri in self.parents:
            iri = self.parents[iri]
            found.append(iri)
        return found


def _tree(ontology: Ontology) -> _Tree:
    known = {item.iri: item for item in ontology.domain_classes}
    below: dict[NamedNode, list[NamedNode]] = {}
    parents: dict[NamedNode, NamedNode] = {}
    for iri, item in known.items():
        parent = next((above for above in item.parents if above in known and above != iri), None)
        if parent is not None and iri not in _Tree((), parents).above(parent):  # classes may be kinds of one another
            parents[iri] = parent
            below.setdefault(parent, []).append(iri)
    ordered: list[OntologyClass] = []
    waiting = [iri for iri in reversed(list(known)) if iri not in parents]
    while waiting:
        iri = waiting.pop()
        ordered.append(known[iri])
        waiting += reversed(below.get(iri, []))
    return _Tree(tuple(ordered), parents)


def _ranks(tree: _Tree, weights: Mapping[NamedNode, int]) -> dict[NamedNode, int]:
    """How much the text speaks of each class or of one below it, for where that stands is said by what is above it."""
    ranks = dict(weights)
    for item in tree.classes:
        for above in tree.above(item.iri):
            ranks[above] = max(ranks[above], weights[item.iri])
    return ranks


def _one_direction(terms: Iterable[OntologyProperty]) -> list[OntologyProperty]:
    """The properties without those whose inverse comes before them."""
    shown: dict[NamedNode, OntologyProperty] = {}
    for term in terms:
        if term.inverse is None or term.inverse not in shown:
            shown[term.iri] = term
    return list(shown.values())


@dataclass(frozen=True, slots=True)
class _Lines:
    """What a term says of itself in brief and in full, and how much the text speaks of it.

    ``rank`` is the weight where it is shown for the sake of others; ``depth`` and ``of`` are those of its line.
    """

    name: str
    iri: NamedNode
    short: str
    full: str
    weight: int
    rank: int
    depth: int = 0
    of: str = ""


_SPOKEN_OF: Final = 1000
_SAID_APART: Final = 3
"""Words that a class has to share with the text to come before a property of which nothing is said.

A text seldom names a property (15 yuan a head), and always what is of a class.
"""
_EXAMPLES: Final = 2


@dataclass(frozen=True, slots=True)
class _About:
    """What a text is about: its letters, its words, and its words and pairs of Han characters."""

    lowered: str
    found: frozenset[str]
    grams: frozenset[str]

    def weight(self, terms: Iterable[Word], comments: Iterable[Word]) -> int:
        """How much the text speaks of a term: by name, else by how many words it shares with label and comment."""
        if any(self._has(word.text) for word in terms):
            return _SPOKEN_OF
        said = frozenset().union(*(grams(word.text) for word in (*terms, *comments)))
        return len(said & self.grams)

    def _has(self, text: str) -> bool:
        if has_han(text):
            return text.casefold() in self.lowered
        return {singular(part) for part in words(text)} <= self.found


def grams(text: str) -> frozenset[str]:
    """The words of four letters and more, and the pairs of Han characters: what tells one text from another.

    >>> sorted(grams("The temples of 乌镇 lie"))
    ['temple', '乌镇']
    """
    tokens = words(text)
    pairs = (first + second for first, second in pairwise(tokens) if has_han(first) and has_han(second))
    return frozenset((*pairs, *(singular(token) for token in tokens if len(token) > 3 and not has_han(token))))


def _within(terms: list[_Lines], budget: int) -> dict[NamedNode, str]:
    """What is shown of the terms that fit: all in brief, those that it names in full while there is room.

    Terms that the text speaks of most have precedence in both.
    """
    texts: dict[NamedNode, str] = {}
    room, groups = 4 * budget, {""}
    for term in sorted(terms, key=lambda term: (-term.rank, term.depth)):
        room -= _quarters(f"{' ' * term.depth}- {term.name}: {term.short}\n")
        room -= _quarters(f"{term.of}:\n") if term.of not in groups else 0
        if room < 0:
            break
        texts[term.iri] = term.short
        groups.add(term.of)
    for term in sorted((term for term in terms if term.weight >= _SPOKEN_OF), key=lambda term: -term.weight):
        room -= _quarters(term.full) - _quarters(term.short)
        if room < 0:
            break
        if term.iri in texts:
            texts[term.iri] = term.full
    return texts


def _quarters(text: str) -> int:
    """Quarters of a token, since a line is no whole number of them."""
    return count_tokens(4 * text)


def _chosen(terms: Iterable[_Lines], texts: Mapping[NamedNode, str]) -> tuple[SchemaLine, ...]:
    """The lines of the terms that are shown, in the order of the ontology."""
    return tuple(
        SchemaLine(term.name, term.iri, texts[term.iri], term.depth, term.of) for term in terms if term.iri in texts
    )


_LEXICON: Final = LexiconSection("extraction", "model_reader")
_BOUNDARY: Final = _LEXICON.pattern("boundary", re.IGNORECASE)


def _fixes(term: OntologyClass | OntologyProperty) -> bool:
    """Whether the description fixes a format or a boundary, by its words in any language, so that all are told it."""
    return any(_BOUNDARY.search(comment.text) for comment in term.comments)


def _alike(ontology: Ontology) -> frozenset[NamedNode]:
    """The classes that a word alone does not part, for it is in that of another: inn in family inn, boat in boat ride.

    Either they are below the same class and the other word ends with it, or it is the label of one that is in the
    label of the other.
    """
    parts: dict[str, dict[NamedNode, bool]] = {}
    ends: dict[str, set[NamedNode]] = {}
    for item in ontology.domain_classes:
        for word, is_label in _by_label(item):
            for start, end in combinations(range(len(word) + 1), 2):
                part = " ".join(word[start:end])
                parts.setdefault(part, {})[item.iri] = is_label or parts.get(part, {}).get(item.iri, False)
                if end == len(word):
                    ends.setdefault(part, set()).add(item.iri)
    found: set[NamedNode] = set()
    for item in ontology.domain_classes:
        for word, is_label in _by_label(item):
            for other, in_label in parts[said := " ".join(word)].items():
                beside = other in ends[said] and set(item.parents) & set(ontology.classes[other].parents)
                if other != item.iri and (beside or (is_label and in_label)) and not ontology.fits(other, (item.iri,)):
                    found |= {item.iri, other}
    return frozenset(found)


def _by_label(item: OntologyClass) -> Iterator[tuple[list[str], bool]]:
    """The words of a class in their parts, and whether each is the label of its language, the first."""
    languages: set[str] = set()
    for word in item.words:
        if len(word.text) > 1:
            yield [singular(part) for part in words(word.text)], word.language not in languages
        languages.add(word.language)


def _class_short(item: OntologyClass, tree: _Tree, ontology: Ontology, language: str, *, is_told: bool) -> str:
    said = _wording(language)
    own = "" if said is _SAID["en"] else label_of(item.words, language, "")  # an English name needs no English label
    if is_told:
        own = _said(item, language)
    return said.part.join(filter(None, [own, _kind(item, tree, ontology, said), _listed(item, ontology, language)]))


def _kind(item: OntologyClass, tree: _Tree, ontology: Ontology, said: _Wording) -> str:
    """What else the class is a kind of than that which it stands below."""
    others = (iri for iri in item.parents if iri in ontology.classes and iri != tree.parents.get(item.iri))
    above = [local_name(iri.value) for iri in others]
    return f"{said.kind}{said.comma.join(above)}" if above else ""


def _listed(item: OntologyClass, ontology: Ontology, language: str) -> str:
    """The values of a closed list; a model cannot choose among what it does not see."""
    said = _wording(language)
    values = [ontology.label(iri, language) for iri, value in ontology.individuals.items() if item.iri in value.types]
    return f"{said.one}{said.comma.join(values)}" if values else ""


def _property_lines(name: str, term: OntologyProperty, language: str, weight: int) -> _Lines:
    said = _wording(language)
    fixes = _fixes(term)
    own = "" if said is _SAID["en"] else f" | {label_of(term.words, language, '')}"
    form = f"{said.form}{term.pattern}" if term.pattern and len(term.pattern) <= 60 and not fixes else ""
    meaning = said.part.join(filter(None, [_said(term, language), form]))
    domain, range_ = (
        said.either.join(local_name(iri.value) for iri in classes) or said.anything
        for classes in (term.domains, term.ranges)
    )
    range_ += f"{said.unit}{term.unit}" if term.unit else ""
    full = " | ".join(filter(None, [range_, meaning]))
    return _Lines(
        name, term.iri, full if fixes or form else f"{range_}{own}", full, weight, weight + _SAID_APART, of=domain
    )


def _name(iri: NamedNode, names: set[str]) -> str:
    name = local_name(iri.value)
    name = iri.value if name.casefold() in names else name
    names.add(name.casefold())
    return name


def _class_line(item: OntologyClass, tree: _Tree, ontology: Ontology, language: str) -> str:
    said = _wording(language)
    own = [word.text for word in item.examples if word.language == language[:2]]
    examples = (own or [word.text for word in item.examples])[:_EXAMPLES]
    shown = said.example + said.comma.join(examples) if examples else ""
    parts = [_said(item, language), _kind(item, tree, ontology, said), shown]
    return said.part.join(filter(None, [*parts, _listed(item, ontology, language)]))


def _said(term: OntologyClass | OntologyProperty, language: str) -> str:
    """Label and comment, without a label that only repeats the name."""
    label = label_of(term.words, language, "")
    label = "" if _plain(label) == _plain(local_name(term.iri.value)) else label
    return _wording(language).colon.join(filter(None, [label, label_of(term.comments, language, "")]))


def _plain(name: str) -> str:
    return "".join(words_of_identifier(name).split())


# Demonstrations

_LONGEST = 1500
"""Longer examples are left out: they would cost more than the passage they are to help with."""


class Demonstrations:
    """The annotated examples of a workspace; safe for several threads."""

    def __init__(self, examples: Sequence[AnnotatedExample], *, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._by_language: dict[str, list[AnnotatedExample]] = {}
        for example in examples:
            if len(example.text) <= _LONGEST:
                self._by_language.setdefault(language_of(example.text), []).append(example)
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._rarity: dict[str, tuple[list[frozenset[str]], dict[str, float]]] = {}
        self._lock = threading.Lock()

    def nearest(self, text: str, k: int) -> tuple[AnnotatedExample, ...]:
        """At most ``k`` examples in the language of the text, the most similar last, next to the passage."""
        language = language_of(text)
        examples = self._by_language.get(language, [])
        if k <= 0 or not examples:
            return ()
        if len(examples) <= k:
            return tuple(examples)
        with self._lock:
            knows = self._embedder is not None and _knows(self._embedder, language)
            scores = self._similar(text, language) if knows else self._shared(text, language)
        best = sorted(range(len(examples)), key=lambda index: (-scores[index], index))[:k]
        return tuple(examples[index] for index in reversed(best))

    def _similar(self, text: str, language: str) -> list[float]:
        if self._embedder is None:
            raise AssertionError("asked for only where there is an embedder")
        if language not in self._vectors:
            self._vectors[language] = self._embedder.embed([example.text for example in self._by_language[language]])
        vector = self._embedder.embed([text])[0]
        return [float(score) for score in self._vectors[language] @ vector]

    def _shared(self, text: str, language: str) -> list[float]:
        if language not in self._rarity:
            found = [grams(example.text) for example in self._by_language[language]]
            counts = Counter(gram for each in found for gram in each)
            self._rarity[language] = found, {gram: math.log(1 + len(found) / n) for gram, n in counts.items()}
        found, rarity = self._rarity[language]
        wanted = grams(text)
        return [sum(rarity[gram] for gram in each & wanted) / math.sqrt(1 + len(each)) for each in found]


def _knows(embedder: Embedder, language: str) -> bool:
    languages = frozenset(getattr(embedder, "languages", None) or ())
    return not languages or language in languages
