"""Lists of documents without their texts: what a page or the command line shows of ten thousand of them."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.documents.entries import State, chunk_of
from kgplatform.types import Chunk

_COLUMNS = (
    "iri, title, source, media_type, language, sha256, state, error, updated, statements, refused, seconds,"
    " length(text) AS characters, graph IS NOT NULL AS is_table"
)

_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document's entry without its text; ``characters`` is the length of that, ``seconds`` the time reading took."""

    iri: NamedNode
    title: str
    source: str
    media_type: str
    language: str
    sha256: str
    state: State
    error: str | None
    updated: str
    statements: int
    refused: int
    seconds: float
    characters: int
    is_table: bool


class Listing:
    """The part of the registry that lists documents."""

    @abstractmethod
    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]: ...

    def counts(self) -> dict[State, int]:
        """How many documents are in each state, states without any left out."""
        rows = self._all("SELECT state, count(*) AS number FROM documents GROUP BY state ORDER BY state")
        return {State(row["state"]): row["number"] for row in rows}

    def is_entered(self, source: str) -> bool:
        """Whether a document comes from there."""
        return bool(self._all("SELECT 1 FROM documents WHERE source=? LIMIT 1", source))

    def summaries(
        self, state: State | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[DocumentSummary]:
        """The entries by source, those of a state if one is given, at most ``limit`` from the ``offset``-th on."""
        rows = self._all(
            f"SELECT {_COLUMNS} FROM documents WHERE ?1 IS NULL OR state=?1 ORDER BY source, iri LIMIT ?2 OFFSET ?3",
            *(state.value if state else None, -1 if limit is None else limit, offset),
        )
        return [_summary(row) for row in rows]

    def iris(self, state: State) -> list[NamedNode]:
        """The documents in a state, by source."""
        rows = self._all("SELECT iri FROM documents WHERE state=? ORDER BY source, iri", state.value)
        return [NamedNode(row["iri"]) for row in rows]

    def passages(self) -> Iterator[tuple[Chunk, str]]:
        """The passages of all documents that are PROCESSED and no tables, each with its document's title, by source."""
        documents = "FROM documents WHERE state='processed' AND graph IS NULL"
        listed = [row["iri"] for row in self._all(f"SELECT iri {documents} ORDER BY source, iri")]
        for start in range(0, len(listed), _AT_ONCE):
            some = listed[start : start + _AT_ONCE]
            among = f"IN ({','.join('?' * len(some))})"
            texts = self._all(f"SELECT iri, title, text {documents} AND iri {among}", *some)
            rows = self._all(f"SELECT * FROM chunks WHERE document {among} ORDER BY document, position", *some)
            chunks: dict[str, list[sqlite3.Row]] = {}
            for row in rows:
                chunks.setdefault(row["document"], []).append(row)
            held = {row["iri"]: row for row in texts}
            for iri in (iri for iri in some if iri in held):
                text, title = held[iri]["text"], held[iri]["title"]
                yield from ((chunk_of(row, text), title) for row in chunks.get(iri, ()))


def _summary(row: sqlite3.Row) -> DocumentSummary:
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 (a row iterates over its values)
    return DocumentSummary(
        **{
            **values,
            "iri": NamedNode(row["iri"]),
            "state": State(row["state"]),
            "is_table": bool(row["is_table"]),
        }
    )
