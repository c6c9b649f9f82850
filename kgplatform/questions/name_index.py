"""Names of things, values and the schema, and how they are found in a question: by index, never by a scan."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, takewhile
from string import ascii_lowercase

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.ontology.schema import Word, label_of
from kgplatform.questions.forms.question_language import other_names
from kgplatform.questions.name_forms import Elsewise, HanNames
from kgplatform.questions.parser.vocabulary import (
    FUNCTION_STEMS,
    FUNCTION_WORDS,
    HAN_FUNCTION,
    QuestionToken,
    by_opening,
    in_full,
    in_mixed_case,
    keys,
    parts,
    senses,
    stem,
    tokens_of,
)
from kgplatform.questions.usage import GraphFacts, SchemaView
from kgplatform.text import has_han, normalise, singular, words
from kgplatform.types import Linked
from kgplatform.vocab import words_of_iri

# Names said otherwise than they are written: plurals, abbreviations, adjectives of countries, small letters.

_ABBREVIATED = re.compile(r"[^\W\d_]{2,}\.")
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 40
_CODE_LENGTH = 4
_LONGEST_CODE = 12
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[A-Za-z]")
NOT_VERBATIM = 0.15
"""What a name loses where another is written just as the question writes it."""
SMALL_LETTERS = 0.45
"""What a code in capitals loses where the question has a word in small letters."""
_ACRONYM = re.compile(r"\(([A-Z]{2,6})\)")
_NOTED = re.compile(r"(?<=[A-Za-z]) \(([a-z]+(?: [a-z]+)?)\)")

_SENTENCE = re.compile(r"[.;](?:\s|$)")
_LISTING = lexicon.pattern("name_index.listing", 0)
_ARTICLE = lexicon.pattern("name_index.article")
_NOUNS = re.compile(r"[A-Za-z]{3,}(?:[ -][a-z]{3,}){0,2}")
_WORDS_BETWEEN = lexicon.word_set("name_index.words_between")
_MOST_LISTED = 5

DEMONYMS: Mapping[str, str] = lexicon.table("name_index.demonyms")
"""Countries by the adjectives for them."""

SAME_COUNTRY: Mapping[str, tuple[str, ...]] = {
    name: tuple(other for other in (first, *others) if other != name)
    for first, others in lexicon.lines("name_index.also_called")
    for name in (first, *others)
}
"""Other names of countries by their names."""


def in_singular(key: str) -> str:
    """A normalised phrase with its last word in the singular; empty where that is the same or no Latin word."""
    head, _, last = key.rpartition(" ")
    plain = singular(last) if last.isascii() and last.isalpha() else last
    return f"{head} {plain}".strip() if plain != last else ""


def abbreviations(facts: GraphFacts) -> Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]:
    """Names with shortened words ("Comp. Sci.") as the beginnings of their words, with their key, by first letter."""
    found: dict[str, set[tuple[tuple[str, ...], str]]] = defaultdict(set)
    for labels in (facts.labels, facts.aliases):
        for literals in labels.values():
            for literal in literals:
                text = literal.value
                if len(text) <= _LONGEST and _ABBREVIATED.search(text):
                    begins = tuple(word.casefold() for word in _WORD.findall(text))
                    found[begins[0][0]].add((begins, normalise(text)))
    return {letter: tuple(sorted(listed)) for letter, listed in found.items()}


def abbreviated(phrase: str, known: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]) -> Iterable[str]:
    """The keys of the names that a phrase is the long form of: "computer science" of "Comp. Sci."."""
    said = [word.casefold() for word in _WORD.findall(phrase)]
    for begins, key in known.get(said[0][0], ()) if said else ():
        if len(begins) == len(said) and all(w.startswith(b) for w, b in zip(said, begins, strict=True)):
            yield key


def small_letter_code(phrase: str, label: str) -> bool:
    """Whether a word in small letters meets a short code in capitals: "go" is hardly the airport GO."""
    return len(label) <= _CODE_LENGTH and label.isalpha() and label.isascii() and label.isupper() and phrase.islower()


def as_written(phrase: str, label: str) -> bool:
    """Whether a phrase is a label letter for letter, case aside."""
    return phrase.casefold() == label.casefold()


def comment_names(comment: str) -> tuple[str, ...]:
    """What a comment says a term is also called: in brackets after a word, by "also called", or as all it says.

    >>> comment_names("A flight of an airline. Also called a connection.")
    ('connection',)
    """
    found = [match[1] or match[2] for match in lexicon.pattern("name_index.also", 0).finditer(comment)]
    if ":" not in comment:
        found += [match[1] for match in _NOTED.finditer(comment)]
    bare = lexicon.pattern("name_index.bare", 0).match(comment)
    if bare:
        found.append(bare[1].casefold())
    found += _listed(comment)
    return tuple(dict.fromkeys(found))


def _listed(comment: str) -> list[str]:
    """What the first sentence of a comment lists and no more: "Parish, borough or chartered town"."""
    listed = [_ARTICLE.sub("", piece.strip()) for piece in _LISTING.split(_SENTENCE.split(comment, maxsplit=1)[0])]
    named = all(_NOUNS.fullmatch(piece) and not _WORDS_BETWEEN & set(piece.casefold().split()) for piece in listed)
    return [piece.casefold() for piece in listed] if named and len(listed) <= _MOST_LISTED else []


def acronym(label: str) -> str:
    """The acronym that a label ends with in brackets: "Bill of Material (BOM)"; empty if there is none."""
    match = _ACRONYM.search(label)
    return match[1] if match else ""


def is_code(text: str) -> bool:
    """Whether a text is short, of one word, with digits and letters."""
    return (
        len(text) <= _LONGEST_CODE
        and " " not in text
        and _DIGIT.search(text) is not None
        and _LETTER.search(text) is not None
    )


# Names to IRIs: entities, classes, properties and literal values, found in a question by index, never by a scan.
#
# Exact (normalised), alias, code ("C5" for "C05"), shortened and misspelt names are told apart by score; equal names of
# different things are all kept. Chinese is read without blanks, the longest name first.

_LONGEST_NAME = 40
_CODE = re.compile(r"[^\W_]{1,12}", re.UNICODE)
_NAMES_DIGIT = re.compile(r"\d")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*")
_RUN = re.compile(r"\d+|[^\W\d_]+", re.UNICODE)
_NAMES_CODE_LENGTH = 24
_ASKING_HAN = lexicon.characters("name_index.asking_han")
_VERBS = lexicon.word_set("name_index.verbs")
"""Words that part a thing from what is said of it: "which X has the Y" is no "X Y"."""


@dataclass(frozen=True, slots=True)
class GraphName:
    """What a name may stand for; ``predicate`` is set for a literal value, which then is ``term``."""

    term: NamedNode | Literal
    score: float
    kind: str
    predicate: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class NameSpan:
    """Tokens ``first`` to before ``last`` of a question and all they may stand for, best first."""

    first: int
    last: int
    names: tuple[GraphName, ...]


@dataclass(frozen=True)
class NameIndex:
    """Every name of a graph and its schema."""

    facts: GraphFacts
    schema: SchemaView
    exact: Mapping[str, tuple[GraphName, ...]]
    terms: Mapping[tuple[str, ...], tuple[GraphName, ...]]
    starts: frozenset[str] = field(default_factory=frozenset)
    forms: frozenset[tuple[str, ...]] = field(default_factory=frozenset)

    @cached_property
    def codes(self) -> Mapping[str, tuple[GraphName, ...]]:
        """Names with digits by their form without blanks and leading zeros; made when first looked at."""
        found: dict[str, list[GraphName]] = defaultdict(list)
        for key, names in self.exact.items():
            if _NAMES_DIGIT.search(key) and _CODE.fullmatch(plain := key.replace(" ", "")):
                found[_ZEROS.sub("", plain)] += [
                    GraphName(n.term, n.score - (0.05 if n.kind == "value" else 0.1), n.kind, n.predicate)
                    for n in names
                ]
        return {code: ranked(unlike(names)) for code, names in found.items()}

    @cached_property
    def by_word(self) -> Mapping[str, tuple[str, ...]]:
        """The names that hold a word; made when first looked at."""
        found: dict[str, list[str]] = defaultdict(list)
        for key in self.exact:
            for word in set(words(key)):
                found[word].append(key)
        return {word: tuple(listed) for word, listed in found.items()}

    @cached_property
    def families(self) -> Mapping[str, tuple[str, ...]]:
        """The single words that name classes or properties by their beginnings; made when first looked at."""
        return by_opening(key[0] for key in self.terms if len(key) == 1)

    @cached_property
    def class_words(self) -> Mapping[str, NamedNode]:
        """The single Latin words that classes are called by; made when first looked at."""
        words_ = ((word.text.casefold(), iri) for iri, term in self.schema.classes.items() for word in term.words)
        return {text: iri for text, iri in sorted(words_, key=str) if text.isascii() and text.isalpha()}

    @cached_property
    def by_trigram(self) -> Mapping[str, frozenset[str]]:
        """The words that hold three letters in a row; made when first looked at."""
        found: dict[str, set[str]] = defaultdict(set)
        for word in self.by_word:
            if len(word) >= 4 and not has_han(word):
                for gram in _trigrams(word):
                    found[gram].add(word)
        return {gram: frozenset(listed) for gram, listed in found.items()}

    @cached_property
    def _code_parts(self) -> Mapping[str, tuple[str, ...]]:
        """The names with digits by each run of digits or letters in them; made when first looked at."""
        found: dict[str, list[str]] = defaultdict(list)
        for key in self.exact:
            if len(key) <= _NAMES_CODE_LENGTH and _NAMES_DIGIT.search(key) and not has_han(key):
                for run in set(_RUN.findall(key)):
                    found[run].append(key)
        return {run: tuple(sorted(listed, key=lambda k: (len(k), k))) for run, listed in found.items()}

    def with_part(self, code: str, limit: int = 8) -> list[GraphName]:
        """Things and values whose name is a code that a shorter code is part of, the shortest first."""
        wanted = normalise(code)
        listed = self._code_parts.get(wanted, ())
        return [self.exact[key][0] for key in listed if key != wanted][:limit]

    def label(self, term: object, language: str = "en") -> str:
        """The name of a thing in the language, or in any; a literal's own text."""
        if isinstance(term, Literal):
            return term.value
        found = self.facts.labels.get(term)
        if found:
            return label_of((Word(item.value, item.language or "") for item in found), language, found[0].value)
        if isinstance(term, NamedNode):
            if term in self.schema.classes or term in self.schema.properties:
                return self.schema.label(term, language)
            return words_of_iri(term.value)
        return str(term)

    def full_label(self, term: object, language: str = "en") -> str:
        """The label; code and title together where a thing is called by both."""
        label = self.label(term, language)
        labels = self.facts.labels.get(term, ())
        code = next((item.value for item in labels if is_code(item.value)), "")
        if not code or term in self.facts.keyed:
            return label
        for called in (labels, self.facts.aliases.get(term, ())):
            fitting = [i.value for i in called if (i.language or language) == language and not is_code(i.value)]
            if fitting:
                title = min(fitting, key=lambda text: (_NAMES_DIGIT.search(text) is not None, len(text), text))
                return f"{code} {title}" if code not in title else label
        return label

    def naming(self, predicate: NamedNode) -> bool:
        """Whether a property is called a code, number or name, so that its values may serve as names."""
        term = self.schema.properties.get(predicate)
        found = {part for word in (term.words if term else ()) for key, _ in keys(word.text) for part in key}
        return bool(found & {"~code", "~name", "~title"})

    def known_by(self, thing: object, predicate: NamedNode) -> frozenset[object]:
        """The values of a naming property that a thing has."""
        return self._codes_of.get((thing, predicate), frozenset()) if self.naming(predicate) else frozenset()

    @cached_property
    def _codes_of(self) -> Mapping[tuple[object, NamedNode], frozenset[object]]:
        naming = {predicate for predicate in self.schema.properties if self.naming(predicate)}
        found: dict[tuple[object, NamedNode], set[object]] = defaultdict(set)
        for subject, predicate, object_ in self.facts.statements:
            if predicate in naming and isinstance(object_, Literal):
                found[subject, predicate].add(object_)
        return {key: frozenset(values) for key, values in found.items()}

    def holders(self, predicate: NamedNode, values: Iterable[object]) -> frozenset[NamedNode]:
        """The classes of the things that have one of the values; of all that have the property if no value is known."""
        found = {iri for value in values for iri in self._held_by.get((predicate, value), ())}
        return frozenset(found or self.schema.domains(predicate))

    @cached_property
    def _held_by(self) -> Mapping[tuple[NamedNode, object], frozenset[NamedNode]]:
        """The classes of what has a value, of properties that things of several classes have."""
        several = {iri for iri in self.schema.properties if len(self.schema.domains(iri)) > 1}
        found: dict[tuple[NamedNode, object], set[NamedNode]] = defaultdict(set)
        for subject, predicate, object_ in self.facts.statements:
            if predicate in several and isinstance(object_, Literal):
                found[predicate, object_].update(self.facts.types.get(subject, ()))
        return {key: frozenset(classes) for key, classes in found.items()}

    def knows(self, node: object) -> bool:
        """Whether a node occurs in any statement of the graph."""
        return node in self._nodes

    @cached_property
    def _nodes(self) -> frozenset[object]:
        return frozenset(node for subject, _, object_ in self.facts.statements for node in (subject, object_))

    def types(self, term: object) -> tuple[NamedNode, ...]:
        """The classes of a thing."""
        return self.facts.types.get(term, ())

    def things(self, tokens: list[QuestionToken], text: str) -> list[NameSpan]:
        """The stretches of the question that name entities or values."""
        found: list[NameSpan] = []
        cased = in_mixed_case(text)
        for first, token in enumerate(tokens):
            unknown = normalise(token.text)[:1] not in self.starts and not has_han(token.text)
            if unknown or lexicon.pattern("name_index.contracted").fullmatch(text, token.start - 2, token.end):
                continue
            for last in range(min(len(tokens), first + _LONGEST_NAME), first, -1):
                phrase = text[token.start : tokens[last - 1].end]
                names = self._looked_up(phrase, last - first, cased=cased)
                if names:
                    found.append(NameSpan(first, last, names))
        return found

    def _looked_up(self, phrase: str, length: int, *, cased: bool) -> tuple[GraphName, ...]:
        key = normalise(phrase)
        code = cased and len(phrase) > 1 and phrase.isupper() and phrase.isascii()
        if not key or (length == 1 and not code and (key in FUNCTION_WORDS or key in HAN_FUNCTION)):
            return ()
        names = self.exact.get(key, ())
        if _NAMES_DIGIT.search(key) and _CODE.fullmatch(key.replace(" ", "")):
            names = ranked(unlike([*names, *self.codes.get(_ZEROS.sub("", key.replace(" ", "")), ())]))
        if names:
            return self._as_written(phrase, key, names, cased=cased)
        return self._otherwise(phrase, key, length)

    def _as_written(
        self, phrase: str, key: str, names: tuple[GraphName, ...], *, cased: bool = False
    ) -> tuple[GraphName, ...]:
        """The names, those that are written otherwise than the phrase after those that are written like it.

        ``cased``: the question has capitals where they belong, so that a word without them is no code.
        """
        if len(names) == 1 and len(key) > 4:
            return names
        exactly = [any(as_written(phrase, text) for text in self._texts(name)) for name in names]
        found = []
        for name, exact in zip(names, exactly, strict=True):
            less = 0.0 if exact or not any(exactly) else NOT_VERBATIM
            if len(key) <= 4 and any(small_letter_code(phrase, text) for text in self._texts(name)):
                less = max(less, 1.0 if cased or tuple(parts(key)) in senses() else SMALL_LETTERS)
            found.append(replace(name, score=name.score - less) if less else name)
        return ranked(name for name in found if name.score > 0)

    def _texts(self, name: GraphName) -> tuple[str, ...]:
        """How a thing or value is written."""
        if isinstance(name.term, Literal):
            return (name.term.value,)
        named = (*self.facts.labels.get(name.term, ()), *self.facts.aliases.get(name.term, ()))
        return tuple(item.value for item in named)

    def _otherwise(self, phrase: str, key: str, length: int) -> tuple[GraphName, ...]:
        """What a phrase that is no name may name: a plural, the adjective of a country, words that a name shortens."""
        country = DEMONYMS.get(key, "")
        keys_ = ["" if self._class_called(key) else in_singular(key), country, f"the {country}" if country else ""]
        if length > 1 and self._abbreviations:
            keys_ += abbreviated(phrase, self._abbreviations)
        keys_ += (*self._han.keys(key), *self._elsewise.holding(key))
        found = [
            replace(n, score=n.score - 0.05)
            for k in keys_
            if k and k not in FUNCTION_WORDS
            for n in self._as_written(k, k, self.exact.get(k, ()))
        ]
        found += [replace(n, score=n.score - 0.05) for k in SAME_COUNTRY.get(key, ()) for n in self.exact.get(k, ())]
        if not found:
            found = [GraphName(iri, score, "entity") for iri, score in self._elsewise.named(phrase, key)]
        return ranked(unlike(found)) if found else ()

    def _class_called(self, key: str) -> bool:
        """Whether the last of several words is the plural of a class: "thai restaurants" are many, not one of them."""
        head, _, last = key.rpartition(" ")
        return bool(head) and any(n.kind == "class" and n.score > 0.9 for n in self.terms.get((stem(last),), ()))

    def beginning(self, key: str) -> tuple[str, ...]:
        """The names (normalised) that begin with a text."""
        first = bisect_left(self._sorted, key)
        return tuple(takewhile(lambda name: name.startswith(key), islice(self._sorted, first, None)))

    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        return tuple(sorted(self.exact))

    @cached_property
    def _han(self) -> HanNames:
        return HanNames(self.facts, self.schema)

    @cached_property
    def _elsewise(self) -> Elsewise:
        return Elsewise(self.facts, self.schema)

    @cached_property
    def _abbreviations(self) -> Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]:
        return abbreviations(self.facts)

    def near(self, phrase: str, limit: int = 5) -> list[GraphName]:
        """Names that resemble the phrase: they share its rarest words, or are spelt nearly so."""
        wanted = normalise(phrase)
        tokens = [w for w in words(wanted) if w not in FUNCTION_WORDS]
        scores: dict[str, float] = defaultdict(float)
        for token in tokens[:8]:
            for word, similarity in self._spelt_like(token):
                listed = self.by_word.get(word, ())
                for key in listed[:400]:
                    scores[key] += similarity / (1 + len(listed) ** 0.5 / 10)
        ranked = sorted(scores, key=lambda key: (-_overlap(tokens, key, scores[key]), key))[:limit]
        return [
            GraphName(name.term, round(min(0.85, _overlap(tokens, key, scores[key])), 3), name.kind, name.predicate)
            for key in ranked
            for name in self.exact.get(key, ())[:3]
            if _overlap(tokens, key, scores[key]) >= 0.45
        ]

    def _spelt_like(self, token: str) -> list[tuple[str, float]]:
        if token in self.by_word:
            return [(token, 1.0)]
        if len(token) < 4 or has_han(token):
            return []
        grams = _trigrams(token)
        counts: dict[str, int] = defaultdict(int)
        for gram in grams:
            for word in self.by_trigram.get(gram, ()):
                counts[word] += 1
        ranked = sorted(counts, key=lambda w: (-2 * counts[w] / (len(grams) + len(w)), w))[:3]
        return [(w, s) for w in ranked if (s := 2 * counts[w] / (len(grams) + len(_trigrams(w)))) >= 0.55]

    def schema_terms(self, tokens: list[QuestionToken], text: str) -> list[NameSpan]:
        """The stretches of the question that name classes or properties."""
        found: list[NameSpan] = []
        for first, token in enumerate(tokens):
            for last in range(min(len(tokens), first + 8), first, -1):
                names: dict[tuple[object, str], GraphName] = {}
                phrase = text[token.start : tokens[last - 1].end]
                for key, by_sense in ((in_full(parts(phrase)), False), *keys(phrase)):
                    for name in self.terms.get(key, ()):
                        score = name.score * (0.85 if by_sense else 1.0)
                        known = names.get((name.term, name.kind))
                        if known is None or known.score < score:
                            names[name.term, name.kind] = GraphName(name.term, score, name.kind)
                if names and not self._padded(tokens, text, first, last):
                    found.append(NameSpan(first, last, ranked(names.values())))
        return found

    def _padded(self, tokens: list[QuestionToken], text: str, first: int, last: int) -> bool:
        """Whether a stretch begins or ends with a function word that is no part of a form or sense."""
        if last - first == 1 or (has_han(tokens[first].text) and tokens[first].text not in _ASKING_HAN):
            return False  # written without blanks, a name is a form as it is
        inside = [token.text.casefold() for token in tokens[first:last]]
        ends = (inside[0], inside[-1])
        padded = any(end in HAN_FUNCTION or stem(end) in FUNCTION_STEMS for end in ends)
        if not padded and not any(word in lexicon.word_set("name_index.asking") or word in _VERBS for word in inside):
            return False
        phrase = tuple(parts(text[tokens[first].start : tokens[last - 1].end]))
        return phrase not in self.forms and phrase not in senses()

    def link(self, question: str) -> tuple[Linked, ...]:
        """What the words of a question stand for, longest names first, every equally good candidate kept."""
        tokens = tokens_of(question)
        said = (
            s for s in self.schema_terms(tokens, question) if not tokens[s.first].text.isdigit()
        )  # "top 3": no term
        spans = sorted((*self.things(tokens, question), *said), key=lambda s: (s.first - s.last, s.first))
        taken: set[int] = set()
        found: list[Linked] = []
        for span in spans:
            places = set(range(span.first, span.last))
            if places & taken:
                continue
            taken |= places
            start, end = tokens[span.first].start, tokens[span.last - 1].end
            for name in span.names[:5]:
                if name.score >= span.names[0].score - 0.25:
                    found.append(self._linked(name, question[start:end], start, end))
        return tuple(sorted(found, key=lambda item: (item.start, -item.score, item.iri.value)))

    def _linked(self, name: GraphName, text: str, start: int, end: int) -> Linked:
        iri = name.term if isinstance(name.term, NamedNode) else name.predicate
        assert iri is not None
        return Linked(text, iri, self.label(name.term), round(name.score, 3), name.kind, start, end)


