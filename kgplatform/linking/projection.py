"""Statements are the projection of what was read, seen through the map from names to entities.

Mentions and claims stay as read in the registry. Here they become triples: a mention says that its entity exists,
of which class and under which names; a claim becomes one triple. When the map changes, the chunks concerned are
projected again and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.decisions import Apart
from kgplatform.documents.registry import LinkedEntity, Linking
from kgplatform.store import as_stored, literal
from kgplatform.text import has_han, normalise
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention
from kgplatform.vocab import (
    ALT_LABEL,
    CORE,
    DCTERMS,
    LABEL,
    PROV,
    TYPE,
    XSD_INTEGER,
    entity_iri,
)


class Projection:
    """The map from mentions to entities, for one workspace."""

    def __init__(self, base: str, linking: Linking) -> None:
        self._base = base
        self._linking = linking

    def entity(self, mention: Mention, chunk: NamedNode | None = None) -> NamedNode:
        """The entity that a mention stands for: the one its name is linked to, else one of its own.

        ``chunk`` is where it stands: a name may mean something else in one document than in the others.
        """
        key = (mention.type, normalise(mention.name))
        if chunk is not None and self._linking.scoped:
            here = self._linking.scoped.get((chunk.value.partition("/chunk/")[0], key))
            if here is not None:
                return here
        link = self._linking.names.get(key)
        return link.entity if link else entity_iri(self._base, mention.type, mention.name)

    def triple(self, claim: Claim, chunk: NamedNode | None = None) -> Triple | None:
        """The statement of a claim; None where it relates an entity to itself, or contradicts what is known."""
        subject = self.entity(claim.subject, chunk)
        object_ = self.entity(claim.object, chunk) if isinstance(claim.object, Mention) else as_stored(claim.object)
        stated = Triple(subject, claim.predicate, object_)
        return None if subject == object_ or stated in self._linking.refused else stated

    def triples(self, extraction: Extraction) -> list[Triple]:
        """All statements of a chunk, each once, in a stable order."""
        found: dict[Triple, None] = {}
        for mention in (*extraction.mentions, *_claimed(extraction.claims)):
            for triple in self._described(mention, extraction.chunk):
                found[triple] = None
        for claim in extraction.claims:
            stated = self.triple(claim, extraction.chunk)
            if stated is not None:
                found[stated] = None
        return list(found)

    def _described(self, mention: Mention, chunk: NamedNode) -> Iterator[Triple]:
        iri = self.entity(mention, chunk)
        known = self._linking.entities.get(iri)
        if known is None and (mention.type, normalise(mention.name)) in self._linking.names:
            return  # a named value of the ontology, which describes itself
        yield Triple(iri, TYPE, known.type if known else mention.type)
        labels = _labels(mention, known)
        for label in labels:
            yield Triple(iri, LABEL, label)
        known_as = {normalise(label.value) for label in labels}
        for name in dict.fromkeys((mention.name, *mention.aliases)):
            if normalise(name) not in known_as and not self._is_apart(mention.name, name):
                yield Triple(iri, ALT_LABEL, _tagged(name))

    def _is_apart(self, name: str, alias: str) -> bool:
        """Whether a person said that what the text gives as an alias is the name of another thing."""
        return bool(self._linking.apart) and Apart.of(normalise(name), normalise(alias)) in self._linking.apart


def _claimed(claims: Iterable[Claim]) -> Iterator[Mention]:
    for claim in claims:
        yield claim.subject
        if isinstance(claim.object, Mention):
            yield claim.object


def _labels(mention: Mention, known: LinkedEntity | None) -> list[Literal]:
    if known is None or not known.labels:
        return [_tagged(mention.name)]
    return [literal(word.text, language=word.language or None) for word in known.labels]


def _tagged(name: str) -> Literal:
    return literal(name, language="zh" if has_han(name) else "en")


def document_triples(
    document: Document, chunks: Iterable[Chunk], extractions: Mapping[NamedNode, Extraction], projection: Projection
) -> list[Triple]:
    """The description of a document: source and hash, chunks, mentions with offsets and quotes, how it was read.

    Vocabulary: DCTERMS for the document, PROV-O for the activity, Web Annotation's position and quote for mentions.
    """
    iri = document.iri
    found = [
        Triple(iri, TYPE, NamedNode(f"{CORE}Document")),
        Triple(iri, NamedNode(f"{DCTERMS}title"), literal(document.title, language=document.language)),
        Triple(iri, NamedNode(f"{DCTERMS}language"), Literal(document.language)),
        Triple(iri, NamedNode(f"{CORE}source"), Literal(document.source)),
        Triple(iri, NamedNode(f"{CORE}mediaType"), Literal(document.media_type)),
        Triple(iri, NamedNode(f"{CORE}sha256"), Literal(document.sha256)),
    ]
    if document.author:
        found.append(Triple(iri, NamedNode(f"{DCTERMS}creator"), Literal(document.author)))
    if document.created:
        found.append(Triple(iri, NamedNode(f"{DCTERMS}created"), Literal(document.created)))
    for chunk in chunks:
        found.extend(_chunk_triples(document, chunk, extractions.get(chunk.iri), projection))
    return list(dict.fromkeys(found))


def _chunk_triples(
    document: Document, chunk: Chunk, extraction: Extraction | None, projection: Projection
) -> Iterator[Triple]:
    yield Triple(document.iri, NamedNode(f"{CORE}hasChunk"), chunk.iri)
    yield Triple(chunk.iri, TYPE, NamedNode(f"{CORE}Chunk"))
    yield from _integers(chunk.iri, chunkIndex=chunk.index, start=chunk.start, end=chunk.end)
    if extraction is None:
        return
    activity = NamedNode(f"{chunk.iri.value}/extraction")
    yield Triple(activity, NamedNode(f"{PROV}used"), chunk.iri)
    yield Triple(activity, TYPE, NamedNode(f"{CORE}Extraction"))
    yield Triple(activity, NamedNode(f"{CORE}method"), Literal(extraction.method))
    if extraction.model:
        yield Triple(activity, NamedNode(f"{CORE}model"), Literal(extraction.model))
    if extraction.prompt_sha256:
        yield Triple(activity, NamedNode(f"{CORE}promptHash"), Literal(extraction.prompt_sha256))
    for keyword in extraction.keywords:
        yield Triple(chunk.iri, NamedNode(f"{DCTERMS}subject"), literal(keyword, language=document.language))
    for mention in dict.fromkeys((*extraction.mentions, *_claimed(extraction.claims))):
        node = NamedNode(f"{document.iri.value}/mention/{mention.start}-{mention.end}")
        yield Triple(chunk.iri, NamedNode(f"{CORE}mentions"), node)
        yield Triple(node, TYPE, NamedNode(f"{CORE}Mention"))
        yield Triple(node, NamedNode(f"{CORE}refersTo"), projection.entity(mention, chunk.iri))
        yield Triple(node, NamedNode(f"{CORE}quote"), Literal(mention.text))
        yield from _integers(node, start=mention.start, end=mention.end)


def _integers(subject: NamedNode, **values: int) -> Iterator[Triple]:
    for name, value in values.items():
        yield Triple(subject, NamedNode(f"{CORE}{name}"), Literal(str(value), datatype=XSD_INTEGER))
