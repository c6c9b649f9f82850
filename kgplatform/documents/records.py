"""Extractions as text and back: one line of JSON each, lossless."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pyoxigraph import Literal, NamedNode

from kgplatform.types import Claim, Extraction, Mention, Refusal, Usage


def encode(extraction: Extraction) -> str:
    """The extraction as one line of JSON; mentions are written once and referred to by number."""
    mentions = list(dict.fromkeys([*extraction.mentions, *_claimed(extraction)]))
    number = {mention: index for index, mention in enumerate(mentions)}

    def claim(item: Claim) -> list[Any]:
        object_: Any = number[item.object] if isinstance(item.object, Mention) else _literal(item.object)
        return [number[item.subject], item.predicate.value, object_, item.start, item.end, item.confidence]

    record: dict[str, Any] = {
        "chunk": extraction.chunk.value,
        "mentions": [[m.text, m.start, m.end, m.type.value, m.name, list(m.aliases)] for m in mentions],
        "listed": [number[m] for m in extraction.mentions],
        "claims": [claim(item) for item in extraction.claims],
        "refused": [[item.text, item.reason] for item in extraction.refused],
        "keywords": list(extraction.keywords),
        "method": extraction.method,
        "model": extraction.model,
        "prompt_sha256": extraction.prompt_sha256,
    }
    if extraction.usage != Usage():
        used = extraction.usage
        record["usage"] = [used.calls, used.prompt_tokens, used.completion_tokens, round(used.seconds, 3)]
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def with_terms(extraction: Extraction, terms: Mapping[NamedNode, NamedNode]) -> Extraction:
    """The extraction with other classes and properties in the place of some; passages and values stay."""

    def mention(item: Mention) -> Mention:
        return replace(item, type=terms.get(item.type, item.type))

    claims = tuple(
        replace(
            item,
            subject=mention(item.subject),
            predicate=terms.get(item.predicate, item.predicate),
            object=mention(item.object) if isinstance(item.object, Mention) else item.object,
        )
        for item in extraction.claims
    )
    return replace(extraction, mentions=tuple(mention(item) for item in extraction.mentions), claims=claims)


def _claimed(extraction: Extraction) -> Iterator[Mention]:
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
    mentions = [Mention(m[0], m[1], m[2], NamedNode(m[3]), m[4], tuple(m[5])) for m in record["mentions"]]

    def object_of(item: int | dict[str, str]) -> Mention | Literal:
        if isinstance(item, int):
            return mentions[item]
        if "language" in item:
            return Literal(item["value"], language=item["language"])
        return Literal(item["value"], datatype=NamedNode(item["datatype"]))

    claims = tuple(Claim(mentions[c[0]], NamedNode(c[1]), object_of(c[2]), c[3], c[4], c[5]) for c in record["claims"])
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
    )
