"""The door: a workspace as one object, `KnowledgeGraph`. No logic in it, only the parts put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import Triple

from kgplatform import config, packs
from kgplatform.building import lending, renewing, searching
from kgplatform.building.communities import CommunitiesFound, CommunityView, communities, find_communities
from kgplatform.building.deciding import Decided, Merge, merges
from kgplatform.building.founding import found
from kgplatform.building.inferring import Inferred
from kgplatform.building.ingest import Added, Progress
from kgplatform.building.intake import location_of
from kgplatform.building.linking import Linked, calibrated, decide, link
from kgplatform.building.mappings import Keeping
from kgplatform.building.rdf import LoadReport, dump_rdf, load_rdf
from kgplatform.building.renewing import Renewal, Renewing
from kgplatform.building.tabular import waiting
from kgplatform.building.updating import carry_out
from kgplatform.building.workspace import MODELS, UPDATE, Workspace
from kgplatform.checking.findings import CheckReport
from kgplatform.dataset import Committed, EvidenceDataset
from kgplatform.describing import EntityView, describe
from kgplatform.documents.registry import DocumentRecord, State
from kgplatform.inference import Explanation
from kgplatform.linking.calibration import Gold, PairScore, Trial
from kgplatform.linking.content import Contents
from kgplatform.linking.entities import with_values
from kgplatform.lookup import find_iri, find_statement
from kgplatform.models.cache import forget
from kgplatform.retrieval.sources import Rows
from kgplatform.store import Store, checked_iri
from kgplatform.types import Answer, Evidence, Solutions

if TYPE_CHECKING:  # what answers questions takes a while to import, and who adds documents asks none
    from kgplatform.building.asking import AskOptions, BesideParts
    from kgplatform.questions import answer

DEFAULT_BASE = "https://example.org/kg/"


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What the stages did: names linked, conclusions drawn, passages put into the index."""

    linked: Linked | None
    inferred: Inferred | None
    indexed: int | None
    communities: CommunitiesFound | None = None


