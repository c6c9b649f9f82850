"""What the registry holds, as values: documents, rows, names, links, reviews; extractions as text and back."""

from __future__ import annotations

import json
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias, TypeVar

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.ontology.schema import Word
from kgplatform.text import normalise
from kgplatform.types import Claim, Document, Extraction, Mention, Refusal, Usage


def encode(extraction: Extraction) -> str:
    """The extraction as one line of JSON; mentions are written once and referred to by number."""
    possible = claimed(replace(extraction, claims=extraction.candidates))
    mentions = list(dict.fromkeys([*extraction.mentions, *claimed(extraction), *possible]))
    number = {mention: index for index, mention in enumerate(mentions)}

    def claim(item: Claim) -> list[Any]:
        object_: Any = number[item.object] if isinstance(item.object, Mention) else _literal(item.object)
        return [number[item.subject], item.predicate.value, object_, *_packed_rest(item)]

    record: dict[str, Any] = {
        "chunk": extraction.chunk.value,
        "mentions": [_packed_mention(mention) for mention in mentions],
        "listed": [number[m] for m in extraction.mentions],
        "claims": [claim(item) for item in extraction.claims],
        "refused": [[item.text, item.reason] for item in extraction.refused],
        "keywords": list(extraction.keywords),
        "method": extraction.method,
        "model": extraction.model,
        "prompt_sha256": extraction.prompt_sha256,
    }
    if extraction.candidates:
        record["candidates"] = [claim(item) for item in extraction.candidates]
    if extraction.usage != Usage():
        used = extraction.usage
        record["usage"] = [used.calls, used.prompt_tokens, used.completion_tokens, round(used.seconds, 3)]
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def with_terms(extraction: Extraction, terms: Mapping[NamedNode, NamedNode]) -> Extraction:
    """The extraction with other classes and properties in the place of some; passages and values stay."""

    def mention(item: Mention) -> Mention:
        return replace(item, type=terms.get(item.type, item.type))

    def claim(item: Claim) -> Claim:
        object_ = mention(item.object) if isinstance(item.object, Mention) else item.object
        predicate = terms.get(item.predicate, item.predicate)
        return replace(item, subject=mention(item.subject), predicate=predicate, object=object_)

    return replace(
        extraction,
        mentions=tuple(mention(item) for item in extraction.mentions),
        claims=tuple(claim(item) for item in extraction.claims),
        candidates=tuple(claim(item) for item in extraction.candidates),
    )


def claimed(extraction: Extraction) -> Iterator[Mention]:
    """The mentions that claims relate."""
    for item in extraction.claims:
        yield item.subject
        if isinstance(item.object, Mention):
            yield item.object


def _literal(value: Literal) -> dict[str, str]:
    if value.language:
        return {"value": value.value, "language": value.language}
    return {"value": value.value, "datatype": value.datatype.value}


def decode(text: str) -> Extraction:
    """The extraction that `encode` wrote."""
    record = json.loads(text)
    mentions = [_mention_of(item) for item in record["mentions"]]
    claims, candidates = (
        tuple(
            Claim(mentions[subject], node(predicate), mentions[o] if isinstance(o, int) else _literal_of(o), *said)
            for subject, predicate, o, *said in record.get(name, ())
        )
        for name in ("claims", "candidates")
    )
    return Extraction(
        chunk=NamedNode(record["chunk"]),
        mentions=tuple(mentions[index] for index in record["listed"]),
        claims=claims,
        refused=tuple(Refusal(*item) for item in record["refused"]),
        keywords=tuple(record["keywords"]),
        method=record["method"],
        model=record["model"],
        prompt_sha256=record["prompt_sha256"],
        usage=Usage(*record.get("usage", ())),
        candidates=candidates,
    )


@dataclass(frozen=True, slots=True, order=True)
class Apart:
    """Two normalised names that never stand for one thing; ``first`` comes before ``second``."""

    first: str
    second: str

    @classmethod
    def of(cls, one: str, other: str) -> Apart:
        """The decision about two names, in whatever order they are given."""
        return cls(*sorted((one, other)))


