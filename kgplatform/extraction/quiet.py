"""Extraction that does not see the noise of posts: emoji, tags, slang and the phrases of platforms.

The extractor inside reads a text with blanks where the noise was, so all offsets are the document's own; what is kept
as the text of a mention is what the document has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from kgplatform.documents.noise import without_noise
from kgplatform.protocols import Extractor, StretchExtractor
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention


class QuietExtractor:
    """An extractor around another one, which gets texts without their noise."""

    def __init__(self, extractor: Extractor) -> None:
        self.method = extractor.method
        self._extractor = extractor

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says apart from its noise; offsets are the document's, texts are as written there."""
        return self.read([chunk], document)[0]

    def stretches(self, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
        """The chunks in the groups of the extractor inside."""
        inside = self._extractor
        return inside.stretches(chunks) if isinstance(inside, StretchExtractor) else [[chunk] for chunk in chunks]

    def read(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What neighbouring chunks say apart from their noise."""
        text = _quiet(document.text)
        title = " ".join(without_noise(document.title).split()) or document.title
        if text == document.text and title == document.title:
            return self._read(chunks, document)
        seen = [replace(chunk, text=text[chunk.start : chunk.end]) for chunk in chunks]
        return [
            replace(
                found,
                mentions=tuple(_as_written(mention, document) for mention in found.mentions),
                claims=tuple(_claim_as_written(claim, document) for claim in found.claims),
            )
            for found in self._read(seen, replace(document, text=text, title=title))
        ]

    def _read(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        inside = self._extractor
        if isinstance(inside, StretchExtractor):
            return inside.read(chunks, document)
        return [inside.extract(chunk, document) for chunk in chunks]


def _as_written(mention: Mention, document: Document) -> Mention:
    written = document.text[mention.start : mention.end]
    return mention if written == mention.text else replace(mention, text=written)


def _claim_as_written(claim: Claim, document: Document) -> Claim:
    object_ = _as_written(claim.object, document) if isinstance(claim.object, Mention) else claim.object
    return replace(claim, subject=_as_written(claim.subject, document), object=object_)


@lru_cache(maxsize=8)  # the chunks of one document come one after the other
def _quiet(text: str) -> str:
    return without_noise(text)


def quietly(extractor_for: Callable[[Document], Extractor], noise: str) -> Callable[[Document], Extractor]:
    """Who reads a document, with or (where ``noise`` is ``skip``) without its noise."""
    return extractor_for if noise != "skip" else lambda document: QuietExtractor(extractor_for(document))
