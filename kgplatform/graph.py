"""The door: a workspace as one object, `KnowledgeGraph`. No logic in it, only the stages put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.records import DocumentRecord, State
from kgplatform.documents.registry import Registry
from kgplatform.entities import EntityView, describe, find_iri, find_statement
from kgplatform.linking.clusters import Gold, PairScore, Trial
from kgplatform.linking.projection import EvidenceFinder, Projection
from kgplatform.models.reply_cache import CachedModel, forget
from kgplatform.ontology.packs import LoadedOntology
from kgplatform.ontology.schema import Ontology
from kgplatform.reasoning.inference import Explanation, Inference
from kgplatform.reasoning.scope import CheckReport
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.sources import Corpus
from kgplatform.settings import Settings
from kgplatform.store.dataset import Committed, EvidenceDataset
from kgplatform.store.oxigraph import Store, checked_iri
from kgplatform.store.updates import carry_out
from kgplatform.store.versions import Versions
from kgplatform.store.worker_pool import QueryWorkers
from kgplatform.types import Answer, Claim, Embedder, Evidence, Progress, Solutions
from kgplatform.workspace import build
from kgplatform.workspace.build import BuildReport
from kgplatform.workspace.community_stage import CommunitiesFound, CommunityView, communities, find_communities
from kgplatform.workspace.creation import Renewal, Renewing, derive, found, open_workspace, renew
from kgplatform.workspace.entity_linking import Decided, NameMerge, calibrated, decide, merges
from kgplatform.workspace.ingest import Added, Ingest, StatementsGiven, tables_of
from kgplatform.workspace.intake import AheadMaker, CostEstimate, ReadAhead, estimate, location_of
from kgplatform.workspace.rdf_files import LoadReport, dump_rdf, load_rdf
from kgplatform.workspace.search import Way
from kgplatform.workspace.table_stage import Keeping, waiting
from kgplatform.workspace.workspace import MODELS, UPDATE, host, lent, loan

if TYPE_CHECKING:
    from kgplatform.journal.recorder import Recorder
    from kgplatform.questions.answer import GraphKnowledge
    from kgplatform.workspace.question_settings import AskOptions, LearntQuestions
    from kgplatform.workspace.workspace import Workspace


DEFAULT_BASE = "https://example.org/kg/"


class _Part:
    """A part of the workspace, reached through the door."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, kg: KnowledgeGraph | None, owner: type | None = None) -> Any:
        return self if kg is None else getattr(kg.workspace, self._name)


def _part() -> Any:
    return _Part()


