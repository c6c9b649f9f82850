"""What is read in the chunks of one document: by a model several at a time, by the built-in methods one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from kgplatform.protocols import Extractor, StretchExtractor
from kgplatform.types import Chunk, Document, Extraction, Usage


def extracted(extractor: Extractor, chunks: Sequence[Chunk], document: Document, *, workers: int) -> list[Extraction]:
    """The extractions of the chunks, in order; neighbours together where the extractor can read them so.

    Raises:
        ModelError: a model cannot be reached, or replies with something of no use.
    """
    if extractor.method != "model":
        return [extractor.extract(chunk, document) for chunk in chunks]
    together = extractor if isinstance(extractor, StretchExtractor) else None
    stretches = together.stretches(chunks) if together else [[chunk] for chunk in chunks]

    def read(stretch: Sequence[Chunk]) -> list[Extraction]:
        return together.read(stretch, document) if together else [extractor.extract(stretch[0], document)]

    if len(stretches) < 2:
        return [extraction for stretch in stretches for extraction in read(stretch)]
    with ThreadPoolExecutor(workers) as pool:
        return [extraction for found in pool.map(read, stretches) for extraction in found]


def usage_of(extractions: Iterable[Extraction]) -> Usage:
    """What reading them cost in all; replies from the cache count with the tokens they took, but with no call."""
    return sum((extraction.usage for extraction in extractions), Usage())
