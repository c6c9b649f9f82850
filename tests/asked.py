"""A small graph of a test's own, asked without a model, and tables of questions with what comes back."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from benchmarks.question_sets import EMBEDDER
from kgplatform.ontology.schema import read_ontology
from kgplatform.questions.answer import QuestionParts, ask, knowledge
from kgplatform.store.dataset import EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, parse
from kgplatform.types import Answer, Evidence

QUESTIONS = Path(__file__).parent / "questions"


@cache
def question_set(name: str) -> dict[str, Any]:
    """A file of the folder ``questions``: ``graph``, and the questions of each promise with their ``answers``."""
    return tomllib.loads((QUESTIONS / f"{name}.toml").read_text(encoding="utf-8"))


def turtle(name: str) -> str:
    """The graph of a file of questions, as Turtle."""
    return str(question_set(name)["graph"])


def tables(name: str) -> dict[str, Any]:
    """A file of tables of questions, from the folder ``data``."""
    return tomllib.loads((QUESTIONS.parent / "data" / f"{name}.toml").read_text(encoding="utf-8"))


def cases(text: str) -> Iterator[tuple[str, set[str]]]:
    """The questions of a table, a line each, with the set of what stands behind ``=>``, parted by bars."""
    for line in text.strip().splitlines():
        question, _, values = line.partition(" =>")
        yield question.strip(), {value.strip() for value in values.split(" | ")} - {""}


class Asked:
    """The graph that a text of Turtle spells out, ontology and data in one, with evidence for everything in a chunk."""

    def __init__(self, turtle: str) -> None:
        triples = [item.triple for item in parse(turtle.encode(), ox.RdfFormat.TURTLE)]
        store = Store.open()
        self.places: dict[Triple, int] = {}
        self.chunk = NamedNode("http://kg/document/d/chunk/0")
        store.apply(added=[quad(t, g) for t in triples for g in (DEFAULT_GRAPH, self.chunk)])
        self.dataset, self.ontology = EvidenceDataset(store, "http://kg/"), read_ontology(triples)
        self.known = knowledge(self.dataset, self.ontology)
        self.parts = self.parts_with()

    def parts_with(self, **others: Any) -> QuestionParts:
        """The parts of an answer as the product has them, with others beside them, such as a model."""
        store, others = self.dataset.store, {"embedder": lambda: EMBEDDER, **others}
        return QuestionParts(
            self.dataset,
            self.ontology,
            self.known,
            run=lambda q: store.query(q, max_rows=500),
            find=self.find,
            **others,
        )

    def find(self, triple: Triple, graph: NamedNode) -> Evidence | None:
        """A passage that says a statement."""
        place, quote = self.places.setdefault(triple, 1000 * len(self.places)), str(triple)
        return Evidence(graph, NamedNode("http://kg/document/d"), "Notes", "n.txt", quote, place, place + len(quote))

    def __call__(self, text: str) -> Answer:
        return ask(text, parts=self.parts)

    def by_rules(self, text: str) -> Answer:
        """The answer without logical forms, as where the carried sentence model is not the one in use."""
        return ask(text, parts=self.parts_with(embedder=lambda: None))

    def rows(self, text: str) -> list[str]:
        """The rows of the answer, a text each, things by their names; yes and no as one row."""
        return self.rows_of(self(text))

    def rows_of(self, answer: Answer) -> list[str]:
        """The rows of an answer, as `rows` has them."""
        if answer.solutions is None or answer.solutions.boolean is not None:
            return list(answer.values)
        rows = ([term for term in row if term is not None] for row in answer.solutions.rows)
        return [", ".join(self.shown(term, answer.question.language) for term in row) for row in rows]

    def shown(self, term: object, language: str = "en") -> str:
        """A literal as it is written, a thing by its name in the language."""
        return term.value if isinstance(term, Literal) else self.known.names.label(term, language)