def ranked(names: Iterable[GraphName]) -> tuple[GraphName, ...]:
    """The names, best first."""
    return tuple(sorted(names, key=lambda n: (-n.score, n.kind, str(n.term))))


def _trigrams(word: str) -> set[str]:
    marked = f" {word} "
    return {marked[i : i + 3] for i in range(len(marked) - 2)}


def _overlap(tokens: list[str], key: str, score: float) -> float:
    """The share of words that question and name have in common, weighed by how well they are spelt."""
    own = words(key)
    return 0.95 * min(score, len(own)) / max(1.0, 0.5 * len(own) + 0.5 * len(tokens))


def unlike(names: Iterable[GraphName]) -> Iterable[GraphName]:
    """The names without repetition, each with its best score."""
    found: dict[tuple[object, str], GraphName] = {}
    for name in names:
        keep(found, name)
    return found.values()


def keep(names: dict[tuple[object, str], GraphName], name: GraphName) -> None:
    """Puts the name among the others, unless it is there with a better score."""
    key = (name.term, f"{name.kind}{name.predicate or ''}")
    known = names.get(key)
    if known is None or known.score < name.score:
        names[key] = name


# Builds the index of names: of things, of their values, and the words of the schema.

_PLAIN = re.compile(r"[a-z0-9\u4e00-\u9fff]+(?: [a-z0-9\u4e00-\u9fff]+)*")
_ARTICLES = lexicon.words("name_index.articles")
_MARKS = re.compile(r"\s*[()（）]\s*")
_VALUE_LENGTH = 80
_INDEXING_NOTED = 0.8
_HAVING = frozenset(part for word in ("has", "have", "is", "are") for part in parts(word))


