"""Builds the index of names: of things, of their values, and the words of the schema."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from string import ascii_lowercase

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Word
from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.names import BRACKETS, Name, NameIndex, keep, ranked, unlike
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.variants import acronym, comment_names
from kgplatform.questions.wording import FUNCTION_STEMS, in_full, keys, parts
from kgplatform.text import has_han, normalise
from kgplatform.vocab import words_of_iri

_PLAIN = re.compile(r"[a-z0-9\u4e00-\u9fff]+(?: [a-z0-9\u4e00-\u9fff]+)*")
_ARTICLES = ("the ", "a ", "an ")
_MARKS = re.compile(r"\s*[()（）]\s*")
_HAN_SUFFIX = re.compile(r"(?:特别行政区|自治区|自治州|自治县|风景区|景区|省|市|县|区|州|镇|乡)$")
_VALUE_LENGTH = 80
_NOTED = 0.8
_HAVING = frozenset(part for word in ("has", "have", "is", "are") for part in parts(word))


class _Builder:
    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self.facts = facts
        self.schema = schema
        self.exact: dict[str, list[Name]] = defaultdict(list)
        self.terms: dict[tuple[str, ...], dict[tuple[object, str], Name]] = defaultdict(dict)

        self.forms: set[tuple[str, ...]] = set()

    def add(self, text: str, name: Name) -> None:
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
        self.add(text, Name(node, weight, "entity"))
        bare = BRACKETS.sub("", text)
        if bare != text and len(bare) > 1:
            self.add(bare, Name(node, weight - 0.1, "entity"))
            self.add(_MARKS.sub("" if has_han(text) else " ", text), Name(node, weight - 0.05, "entity"))
        title, colon, _ = bare.replace("：", ": ").partition(": ")
        if colon and len(title) >= 3:
            self.add(title, Name(node, weight - 0.1, "entity"))
        if has_han(text):
            short = _HAN_SUFFIX.sub("", bare)
            if short != bare and len(short) >= 2:
                self.add(short, Name(node, weight - 0.15, "entity"))

    def values(self) -> None:
        for predicate, counted in self.facts.values.items():
            if predicate in self.facts.name_properties:
                continue
            for object_ in counted:
                if isinstance(object_, Literal) and _textual(object_) and len(object_.value) <= _VALUE_LENGTH:
                    self.add(object_.value, Name(object_, 0.9, "value", predicate))

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
                        keep(self.terms[key], Name(iri, _NOTED, kind))

    def _term(self, iri: NamedNode, forms: Iterable[Word], kind: str) -> None:
        for place, form in enumerate(dict.fromkeys(forms)):
            weight = 1.0 if place < 2 else 0.95
            bare = BRACKETS.sub(" ", form.text).strip() or form.text
            if short := acronym(form.text):
                keep(self.terms[tuple(parts(short))], Name(iri, 0.95 * weight, kind))
            whole = _without_having(parts(bare))
            self.forms.update((tuple(parts(bare)), tuple(whole)))
            for key, by_sense in keys(bare):
                shortened = 0.8 if any(p in FUNCTION_STEMS for p in whole) else 1.0
                keep(self.terms[key], Name(iri, weight * shortened * (0.9 if by_sense else 1.0), kind))
                if shortened < 1.0 and not by_sense:
                    keep(self.terms[in_full(whole)], Name(iri, weight, kind))
                self._pieces(iri, key, weight, kind)
            if has_han(bare) and len(bare) > 2:
                for piece in {bare[:2], bare[-2:]}:
                    for key, by_sense in keys(piece):
                        keep(self.terms[key], Name(iri, weight * (0.5 if by_sense else 0.6), kind))

    def _pieces(self, iri: NamedNode, key: tuple[str, ...], weight: float, kind: str) -> None:
        if len(key) < 2:
            return
        for place, part in enumerate(key):
            head = 0.68 if place == len(key) - 1 else 0.58
            keep(self.terms[(part,)], Name(iri, weight * head, kind))


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
