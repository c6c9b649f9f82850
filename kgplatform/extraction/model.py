"""Extraction by a language model: the prompt is derived from the ontology, the reply is held against the passage.

Neighbouring chunks are read together, as the description of the ontology costs more than the text; what is found
goes back to the chunk where it stands. A second request asks what was missed, unless nearly all of the passage was
read, and, if statements were refused, gives the reasons. What is accepted is decided in `accepting`, never by the
model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kgplatform.errors import ModelReplyError
from kgplatform.extraction.accepting import ORDERED, SYMBOL, Accepting
from kgplatform.extraction.demonstrations import Demonstrations
from kgplatform.extraction.prompting import Schema, schema_of
from kgplatform.extraction.quoting import Passage, locate
from kgplatform.models.mending import mended
from kgplatform.models.structured import json_of
from kgplatform.ontology import Ontology
from kgplatform.prompts import render, render_messages
from kgplatform.protocols import ChatModel, Message
from kgplatform.text import count_tokens
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention, Refusal, Usage

PROMPT: Final = "extract-statements"
AGAIN: Final = "extract-again"

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

_PARTS: Final = ("mentions", "statements", "keywords")
_MOST_REASONS: Final = 12
_READ: Final = 0.85
"""Where this share of the sentences gave something, it is not asked what was missed, for the whole prompt would be sent
again. Four of twelve sample texts reached it, and asking again had brought nothing for any of them."""
_LATER: Final = 0.07
"""How long the reply of a further round is to that of the first, as measured on seven sample documents."""
_NO_JSON: Final = {
    "en": "That was not the JSON object asked for. Reply with the JSON object only.",
    "zh": "这不是所要求的 JSON 对象。请只回复 JSON 对象。",
}


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked: the room for ontology and passage in tokens, further rounds, examples a prompt."""

    schema_tokens: int = 1700
    passage_tokens: int = 1200
    gleaning: int = 1
    demonstrations: int = 3


@dataclass(slots=True)
class _Conversation:
    """The messages so far and what they cost."""

    messages: list[Message]
    sha256: str
    usage: Usage = field(default_factory=Usage)


