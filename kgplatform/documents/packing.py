"""What is kept between processes, as one line of JSON each: names, counts of them, and what is said of names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from pyoxigraph import Literal, NamedNode

from kgplatform.documents.entries import NameKey
from kgplatform.types import Claim, Mention


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


def keys_of(packed: Iterable[Iterable[str]]) -> Iterator[NameKey]:
    """The names that were packed one by one."""
    return map(key_of, packed)


def packed_claim(claim: Claim) -> list[Any]:
    """What a passage says, as lists of texts and numbers."""
    value = claim.object
    if isinstance(value, Mention):
        object_: Any = _packed_mention(value)
    else:
        object_ = {"value": value.value, "datatype": value.datatype.value, "language": value.language}
    said = claim.start, claim.end, claim.confidence
    return [_packed_mention(claim.subject), claim.predicate.value, object_, *said]


def claim_of(packed: list[Any]) -> Claim:
    """What `packed_claim` packed."""
    subject, predicate, object_, *said = packed
    return Claim(_mention_of(subject), node(predicate), _object_of(object_), *said)


def _packed_mention(mention: Mention) -> list[Any]:
    said = mention.text, mention.start, mention.end
    return [*said, mention.type.value, mention.name, list(mention.aliases)]


def _mention_of(packed: list[Any]) -> Mention:
    text, start, end, type_, name, aliases = packed
    return Mention(text, start, end, node(type_), name, tuple(aliases))


def _object_of(packed: Any) -> Mention | Literal:
    if isinstance(packed, list):
        return _mention_of(packed)
    if packed["language"]:
        return Literal(packed["value"], language=packed["language"])
    return Literal(packed["value"], datatype=node(packed["datatype"]))
