"""A workspace opened: its files, and the parts that work on them, each made when first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kgplatform import config, packs
from kgplatform.building import gathering, indexing, lending, renewing, searching
from kgplatform.building.calling import Calling
from kgplatform.building.communities import CommunityParts
from kgplatform.building.community_reports import ReportWriter
from kgplatform.building.estimating import Estimate, EstimateParts, estimate
from kgplatform.building.founding import STORE
from kgplatform.building.inferring import Inference
from kgplatform.building.ingest import Ingest
from kgplatform.building.intake import Intake, location_of
from kgplatform.building.keeping import LinkingMemory
from kgplatform.building.kept_linking import FILE as KEPT_LINKING
from kgplatform.building.known import known_names
from kgplatform.building.learning import learnt_in
from kgplatform.building.linking import LinkingParts
from kgplatform.building.mappings import Keeping, mappings
from kgplatform.building.places import FILE as PLACES
from kgplatform.building.policing import HeldShapes, Policing
from kgplatform.building.relating import RelatingParts, relate
from kgplatform.building.resembling import Resemblance
from kgplatform.building.tabular import TableParts
from kgplatform.dataset import EvidenceDataset
from kgplatform.documents.chunking import chunker
from kgplatform.documents.parsing import ParserLimits, Parsers
from kgplatform.documents.registry import Registry
from kgplatform.errors import ConfigError
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.demonstrations import Demonstrations
from kgplatform.extraction.learning.examples import read_examples
from kgplatform.extraction.lexicon import compile_lexicon
from kgplatform.extraction.model import Asking, ModelExtractor
from kgplatform.extraction.quiet import quietly
from kgplatform.federation import Federation, FederationRules
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.content import Contents
from kgplatform.linking.entities import named_values
from kgplatform.linking.evidence import EvidenceFinder
from kgplatform.linking.projection import Projection
from kgplatform.models.cache import CachedModel
from kgplatform.models.chat import OpenAIModel
from kgplatform.protocols import Embedder, Extractor
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.knowledge import Knowledge
from kgplatform.retrieval.sources import Sources
from kgplatform.store import Store
from kgplatform.types import Document, Evidence, Solutions
from kgplatform.versions import Versions
from kgplatform.vocab import KGP, PREFIXES
from kgplatform.workers import QueryWorkers

if TYPE_CHECKING:  # what answers questions takes a while to import, and who adds documents asks none
    from kgplatform.questions import answer
    from kgplatform.questions.schema import SchemaView

MODELS = "models.sqlite"
UPDATE = "update.pending"
"""There while an update has not been reconciled with the evidence."""

_REGISTRY, _CHUNKS, _WORKERS, _INFERENCE = "documents.sqlite", "chunks", "workers", "inference.json"
_VERSIONS, _NAMES = "versions", Path("vectors", "names")
_RELATED = Path("vectors", "related")


class Workspace:
    """The folder of a workspace with its store, registry and settings, and what is made from them."""

    def __init__(self, folder: Path) -> None:
        """Opens the workspace in the folder; `open` says the same in words.

        Raises:
            WorkspaceError: there is none, it is of another version, or another process has it open.
            ConfigError: its settings are wrong.
            OntologyError: its ontology cannot be read.
        """
        self.folder = folder = folder.absolute()
        self.let_go: Callable[[], None] = lambda: None
        renewing.settle_files(folder)
        self.settings = config.load(folder)
        self.base = self.settings.base
        self.loaded = packs.load(self.settings.ontology, folder=folder)
        self.store = Store.open(folder / STORE, prefixes={**PREFIXES, "kgp": KGP, "kg": self.base})
        self.registry = Registry(folder / _REGISTRY)
        self._indexing = indexing.Indexing(self.registry)
        self.dataset = EvidenceDataset(self.store, self.base)
        kept = self.settings.versions
        self.versions = Versions(
            self.store, folder / _VERSIONS, keep=kept.keep, days=kept.days, every_seconds=kept.every_seconds
        )
        self._use(self.loaded)
        self._recover()

    def _use(self, loaded: packs.LoadedOntology) -> None:
        """Takes up the ontology of the settings, and what hangs on it."""
        self.loaded, self.ontology = loaded, loaded.ontology
        self._known: tuple[int, answer.Knowledge] | None = None
        self.inference = Inference(
            self.dataset,
            ontology=self.ontology,
            triples=loaded.triples,
            settings=self.settings.inference,
            file=self.folder / _INFERENCE,
        )
        self.versions.watch()
        self._linked = LinkingMemory(self.folder / KEPT_LINKING)
        self._shapes = HeldShapes(loaded)
        self._values = cache(partial(named_values, self.ontology))
        self._lexicon = cache(partial(compile_lexicon, self.ontology))

    def _recover(self) -> None:
        """Settles what a crash interrupted: a document between registry and dataset, an update not yet reconciled."""
        if (self.folder / UPDATE).exists():
            self.dataset.reconcile()
            (self.folder / UPDATE).unlink()
        self._ingest().recover()
        renewing.settle_data(self.folder, self.loaded, self._linking_parts)

    def close(self) -> None:
        """Stops the query workers and lets go of the files."""
        self.let_go()
        if "workers" in self.__dict__:
            self.workers.close()
        if "parsers" in self.__dict__:
            self.parsers.close()
        self.versions.rest()
        try:
            self.store.flush()
        finally:
            self.store.close()
            self.registry.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if lending.loan(self) is None:
            self.close()

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model, loaded when first used."""
        return indexing.embedder(self.settings.embedding)

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
        return CachedModel(model, self.folder / MODELS)

    @cached_property
    def chunks(self) -> ChunkIndex:
        """The passage index."""
        return indexing.passage_index(
            self.folder / _CHUNKS, self.embedder, self.settings.retrieval, self._indexing.passages
        )

    @cached_property
    def sources(self) -> Sources:
        """What retrievers draw on."""
        return searching.sources(
            self.registry,
            self.chunks,
            folder=self.folder / _CHUNKS / "graphs",
            model=self.model,
            knowledge=gathering.kept(lambda: self.store.version, self._gathered),
            reranker=indexing.reranker(self.settings.retrieval, allow_download=self.settings.embedding.allow_download),
        )

    def _gathered(self) -> Knowledge:
        parts = gathering.GatheringParts(
            self.dataset, self.ontology, self.registry, self.projection, self._community_parts()
        )
        return gathering.gather(parts)

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
    def calling(self) -> Calling:
        """What evaluates the SERVICE blocks of queries."""
        chosen = self.settings.federation
        rules = FederationRules(
            chosen.endpoints, chosen.timeout_seconds, chosen.max_bytes, chosen.max_rows, chosen.cache_seconds
        )
        federation = Federation(rules, genid=f"{self.base}genid/remote-")

        def found(text: str, k: int) -> list[Evidence]:
            return searching.search(self.sources, self.evidence_finder, text, k, "hybrid")

        resemblance = Resemblance(self.dataset, lambda: self.embedder)
        return Calling(self.store.prefixes, found, resemblance, federation.ask, federation.endpoints)

    def resolved(self, text: str) -> str:
        """The query or update with the rows of its SERVICE blocks in their places; raises as `Calling.resolved`."""
        return self.calling.resolved(text)

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

    @property
    def knowledge(self) -> answer.Knowledge:
        """The schema, names and translator for the store as it is now."""
        return self._knowledge()

    def label(self, term: object, language: str = "en") -> str:
        """What a term is called in the language, for a reader."""
        return self._knowledge().names.label(term, language)

    def _knowledge(self) -> answer.Knowledge:
        version = self.store.version
        if self._known is None or self._known[0] != version:
            from kgplatform.questions import answer
            from kgplatform.questions.dialogue.scheme import read_schemes

            self._known = (version, answer.knowledge(self.dataset, self.ontology, read_schemes(self.loaded.files)))
        return self._known[1]

    def _run(self, text: str) -> Solutions:
        """Runs a query that a translator wrote: one of a model's in a worker with a deadline, one of our own here."""
        from kgplatform.questions.steps import go_on

        limits, name = self.settings.questions, go_on()
        if self.model is None:
            return self.store.query(text, max_rows=limits.max_rows)
        return self.workers.solutions(text, timeout_seconds=limits.timeout_seconds, max_rows=limits.max_rows, name=name)

    def _ingest(self, policy: str | None = None, mapping: Keeping | None = None) -> Ingest:
        documents = self.settings.documents
        chosen = mappings(self.folder, self.ontology, self.base, mapping)
        return Ingest(
            tables=TableParts(self.base, self.registry, self.dataset, self.ontology, chosen),
            chunker=chunker(documents.chunker),
            extractor_for=quietly(self._extractor_for(), documents.noise),
            intake=self._intake(),
            workers=self.settings.model.workers,
            asks_model=self.model is not None,
            policing=Policing(self.dataset, self._shapes, policy or self.settings.checks.policy),
        )

    @cached_property
    def parsers(self) -> Parsers:
        """The processes that take documents apart; none starts before there is one to read."""
        chosen = self.settings.documents
        return Parsers(ParserLimits(chosen.parsers, chosen.parse_seconds, chosen.parse_memory_mb * 1_000_000))

    def _intake(self) -> Intake:
        return Intake(self.base, self.settings.documents, self.parsers)

    def extractor_for(self) -> Callable[[Document], Extractor]:
        """Who reads a document, without adding it: for measuring."""
        return self._extractor_for()

    def _extractor_for(self) -> Callable[[Document], Extractor]:
        """Who reads a document; a model's replies about it are kept under its name."""
        model = self.model
        if model is not None:
            asking, shown = self._asking(), cache(self._demonstrations)  # read when a document is
            return lambda document: ModelExtractor(
                model.about(document.iri.value), self.ontology, asking=asking, demonstrations=shown()
            )
        known = cache(lambda: known_names(self.dataset, self.registry, self.ontology))
        learnt = learnt_in(self.folder, self.ontology)
        made = cache(lambda: BuiltinExtractor(self._lexicon(), known=known, learnt=learnt))
        return lambda _document: made()  # when the first document is read: not every build reads one

    def estimate(self, *paths: Path | str) -> Estimate:
        """What adding the files and folders would cost; asks nothing of the model and changes nothing.

        Raises:
            ReadError: a path is missing, or there is nothing to read.
            ConfigError: an address on the web is given.
        """
        model, documents = self.model, self.settings.documents
        asking, shown = self._asking(), self._demonstrations()
        extractor = ModelExtractor(model, self.ontology, asking=asking, demonstrations=shown) if model else None
        chosen = mappings(self.folder, self.ontology, self.base, None)
        parts = EstimateParts(
            tables=TableParts(self.base, self.registry, self.dataset, self.ontology, chosen),
            intake=self._intake(),
            chunker=chunker(documents.chunker),
            extractor=extractor,
            model=model.name if model else None,
        )
        return estimate(parts, [location_of(path) for path in paths])

    def _asking(self) -> Asking:
        chosen = self.settings.extraction
        return Asking(chosen.schema_tokens, chosen.passage_tokens, chosen.gleaning, chosen.demonstrations)

    def _demonstrations(self) -> Demonstrations:
        """The annotated examples of the workspace, if there are any."""
        chosen = self.settings.extraction
        path = self.folder / chosen.examples
        if not chosen.examples or not chosen.demonstrations:
            return Demonstrations(())
        if not path.is_file():
            if chosen.examples == config.ExtractionSettings().examples:
                return Demonstrations(())
            raise ConfigError(f"extraction.examples: there is no file {path}", setting="extraction.examples")
        return Demonstrations(read_examples(path, self.ontology).examples, embedder=self.embedder)

    def _linking_parts(self) -> LinkingParts:
        return LinkingParts(
            base=self.base,
            registry=self.registry,
            dataset=self.dataset,
            ontology=self.ontology,
            ingest=self._ingest(),
            likeness=self._likeness(),
            places=self.folder / PLACES,
            world=self.settings.places.world,
            memory=self._linked,
            files=self.loaded.files,
        )

    def _likeness(self) -> Likeness:
        chosen = self.settings.linking
        contents = Contents(self.embedder, self.folder / _NAMES) if chosen.content < 1 else None
        return Likeness(chosen.similarity, chosen.content, self.embedder, contents)

    def _relate(self) -> int:
        """Makes relations across levels, or takes them out where they are off."""
        threshold = self.settings.linking.relations
        if threshold >= 1 and not self.dataset.has_relations:
            return 0
        parts = RelatingParts(self._community_parts(), self.embedder, threshold, self.folder / _RELATED)
        return relate(parts)

    def _index(self) -> int:
        return self._indexing.run(self.chunks)

    def _community_parts(self) -> CommunityParts:
        by_model = self.settings.communities.reports == "model"
        if by_model and self.model is None:
            raise ConfigError("communities.reports is model, but model.name names none", setting="communities.reports")
        writer = ReportWriter(self.model if by_model else None, self.settings.model.workers)
        return CommunityParts(self.dataset, self.ontology, self.settings.communities, self.label, writer)
