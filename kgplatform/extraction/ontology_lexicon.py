"""The words of an ontology, compiled for reading: which words name a class, which say a property.

Class words are nouns that end (or begin) a name: "Temple" in "Lingyin Temple", "寺" in "灵隐寺". Property cues
are what stands between two names or before a value. Question phrases among the lexical forms ("where is",
"谁写的") serve the question side and are left out here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode

from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import Ontology, OntologyClass, OntologyProperty, Word
from kgplatform.text import has_han, singular, spoken_label

if TYPE_CHECKING:
    from kgplatform.extraction.sentence_network import ClassLabels, PropertyLabels

_LEXICON: Final = LexiconSection("extraction", "ontology_lexicon")
FUNCTION_WORDS: Final = _LEXICON.words("function_words")
KINDS: Final = _LEXICON.table("kinds")
"""What a class may be called whose things are persons, places or organisations, the likeliest first."""
FILLERS: Final = _LEXICON.words("fillers")
_QUESTION = _LEXICON.pattern("question")
_GAP = re.compile(r"\s*(?:…+|\.\.\.)\s*")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*")
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


@dataclass(frozen=True)
class Lexicon:
    """The compiled words: ``class_words`` by singular form, ``labels`` by words."""

    ontology: Ontology
    class_words: Mapping[str, NamedNode]
    han_suffixes: Mapping[str, NamedNode]
    labels: Mapping[str, tuple[Cue, ...]]
    value_cues: Mapping[str, tuple[Cue, ...]]
    keys: tuple[tuple[NamedNode, OntologyProperty, re.Pattern[str]], ...]
    titled: NamedNode | None
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

    @cached_property
    def class_labels(self) -> ClassLabels:
        """The classes that a name may be guessed to be of."""
        from kgplatform.extraction.sentence_network import ClassLabels  # it looks at words with this module's lists

        return ClassLabels(self.ontology)

    @cached_property
    def property_labels(self) -> PropertyLabels:
        """The properties as frames are asked for them."""
        from kgplatform.extraction.sentence_network import PropertyLabels

        return PropertyLabels([*self.forms.terms, *self.forms.open], self.ontology, self.class_labels)

    @cached_property
    def forms(self) -> FrameForms:
        """The forms of the properties as sentences have them."""
        return FrameForms(self)

    @cached_property
    def han_phrases(self) -> re.Pattern[str] | None:
        """The Chinese forms of the properties, and a year before one."""
        words = {cue.text for cues in self.labels.values() for cue in cues}
        listed = sorted((word for word in words if has_han(word) and len(word) >= 2), key=len, reverse=True)
        return re.compile(r"(?:\d{3,4}年)?(?:" + "|".join(map(re.escape, listed)) + ")") if listed else None

    @cached_property
    def heard_suffixes(self) -> Mapping[str, frozenset[NamedNode]]:
        """The classes that one Chinese character stands for, by how it is read: yuan, si, qiao."""
        from pypinyin import lazy_pinyin  # its tables take a while to load

        found: dict[str, set[NamedNode]] = defaultdict(set)
        for word, class_ in self.han_suffixes.items():
            if len(word) == 1:
                found[lazy_pinyin(word)[0]].add(class_)
        return {heard: frozenset(classes) for heard, classes in found.items()}

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
    labels: dict[str, list[Cue]] = defaultdict(list)
    values: dict[str, list[Cue]] = defaultdict(list)
    for cue in cues_of(ontology):
        if not cue.after:
            labels[label_key(cue.text)].append(cue)
            if not cue.term.is_object:
                values[cue.text.casefold()].append(cue)
    return Lexicon(
        ontology=ontology,
        class_words={word: iri for word, iri in class_words.items() if not has_han(word)},
        han_suffixes={word: iri for word, iri in class_words.items() if has_han(word)},
        labels={key: tuple(cues) for key, cues in labels.items() if key},
        value_cues={key: tuple(cues) for key, cues in values.items()},
        keys=tuple(_key_patterns(ontology)),
        titled=_titled(ontology),
        names=_example_names(ontology),
        values=dict(_individual_words(ontology)),
    )


def label_key(text: str) -> str:
    """A label or heading as compared: singular words, no articles; several words in their order.

    >>> label_key("The Learning Outcomes:"), label_key("先修课程：")
    ('learning outcome', '先修课程')
    """
    if has_han(text):
        return re.sub(r"[\s：:*#|（）()]", "", text).casefold()
    return " ".join(singular(word) for word in tokens(text) if word not in ("the", "a", "an"))


def _usable(words: Iterable[Word]) -> Iterator[tuple[int, str]]:
    """The words that are no questions, with rank 0 for the first of a language."""
    seen: set[str] = set()
    for word in words:
        rank = int(word.language in seen)
        seen.add(word.language)
        if not _QUESTION.search(word.text.casefold()):
            yield rank, spoken_label(word.text.strip())


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


def cues_of(ontology: Ontology, *, heard: bool = False) -> Iterator[Cue]:
    """The lexical forms of the properties; ``heard``: with the looser ones that only texts have."""
    for term in ontology.domain_properties:
        if not term.words or not (term.ranges or term.domains):
            continue
        for rank, text in _usable((*term.words, *term.heard) if heard else term.words):
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
                pattern = re.compile(rf"(?<![A-Za-z0-9_.-])(?:{term.pattern})(?![A-Za-z0-9_-])")
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


# The forms of properties, as sentences have them

_FRAMES: Final = LexiconSection("extraction", "sentence_frames")
WORD: Final = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’.-][^\W_\u3400-\u9fff]+)*")
"""A word, or a Chinese character."""
TOLD_KINDS: Final = ("weekday", "language", "era", "term", "address")
"""Sorts of text that a property without a pattern has where one of its examples is such a text."""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without the endings of number, tense and person, roughly: what forms of one word have in common.

    >>> [stem(word) for word in ("opens", "opening", "located", "charges", "prerequisites", "studies")]
    ['open', 'open', 'locat', 'charg', 'prerequisit', 'stud']
    """
    word = word.casefold().replace("’", "'").removesuffix("'s")
    for ending in ("ies", "ied", "ing", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl" else word


@dataclass(frozen=True, slots=True)
class Form:
    """A lexical form: stems of words or a Chinese phrase, what must follow the object, and how telling it is."""

    term: OntologyProperty
    words: tuple[str, ...]
    after: str
    strength: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """A form where the text has it; ``inner`` is where what must follow the object begins, if anything must."""

    start: int
    end: int
    term: OntologyProperty
    strength: str
    inner: int = -1


class FrameForms:
    """The forms of an ontology's properties, indexed by how they begin."""

    def __init__(self, lexicon: Lexicon) -> None:
        ontology = lexicon.ontology
        spoken = [term for term in ontology.domain_properties if term.words]
        self.terms = [term for term in spoken if term.domains and term.ranges]
        self.open = [term for term in spoken if not (term.domains and term.ranges)]  # may have any ends: examples tell
        self._latin: dict[str, list[Form]] = defaultdict(list)
        self._han: dict[str, list[Form]] = defaultdict(list)
        named = {stem(part) for word in lexicon.class_words for part in word.split()}
        parts: dict[str, dict[NamedNode, OntologyProperty]] = defaultdict(dict)
        for cue in cues_of(ontology, heard=True):
            if has_han(cue.text + cue.after):
                self._add_han(cue.term, cue.text, cue.after, parts, lexicon)
            elif not cue.after:
                self._add_latin(cue.term, cue.text, parts, named)
        bound = {term.iri for term in self.terms}
        said = {key: tuple(term for iri, term in terms.items() if iri in bound) for key, terms in parts.items()}
        self._parts = {key: terms for key, terms in said.items() if len(terms) <= 4}
        self._ontology = ontology
        self._closed = {type_ for item in ontology.individuals.values() for type_ in item.types}
        self._common: dict[tuple[NamedNode, ...], bool] = {}
        self.told = {term.iri: told_kinds(term) for term in self.terms}
        self.written = {term.iri for term in self.terms if takes_names(term)}
        self.phrases = {term.iri for term in self.terms if takes_phrases(term)}

        self._fits: dict[tuple[NamedNode, tuple[NamedNode, ...]], str | None] = {}
        self.codes = list(_naming_codes(ontology))
        self.shapes = list(_shapes(ontology))

    def asked(self, taken: Mapping[str, object]) -> list[tuple[int, OntologyProperty]]:
        """The properties that sentences may state, with their numbers; open ones are among them where ``taken``."""
        every = enumerate((*self.terms, *self.open))
        return [(n, term) for n, term in every if n < len(self.terms) or term.iri.value in taken]

    def fit(self, type_: NamedNode, wanted: tuple[NamedNode, ...]) -> str | None:
        """How a thing of the class fits what is wanted: it ``fits``, may be such (``above``), or not at all."""
        key, ontology = (type_, wanted), self._ontology
        if key not in self._fits:
            may_be = ontology.fits(type_, wanted) or ontology.may_be(type_, wanted)
            self._fits[key] = "fits" if ontology.is_a(type_, wanted) else "above" if may_be else None
        return self._fits[key]

    def is_common(self, wanted: tuple[NamedNode, ...]) -> bool:
        """Whether things of these classes go by common nouns, as the examples of a class below them do."""
        if wanted not in self._common:
            below = {class_ for item in wanted for class_ in self._ontology.subclasses(item)} - self._closed
            known = (self._ontology.classes[class_] for class_ in below if class_ in self._ontology.classes)
            examples = (word for class_ in known for word in class_.examples)
            self._common[wanted] = any(word.language == "en" and word.text[:1].islower() for word in examples)
        return self._common[wanted]

    def _add_han(
        self,
        term: OntologyProperty,
        text: str,
        after: str,
        parts: Mapping[str, dict[NamedNode, OntologyProperty]],
        lexicon: Lexicon,
    ) -> None:
        strength = "weak" if len(text + after) == 1 else "strong"
        if text and after:
            self._han[text[0]].append(Form(term, (text,), "", "lead"))
        self._han[(text or after)[0]].append(Form(term, (text,), after, strength))
        for place in range(len(text) - 1):
            pair = text[place : place + 2]
            if pair not in lexicon.han_suffixes and pair != text:
                parts[pair][term.iri] = term

    def _add_latin(
        self,
        term: OntologyProperty,
        text: str,
        parts: Mapping[str, dict[NamedNode, OntologyProperty]],
        named: set[str],
    ) -> None:
        words = [match.group().casefold() for match in WORD.finditer(text)]
        while len(words) > 1 and words[0] in FILLERS:
            words.pop(0)
        if not words:
            return
        telling = [word for word in words if word not in FUNCTION_WORDS]
        form = Form(term, tuple(map(stem, words)), "", "strong" if telling else "weak")
        self._latin[form.words[0]].append(form)
        if len(words) > 1 and telling and words[-1] in FUNCTION_WORDS and words[-1] not in FILLERS:
            self._latin[form.words[-1]].append(Form(term, form.words[-1:], "", "lead"))
        for word in telling:
            if len(word) >= 4 and stem(word) not in named and form.words != (stem(word),):
                parts[stem(word)][term.iri] = term

    def evident(self, lexicon: Lexicon, name: str) -> bool:
        """Whether a name says itself of what class it is: by a class word, a code or as an example."""
        if name in lexicon.names or any(pattern.fullmatch(name) for _, _, pattern in self.codes):
            return True
        if has_han(name):
            return any(name[-size:] in lexicon.han_suffixes for size in (1, 2, 3, 4) if size < len(name))
        words = [singular(word) for word in name.casefold().split()]
        return len(words) > 1 and any(
            " ".join(part) in lexicon.class_words for part in (words[-1:], words[-2:], words[:1])
        )

    def spoken(self, text: str, start: int, end: int) -> list[Spoken]:
        """The forms in the stretch, of each property the strongest at a place."""
        words = list(WORD.finditer(text, start, end))
        stems = [stem(match.group()) for match in words]
        best: dict[tuple[NamedNode, int], Spoken] = {}
        rank = {"strong": 3, "weak": 2, "part": 1, "lead": 0}
        for place, match in enumerate(words):
            for item in self._at(text, words, stems, place, end):
                key = item.term.iri, match.start()
                known = best.get(key)
                if known is None or (rank[item.strength], item.end) > (rank[known.strength], known.end):
                    best[key] = item
        strong = [item for item in best.values() if item.strength == "strong"]
        return [
            item
            for item in best.values()
            if item.strength == "strong"
            or not any(
                one.start <= item.start and item.end <= one.end and one.term.iri == item.term.iri for one in strong
            )
        ]

    def _at(
        self, text: str, words: Sequence[re.Match[str]], stems: Sequence[str], place: int, end: int
    ) -> Iterator[Spoken]:
        start = words[place].start()
        if has_han(words[place].group()):
            for form in self._han.get(text[start], ()):
                yield from self._han_at(text, start, end, form)
            for term in self._parts.get(text[start : start + 2], ()):
                yield Spoken(start, start + 2, term, "part")
            return
        for form in self._latin.get(stems[place], ()):
            last = place
            for wanted in form.words[1:]:
                last += 1
                while last < len(words) and words[last].group().casefold() in ("the", "a", "an", "also"):
                    last += 1
                if last >= len(words) or stems[last] != wanted:
                    break
            else:
                if not re.search(r"[.;:!?,()]", text[start : words[last].end()]):
                    yield Spoken(start, words[last].end(), form.term, form.strength)
        for term in self._parts.get(stems[place], ()):
            yield Spoken(start, words[place].end(), term, "part")

    @staticmethod
    def _han_at(text: str, start: int, end: int, form: Form) -> Iterator[Spoken]:
        lead = form.words[0]
        if lead and text.startswith(lead, start):
            if not form.after:
                yield Spoken(start, start + len(lead), form.term, form.strength)
                return
            inner = text.find(form.after, start + len(lead), min(end, start + len(lead) + 60))
            if inner > start + len(lead):
                yield Spoken(start, start + len(lead), form.term, "strong", inner)
        elif not lead and text.startswith(form.after, start):
            yield Spoken(start, start + len(form.after), form.term, "strong")


def _naming_codes(ontology: Ontology) -> Iterator[tuple[NamedNode, OntologyProperty, re.Pattern[str]]]:
    """The codes that things of a class go by: keys, and properties whose pattern an example of the class has."""
    for item in ontology.domain_classes:
        terms = [ontology.properties[iri] for iri in item.key if iri in ontology.properties]
        named = [word.text for word in item.examples]
        terms += [term for term in ontology.domain_properties if item.iri in term.domains]
        for place, term in enumerate(terms):
            pattern = bounded(term.pattern) if term.pattern else None
            if pattern is not None and (place < len(item.key) or any(map(pattern.fullmatch, named))):
                yield item.iri, term, pattern
                break


def _shapes(ontology: Ontology) -> Iterator[tuple[NamedNode, re.Pattern[str]]]:
    """The shapes of names with a number, after the examples of a class: "Bus K350", "Metro Line 1", K350路."""
    for item in ontology.domain_classes:
        words = sorted((word.text for word in item.words), key=len, reverse=True)
        for name in (word.text for word in item.examples):
            if shape := _shape(name, words):
                yield item.iri, re.compile(shape, re.IGNORECASE)


def _shape(name: str, words: Sequence[str]) -> str:
    """The shape of a name by its class word and what stands between that and the number; empty if that is nothing."""
    number = re.search(r"[A-Z]*\d+", name)
    if number is None:
        return ""
    before, after = name[: number.start()], name[number.end() :].strip()
    told = next((word for word in words if word.casefold() in before.casefold()), "")
    ended = next((word for word in words if after.endswith(word)), "")
    between = after[: len(after) - len(ended)]
    if not told and (not between or before.strip()):
        return ""
    kinds = "|".join(re.escape(word) for word in words if has_han(word) == has_han(told))
    rest = before[before.casefold().index(told.casefold()) + len(told) :] if told else ""
    lead = f"(?:{kinds}){re.escape(rest)}" if told else ""
    tail = re.escape(between) + (f"(?:{re.escape(ended)})?" if ended else "")
    edge = "" if has_han(lead + tail) else r"\b"
    return rf"{edge}{lead}[A-Z]{{0,2}}\d{{1,4}}{tail}(?![\d.:])"


@lru_cache(maxsize=256)
def bounded(pattern: str) -> re.Pattern[str]:
    """The pattern of a property where no letter, digit or mark of a longer code goes on beside it."""
    try:
        return re.compile(rf"(?<![A-Za-z0-9_.-])(?:{pattern})(?![A-Za-z0-9_-])")
    except re.error:
        return re.compile(r"(?!)")


@cache
def _told_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, _FRAMES.pattern(kind)) for kind in TOLD_KINDS)