class State(StrEnum):
    """How far a document has come; one in quarantine was read, but what it says does not hold."""

    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    QUARANTINED = "quarantined"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document's entry; ``graph`` is the table graph of a table, ``seconds`` the time it took."""

    document: Document
    state: State
    error: str | None
    updated: str
    statements: int
    refused: int
    graph: NamedNode | None
    seconds: float


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document's entry without its text; ``characters`` is the length of that, ``seconds`` the time reading took."""

    iri: NamedNode
    title: str
    source: str
    media_type: str
    language: str
    sha256: str
    state: State
    error: str | None
    updated: str
    statements: int
    refused: int
    seconds: float
    characters: int
    is_table: bool


@dataclass(frozen=True, slots=True)
class TableRow:
    """Where the row that describes ``subject`` stands in the document's text."""

    document: NamedNode
    subject: NamedNode
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NameLink:
    """Which entity a name of a class stands for, how sure (0..1) and by which method."""

    type: NamedNode
    name: str
    entity: NamedNode
    score: float
    method: str


@dataclass(frozen=True, slots=True)
class LinkedEntity:
    """An entity that names were linked to: its class and its label in each language that has one."""

    iri: NamedNode
    type: NamedNode
    labels: tuple[Word, ...]


NameKey: TypeAlias = tuple[NamedNode, str]
"""A class and a normalised name."""


@dataclass(frozen=True)
class Linking:
    """The map from names to entities, and what is known of these.

    ``scoped`` holds names that stand for something of their own in one document (its IRI, or a table's graph);
    ``refused`` statements that were read, but cannot be for what is known of their entities; ``apart`` names that a
    person decided are of two things.
    """

    names: Mapping[NameKey, NameLink] = field(default_factory=dict)
    entities: Mapping[NamedNode, LinkedEntity] = field(default_factory=dict)
    scoped: Mapping[tuple[str, NameKey], NamedNode] = field(default_factory=dict)
    refused: frozenset[Triple] = frozenset()
    apart: frozenset[Apart] = frozenset()


def name_keys(extraction: Extraction) -> Iterator[NameKey]:
    """The names that occur in an extraction."""
    for mention in (*extraction.mentions, *claimed(extraction)):
        yield mention.type, normalise(mention.name)


@lru_cache(maxsize=50_000)
def node(iri: str) -> NamedNode:
    """The IRI as a term, the same object for the same IRI as long as there are not too many."""
    return NamedNode(iri)


