"""Names as documents use them: their spellings, what they add to the words of their class, and counts by document."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from pyoxigraph import NamedNode

from kgplatform.documents.records import NameKey, claimed, key_of, line, node, packed_key
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import Ontology, OntologyClass
from kgplatform.text import has_han, normalise, singular, words
from kgplatform.types import Extraction, Mention


@dataclass(frozen=True)
class NameEntry:
    """A name of a class: how it is spelt and what else it is called, each with how often; its entity if known.

    ``narrowed`` is the class of the thing it turned out to stand for; ``keys`` are values that tell things of its
    class apart, ``context`` what is said of it: property and value, as they stand in the text.
    """

    key: NameKey
    forms: Counter[str] = field(default_factory=Counter)
    aliases: Counter[str] = field(default_factory=Counter)
    known: NamedNode | None = None
    narrowed: NamedNode | None = None
    keys: frozenset[tuple[NamedNode, str]] = frozenset()
    context: tuple[tuple[NamedNode, str], ...] = ()

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
class NameTable:
    """All names, in the order of their keys.

    ``within`` holds names that a transitive property ties, both ways; ``above`` the same from what lies in something.
    """

    by_key: Mapping[NameKey, NameEntry]
    within: Mapping[str, Set[str]]
    above: Mapping[str, Set[str]]

    def __iter__(self) -> Iterator[NameEntry]:
        return iter(self.by_key.values())

    def tied(self, first: str, second: str) -> bool:
        """Whether one is said to lie within the other, or be part of it, in one or two steps.

        Two that lie in the same are not tied by that: both may be one.
        """
        return second in self.within.get(first, ()) or self._far(first, second) or self._far(second, first)

    def _far(self, lower: str, upper: str) -> bool:
        return any(upper in self.above.get(step, ()) for step in self.above.get(lower, ()))


def sort_key(key: NameKey) -> tuple[str, str]:
    """What keys are ordered by."""
    return key[1], key[0].value


class Telling:
    """The properties whose value tells a thing of a class from all others."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._of: dict[NamedNode, frozenset[NamedNode]] = {}

    def of(self, type_: NamedNode) -> frozenset[NamedNode]:
        """Those of a class and the ones above it."""
        if type_ not in self._of:
            above = (self._ontology.classes.get(iri) for iri in self._ontology.superclasses(type_))
            self._of[type_] = frozenset(key for term in above if term for key in term.key)
        return self._of[type_]


def containing(ontology: Ontology) -> dict[NamedNode, bool]:
    """The properties that say what lies within what: the transitive ones, and those below them.

    True for one direction, False for the inverse of one that is true.
    """
    found = {iri for iri, term in ontology.properties.items() if term.transitive and term.is_object}
    while True:
        more = {iri for iri, term in ontology.properties.items() if iri not in found and found & set(term.parents)}
        if not more:
            break
        found |= more
    ways: dict[NamedNode, bool] = {}
    for iri in sorted(found, key=lambda iri: (ontology.properties[iri].inverse is not None, iri.value)):
        term = ontology.properties[iri]
        known = [ways[other] for other in term.parents if other in ways]
        ways[iri] = known[0] if known else not ways.get(term.inverse, False) if term.inverse else True
    return ways


# Wording. A name is a row of words, a Chinese character is a word of its own. What a class is called in the ontology
# says which words add nothing (景区 after the name of a sight); what is left is the core of the name.
Words: TypeAlias = tuple[str, ...]

_LEXICON: Final = LexiconSection("linking", "aliases")
_EMPTY_WORDS: Final = _LEXICON.words("empty_words")
_DIRECTIONS: Final = {word: side for side, forms in _LEXICON.table("directions").items() for word in forms}
_QUALIFIERS: Final = _LEXICON.words("qualifiers")
_RANKS: Final = tuple(tuple(rank.split("+")) for rank in sorted(_LEXICON.words("ranks"), key=len, reverse=True))
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_MOST_KEPT: Final = 50_000
_OF: Final = re.compile(r"\bof\b")


@cache
def row(name: str) -> Words:
    """The words of a name: singular, without possessive endings and words that only join.

    >>> row("mao dun's former residences"), row("former residence of mao dun"), row("西栅景区")
    (('mao', 'dun', 'former', 'residence'), ('former', 'residence', 'mao', 'dun'), ('西', '栅', '景', '区'))
    """
    listed = words(_HAN.sub(r" \g<0> ", name))
    plain = (re.sub(r"['\u2019]s?$", "", word) for word in listed)
    found = tuple(singular(word) for word in plain if word and word not in _EMPTY_WORDS)
    return found or tuple(listed)


