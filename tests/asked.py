"""A small graph of a test's own, asked without a model and without passages."""

from __future__ import annotations

import pyoxigraph as ox
from pyoxigraph import Literal

from kgplatform.dataset import EvidenceDataset, quad
from kgplatform.ontology import read_ontology
from kgplatform.questions.answer import QuestionParts, ask, knowledge
from kgplatform.store import DEFAULT_GRAPH, Store, parse
from kgplatform.types import Answer


class Asked:
    """The graph that a text of Turtle spells out, ontology and data in one."""

    def __init__(self, turtle: str) -> None:
        triples = [item.triple for item in parse(turtle.encode(), ox.RdfFormat.TURTLE)]
        store = Store.open()
        store.apply(added=[quad(t, DEFAULT_GRAPH) for t in triples])
        dataset, ontology = EvidenceDataset(store, "http://kg/"), read_ontology(triples)
        self.known = knowledge(dataset, ontology)
        self.parts = QuestionParts(
            dataset, ontology, self.known, run=lambda q: store.query(q, max_rows=500), find=lambda t, g: None
        )

    def __call__(self, text: str) -> Answer:
        return ask(text, parts=self.parts)

    def shown(self, term: object, language: str = "en") -> str:
        """A literal as it is written, a thing by its name in the language."""
        return term.value if isinstance(term, Literal) else self.known.names.label(term, language)
