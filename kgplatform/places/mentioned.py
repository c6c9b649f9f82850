"""What documents say that helps to tell which places they mean: names, what they lie in, what stands beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.documents.registry import NameKey
from kgplatform.text import has_han, normalise
from kgplatform.types import Claim, Extraction, Mention

_BESIDE: Final = 4
_BESIDE_HAN: Final = 1
"""So many characters at most stand between a place and the one it is said to be in: Suzhou in Jiangsu, 南昌的西湖区."""


@dataclass(slots=True)
class Mentioned:
    """The names of one document that may be places: how they are written, and by which others they stand."""

    document: str
    is_table: bool
    names: dict[NameKey, str] = field(default_factory=dict)
    aliases: dict[NameKey, set[str]] = field(default_factory=dict)
    parents: dict[NameKey, set[NameKey]] = field(default_factory=dict)


@dataclass(slots=True)
class Mentions:
    """The documents, all classes that a text is mentioned as, and the claims that say what lies in what."""

    documents: list[Mentioned] = field(default_factory=list)
    types: Mapping[str, Collection[NamedNode]] = field(default_factory=dict)
    claims: dict[Claim, NamedNode] = field(default_factory=dict)
    """Each with the chunk that it stands in."""


def document_of(chunk: NamedNode) -> str:
    """What a chunk, or the graph of a table, is part of: names mean the same in all of it."""
    return chunk.value.partition("/chunk/")[0]


def read_mentions(
    extractions: Iterable[Extraction],
    *,
    may_be_place: Callable[[NamedNode], bool],
    within: Callable[[NamedNode], bool | None],
) -> Mentions:
    """What the extractions say of places.

    ``may_be_place`` tells which classes count; ``within`` whether a property leads to what its subject lies in
    (True), from there (False), or neither (None).
    """
    types: dict[str, set[NamedNode]] = {}
    found = Mentions(types=types)
    by_document: dict[str, Mentioned] = {}
    for extraction in extractions:
        name = document_of(extraction.chunk)
        document = by_document.setdefault(name, Mentioned(name, extraction.method == "table"))
        mentions = list(dict.fromkeys((*extraction.mentions, *_claimed(extraction.claims))))
        for mention in mentions:
            types.setdefault(normalise(mention.name), set()).add(mention.type)
        places = [mention for mention in mentions if may_be_place(mention.type)]
        for mention in places:
            _note(mention, document)
        if not document.is_table:
            _beside(places, document)
        _claims(extraction, document, within, found)
    found.documents = [document for document in by_document.values() if document.names]
    return found


def _note(mention: Mention, document: Mentioned) -> None:
    key = (mention.type, normalise(mention.name))
    if key[1]:
        document.names.setdefault(key, mention.name)
        document.aliases.setdefault(key, set()).update(mention.aliases)


def _beside(places: Sequence[Mention], document: Mentioned) -> None:
    ordered = sorted(places, key=lambda mention: (mention.start, mention.end))
    for first, second in pairwise(ordered):
        most = _BESIDE_HAN if has_han(first.name) and has_han(second.name) else _BESIDE
        if 0 <= second.start - first.end <= most:
            a, b = _key(first), _key(second)
            document.parents.setdefault(a, set()).add(b)
            document.parents.setdefault(b, set()).add(a)


def _claims(
    extraction: Extraction, document: Mentioned, within: Callable[[NamedNode], bool | None], found: Mentions
) -> None:
    for claim in extraction.claims:
        way = within(claim.predicate)
        if way is None or not isinstance(claim.object, Mention):
            continue
        found.claims[claim] = extraction.chunk
        inner, outer = (claim.subject, claim.object) if way else (claim.object, claim.subject)
        document.parents.setdefault(_key(inner), set()).add(_key(outer))


def _key(mention: Mention) -> NameKey:
    return mention.type, normalise(mention.name)


def _claimed(claims: Iterable[Claim]) -> Iterator[Mention]:
    for claim in claims:
        yield claim.subject
        if isinstance(claim.object, Mention):
            yield claim.object
