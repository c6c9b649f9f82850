"""Extraction by a language model: the prompt is derived from the ontology, the reply is held against the passage.

Nothing is accepted on the model's word. A statement needs a quote that stands in the passage, terms the
ontology has, a domain and range that admit it, and a value of the right form; all else is kept as refused,
with the reason. So a passage that gives orders to the model can at most have said what it literally says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import ModelReplyError
from kgplatform.extraction.names import clean_name
from kgplatform.extraction.prompting import Schema, schema_of
from kgplatform.extraction.values import literal_of
from kgplatform.models.structured import json_of, mismatch
from kgplatform.ontology import Ontology
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel, Message
from kgplatform.text import normalise
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention, Refusal

PROMPT: Final = "extract-statements"

_STRINGS: Final[dict[str, object]] = {"type": "array", "items": {"type": "string"}}
REPLY_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "required": ["mentions", "statements", "keywords"],
    "additionalProperties": False,
    "properties": {
        "mentions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["text", "class", "name", "aliases"],
                "additionalProperties": False,
                "properties": {
                    "text": {"type": "string"},
                    "class": {"type": "string"},
                    "name": {"type": "string"},
                    "aliases": _STRINGS,
                },
            },
        },
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["subject", "property", "object", "quote", "confidence"],
                "additionalProperties": False,
                "properties": {
                    "subject": {"type": "string"},
                    "property": {"type": "string"},
                    "object": {"type": "string"},
                    "quote": {"type": "string"},
                    "confidence": {"type": "number"},
                },
            },
        },
        "keywords": _STRINGS,
    },
}
"""The shape that is asked of the model (JSON Schema); what comes back may lack the optional parts."""

_LEAST: Final[dict[str, object]] = {
    "type": "object",
    "required": ["statements"],
    "properties": {"mentions": {"type": "array"}, "statements": {"type": "array"}, "keywords": {"type": "array"}},
}
_MAX_ALIASES, _MAX_KEYWORDS = 8, 20


class ModelExtractor:
    """Reads chunks with a language model; see the module for what of its reply is accepted."""

    method = "model"

    def __init__(self, model: ChatModel, ontology: Ontology, *, schema_tokens: int = 4000) -> None:
        self._model = model
        self._ontology = ontology
        self._schema_tokens = schema_tokens

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says in the terms of the ontology; offsets are the document's.

        Raises:
            ModelUnavailableError: the model cannot be reached.
            ModelReplyError: it replied twice with something that is not the JSON asked for.
        """
        schema = schema_of(
            self._ontology, f"{document.title}\n{chunk.text}", language=document.language, budget=self._schema_tokens
        )
        messages, sha256 = render_messages(
            PROMPT,
            classes=schema.classes,
            properties=schema.properties,
            title=document.title,
            language=document.language,
            passage=chunk.text,
        )
        reply = self._asked(messages)
        checked = _Checked(self._ontology, schema, chunk, document)
        checked.read(reply)
        return Extraction(
            chunk=chunk.iri,
            mentions=tuple(checked.mentions.values()),
            claims=tuple(checked.claims),
            refused=tuple(checked.refused),
            keywords=_keywords(reply.get("keywords")),
            method=self.method,
            model=self._model.name,
            prompt_sha256=sha256,
        )

    def _asked(self, messages: list[Message]) -> Mapping[str, object]:
        """The model's reply as JSON, after one request to mend it where it is none."""
        try:
            return self._parsed(messages)
        except ModelReplyError as error:
            again = f"That was not the JSON object asked for ({error}). Reply with the JSON object only."
            return self._parsed([*messages, Message("assistant", error.reply), Message("user", again)])

    def _parsed(self, messages: list[Message]) -> Mapping[str, object]:
        completion = self._model.complete(messages, schema=REPLY_SCHEMA)
        value = json_of(completion.text, model=self._model.name)
        wrong = mismatch(value, _LEAST)
        if wrong:
            message = f"model {self._model.name!r}: {wrong}"
            raise ModelReplyError(message, model=self._model.name, reply=completion.text)
        return value