class _Builder:
    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self.facts = facts
        self.schema = schema
        self.exact: dict[str, list[GraphName]] = defaultdict(list)
        self.terms: dict[tuple[str, ...], dict[tuple[object, str], GraphName]] = defaultdict(dict)

        self.forms: set[tuple[str, ...]] = set()

    def add(self, text: str, name: GraphName) -> None:
        key = _key(text)
        if key:
            self.exact[key].append(name)

    def entities(self) -> None:
        for weight, source in ((1.0, self.facts.labels), (0.95, self.facts.aliases)):
            for node, literals in source.items():
                if isinstance(node, NamedNode):
                    for literal in literals:
                        self._entity(literal.value, node, weight)
        for node in self.facts.types:
            if isinstance(node, NamedNode) and node not in self.facts.labels:
                self._entity(words_of_iri(node.value), node, 0.8)

    def _entity(self, text: str, node: NamedNode, weight: float) -> None:
        if len(text) > 200:
            return
        self.add(text, GraphName(node, weight, "entity"))
        bare = BRACKETS.sub("", text)
        if bare != text and len(bare) > 1:
            self.add(bare, GraphName(node, weight - 0.1, "entity"))
            self.add(_MARKS.sub("" if has_han(text) else " ", text), GraphName(node, weight - 0.05, "entity"))
        title, colon, _ = bare.replace("：", ": ").partition(": ")
        if colon and len(title) >= 3:
            self.add(title, GraphName(node, weight - 0.1, "entity"))
        if has_han(text):
            short = lexicon.pattern("name_index.han_suffix").sub("", bare)
            if short != bare and len(short) >= 2:
                self.add(short, GraphName(node, weight - 0.15, "entity"))

    def values(self) -> None:
        for predicate, counted in self.facts.values.items():
            if predicate in self.facts.name_properties:
                continue
            for object_ in counted:
                if isinstance(object_, Literal) and _textual(object_) and len(object_.value) <= _VALUE_LENGTH:
                    for text in (object_.value, *other_names(object_.value)):
                        self.add(text, GraphName(object_, 0.9, "value", predicate))

    def schema_words(self) -> None:
        for iri, term in self.schema.classes.items():
            self._term(iri, term.words, "class")
            self._noted(iri, term.comments, "class")
        for iri, prop in self.schema.properties.items():
            self._term(iri, (*prop.words, Word(words_of_iri(iri.value), "")), "property")
            self._noted(iri, prop.comments, "property")

    def _noted(self, iri: NamedNode, comments: Iterable[Word], kind: str) -> None:
        """The names that a comment mentions beside what it says."""
        for comment in comments:
            for text in comment_names(comment.text):
                for key, by_sense in keys(text):
                    if not by_sense:
                        keep(self.terms[key], GraphName(iri, _INDEXING_NOTED, kind))

    def _term(self, iri: NamedNode, forms: Iterable[Word], kind: str) -> None:
        for place, form in enumerate(dict.fromkeys(forms)):
            weight = 1.0 if place < 2 else 0.95
            bare = BRACKETS.sub(" ", form.text).strip() or form.text
            if short := acronym(form.text):
                keep(self.terms[tuple(parts(short))], GraphName(iri, 0.95 * weight, kind))
            whole = _without_having(parts(bare))
            self.forms.update((tuple(parts(bare)), tuple(whole)))
            for key, by_sense in keys(bare):
                shortened = 0.8 if any(p in FUNCTION_STEMS for p in whole) else 1.0
                keep(self.terms[key], GraphName(iri, weight * shortened * (0.9 if by_sense else 1.0), kind))
                if shortened < 1.0 and not by_sense:
                    keep(self.terms[in_full(whole)], GraphName(iri, weight, kind))
                self._pieces(iri, key, weight, kind)
            if has_han(bare) and len(bare) > 2:
                for piece in (piece for piece in {bare[:2], bare[-2:]} if not set(piece) <= HAN_FUNCTION):
                    for key, by_sense in keys(piece):
                        keep(self.terms[key], GraphName(iri, weight * (0.5 if by_sense else 0.6), kind))

    def _pieces(self, iri: NamedNode, key: tuple[str, ...], weight: float, kind: str) -> None:
        if len(key) < 2:
            return
        for place, part in enumerate(key):
            head = 0.68 if place == len(key) - 1 else 0.58
            keep(self.terms[(part,)], GraphName(iri, weight * head, kind))


