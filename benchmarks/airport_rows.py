"""The rows of a flight table as passages, one question each, found by nine methods.

The rows are 1,350 of those that `examples/airport` generates from its seed, with 40 columns; see
`benchmarks.studies.flight_methods` for the questions in their two styles, and for the normalisation of jargon.
``python -m benchmarks.airport_rows`` prints every method; the promises are those of BM25.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from pyoxigraph import NamedNode

from benchmarks.common import EXAMPLES, Result, as_table
from benchmarks.studies.flight_methods import Jargon, RowSet, Style, first_hits, row_set
from benchmarks.studies.left_out import STUDIED
from kgplatform.models.embed import SentenceTransformersEmbedder
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.sources import Corpus
from kgplatform.types import Chunk

METHODS = (
    "lexical",
    "tfidf",
    "tfidf-euclidean",
    "lsi",
    "word-vectors",
    "dense",
    "hybrid-9-1",
    "hybrid-5-5",
    "hybrid-1-9",
)
_FOLDER = EXAMPLES / "airport"
_AIRPORTS = _FOLDER / "airports.csv"


def measure() -> list[Result]:
    """The share of first hits and of rows among the first ten, by method and style."""
    results = []
    jargon = Jargon.of(_FOLDER / "airlines.csv", _AIRPORTS, year=2025)
    for style in Style:
        made = row_set(_FOLDER / "flights.csv", _AIRPORTS, style=style)
        for name in METHODS:
            first, ten = _scores(made, name, lambda text: text)
            promised = (0.865, 1.0) if (name, style) == ("lexical", Style.PLAIN) else (None, None)
            results.append(_result(f"{style}, {name}, first", first, promised[0]))
            results.append(_result(f"{style}, {name}, among ten", ten, promised[1]))
        first, ten = _scores(made, "lexical", jargon)
        results.append(_result(f"{style}, lexical with jargon normalised, first", first, 0.97))
        results.append(_result(f"{style}, lexical with jargon normalised, among ten", ten, 1.0))
    return results


def _result(name: str, value: float, promise: float | None) -> Result:
    return Result(name, value, "", promise, more_is_better=True)


def _scores(made: RowSet, name: str, said: Callable[[str], str]) -> tuple[float, float]:
    finder = STUDIED[name](_sources())
    asked = ((gold.id, finder.retrieve(said(gold.text), 10)) for gold in made.questions)
    return first_hits((wanted, [hit.iri.value.rpartition("/")[2] for hit in hits]) for wanted, hits in asked)


@cache
def _sources() -> Corpus:
    """The rows are the same in both styles."""
    index = ChunkIndex(None, SentenceTransformersEmbedder())
    rows = row_set(_FOLDER / "flights.csv", _AIRPORTS).passages
    document = NamedNode("https://example.org/kg/table")
    chunks = [
        Chunk(NamedNode(f"https://example.org/kg/row/{row.id}"), document, number, 0, len(row.text), row.text)
        for number, row in enumerate(rows)
    ]
    index.sync((chunk, "flights") for chunk in chunks)
    return Corpus(index)


def main() -> int:
    """Prints the table; 1 if a promise is not kept."""
    results = measure()
    print(as_table(results))
    return 0 if all(result.kept for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
