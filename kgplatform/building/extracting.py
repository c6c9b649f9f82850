"""What is read in the chunks of documents: by a model several stretches at a time, by the built-in methods one by one.

Stretches of several documents are put to a model at once, in the order of the documents; what came of a document is
asked for in that order too, so that how many requests run at a time changes nothing but the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial

from kgplatform.building.threads import Threads
from kgplatform.errors import ModelUnavailableError
from kgplatform.models.server import RequestRefusedError
from kgplatform.protocols import Extractor, StretchExtractor
from kgplatform.types import Chunk, Document, Extraction, Usage


class Begun:
    """A document whose stretches are being read."""

    def __init__(self, chunks: tuple[Chunk, ...]) -> None:
        self.chunks = chunks
        self.is_wanted = threading.Event()
        self._parts: list[Future[list[Extraction]]] = []

    def read(self, part: Future[list[Extraction]]) -> None:
        """Notes the next stretch."""
        self._parts.append(part)

    def result(self) -> list[Extraction]:
        """The extractions of the chunks, in order; waits for them.

        Raises:
            ModelError: a model cannot be reached, or replies with something of no use.
            CancelledError: it was given up before it was begun.
        """
        self.is_wanted.set()
        try:
            return [extraction for part in self._parts for extraction in part.result()]
        finally:
            for part in self._parts:  # where one failed, the others are not worth asking
                part.cancel()


class Extracting:
    """Puts documents to a model, so many stretches at a time.

    ``is_stopping`` tells that what nobody waits for need not be begun. Once the model cannot be reached, everything
    fails with the same error, at once.
    """

    def __init__(self, workers: int, *, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self._threads = Threads(workers, "model")
        self._is_stopping = is_stopping
        self._away: ModelUnavailableError | None = None

    def begin(
        self, extractor: Extractor, chunks: Sequence[Chunk], document: Document, *, is_wanted: bool = False
    ) -> Begun:
        """The document with its stretches waiting for their turns; ``is_wanted``: it is in hand."""
        begun = Begun(tuple(chunks))
        if is_wanted:
            begun.is_wanted.set()
        for stretch in _stretches(extractor, chunks):
            begun.read(self._threads.submit(partial(self._read, extractor, stretch, document, begun)))
        return begun

    def _read(
        self, extractor: Extractor, stretch: Sequence[Chunk], document: Document, begun: Begun
    ) -> list[Extraction]:
        if self._away is not None:
            raise self._away
        if self._is_stopping() and not begun.is_wanted.is_set():
            raise GivenUpError
        try:
            return _read(extractor, stretch, document)
        except RequestRefusedError:  # that is about this request
            raise
        except ModelUnavailableError as error:
            self._away = error
            raise

    def close(self, *, wait: bool) -> None:
        """Asks nothing more; ``wait``: until the requests under way are answered, for their replies are kept."""
        self._threads.close(wait=wait)


class GivenUpError(Exception):
    """A stretch was not read, because the run was to end and its document was not in hand."""


def extracted(extractor: Extractor, chunks: Sequence[Chunk], document: Document, *, workers: int) -> list[Extraction]:
    """The extractions of the chunks, in order; neighbours together where the extractor can read them so.

    Raises:
        ModelError: a model cannot be reached, or replies with something of no use.
    """
    if extractor.method != "model":
        return [extractor.extract(chunk, document) for chunk in chunks]
    extracting = Extracting(workers)
    try:
        return extracting.begin(extractor, chunks, document).result()
    finally:
        extracting.close(wait=False)


def _stretches(extractor: Extractor, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    return extractor.stretches(chunks) if isinstance(extractor, StretchExtractor) else [[chunk] for chunk in chunks]


def _read(extractor: Extractor, stretch: Sequence[Chunk], document: Document) -> list[Extraction]:
    if isinstance(extractor, StretchExtractor):
        return extractor.read(stretch, document)
    return [extractor.extract(chunk, document) for chunk in stretch]


def usage_of(extractions: Iterable[Extraction]) -> Usage:
    """What reading them cost in all; replies from the cache count with the tokens they took, but with no call."""
    return sum((extraction.usage for extraction in extractions), Usage())
