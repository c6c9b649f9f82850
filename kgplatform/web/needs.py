"""What the server needs of a workspace; `kgplatform.KnowledgeGraph` offers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pyoxigraph import NamedNode, Triple

from kgplatform.building.asking import AskOptions
from kgplatform.building.communities import CommunityView
from kgplatform.building.inferring import Inferred
from kgplatform.building.ingest import Added
from kgplatform.checking.findings import CheckReport
from kgplatform.config import Settings
from kgplatform.dataset import Committed, EvidenceDataset
from kgplatform.documents.registry import DocumentRecord, Registry
from kgplatform.ontology import Ontology
from kgplatform.protocols import ChatModel, Embedder
from kgplatform.questions.knowing import Knowledge
from kgplatform.retrieval.sources import Sources
from kgplatform.store import Store
from kgplatform.types import Answer, Evidence
from kgplatform.versions import Versions
from kgplatform.workers import QueryWorkers


class FindsEvidence(Protocol):
    """Finds the passage of a statement."""

    def find(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        """The passage in the graph that says it; None where the graph has no text."""
        ...


class DrawsConclusions(Protocol):
    """Keeps the conclusions in line with what holds."""

    def run(self) -> Inferred | None:
        """Draws them again; what came and went."""
        ...


class Graph(Protocol):
    """A workspace as the server sees it."""

    @property
    def settings(self) -> Settings:
        """The settings of the workspace."""
        ...

    @property
    def base(self) -> str:
        """Where the IRIs of the workspace begin."""
        ...

    @property
    def folder(self) -> Path:
        """Where the workspace is."""
        ...

    @property
    def knowledge(self) -> Knowledge:
        """The schema and the names, for the store as it is now."""
        ...

    @property
    def store(self) -> Store:
        """The quads."""
        ...

    @property
    def dataset(self) -> EvidenceDataset:
        """The knowledge and its evidence."""
        ...

    @property
    def registry(self) -> Registry:
        """The documents."""
        ...

    @property
    def ontology(self) -> Ontology:
        """The classes and properties."""
        ...

    @property
    def workers(self) -> QueryWorkers:
        """The processes that run queries from outside."""
        ...

    @property
    def versions(self) -> Versions:
        """The earlier states of the quads."""
        ...

    @property
    def evidence_finder(self) -> FindsEvidence:
        """Finds passages for statements."""
        ...

    @property
    def inference(self) -> DrawsConclusions:
        """What follows from what holds."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        ...

    @property
    def model(self) -> ChatModel | None:
        """The language model, if the settings name one."""
        ...

    @property
    def sources(self) -> Sources:
        """What retrievers draw on."""
        ...

    def communities(self, *, language: str = "en") -> list[CommunityView]:
        """The communities as last found, the coarsest first."""
        ...

    def add(self, *paths: Path | str) -> Iterator[Added]:
        """Adds files and web addresses; yields what became of each document, then links and indexes."""
        ...

    def retry(self) -> Iterator[Added]:
        """Adds again what failed or was interrupted."""
        ...

    def release(self, name: str, /) -> DocumentRecord:
        """Takes a document out of quarantine into the knowledge."""
        ...

    def check(self, document: str | None = None, /) -> CheckReport:
        """What is wrong with the graph, or with what one document says."""
        ...

    def resolved(self, text: str, /) -> str:
        """The query or update with the rows of its SERVICE blocks in their places."""
        ...

    def update(self, text: str, /) -> Committed:
        """Carries out a SPARQL Update; what it adds to the default graph counts as stated by hand."""
        ...

    def ask(
        self, question: str, /, *, conversation: str | None = None, now: str = "", options: AskOptions | None = None
    ) -> Answer:
        """The answer to a question, by itself or after the turns of a conversation, as of a moment."""
        ...

    def search(self, text: str, k: int = 10, /) -> Sequence[Evidence]:
        """The passages nearest to the text, best first."""
        ...
