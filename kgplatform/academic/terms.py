"""What the studies of courses and literature draw on, and the terms of the academic ontology they speak of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.documents.registry import Registry
from kgplatform.ontology import Ontology
from kgplatform.protocols import ChatModel, Embedder
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import language_of
from kgplatform.types import Evidence
from kgplatform.vocab import ACADEMIC, TYPE


def term(name: str) -> NamedNode:
    """The term of the academic ontology of that local name."""
    return NamedNode(f"{ACADEMIC}{name}")


COURSE: Final = term("Course")
PAPER: Final = term("Paper")
CONCEPT: Final = term("Concept")
KNOWLEDGE: Final = term("KnowledgeConcept")


@dataclass(frozen=True, slots=True)
class Parts:
    """The graph with its documents; ``find`` gives the passage of a statement in a graph.

    ``embedder`` and ``model`` may be None: then words alone are compared, and the built-in methods write.
    """

    dataset: EvidenceDataset
    ontology: Ontology
    registry: Registry
    find: Callable[[Triple, NamedNode], Evidence | None]
    embedder: Embedder | None = None
    model: ChatModel | None = None

    def instances(self, class_: NamedNode) -> list[NamedNode]:
        """The things of the class or one below it, by IRI."""
        found = {
            quad.subject
            for kind in {class_, *self.ontology.subclasses(class_)}
            for quad in self.dataset.store.quads(None, TYPE, kind, DEFAULT_GRAPH)
            if isinstance(quad.subject, NamedNode)
        }
        return sorted(found, key=lambda iri: iri.value)

    def linked(self, subject: NamedNode, name: str, turned: str = "") -> list[NamedNode]:
        """What the property of that local name leads to, its inverse ``turned`` read backwards, by IRI."""
        store = self.dataset.store
        found = {item for item in store.objects(subject, term(name)) if isinstance(item, NamedNode)}
        if turned:
            back = store.quads(None, term(turned), subject, DEFAULT_GRAPH)
            found |= {quad.subject for quad in back if isinstance(quad.subject, NamedNode)}
        return sorted(found, key=lambda iri: iri.value)

    def texts(self, subject: NamedNode, name: str) -> list[str]:
        """The literal values of the property of that local name, sorted."""
        found = self.dataset.store.objects(subject, term(name))
        return sorted({item.value for item in found if isinstance(item, Literal)})

    def passages(self, triple: Triple) -> tuple[Evidence, ...]:
        """The passages that say so, each once."""
        found = (self.find(triple, graph) for graph in self.dataset.evidence_graphs(triple))
        return tuple(dict.fromkeys(item for item in found if item is not None))

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Vectors of the texts, a row of zeros for one in a language the embedding model does not know.

        None where there is no embedding model.
        """
        if self.embedder is None or not texts:
            return None
        known = frozenset(getattr(self.embedder, "languages", None) or ())
        told = [place for place, text in enumerate(texts) if not known or language_of(text) in known]
        rows = np.zeros((len(texts), self.embedder.dimensions), dtype=np.float32)
        if told:
            rows[told] = self.embedder.embed([texts[place] for place in told])
        return rows
