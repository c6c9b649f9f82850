"""A workspace opened: its files, and the parts that work on them, each made when first used.

The stages (`kgplatform.workspace.ingest`, `kgplatform.workspace.build`) take a workspace and work on its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kgplatform import settings as config
from kgplatform.documents.registry import Registry
from kgplatform.documents.sandbox import ParserLimits, Parsers
from kgplatform.errors import ConfigError
from kgplatform.linking.clusters import named_values
from kgplatform.linking.projection import EvidenceFinder, Projection
from kgplatform.models.chat import OpenAIModel
from kgplatform.models.reply_cache import CachedModel
from kgplatform.ontology import packs
from kgplatform.reasoning.inference import Inference
from kgplatform.reasoning.shape_policy import HeldShapes
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.sources import Corpus
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.federation import Federation
from kgplatform.store.oxigraph import Store
from kgplatform.store.versions import Versions
from kgplatform.store.worker_pool import QueryWorkers
from kgplatform.types import Document, Embedder, Evidence, Extractor, Solutions
from kgplatform.vocab import prefixes_of
from kgplatform.workspace import search
from kgplatform.workspace.community_stage import CommunityParts, ReportWriter
from kgplatform.workspace.linking_state import LINKING_FILE, LinkingMemory
from kgplatform.workspace.review import EntityEdits
from kgplatform.workspace.sparql_calls import Calling, Resemblance

if TYPE_CHECKING:
    from kgplatform.extraction.learnt.examples import AnnotatedExample
    from kgplatform.extraction.model_reader import ModelExtractor, PromptOptions
    from kgplatform.extraction.prompt import Demonstrations
    from kgplatform.journal.patch import Journal
    from kgplatform.journal.recorder import Recorder
    from kgplatform.questions import answer

STORE, MODELS, REGISTRY = "store", "models.sqlite", "documents.sqlite"
UPDATE = "update.pending"
"""There while an update has not been reconciled with the evidence."""

_CHUNKS, _WORKERS, _INFERENCE = "chunks", "workers", "inference.json"
_VERSIONS, _VECTORS = "versions", "vectors"
JOURNAL, MARK = "journal.sqlite", "journal.mark"
"""The journal, and the file that says up to which patch of it the store holds all."""


def journal_of(folder: Path, database: str) -> Journal:
    """The journal in that PostgreSQL database, or (none named) in a file of the folder.

    Raises:
        ConfigError: the address is none, or the driver is missing.
        StoreError: the database cannot be used.
        WorkspaceError: the file cannot.
    """
    if database:
        from kgplatform.journal.postgres_journal import PostgresJournal

        return PostgresJournal(database)
    from kgplatform.journal.sqlite_journal import SqliteJournal

    return SqliteJournal(folder / JOURNAL)


class Workspace:
    """The folder of a workspace with its store, registry and settings, and what is made from them."""

    def __init__(self, folder: Path, *, follows: bool = False) -> None:
        """Opens the files; `kgplatform.workspace.creation.open_workspace` also settles what a crash left.

        ``follows``: it only takes over what another process writes, as a `kgplatform.cluster.replica.Replica`.

        Raises:
            WorkspaceError: there is none, it is of another version, or another process has it open.
            ConfigError: its settings are wrong.
            OntologyError: its ontology cannot be read.
        """
        self.folder = folder
        self.follows = follows
        self.replica: Any = None  # a `kgplatform.cluster.replica.Replica`, where it is one
        self.settings = config.load(folder)
        self.base = self.settings.base
        loaded = packs.load(self.settings.ontology, folder=folder)
        self.store = Store.open(folder / STORE, prefixes=prefixes_of(self.base))
        self.registry = Registry(folder / REGISTRY)
        self.indexing = search.Indexing(self.registry)
        self.dataset = EvidenceDataset(self.store, self.base)
        self.recorder = self._recorder()
        kept = self.settings.versions
        self.versions = Versions(
            self.store, folder / _VERSIONS, keep=kept.keep, days=kept.days, every_seconds=kept.every_seconds
        )
        self.use(loaded)

    def _recorder(self) -> Recorder | None:
        """What keeps the journal, from here on unless the workspace follows; None: the settings want none."""
        database = self.settings.cluster.database
        if self.follows and not database:
            raise ConfigError("a replica follows the database that cluster.database names", setting="cluster.database")
        if not self.settings.journal and not database:
            (self.folder / MARK).unlink(missing_ok=True)  # what is written now is in no journal
            return None
        from kgplatform.journal.recorder import Recorder

        journal = None
        try:
            journal = journal_of(self.folder, database)
            made = Recorder(journal, self.store, self.registry.changed_rows, self.folder / MARK)
            if not self.follows:
                made.begin()
        except BaseException:
            self.store.close()
            if journal is not None:
                journal.close()
            raise
        return made

    def ship(self) -> None:
        """Puts what the registry noted of finished work into the journal, where there is one.

        Raises:
            StoreError: the journal refuses.
        """
        if self.recorder is not None and not self.follows:
            self.recorder.ship()

    def turn(self, *, follows: bool) -> None:
        """Follows from now on, or leads: vectors in a database are written by who leads only."""
        self.follows = follows
        if self.settings.cluster.vectors:
            self.indexing = search.Indexing(self.registry)
            for name in ("chunks", "sources"):
                self.__dict__.pop(name, None)

    def use(self, loaded: packs.LoadedOntology) -> None:
        """Takes up an ontology, and what hangs on it."""
        self.loaded, self.ontology = loaded, loaded.ontology
        self._known: tuple[int, answer.GraphKnowledge] | None = None
        self.inference = Inference(
            self.dataset,
            ontology=self.ontology,
            triples=loaded.triples,
            settings=self.settings.inference,
            file=self.folder / _INFERENCE,
        )
        self.versions.watch()
        self.linking_memory = LinkingMemory(self.folder / LINKING_FILE)
        self.shapes = HeldShapes(loaded)
        self.named_values = cache(partial(named_values, self.ontology))

    def close(self) -> None:
        """Stops the query workers and lets go of the files and connections."""
        if self.replica is not None:
            self.replica.close()
        for name in ("workers", "parsers", "chunks"):
            if name in self.__dict__:
                getattr(self, name).close()
        self.versions.rest()
        try:
            self.store.flush(all_of_it=True)
        finally:
            self.store.close()
            if self.recorder is not None:
                self.recorder.journal.close()
            self.registry.close()

    # models and processes

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model, loaded when first used."""
        return search.embedder(self.settings.embedding)

    @cached_property
    def model(self) -> CachedModel | None:
        """The language model of the settings, its replies cached; None: the built-in methods."""
        settings = self.settings.model
        if not settings.name:
            return None
        return CachedModel(OpenAIModel.configured(settings), self.folder / MODELS)

    @cached_property
    def workers(self) -> QueryWorkers:
        """The processes that answer queries from outside."""
        settings = self.settings.server
        return QueryWorkers(
            self.store,
            folder=self.folder / _WORKERS,
            count=settings.workers,
            memory_bytes=settings.memory_mb * 1_000_000,
            prefixes=self.store.prefixes,
        )

    @cached_property
    def parsers(self) -> Parsers:
        """The processes that take documents apart; none starts before there is one to read."""
        chosen = self.settings.documents
        return Parsers(ParserLimits(chosen.parsers, chosen.parse_seconds, chosen.parse_memory_mb * 1_000_000))

    # passages

    @cached_property
    def chunks(self) -> ChunkIndex:
        """The passage index."""
        return search.passage_index(
            self.folder / _CHUNKS,
            self.embedder,
            self.settings.retrieval,
            self.registry.passages,
            # a replica is behind at times, and would take out what the leader has put in
            database=("" if self.follows else self.settings.cluster.vectors, f"{self.base}chunks"),
        )

    @cached_property
    def sources(self) -> Corpus:
        """What retrievers draw on."""
        return search.sources(
            self.registry,
            self.chunks,
            folder=self.folder / _CHUNKS / "graphs",
            model=self.model,
            knowledge=search.kept(
                lambda: self.store.version,
                lambda: search.gather(self.community_parts, self.registry, self.projection),
            ),
            reranker=search.reranker(self.settings.retrieval, allow_download=self.settings.embedding.allow_download),
            label=lambda iri, language: self.ontology.label(iri, language),
        )

    @property
    def projection(self) -> Projection:
        """The map from what was read to statements, as it is now."""
        return Projection(self.base, self.registry.linking())

    @property
    def evidence_finder(self) -> EvidenceFinder:
        """Finds the passage of a statement."""
        return EvidenceFinder(self.registry, self.projection, EntityEdits(self.dataset).evidence)

    # questions and queries

    @property
    def knowledge(self) -> answer.GraphKnowledge:
        """The schema, names and translator for the store as it is now."""
        version = self.store.version
        if self._known is None or self._known[0] != version:
            from kgplatform.questions import answer
            from kgplatform.questions.dialogue.scheme import read_schemes

            parts = (self.dataset, self.ontology, read_schemes(self.loaded.files), self.folder / _VECTORS)
            self._known = (version, answer.knowledge(*parts))
        return self._known[1]

    def label(self, term: object, language: str = "en") -> str:
        """What a term is called in the language, for a reader."""
        return self.knowledge.names.label(term, language)

    def run(self, text: str) -> Solutions:
        """Runs a query that a translator wrote: one of a model's in a worker with a deadline, one of our own here."""
        from kgplatform.questions.answer import go_on

        limits, who = self.settings.questions, go_on()
        if self.model is None:
            return self.store.query(text, max_rows=limits.max_rows)
        return self.workers.solutions(text, timeout_seconds=limits.timeout_seconds, max_rows=limits.max_rows, **who)

    @cached_property
    def calling(self) -> Calling:
        """What evaluates the SERVICE blocks of queries."""
        federation = Federation(self.settings.federation, genid=f"{self.base}genid/remote-")

        def found(text: str, k: int) -> list[Evidence]:
            chosen = self.settings.retrieval
            way, most = chosen.retriever, chosen.per_document
            return search.search(self.sources, self.evidence_finder, text, k, way, per_document=most)

        resemblance = Resemblance(self.dataset, lambda: self.embedder)
        return Calling(self.store.prefixes, found, resemblance, federation.ask, federation.endpoints)

    @property
    def community_parts(self) -> CommunityParts:
        """What the communities stage reads and writes.

        Raises:
            ConfigError: a model is to write the reports, and none is set.
        """
        by_model = self.settings.communities.reports == "model"
        if by_model and self.model is None:
            raise ConfigError("communities.reports is model, but model.name names none", setting="communities.reports")
        writer = ReportWriter(self.model if by_model else None, self.settings.model.workers)
        return CommunityParts(self.dataset, self.ontology, self.settings.communities, self.label, writer)

    # who reads documents: imported when there is one, since a question needs none of it

    def extractor_for(self) -> Callable[[Document], Extractor]:
        """Who reads a document; a model's replies about it are kept under its name."""
        from kgplatform.extraction.builtin import BuiltinExtractor
        from kgplatform.extraction.learnt import reader
        from kgplatform.extraction.model_reader import ModelExtractor
        from kgplatform.extraction.ontology_lexicon import compile_lexicon
        from kgplatform.workspace.review import FILE
        from kgplatform.workspace.table_stage import known_names

        model = self.model
        if model is not None:
            shown = cache(self._demonstrations)  # read when a document is
            return lambda document: ModelExtractor(
                model.about(document.iri.value), self.ontology, asking=self.asking, demonstrations=shown()
            )
        known = cache(lambda: known_names(self.dataset, self.registry, self.ontology))
        learnt = reader.load(self.folder / FILE)
        made = cache(lambda: BuiltinExtractor(compile_lexicon(self.ontology), known=known, learnt=learnt))
        return lambda _document: made()  # when the first document is read: not every build reads one

    def estimating_extractor(self) -> ModelExtractor | None:
        """The model's extractor, for telling what it would be asked; None: no model is set."""
        from kgplatform.extraction.model_reader import ModelExtractor

        shown = self._demonstrations()
        if self.model is None:
            return None
        return ModelExtractor(self.model, self.ontology, asking=self.asking, demonstrations=shown)

    @property
    def asking(self) -> PromptOptions:
        """How a model is asked about a document."""
        from kgplatform.extraction.model_reader import PromptOptions

        chosen = self.settings.extraction
        return PromptOptions(
            chosen.schema_tokens, chosen.passage_tokens, chosen.gleaning, chosen.demonstrations, chosen.together
        )

    def _demonstrations(self) -> Demonstrations:
        from kgplatform.extraction.prompt import Demonstrations

        found = self.annotated_examples()
        return Demonstrations(found, embedder=self.embedder if found else None)

    def annotated_examples(self) -> tuple[AnnotatedExample, ...]:
        """The annotated examples of the workspace that a model is shown, if there are any.

        Raises:
            ConfigError: the settings name a file that is not there.
        """
        from kgplatform.extraction.learnt.examples import read_examples

        chosen = self.settings.extraction
        path = self.folder / chosen.examples
        if not chosen.examples or not chosen.demonstrations:
            return ()
        if not path.is_file():
            if chosen.examples == config.ExtractionSettings().examples:
                return ()
            raise ConfigError(f"extraction.examples: there is no file {path}", setting="extraction.examples")
        return tuple(read_examples(path, self.ontology).examples)