class ModelExtractor:
    """Reads chunks with a language model; see the module for what of its reply is accepted."""

    method = "model"

    def __init__(
        self,
        model: ChatModel,
        ontology: Ontology,
        *,
        asking: Asking | None = None,
        demonstrations: Demonstrations | None = None,
    ) -> None:
        self._model = model
        self._ontology = ontology
        self._asking = asking or Asking()
        self._demonstrations = demonstrations or Demonstrations(())

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says in the terms of the ontology; offsets are the document's.

        Raises:
            ModelUnavailableError: the model cannot be reached.
            ModelReplyError: it replied twice with something of which nothing can be read.
        """
        return self.read([chunk], document)[0]

    def stretches(self, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
        """The chunks in groups of neighbours that are read together, each within the room for a passage."""
        found: list[list[Chunk]] = []
        for chunk in chunks:
            tokens = count_tokens(chunk.text)
            if found and _tokens(found[-1]) + tokens <= self._asking.passage_tokens:
                found[-1].append(chunk)
            else:
                found.append([chunk])
        return found

    def read(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What neighbouring chunks say, asked for together; an extraction for each.

        What it cost and what was refused is with the chunk where it stands, else with the first.

        Raises:
            ModelUnavailableError: the model cannot be reached.
            ModelReplyError: it replied twice with something of which nothing can be read.
        """
        passage = _passage(chunks, document)
        schema, messages, sha256 = self._prompt(passage, document)
        accepting = Accepting(self._ontology, schema, passage, document)
        talk = _Conversation(messages, sha256)
        accepting.read(self._asked(talk, accepting))
        self._look_again(talk, accepting)
        made = Extraction(
            chunk=chunks[0].iri,
            mentions=tuple(accepting.mentions.values()),
            claims=tuple(accepting.claims.values()),
            refused=accepting.refused,
            keywords=tuple(accepting.keywords),
            method=self.method,
            model=self._model.name,
            prompt_sha256=talk.sha256,
            usage=talk.usage,
        )
        return _parted(made, chunks, document)

    def expected(self, chunks: Sequence[Chunk], document: Document, *, reply_tokens: float) -> Usage:
        """What reading the chunks will cost: the prompts as they are, all replies ``reply_tokens`` a token read.

        Nothing is asked of the model. A second look at refused statements comes with the first further round.
        """
        total = Usage()
        for stretch in self.stretches(chunks):
            passage = _passage(stretch, document)
            _, messages, _ = self._prompt(passage, document)
            said = sum(count_tokens(message.content) for message in messages)
            replied = round(count_tokens(passage.text) * reply_tokens / (1 + self._asking.gleaning * _LATER))
            again = count_tokens(render(_in_language(AGAIN, document), refused=[]).text)
            for turn in range(1 + self._asking.gleaning):
                # a further round repeats the conversation, and brings little that is new
                total += Usage(1, said + turn * (replied + again), replied if turn == 0 else round(replied * _LATER))
        return total

    def _prompt(self, passage: Passage, document: Document) -> tuple[Schema, list[Message], str]:
        text = f"{document.title}\n{passage.text}"
        schema = schema_of(self._ontology, text, language=document.language, budget=self._asking.schema_tokens)
        messages, sha256 = render_messages(
            _in_language(PROMPT, document),
            nested=any(line.depth for line in schema.classes),
            classes=schema.classes,
            properties=schema.properties,
            examples=self._shown(passage.text, schema),
            title=_harmless(document.title),
            language=document.language,
            passage=_harmless(passage.text),
        )
        return schema, messages, sha256

    def _shown(self, text: str, schema: Schema) -> list[dict[str, object]]:
        """The nearest annotated examples, in the names that the prompt uses."""
        names = {line.iri: line.name for line in schema.properties}
        near = self._demonstrations.nearest(text, self._asking.demonstrations)
        shown = (
            (
                example.text,
                [
                    (fact.subject, names[fact.predicate], fact.object)
                    for fact in example.said
                    if fact.predicate in names
                ],
            )
            for example in near
        )
        return [{"text": _harmless(text), "facts": facts} for text, facts in shown if facts]

    def _look_again(self, talk: _Conversation, accepting: Accepting) -> None:
        """Asks what was missed, as often as wanted and as long as it brings something; once for what was refused."""
        mendable = [refusal for refusal in accepting.refused if refusal.reason not in (ORDERED, SYMBOL)]
        rounds = max(self._asking.gleaning, 1 if mendable else 0)
        for turn in range(rounds):
            if accepting.share_read() >= _READ and not (mendable and turn == 0):
                return
            listed = mendable[:_MOST_REASONS] if turn == 0 else []
            name = _in_language(AGAIN, accepting.document)
            talk.messages.append(Message("user", render(name, refused=listed).text))
            try:
                reply = self._asked(talk, accepting)
            except ModelReplyError as error:  # the first reply stands
                accepting.lose(error.reply, "the reply to the second request cannot be read")
                return
            if accepting.read(reply) == 0:
                return

    def _asked(self, talk: _Conversation, accepting: Accepting) -> Mapping[str, object]:
        """The model's reply, after one request to repeat it where nothing can be read; the talk goes on from it."""
        text = self._completed(talk, talk.messages)
        reply = _read(text, accepting)
        if reply is None:
            again = _NO_JSON["zh" if accepting.document.language.startswith("zh") else "en"]
            text = self._completed(talk, [*talk.messages, Message("assistant", text), Message("user", again)])
            reply = _read(text, accepting)
        if reply is None:
            message = f"model {self._model.name!r} replied twice without the JSON object asked for: {text[:80]!r}"
            raise ModelReplyError(message, model=self._model.name, reply=text)
        plain = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
        talk.messages.append(Message("assistant", plain))
        return reply

    def _completed(self, talk: _Conversation, messages: Sequence[Message]) -> str:
        """The text of the reply, also of one that the model's own check sent back."""
        try:
            completion = self._model.complete(messages, schema=REPLY_SCHEMA)
        except ModelReplyError as error:
            # what the server counted is lost with the reply; an estimate of the last try is better than nothing
            said = sum(count_tokens(message.content) for message in messages)
            talk.usage += Usage(1, said, count_tokens(error.reply))
            return error.reply
        talk.usage += completion.usage
        return completion.text


def _in_language(name: str, document: Document) -> str:
    return f"{name}-zh" if document.language.startswith("zh") else name


def _tokens(chunks: Sequence[Chunk]) -> int:
    return sum(count_tokens(chunk.text) for chunk in chunks)


