"""Names to IRIs: entities, classes, properties and literal values, found in a question by index, never by a scan.

Exact (normalised), alias, code ("C5" for "C05"), shortened and misspelt names are told apart by score; equal names of
different things are all kept. Chinese is read without blanks, the longest name first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Word, label_of
from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.wording import FUNCTION_STEMS, FUNCTION_WORDS, HAN_FUNCTION, keys, parts, senses
from kgplatform.text import has_han, normalise, words
from kgplatform.types import Linked
from kgplatform.vocab import words_of_iri

MAX_TOKENS = 300
_LONGEST_NAME = 16
_TOKEN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|\d+(?:\.\d+)?|[^\W\d_]+", re.UNICODE)
_CODE = re.compile(r"(?=.*\d)[^\W_]{1,12}", re.UNICODE)
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*")
_HAN_SUFFIX = re.compile(r"(?:特别行政区|自治区|自治州|自治县|风景区|景区|省|市|县|区|州|镇|乡)$")
_VALUE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Token:
    """A word or Han character of a question."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Name:
    """What a name may stand for; ``predicate`` is set for a literal value, which then is ``term``."""

    term: NamedNode | Literal
    score: float
    kind: str
    predicate: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens ``first`` to before ``last`` of a question and all they may stand for, best first."""

    first: int
    last: int
    names: tuple[Name, ...]


@dataclass(frozen=True)
class NameIndex:
    """Every name of a graph and its schema."""

    facts: GraphFacts
    schema: SchemaView
    exact: Mapping[str, tuple[Name, ...]]
    codes: Mapping[str, tuple[Name, ...]]
    by_word: Mapping[str, tuple[str, ...]]
    by_trigram: Mapping[str, frozenset[str]]
    terms: Mapping[tuple[str, ...], tuple[Name, ...]]
    starts: frozenset[str] = field(default_factory=frozenset)
    forms: frozenset[tuple[str, ...]] = field(default_factory=frozenset)

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

    def knows(self, node: object) -> bool:
        """Whether a node occurs in any statement of the graph."""
        return node in self._nodes

    @cached_property
    def _nodes(self) -> frozenset[object]:
        return frozenset(node for subject, _, object_ in self.facts.statements for node in (subject, object_))

    def types(self, term: object) -> tuple[NamedNode, ...]:
        """The classes of a thing."""
        return self.facts.types.get(term, ())

    def things(self, tokens: list[Token], text: str) -> list[Span]:
        """The stretches of the question that name entities or values."""
        found: list[Span] = []
        for first, token in enumerate(tokens):
            if _start(token.text) not in self.starts:
                continue
            for last in range(min(len(tokens), first + _LONGEST_NAME), first, -1):
                phrase = text[token.start : tokens[last - 1].end]
                names = self._looked_up(phrase, last - first)
                if names:
                    found.append(Span(first, last, names))
        return found

    def _looked_up(self, phrase: str, length: int) -> tuple[Name, ...]:
        key = normalise(phrase)
        if not key or (length == 1 and (key in FUNCTION_WORDS or key in HAN_FUNCTION)):
            return ()
        names = self.exact.get(key, ())
        if not names and _CODE.fullmatch(key.replace(" ", "")):
            names = self.codes.get(_code(key), ())
        return names

    def near(self, phrase: str, limit: int = 5) -> list[Name]:
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
            Name(name.term, round(min(0.85, _overlap(tokens, key, scores[key])), 3), name.kind, name.predicate)
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

    def schema_terms(self, tokens: list[Token], text: str) -> list[Span]:
        """The stretches of the question that name classes or properties."""
        found: list[Span] = []
        for first, token in enumerate(tokens):
            for last in range(min(len(tokens), first + 8), first, -1):
                names: dict[tuple[object, str], Name] = {}
                for key, by_sense in keys(text[token.start : tokens[last - 1].end]):
                    for name in self.terms.get(key, ()):
                        score = name.score * (0.85 if by_sense else 1.0)
                        known = names.get((name.term, name.kind))
                        if known is None or known.score < score:
                            names[name.term, name.kind] = Name(name.term, score, name.kind)
                if names and not self._padded(tokens, text, first, last):
                    found.append(Span(first, last, _ranked(names.values())))
        return found

    def _padded(self, tokens: list[Token], text: str, first: int, last: int) -> bool:
        """Whether a stretch begins or ends with a function word that is no part of a form or sense."""
        if last - first == 1:
            return False
        ends = (tokens[first].text.casefold(), tokens[last - 1].text.casefold())
        if not any(end in FUNCTION_WORDS or end in HAN_FUNCTION for end in ends):
            return False
        phrase = tuple(parts(text[tokens[first].start : tokens[last - 1].end]))
        return phrase not in self.forms and phrase not in senses()

    def link(self, question: str) -> tuple[Linked, ...]:
        """What the words of a question stand for, longest names first, every equally good candidate kept."""
        tokens = tokens_of(question)
        spans = sorted(
            (*self.things(tokens, question), *self.schema_terms(tokens, question)),
            key=lambda s: (s.first - s.last, s.first),
        )
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

    def _linked(self, name: Name, text: str, start: int, end: int) -> Linked:
        iri = name.term if isinstance(name.term, NamedNode) else name.predicate
        assert iri is not None
        return Linked(text, iri, self.label(name.term), round(name.score, 3), name.kind, start, end)


def tokens_of(question: str) -> list[Token]:
    """The words of a question with their places; what is beyond the first few hundred is not read."""
    found = []
    for match in _TOKEN.finditer(question):
        found.append(Token(match.group(), match.start(), match.end()))
        if len(found) >= MAX_TOKENS:
            break
    return found


def _ranked(names: Iterable[Name]) -> tuple[Name, ...]:
    return tuple(sorted(names, key=lambda n: (-n.score, n.kind, str(n.term))))


def _start(text: str) -> str:
    return normalise(text)[:1]


def _code(key: str) -> str:
    return _ZEROS.sub("", key.replace(" ", ""))


def _trigrams(word: str) -> set[str]:
    marked = f" {word} "
    return {marked[i : i + 3] for i in range(len(marked) - 2)}


def _overlap(tokens: list[str], key: str, score: float) -> float:
    """The share of words that question and name have in common, weighed by how well they are spelt."""
    own = words(key)
    return 0.95 * min(score, len(own)) / max(1.0, 0.5 * len(own) + 0.5 * len(tokens))


class _Builder:
    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self.facts = facts
        self.schema = schema
        self.exact: dict[str, dict[tuple[object, str], Name]] = defaultdict(dict)
        self.codes: dict[str, dict[tuple[object, str], Name]] = defaultdict(dict)
        self.terms: dict[tuple[str, ...], dict[tuple[object, str], Name]] = defaultdict(dict)

        self.forms: set[tuple[str, ...]] = set()

    def add(self, text: str, name: Name) -> None:
        key = normalise(text)
        if key:
            _keep(self.exact[key], name)

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
        self.add(text, Name(node, weight, "entity"))
        bare = _BRACKETS.sub("", text)
        if bare != text and len(bare) > 1:
            self.add(bare, Name(node, weight - 0.1, "entity"))
        title, colon, _ = bare.replace("：", ": ").partition(": ")
        if colon and len(title) >= 3:
            self.add(title, Name(node, weight - 0.1, "entity"))
        if has_han(text):
            short = _HAN_SUFFIX.sub("", bare)
            if short != bare and len(short) >= 2:
                self.add(short, Name(node, weight - 0.15, "entity"))

    def values(self) -> None:
        seen: set[tuple[NamedNode, Literal]] = set()
        for _, predicate, object_ in self.facts.statements:
            if not isinstance(object_, Literal) or predicate in self.facts.name_properties:
                continue
            text = object_.value
            if len(text) > _VALUE_LENGTH or (predicate, object_) in seen or not _textual(object_):
                continue
            seen.add((predicate, object_))
            self.add(text, Name(object_, 0.9, "value", predicate))
            key = normalise(text)
            if _CODE.fullmatch(key.replace(" ", "")):
                _keep(self.codes[_code(key)], Name(object_, 0.85, "value", predicate))

    def entity_codes(self) -> None:
        for key, names in list(self.exact.items()):
            if _CODE.fullmatch(key.replace(" ", "")):
                for name in list(names.values()):
                    lower = Name(name.term, name.score - 0.1, name.kind, name.predicate)
                    _keep(self.codes[_code(key)], lower)

    def schema_words(self) -> None:
        for iri, term in self.schema.classes.items():
            self._term(iri, term.words, "class")
        for iri, prop in self.schema.properties.items():
            self._term(iri, (*prop.words, Word(words_of_iri(iri.value), "")), "property")

    def _term(self, iri: NamedNode, forms: Iterable[Word], kind: str) -> None:
        for place, form in enumerate(dict.fromkeys(forms)):
            weight = 1.0 if place < 2 else 0.95
            bare = _BRACKETS.sub(" ", form.text).strip() or form.text
            whole = parts(bare)
            self.forms.add(tuple(whole))
            for key, by_sense in keys(bare):
                shortened = 0.8 if any(p in FUNCTION_STEMS for p in whole) else 1.0
                _keep(self.terms[key], Name(iri, weight * shortened * (0.9 if by_sense else 1.0), kind))
                self._pieces(iri, key, weight, kind)
            if has_han(bare) and len(bare) > 2:
                for piece in {bare[:2], bare[-2:]}:
                    for key, by_sense in keys(piece):
                        _keep(self.terms[key], Name(iri, weight * (0.5 if by_sense else 0.6), kind))

    def _pieces(self, iri: NamedNode, key: tuple[str, ...], weight: float, kind: str) -> None:
        if len(key) < 2:
            return
        for place, part in enumerate(key):
            head = 0.68 if place == len(key) - 1 else 0.58
            _keep(self.terms[(part,)], Name(iri, weight * head, kind))


def _textual(literal: Literal) -> bool:
    return bool(literal.language) or literal.datatype.value.endswith(("#string", "#langString"))


def _keep(names: dict[tuple[object, str], Name], name: Name) -> None:
    key = (name.term, f"{name.kind}{name.predicate or ''}")
    known = names.get(key)
    if known is None or known.score < name.score:
        names[key] = name


def name_index(facts: GraphFacts, schema: SchemaView) -> NameIndex:
    """The index over the graph's names and the schema's words."""
    builder = _Builder(facts, schema)
    builder.entities()
    builder.values()
    builder.entity_codes()
    builder.schema_words()
    by_word: dict[str, list[str]] = defaultdict(list)
    for key in builder.exact:
        for word in set(words(key)):
            by_word[word].append(key)
    by_trigram: dict[str, set[str]] = defaultdict(set)
    for word in by_word:
        if len(word) >= 4 and not has_han(word):
            for gram in _trigrams(word):
                by_trigram[gram].add(word)
    return NameIndex(
        facts=facts,
        schema=schema,
        exact={key: _ranked(found.values()) for key, found in builder.exact.items()},
        codes={key: _ranked(found.values()) for key, found in builder.codes.items()},
        by_word={word: tuple(listed) for word, listed in by_word.items()},
        by_trigram={gram: frozenset(listed) for gram, listed in by_trigram.items()},
        terms={key: _ranked(found.values()) for key, found in builder.terms.items()},
        starts=frozenset(key[:1] for key in (*builder.exact, *builder.codes)),
        forms=frozenset(builder.forms),
    )
