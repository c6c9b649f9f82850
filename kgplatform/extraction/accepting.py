"""What of a model's reply is accepted: nothing on its word, all else refused with the reason.

A statement needs a quote that stands in the passage and names what it is about, terms that the ontology has, a domain
and range that admit it, and a value of the right form. What fails is kept as refused, so that the model can be
asked to look again and a person can see what was lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.names import clean_name
from kgplatform.extraction.prompting import Schema
from kgplatform.extraction.quoting import Passage, is_symbol, locate, names_one, tells
from kgplatform.extraction.values import literal_of
from kgplatform.ontology import Ontology
from kgplatform.text import normalise, sentences, words
from kgplatform.types import Claim, Document, Mention, Refusal
from kgplatform.vocab import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER

_MAX_ALIASES, _MAX_KEYWORDS, _LONGEST = 8, 20, 300
ORDERED: Final = "the passage orders this to be written, it does not say it"
"""Why a statement is refused that a text tries to put into a model's mouth; it is not asked for again."""

SYMBOL: Final = "a symbol of this text is no name of anything"
"""Why a letter that stands for a quantity is no mention; it is not asked for again."""

_OUTER: Final = " \t\"'“”‘’《》「」"
_NUMBERS: Final = (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE)
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_LEAST_WORDS: Final = 4
"""A sentence of fewer words, or Chinese characters, is a remark or the number of a list."""
_UNSAID: Final = 0.7
"""The confidence of a statement for which the model gave none."""

_Fact: TypeAlias = tuple[str, str, str]