def unranked(name: Words) -> Words:
    """The words without those for a rank that many things of a kind have: 西溪国家湿地公园 is 西溪湿地公园.

    >>> unranked(row("xixi national wetland park"))
    ('xixi', 'wetland', 'park')
    """
    for rank in _RANKS:
        for start in range(1, len(name) - len(rank)):
            if name[start : start + len(rank)] == rank:
                return name[:start] + name[start + len(rank) :]
    return name


def says_of(name: str) -> bool:
    """Whether the name has an "of": without it, its words would come in another order."""
    return _OF.search(name) is not None


def directions(name: str) -> frozenset[str]:
    """The points of the compass and the numbers in a name: names that differ in them are of different things.

    >>> sorted(directions("west scenic zone")), sorted(directions("东栅")), sorted(directions("k350路"))
    (['w'], ['e'], ['k350'])
    """
    return frozenset(_DIRECTIONS.get(word, word) for word in row(name) if word in _DIRECTIONS or _has_digit(word))


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def telling(word: str) -> bool:
    """Whether a word by itself sets things apart that are else called alike: directions, numbers, old and new."""
    return word in _DIRECTIONS or word in _QUALIFIERS or _has_digit(word) or (len(word) == 1 and not has_han(word))


class ClassWording:
    """The words of the classes of an ontology, asked about names."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._of_class: dict[NamedNode, frozenset[Words]] = {}
        self._cores: dict[tuple[Words, NamedNode], Words] = {}
        self._naming: dict[Words, bool] = {}
        self._any = _phrases(ontology.classes.values())

    def generic(self, type_: NamedNode) -> frozenset[Words]:
        """What things of the class are called as such, in the words of the class and those above it."""
        if type_ not in self._of_class:
            above = self._ontology.superclasses(type_)
            self._of_class[type_] = _phrases(self._ontology.classes[c] for c in above if c in self._ontology.classes)
        return self._of_class[type_]

    def is_name(self, part: Words) -> bool:
        """Whether the words name something: not only class words, or directions and numbers, or one character."""
        found = self._naming.get(part)
        if found is None:
            if len(self._naming) >= _MOST_KEPT:
                self._naming.clear()
            found = self._naming[part] = self._is_name(part)
        return found

    def _is_name(self, part: Words) -> bool:
        if has_han("".join(part)) and len(part) == 1:
            return False
        return not all(telling(word) for word in part) and not covered(part, self._any)

    def is_own_name(self, part: Words) -> bool:
        """Whether the words name something wherever they stand: unlike "East Station", which every city may have."""
        kept = tuple(word for word in part if not telling(word))
        return self.is_name(part) and not covered(kept, self._any)

    def core(self, name: Words, type_: NamedNode) -> Words:
        """The name without the class words at its ends, as long as a name is left."""
        if (name, type_) not in self._cores:
            self._cores[name, type_] = self._core(unranked(name), self.generic(type_))
        return self._cores[name, type_]

    def without_rank(self, name: Words, type_: NamedNode) -> Words | None:
        """What a name with a rank in it is without that and the class word behind: 西溪湿地 of 西溪国家湿地公园."""
        plain = unranked(name)
        cuts = range(len(plain) - 1, 0, -1) if plain != name else ()
        return next((plain[:cut] for cut in cuts if plain[cut:] in self.generic(type_)), None)

    def _core(self, name: Words, phrases: frozenset[Words]) -> Words:
        while True:
            cuts = range(1, len(name))
            shorter = [name[:cut] for cut in cuts if name[cut:] in phrases]
            shorter += [name[cut:] for cut in cuts if name[:cut] in phrases]
            shorter = [part for part in shorter if self.is_name(part)]
            if not shorter:
                return name
            name = min(shorter, key=lambda part: (len(part), part))

    def adds_nothing(self, longer: Words, shorter: Words, type_: NamedNode) -> bool:
        """Whether the longer name is the shorter one with words around it that things of the class are called."""
        for start in range(len(longer) - len(shorter) + 1):
            if longer[start : start + len(shorter)] == shorter:
                before, after = longer[:start], longer[start + len(shorter) :]
                phrases = self.generic(type_)
                return all(not part or covered(part, phrases) for part in (before, after))
        return False


def covered(part: Words, phrases: frozenset[Words]) -> bool:
    """Whether the words can be cut into phrases, without rest."""
    reached = {0}
    for end in range(1, len(part) + 1):
        if any(part[start:end] in phrases for start in reached if start < end):
            reached.add(end)
    return len(part) in reached


def _phrases(classes: Iterable[OntologyClass]) -> frozenset[Words]:
    found = {row(normalise(word.text)) for term in classes for word in term.words}
    found.discard(())
    # "lake scenic area" for a lake: "scenic area" adds nothing to the name of one
    tails = {
        phrase[cut:]
        for phrase in found
        for cut in range(1, len(phrase))
        if phrase[:cut] in found and not (len(phrase) - cut == 1 and has_han(phrase[-1]))
    }
    return frozenset(found | tails)


def misspelt(first: Words, second: Words) -> tuple[str, str] | None:
    """The one pair of words in which the names differ, if it is a slip of one letter in a long word."""
    if len(first) != len(second):
        return None
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if len(differing) != 1:
        return None
    a, b = differing[0]
    long_enough = min(len(a), len(b)) >= 7 and a[0] == b[0] and not _has_digit(a + b) and not has_han(a + b)
    return (a, b) if long_enough and one_slip(a, b) else None


def one_slip(a: str, b: str) -> bool:
    """Whether one letter added, left out, replaced or swapped with its neighbour makes one word the other.

    >>> one_slip("moganshan", "mogashan"), one_slip("moganshan", "mogasnhan"), one_slip("xizha", "dongzha")
    (True, True, False)
    """
    if abs(len(a) - len(b)) > 1:
        return False
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


class Kinship:
    """Which classes a thing may have at once."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        inside = ontology.classes
        self._tops = {iri for iri in inside if not any(p in inside for p in inside[iri].parents)}

    def comparable(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether one class is the other or above it."""
        above = self._ontology.superclasses
        return (first in above(second) or second in above(first)) and not self.disjoint(first, second)

    def related(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether the classes are comparable, or share one below the topmost, and nothing keeps them apart."""
        if self.comparable(first, second):
            return True
        shared = self._ontology.superclasses(first) & self._ontology.superclasses(second)
        below_top = {iri for iri in shared if iri in self._ontology.classes and iri not in self._tops}
        return bool(below_top) and not self.disjoint(first, second)

    def disjoint(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether nothing can be of both classes."""
        return self._ontology.disjoint(first, second)


class Codes:
    """The codes in names: values of a property that is the key of the class and has a pattern."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._patterns: dict[NamedNode, tuple[re.Pattern[str], ...]] = {}

    def own(self, name: NameEntry) -> frozenset[str]:
        """The codes in the name itself."""
        texts = list(name.forms) or [name.text.upper()]
        return frozenset(code for text in texts for code in self._found(text, name.type))

    def given(self, name: NameEntry) -> frozenset[str]:
        """The codes in the name itself, else the one that it is also called by."""
        own = self.own(name)
        other = frozenset(code for text in name.aliases for code in self._found(text, name.type))
        return own or (other if len(other) == 1 else frozenset())

    def without(self, name: NameEntry) -> Words:
        """The words of the name without its codes."""
        codes = {word for code in self.own(name) for word in row(normalise(code))}
        return tuple(word for word in row(name.text) if word not in codes)

    def _found(self, text: str, type_: NamedNode) -> Iterator[str]:
        patterns = self._of_class(type_)
        plain = unicodedata.normalize("NFKC", text).strip() if patterns else ""
        for pattern in patterns:
            for match in pattern.finditer(plain):
                code = match.group()
                # two or three capitals inside a name are rarely a code
                if code == plain or re.search(r"[\d-]", code):
                    yield code

    def _of_class(self, type_: NamedNode) -> tuple[re.Pattern[str], ...]:
        if type_ not in self._patterns:
            above = [self._ontology.classes.get(iri) for iri in self._ontology.superclasses(type_)]
            keys = sorted({key for term in above if term for key in term.key}, key=str)
            forms = [self._ontology.properties[key].pattern for key in keys if key in self._ontology.properties]
            self._patterns[type_] = tuple(re.compile(f"(?<![^\\W_])(?:{form})(?![^\\W_])") for form in forms if form)
        return self._patterns[type_]


_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(slots=True)
class _Said:
    """What one document says: each with how often, so that it can be taken back."""

    forms: Counter[tuple[NameKey, str]] = field(default_factory=Counter)
    aliases: Counter[tuple[NameKey, str]] = field(default_factory=Counter)
    about: Counter[tuple[NameKey, tuple[NamedNode, str]]] = field(default_factory=Counter)
    ties: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class MovedNames:
    """What a change of documents leads to: names said otherwise than before, and names tied otherwise."""

    keys: set[NameKey] = field(default_factory=set)
    tied: set[str] = field(default_factory=set)
    placed: set[str] = field(default_factory=set)
    """Texts that are tied to others now and were not, or the other way round."""


class Gathered:
    """The names of all documents, and which of them lie within one another.

    Without ``contexts`` only what tells things apart is kept of what is said of names: a town of which ten thousand
    documents say something costs no more than another then.
    """

    def __init__(self, ontology: Ontology, *, contexts: bool = True) -> None:
        self._containing, self._telling = containing(ontology), Telling(ontology)
        self._contexts = contexts
        self._documents: dict[str, _Said | str] = {}
        """What each says, or the line of JSON that it was packed to, and not needed since."""
        self._same: dict[NameKey, NameKey] = {}
        self._forms: dict[NameKey, Counter[str]] = {}
        self._aliases: dict[NameKey, Counter[str]] = {}
        self._about: dict[NameKey, Counter[tuple[NamedNode, str]]] = {}
        self._ties: Counter[tuple[str, str]] = Counter()
        self.within: dict[str, set[str]] = {}
        self.above: dict[str, set[str]] = {}
        self._below: dict[str, set[str]] = {}

    @property
    def documents(self) -> Iterable[str]:
        """The documents that were put in."""
        return self._documents.keys()

    def put(self, documents: Mapping[str, Iterable[Extraction]]) -> MovedNames:
        """Takes the documents in, in the place of what they said before; without extractions they go."""
        moved, edges = MovedNames(), set[tuple[str, str]]()
        for document, extractions in documents.items():
            old = self._documents.pop(document, None)
            new = self._read(extractions)
            if old is not None:
                self._add(_unpacked(old), -1, moved, edges)
            if new.forms or new.ties or new.about:
                self._documents[document] = new
                self._add(new, 1, moved, edges)
        for edge in edges:
            self._tie(*edge, moved)
        return moved

    def _read(self, extractions: Iterable[Extraction]) -> _Said:
        said = _Said()
        for extraction in extractions:
            for mention in dict.fromkeys((*extraction.mentions, *claimed(extraction))):
                key = self._key(mention)
                if key[1]:
                    said.forms[key, mention.name] += 1
                    said.aliases.update((key, alias) for alias in dict.fromkeys(mention.aliases))
            for claim in extraction.claims:
                value = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
                if self._contexts or claim.predicate in self._telling.of(claim.subject.type):
                    said.about[self._key(claim.subject), (claim.predicate, value)] += 1
                if claim.predicate in self._containing and isinstance(claim.object, Mention):
                    first, second = normalise(claim.subject.name), normalise(claim.object.name)
                    said.ties[(first, second) if self._containing[claim.predicate] else (second, first)] += 1
        return said

    def _key(self, mention: Mention) -> NameKey:
        key = (mention.type, normalise(mention.name))
        return self._same.setdefault(key, key)

    def _add(self, said: _Said, sign: int, moved: MovedNames, edges: set[tuple[str, str]]) -> None:
        for kept, found in ((self._forms, said.forms), (self._aliases, said.aliases)):
            for (key, text), count in found.items():
                _count(kept, key, text, sign * count)
                moved.keys.add(key)
        for (key, pair), count in said.about.items():
            _count(self._about, key, pair, sign * count)
            moved.keys.add(key)
        for edge, count in said.ties.items():
            self._ties[edge] += sign * count
            edges.add(edge)

    def _tie(self, lower: str, upper: str, moved: MovedNames) -> None:
        """Brings one tie in line with how often it is said; what lies in two steps may be tied otherwise too."""
        holds = self._ties[lower, upper] > 0
        if not holds:
            del self._ties[lower, upper]
        if holds == (upper in self.above.get(lower, ())):
            return
        moved.tied |= {lower, upper} | self._below.get(lower, set()) | self.above.get(upper, set())
        note_member(self.above, lower, upper, holds=holds)
        note_member(self._below, upper, lower, holds=holds)
        beside = holds or self._ties.get((upper, lower), 0) > 0
        for one, other in ((lower, upper), (upper, lower)):
            was = one in self.within
            note_member(self.within, one, other, holds=beside)
            if was != (one in self.within):
                moved.placed.add(one)

    # between processes

    def packed(self, document: str) -> str | None:
        """What the document says as one line of JSON; None: it says nothing."""
        said = self._documents.get(document)
        return said if said is None or isinstance(said, str) else _packed(said)

    def ties(self, document: str) -> list[list[Any]]:
        """Which texts the document says to lie in which, and how often."""
        return [[*edge, count] for edge, count in _unpacked(self._documents[document]).ties.items()]

    def packed_name(self, key: NameKey) -> list[Any] | None:
        """How all documents together use the name, as lists; None: they do not."""
        if key not in self._forms:
            return None
        about = [[predicate.value, value, count] for (predicate, value), count in self._about.get(key, {}).items()]
        return [self._forms[key], self._aliases.get(key, {}), about]

    def restore(self, document: str, said: str, ties: Iterable[tuple[str, str, int]]) -> None:
        """Takes up what was packed of a document; ``ties`` are those in it. Names come by `restore_name`."""
        self._documents[document] = said
        for lower, upper, count in ties:
            self._ties[lower, upper] += count
            self._tie(lower, upper, MovedNames())

    def restore_name(self, key: NameKey, packed: list[Any]) -> None:
        """Takes up what `packed_name` packed."""
        forms, aliases, about = packed
        self._same[key] = key
        self._forms[key] = Counter(forms)
        if aliases:
            self._aliases[key] = Counter(aliases)
        if about:
            self._about[key] = Counter({(node(predicate), value): count for predicate, value, count in about})

    def name(self, key: NameKey, known: NamedNode | None) -> NameEntry | None:
        """The name as all documents together use it; None where none does and nothing is known by it."""
        if key not in self._forms and known is None:
            return None
        about = tuple(sorted(self._about.get(key, ()), key=lambda pair: (pair[0].value, pair[1])))
        ids = frozenset((predicate, value) for predicate, value in about if predicate in self._telling.of(key[0]))
        forms, aliases = Counter(self._forms.get(key, {})), Counter(self._aliases.get(key, {}))
        return NameEntry(key, forms, aliases, known, keys=ids, context=about)

    def keys(self) -> Iterator[NameKey]:
        """The names that documents use."""
        yield from self._forms

    def names(self, known: Mapping[NameKey, NamedNode]) -> NameTable:
        """All names, with those that are known otherwise."""
        every = sorted({*self._forms, *known}, key=sort_key)
        found = ((key, self.name(key, known.get(key))) for key in every)
        return NameTable({key: name for key, name in found if name is not None}, self.within, self.above)


def read_names(extractions: Iterable[Extraction], ontology: Ontology, known: Mapping[NameKey, NamedNode]) -> NameTable:
    """The names in the extractions and the known ones; the order of the extractions does not matter."""
    gathered = Gathered(ontology)
    gathered.put({"": extractions})
    return gathered.names(known)


def _packed(said: _Said) -> str:
    parts: list[list[Any]] = [
        [[*packed_key(key), text, count] for (key, text), count in counted.items()]
        for counted in (said.forms, said.aliases)
    ]
    parts.append([[*packed_key(key), of.value, value, count] for (key, (of, value)), count in said.about.items()])
    return line([*parts, [[*edge, count] for edge, count in said.ties.items()]])


def _unpacked(said: _Said | str) -> _Said:
    if isinstance(said, _Said):
        return said
    forms, aliases, about, ties = json.loads(said)
    return _Said(
        Counter({(key_of(key), text): count for *key, text, count in forms}),
        Counter({(key_of(key), text): count for *key, text, count in aliases}),
        Counter({(key_of(key), (node(of), value)): count for *key, of, value, count in about}),
        Counter({(lower, upper): count for lower, upper, count in ties}),
    )


def _count(kept: dict[_K, Counter[_V]], key: _K, value: _V, count: int) -> None:
    counter = kept.setdefault(key, Counter())
    counter[value] += count
    if not counter[value]:
        del counter[value]
        if not counter:
            del kept[key]


def note_member(kept: dict[_K, set[_V]], one: _K, other: _V, *, holds: bool) -> None:
    """Puts the other into the set of the one, or takes it out; empty sets go."""
    if holds:
        kept.setdefault(one, set()).add(other)
    elif one in kept:
        kept[one].discard(other)
        if not kept[one]:
            del kept[one]
