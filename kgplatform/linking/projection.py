"""Statements as the projection of what was read, and relations between things of different levels.

Relation linking is the travel framework's equation 2, R(a, b) = {(a, b): cos(phi(C_a), phi(C_b)) >= delta_2} with
C = [n, c], the name and what is said of a thing; the rank of a relation is the degree of its source plus that of its
target. Which levels go together the ontology says (``core:linkedAcross`` from class to class).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.records import Apart, LinkedEntity, Linking, claimed
from kgplatform.documents.registry import Registry
from kgplatform.documents.tables.table_source import row_text
from kgplatform.errors import NotFoundError
from kgplatform.store.oxigraph import as_stored, literal
from kgplatform.text import has_han, normalise
from kgplatform.types import Chunk, Claim, Document, Evidence, Extraction, Mention
from kgplatform.vocab import ALT_LABEL, CORE, DCTERMS, LABEL, PROV, TYPE, XSD_DOUBLE, XSD_INTEGER, entity_iri


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
        for mention in (*extraction.mentions, *claimed(extraction)):
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


def _labels(mention: Mention, known: LinkedEntity | None) -> list[Literal]:
    if known is None:
        return [_tagged(mention.name)]  # else none where the graph itself has one in the language
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
    if given := sorted({claim.given for claim in extraction.claims} - {""}):
        giving = NamedNode(f"{chunk.iri.value}/given")
        yield Triple(giving, NamedNode(f"{PROV}used"), chunk.iri)
        yield Triple(giving, TYPE, NamedNode(f"{CORE}Extraction"))
        yield Triple(giving, NamedNode(f"{CORE}method"), Literal("given"))
        yield from (Triple(giving, NamedNode(f"{CORE}source"), Literal(source)) for source in given)
    for keyword in extraction.keywords:
        yield Triple(chunk.iri, NamedNode(f"{DCTERMS}subject"), literal(keyword, language=document.language))
    for mention in dict.fromkeys((*extraction.mentions, *claimed(extraction))):
        if not mention.text:
            continue
        node = NamedNode(f"{document.iri.value}/mention/{mention.start}-{mention.end}")
        yield Triple(chunk.iri, NamedNode(f"{CORE}mentions"), node)
        yield Triple(node, TYPE, NamedNode(f"{CORE}Mention"))
        yield Triple(node, NamedNode(f"{CORE}refersTo"), projection.entity(mention, chunk.iri))
        yield Triple(node, NamedNode(f"{CORE}quote"), Literal(mention.text))
        yield from _integers(node, start=mention.start, end=mention.end)


def _integers(subject: NamedNode, **values: int) -> Iterator[Triple]:
    for name, value in values.items():
        yield Triple(subject, NamedNode(f"{CORE}{name}"), Literal(str(value), datatype=XSD_INTEGER))


RELATED: Final = NamedNode("http://www.w3.org/2004/02/skos/core#related")
"""What such a relation states; that two things are told of alike does not say how they are tied."""

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class LinkLevel:
    """The things of one level: their IRIs, with vectors of unit length for name and context, one row each."""

    iris: tuple[NamedNode, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ContentRelation:
    """Two things of different levels, how alike they are told of (0..1), and the rank of the tie."""

    source: NamedNode
    target: NamedNode
    similarity: float
    rank: int


def relations(
    sources: LinkLevel, targets: LinkLevel, degrees: Mapping[NamedNode, int], *, threshold: float, most: int = 5
) -> list[ContentRelation]:
    """The relations from each source to the ``most`` targets most like it, at least ``threshold`` alike, best first."""
    found: list[ContentRelation] = []
    for start in range(0, len(sources.iris), _BLOCK):
        block = sources.vectors[start : start + _BLOCK] @ targets.vectors.T
        for source, cosines in zip(sources.iris[start : start + _BLOCK], block, strict=True):
            found += _nearest(source, targets.iris, cosines, degrees, threshold, most)
    return found


def _nearest(
    source: NamedNode,
    targets: Sequence[NamedNode],
    cosines: NDArray[np.float32],
    degrees: Mapping[NamedNode, int],
    threshold: float,
    most: int,
) -> list[ContentRelation]:
    good = [int(place) for place in np.flatnonzero(cosines >= threshold) if targets[int(place)] != source]
    good.sort(key=lambda place: (-round(float(cosines[place]), 6), targets[place].value))
    return [
        ContentRelation(
            source,
            targets[place],
            round(min(float(cosines[place]), 1.0), 4),
            degrees.get(source, 0) + degrees.get(targets[place], 0),
        )
        for place in good[:most]
    ]


def relation_triples(found: Iterable[ContentRelation], base: str) -> list[Triple]:
    """The relations as statements, and each with its score, rank and method."""
    return list(dict.fromkeys(_triples(found, base)))


def _triples(found: Iterable[ContentRelation], base: str) -> Iterator[Triple]:
    for relation in found:
        key = f"{relation.source.value}\x1f{relation.target.value}".encode()
        node = NamedNode(f"{base}link/related/{blake2b(key, digest_size=8).hexdigest()}")
        yield Triple(relation.source, RELATED, relation.target)
        yield Triple(node, TYPE, NamedNode(f"{CORE}Link"))
        yield Triple(node, NamedNode(f"{CORE}linkFrom"), relation.source)
        yield Triple(node, NamedNode(f"{CORE}linkTo"), relation.target)
        yield Triple(node, NamedNode(f"{CORE}score"), Literal(repr(relation.similarity), datatype=XSD_DOUBLE))
        yield Triple(node, NamedNode(f"{CORE}rank"), Literal(str(relation.rank), datatype=XSD_INTEGER))
        yield Triple(node, NamedNode(f"{CORE}method"), Literal("content"))


class EvidenceFinder:
    """Finds passages by statement and evidence graph; quotes are cut from the document at their offsets."""

    def __init__(
        self, registry: Registry, projection: Projection, stated: Callable[[Triple], Evidence | None] = lambda _: None
    ) -> None:
        """``stated`` gives the word of a person who stated something by hand."""
        self._registry = registry
        self._projection = projection
        self._stated = stated

    def find(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        """The passage in the graph's chunk or table row; None where the graph has no text (inferred, stated by hand).

        A statement by which a person corrected another has the passage of that one.
        """
        try:
            if "/chunk/" in graph.value:
                return self._in_chunk(triple, graph)
            if graph.value.endswith("graph/asserted"):
                return self._corrected(triple) or self._stated(triple)
            return self._in_table(triple, graph)
        except NotFoundError:
            return None

    def passage(self, iri: NamedNode, score: float) -> Evidence:
        """A whole chunk, as the passage that a search found."""
        chunk, document = self._registry.chunk(iri)
        return _evidence(iri, document, chunk.start, chunk.end, score)

    def excerpt(self, document: NamedNode, start: int, end: int, score: float) -> Evidence:
        """Some characters of a document, as the passage that a search found; its chunk is the first that holds them."""
        holding = (c for c in self._registry.chunks(document) if c.start <= start and end <= c.end)
        chunk = next(holding, None)
        found = self._registry.document(document).document
        return _evidence(chunk.iri if chunk else document, found, start, end, score)

    def _corrected(self, triple: Triple) -> Evidence | None:
        review = self._registry.correction_of(triple)
        if review is None or review.correction != triple:
            return None
        document = self._registry.document(review.document).document
        return _evidence(review.graph, document, review.start, review.end, 1.0)

    def _in_chunk(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        chunk, document = self._registry.chunk(graph)
        extraction = self._registry.extraction(graph)
        if extraction is None:
            return None
        for claim in extraction.claims:
            if self._projection.triple(claim, chunk.iri) == triple:
                found = _evidence(chunk.iri, document, claim.start, claim.end, claim.confidence)
                return replace(found, given=claim.given)
        start, end, score = self._passage(triple, extraction, chunk)
        return _evidence(chunk.iri, document, start, end, score)

    def _passage(self, triple: Triple, extraction: Extraction, chunk: Chunk) -> tuple[int, int, float]:
        if triple.predicate in (TYPE, LABEL, ALT_LABEL):
            for mention in extraction.mentions:
                if self._projection.entity(mention, chunk.iri) == triple.subject:
                    return self._around(mention, extraction)
        return chunk.start, chunk.end, 0.5

    def _around(self, mention: Mention, extraction: Extraction) -> tuple[int, int, float]:
        """The sentence of a claim about the mention, else the mention itself."""
        for claim in extraction.claims:
            if claim.start <= mention.start and mention.end <= claim.end:
                return claim.start, claim.end, 0.8
        return mention.start, mention.end, 0.8

    def _in_table(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        iri = self._registry.table_graphs().get(graph.value)
        if iri is None:
            return None
        record = self._registry.document(iri)
        about = [triple.subject, triple.object]
        for node in about:
            if not isinstance(node, NamedNode):
                continue
            for row in self._registry.rows_about(node):
                if row.document == iri:
                    return _evidence(graph, record.document, row.start, row.end, 1.0)
        return self._in_large(about, graph, record.document)

    def _in_large(self, about: Iterable[object], graph: NamedNode, document: Document) -> Evidence | None:
        """The row of a large table, read again from its source; it has a quote, but no place in a kept text."""
        entry = self._registry.table(document.iri)
        if entry is None or not entry.is_large:
            return None
        for node in about:
            number = self._registry.row_number(document.iri, node) if isinstance(node, NamedNode) else None
            if number is not None:
                quote = row_text(document.source, number)
                return replace(_evidence(graph, document, 0, 0, 1.0), quote=quote) if quote else None
        return None


def _evidence(chunk: NamedNode, document: Document, start: int, end: int, score: float) -> Evidence:
    return Evidence(
        chunk=chunk,
        document=document.iri,
        title=document.title,
        source=document.source,
        quote=document.text[start:end],
        start=start,
        end=end,
        score=score,
    )