class KnowledgeGraph(Workspace):
    """A workspace: documents and tables in, a graph built, questions answered.

    >>> import tempfile
    >>> kg = KnowledgeGraph.create(Path(tempfile.mkdtemp()) / "wuzhen", ontology=["travel"])
    >>> kg.ask("Which hotels are there?").verdict.value
    'unanswerable'
    >>> kg.close()
    """

    @classmethod
    def create(
        cls,
        folder: Path | str,
        *,
        ontology: Sequence[str] | str = (),
        base: str = DEFAULT_BASE,
        imports: Mapping[str, Path | str] | None = None,
        fetch_imports: bool = False,
    ) -> KnowledgeGraph:
        """A new workspace in a folder that is empty or does not exist, with shipped ontologies or one's own files.

        ``imports`` are files of imports by IRI.

        Raises:
            WorkspaceError: the folder holds something.
            OntologyError: an ontology is not known or cannot be read; nothing is left behind.
        """
        names = (ontology,) if isinstance(ontology, str) else tuple(ontology)
        loaded = found(Path(folder), names, base=base, imports=imports, fetch_imports=fetch_imports)
        made = cls(Path(folder))
        made.loaded = replace(made.loaded, troubles=loaded.troubles)
        return made

    @classmethod
    def open(cls, folder: Path | str) -> KnowledgeGraph:
        """The workspace in the folder, or the one that is lent here; raises as the constructor does."""
        if isinstance(held := lending.lent(Path(folder)), cls):
            return held
        made = cls(Path(folder))
        made.let_go = lending.host(made)
        return made

    # documents in

    def add(
        self,
        *paths: Path | str,
        build: bool = True,
        policy: str | None = None,
        mapping: Keeping | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Added]:
        """Adds files, folders and web addresses; yields what became of each document, then links and indexes.

        A known document is left alone, an edited one replaced, a broken one passed over. ``policy``: what becomes of
        one that violates shapes, ``accept``, ``quarantine`` or ``refuse``; ``mapping``: by what tables are read.

        Raises:
            ReadError: a path is missing, or there is nothing to read.
            ConfigError: there is no such policy, or the settings do not allow an address.
        """
        ingest = self._ingest(policy, mapping)
        linking = with_values(self.registry.linking(), self._values())
        yield from ingest.add([location_of(path) for path in paths], linking, progress=progress)
        if build and not self.registry.was_stopped:
            self.build()

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
        self._ingest().release(record.document.iri, self.registry.linking())
        self.build()
        return record

    def remove(self, name: str) -> DocumentRecord:
        """Takes a document out, by IRI, path, file name, title or hash: nothing of it stays.

        Raises:
            NotFoundError: no document, or several, fit the name.
        """
        record = self.registry.find(name)
        self._ingest().remove(record.document.iri)
        forget(self.folder / MODELS, record.document.iri.value)
        self.build()
        return record

    def build(self, only: str | None = None, *, communities: bool = False) -> BuildReport:
        """Brings links, conclusions and indexes in line; ``only``: ``link``, ``infer``, ``index`` or ``communities``.

        Communities are found anew only if asked for: they are of the graph as a whole, and readers of it may wait.
        """
        linked = link(self._linking_parts()) if only in (None, "link") else None
        if only in (None, "link"):
            self._relate()
        inferred = self.inference.run() if only in (None, "infer") else None
        indexed = self._index() if only in (None, "index") else None
        grouped = self.find_communities() if communities or only == "communities" else None
        self.store.flush()
        self.versions.rest()
        return BuildReport(linked, inferred, indexed, grouped)

    # names

    def links(self, *, language: str = "en") -> list[Merge]:
        """The names that were taken for one thing with others, the least sure first, each with score and reason."""
        return merges(self.registry.linking(), language=language)

    def unlink(self, one: str, other: str, *, undo: bool = False) -> Decided:
        """Keeps two names apart, now and whenever names are linked; ``undo`` forgets that decision.

        Raises:
            NotFoundError: a name is mentioned nowhere, or there is no decision to undo.
        """
        decided = decide(self._linking_parts(), one, other, undo=undo)
        self.build("infer")
        return decided

    def calibrate(self, gold: Gold) -> tuple[PairScore, list[Trial]]:
        """How well names are linked as they are set, and from which likeness of content on how well."""
        return calibrated(self._linking_parts(), Contents(self.embedder), gold)

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
        from kgplatform.building.asking import AskOptions, beside
        from kgplatform.building.conversing import converse

        chosen, given = options or AskOptions(), now or self.settings.questions.now
        parts, others = self._question_parts(chosen), beside(self._beside_parts(), chosen, given)
        folder = self.folder
        return converse(question, parts=parts, folder=folder, conversation=conversation, now=given, beside=others)

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
        current = renewing.Current(self.folder, self.loaded, self.dataset)
        plan = renewing.renew(current, self.registry, names, how or Renewing(), dry_run=dry_run)
        if not dry_run:
            self.settings = config.load(self.folder)
            self._use(packs.load(self.settings.ontology, folder=self.folder))
            self._recover()
            self.build()
        return plan

    def search(self, text: str, k: int = 10, *, retriever: str = "hybrid", plot: Path | None = None) -> list[Evidence]:
        """The passages that fit the text, best first; ``retriever`` is one of `kgplatform.retrieval.RETRIEVERS`.

        ``plot`` draws what was done into a file, as `kgplatform.retrieval.picture` tells.
        """
        self.sources.rows = self._rows
        return searching.search(self.sources, self.evidence_finder, text, k, retriever, plot=plot)

    def _rows(self, question: str) -> Rows:
        return searching.rows_of(self.ask(question))

    def find_communities(self) -> CommunitiesFound:
        """Finds the groups of things that are closely tied, and writes them with their reports."""
        return find_communities(self._community_parts())

    def communities(self, *, language: str = "en") -> list[CommunityView]:
        """The communities as last found, the coarsest first."""
        return communities(self._community_parts(), language=language)

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
        from kgplatform.checking.run import Checked, check  # pySHACL and rdflib take a while to import

        iri = self.registry.find(document).document.iri if document else None
        parts = Checked(self.dataset, self.registry, self.loaded, self.evidence_finder.find)
        report = check(parts, document=iri, shapes=[Path(path) for path in shapes], fix=fix)
        if report.repaired:
            self.inference.run()
        return report

    def _beside_parts(self) -> BesideParts:
        from kgplatform.building.asking import BesideParts

        return BesideParts(
            self.settings, self.folder, self.loaded.triples, self.registry, self.search, lambda: self.embedder
        )

    def _question_parts(self, options: AskOptions) -> answer.QuestionParts:
        from kgplatform.building.asking import chosen_model, examples, question_settings
        from kgplatform.questions import answer

        return answer.QuestionParts(
            dataset=self.dataset,
            ontology=self.ontology,
            knowledge=self._knowledge(),
            run=self._run,
            find=self.evidence_finder.find,
            why=self.inference.why,
            model=chosen_model(self.model, options),
            retrieve=self.search,
            examples=examples(self.folder),
            embedder=lambda: self.embedder,
            settings=question_settings(self.settings, options),
        )