def _without_having(phrase: list[str]) -> list[str]:
    """The parts of "has product manager" without its verb: nobody says it in a question."""
    return phrase[1:] if len(phrase) > 1 and phrase[0] in _HAVING else phrase


def _textual(literal: Literal) -> bool:
    return bool(literal.language) or literal.datatype.value.endswith(("#string", "#langString"))


def _key(text: str) -> str:
    """`normalise`, with a short cut for what is plain already."""
    plain = text.casefold()
    if _PLAIN.fullmatch(plain) and not plain.startswith(_ARTICLES) and plain not in ("a", "an", "the"):
        return plain
    return normalise(text)


def _starts(keys_: Iterable[str]) -> frozenset[str]:
    """With what a name may start: any letter, where Chinese names may be said in Latin letters."""
    found = frozenset(key[:1] for key in keys_)
    return found | frozenset("0123456789") | (frozenset(ascii_lowercase) if any(map(has_han, found)) else frozenset())


def name_index(facts: GraphFacts, schema: SchemaView) -> NameIndex:
    """The index over the graph's names and the schema's words."""
    builder = _Builder(facts, schema)
    builder.entities()
    builder.values()
    builder.schema_words()
    return NameIndex(
        facts=facts,
        schema=schema,
        exact={key: tuple(found) if len(found) == 1 else ranked(unlike(found)) for key, found in builder.exact.items()},
        terms={key: ranked(found.values()) for key, found in builder.terms.items()},
        starts=_starts(builder.exact),
        forms=frozenset(builder.forms),
    )