Hosting: TypeAlias = Callable[[Any], Callable[[], None]]
"""What is to happen once a workspace is held; it gives back what is to happen before that ends."""


@dataclass(frozen=True, slots=True)
class Loan:
    """A workspace as lent to one command, and the name under which the command runs queries."""

    workspace: Any
    client: str


_LOAN: ContextVar[Loan | None] = ContextVar("loan", default=None)
_HOSTING: ContextVar[Hosting | None] = ContextVar("hosting", default=None)


@contextmanager
def lending(workspace: object, client: str) -> Iterator[None]:
    """Lends the workspace to what this thread does in the block."""
    token = _LOAN.set(Loan(workspace, client))
    try:
        yield
    finally:
        _LOAN.reset(token)


@contextmanager
def hosting(action: Hosting) -> Iterator[None]:
    """Has workspaces that are opened in the block lent to others."""
    token = _HOSTING.set(action)
    try:
        yield
    finally:
        _HOSTING.reset(token)


def loan(workspace: object) -> Loan | None:
    """The loan under which the workspace is used here; None: it is not lent."""
    found = _LOAN.get()
    return found if found is not None and found.workspace is workspace else None


def lent(folder: Path) -> Any:
    """The workspace of that folder, if it is lent to what this thread does; else None."""
    found = _LOAN.get()
    if found is None or Path(found.workspace.folder).resolve() != folder.resolve():
        return None
    return found.workspace


def host(workspace: object) -> Callable[[], None]:
    """Does what is to happen with a workspace that was opened; what to do before it is closed."""
    action = _HOSTING.get()
    return action(workspace) if action is not None else lambda: None
