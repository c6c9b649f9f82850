"""The rows of a workspace's flights as passages, found by the nine traditional retrievers of the airport study."""

from __future__ import annotations

import csv
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.errors import ReadError
from kgplatform.evaluation.airport.passages import RowSet, row_set
from kgplatform.evaluation.airport.rows import COLUMNS, FlightTable
from kgplatform.evaluation.retrieval import GoldPassages
from kgplatform.evaluation.studies.nearness import Remembering
from kgplatform.evaluation.studies.report import Outcome
from kgplatform.evaluation.studies.setting import Setting
from kgplatform.protocols import Retriever
from kgplatform.retrieval import retriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.sources import Sources
from kgplatform.types import Chunk

METHODS: Final = (
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
_DOCUMENT: Final = NamedNode("https://example.org/kg/table")
_ROW: Final = "https://example.org/kg/row/"
_TEN: Final = 10


def found_rows(table: FlightTable, setting: Setting) -> tuple[tuple[Outcome, ...], list[str]]:
    """For each method and row whether its question finds it first, and among ten; and what could not be asked."""
    try:
        made = _rows(table, setting.count, setting.seed)
    except (ReadError, ValueError) as error:
        return (), [f"rows as passages: {error}"]
    finding = _Finding(made, setting)
    total = len(METHODS) * len(made.questions)
    found = []
    for number, method in enumerate(METHODS):
        for place, gold in enumerate(made.questions, 1):
            if setting.progress:
                setting.progress(number * len(made.questions) + place, total, f"{method}: {gold.text}")
            found.append(finding.outcome(method, gold))
    return tuple(found), []


def _rows(table: FlightTable, count: int, seed: int) -> RowSet:
    """So many flights as passages, in the words of the workspace.

    Raises:
        ValueError: the UID of a flight does not begin with its day.
    """
    with tempfile.TemporaryDirectory() as folder:
        flights, airports = Path(folder) / "flights.csv", Path(folder) / "airports.csv"
        airports.write_text("iata_code,city\n", encoding="utf-8")
        with flights.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([flight[column] for column in COLUMNS] for flight in table.flights)
        return row_set(flights, airports, rows=count, seed=seed)


class _Finding:
    """The passages in an index in memory, made when an outcome is not kept yet."""

    def __init__(self, made: RowSet, setting: Setting) -> None:
        self._made, self._setting = made, setting
        self._sources: Sources | None = None
        self._finders: dict[str, Retriever] = {}
        whole = "\n".join(passage.text for passage in made.passages)
        self._state = f"{setting.kg.embedder.name} {len(made.passages)} {hash_of(whole)}"

    def outcome(self, method: str, gold: GoldPassages) -> Outcome:
        """Whether the method finds the row of the question."""
        key = self._setting.key("airport rows", (gold.id, gold.text), method, self._state)
        kept = self._setting.cache.find(key)
        if kept is not None:
            return kept
        finder = self._finder(method)
        hits = [hit.iri.value.removeprefix(_ROW) for hit in finder.retrieve(gold.text, _TEN)]
        numbers = {"first": float(hits[:1] == [gold.id]), "among_ten": float(gold.id in hits)}
        made = Outcome(f"row-{gold.id}", method, gold.text, "row", "en", reference=gold.id, numbers=numbers)
        outcome = replace(made, answer=", ".join(hits[:3]))
        self._setting.cache.keep(key, outcome)
        return outcome

    def _finder(self, method: str) -> Retriever:
        if self._sources is None:
            self._sources = self._indexed()
        return self._finders.setdefault(method, retriever(method, self._sources))

    def _indexed(self) -> Sources:
        index = ChunkIndex(None, Remembering(self._setting.kg.embedder))
        index.sync((chunk, "flights") for chunk in self._chunks())
        return Sources(index)

    def _chunks(self) -> Iterator[Chunk]:
        for number, row in enumerate(self._made.passages):
            yield Chunk(NamedNode(f"{_ROW}{row.id}"), _DOCUMENT, number, 0, len(row.text), row.text)


def hash_of(text: str) -> str:
    """A short hash of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