@dataclass(slots=True)
class Accepting:
    """The replies to one passage so far: what of them holds, and what does not and why."""

    ontology: Ontology
    schema: Schema
    passage: Passage
    document: Document
    mentions: dict[str, Mention] = field(default_factory=dict)
    claims: dict[_Fact, Claim] = field(default_factory=dict)
    keywords: dict[str, None] = field(default_factory=dict)
    _refused: dict[tuple[str, str], tuple[_Fact | None, Refusal]] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What was refused, but for what a later look made good."""
        made_good = {_key(claim) for claim in self.claims.values()}
        return tuple(refusal for fact, refusal in self._refused.values() if fact is None or fact not in made_good)

    def read(self, reply: Mapping[str, object]) -> int:
        """Takes in a reply and returns how many statements it adds; a mention that none uses may be corrected."""
        before = len(self.claims)
        for item in _objects(reply.get("mentions"), self._lose):
            self._mention(item)
        for item in _objects(reply.get("statements"), self._lose):
            for single in _single(item):
                self._statement(single)
        self._keywords(reply.get("keywords"))
        return len(self.claims) - before

    def share_read(self) -> float:
        """The share of the passage's sentences of which something was taken: a statement, or a name that stands there.

        Sentences too short to state anything do not count, nor headings and what gives orders; 1 where none counts.
        """
        forms = {
            form
            for mention in self.mentions.values()
            for form in map(normalise, (mention.text, mention.name, *mention.aliases))
            if form
        }
        quotes = [(claim.start - self.passage.start, claim.end - self.passage.start) for claim in self.claims.values()]
        count = read = 0
        for start, end in sentences(self.passage.text):
            sentence = self.passage.text[start:end]
            if len(words(sentence)) < _LEAST_WORDS or sentence.startswith("#") or self.passage.orders(start, end):
                continue
            said = normalise(sentence)
            count += 1
            read += any(a < end and start < b for a, b in quotes) or any(form in said for form in forms)
        return read / count if count else 1.0

    def lose(self, text: str, reason: str) -> None:
        """Notes as refused a part of a reply that could not be read."""
        self._refuse(text, reason)

    def _lose(self, item: object) -> None:
        if item is not None:
            self._refuse(str(item), "this is not an object as asked for")

    def _refuse(self, text: str, reason: str, fact: _Fact | None = None) -> None:
        shown = " ".join(text.split())[:_LONGEST]
        self._refused.setdefault((shown, reason), (fact, Refusal(shown, reason)))

    def _label(self, iri: NamedNode) -> str:
        return self.ontology.label(iri, self.document.language)

    def _mention(self, item: Mapping[str, Any]) -> None:
        text = _text(item, "text")
        type_ = self._class(_text(item, "class"))
        place = self._place(text)
        if type_ is None:
            self._refuse(text, f"there is no class {_text(item, 'class')!r}")
        elif place is None:
            self._refuse(text, "the mention is neither in the passage nor in the title")
        elif is_symbol(text, self.passage.text):
            self._refuse(text, SYMBOL)
        elif (name := self._name(item, type_)) is None:
            self._refuse(text, f"not one of the values of {self._label(type_)!r}")
        else:
            start, end = place
            mention = Mention(self.document.text[start:end], start, end, type_, name, self._aliases(item, name))
            self._put(normalise(text), mention)

    def _put(self, key: str, mention: Mention) -> None:
        """Keeps the mention; the first of a name stays once a statement is about it."""
        before = self.mentions.get(key)
        if before is None or not any(before in (claim.subject, claim.object) for claim in self.claims.values()):
            self.mentions[key] = mention

    def _place(self, text: str) -> tuple[int, int] | None:
        """Where the text stands in the document: in the passage, else in the title as the document has it."""
        place = locate(self.passage.text, text)
        if place is not None:
            return place[0] + self.passage.start, place[1] + self.passage.start
        return locate(self.document.text, text) if locate(self.document.title, text) else None

    def _name(self, item: Mapping[str, Any], type_: NamedNode) -> str | None:
        """The name of a mention: of a closed list the value's label (None: there is no such value), else as written."""
        text, name = _text(item, "text"), _text(item, "name").strip(_OUTER)
        values = {iri: value for iri, value in self.ontology.individuals.items() if type_ in value.types}
        if values:
            wanted = {normalise(name), normalise(text)}
            meant = (
                iri for iri, value in values.items() if any(normalise(word.text) in wanted for word in value.words)
            )
            found = next(meant, None)
            return self.ontology.label(found, self.document.language) if found else None
        if name and (locate(self.document.text, name) or locate(self.document.title, name)):
            return " ".join(name.split())  # with its article, if the model says that this is part of it
        return clean_name(text)

    def _class(self, name: str) -> NamedNode | None:
        """The class of that name in the prompt, else by its label, where the model wrote that."""
        wanted = name.casefold()
        labelled = (
            item.iri
            for item in self.ontology.domain_classes
            if any(wanted == word.text.casefold() for word in item.words)
        )
        return self.schema.class_iri(name) or next(labelled, None)

    def _aliases(self, item: Mapping[str, Any], name: str) -> tuple[str, ...]:
        """Other names that the passage gives; what is not in it is left out."""
        given = item.get("aliases")
        found = [alias for alias in given if isinstance(alias, str)] if isinstance(given, list) else []
        kept = [clean_name(alias) for alias in found if locate(self.passage.text, alias)]
        return tuple(dict.fromkeys(alias for alias in kept if alias and normalise(alias) != normalise(name)))[
            :_MAX_ALIASES
        ]

    def _statement(self, item: Mapping[str, Any]) -> None:
        claim = self._claim(item)
        if isinstance(claim, str):
            fact = _text(item, "subject"), _text(item, "property"), _text(item, "object")
            predicate = self.schema.property_iri(fact[1])
            about = (normalise(fact[0]), predicate.value, normalise(fact[2])) if predicate else None
            self._refuse(" | ".join(fact), claim, about)
        else:
            fact = (normalise(claim.subject.name), claim.predicate.value, _shown(claim.object))
            self.claims.setdefault(fact, claim)

    def _claim(self, item: Mapping[str, Any]) -> Claim | str:
        """The statement as a claim, or the reason why it is none."""
        place = locate(self.passage.text, _text(item, "quote"))
        if place is None:
            return "quote is not in the passage"
        if self.passage.orders(*place):
            return ORDERED
        predicate = self.schema.property_iri(_text(item, "property"))
        if predicate is None:
            return f"there is no property {_text(item, 'property')!r}"
        subject = self._named(_text(item, "subject"))
        if subject is None:
            return f"the subject {_text(item, 'subject')!r} is not a mention"
        if not self._is_one_of(subject.type, self.ontology.properties[predicate].domains):
            return f"{self._label(predicate)!r} is not said of {self._label(subject.type)!r}"
        object_ = self._object(predicate, _text(item, "object"), place)
        if isinstance(object_, str):
            return object_
        if reason := self._unsupported(place, predicate, subject, object_):
            return reason
        start, end = place[0] + self.passage.start, place[1] + self.passage.start
        return Claim(subject, predicate, object_, start, end, _confidence(item.get("confidence")))

    def _unsupported(
        self, place: tuple[int, int], predicate: NamedNode, subject: Mention, object_: Mention | Literal
    ) -> str | None:
        """Why the quote cannot be where the statement was read; None where it can."""
        quote = self.passage.text[place[0] : place[1]]
        if isinstance(object_, Mention):
            if subject.name == object_.name and subject.type == object_.type:
                return "subject and object are the same"
            return None if names_one(quote, subject, object_) else "the quote names neither subject nor object"
        formed = self.ontology.properties[predicate].pattern is not None
        return None if tells(quote, object_, formed=formed) else f"the quote does not hold {object_.value!r}"

    def _object(self, predicate: NamedNode, text: str, quote: tuple[int, int]) -> Mention | Literal | str:
        term = self.ontology.properties[predicate]
        if not term.is_object:
            try:
                literal = literal_of(text, term, language=self.document.language)
            except ValueError as error:
                return str(error)
            if literal.datatype in _NUMBERS and len(_NUMBER.findall(text)) > 1:
                return f"{text!r} is not one number"  # a code such as 0002-9327, or a span
            return literal
        found = self._named(text) or self._value(predicate, text, quote)
        if found is None:
            return f"the object {text!r} is not a mention"
        if not self._is_one_of(found.type, term.ranges):
            return f"{self._label(predicate)!r} does not lead to {self._label(found.type)!r}"
        return found

    def _is_one_of(self, type_: NamedNode, wanted: tuple[NamedNode, ...]) -> bool:
        """Whether the class is a wanted one; where no class is a kind of another, whether it may be one."""
        if self.ontology.is_flat:
            return not wanted or any(not self.ontology.disjoint(type_, item) for item in wanted)
        return self.ontology.is_a(type_, wanted)

    def _named(self, text: str) -> Mention | None:
        wanted = normalise(text)
        if not wanted:
            return None
        by_name = (item for item in self.mentions.values() if wanted == normalise(item.name) or text in item.aliases)
        return self.mentions.get(wanted) or next(by_name, None)

    def _value(self, predicate: NamedNode, text: str, quote: tuple[int, int]) -> Mention | None:
        """The named value of a closed list that the text is a word for; its place is the quote's."""
        wanted, ranges = normalise(text), self.ontology.properties[predicate].ranges
        for iri, individual in self.ontology.individuals.items():
            fits = [type_ for type_ in individual.types if self.ontology.is_a(type_, ranges)]
            if fits and any(normalise(word.text) == wanted for word in individual.words):
                inner = locate(self.passage.text[quote[0] : quote[1]], text)
                low, high = (quote[0] + inner[0], quote[0] + inner[1]) if inner else quote
                start, end = low + self.passage.start, high + self.passage.start
                name = self.ontology.label(iri, self.document.language)
                return Mention(self.document.text[start:end], start, end, fits[0], name)
        return None

    def _keywords(self, value: object) -> None:
        found = [" ".join(item.split()) for item in value if isinstance(item, str)] if isinstance(value, list) else []
        for word in found:
            if 0 < len(word) <= 80 and len(self.keywords) < _MAX_KEYWORDS:
                self.keywords[word] = None


def _key(claim: Claim) -> _Fact:
    """A claim by the words that stand in the text, as a model writes it."""
    object_ = claim.object.text if isinstance(claim.object, Mention) else claim.object.value
    return normalise(claim.subject.text), claim.predicate.value, normalise(object_)


def _shown(object_: Mention | Literal) -> str:
    return normalise(object_.name) if isinstance(object_, Mention) else str(object_)


def _objects(value: object, lose: Callable[[object], None]) -> Iterator[Mapping[str, Any]]:
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(item, dict):
            yield item
        else:
            lose(item)


def _single(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The statements of one that names several subjects or objects."""
    parts = [item.get(key) for key in ("subject", "object")]
    lists = [part if isinstance(part, list) and part else [part] for part in parts]
    for subject, object_ in product(*lists):
        yield {**item, "subject": subject, "object": object_}


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _UNSAID
    return min(max(float(value), 0.0), 1.0)
