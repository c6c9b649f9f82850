"""The door: a workspace as one object, `KnowledgeGraph`. No logic in it, only the parts put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType

from pyoxigraph import Triple

from kgplatform import config, packs
from kgplatform.building.inferring import Inference, Inferred
from kgplatform.building.ingest import Added, Ingest, Progress
from kgplatform.building.known import known_names
from kgplatform.building.linking import Linked, link
from kgplatform.building.rdf import LoadReport, dump_rdf, load_rdf
from kgplatform.checking.findings import CheckReport
from kgplatform.dataset import Change, Committed, EvidenceDataset
from kgplatform.describing import EntityView, describe
from kgplatform.documents.chunking import chunker
from kgplatform.documents.registry import DocumentRecord, Registry, State
from kgplatform.errors import QueryError, WorkspaceError
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.model import ModelExtractor
from kgplatform.inference import Explanation
from kgplatform.linking.evidence import EvidenceFinder
from kgplatform.linking.projection import Projection
from kgplatform.lookup import find_iri, find_statement
from kgplatform.models.cache import CachedModel, forget
from kgplatform.models.chat import OpenAIModel
from kgplatform.models.embedding import SentenceTransformersEmbedder
from kgplatform.protocols import Embedder, Extractor
from kgplatform.questions import answer
from kgplatform.questions.schema import SchemaView
from kgplatform.retrieval import retriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.store import Store, checked_iri
from kgplatform.types import Answer, Document, Evidence, Solutions
from kgplatform.vocab import PREFIXES
from kgplatform.workers import QueryWorkers

DEFAULT_BASE = "https://example.org/kg/"
_STORE, _REGISTRY, _MODELS, _CHUNKS, _WORKERS = "store", "documents.sqlite", "models.sqlite", "chunks", "workers"
_INFERENCE = "inference.json"
_UPDATE = "update.pending"
"""There while an update has not been reconciled with the evidence."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What the stages did: names linked, conclusions drawn, passages put into the index."""

    linked: Linked | None
    inferred: Inferred | None
    indexed: int | None


