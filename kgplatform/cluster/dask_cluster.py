"""Reading on a Dask cluster: documents are taken apart, cut, extracted and embedded by workers, and committed here.

What a worker does is pure: of a file's bytes, or of a document, and of a `Recipe`, it makes documents, chunks,
extractions, vectors. Nothing of a workspace is on a worker, and the order of commits is that of one machine
(`kgplatform.workspace.intake.ReadAhead`), so the graph is too. A worker that is lost costs a retry, by Dask; a cluster
that is lost leaves the rest to this machine. Requests to a model take a lease of a semaphore of the scheduler, so that
all workers together ask at most so many at a time.

Source of the scheduling and its promises: https://distributed.dask.org/en/stable/resilience.html. Workers run what the
scheduler sends them: who may reach it may do anything there (TLS: https://distributed.dask.org/en/stable/tls.html).
"""

from __future__ import annotations

import hashlib
import pickle
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgplatform.documents.chunking import chunker
from kgplatform.documents.files import is_plain, located
from kgplatform.documents.progress import Crew
from kgplatform.documents.sandbox import ParserLimits, Parsers
from kgplatform.errors import ClusterError, ConfigError, KgPlatformError, ModelUnavailableError, ReadError
from kgplatform.models.chat import OpenAIModel, RequestRefusedError, key_of, parameters_of
from kgplatform.models.reply_cache import KeptReply
from kgplatform.ontology.schema import Ontology
from kgplatform.settings import DocumentSettings, EmbeddingSettings, ModelSettings
from kgplatform.types import ChatModel, Chunk, Completion, Document, Embedder, Extraction, Extractor, Message, Usage
from kgplatform.workspace import intake, search
from kgplatform.workspace.intake import AheadMaker, AheadParts, Location, ReadAhead
from kgplatform.workspace.workspace import Workspace

if TYPE_CHECKING:
    from distributed import Client, Future

    from kgplatform.extraction.learnt.examples import AnnotatedExample
    from kgplatform.extraction.model_reader import PromptOptions, ShortDocument

Where: TypeAlias = "str | int"
"""The address of a scheduler, or how many workers of its own this machine starts (0: one for each processor)."""

_VERSION: Final = metadata.version("kgplatform")
_CONNECT_SECONDS: Final = 15.0
_ALONE_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 1.0
_LEASES: Final = "kgplatform-model-"
_TEXTS: Final = 64
_TRIES: Final = 3
_NO_DOCUMENT: Final = intake.unread("urn:none/", "none")
"""For who reads the same way whatever the document."""


# What a worker does


@dataclass(frozen=True)
class Recipe:
    """All that reading depends on besides the document; the same recipe and document give the same extraction."""

    base: str
    documents: DocumentSettings
    ontology: Ontology
    builtin: Extractor | None
    model: ModelSettings
    asking: PromptOptions | None = None
    examples: tuple[AnnotatedExample, ...] = ()
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    requests: int = 0
    version: str = _VERSION


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """What a worker read in a document, what its model replied that was not known before, and which worker it was."""

    chunks: tuple[Chunk, ...]
    extractions: tuple[Extraction, ...]
    replies: tuple[KeptReply, ...] = ()
    worker: str = ""