def told_texts(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Weekdays, languages, eras, terms and addresses in the stretch."""
    for kind, pattern in _told_patterns():
        for match in pattern.finditer(text, start, end):
            yield *match.span(), kind


def told_kinds(term: OntologyProperty) -> frozenset[str]:
    """The sorts of text that the examples of a property are."""
    return frozenset(
        kind for kind, pattern in _told_patterns() if any(pattern.fullmatch(example.text) for example in term.examples)
    )


_LIKE_A_NAME: Final = re.compile(r"[A-Z][\w-]*(?: [A-Z][\w-]*){0,2}")


def takes_names(term: OntologyProperty) -> bool:
    """Whether the examples of a text property are like names; without examples they may be."""
    if term.pattern or term.is_object or told_kinds(term) or term.ranges[0].value.rpartition("#")[2] != "string":
        return False
    return not term.examples or any(_LIKE_A_NAME.fullmatch(example.text) for example in term.examples)


def takes_phrases(term: OntologyProperty) -> bool:
    """Whether the examples of a text property are common nouns; without examples they may be."""
    if term.pattern or told_kinds(term) or term.is_object:
        return False
    if not term.examples:
        return takes_names(term)
    english = [example.text for example in term.examples if not has_han(example.text)]
    return any(text[:1].islower() and len(text.split()) <= 4 for text in english)