@dataclass(slots=True)
class _Checked:
    """What of a reply holds, and what does not and why."""

    ontology: Ontology
    schema: Schema
    chunk: Chunk
    document: Document
    mentions: dict[str, Mention] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    def read(self, reply: Mapping[str, object]) -> None:
        for item in _objects(reply.get("mentions")):
            self._mention(item)
        seen: set[tuple[str, str, str]] = set()
        for item in _objects(reply.get("statements")):
            claim = self._statement(item)
            if isinstance(claim, str):
                self.refused.append(Refusal(_shown(item), claim))
                continue
            key = (claim.subject.name, claim.predicate.value, str(getattr(claim.object, "name", claim.object)))
            if key not in seen:
                seen.add(key)
                self.claims.append(claim)

    def _mention(self, item: Mapping[str, Any]) -> None:
        text = _text(item, "text")
        type_ = self.schema.class_iri(_text(item, "class")) or self._known_class(_text(item, "class"))
        place = self._place(text)
        if type_ is None:
            self.refused.append(Refusal(text, f"there is no class {_text(item, 'class')!r}"))
            return
        if place is None:
            self.refused.append(Refusal(text, "the mention is neither in the passage nor in the title"))
            return
        name = self._name(item, type_)
        if name is None:
            self.refused.append(Refusal(text, f"not one of the values of {self.ontology.label(type_)!r}"))
            return
        start, end = place
        mention = Mention(self.document.text[start:end], start, end, type_, name, self._aliases(item, name))
        self.mentions.setdefault(normalise(text), mention)

    def _place(self, text: str) -> tuple[int, int] | None:
        """Where the text stands in the document: in the passage, else in the title as the document has it."""
        place = locate(self.chunk.text, text)
        if place is not None:
            return place[0] + self.chunk.start, place[1] + self.chunk.start
        return locate(self.document.text, text) if locate(self.document.title, text) else None

    def _name(self, item: Mapping[str, Any], type_: NamedNode) -> str | None:
        """The name of a mention: of a closed list the value's label (None: there is no such value), else as written."""
        text, name = _text(item, "text"), clean_name(_text(item, "name"))
        values = {iri: value for iri, value in self.ontology.individuals.items() if type_ in value.types}
        if values:
            wanted = {normalise(name), normalise(text)}
            meant = (
                iri for iri, value in values.items() if any(normalise(word.text) in wanted for word in value.words)
            )
            found = next(meant, None)
            return self.ontology.label(found, self.document.language) if found else None
        if name and (locate(self.document.text, name) or locate(self.document.title, name)):
            return name
        return clean_name(text)

    def _known_class(self, name: str) -> NamedNode | None:
        """The class by its label, where the model wrote that and not the name."""
        wanted = name.casefold()
        return next(
            (
                item.iri
                for item in self.ontology.domain_classes
                if any(wanted == word.text.casefold() for word in item.words)
            ),
            None,
        )

    def _aliases(self, item: Mapping[str, Any], name: str) -> tuple[str, ...]:
        """Other names that the passage gives; what is not in it is left out."""
        given = item.get("aliases")
        found = [alias for alias in given if isinstance(alias, str)] if isinstance(given, list) else []
        kept = [clean_name(alias) for alias in found if locate(self.chunk.text, alias)]
        return tuple(dict.fromkeys(alias for alias in kept if alias and normalise(alias) != normalise(name)))[
            :_MAX_ALIASES
        ]

    def _statement(self, item: Mapping[str, Any]) -> Claim | str:
        """The statement as a claim, or the reason why it is none."""
        place = locate(self.chunk.text, _text(item, "quote"))
        if place is None:
            return "quote is not in the passage"
        predicate = self.schema.property_iri(_text(item, "property"))
        if predicate is None:
            return f"there is no property {_text(item, 'property')!r}"
        subject = self._named(_text(item, "subject"))
        if subject is None:
            return f"the subject {_text(item, 'subject')!r} is not a mention"
        if not self.ontology.admits(predicate, subject.type):
            return f"{self.ontology.label(predicate)!r} is not said of {self.ontology.label(subject.type)!r}"
        object_ = self._object(predicate, _text(item, "object"), (place[0], place[1]))
        if isinstance(object_, str):
            return object_
        start, end = place[0] + self.chunk.start, place[1] + self.chunk.start
        return Claim(subject, predicate, object_, start, end, _confidence(item.get("confidence")))

    def _object(self, predicate: NamedNode, text: str, quote: tuple[int, int]) -> Mention | Literal | str:
        term = self.ontology.properties[predicate]
        if not term.is_object:
            try:
                return literal_of(text, term, language=self.document.language)
            except ValueError as error:
                return str(error)
        found = self._named(text) or self._value(predicate, text, quote)
        if found is None:
            return f"the object {text!r} is not a mention"
        if not self.ontology.is_a(found.type, term.ranges):
            return f"{self.ontology.label(predicate)!r} does not lead to {self.ontology.label(found.type)!r}"
        return found

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
                inner = locate(self.chunk.text[quote[0] : quote[1]], text)
                low, high = (quote[0] + inner[0], quote[0] + inner[1]) if inner else quote
                start, end = low + self.chunk.start, high + self.chunk.start
                name = self.ontology.label(iri, self.document.language)
                return Mention(self.document.text[start:end], start, end, fits[0], name)
        return None


def locate(passage: str, quote: str) -> tuple[int, int] | None:
    r"""Where the quote stands in the passage; blanks count as equal whatever they are, nothing else is forgiven.

    >>> locate("It opens\n at 9:00.", "opens at 9:00")
    (3, 17)
    """
    start = passage.find(quote) if quote.strip() else -1
    if start >= 0:
        return start, start + len(quote)
    parts = quote.split()
    if not parts:
        return None
    match = re.search(r"\s*".join(re.escape(part) for part in parts), passage)
    return match.span() if match else None


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if isinstance(value, bool) or value is None:
        return ""
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.7
    return min(max(float(value), 0.0), 1.0)


def _shown(item: Mapping[str, Any]) -> str:
    """The statement on one line, for the list of what was refused."""
    parts = [_text(item, key) for key in ("subject", "property", "object")]
    return " | ".join(parts)[:300]


def _keywords(value: object) -> tuple[str, ...]:
    found = [" ".join(item.split()) for item in value if isinstance(item, str)] if isinstance(value, list) else []
    return tuple(dict.fromkeys(word for word in found if 0 < len(word) <= 80))[:_MAX_KEYWORDS]