class CarriedModel:
    """A model on a worker: replies that came along are used, others made under a lease and taken home."""

    def __init__(self, model: ChatModel, kept: Mapping[str, KeptReply], lease: Any, made: list[KeptReply]) -> None:
        """``made`` takes the replies that go home."""
        self.name = model.name
        self._model, self._kept, self._lease, self._made = model, dict(kept), lease, made

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The kept reply, else the model's own; raises ModelError as that."""
        key = key_of(messages, schema, model=self.name, parameters=parameters_of(self._model))
        if (kept := self._kept.get(key)) is not None:
            return Completion(kept.text, Usage(0, kept.prompt_tokens, kept.completion_tokens))
        made = self.ask(messages, schema=schema)
        self.take(messages, made, schema=schema)
        return made

    def kept_replies(self) -> Mapping[str, KeptReply]:
        """Those that came along."""
        return self._kept

    def ask(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The model's own reply, which does not go home; raises ModelError as that."""
        with self._lease:
            return self._model.complete(messages, schema=schema)

    def take(self, messages: Sequence[Message], made: Completion, *, schema: Mapping[str, object] | None) -> None:
        """Lets what is the reply to a request go home, and uses it when that is made."""
        key = key_of(messages, schema, model=self.name, parameters=parameters_of(self._model))
        self._kept[key] = KeptReply(key, made.text, made.usage.prompt_tokens, made.usage.completion_tokens)
        self._made.append(self._kept[key])


class WorkerReader:
    """Reads documents by a recipe; one on each worker, for all its threads."""

    def __init__(self, packed: bytes) -> None:
        recipe: Recipe = pickle.loads(packed)
        if recipe.version != _VERSION:
            raise ClusterError(f"the worker has kgplatform {_VERSION}, who asks has {recipe.version}")
        self._packed, self.recipe = packed, recipe
        self._cut = chunker(recipe.documents.chunker)

    def __reduce__(self) -> tuple[type[WorkerReader], tuple[bytes]]:
        return WorkerReader, (self._packed,)

    @cached_property
    def _parsers(self) -> Parsers:
        chosen = self.recipe.documents
        return Parsers(ParserLimits(chosen.parsers, chosen.parse_seconds, chosen.parse_memory_mb * 1_000_000))

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model, loaded when first used."""
        return search.embedder(self.recipe.embedding)

    @cached_property
    def _model(self) -> ChatModel:
        return OpenAIModel.configured(self.recipe.model)

    @cached_property
    def _lease(self) -> Any:
        from distributed import Semaphore

        most = self.recipe.requests
        return Semaphore(most, f"{_LEASES}{self.recipe.model.name}") if most else nullcontext()

    def parse(self, place: str, data: bytes) -> list[Document]:
        """The documents in a file that lies elsewhere; raises ReadError as `Parsers.documents`."""
        file, pointer = located(Path(place))
        with tempfile.TemporaryDirectory(prefix="kgplatform-") as folder:
            copy = Path(folder) / file.name
            copy.write_bytes(data)
            path = Path(f"{copy}#{pointer}") if pointer else copy
            chosen = self.recipe.documents
            found = self._parsers.documents(
                path, base=self.recipe.base, max_bytes=chosen.max_bytes, json_path=chosen.json_path
            )
        source = Path(place).as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return [replace(document, source=source) for document in found]

    def read(
        self, documents: Sequence[Document], kept: Sequence[Mapping[str, KeptReply]]
    ) -> list[ClusterReading | KgPlatformError]:
        """The chunks of documents that are asked about together, and what each says, or why it cannot be read.

        Raises:
            ModelUnavailableError: the model cannot be reached.
        """
        made: list[list[KeptReply]] = [[] for _ in documents]
        readers = [
            self.recipe.builtin or self._asking(CarriedModel(self._model, known, self._lease, own))
            for known, own in zip(kept, made, strict=True)
        ]
        chunks = [tuple(self._cut(document)) for document in documents]
        intake.ask_together(readers, chunks, documents)
        found: list[ClusterReading | KgPlatformError] = []
        for reader, parts, document, own in zip(readers, chunks, documents, made, strict=True):
            try:
                read = intake.extracted(reader, parts, document, workers=self.recipe.model.workers)
                found.append(ClusterReading(parts, tuple(read), tuple(own), _worker_name()))
            except KgPlatformError as error:
                found.append(error)
        return found

    def _asking(self, model: ChatModel) -> Extractor:
        from kgplatform.extraction.builtin import quietly
        from kgplatform.extraction.model_reader import ModelExtractor
        from kgplatform.extraction.prompt import Demonstrations

        recipe = self.recipe
        shown = Demonstrations(recipe.examples, embedder=self.embedder if recipe.examples else None)
        made = ModelExtractor(model, recipe.ontology, asking=recipe.asking, demonstrations=shown)
        return quietly(lambda _document: made, recipe.documents.noise)(_NO_DOCUMENT)


def embed_task(settings: EmbeddingSettings, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of the texts."""
    with _EMBEDDERS_LOCK:
        model = _EMBEDDERS.setdefault(settings, search.embedder(settings))
    return model.embed(texts)


_EMBEDDERS: Final[dict[EmbeddingSettings, Embedder]] = {}
_EMBEDDERS_LOCK: Final = threading.Lock()


def _worker_name() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return ""


def worker_version() -> str:
    """The version of kgplatform on a worker."""
    return _VERSION


# What the leader does


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        message = "reading on a cluster needs Dask; install it with `pip install 'kgplatform[cluster]'`"
        raise ConfigError(message, setting="cluster.dask") from error
    return distributed


@contextmanager
def _unheard() -> Iterator[None]:
    """Threads and processes started here do not hear Ctrl-C: this one decides what is to end, and how."""
    resource_tracker.ensure_running()  # it lets the thread that starts it hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class DaskCluster:
    """A connection to a scheduler and its workers, or workers of this machine's own, which end with it.

    Raises:
        ConfigError: Dask is not installed.
        ClusterError: nobody answers at the address, no worker is there, or one has another version of kgplatform.
    """

    def __init__(self, where: Where = 0, *, wait_seconds: float = _CONNECT_SECONDS) -> None:
        self.address = str(where)
        self._stack = ExitStack()
        self._seen, self._crew = 0.0, Crew()
        self._done: Counter[str] = Counter()
        self._lock = threading.Lock()
        distributed = _distributed()
        try:
            with _unheard():
                self.client: Client = self._connected(distributed, where, wait_seconds)
            self._check(wait_seconds)
        except BaseException:
            self.close()
            raise

    def _connected(self, distributed: Any, where: Where, wait_seconds: float) -> Client:
        import dask

        self._stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": _TRIES}))
        target: Any = where
        if isinstance(where, int):
            made = distributed.LocalCluster(
                n_workers=where or None,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # several local clusters at once
                silence_logs="CRITICAL",
            )
            target = self._stack.enter_context(made)
        try:
            client = distributed.Client(target, timeout=wait_seconds, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise ClusterError(f"no Dask scheduler answers at {where}: {why}") from error
        return self._stack.enter_context(client)

    def _check(self, wait_seconds: float) -> None:
        try:
            self.client.wait_for_workers(1, timeout=wait_seconds)
        except TimeoutError as error:
            address = self.client.scheduler.address
            raise ClusterError(f"{address} has no workers; start some with `dask worker {address}`") from error
        try:
            found: dict[str, str] = self.client.run(worker_version)
        except (ImportError, AttributeError) as error:
            raise ClusterError(f"a worker of {self.address} has no kgplatform, or an old one: {error}") from error
        except OSError as error:
            raise ClusterError(f"a worker of {self.address} ended, or the scheduler did; try again") from error
        for worker, version in found.items():
            if version != _VERSION:
                raise ClusterError(f"worker {worker} has kgplatform {version}, this is {_VERSION}; update it")

    def crew(self) -> Crew:
        """How many workers there are, what is in their hands, and what each has done; looked up once a second."""
        now = time.monotonic()
        if now - self._seen > _LOOK_SECONDS:
            self._seen = now
            with suppress(OSError, TimeoutError, RuntimeError, ValueError):
                tasks: Mapping[str, Sequence[str]] = self.client.processing()
                done = tuple((name, self._done[name]) for name in sorted(tasks))
                self._crew = Crew(len(tasks), sum(map(len, tasks.values())), done)
        return self._crew

    @property
    def slots(self) -> int:
        """How many tasks the workers carry out at a time."""
        return max(1, self._threads())

    def _threads(self) -> int:
        with suppress(OSError, TimeoutError, RuntimeError, ValueError):
            threads: dict[str, int] = self.client.nthreads()
            return sum(threads.values())
        return 0

    def submit(self, task: Callable[..., Any], *given: object, key: str | None = None) -> Future:
        """A task on its way to a worker; under a key, it is done once however often it is asked for meanwhile.

        Raises:
            ClusterLostError: the scheduler is gone.
        """
        from distributed.client import ClosedClientError

        try:
            return self.client.submit(task, *given, key=key, pure=False)
        except (ClosedClientError, OSError) as error:
            raise ClusterLostError(f"{self.address} is gone") from error

    def done(self, worker: str) -> None:
        """Counts a document that a worker has read."""
        with self._lock:
            self._done[worker] += 1

    def result(self, future: Future) -> Any:
        """What a task gives, waited for as long as there are workers.

        Raises:
            ClusterLostError: no worker is left, or the scheduler is gone.
            WorkersEndedError: several workers ended with the task in their hands.
            KgPlatformError: as the task.
        """
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        is_done = threading.Event()
        future.add_done_callback(lambda _future: is_done.set())
        alone = 0.0
        while True:
            if not is_done.wait(_LOOK_SECONDS):
                alone = 0.0 if self._threads() else alone or time.monotonic()
                if alone and time.monotonic() - alone > _ALONE_SECONDS:
                    raise ClusterLostError(f"{self.address} has had no worker for {_ALONE_SECONDS:g} s")
                continue
            try:  # not with a short timeout: a result that comes just then is an error in `distributed.utils.sync`
                return future.result(timeout=_CONNECT_SECONDS)
            except TimeoutError:
                if future.status == "error":  # that is what the task raised
                    raise
                is_done.clear()  # its worker was lost with it, and it is made anew
                future.add_done_callback(lambda _future: is_done.set())
            except KilledWorker as error:
                raise WorkersEndedError(f"reading it ended {_TRIES + 1} workers, one after the other") from error
            except (CancelledError, CommClosedError, OSError) as error:
                raise ClusterLostError(f"{self.address} is gone") from error

    def close(self) -> None:
        """Lets the scheduler go, and ends the workers of this machine's own."""
        with suppress(OSError, TimeoutError, RuntimeError):
            self._stack.close()


def asked(address: str) -> str:
    """What workers the scheduler at an address has; raises as `DaskCluster`."""
    with closing(DaskCluster(address, wait_seconds=5.0)) as cluster:
        return f"{cluster.crew().workers} workers, {cluster.slots} documents at a time"


@contextmanager
def reading(workspace: Workspace, where: Where, *, embeds: bool = False) -> Iterator[AheadMaker]:
    """What reads places ahead on a cluster; ``embeds``: passages that are indexed meanwhile are embedded there too.

    Raises:
        ConfigError: Dask is not installed.
        ClusterError: as `DaskCluster`.
    """
    cluster, index = DaskCluster(where), workspace.chunks if embeds else None
    own = index.embedder if index is not None else None
    try:
        if index is not None and own is not None:
            index.embedder = ClusterEmbedder(cluster, own, workspace.settings.embedding)
        yield lambda parts, places: ClusterAhead(cluster, workspace, parts, places)
    finally:
        if index is not None:
            index.embedder = own
        cluster.close()


class ClusterLostError(ClusterError):
    """The cluster is gone in the middle of work that this machine can do too."""


class WorkersEndedError(ClusterError):
    """Several workers ended with a task in their hands, which need not be the one that ended them."""


class ClusterEmbedder:
    """An embedding model on the workers; few texts, and all of them if the cluster is lost, are embedded here."""

    def __init__(self, cluster: DaskCluster, own: Embedder, settings: EmbeddingSettings) -> None:
        self.name, self.languages = own.name, getattr(own, "languages", frozenset[str]())
        self._cluster, self._own, self._settings = cluster, own, settings

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._own.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each, of unit length; raises ModelError as the model."""
        if len(texts) <= _TEXTS:
            return self._own.embed(texts)
        parts = [texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS)]
        try:
            futures = [self._cluster.submit(embed_task, self._settings, part) for part in parts]
            return np.concatenate([self._cluster.result(future) for future in futures])
        except ClusterError:
            return self._own.embed(texts)


class _PendingReading:
    """A document in the hands of the workers, by its number among those that are asked about together."""

    def __init__(
        self, cluster: DaskCluster, future: Future, number: int, keep: Callable[[Sequence[KeptReply]], None]
    ) -> None:
        self._cluster, self._future, self._number, self._keep = cluster, future, number, keep

    def result(self) -> ClusterReading:
        """What was read; raises as `DaskCluster.result`. The replies of a model are kept first."""
        read: ClusterReading | KgPlatformError = self._cluster.result(self._future)[self._number]
        if isinstance(read, KgPlatformError):
            raise read
        self._keep(read.replies)
        self._cluster.done(read.worker)
        return read

    def close(self) -> None:
        """Keeps the replies if they are there, gives the document up otherwise."""
        if self._future.status == "finished":
            with suppress(ClusterError):
                self.result()
        else:
            self._future.cancel()


class ClusterAhead(ReadAhead):
    """Places read ahead on a cluster, in windows of twice as many documents as the workers have in hand."""

    def __init__(
        self, cluster: DaskCluster, workspace: Workspace, parts: AheadParts, places: Sequence[Location]
    ) -> None:
        self._cluster, self._workspace = cluster, workspace
        most = 2 * cluster.slots + 2
        super().__init__(parts, places, most=most, readers=most)
        tables = (number for number, place in enumerate(places, start=1) if self._is_table(place))
        self._first = max(tables, default=0)
        self._reader: tuple[str, Future] | None = None
        self._submitted: dict[str, _PendingReading] = {}
        self._read: dict[str, ClusterReading] = {}
        self._lost = ""
        self._away: ModelUnavailableError | None = None

    def _is_table(self, place: Location) -> bool:
        return isinstance(place, Path) and self._parts.tables.is_table(place)

    def crew(self) -> Crew:
        """Who reads at the moment."""
        return Crew(note=self._lost) if self._lost else self._cluster.crew()

    def fill(self, number: int) -> None:
        """Lets places be read ahead once all tables are in, whose names the workers are told."""
        if number < self._first or self._lost:
            return
        if self._reader is None:
            packed = pickle.dumps(self._recipe())
            name = hashlib.sha256(packed).hexdigest()[:16]
            future = self._cluster.submit(WorkerReader, packed, key=f"kgplatform-recipe-{name}")
            self._reader = name, future
        super().fill(number)

    def _recipe(self) -> Recipe:
        workspace, settings = self._workspace, self._workspace.settings
        by_model = workspace.model is not None
        return Recipe(
            workspace.base,
            settings.documents,
            workspace.ontology,
            None if by_model else self._parts.extractor_for(_NO_DOCUMENT),
            settings.model,
            workspace.asking if by_model else None,
            workspace.annotated_examples() if by_model else (),
            settings.embedding,
            settings.cluster.model_requests if by_model else 0,
        )

    def _is_worth_it(self, place: Location) -> bool:
        return not self._is_table(place)

    def _parsed(self, place: Path) -> list[Document]:
        if self._reader is None or self._lost or is_plain(place):
            return super()._parsed(place)
        file, _ = located(place)
        try:
            if file.stat().st_size > self._parts.intake.settings.max_bytes:
                return super()._parsed(place)  # which says so
            data = file.read_bytes()
        except OSError:
            return super()._parsed(place)
        try:
            future = self._cluster.submit(WorkerReader.parse, self._reader[1], str(place), data)
            found: list[Document] = self._cluster.result(future)
        except ClusterLostError as error:
            self._lose(error)
            return super()._parsed(place)
        except ClusterError as error:
            raise ReadError(str(error), path=place) from error
        except ReadError as error:
            raise ReadError(error.reason, path=place) from error
        return found

    @property
    def _asks(self) -> bool:
        return self._reader is not None and not self._lost

    def _is_begun(self, key: str) -> bool:
        return key in self._submitted or key in self._read

    def _short(self, document: Document) -> ShortDocument | None:
        return super()._short(document) if self._parts.asks_model else None

    def _begin_alone(self, document: Document) -> None:
        self._submit([document])

    def _begin_together(self, group: Sequence[ShortDocument]) -> None:
        self._submit([item.document for item in group])

    def _submit(self, documents: Sequence[Document], turn: str = "") -> None:
        """Puts documents to a worker, which asks about them together; another ``turn`` is another task."""
        if self._reader is None or self._lost:
            return
        (name, reader), model = self._reader, self._workspace.model
        keys = [document.iri.value for document in documents]
        kept = [model.about(key).kept_replies() if model is not None else {} for key in keys]
        task = f"kgplatform-read-{name}-{hashlib.sha256(' '.join(keys).encode()).hexdigest()[:32]}{turn}"
        try:
            future = self._cluster.submit(WorkerReader.read, reader, documents, kept, key=task)
        except ClusterLostError as error:
            self._lose(error)
            return
        for number, key in enumerate(keys):
            keep = model.about(key).keep if model is not None else lambda _replies: None
            self._submitted[key] = _PendingReading(self._cluster, future, number, keep)

    def chunks(self, document: Document) -> tuple[Chunk, ...]:
        """The chunks of a document."""
        if self._away is not None:
            raise self._away
        read = self._reading_of(document)
        return read.chunks if read is not None else super().chunks(document)

    def extractions(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What the chunks of a document say; raises ModelError as `extracted` does."""
        read = self._read.pop(document.iri.value, None)
        return list(read.extractions) if read is not None else super().extractions(chunks, document)

    def _reading_of(self, document: Document) -> ClusterReading | None:
        """What the workers read; None: it is to be read here."""
        key = document.iri.value
        self._settle(document)
        self.begin([document])
        pending = self._submitted.pop(key, None)
        if pending is None:
            return None
        try:
            try:
                self._read[key] = pending.result()
            except WorkersEndedError:  # another may have done that, as a worker has several in its hands
                self._submit([document], "-again")
                pending = self._submitted.pop(key, None)
                if pending is None:
                    return None
                self._read[key] = pending.result()
        except ClusterLostError as error:
            self._lose(error)
            return None
        except ClusterError as error:
            raise ReadError(str(error), path=Path(document.source)) from error
        except RequestRefusedError:
            raise
        except ModelUnavailableError as error:  # the others need not find out
            self._away = error
            raise
        return self._read[key]

    def _lose(self, error: ClusterError) -> None:
        self._lost = f"{error}; the rest is read on this machine"
        self._submitted.clear()
        with self._settled:
            self._open.clear()
            self._settled.notify_all()

    def close(self, *, wait: bool) -> None:
        """Reads and asks nothing more; what the model replied so far is kept."""
        for pending in tuple(self._submitted.values()):  # results still come in
            pending.close()
        self._submitted.clear()
        super().close(wait=wait)