class KnowledgeGraph:
    """A workspace: documents and tables in, a graph built, questions answered.

    >>> import tempfile
    >>> kg = KnowledgeGraph.create(Path(tempfile.mkdtemp()) / "wuzhen", ontology=["travel"])
    >>> kg.ask("Which hotels are there?").verdict.value
    'unanswerable'
    >>> kg.close()
    """

    def __init__(self, folder: Path) -> None:
        """Opens the workspace in the folder; `open` says the same in words.

        Raises:
            WorkspaceError: there is none, it is of another version, or another process has it open.
            ConfigError: its settings are wrong.
            OntologyError: its ontology cannot be read.
        """
        self.folder = folder
        self.settings = config.load(folder)
        self.base = self.settings.base
        self.loaded = packs.load(self.settings.ontology, folder=folder)
        self.ontology = self.loaded.ontology
        self.store = Store.open(folder / _STORE, prefixes={**PREFIXES, "kg": self.base})
        self.registry = Registry(folder / _REGISTRY)
        self.dataset = EvidenceDataset(self.store, self.base)
        self.inference = Inference(
            self.dataset,
            ontology=self.ontology,
            triples=self.loaded.triples,
            settings=self.settings.inference,
            file=folder / _INFERENCE,
        )
        self._known: tuple[int, answer.Knowledge] | None = None
        self._recover()

    def _recover(self) -> None:
        """Settles what a crash interrupted: a document between registry and dataset, an update not yet reconciled."""
        if (self.folder / _UPDATE).exists():
            self.dataset.reconcile()
            (self.folder / _UPDATE).unlink()
        self._ingest().recover()

    @classmethod
    def create(
        cls, folder: Path | str, *, ontology: Sequence[str] | str = (), base: str = DEFAULT_BASE
    ) -> KnowledgeGraph:
        """A new workspace in a folder that is empty or does not exist, with shipped ontologies or one's own files.

        Raises:
            WorkspaceError: the folder holds something.
            OntologyError: an ontology is not known or cannot be read; nothing is left behind.
        """
        path = Path(folder)
        names = (ontology,) if isinstance(ontology, str) else tuple(ontology)
        if path.exists() and not path.is_dir():
            raise WorkspaceError(f"{path} is a file; choose another folder", path=path)
        if path.exists() and any(path.iterdir()):
            what = "is a workspace already" if (path / config.FILE).exists() else "is not empty"
            raise WorkspaceError(f"{path} {what}; choose another folder", path=path)
        config.checked_base(base)
        loaded = packs.load(names, folder=Path.cwd())
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkspaceError(f"{path}: cannot be made: {error.strerror or error}", path=path) from error
        kept = packs.keep(names, loaded, source=Path.cwd(), folder=path)
        store = Store.open(path / _STORE)
        dataset = EvidenceDataset(store, base)
        dataset.commit(Change(added={dataset.ontology: loaded.triples}))
        store.flush()
        store.close()
        config.write(path, base=base, ontology=kept)
        return cls(path)

    @classmethod
    def open(cls, folder: Path | str) -> KnowledgeGraph:
        """The workspace in the folder; raises as the constructor does."""
        return cls(Path(folder))

    def close(self) -> None:
        """Stops the query workers and lets go of the files."""
        if "workers" in self.__dict__:
            self.workers.close()
        self.store.flush()
        self.store.close()
        self.registry.close()

    def __enter__(self) -> KnowledgeGraph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # documents in

    def add(self, *paths: Path | str, build: bool = True, progress: Progress | None = None) -> Iterator[Added]:
        """Adds files and folders; yields what became of each document as it is done, then links and indexes.

        A known document is left alone, an edited one replaced, a broken one reported and passed over.

        Raises:
            ReadError: a path is missing, or there is nothing to read.
        """
        yield from self._ingest().add([Path(path) for path in paths], self.registry.linking(), progress=progress)
        if build:
            self.build()

    def documents(self, state: State | None = None) -> list[DocumentRecord]:
        """The documents with their states, by source."""
        return self.registry.documents(state)

    def retry(self, *, progress: Progress | None = None) -> Iterator[Added]:
        """Adds again what failed or was interrupted."""
        waiting = [r.document.source for s in (State.FAILED, State.PENDING) for r in self.documents(s)]
        there = [path for path in dict.fromkeys(waiting) if Path(path).exists()]
        if there:
            yield from self.add(*there, progress=progress)

    def remove(self, name: str) -> DocumentRecord:
        """Takes a document out, by IRI, path, file name, title or hash: nothing of it stays.

        Raises:
            NotFoundError: no document, or several, fit the name.
        """
        record = self.registry.find(name)
        self._ingest().remove(record.document.iri)
        forget(self.folder / _MODELS, record.document.iri.value)
        self.build()
        return record

    def build(self, only: str | None = None) -> BuildReport:
        """Brings links, conclusions and indexes in line; ``only``: ``link``, ``infer`` or ``index``."""
        linked = self._link() if only in (None, "link") else None
        inferred = self.inference.run() if only in (None, "infer") else None
        indexed = self._index() if only in (None, "index") else None
        self.store.flush()
        return BuildReport(linked, inferred, indexed)

    # RDF in and out

    def load(self, path: Path | str, *, graph: str | None = None, format_: str | None = None) -> LoadReport:
        """Loads an RDF file, into the knowledge or into a graph of its own.

        Raises:
            StoreError: the file cannot be read or does not parse; nothing was loaded.
        """
        name = checked_iri(graph) if graph else None
        report = load_rdf(self.dataset, Path(path), graph=name, format_=format_)
        self.inference.run()
        return report

    def dump(self, path: Path | str | None = None, *, graph: str | None = None, format_: str | None = None) -> bytes:
        """The dataset as text, also written to ``path`` if one is given."""
        target = Path(path) if path else None
        return dump_rdf(self.dataset, target, graph=checked_iri(graph) if graph else None, format_=format_)

    # questions out

    def ask(self, question: str) -> Answer:
        """The answer to a question in English or Chinese, with its query and passages; never raises for a question."""
        return answer.ask(question, parts=self._question_parts())

    def query(self, text: str, *, max_rows: int | None = None) -> Solutions:
        """The rows of a SPARQL SELECT, or the boolean of an ASK."""
        return self.store.query(text, max_rows=max_rows)

    def construct(self, text: str) -> list[Triple]:
        """The triples of a SPARQL CONSTRUCT or DESCRIBE."""
        return self.store.construct(text)

    def update(self, text: str) -> Committed:
        """Carries out a SPARQL Update; what it adds to the default graph counts as asserted by a person."""
        pending = self.folder / _UPDATE
        pending.touch()
        try:
            self.store.update(text)
        except QueryError:
            pending.unlink()
            raise
        committed = self.dataset.reconcile()
        pending.unlink()
        self.inference.run()
        return committed

    def search(self, text: str, k: int = 10) -> list[Evidence]:
        """The passages nearest to the text, best first."""
        finder = self.evidence_finder
        return [finder.passage(hit.iri, hit.score) for hit in retriever("hybrid", self.chunks).retrieve(text, k)]

    def show(self, name: str, *, language: str = "en") -> EntityView:
        """What the graph says about an entity, by label, alias or IRI.

        Raises:
            NotFoundError: nothing, or several things, are called so.
        """
        iri = find_iri(self.store, name)
        return describe(
            iri,
            dataset=self.dataset,
            ontology=self.ontology,
            find_evidence=self.evidence_finder.find,
            language=language,
        )

    def why(self, subject: str, predicate: str, object_: str) -> Explanation:
        """Why the statement holds: its passages, or the rule and premises that it follows from, down to theirs.

        Raises:
            NotFoundError: a name stands for nothing or for several things, or the statement does not hold.
        """
        wanted = find_statement(self.store, self.ontology, subject, predicate, object_)
        return self.inference.why(wanted, self.evidence_finder.find)

    def check(
        self, document: str | None = None, *, shapes: Sequence[Path | str] = (), fix: bool = False
    ) -> CheckReport:
        """What is wrong with the graph, or with what one document says; ``fix`` first repairs what is safe.

        Raises:
            NotFoundError: no document, or several, fit the name.
            OntologyError: a shapes file cannot be read or used.
        """
        from kgplatform.checking.run import Checked, check  # pySHACL and rdflib take a while to import

        iri = self.registry.find(document).document.iri if document else None
        parts = Checked(self.dataset, self.registry, self.loaded, self.evidence_finder.find)
        report = check(parts, document=iri, shapes=[Path(path) for path in shapes], fix=fix)
        if report.repaired:
            self.inference.run()
        return report

    # the parts

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model, loaded when first used."""
        settings = self.settings.embedding
        return SentenceTransformersEmbedder(settings.name, allow_download=settings.allow_download)

    @cached_property
    def model(self) -> CachedModel | None:
        """The language model of the settings, its replies cached; None: the built-in methods."""
        settings = self.settings.model
        if not settings.name:
            return None
        model = OpenAIModel(
            settings.name,
            url=settings.url,
            key=config.model_key(settings),
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
            temperature=settings.temperature,
        )
        return CachedModel(model, self.folder / _MODELS)

    @cached_property
    def chunks(self) -> ChunkIndex:
        """The passage index."""
        return ChunkIndex(self.folder / _CHUNKS, self.embedder)

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

    @property
    def projection(self) -> Projection:
        """The map from what was read to statements, as it is now."""
        return Projection(self.base, self.registry.linking())

    @property
    def evidence_finder(self) -> EvidenceFinder:
        """Finds the passage of a statement."""
        return EvidenceFinder(self.registry, self.projection)

    @property
    def schema(self) -> SchemaView:
        """The ontology together with how the data uses it, for the store as it is now."""
        return self._knowledge().schema

    def label(self, term: object, language: str = "en") -> str:
        """What a term is called in the language, for a reader."""
        return self._knowledge().names.label(term, language)

    def _knowledge(self) -> answer.Knowledge:
        version = self.store.version
        if self._known is None or self._known[0] != version:
            self._known = (version, answer.knowledge(self.store, self.ontology))
        return self._known[1]

    def _question_parts(self) -> answer.QuestionParts:
        limits = self.settings.questions
        return answer.QuestionParts(
            dataset=self.dataset,
            ontology=self.ontology,
            knowledge=self._knowledge(),
            run=self._run,
            find=self.evidence_finder.find,
            model=self.model,
            retrieve=self.search,
            settings=answer.QuestionSettings(max_rows=limits.max_rows, repairs=limits.repairs),
        )

    def _run(self, text: str) -> Solutions:
        """Runs a query that a translator wrote: one of a model's in a worker with a deadline, one of our own here."""
        limits = self.settings.questions
        if self.model is None:
            return self.store.query(text, max_rows=limits.max_rows)
        return self.workers.solutions(text, timeout_seconds=limits.timeout_seconds, max_rows=limits.max_rows)

    def _ingest(self) -> Ingest:
        documents = self.settings.documents
        return Ingest(
            base=self.base,
            registry=self.registry,
            dataset=self.dataset,
            ontology=self.ontology,
            chunker=chunker(documents.chunker),
            extractor_for=self._extractor_for(),
            max_bytes=documents.max_bytes,
            workers=self.settings.model.workers,
        )

    def _extractor_for(self) -> Callable[[Document], Extractor]:
        """Who reads a document; a model's replies about it are kept under its name."""
        model = self.model
        if model is not None:
            return lambda document: ModelExtractor(model.about(document.iri.value), self.ontology)
        extractor = BuiltinExtractor(self.ontology, known=cache(lambda: known_names(self.dataset, self.ontology)))
        return lambda _document: extractor

    def _link(self) -> Linked:
        return link(
            base=self.base,
            registry=self.registry,
            dataset=self.dataset,
            ontology=self.ontology,
            ingest=self._ingest(),
            embedder=self.embedder,
            similarity=self.settings.linking.similarity,
        )

    def _index(self) -> int:
        records = [record for record in self.documents(State.PROCESSED) if record.graph is None]
        passages = (
            (chunk, record.document.title) for record in records for chunk in self.registry.chunks(record.document.iri)
        )
        self.chunks.sync(passages)
        return len(self.chunks)