class KnowledgeGraph:
    """A workspace: documents and tables in, a graph built, questions answered.

    >>> import tempfile
    >>> kg = KnowledgeGraph.create(Path(tempfile.mkdtemp()) / "wuzhen", ontology=["travel"])
    >>> kg.ask("Which hotels are there?").verdict.value
    'unanswerable'
    >>> kg.close()
    """

    folder: Path = _part()
    """Where the workspace is."""
    settings: Settings = _part()
    """The settings of the workspace."""
    base: str = _part()
    """Where the IRIs of the workspace begin."""
    loaded: LoadedOntology = _part()
    """The ontology with its files and triples."""
    ontology: Ontology = _part()
    """The classes and properties."""
    store: Store = _part()
    """The quads."""
    dataset: EvidenceDataset = _part()
    """The quads as evidence and knowledge."""
    registry: Registry = _part()
    """The documents, and what was read in them."""
    versions: Versions = _part()
    """The earlier states that can be read."""
    inference: Inference = _part()
    """The conclusions, and how they follow."""
    workers: QueryWorkers = _part()
    """The processes that answer queries from outside."""
    model: CachedModel | None = _part()
    """The language model of the settings; None: the built-in methods."""
    embedder: Embedder = _part()
    """The embedding model."""
    chunks: ChunkIndex = _part()
    """The passage index."""
    sources: Corpus = _part()
    """What retrievers draw on."""
    projection: Projection = _part()
    """The map from what was read to statements, as it is now."""
    evidence_finder: EvidenceFinder = _part()
    """Finds the passage of a statement."""
    recorder: Recorder | None = _part()
    """What keeps the journal; None: there is none."""
    replica: Any = _part()
    """What follows the journal of another server, a `kgplatform.cluster.replica.Replica`; None: nothing does."""
    knowledge: GraphKnowledge = _part()
    """The schema, names and translator for the store as it is now."""

    def __init__(self, folder: Path | str, *, follows: bool = False) -> None:
        """Opens the workspace in the folder, ``follows``: to be a replica; raises as `open_workspace` does."""
        self.workspace = open_workspace(Path(folder), follows=follows)
        self._let_go: Callable[[], None] = lambda: None

    @classmethod
    def create(
        cls,
        folder: Path | str,
        *,
        ontology: Sequence[Path | str] | Path | str = (),
        base: str = DEFAULT_BASE,
        imports: Mapping[str, Path | str] | None = None,
        fetch_imports: bool = False,
        currency: str = "",
    ) -> KnowledgeGraph:
        """A new workspace in a folder that is empty or does not exist, with shipped ontologies or one's own files.

        ``imports`` are files of imports by IRI. All prices are in the ``currency`` (a code of ISO 4217); without one,
        in those that the ontologies name.

        Raises:
            WorkspaceError: the folder holds something.
            OntologyError: an ontology is not known or cannot be read, or has no prices; nothing is left behind.
            ConfigError: no IRIs can begin with the base, or the currency is not known.
        """
        names = tuple(map(str, (ontology,) if isinstance(ontology, Path | str) else ontology))
        loaded = found(Path(folder), names, base=base, imports=imports, fetch_imports=fetch_imports, currency=currency)
        made = cls(folder)
        made.workspace.loaded = replace(made.loaded, troubles=loaded.troubles)
        return made

    @classmethod
    def open(cls, folder: Path | str, *, follows: bool = False) -> KnowledgeGraph:
        """The workspace in the folder, or the one that is lent here; raises as the constructor does."""
        if isinstance(held := lent(Path(folder)), cls):
            return held
        made = cls(folder, follows=follows)
        made._let_go = host(made)
        return made

    def without(self, is_hidden: Callable[[str], bool], folder: Path | str) -> KnowledgeGraph:
        """A workspace of its own in a new folder, as this one would be had what is hidden never been there.

        ``is_hidden`` is asked about IRIs of documents and graphs and the places of documents; see `derive`.

        Raises:
            StoreError: the disk refuses.
        """
        derive(self.workspace, Path(folder), is_hidden)
        made = KnowledgeGraph(folder)
        if made.settings.embedding == self.settings.embedding:
            made.workspace.embedder = self.embedder
        return made

    def close(self) -> None:
        """Stops the query workers and lets go of the files."""
        self._let_go()
        self.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if loan(self) is None:
            self.close()

    def label(self, term: object, language: str = "en") -> str:
        """What a term is called in the language, for a reader."""
        return self.workspace.label(term, language)

    # documents in

    def add(
        self,
        *paths: Path | str,
        build: bool = True,
        policy: str | None = None,
        mapping: Keeping | None = None,
        cluster: str | int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Added]:
        """Adds files, folders and web addresses; yields what became of each document, then links and indexes.

        A known document is left alone, an edited one replaced, a broken one passed over. ``policy``: what becomes of
        one that violates shapes, ``accept``, ``quarantine`` or ``refuse``; ``mapping``: by what tables are read;
        ``cluster``: who reads, the workers of the Dask scheduler at that address, or so many of this machine (0: one
        for each processor); None: as the settings say.

        Raises:
            ReadError: a path is missing, or there is nothing to read.
            ConfigError: there is no such policy, or the settings do not allow an address.
            ClusterError: the cluster cannot be used.
        """
        locations = [location_of(path) for path in paths]
        who = (self.settings.cluster.dask or None) if cluster is None else cluster
        with _readers(self.workspace, who, embeds=build) as ahead:
            ingest = Ingest(self.workspace, policy=policy, mapping=mapping, ahead=ahead)
            yield from ingest.add(locations, progress=progress)
            if build and not self.registry.was_stopped:
                self.build(progress=progress)

    def add_statements(
        self, given: Path | str | Iterable[Mapping[str, object]], *, source: str = "", build: bool = True
    ) -> StatementsGiven:
        """Takes up statements that somebody extracted, with their passages: a file of JSON Lines or RDF, or records.

        They take the place of those that the file, or ``source``, gave before. The form is that of
        `kgplatform.extraction.given_statements`.

        Raises:
            ReadError: one is no statement, or its document or passage is not here; nothing was added.
            StoreError: the file is no RDF.
            RefusedError: a document would violate shapes, and the policy is to refuse such.
        """
        told = Ingest(self.workspace).give_from(given, source)
        if build and told.changed:
            self.build()
        return told

    def accept(self, document: NamedNode, claim: Claim, person: str) -> None:
        """Makes a candidate of a document a statement, stated by the person; one that was accepted a candidate again.

        Raises:
            NotFoundError: the document has no such candidate.
            RefusedError: the document would violate shapes, and the policy is to refuse such.
        """
        Ingest(self.workspace).move_candidate(document, claim, person)
        self.build("link")

    def remove_statements(self, source: str) -> StatementsGiven:
        """Takes out the statements that a file gave, by its path or name.

        Raises:
            NotFoundError: no such file, or several, gave any.
        """
        told = Ingest(self.workspace).take_back(source)
        self.build()
        return told

    def estimate(self, *paths: Path | str) -> CostEstimate:
        """What adding the files and folders would cost; asks nothing of the model and changes nothing.

        Raises:
            ReadError: a path is missing, or there is nothing to read.
            ConfigError: an address on the web is given.
        """
        return estimate(tables_of(self.workspace), self.workspace, [location_of(path) for path in paths])

    def documents(self, state: State | None = None) -> list[DocumentRecord]:
        """The documents with their texts and states, by source; `Registry.summaries` lists them without texts."""
        return self.registry.documents(state)

    def retry(self, *, progress: Progress | None = None) -> Iterator[Added]:
        """Adds again what failed or was interrupted, tables by the mapping that was given."""
        for mapping, places in waiting(self.registry).items():
            yield from self.add(*places, mapping=mapping, progress=progress)
            if self.registry.was_stopped:
                return

    def release(self, name: str) -> DocumentRecord:
        """Takes a document out of quarantine into the knowledge; raises NotFoundError if it is not there."""
        record = self.registry.find(name)
        Ingest(self.workspace).release(record.document.iri)
        self.build()
        return record

    def remove(self, name: str) -> DocumentRecord:
        """Takes a document out, by IRI, path, file name, title or hash: nothing of it stays.

        Raises:
            NotFoundError: no document, or several, fit the name.
        """
        record = self.registry.find(name)
        Ingest(self.workspace).remove(record.document.iri)
        forget(self.folder / MODELS, record.document.iri.value)
        self.build()
        return record

    def build(self, only: str | None = None, *, progress: Progress | None = None) -> BuildReport:
        """Brings links, conclusions and the index in line; ``only``: ``link``, ``infer``, ``index`` or ``communities``.

        Communities are found anew only if asked for: they are of the graph as a whole, and readers of it may wait.
        ``progress`` is told how far a stage is, of how much (0: not known), and the name of the stage.
        """
        return build.build(self.workspace, only, progress=progress)

    # names

    def links(self, *, language: str = "en") -> list[NameMerge]:
        """The names that were taken for one thing with others, the least sure first, each with score and reason."""
        return merges(self.registry.linking(), language=language)

    def unlink(self, one: str, other: str, *, undo: bool = False) -> Decided:
        """Keeps two names apart, now and whenever names are linked; ``undo`` forgets that decision.

        Raises:
            NotFoundError: a name is mentioned nowhere, or there is no decision to undo.
        """
        decided = decide(self.workspace, one, other, undo=undo)
        self.build("infer")
        return decided

    def calibrate(self, gold: Gold) -> tuple[PairScore, list[Trial]]:
        """How well names are linked as they are set, and from which likeness of content on how well."""
        return calibrated(self.workspace, gold)

    # RDF in and out

    def load(self, path: Path | str, *, graph: str | None = None, format_: str | None = None) -> LoadReport:
        """Loads an RDF file, into the knowledge or into a graph of its own.

        Raises:
            StoreError: the file cannot be read or does not parse; nothing was loaded.
        """
        name = checked_iri(graph) if graph else None
        report = load_rdf(self.dataset, Path(path), graph=name, format_=format_)
        self.inference.run()
        self.versions.rest()
        return report

    def dump(self, path: Path | str | None = None, *, graph: str | None = None, format_: str | None = None) -> bytes:
        """The dataset as text, also written to ``path`` if one is given."""
        target = Path(path) if path else None
        return dump_rdf(self.dataset, target, graph=checked_iri(graph) if graph else None, format_=format_)

    # questions out

    def ask(
        self, question: str, *, conversation: str | None = None, now: str = "", options: AskOptions | None = None
    ) -> Answer:
        """The answer to a question in English or Chinese, with its query and passages; never raises for a question.

        In a ``conversation``, a name of one's own, the turns before count and this one is kept; ``now`` is the ISO
        moment as of which is asked (default: as the settings say, else that of the data or the clock).

        Raises:
            ConfigError: the options ask for a model where none is set, or a style, name or moment is none.
            ReadError: the turns of the conversation cannot be read or written.
        """
        from kgplatform.workspace.question_settings import ask

        return ask(self.workspace, question, conversation=conversation, now=now, options=options)

    def resolved(self, text: str) -> str:
        """The query or update with the rows of its SERVICE blocks in their places; raises as `Calling.resolved`."""
        return self.workspace.calling.resolved(text)

    def query(self, text: str, *, max_rows: int | None = None) -> Solutions:
        """The rows of a SPARQL SELECT, or the boolean of an ASK."""
        return self.store.query(self.resolved(text), max_rows=max_rows)

    def construct(self, text: str) -> list[Triple]:
        """The triples of a SPARQL CONSTRUCT or DESCRIBE."""
        return self.store.construct(self.resolved(text))

    def update(self, text: str) -> Committed:
        """Carries out a SPARQL Update; what it adds to the default graph counts as asserted by a person."""
        committed = carry_out(self.dataset, self.resolved(text), marker=self.folder / UPDATE)
        self.inference.run()
        self.versions.rest()
        return committed

    def update_ontology(self, *names: str, how: Renewing | None = None, dry_run: bool = False) -> Renewal:
        """Takes up new versions of ontologies, and others besides; what that changes, for the data too.

        Terms that have a successor are replaced in what was read and stated; ``dry_run`` only tells. Raises
        OntologyError if an ontology cannot be read, or a successor is not in it; nothing has changed then.
        """
        plan = renew(self.workspace, names, how or Renewing(), dry_run=dry_run)
        if not dry_run:
            self.build()
        return plan

    def learn_questions(self, *, progress: Progress = lambda _done, _all, _what: None) -> LearntQuestions:
        """Learns words from the solved questions, confirmed or written, and takes them up as names in the ontology.

        They are in the ontology file ``learnt-words.ttl`` of the workspace, to be read, changed or left out again.
        """
        from kgplatform.workspace.question_settings import keep_words, learn_questions

        learnt = learn_questions(self.workspace, progress=progress)
        if learnt.words:
            with TemporaryDirectory() as folder:
                self.update_ontology(str(keep_words(self.workspace, learnt.words, Path(folder))))
        return learnt

    def search(
        self, text: str, k: int = 10, *, retriever: Way = "", per_document: int | None = None, plot: Path | None = None
    ) -> list[Evidence]:
        """The passages that fit the text, best first.

        ``retriever`` (a name of `kgplatform.retrieval.methods.RETRIEVERS`, or what makes one) and ``per_document`` are
        as in the settings where not given; ``plot`` is a file for a picture of what was done.
        """
        from kgplatform.workspace.question_settings import search

        return search(self.workspace, text, k, retriever, per_document=per_document, plot=plot)

    def find_communities(self, *, progress: Progress | None = None) -> CommunitiesFound:
        """Finds the groups of closely connected entities, and writes them with their reports."""
        return find_communities(self.workspace.community_parts, progress=progress)

    def communities(self, *, language: str = "en") -> list[CommunityView]:
        """The communities as last found, the coarsest first."""
        return communities(self.workspace.community_parts, language=language)

    def show(self, name: str, *, language: str = "en", store: Store | None = None) -> EntityView:
        """What the graph says about an entity, by label, alias or IRI; ``store`` is an earlier state to look at.

        Raises:
            NotFoundError: nothing, or several things, are called so.
        """
        return describe(
            find_iri(store or self.store, name),
            dataset=EvidenceDataset(store, self.base) if store else self.dataset,
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
        from kgplatform.reasoning.checks import Checked, check  # pySHACL and rdflib take a while to import

        iri = self.registry.find(document).document.iri if document else None
        parts = Checked(self.dataset, self.registry, self.loaded, self.evidence_finder.find)
        report = check(parts, document=iri, shapes=[Path(path) for path in shapes], fix=fix)
        if report.repaired:
            self.inference.run()
        return report


def _readers(workspace: Workspace, cluster: str | int | None, *, embeds: bool) -> AbstractContextManager[AheadMaker]:
    if cluster is None:
        return nullcontext(ReadAhead)
    from kgplatform.cluster.dask_cluster import reading

    return reading(workspace, cluster, embeds=embeds)
