"""The words of an ontology, compiled for reading: which words name a class, which say a property.

Class words are nouns that end (or begin) a name: "Temple" in "Lingyin Temple", "寺" in "灵隐寺". Property cues
are what stands between two names or before a value. Question phrases among the lexical forms ("where is",
"谁写的") serve the question side and are left out here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import Ontology, OntologyClass, OntologyProperty, Word
from kgplatform.text import has_han, singular

_LEXICON: Final = LexiconSection("extraction", "ontology_lexicon")
FUNCTION_WORDS: Final = _LEXICON.words("function_words")
KINDS: Final = _LEXICON.table("kinds")
"""What a class may be called whose things are persons, places or organisations, the likeliest first."""
FILLERS: Final = _LEXICON.words("fillers")
_QUESTION = _LEXICON.pattern("question")
_GAP = re.compile(r"\s*(?:…+|\.\.\.)\s*")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*")
_HAN_FILLERS = _LEXICON.pattern("han_fillers")
_MIN_CLASS_COUNT = 3


@dataclass(frozen=True, slots=True)
class Cue:
    """A lexical form of a property: ``after`` is what must follow the object ("由…开设"), ``rank`` 0 for a label."""

    term: OntologyProperty
    text: str
    after: str = ""
    rank: int = 0


def tokens(text: str) -> list[str]:
    """The words of a text for comparing phrases: case-folded, each Han character by itself."""
    return [match.group().casefold().replace("’", "'") for match in _TOKEN.finditer(text)]


@lru_cache(maxsize=65_536)
def phrase_key(text: str) -> str:
    """What two spellings of a connecting phrase have in common: no articles, auxiliaries or adverbs.

    >>> phrase_key("is located in"), phrase_key("was also just located in the"), phrase_key(", 就位于")
    ('located in', 'located in', '位于')
    """
    if has_han(text):
        return _HAN_FILLERS.sub("", text).casefold()
    kept = [word for word in tokens(text) if word not in FILLERS]
    return " ".join(kept)


@dataclass(frozen=True)
class Lexicon:
    """The compiled words: ``class_words`` by singular form, ``between`` cues by `phrase_key`, ``labels`` by words."""

    ontology: Ontology
    class_words: Mapping[str, NamedNode]
    han_suffixes: Mapping[str, NamedNode]
    between: Mapping[str, tuple[Cue, ...]]
    around: tuple[Cue, ...]
    labels: Mapping[str, tuple[Cue, ...]]
    value_cues: Mapping[str, tuple[Cue, ...]]
    value_pattern: re.Pattern[str] | None
    keys: tuple[tuple[NamedNode, OntologyProperty, re.Pattern[str]], ...]
    titled: NamedNode | None
    value_relations: tuple[Cue, ...] = ()
    han_phrases: re.Pattern[str] | None = None
    names: Mapping[str, NamedNode] = field(default_factory=dict)
    values: Mapping[str, NamedNode] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> Mapping[str, NamedNode]:
        """The classes of persons, places and organisations, by these words, as far as the ontology has them."""
        named = {word.text.casefold(): item.iri for item in self.ontology.domain_classes for word in item.words[::-1]}
        found = {kind: next((named[word] for word in words if word in named), None) for kind, words in KINDS.items()}
        return {kind: class_ for kind, class_ in found.items() if class_ is not None}

    def depth(self, class_: NamedNode) -> int:
        """How specific a class is: the number of classes above it."""
        return len(self.ontology.superclasses(class_))

    def general(self, class_: NamedNode) -> NamedNode:
        """The class that things enumerated together may share: the one above, where that says something still."""
        ontology = self.ontology
        for parent in ontology.classes[class_].parents if class_ in ontology.classes else ():
            below = ontology.subclasses(parent)
            telling = parent in ontology.classes and 2 * len(below) <= len(ontology.domain_classes)
            if telling and not any(ontology.disjoint(class_, other) for other in below):
                return parent
        return class_

    def is_specific(self, term: OntologyProperty) -> bool:
        """Whether few kinds of things have the property: less than a third of the classes."""
        return self._few(term.domains) and not set(term.domains) & set(term.ranges)

    @cached_property
    def heard_suffixes(self) -> Mapping[str, frozenset[NamedNode]]:
        """The classes that one Chinese character stands for, by how it is read: yuan, si, qiao."""
        from pypinyin import lazy_pinyin  # its tables take a while to load

        found: dict[str, set[NamedNode]] = defaultdict(set)
        for word, class_ in self.han_suffixes.items():
            if len(word) == 1:
                found[lazy_pinyin(word)[0]].add(class_)
        return {heard: frozenset(classes) for heard, classes in found.items()}

    @cached_property
    def telling(self) -> Mapping[str, tuple[Cue, ...]]:
        """The verbs of the properties that few kinds of things have and that lead to few kinds of unlisted things."""
        ontology = self.ontology
        closed = {type_ for item in ontology.individuals.values() for type_ in item.types}
        closed |= {item.iri for item in ontology.domain_classes if item.key}
        found: dict[str, list[Cue]] = defaultdict(list)
        for cue in (cue for cues in self.labels.values() for cue in cues):
            term, first = cue.term, cue.text.split(" ")[0]
            says = has_han(cue.text) or (len(first) > 4 and first.endswith("s") and not first.endswith("ss"))
            leads = term.is_object and len(term.ranges) == 1 and not closed & set(term.ranges)
            if says and leads and self.is_specific(term) and self._few(term.ranges):
                stem = cue.text.casefold()
                found[stem if has_han(stem) else re.sub(r"^(\w+)s\b", r"\1", stem)].append(cue)
        return {stem: tuple(cues) for stem, cues in found.items()}

    @cached_property
    def telling_pattern(self) -> re.Pattern[str] | None:
        """Finds the telling verbs in a text, in any of their forms; group 1 or 2 is the key of `telling`."""
        stems = sorted(self.telling, key=len, reverse=True)
        han = "|".join(re.escape(stem) for stem in stems if has_han(stem))
        latin = "|".join(re.escape(stem) for stem in stems if not has_han(stem))
        options = [rf"\b({latin})(?:s|es|ed|d|ing)?\b(?!\s?[:：])"] * bool(latin) + [f"({han})"] * bool(han)
        return re.compile("|".join(options), re.IGNORECASE) if options else None

    def _few(self, classes: Iterable[NamedNode]) -> bool:
        kinds = {item for class_ in classes for item in self.ontology.subclasses(class_)}
        return bool(kinds) and 3 * len(kinds) < max(len(self.ontology.domain_classes), 12)

    def best(self, cues: Iterable[Cue], subject: NamedNode, object_: NamedNode | None = None) -> Cue | None:
        """The cue whose property is admitted between the classes and says the most about them."""
        admitted = [cue for cue in cues if self.ontology.admits(cue.term.iri, subject, object_)]
        return min(admitted, key=lambda cue: (cue.rank, *self._width(cue.term), cue.term.order), default=None)

    def _width(self, term: OntologyProperty) -> tuple[int, int]:
        domain = sum(len(self.ontology.subclasses(item)) for item in term.domains)
        range_ = sum(len(self.ontology.subclasses(item)) for item in term.ranges)
        return range_, domain


def compile_lexicon(ontology: Ontology) -> Lexicon:
    """The lexicon of an ontology; done once for each extractor."""
    roots = _roots(ontology)
    class_words = _class_words(ontology, roots)
    between: dict[str, list[Cue]] = defaultdict(list)
    around: list[Cue] = []
    labels: dict[str, list[Cue]] = defaultdict(list)
    values: dict[str, list[Cue]] = defaultdict(list)
    for cue in _cues(ontology):
        if cue.after:
            around.append(cue)
            continue
        labels[label_key(cue.text)].append(cue)
        if cue.term.is_object:
            if key := phrase_key(cue.text):
                between[key].append(cue)
        else:
            values[cue.text.casefold()].append(cue)
    return Lexicon(
        ontology=ontology,
        class_words={word: iri for word, iri in class_words.items() if not has_han(word)},
        han_suffixes={word: iri for word, iri in class_words.items() if has_han(word)},
        between={key: tuple(cues) for key, cues in between.items()},
        around=tuple(around),
        labels={key: tuple(cues) for key, cues in labels.items() if key},
        value_cues={key: tuple(cues) for key, cues in values.items()},
        value_pattern=_alternatives(values),
        keys=tuple(_key_patterns(ontology)),
        titled=_titled(ontology),
        han_phrases=_han_phrases([*between, *values]),
        value_relations=_value_relations(ontology, (cue for cues in labels.values() for cue in cues)),
        names=_example_names(ontology),
        values=dict(_individual_words(ontology)),
    )


def _han_phrases(words: Iterable[str]) -> re.Pattern[str] | None:
    listed = sorted((word for word in words if has_han(word) and len(word) >= 2), key=len, reverse=True)
    return re.compile(r"(?:\d{3,4}年)?(?:" + "|".join(map(re.escape, listed)) + ")") if listed else None


def _value_relations(ontology: Ontology, cues: Iterable[Cue]) -> tuple[Cue, ...]:
    """The forms of object properties that lead to named values, longest first; single function words left out."""
    listed = {type_ for item in ontology.individuals.values() for type_ in item.types}
    found = [
        cue
        for cue in cues
        if cue.term.is_object and listed & set(cue.term.ranges) and cue.text.casefold() not in FUNCTION_WORDS
    ]
    return tuple(sorted(found, key=lambda cue: (-len(cue.text), cue.text)))


def label_key(text: str) -> str:
    """A label or heading as compared: singular words, no articles; several words in their order.

    >>> label_key("The Learning Outcomes:"), label_key("先修课程：")
    ('learning outcome', '先修课程')
    """
    if has_han(text):
        return re.sub(r"[\s：:*#|（）()]", "", text).casefold()
    return " ".join(singular(word) for word in tokens(text) if word not in ("the", "a", "an"))


def _alternatives(words: Iterable[str]) -> re.Pattern[str] | None:
    listed = sorted(words, key=len, reverse=True)
    if not listed:
        return None
    parts = [re.escape(word) if has_han(word) else rf"\b{re.escape(word)}s?\b" for word in listed]
    return re.compile("|".join(parts), re.IGNORECASE)


def _usable(words: Iterable[Word]) -> Iterator[tuple[int, str]]:
    """The words that are no questions, with rank 0 for the first of a language."""
    seen: set[str] = set()
    for word in words:
        rank = int(word.language in seen)
        seen.add(word.language)
        if not _QUESTION.search(word.text.casefold()):
            yield rank, word.text.strip()


def _roots(ontology: Ontology) -> frozenset[NamedNode]:
    """The classes that stand for anything: above at least half of all others."""
    known = ontology.domain_classes
    if len(known) < _MIN_CLASS_COUNT:
        return frozenset()
    return frozenset(item.iri for item in known if 2 * len(ontology.subclasses(item.iri)) > len(known))


def _class_words(ontology: Ontology, roots: frozenset[NamedNode]) -> dict[str, NamedNode]:
    claims: dict[str, list[tuple[int, NamedNode]]] = defaultdict(list)
    for item in ontology.domain_classes:
        if item.iri in roots and not _special(item, ontology):
            continue
        for rank, text in _usable(item.words):
            key = text.casefold() if has_han(text) else " ".join(singular(word) for word in tokens(text))
            if key and not key.startswith(("to ", "in ", "is ")) and "的" not in key:
                claims[key].append((rank, item.iri))
    return {key: _settled(options, ontology) for key, options in claims.items()}


def _special(item: OntologyClass, ontology: Ontology) -> bool:
    return bool(item.parents) and any(parent in ontology.classes for parent in item.parents)


def _settled(options: list[tuple[int, NamedNode]], ontology: Ontology) -> NamedNode:
    """The class that a word means when several claim it: by label first, else what all claimants share."""
    lowest = min(rank for rank, _ in options)
    classes = list(dict.fromkeys(iri for rank, iri in options if rank == lowest))
    if len(classes) == 1:
        return classes[0]
    shared = frozenset.intersection(*(ontology.superclasses(iri) for iri in classes))
    own = [iri for iri in classes if iri in shared]
    if own:
        return own[0]
    named = [iri for iri in shared if iri in ontology.classes and ontology.classes[iri].parents]
    return max(named, key=lambda iri: len(ontology.superclasses(iri)), default=classes[0])


def _cues(ontology: Ontology) -> Iterator[Cue]:
    for term in ontology.domain_properties:
        if not term.words or not (term.ranges or term.domains):
            continue
        for rank, text in _usable(term.words):
            parts = [part for part in _GAP.split(text.replace("...", "…")) if part]
            if "…" not in text and "..." not in text:
                yield Cue(term, text, rank=rank)
            elif len(parts) == 2:
                yield Cue(term, parts[0], parts[1], rank)
            elif len(parts) == 1 and text.startswith(("…", "...")):
                yield Cue(term, "", parts[0], rank)


def _key_patterns(ontology: Ontology) -> Iterator[tuple[NamedNode, OntologyProperty, re.Pattern[str]]]:
    for item in ontology.domain_classes:
        for iri in item.key:
            term = ontology.properties.get(iri)
            if term is None or not term.pattern:
                continue
            try:
                pattern = re.compile(rf"(?<![\w.-])(?:{term.pattern})(?![\w-])")
            except re.error:
                continue
            yield item.iri, term, pattern


def _titled(ontology: Ontology) -> NamedNode | None:
    """The class of works with a title: what stands between title marks 《》."""
    for term in ontology.domain_properties:
        spoken = {word.text.casefold() for word in term.words}
        if not term.is_object and term.domains and spoken & {"title", "标题", "题名", "书名"}:
            return term.domains[0]
    return None


def _example_names(ontology: Ontology) -> dict[str, NamedNode]:
    """The proper names given as examples of classes, each with its most special class."""
    found: dict[str, list[NamedNode]] = defaultdict(list)
    listed = {type_ for item in ontology.individuals.values() for type_ in item.types}
    for item in ontology.domain_classes:
        for word in item.examples if item.iri not in listed else ():
            if word.language and not (has_han(word.text) and len(word.text) < 2):
                found[word.text].append(item.iri)
    return {name: most_special(classes, ontology) for name, classes in found.items()}


def most_special(classes: Iterable[NamedNode], ontology: Ontology) -> NamedNode:
    """The class with the most classes above it; of equals the first."""
    return max(classes, key=lambda iri: len(ontology.superclasses(iri)))


def _individual_words(ontology: Ontology) -> Iterator[tuple[str, NamedNode]]:
    counted = Counter(
        word.text.casefold() for item in ontology.individuals.values() if item.types for word in item.words
    )
    for iri, item in ontology.individuals.items():
        for word in item.words if item.types else ():
            if counted[word.text.casefold()] == 1 or word in item.words[:2]:
                yield word.text.casefold(), iri