def line(value: Any) -> str:
    """The value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def packed_key(key: NameKey) -> tuple[str, str]:
    """A name as two texts."""
    return key[0].value, key[1]


def key_of(packed: Iterable[str]) -> NameKey:
    """The name that `packed_key` packed."""
    type_, text = packed
    return node(type_), text


def packed_claim(claim: Claim) -> list[Any]:
    """What a passage says, as lists of texts and numbers."""
    value = claim.object
    object_: Any = _packed_mention(value) if isinstance(value, Mention) else _literal(value)
    return [_packed_mention(claim.subject), claim.predicate.value, object_, *_packed_rest(claim)]


def _packed_rest(claim: Claim) -> list[Any]:
    said = [claim.start, claim.end, claim.confidence]
    return [*said, claim.given] if claim.given else said


def claim_of(packed: list[Any]) -> Claim:
    """What `packed_claim` packed."""
    subject, predicate, object_, *said = packed
    object_ = _mention_of(object_) if isinstance(object_, list) else _literal_of(object_)
    return Claim(_mention_of(subject), node(predicate), object_, *said)


def _packed_mention(mention: Mention) -> list[Any]:
    said = mention.text, mention.start, mention.end
    return [*said, mention.type.value, mention.name, list(mention.aliases)]


def _mention_of(packed: list[Any]) -> Mention:
    text, start, end, type_, name, aliases = packed
    return Mention(text, start, end, node(type_), name, tuple(aliases))


def _literal_of(packed: Mapping[str, str]) -> Literal:
    if packed.get("language"):
        return Literal(packed["value"], language=packed["language"])
    return Literal(packed["value"], datatype=node(packed["datatype"]))


class Judgement(StrEnum):
    """What a person said of a statement."""

    ACCEPTED = "accepted"
    CORRECTED = "corrected"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Review:
    """A judgement on a statement: the passage that said it, who judged, and when (ISO 8601).

    ``corrections`` is what the person states in its place: the statement that is meant, then what it rests on, such
    as the name of a thing that was not known before.
    """

    statement: Triple
    judgement: Judgement
    document: NamedNode
    graph: NamedNode
    start: int
    end: int
    quote: str
    person: str
    moment: str
    corrections: tuple[Triple, ...] = ()

    @property
    def correction(self) -> Triple | None:
        """The statement that is meant; None unless it was corrected."""
        return self.corrections[0] if self.corrections else None


@dataclass(frozen=True, slots=True)
class TableEntry:
    """By which mapping a table was read: its file's name and text, and whether it is a draft of the platform's own."""

    location: str
    mapping_name: str
    mapping: str
    is_draft: bool = True
    is_large: bool = False


def row_hash(iri: str) -> int:
    """The 64 bits by which an entity is known in the index of a large table."""
    return int.from_bytes(blake2b(iri.encode(), digest_size=8).digest(), "big")


K = TypeVar("K")
V = TypeVar("V")
_GONE: Final = object()
_SMALLER: Final = 2
"""A layer is at most one in so many of the one below it."""


class PersistentMap(Mapping[K, V]):
    """A mapping that is not changed in place: `of` makes the first one, `changed` the next.

    Whoever holds the earlier one, in whatever thread, goes on reading it as it was. The map is a pile of dicts, each at
    most a part of the one below; what changes lies on top, and layers of like size are put together (as in a
    log-structured merge tree: O'Neil, Cheng, Gawlick, O'Neil, Acta Informatica 33, 1996), so that a change costs
    O(log n) over time and not the size of the map.
    """

    __slots__ = ("_layers", "_size", "_whole")

    def __init__(self, layers: tuple[dict[K, Any], ...] = ({},), size: int = 0) -> None:
        self._layers = layers
        self._size = size
        self._whole: dict[K, V] | None = layers[0] if len(layers) == 1 else None

    @classmethod
    def of(cls, mapping: Mapping[K, V]) -> PersistentMap[K, V]:
        """The mapping as it is now; one that is such a map already, itself."""
        return mapping if isinstance(mapping, PersistentMap) else cls((dict(mapping),), len(mapping))

    def changed(self, put: Mapping[K, V], gone: Iterable[K] = ()) -> PersistentMap[K, V]:
        """The map with those entries put in or replaced, and those others taken out."""
        top: dict[K, Any] = {key: _GONE for key in gone if key in self}
        size = self._size - len(top)
        for key, value in put.items():
            if top.pop(key, None) is _GONE or key not in self:
                size += 1
            top[key] = value
        if not top:
            return self
        layers = [*self._layers, top]
        while len(layers) > 1 and _SMALLER * len(layers[-1]) >= len(layers[-2]):
            upper = layers.pop()
            layers[-1] = {**layers[-1], **upper}
        if len(layers) == 1:
            layers[0] = {key: value for key, value in layers[0].items() if value is not _GONE}
        return PersistentMap(tuple(layers), size)

    def __getitem__(self, key: K) -> V:
        for layer in reversed(self._layers):
            value: Any = layer.get(key, self)  # itself: no value is that
            if value is _GONE:
                break
            if value is not self:
                return value  # type: ignore[no-any-return]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        for layer in reversed(self._layers):
            if key in layer:
                return layer[key] is not _GONE
        return False

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return iter(self._flat())

    def keys(self) -> KeysView[K]:
        """The keys, as those of a dict."""
        return self._flat().keys()

    def values(self) -> ValuesView[V]:
        """The values, as those of a dict."""
        return self._flat().values()

    def items(self) -> ItemsView[K, V]:
        """The entries, as those of a dict."""
        return self._flat().items()

    def _flat(self) -> dict[K, V]:
        """All of it in one dict, made when somebody wants to see all of it."""
        if self._whole is None:
            whole: dict[K, Any] = {}
            for layer in self._layers:
                whole.update(layer)
            self._whole = {key: value for key, value in whole.items() if value is not _GONE}
        return self._whole