def _passage(chunks: Sequence[Chunk], document: Document) -> Passage:
    start, end = min(chunk.start for chunk in chunks), max(chunk.end for chunk in chunks)
    return Passage(document.text[start:end], start)


def _harmless(text: str) -> str:
    """The text as shown to the model: it cannot end the passage and go on as if it were the prompt."""
    return text.replace("<passage>", "(passage)").replace("</passage>", "(/passage)")


def _read(text: str, accepting: Accepting) -> Mapping[str, object] | None:
    """The parts of the reply that can be read; what cannot is noted as refused. None where there is none."""
    try:
        value: object = json_of(text)
    except ModelReplyError:
        found = mended(text)
        if found is None:
            return None
        value = found.value
        if _is_reply(value):
            for piece in found.lost:
                accepting.lose(piece, "the reply breaks off or is no JSON here")
    if isinstance(value, list) and _is_reply({"statements": value}):
        value = {"statements": value}
    return value if isinstance(value, dict) and _is_reply(value) else None


def _is_reply(value: object) -> bool:
    """Whether there is at least one part of a reply; a bare list may be the statements."""
    if isinstance(value, list):
        return any(isinstance(item, dict) and "property" in item for item in value)
    if not isinstance(value, dict):
        return False
    lists = [value[part] for part in _PARTS[:2] if isinstance(value.get(part), list)]
    return bool(lists)


def _parted(made: Extraction, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
    """The extraction of a stretch, each part with the chunk where it stands."""
    if len(chunks) == 1:
        return [made]
    claims: dict[Chunk, list[Claim]] = {chunk: [] for chunk in chunks}
    for claim in made.claims:
        chunk = _home(claim.start, claim.end, chunks)
        claims[chunk].append(_at_home(claim, chunk, document))
    return [
        replace(
            made,
            chunk=chunk.iri,
            mentions=tuple(_mentions(made.mentions, chunk, document, is_first=chunk is chunks[0], chunks=chunks)),
            claims=tuple(claims[chunk]),
            refused=tuple(_refusals(made.refused, chunk, chunks)),
            keywords=tuple(_keywords(made.keywords, chunk, chunks)),
            usage=made.usage if chunk is chunks[0] else Usage(),
        )
        for chunk in chunks
    ]


def _home(start: int, end: int, chunks: Sequence[Chunk]) -> Chunk:
    """The first chunk that holds the span, else the one that holds most of it."""
    return max(chunks, key=lambda chunk: min(end, chunk.end) - max(start, chunk.start))


def _at_home(claim: Claim, chunk: Chunk, document: Document) -> Claim:
    """The claim with its mentions where the chunk has them, if it does."""
    subject = _moved(claim.subject, chunk, document)
    object_ = claim.object if not isinstance(claim.object, Mention) else _moved(claim.object, chunk, document)
    return replace(claim, subject=subject, object=object_)


def _moved(mention: Mention, chunk: Chunk, document: Document) -> Mention:
    if chunk.start <= mention.start and mention.end <= chunk.end:
        return mention
    place = locate(chunk.text, mention.text)
    if place is None:
        return mention
    start, end = place[0] + chunk.start, place[1] + chunk.start
    return replace(mention, text=document.text[start:end], start=start, end=end)


def _mentions(
    mentions: Sequence[Mention], chunk: Chunk, document: Document, *, is_first: bool, chunks: Sequence[Chunk]
) -> Iterator[Mention]:
    """The mentions that the chunk has; those that only the title gives go with the first."""
    for mention in mentions:
        moved = _moved(mention, chunk, document)
        if chunk.start <= moved.start and moved.end <= chunk.end:
            yield moved
        elif is_first and not any(locate(other.text, mention.text) for other in chunks):
            yield mention


def _refusals(refused: Sequence[Refusal], chunk: Chunk, chunks: Sequence[Chunk]) -> Iterator[Refusal]:
    """The refusals that are about what the chunk says, by their subject; the rest go with the first."""
    for refusal in refused:
        about = refusal.text.partition(" | ")[0]
        home = next((other for other in chunks if about and about in other.text), chunks[0])
        if home is chunk:
            yield refusal


def _keywords(keywords: Sequence[str], chunk: Chunk, chunks: Sequence[Chunk]) -> Iterator[str]:
    """The keywords that the chunk holds; those that none holds are about all of them."""
    for word in keywords:
        holders = [other for other in chunks if word.casefold() in other.text.casefold()]
        if not holders or chunk in holders:
            yield word
