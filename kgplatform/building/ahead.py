"""Reading ahead: files are read, and put to a model, while those before them are extracted, linked and committed.

What is ahead is bounded by documents and by bytes. Nothing is committed here: whoever adds documents takes them up in
their order, so that the graph is the same however much is read ahead, and a crash costs no more than what is in hand.
What was processed before is not read, and never put to a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from kgplatform.building.extracting import Begun, Extracting, GivenUpError, extracted
from kgplatform.building.intake import Intake
from kgplatform.building.tabular import TableParts
from kgplatform.building.threads import Threads
from kgplatform.building.unread import Location
from kgplatform.documents.reading import is_plain
from kgplatform.documents.registry import Registry, State
from kgplatform.protocols import Chunker, Extractor
from kgplatform.types import Chunk, Document, Extraction

_MOST_BYTES: Final = 64_000_000
"""Files of so many bytes in all are ahead at a time; a larger one is alone."""
_PAGE_BYTES: Final = 1_000_000
"""What a page on the web is taken to have before it is fetched."""


@dataclass(frozen=True, slots=True)
class AheadParts:
    """What reads documents; ``asks_model``: their extraction does not depend on what was added before."""

    registry: Registry
    tables: TableParts
    intake: Intake
    chunker: Chunker
    extractor_for: Callable[[Document], Extractor]
    asks_model: bool = False
    workers: int = 4


class ReadAhead:
    """The places of a run, read in their order and a few of them ahead; to be asked by one thread."""

    def __init__(self, parts: AheadParts, places: Sequence[Location]) -> None:
        self._parts = parts
        self._places = places
        self._next = 0
        self._most = parts.workers + 2 if parts.asks_model else 2 * parts.intake.parsers.limits.count
        self._reading: dict[Location, tuple[Future[list[Document] | None], int]] = {}
        self._readers = Threads(parts.intake.parsers.limits.count, "reader")
        self._extracting = Extracting(parts.workers, is_stopping=lambda: parts.registry.is_stopping)
        self._begun: dict[str, Begun] = {}
        self._lock = threading.Lock()

    def fill(self, number: int) -> None:
        """Lets places be read up to a few beyond that one, which is the next to be taken in."""
        self._next = max(self._next, number)
        while self._next < min(number + self._most, len(self._places)):
            place = self._places[self._next]
            size = _size(place)
            held = sum(size for _, size in self._reading.values())
            if held and held + size > _MOST_BYTES:
                return
            self._next += 1
            if place not in self._reading and self._is_worth_it(place):
                reading = self._readers.submit(partial(self._read_ahead, place))
                self._reading[place] = (reading, size)

    def _is_worth_it(self, place: Location) -> bool:
        return self._parts.asks_model or isinstance(place, str) or not is_plain(place)

    def _read_ahead(self, place: Location) -> list[Document] | None:
        """The documents; None: they are to be read in their turn, if at all."""
        intake, tables = self._parts.intake, self._parts.tables
        if isinstance(place, str):
            found = intake.page(place)
        elif tables.is_table(place) or self._is_known(intake.digest(place)):
            return None
        else:
            found = intake.documents(place)
        self.begin(found)
        return found

    def _is_known(self, sha256: str) -> bool:
        records = self._parts.registry.with_hash(sha256)
        done = (State.PROCESSED, State.QUARANTINED)
        return bool(records) and all(record.state in done for record in records)

    def documents(self, place: Location) -> list[Document]:
        """The documents at a place, read by now or read here.

        Raises:
            ReadError: as `Intake.documents` and `Intake.page`.
        """
        reading, _ = self._reading.pop(place, (None, 0))
        found = reading.result() if reading is not None else None
        if found is None:
            intake = self._parts.intake
            found = intake.page(place) if isinstance(place, str) else intake.documents(place)
        return found

    def drop(self, place: Location) -> None:
        """Forgets what was read at a place that turned out to be known."""
        self._reading.pop(place, None)

    def begin(self, documents: Sequence[Document], *, at: int = 0) -> None:
        """Puts the next few documents from that place on to the model, if there is one, and they are not known."""
        if not self._parts.asks_model:
            return
        for document in documents[at : at + self._most]:
            with self._lock:  # the examples that a prompt shows are read once, for the first document
                key = document.iri.value
                if key in self._begun or self._parts.tables.holds(document) or self._is_known(document.sha256):
                    continue
                extractor = self._parts.extractor_for(document)
                self._begun[key] = self._extracting.begin(extractor, self._parts.chunker(document), document)

    def chunks(self, document: Document) -> tuple[Chunk, ...]:
        """The chunks of a document."""
        begun = self._begun.get(document.iri.value)
        return begun.chunks if begun is not None else tuple(self._parts.chunker(document))

    def extractions(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What the chunks of a document say; raises ModelError as `extracted` does."""
        parts = self._parts
        if not parts.asks_model:
            return extracted(parts.extractor_for(document), chunks, document, workers=parts.workers)
        begun = self._begun.get(document.iri.value)
        try:
            if begun is not None:
                return begun.result()
        except (CancelledError, GivenUpError):  # the run was to end, and then goes on after all
            pass
        finally:
            self._begun.pop(document.iri.value, None)
        extractor = parts.extractor_for(document)
        return self._extracting.begin(extractor, chunks, document, is_wanted=True).result()

    def close(self, *, wait: bool) -> None:
        """Reads and asks nothing more; ``wait``: until the requests under way are answered."""
        self._readers.close(wait=False)
        self._extracting.close(wait=wait)


def _size(place: Location) -> int:
    try:
        return place.stat().st_size if isinstance(place, Path) else _PAGE_BYTES
    except OSError:
        return 0
