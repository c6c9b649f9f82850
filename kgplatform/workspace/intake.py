"""What is read of the places that a user names: files and pages, ahead of what is committed; and what that would cost.

Files are read, and put to a model, while those before them are extracted, linked and committed. The estimate asks
nothing of the model: prompts are made and counted as they would be. Replies are predicted: as long, for each token of
text, as those that the workspace has had so far, else as those measured on the sample documents.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from kgplatform.documents.chunking import chunker
from kgplatform.documents.fetch import WebRules, fetch, is_address
from kgplatform.documents.files import Discovery, discover, is_plain, located
from kgplatform.documents.progress import Crew
from kgplatform.documents.records import State
from kgplatform.documents.registry import Registry
from kgplatform.documents.sandbox import Parsers
from kgplatform.errors import ConfigError, KgPlatformError, ModelUnavailableError, ReadError
from kgplatform.models.chat import RequestRefusedError
from kgplatform.settings import DocumentSettings
from kgplatform.text import count_tokens
from kgplatform.types import Chunk, Chunker, Document, Extraction, Extractor, StretchExtractor, Usage
from kgplatform.vocab import document_iri
from kgplatform.workspace.table_stage import TableParts, digest_of
from kgplatform.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kgplatform.extraction.model_reader import ShortDocument

Location: TypeAlias = Path | str
"""Where something is to be read: a path, or (a string) an address on the web."""


def source_of(location: Location) -> str:
    """How a place is called in the registry."""
    return location if isinstance(location, str) else location.as_posix()


def name_of(location: Location) -> str:
    """The short name of a place, for showing."""
    return location if isinstance(location, str) else location.name


def told_with(name: str, crew: Crew | None) -> str:
    """The name of a place in hand and who reads on other machines, for a line of progress."""
    if crew is None:
        return name
    return f"{crew.note or f'{crew.workers} workers, {crew.in_hand} in hand'} · {name}"


def unread(base: str, location: Location) -> Document:
    """An entry for a file or page that was not read (yet), known by its place."""
    source = source_of(location)
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()
    return Document(
        iri=document_iri(base, digest),
        text="",
        title=name_of(location),
        media_type="application/octet-stream",
        source=source,
        sha256=digest,
        language="en",
    )


def location_of(given: Path | str) -> Location:
    """The place that a user named: an address on the web as it is, anything else as a path."""
    return given if isinstance(given, str) and is_address(given) else Path(given)


@dataclass(frozen=True, slots=True)
class Intake:
    """Reads documents by the settings of a workspace, those that need a parser in processes of their own."""

    base: str
    settings: DocumentSettings
    parsers: Parsers

    def allow(self, addresses: Iterable[str]) -> None:
        """Passes if there are no addresses, or the settings let any be read.

        Raises:
            ConfigError: there are, and they do not; the message says what to set.
        """
        first = next(iter(addresses), None)
        if first is not None and not self.settings.web:
            way = "set web = true below [documents] and name the host in web_hosts"
            raise ConfigError(
                f"{first}: addresses on the web are not read; to allow it, {way}", setting="documents.web"
            )

    def digest(self, path: Path) -> str:
        """The SHA-256 of a file, and of the place in it that is read; nothing for one that is too large.

        Raises:
            ReadError: it cannot be read.
        """
        file, pointer = located(path)
        try:
            return "" if file.stat().st_size > self.settings.max_bytes else digest_of(file, pointer)
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error

    def documents(self, path: Path) -> list[Document]:
        """The documents in a file; raises ReadError as `Parsers.documents` does."""
        settings = self.settings
        return self.parsers.documents(path, base=self.base, max_bytes=settings.max_bytes, json_path=settings.json_path)

    def page(self, address: str) -> list[Document]:
        """The documents at an address on the web.

        Raises:
            ReadError: as `fetch`, or what is there is not a readable document.
        """
        settings = self.settings
        page = fetch(address, WebRules(settings.web_hosts, settings.max_bytes, settings.web_timeout_seconds))
        try:
            return self.parsers.content(page.path, page.data, base=self.base, source=address)
        except ReadError as error:
            raise ReadError(error.reason, path=error.path, place=address) from error


_T = TypeVar("_T")


class Threads:
    """A fixed number of threads, each started when there is something for it to do.

    They do what is handed to them in its order and, unlike a pool's, never keep a process from ending.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = max(1, count)
        self._name = name
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._futures: set[Future[Any]] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def submit(self, call: Callable[[], _T]) -> Future[_T]:
        """What the call will give, or raise; cancelled where the threads are closed."""
        future: Future[_T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
                raise

        with self._lock:
            if self._is_closed:
                future.cancel()
                return future
            self._futures.add(future)
            future.add_done_callback(self._futures.discard)
            self._tasks.put(run)
            if len(self._threads) < min(self._count, len(self._futures)):
                thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            with suppress(Exception):  # whoever waits for the result has it
                task()

    def close(self, *, wait: bool) -> None:
        """Drops what was not begun; ``wait``: until what was begun is done."""
        with self._lock:
            self._is_closed = True
            waiting = tuple(self._futures)
        for future in waiting:
            future.cancel()
        with suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()


class PendingExtraction:
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
    """Puts documents to a model, so many stretches at a time, in the order of the documents.

    What came of a document is asked for in that order too, so that how many requests run at a time changes nothing
    but the time.
    ``is_stopping`` tells that what nobody waits for need not be begun. Once the model cannot be reached, everything
    fails with the same error, at once.
    """

    def __init__(self, workers: int, *, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self._threads = Threads(workers, "model")
        self._is_stopping = is_stopping
        self._away: ModelUnavailableError | None = None

    def begin(
        self, extractor: Extractor, chunks: Sequence[Chunk], document: Document, *, is_wanted: bool = False
    ) -> PendingExtraction:
        """The document with its stretches waiting for their turns; ``is_wanted``: it is in hand."""
        begun = PendingExtraction(tuple(chunks))
        if is_wanted:
            begun.is_wanted.set()
        for stretch in _stretches(extractor, chunks):
            begun.read(self._threads.submit(partial(self._read, extractor, stretch, document, begun)))
        return begun

    def together(self, group: Sequence[ShortDocument]) -> list[PendingExtraction]:
        """The documents, asked about in one request and then each taken up; what one fails of costs only that one."""
        begun = [PendingExtraction(tuple(item.chunks)) for item in group]
        promises = [Future[list[Extraction]]() for _ in group]
        for pending, promise in zip(begun, promises, strict=True):
            promise.set_running_or_notify_cancel()  # whoever gives one up leaves the others
            pending.read(promise)

        def ask() -> None:
            with self._noting(is_wanted=any(pending.is_wanted.is_set() for pending in begun)):
                group[0].reader.ask_together(group)
            for item, pending, promise in zip(group, begun, promises, strict=True):
                try:
                    promise.set_result(self._read(item.reader, item.chunks, item.document, pending))
                except (KgPlatformError, NotBegunError) as error:
                    promise.set_exception(error)

        def fail(asked: Future[None]) -> None:
            error = CancelledError() if asked.cancelled() else asked.exception()
            for promise in promises:
                if error is not None and not promise.done():
                    promise.set_exception(error)

        self._threads.submit(ask).add_done_callback(fail)
        return begun

    def _read(
        self, extractor: Extractor, stretch: Sequence[Chunk], document: Document, begun: PendingExtraction
    ) -> list[Extraction]:
        with self._noting(is_wanted=begun.is_wanted.is_set()):
            return _read(extractor, stretch, document)

    @contextmanager
    def _noting(self, *, is_wanted: bool) -> Iterator[None]:
        """For what asks the model: not begun if it is away or the run is to end; it is noted if it is away."""
        if self._away is not None:
            raise self._away
        if self._is_stopping() and not is_wanted:
            raise NotBegunError
        try:
            yield
        except RequestRefusedError:  # that is about this request
            raise
        except ModelUnavailableError as error:
            self._away = error
            raise

    def close(self, *, wait: bool) -> None:
        """Asks nothing more; ``wait``: until the requests under way are answered, for their replies are kept."""
        self._threads.close(wait=wait)


class NotBegunError(Exception):
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


def ask_together(
    readers: Sequence[Extractor], chunks: Sequence[Sequence[Chunk]], documents: Sequence[Document]
) -> None:
    """Asks about several documents in one request, so that the readers know what the model says of each.

    Raises:
        ModelUnavailableError: the model cannot be reached.
    """
    from kgplatform.extraction.model_reader import ModelExtractor, ShortDocument  # not where no model reads

    if len(documents) > 1:
        given = zip(readers, chunks, documents, strict=True)
        group = [ShortDocument(reader, cut, told) for reader, cut, told in given if isinstance(reader, ModelExtractor)]
        group[0].reader.ask_together(group)


def _stretches(extractor: Extractor, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    return extractor.stretches(chunks) if isinstance(extractor, StretchExtractor) else [[chunk] for chunk in chunks]


def _read(extractor: Extractor, stretch: Sequence[Chunk], document: Document) -> list[Extraction]:
    if isinstance(extractor, StretchExtractor):
        return extractor.read(stretch, document)
    return [extractor.extract(chunk, document) for chunk in stretch]


def usage_of(extractions: Iterable[Extraction]) -> Usage:
    """What reading them cost in all; replies from the cache count with the tokens they took, but with no call."""
    return sum((extraction.usage for extraction in extractions), Usage())


_MOST_BYTES: Final = 64_000_000
"""Files of so many bytes in all are ahead at a time; a larger one is alone."""
_PAGE_BYTES: Final = 1_000_000
"""What a page on the web is taken to have before it is fetched; a larger file is no neighbour of short documents."""
_PLACES: Final = ""
"""The group of documents from files that hold one each."""


@dataclass(frozen=True, slots=True)
class AheadParts:
    """What reads documents; ``asks_model``: their extraction does not depend on what was added before.

    ``together``: how many neighbouring documents may be asked about in one request.
    """

    registry: Registry
    tables: TableParts
    intake: Intake
    chunker: Chunker
    extractor_for: Callable[[Document], Extractor]
    asks_model: bool = False
    workers: int = 4
    together: int = 1


class ReadAhead:
    """The places of a run, read in their order and a few of them ahead; to be asked by one thread.

    What is ahead is bounded by documents and by bytes. Nothing is committed here: whoever adds documents takes them up
    in their order, so that the graph is the same however much is read ahead. What was processed before is not read.
    """

    def __init__(self, parts: AheadParts, places: Sequence[Location], *, most: int = 0, readers: int = 0) -> None:
        """``most`` places are ahead, read by so many ``readers``; 0: as many as this machine can do something with."""
        self._parts = parts
        self._places = places
        self._next = 0
        count = parts.intake.parsers.limits.count
        self._most = (most or (parts.workers + 2 if parts.asks_model else 2 * count)) * parts.together
        self._reading: dict[Location, tuple[Future[list[Document] | None], int]] = {}
        self._readers = Threads(readers or count, "reader")
        self._extracting = Extracting(parts.workers, is_stopping=lambda: parts.registry.is_stopping)
        self._begun: dict[str, PendingExtraction] = {}
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        # Documents are gathered in the order of their places, whichever is read first, so that which of them are asked
        # about together does not depend on time: those of files that hold one each, and those of each file of several.
        self._arrived: dict[int, Sequence[Document]] = {}
        self._turn = self._opened = 0
        self._open: dict[str, list[ShortDocument]] = {}

    def fill(self, number: int) -> None:
        """Lets places be read up to a few beyond that one, which is the next to be taken in."""
        for skipped in range(self._next, number):
            self._arrive(skipped, ())
        self._next = max(self._next, number)
        while self._next < min(number + self._most, len(self._places)):
            place = self._places[self._next]
            size = _size(place)
            held = sum(size for _, size in self._reading.values())
            if held and held + size > _MOST_BYTES:
                return
            if place not in self._reading and self._is_worth_it(place):
                reading = self._readers.submit(partial(self._read_ahead, self._next, place))
                self._reading[place] = (reading, size)
            else:
                self._arrive(self._next, ())
            self._next += 1

    def _is_worth_it(self, place: Location) -> bool:
        return self._parts.asks_model or isinstance(place, str) or not is_plain(place)

    def _read_ahead(self, number: int, place: Location) -> list[Document] | None:
        """The documents; None: they are to be read in their turn, if at all."""
        intake, tables, found = self._parts.intake, self._parts.tables, list[Document]()
        try:
            if isinstance(place, str):
                found = intake.page(place)
            elif tables.is_table(place) or is_known(self._parts.registry, intake.digest(place)):
                return None
            else:
                found = self._parsed(place)
        finally:
            self._arrive(number, found)
        return found

    def _arrive(self, number: int, documents: Sequence[Document]) -> None:
        """Takes up what was read at a place, once all places before it were; several documents are for themselves."""
        with self._lock:
            self._arrived[number] = documents
            while (found := self._arrived.pop(self._turn, None)) is not None:
                try:
                    if len(found) == 1 and self._asks:
                        self._opened = self._opened if self._open.get(_PLACES) else self._turn
                        self._gather(found[0], _PLACES)
                    elif found:
                        self._close(_PLACES)
                        self.begin(found)
                finally:
                    self._turn += 1
                    is_last = self._turn == len(self._places) or self._turn - self._opened >= self._parts.together
                    if is_last or _size(self._places[self._turn]) > _PAGE_BYTES:
                        self._close(_PLACES)  # a large file is read when there is room, and nobody waits for it

    def _parsed(self, place: Path) -> list[Document]:
        return self._parts.intake.documents(place)

    def crew(self) -> Crew | None:
        """Who reads on other machines; None: nobody."""
        return None

    def documents(self, place: Location) -> list[Document]:
        """The documents at a place, read by now or read here.

        Raises:
            ReadError: as `Intake.documents` and `Intake.page`.
        """
        reading, _ = self._reading.pop(place, (None, 0))
        found = reading.result() if reading is not None else None
        if found is None:
            found = self._parts.intake.page(place) if isinstance(place, str) else self._parsed(place)
        return found

    def drop(self, place: Location) -> None:
        """Forgets what was read at a place that turned out to be known."""
        self._reading.pop(place, None)

    def begin(self, documents: Sequence[Document], *, at: int = 0) -> None:
        """Puts the next few documents from that place on to the model, if there is one, and they are not known."""
        if not self._asks or not documents:
            return
        with self._lock:  # the examples that a prompt shows are read once, for the first document
            group = documents[0].iri.value
            for document in documents[at : at + self._most]:
                self._gather(document, group)
            waiting = [item.document for item in self._open.get(group, ())]
            if at + self._most >= len(documents) or documents[at] in waiting:
                self._close(group)

    @property
    def _asks(self) -> bool:
        """Whether documents are read ahead at all, and not only their files."""
        return self._parts.asks_model

    def _is_begun(self, key: str) -> bool:
        return key in self._begun

    def _gather(self, document: Document, group: str) -> None:
        """Begins a document, or lets it wait for those that it is asked about with."""
        parts = self._parts
        if self._is_begun(document.iri.value) or self._is_waiting(document):
            return
        if parts.tables.holds(document) or is_known(parts.registry, document.sha256):
            return
        short = self._short(document)
        if short is None or not short.joins(self._open.get(group, ())):
            self._close(group)
        if short is None:
            self._begin_alone(document)
        else:
            self._open.setdefault(group, []).append(short)

    def _short(self, document: Document) -> ShortDocument | None:
        from kgplatform.extraction.model_reader import ModelExtractor  # not where no model reads

        extractor = self._parts.extractor_for(document)
        return extractor.short(document, self._parts.chunker) if isinstance(extractor, ModelExtractor) else None

    def _close(self, group: str) -> None:
        """Begins what was gathered."""
        if found := self._open.pop(group, None):
            self._settled.notify_all()  # who waits goes on once this thread has begun them
            if len(found) == 1:
                self._begin_alone(found[0].document)
            else:
                self._begin_together(found)

    def _begin_alone(self, document: Document) -> None:
        parts = self._parts
        begun = self._extracting.begin(parts.extractor_for(document), parts.chunker(document), document)
        self._begun[document.iri.value] = begun

    def _begin_together(self, group: Sequence[ShortDocument]) -> None:
        begun = self._extracting.together(group)
        self._begun.update((item.document.iri.value, one) for item, one in zip(group, begun, strict=True))

    def _settle(self, document: Document) -> None:
        """Waits until it is known what the document is asked about with: a few files behind it are read by then."""
        with self._settled:
            self._settled.wait_for(lambda: not self._is_waiting(document))

    def _is_waiting(self, document: Document) -> bool:
        return any(item.document.iri == document.iri for group in self._open.values() for item in group)

    def chunks(self, document: Document) -> tuple[Chunk, ...]:
        """The chunks of a document."""
        begun = self._begun.get(document.iri.value)
        return begun.chunks if begun is not None else tuple(self._parts.chunker(document))

    def extractions(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What the chunks of a document say; raises ModelError as `extracted` does."""
        parts = self._parts
        if not parts.asks_model:
            return extracted(parts.extractor_for(document), chunks, document, workers=parts.workers)
        self._settle(document)
        begun = self._begun.get(document.iri.value)
        try:
            if begun is not None:
                return begun.result()
        except (CancelledError, NotBegunError):  # the run was to end, and then goes on after all
            pass
        finally:
            self._begun.pop(document.iri.value, None)
        extractor = parts.extractor_for(document)
        return self._extracting.begin(extractor, chunks, document, is_wanted=True).result()

    def close(self, *, wait: bool) -> None:
        """Reads and asks nothing more; ``wait``: until the requests under way are answered."""
        self._readers.close(wait=False)
        self._extracting.close(wait=wait)


AheadMaker: TypeAlias = Callable[[AheadParts, Sequence[Location]], ReadAhead]
"""What makes the reader of a run's places."""


def _size(place: Location) -> int:
    try:
        return place.stat().st_size if isinstance(place, Path) else _PAGE_BYTES
    except OSError:
        return 0


REPLY_TOKENS: Final = 3.4
"""How many tokens of reply a token of text gave on seven sample documents, in two rounds."""

_LEAST_MEASURED: Final = 2000
"""Tokens of text that a workspace must have read before its own share counts."""


@dataclass(frozen=True, slots=True)
class DocumentEstimate:
    """What one document would cost."""

    source: str
    title: str
    chunks: int
    tokens: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What adding would cost: the documents a model would read, and how many it would not."""

    documents: tuple[DocumentEstimate, ...]
    unchanged: int
    tables: int
    unreadable: tuple[str, ...]
    model: str | None
    reply_tokens: float

    @property
    def usage(self) -> Usage:
        """The sum over the documents."""
        return sum((document.usage for document in self.documents), Usage())


def estimate(tables: TableParts, workspace: Workspace, given: Sequence[Path | str]) -> CostEstimate:
    """What adding the files and folders would cost; nothing is asked, written or fetched.

    Raises:
        ReadError: a path is missing, or nothing under the paths can be read.
        ConfigError: an address on the web is given, which would have to be fetched.
    """
    paths = [place for place in given if isinstance(place, Path)]
    if len(paths) < len(given):
        raise ConfigError("addresses on the web are not fetched for an estimate; give files", setting="estimate")
    registry, settings = workspace.registry, workspace.settings.documents
    intake, cut = Intake(workspace.base, settings, workspace.parsers), chunker(settings.chunker)
    extractor, share = workspace.estimating_extractor(), _measured(registry)
    apart = [path for path in paths if not path.is_dir() and tables.is_apart(path)]
    rest = [path for path in paths if path not in apart]
    found = discover(rest) if rest else Discovery(())
    texts = [path for path in found.files if not tables.is_table(path)]
    unreadable = [f"{skipped.path}: {skipped.reason}" for skipped in found.skipped if skipped.path in paths]
    documents: list[Document] = []
    unchanged = 0
    for path in texts:
        try:
            if is_known(registry, intake.digest(path)):
                unchanged += 1
            else:
                documents += intake.documents(path)
        except ReadError as error:
            unreadable.append(str(error))
    count = len(found.files) - len(texts) + len(apart)
    model = workspace.model.name if workspace.model else None
    cuts = [cut(document) for document in documents]
    used = extractor.expected_of(cuts, documents, reply_tokens=share) if extractor else [Usage()] * len(cuts)
    told = (
        DocumentEstimate(document.source, document.title, len(chunks), count_tokens(document.text), usage)
        for document, chunks, usage in zip(documents, cuts, used, strict=True)
    )
    return CostEstimate(tuple(told), unchanged, count, tuple(unreadable), model, share)


def is_known(registry: Registry, sha256: str) -> bool:
    """True if the content of that hash was read, and all of it counts or is in quarantine."""
    done = (State.PROCESSED, State.QUARANTINED)
    records = registry.with_hash(sha256)
    return bool(records) and all(record.state in done for record in records)


def _measured(registry: Registry) -> float:
    """How many tokens of reply a token of text gave so far in this workspace."""
    read, replied = 0, 0.0
    for record in registry.documents(State.PROCESSED):
        used = [extraction.usage for extraction in registry.extractions(record.document.iri)]
        tokens = sum(usage.completion_tokens for usage in used)
        if tokens:
            read += count_tokens(record.document.text)
            replied += tokens
    return replied / read if read >= _LEAST_MEASURED else REPLY_TOKENS
